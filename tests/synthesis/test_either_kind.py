"""One synthesizer for tables and images: the same face, and words for what only the other has."""

from pathlib import Path

import pytest

import microtome as mt
from fit_support import planted, planted_release, quick
from microtome.errors import ModelError, ParameterError
from microtome.generators import Generator
from microtome.images import ImageSet
from microtome.published import Release
from microtome.synthesis import Synthesizer
from support import ROOT

IMAGES = ROOT / "tests" / "published" / "golden" / "version-1-image-aggregates.release"
QUICK = mt.ImageFitSettings(steps=2, batch_size=16)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return planted_release(tmp_path_factory.mktemp("releases") / "t", table=planted(300))


@pytest.fixture(scope="module")
def of_images() -> Synthesizer:
    return Synthesizer(QUICK, random_state=0).fit(IMAGES)


def test_the_release_says_what_is_drawn(table: Release, of_images: Synthesizer, tmp_path: Path) -> None:
    for model, drawn in ((Synthesizer(quick(steps=2)).fit(table.path), None), (of_images, ImageSet)):
        model.save(tmp_path / "m", force=True)
        loaded = Synthesizer.load(tmp_path / "m")
        found = loaded.sample(7, random_state=1)
        assert len(found) == 7
        assert drawn is None or isinstance(found, drawn)
        assert loaded.model.origin["release"] == model.model.origin["release"]
        with pytest.raises(ParameterError, match="num_rows is 0"):
            loaded.sample(0)


def test_defaults_are_those_of_the_release(table: Release) -> None:
    with pytest.raises(ParameterError, match="settings are FitSettings; this release is fitted with ImageFitSettings"):
        Synthesizer(quick(steps=2)).fit(IMAGES)
    with pytest.raises(ParameterError, match="settings are ImageFitSettings; this release is fitted with FitSettings"):
        Synthesizer(QUICK).fit(table)


def test_what_only_tables_have(table: Release, of_images: Synthesizer, tmp_path: Path) -> None:
    own: Generator = Synthesizer(quick(steps=1)).fit(table).model.generator  # type: ignore[assignment]
    with pytest.raises(ParameterError, match="leave generator out"):
        Synthesizer(QUICK, generator=own).fit(IMAGES)
    of_images.save(tmp_path / "m")
    with pytest.raises(ModelError, match="leave generator out"):
        Synthesizer.load(tmp_path / "m", generator=own)
    with pytest.raises(ModelError, match="no tables"):
        of_images.sample_tables(5)
    with pytest.raises(ParameterError, match="spreadsheet-safe is for tables"):
        of_images.sample_to_file(tmp_path / "x.npz", 5, spreadsheet_safe=True)
    assert not (tmp_path / "x.npz").exists()


def test_what_only_images_have(table: Release, of_images: Synthesizer, tmp_path: Path) -> None:
    rows = Synthesizer(quick(steps=1)).fit(table)
    with pytest.raises(ParameterError, match="balanced is for images"):
        rows.sample(5, balanced=True)
    with pytest.raises(ParameterError, match="balanced is for images"):
        rows.sample_to_file(tmp_path / "x.csv", 5, balanced=True)
    model = of_images.model
    classes = model.schema.classes  # type: ignore[attr-defined]
    assert model.conditions_from_text([f"label={classes[0]}|{classes[1]}"]) == {"label": [classes[0], classes[1]]}
    for texts, said in (
        (["colour=red"], "one of the columns label"),
        (["label"], "write column=value"),
        ([f"label={classes[0]}", f"label={classes[1]}"], "has one already"),
    ):
        with pytest.raises(ModelError, match=said):
            model.conditions_from_text(texts)
    for conditions in ({"label": "no such"}, {"label": []}):
        with pytest.raises(ModelError, match="the classes are"):
            of_images.sample(5, conditions=conditions)
    with pytest.raises(ModelError, match="images have a label"):
        of_images.sample(5, conditions={"colour": "red"})
