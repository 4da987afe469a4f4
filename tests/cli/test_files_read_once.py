"""``fit`` opens and verifies its release once, and ``sample`` reads its model once, of tables and of images."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_support import Command

from fit_support import planted, planted_release
from microtome.published import Artefact
from microtome.synthesis import model_file
from support import ROOT

IMAGES = ROOT / "tests" / "published" / "golden" / "version-1-image-aggregates.release"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often releases and models are opened."""
    counts: Counter[str] = Counter()
    load, read = Artefact.load.__func__, model_file.read_tensors  # type: ignore[attr-defined]

    def loading(cls: type[Artefact], path: Any, **options: Any) -> Artefact:
        counts["release"] += 1
        return load(cls, path, **options)

    def reading(path: Path, *wanted: str) -> Any:
        counts["model"] += 1
        return read(path, *wanted)

    monkeypatch.setattr(Artefact, "load", classmethod(loading))
    monkeypatch.setattr(model_file, "read_tensors", reading)
    return counts


@pytest.mark.parametrize(("held", "output"), [("table", "rows.csv"), ("images", "drawn.npz")])
def test_files_are_read_once(held: str, output: str, opened: Counter[str], microtome: Command, tmp_path: Path) -> None:
    release = IMAGES if held == "images" else planted_release(tmp_path / "r", table=planted(300)).path
    opened.clear()
    fitted = microtome("fit", release, "-o", tmp_path / "m", "--steps", 2, "--batch-size", 16)
    assert (fitted.code, opened) == (0, Counter(release=1)), fitted.err
    opened.clear()
    drawn = microtome("sample", tmp_path / "m", "-n", 5, "-o", tmp_path / output)
    assert (drawn.code, opened) == (0, Counter(model=1)), drawn.err
    assert (tmp_path / output).exists()
