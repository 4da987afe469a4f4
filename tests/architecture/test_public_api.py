"""What is stable is written down, and changes only on purpose."""

import dataclasses
import inspect
import re
from pathlib import Path

import yaml

import microtome

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("public_api.txt")
HOW = f"if the change is meant, say so in CHANGELOG.md and run: python {Path(__file__).name}"


def parameters(called: object) -> str:
    """Names and defaults of parameters, without their types."""
    try:
        signature = inspect.signature(called)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(…)"
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def public_api() -> str:
    """Every stable name, with its parameters and its public attributes."""
    lines = []
    for name in sorted(microtome.__all__):
        thing = getattr(microtome, name)
        lines.append(f"{name}{parameters(thing)}")
        if not inspect.isclass(thing):
            continue
        fields = {one.name for one in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
        for member in sorted(set(dir(thing)) - fields):
            if not member.startswith("_") and inspect.getattr_static(thing, member) is not None:
                value = inspect.getattr_static(thing, member)
                called = isinstance(value, staticmethod | classmethod) or inspect.isfunction(value)
                lines.append(f"    {member}{parameters(getattr(thing, member)) if called else ''}")
    return re.sub(r" at 0x[0-9a-f]+", "", "\n".join(lines)) + "\n"


def test_the_public_interface_is_the_one_written_down() -> None:
    assert public_api() == LIST.read_text(encoding="utf-8"), HOW


def test_the_page_lists_every_stable_name() -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    table = "".join(re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", table)) == set(microtome.__all__)


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == microtome.__version__
    assert citation["cff-version"] == "1.2.0"


if __name__ == "__main__":
    LIST.write_text(public_api(), encoding="utf-8")
