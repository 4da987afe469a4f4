"""The page on adaptation says what its result file holds, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adaptation_page
from adaptation import METHODS, TASKS, TITLES, _keys, curves, plot


def run(accuracy: float, **key: object) -> dict[str, object]:
    return {"key": {"task": TASKS[0], "seed": 0, **key}, "accuracy": accuracy}


RUNS = [
    run(0.7, method="floor"),
    run(0.9, method="released", kind="aggregates", epsilon=1.0),
    run(0.8, method="released", kind="aggregates", epsilon=1.0, seed=1),
    run(0.6, method="private", alignment="kernel", moves="look", epsilon=5.0),
]


def test_every_run_that_can_be_made_has_a_title() -> None:
    for key in _keys(TASKS[0], 0, list(METHODS), [1.0]):
        assert (key["method"], key.get("alignment") or key.get("kind"), key.get("moves")) in TITLES


def test_curves_gather_seeds_and_keep_the_order_of_titles() -> None:
    found = curves(RUNS, TASKS[0])
    assert list(found) == ["source alone (floor)", "release once, aggregates", "every step, kernel f-divergence"]
    assert found["release once, aggregates"] == {1.0: [0.9, 0.8]}
    assert curves(RUNS, TASKS[1]) == {}


def test_section_shows_means_spread_and_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation_page, "FOLDER", tmp_path)
    assert adaptation_page.section() == []
    (tmp_path / "adaptation.json").write_text(json.dumps({"runs": RUNS}))
    text = "\n".join(adaptation_page.section())
    assert "| source alone (floor) | 0.700 | – | – | 1 |" in text
    assert "| release once, aggregates | – | 0.850 ± 0.071 | – | 2 |" in text
    assert "| every step, kernel f-divergence | – | – | 0.600 | 1 |" in text


def test_picture_is_drawn(tmp_path: Path) -> None:
    plot(RUNS, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
