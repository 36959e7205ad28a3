"""What the tests share: the program, and its JSON for a command."""
import json
import os
import signal
import subprocess

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without it


@pytest.fixture(scope="session")
def program():
    """Runs the program; its JSON, whatever the exit code of a solve says."""
    path = os.environ.get("HVI_PROGRAM")
    if not path:
        pytest.skip("HVI_PROGRAM names no program")

    def run(*words, cwd=None):
        quiet = [] if words[0] == "check" else ["--quiet"]  # which does not talk
        out = subprocess.run([path, *map(str, words), "--json", *quiet], capture_output=True, text=True, cwd=cwd)
        assert out.stdout, out.stderr
        return json.loads(out.stdout)

    return run
