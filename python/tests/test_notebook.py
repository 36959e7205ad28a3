"""The notebook runs: with nbclient where it is there, and its cells as a script."""
import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(os.environ.get("HVI_NOTEBOOK", Path(__file__).parent.parent / "tour.ipynb"))


def cells() -> list:
    """The code of each cell; where there is no matplotlib, without the lines that draw."""
    found = ["".join(c["source"]) for c in json.loads(NOTEBOOK.read_text())["cells"] if c["cell_type"] == "code"]
    if importlib.util.find_spec("matplotlib"):
        return found
    return ["\n".join(line for line in c.splitlines() if "matplotlib" not in line and ".plot(" not in line) for c in found]


def test_as_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for i, cell in enumerate(cells()):
        exec(compile(cell, f"cell {i}", "exec"), names)
    assert names["r"].converged and threads_agree(names) and (tmp_path / "walk-data.safetensors").exists()


def threads_agree(names: dict) -> bool:
    """The threads of the last cell found what was found without them."""
    return len(names["alone"]) == 2 and all((names["alone"][s] == names["beside"][s]).all() for s in names["alone"])


def words(outputs: list) -> list:
    """Of what a cell printed and showed; numbers have their tests elsewhere."""
    return re.findall("[A-Za-z_]{3,}", " ".join("".join(o.get("text") or o.get("data", {}).get("text/plain", "")) for o in outputs))


def test_with_nbclient(tmp_path, monkeypatch):
    """Cell by cell, and what stands in the file is what comes out."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures belong into the notebook
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = [c.outputs for c in notebook.cells if c.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    found = [c.outputs for c in notebook.cells if c.cell_type == "code"]
    assert all(stored) and [words(o) for o in stored] == [words(o) for o in found]
