"""What the tests share: the program that the package carries, and a run of it."""
import os
import subprocess

import pytest

import hvi

os.environ.setdefault("D4RL_SUPPRESS_IMPORT_ERROR", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(scope="session")
def program():
    """Runs the program; its standard output."""
    path = hvi.program()

    def run(*words, cwd=None):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.path = path
    return run


@pytest.fixture(scope="session")
def command():
    """Runs `python -m hvi`; the finished process."""
    import sys

    def run(*words, cwd=None):
        return subprocess.run([sys.executable, "-m", "hvi", *map(str, words)], capture_output=True, text=True, cwd=cwd)

    return run
