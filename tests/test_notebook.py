"""In a notebook: bars while it waits, and cards of a few lines; elsewhere silence, and one line."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import microtome as mt
from microtome.card import Card
from microtome.progress import NotebookBars, silent, usual_progress

CELLS = [
    "import pandas as pd, microtome as mt\n"
    "table = pd.DataFrame({'insured': [True, False] * 200, 'age': [20 + n % 60 for n in range(400)]})\n"
    "schema = mt.draft_schema(table)\nschema",
    "ledger = mt.Ledger()\n"
    "release = mt.release(table, schema.confirm(), epsilon=5, delta=1e-6, ledger=ledger, dataset='<town>')\nrelease",
    "ledger",
    "model = mt.Synthesizer(mt.FitSettings(steps=5), random_state=0).fit(release)\nmodel",
    "model.sample(100).shape",
]
LONGEST = 6000
"""Characters of a card."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The HTML that each cell shows in a real kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("notebook")
    done = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [[html for output in cell.outputs if (html := _html(output))] for cell in done.cells]


def _html(output: Any) -> str:
    return output.get("data", {}).get("text/html", "")


@pytest.mark.filterwarnings("ignore")
def test_bars_are_drawn_and_end_full(pages: list[list[str]]) -> None:
    _, released, _, fitted, sampled = pages
    assert any("profile: 400 of 400" in html and "<progress" in html for html in released)
    assert any("5 of 5" in html for html in fitted)
    assert any('value="100" max="100"' in html for html in sampled)


@pytest.mark.filterwarnings("ignore")
def test_objects_show_cards(pages: list[list[str]]) -> None:
    schema, released, ledger, fitted, _ = (shown[-1] for shown in pages)
    assert "It is a draft" in schema
    assert "<td" in schema
    assert "differentially private" in released
    assert "&lt;town&gt;" in ledger
    assert "<town>" not in ledger
    assert "fitted to a release with ε = 5" in fitted
    assert all(len(card) < LONGEST for card in (schema, released, ledger, fitted))


def test_nothing_is_drawn_elsewhere() -> None:
    assert usual_progress() is silent


def test_one_line_on_a_console(tmp_path: Path) -> None:
    ledger = mt.Ledger(tmp_path / "book.json")
    assert repr(ledger) == f"<Ledger {tmp_path / 'book.json'}>"
    assert repr(mt.Synthesizer()) == "<Synthesizer, not fitted yet>"


def test_long_tables_are_cut_and_everything_is_escaped() -> None:
    html = Card(title="<b>", lines=["<i>"], headings=("<u>",), rows=[[f"<{row}>"] for row in range(100)]).html()
    assert "… and 40 more" in html
    for part in ("<b>", "<i>", "<u>", "<0>"):
        assert part not in html


def test_bars_are_drawn_a_few_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown.append(bar.data)

    def display(bar: Any, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(bar.data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    bars = NotebookBars()
    for step in range(1000):
        bars("fit", step + 1, 1000, "<loss>")
    assert 2 <= len(shown) < 50
    assert "1,000 of 1,000, &lt;loss&gt;" in shown[-1]
