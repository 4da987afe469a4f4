"""The examples in docstrings do what they say."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import microtome
from microtome.accounting import calibrate_noise, delta, epsilon

PACKAGE = Path(microtome.__file__).parent
WITH_EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
PUBLIC = [
    microtome.Column,
    microtome.Schema,
    microtome.Ledger,
    microtome.Release.load,
    microtome.Synthesizer,
    calibrate_noise,
    delta,
    epsilon,
]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=module_name)
def test_examples_do_what_they_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(module_name(path))
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "run python -m doctest on the file"


@pytest.mark.parametrize("name", PUBLIC, ids=lambda name: name.__qualname__)
def test_what_users_start_with_has_an_example(name: object) -> None:
    assert ">>> " in (inspect.getdoc(name) or "")
