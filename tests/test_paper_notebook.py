"""The notebook that walks through the paper: it runs as it is, and is kept without outputs."""

import warnings
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support import ROOT

NOTEBOOK = ROOT / "examples" / "paper.ipynb"


def test_it_is_kept_without_outputs() -> None:
    code = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert len(code) == 5
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.slow
def test_it_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the notebook's own format
        notebook = nbformat.read(NOTEBOOK, as_version=4)
    last = notebook.cells.pop()
    notebook.cells += [
        nbformat.v4.new_code_cell("print([bool(pair_error(m.sample(20_000)) < 1) for m in models.values()])"),
        last,
    ]
    done = NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [one.text for one in done.cells[-2].outputs if one.output_type == "stream"]  # beside progress bars
    assert "".join(printed).strip() == "[True, True, True]"
