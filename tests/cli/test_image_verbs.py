"""Images by the command line: from a file of each format to synthetic ones, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_support import Command
from PIL import Image

from microtome.demo import digit_images
from microtome.images import read_images
from microtome.images.writing import write_images


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small digits as a folder of PNG files and as an archive, with a schema."""
    folder = tmp_path_factory.mktemp("digits")
    images, schema = digit_images()
    write_images(folder / "digits.npz", images)
    write_images(folder / "pictures", images, low=0, high=16)
    (folder / "digits.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    return folder


def test_from_a_folder_of_pictures_to_another(files: Path, tmp_path: Path, microtome: Command) -> None:
    released, model = tmp_path / "d.release", tmp_path / "d.model"
    asked = ("release", files / "pictures", "--schema", "image", "--epsilon", 20, "-o", released)
    done = microtome(*asked)
    assert done.code == 1
    assert "a single image can have made one" in done.err
    done = microtome(*asked, "--classes", "10")
    assert done.code == 0, done.err
    assert "(ε = 20, δ = 1e-06)" in done.out
    assert (files / "pictures.ledger.json").exists()
    shown = microtome("inspect", released, "--json")
    assert [entry["class"] for entry in json.loads(shown.out)["classes"]] == list(range(10))
    assert "Images of 8 × 8 pixels" in microtome("inspect", released).out
    done = microtome("fit", released, "-o", model, "--steps", 10, "--seed", 1, "--grid", tmp_path / "fit.png")
    assert done.code == 0, done.err
    assert not (tmp_path / "d.model.checkpoint").exists()
    with Image.open(tmp_path / "fit.png") as shown_grid:
        assert shown_grid.size == (10 * 9 - 1, 10 * 9 - 1)
    for name in ("out.npz", "out.png", "out"):
        done = microtome("sample", model, "-n", 40, "-o", tmp_path / name, "--seed", 3)
        assert done.code == 0, done.err
    archive, folder = read_images(tmp_path / "out.npz"), read_images(tmp_path / "out")
    assert archive.shape == folder.shape == (8, 8, 1)
    assert archive.labels is not None
    assert folder.labels is not None
    assert sorted(archive.labels) == sorted(folder.labels)
    with Image.open(tmp_path / "out.png") as grid:
        assert grid.height == 10 * 9 - 1
    done = microtome("sample", model, "-n", 12, "-o", tmp_path / "threes.npz", "--where", "label=3")
    assert done.code == 0, done.err
    assert set(read_images(tmp_path / "threes.npz").labels) == {3}  # type: ignore[arg-type]
    again = microtome("sample", model, "-n", 12, "-o", tmp_path / "out")
    assert again.code == 1
    assert "exists" in again.err


def test_a_declared_schema_and_records(files: Path, tmp_path: Path, microtome: Command) -> None:
    drafted = tmp_path / "draft.yaml"
    done = microtome("schema", "draft", files / "digits.npz", "--classes", "10", "-o", drafted)
    assert done.code == 0, done.err
    assert microtome("schema", "check", drafted).code == 0
    done = microtome(
        "release", files / "digits.npz", "--schema", files / "digits.yaml", "--epsilon", 20, "--kind", "records",
        "--neighbours", "replace-one", "-o", tmp_path / "d.release",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "noise was added to every image" in done.out
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"start": "random", "loss": "wasserstein", "network": {"per_class": True}}))
    done = microtome(
        "fit", tmp_path / "d.release", "-o", tmp_path / "d.model", "--settings", settings, "--steps", 12,
        "--batch-size", 32,
    )  # fmt: skip
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("kind", "held"), [("aggregates", "sums over the images of a class"), ("records", "one row an image or padding")]
)
def test_a_statement_for_the_privacy_officer(
    kind: str, held: str, files: Path, tmp_path: Path, microtome: Command
) -> None:
    released = tmp_path / "d.release"
    source = ("release", files / "digits.npz", "--schema", files / "digits.yaml")
    assert microtome(*source, "--epsilon", 2, "--kind", kind, "-o", released).code == 0
    done = microtome("inspect", released, "--statement")
    assert done.code == 0, done.err
    for words in (
        "**(ε = 2, δ = 1e-06)-differentially private**",
        "two sets of images that differ in one person's image",
        "declared here: 8 × 8 pixels, 1 channels, values from 0 to 16; classes: 0, 1, 2",
        "the number of images, 1,797",
        "counts by class and by contrast (the *profile*)",
        held,
        f"microtome audit --images --kind {kind} --epsilon 2",
    ):
        assert words in done.out, words
    assert "table" not in done.out.split("## How it is tested")[0]
    assert ("**The collector.**" in done.out) == (kind == "aggregates")


def test_verbs_for_tables_say_so(files: Path, tmp_path: Path, microtome: Command) -> None:
    released = tmp_path / "d.release"
    source = ("release", files / "digits.npz", "--schema", files / "digits.yaml")
    assert microtome(*source, "--epsilon", 2, "-o", released).code == 0
    done = microtome("tune", released, "-o", tmp_path / "x")
    assert done.code == 1, done.err
    assert "give other --settings to 'microtome fit'" in " ".join(done.err.split()), done.err
    assert not (tmp_path / "x").exists()


def test_what_is_refused(files: Path, tmp_path: Path, microtome: Command) -> None:
    mixed = tmp_path / "mixed"
    for size, label in ((8, "a"), (9, "b")):
        (mixed / label).mkdir(parents=True)
        Image.fromarray(np.zeros((size, 8), np.uint8)).save(mixed / label / "one.png")
    base = ("--epsilon", 1, "-o", tmp_path / "x")
    for arguments, message in [
        (("release", files / "digits.npz", "--schema", "image", *base), "declare the classes"),
        (("release", mixed, "--schema", "image", *base), "bring all images to one size"),
        (
            ("release", files / "pictures", "--schema", files / "digits.yaml", *base),
            "outside the declared range",
        ),
        (("release", files / "digits.npz", "--schema", "image", "--classes", "5", *base), "not among the 5"),
        (
            ("release", files / "digits.npz", "--schema", "image", "--classes", "10", "--pivot", "label", *base),
            "are counted by their label",
        ),
        (
            ("release", files / "digits.npz", "--schema", files / "digits.yaml", "--classes", "10", *base),
            "declares the classes",
        ),
        (("release", tmp_path / "none", "--schema", "image", *base), "no such file"),
    ]:
        done = microtome(*arguments)
        assert done.code == 1, (arguments, done.err)
        assert message in " ".join(done.err.split()), done.err
        assert not (tmp_path / "x").exists()
