"""The example that trains a module of one's own runs, and learns."""

import runpy

import pytest

from support import ROOT, repeatable_noise


def test_example_runs_and_learns(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "own_generator.py"))
    with repeatable_noise():
        model = example["main"](people=3000, steps=60)
    assert type(model.model.generator).__name__ == "LatentClasses"
    scores = [score for _, score in model.fit_.history]
    assert min(scores) < scores[0]
    frame = model.sample(2000)
    assert frame["status"].nunique() == 6
    printed = capsys.readouterr().out
    assert "held-out score" in printed
    assert "[5 rows x 15 columns]" in printed
