"""Builds the package: the extension by cffi, and the program beside it.

HVI_BUNDLE is the folder of an unpacked bundle (`make wheel`): its program and libraries are carried, and the wheel
runs without anything else but glibc. Without it the program of the build folder is, with the system's libraries.
"""
import os
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

import sys

sys.path.insert(0, str(Path(__file__).parent))
from hvi_build import BUILD, ROOT  # noqa: E402

BUNDLE = os.environ.get("HVI_BUNDLE")


def version() -> str:
    text = (ROOT / "include" / "hvi" / "version.h").read_text()
    return ".".join(re.search(rf"HVI_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


class Build(build_py):
    """The package, and what it carries."""

    def run(self):
        super().run()
        to = Path(self.build_lib) / "hvi" / "program"
        shutil.rmtree(to, ignore_errors=True)
        if BUNDLE:
            for part in ("bin", "lib", "share/doc"):
                shutil.copytree(Path(BUNDLE) / part, to / part)
        elif (BUILD / "hvi").exists():
            (to / "bin").mkdir(parents=True)
            shutil.copy2(BUILD / "hvi", to / "bin" / "hvi")


class Wheel(bdist_wheel):
    """One wheel for every Python from 3.9 on; with a bundle, for every Linux with Debian 12's glibc or a later one."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        if BUNDLE:
            self.plat_name, self.plat_name_supplied = "manylinux_2_36_x86_64", True
        super().finalize_options()


setup(version=version(), packages=["hvi"], scripts=["bin/hvi"], cffi_modules=["hvi_build.py:ffibuilder"], zip_safe=False,
      cmdclass={"build_py": Build, "bdist_wheel": Wheel, "build_ext": build_ext})
