"""The demo with linked tables, from a simulated clinic to a report on a synthetic one."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import Command

from microtome.demo import clinic_schema
from microtome.evaluation.linked_keys import check_synthetic_keys
from microtome.evaluation.linked_tables import read_linked


@pytest.mark.slow
def test_the_clinic_goes_all_the_way(microtome: Command, tmp_path: Path) -> None:
    output = tmp_path / "demo"
    done = microtome("demo", "--clinic", "--people", 300, "-o", output)
    assert done.code == 0, done.err
    assert "All keys are intact" in done.out
    assert "patients → visits" in (output / "report.html").read_text(encoding="utf-8")
    assert "Free to publish" in (output / "public.html").read_text(encoding="utf-8")
    assert (output / "synthetic.card.md").is_file()
    real = (output / "clinic" / "practices.csv").read_text(encoding="utf-8")
    assert (output / "synthetic" / "practices.csv").read_text(encoding="utf-8") == real
    sides, _ = read_linked(output / "clinic", output / "synthetic", clinic_schema())
    assert all(one.is_intact for one in check_synthetic_keys(sides[1]))


def test_two_demos_at_once_are_refused(microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("demo", "--clinic", "--images", "-o", tmp_path / "demo")
    assert outcome.code != 0
    assert "take one at a time" in outcome.err
    assert not (tmp_path / "demo").exists()
