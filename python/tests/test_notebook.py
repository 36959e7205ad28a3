"""The notebook runs: with nbclient where it is there, else its cells as a script."""
import json
import os
from pathlib import Path

import pytest

NOTEBOOK = Path(os.environ.get("HVI_NOTEBOOK", Path(__file__).parent.parent / "tour.ipynb"))


def cells() -> list:
    found = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(c["source"]) for c in found if c["cell_type"] == "code"]


def test_as_a_script(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for i, cell in enumerate(cells()):
        exec(compile(cell, f"cell {i}", "exec"), names)
    assert names["r"].converged or names["r"].outer > 0


def test_with_nbclient(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
