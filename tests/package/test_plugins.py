"""A generator and a source that another package brings, installed for real and found by their entry points."""

import shutil
import sys
from pathlib import Path

import pytest
from built import ran

import microtome as mt
from microtome.accounting import Ledger
from microtome.errors import ModelError, ParameterError, TableError
from microtome.plugins import Group, plugin, source_plugin

PLUGIN = Path(__file__).resolve().parents[1] / "plugin_package"
SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="even", kind="boolean", missing=False),
        mt.Column(name="digit", kind="integer", bounds=(0, 9), missing=False),
    )
)


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory):
    """The package, in a folder that this process imports from."""
    copy, target = tmp_path_factory.mktemp("copy") / "plugin", tmp_path_factory.mktemp("site")
    shutil.copytree(PLUGIN, copy)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    ran([*pip, "--disable-pip-version-check", "--target", str(target), str(copy)])
    sys.path.insert(0, str(target))
    yield
    sys.path.remove(str(target))
    sys.modules.pop("someones_plugin", None)


@pytest.fixture(scope="module")
def release() -> mt.Release:
    return mt.release("parity://400", SCHEMA, epsilon=8, delta=1e-4)


def test_a_source_is_read_by_its_address(release: mt.Release) -> None:
    assert release.manifest.contents.num_records == 400
    assert mt.draft_schema("parity://40").names == ["even", "digit"]


def test_a_source_has_no_name_in_the_book_but_a_given_one() -> None:
    with pytest.raises(ParameterError, match="give one"):
        mt.release("parity://400", SCHEMA, epsilon=1, delta=1e-4, ledger=Ledger())


def test_what_stops_a_source_is_told_and_nothing_is_charged() -> None:
    book = Ledger()
    with pytest.raises(TableError, match="failing://x stopped after 0 rows: nobody answers"):
        mt.release("failing://x", SCHEMA, epsilon=1, delta=1e-4, ledger=book, dataset="x")
    assert book.datasets() == []


def test_what_is_built_in_cannot_be_replaced() -> None:
    assert source_plugin("s3://bucket/people.parquet") is None
    assert source_plugin("people.csv") is None
    assert source_plugin("parity://1") is not None


def test_a_generator_is_trained_and_found_again_by_its_name(release: mt.Release, tmp_path: Path) -> None:
    model = mt.Synthesizer(mt.FitSettings(steps=3), generator="mixer", random_state=0).fit(release)
    model.save(tmp_path / "own.model")
    again = mt.Synthesizer.load(tmp_path / "own.model")
    assert type(again.model.generator).__name__ == "Mixer"
    assert again.sample(20, random_state=1).equals(model.sample(20, random_state=1))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobodys", "no microtome.generators 'nobodys'; there are broken, mixer, number"),
        ("broken", "'broken' cannot be loaded from someones_plugin:nothing_of_this_name"),
    ],
)
def test_what_is_not_there_or_broken_is_named(name: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        plugin(Group.GENERATORS, name)


def test_what_is_no_generator_is_refused(release: mt.Release) -> None:
    with pytest.raises(ModelError, match=r"'number' is a int; it must be a torch\.nn\.Module"):
        mt.Synthesizer(generator="number").fit(release)
