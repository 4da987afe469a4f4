"""The documents say what the program does: verbs, options, commands, and a snippet that runs."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import typer.main

from microtome.adaptation import AdaptationSettings
from microtome.cli.main import app
from microtome.schema import Column, Parent
from microtome.training import FitSettings, LossMix

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GOLDEN = ROOT / "tests" / "published" / "golden" / "version-1.release"
MACHINE_PATHS = re.compile(r"(?<![\w.])/(work|home|root|tmp|Users|mnt|srv)/|\.\./shared")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
EXPECTED = [
    "README.md",
    "FORMAT.md",
    "KNOWN_LIMITATIONS.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/privacy.md",
    "docs/privacy-statement.md",
    "docs/reliability.md",
    "docs/choosing-epsilon.md",
    "docs/schema.md",
    "docs/cli.md",
    "docs/engines.md",
    "docs/linked-tables.md",
    "docs/python.md",
    "docs/method.md",
    "docs/kinds.md",
    "docs/report.md",
    "docs/architecture.md",
    "docs/releasing.md",
    "docs/studio.md",
]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def verbs() -> dict[str, click.Command]:
    """Every verb by its full name, such as ``schema draft``."""
    found: dict[str, click.Command] = {}
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            found |= {f"{name} {inner}": nested for inner, nested in command.commands.items()}
        else:
            found[name] = command
    return found


def section(verb: str) -> str:
    """The part of docs/cli.md under the verb's own heading."""
    parts = re.split(r"^## ", text_of("docs/cli.md"), flags=re.MULTILINE)
    matching = [part for part in parts if part.splitlines()[0].strip() == f"`microtome {verb}`"]
    assert len(matching) == 1, f"docs/cli.md has {len(matching)} sections for {verb!r}"
    return matching[0]


@pytest.mark.parametrize("name", EXPECTED)
def test_document_exists(name: str) -> None:
    assert text_of(name).startswith("# ")


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_a_section_with_every_option(verb: str) -> None:
    written = section(verb)
    assert verbs()[verb].help
    for parameter in verbs()[verb].params:
        if isinstance(parameter, click.Option) or parameter.param_type_name == "option":
            for name in parameter.opts:
                if name != "--help":
                    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", written), f"{verb}: no word on {name}"
        else:
            assert str(parameter.name).upper() in written


@pytest.mark.parametrize("verb", verbs())
def test_no_section_describes_an_option_that_is_not_there(verb: str) -> None:
    known = {name for parameter in verbs()[verb].params for name in (*parameter.opts, *parameter.secondary_opts)}
    described = re.findall(r"^\| `(--?[\w-]+)", section(verb), flags=re.MULTILINE)
    assert set(described) <= known


def test_readme_shows_both_commands_and_every_verb() -> None:
    readme = text_of("README.md")
    top = readme.split("\n## ")[0]
    assert "make demo" in top
    assert "make test" in top
    for verb in verbs():
        assert f"`{verb}`" in readme


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_a_machine_path(path: Path) -> None:
    found = MACHINE_PATHS.search(path.read_text(encoding="utf-8"))
    assert found is None, found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", [path for path in DECISIONS if path.stem != "README"], ids=lambda path: path.stem)
def test_a_decision_says_why_and_is_listed(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    for part in ("**Context.**", "**Decision", "**Considered.**", "**Consequences.**"):
        assert part in written, part
    assert f"]({path.name})" in text_of("docs/decisions/README.md")


def test_schema_document_describes_every_key() -> None:
    written = text_of("docs/schema.md")
    for name in [*Column.__dataclass_fields__, "microtome-schema", "target", "columns"]:
        assert f"`{name}`" in written, name


def test_linked_document_describes_every_key() -> None:
    written = text_of("docs/linked-tables.md")
    for name in [*Parent.__dataclass_fields__, "microtome-linked", "key", "references", "public", "rows"]:
        assert f"`{name}`" in written, name


def test_method_document_describes_every_setting() -> None:
    written = text_of("docs/method.md")
    for name in [*FitSettings.__dataclass_fields__, *LossMix.__dataclass_fields__]:
        assert f"`{name}`" in written, name


def test_adaptation_document_describes_every_setting() -> None:
    written = text_of("docs/adaptation.md")
    for name in AdaptationSettings.__dataclass_fields__:
        assert f"`{name}`" in written, name


def test_privacy_document_keeps_the_sections_that_the_code_refers_to() -> None:
    sections = re.findall(r"^## (\d)\. ", text_of("docs/privacy.md"), flags=re.MULTILINE)
    assert sections == list("12345678")


def test_format_snippet_reads_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippet = re.search(r"```python\n(.*?)```", text_of("FORMAT.md"), flags=re.DOTALL)
    assert snippet is not None
    (tmp_path / "people.release").write_bytes(GOLDEN.read_bytes())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(snippet[1], names)
    manifest = names["manifest"]
    assert isinstance(manifest, dict)
    assert names["rows"].shape == (manifest["contents"]["num_rows"], names["directions"].shape[1])  # type: ignore[attr-defined]
