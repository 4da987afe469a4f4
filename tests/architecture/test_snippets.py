"""Every block of code in the documents runs, or says why not; commands that are only shown are real ones."""

import re
import shlex
import shutil
from pathlib import Path

import click
import numpy as np
import pytest
import typer.main
from snippets import ROOT, pages_with_code, path_of_this_environment, run_page, snippets

from microtome.cli.main import app
from microtome.demo import population
from microtome.images import ImageSet
from microtome.images.writing import write_images

QUICK = {"for-researchers.md"}
"""Pages that take a second or two; all others are for the long run."""
PICTURES = 150
SHOWN = re.compile(r"^ {4}(?:\S+ \| )?(microtome [^\n#]*)", re.MULTILINE)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def pictures(side: int = 28) -> ImageSet:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (PICTURES, side, side, 1)).astype(np.uint8)
    return ImageSet.from_arrays(pixels, np.arange(PICTURES) % 10)


def idx(path: Path, array: np.ndarray) -> None:
    import gzip

    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def prepare(page: str) -> dict[str, object]:
    """What a page takes for granted: files, and names of the reader's own."""
    images = pictures()
    if page in ("images.md", "adaptation.md"):
        idx(Path("train-images-idx3-ubyte.gz"), images.pixels[..., 0])
        idx(Path("train-labels-idx1-ubyte.gz"), np.asarray(images.labels))
        unlabelled = ImageSet.from_arrays(images.pixels)
        write_images(Path("target.npz"), unlabelled, low=0, high=255)
        write_images(Path("scans.npz"), images, low=0, high=255)
        names = {"source_images": images.pixels, "source_labels": images.labels, "images": images.pixels}
        return {**names, "private_images": images.pixels, "public_images": images.pixels}
    if page == "report.md":
        import microtome as mt
        from microtome.demo import population_schema

        town = population(900)
        mt.release(town, population_schema(), epsilon=5, delta=1e-6, output="people.release")
        return {"real": town.slice(0, 300), "synthetic": town.slice(300, 300), "held_out": town.slice(600)}
    return {}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[] if page.name in QUICK else pytest.mark.slow)
        for page in pages_with_code()
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_code_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    if page.name == "engines-spark.md":
        pytest.importorskip("pyspark")
        if shutil.which("java") is None:
            pytest.skip("no Java here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path_of_this_environment())
    run_page(page, prepare(page.name))


def test_what_is_not_run_says_why() -> None:
    reasons = [one.reason for page in pages_with_code() for one in snippets(page) if one.reason is not None]
    assert all(len(reason) > 15 for reason in reasons)


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The verb that a line calls, and what it is given."""
    found: click.Command = typer.main.get_command(app)
    rest = words[1:]
    while rest and rest[0] in getattr(found, "commands", {}):
        found, rest = found.commands[rest[0]], rest[1:]  # type: ignore[attr-defined]
    return found, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_shown_are_real_ones(page: Path) -> None:
    for line in SHOWN.findall(page.read_text(encoding="utf-8").replace("\\\n", " ")):
        words = shlex.split(line.partition("  (")[0].partition(" > ")[0])
        command, rest = command_of(words)
        if any(word.isupper() for word in words[1:2]) or words[1:2] == ["…"]:
            continue  # "microtome VERB"
        if rest and not rest[0].startswith("-"):
            assert not getattr(command, "commands", {}), f"no verb {rest[0]!r}: {line}"
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        known |= {"-h", "--help", "--install-completion", "--show-completion"}
        unknown = [word for word in rest if re.fullmatch(r"--?[a-z][\w-]*", word) and word not in known]
        assert not unknown, f"{unknown}: {line}"


def test_the_officers_excerpt_is_of_the_table_that_is_computed() -> None:
    computed = (ROOT / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8")
    full = dict(re.findall(r"^\| ([\d.]+) \| ([\d.]+)% \| [\d.]+% \|$", computed, re.MULTILINE))
    page = (ROOT / "docs" / "for-officers.md").read_text(encoding="utf-8")
    epsilons = re.findall(r"[\d.]+", page.split("| ε |")[1].split("\n")[0])
    shown = re.findall(r"[\d.]+", page.split("| right |")[1].split("\n")[0])
    assert dict(zip(epsilons, shown, strict=True)) == {one: full[one] for one in epsilons}
