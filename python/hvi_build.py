"""Builds the extension hvi._hvi with cffi: the declarations are read from the library's own headers.

The library is the static one of a CMake build: HVI_BUILD_DIR, or build/ beside this folder, which is made where it
is not there. OpenBLAS is linked statically and hidden: NumPy's, or any other in the process, is never touched.
"""
import os
import re
import subprocess
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("HVI_SOURCE_DIR", HERE.parent)).resolve()
BUILD = Path(os.environ.get("HVI_BUILD_DIR", ROOT / "build")).resolve()

# In the order in which they need each other.
HEADERS = """error setting version activation model rng problem surrogate optimizer solver builtin theory check tensors sparse
             mlp env policy rollout collector value testset evaluate mdp performative""".split()


def declarations(header: Path) -> str:
    """A header without comments, preprocessor lines and what cffi's parser does not know."""
    text = header.read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    text = re.sub(r"__attribute__\(\(format[^;]*", "", text)
    return text.replace("HVI_API ", "")


def glue() -> str:
    """What Python sees of glue.c, and what glue.c sees of Python: hvi_py_on_..."""
    text = re.sub(r"^static ", "", declarations(HERE / "glue.h"), flags=re.M)
    ours = r"^\w+ hvi_py_on_\w+\([^;]*;"
    return re.sub(ours, "", text, flags=re.M) + 'extern "Python" {%s}' % "\n".join(re.findall(ours, text, flags=re.M))


def pkg_config(*words: str) -> list:
    return subprocess.run(["pkg-config", *words], check=True, text=True, capture_output=True).stdout.split()


def build_library() -> Path:
    library = BUILD / "src" / "libhvi.a"
    if not library.exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DHVI_TESTS=OFF"], check=True)
        subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", "hvi_static", "hvi"], check=True)
    return library


def link_arguments() -> list:
    folder = pkg_config("--variable=libdir", "openblas")[0]
    return [
        "-Wl,--whole-archive", str(build_library()), "-Wl,--no-whole-archive",
        "-l:liblapacke.a", f"{folder}/libopenblas.a",
        *pkg_config("--libs", "yaml-0.1", "jansson", "libzip"), "-lgfortran", "-lpthread", "-lm", "-ldl",
        f"-Wl,--version-script={HERE / 'exports.map'}", "-Wl,-Bsymbolic", "-Wl,--disable-new-dtags",
        "-Wl,-rpath,$ORIGIN/program/lib/hvi", "-Wl,--wrap=getenv",
    ]


ffibuilder = FFI()
for header in HEADERS:
    ffibuilder.cdef(declarations(ROOT / "include" / "hvi" / f"{header}.h"))
ffibuilder.cdef(glue())
ffibuilder.set_source(
    "hvi._hvi", (HERE / "glue.c").read_text(),
    include_dirs=[str(HERE), str(ROOT / "include"), str(ROOT / "src")], extra_link_args=link_arguments(),
    extra_compile_args=["-O2", "-std=gnu11", *pkg_config("--cflags", "openblas")],
    depends=[str(p) for p in (BUILD / "src" / "libhvi.a", HERE / "glue.c", HERE / "glue.h")])

if __name__ == "__main__":  # into a folder of one's own: hvi_build.py FOLDER
    import sys

    folder = Path(sys.argv[1]).resolve()
    (folder / "hvi").mkdir(parents=True, exist_ok=True)
    print(ffibuilder.compile(tmpdir=str(folder)))
