"""``microtome inspect``: what a release promises and holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from microtome.cli.screen import console, plain, print_document, print_json
from microtome.errors import ParameterError


def inspect(
    release: Annotated[Path, typer.Argument(help="Release file.")],
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
    statement: Annotated[
        bool, typer.Option("--statement", help="The statement for a privacy officer, in Markdown.")
    ] = False,
    verify: Annotated[
        Path | None, typer.Option("--verify", help="Public key: exit with an error unless its holder signed the file.")
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not check the checksum of every row.")] = False,
) -> None:
    """Say what was promised, to whom, and what the file contains."""
    from microtome.published import Artefact, contents_in_words, promise_in_words, summary, unlearnt_in_words
    from microtome.published.signature import signed_by, verify_signature
    from microtome.published.statement import privacy_statement

    if as_json and statement:
        raise ParameterError("give either --json or --statement")
    if verify is not None and no_verify:
        raise ParameterError("a signature holds for the rows only if they are checked: leave --no-verify out")
    opened = Artefact.load(release, verify=not no_verify)
    signer = signed_by(opened.path) if verify is None else verify_signature(opened.path, verify)
    if statement:
        print_document(privacy_statement(opened))
        return
    figures = {**summary(opened), "signature": {"key": signer, "verified": verify is not None}}
    if as_json:
        print_json(figures, indent=2)
        return
    console.print(f"[bold]{plain(release)}[/]  ({figures['kind']}, format {figures['format_version']})", soft_wrap=True)
    for line in promise_in_words(opened):
        console.print(plain(line), soft_wrap=True)
    for table in _tables(figures):
        console.print(table)
    for line in (*unlearnt_in_words(opened), contents_in_words(opened)):
        console.print(plain(line), soft_wrap=True)
    checked = "not verified" if no_verify else "verified"
    console.print(
        f"fingerprint {opened.fingerprint}  ({checked}; written by {plain(figures['software'])})", soft_wrap=True
    )
    console.print(_signature(signer, verified=verify is not None), soft_wrap=True)


def _signature(signer: str | None, *, verified: bool) -> str:
    if signer is None:
        return "not signed"
    return f"signed with key {signer}" + ("  (verified)" if verified else "  (not verified: give --verify PUBLICKEY)")


def _tables(figures: dict[str, Any]) -> list[Table]:
    """Columns, of each table if there are several, or classes of images."""
    if "tables" in figures:
        return [_columns(one, name) for name, one in figures["tables"].items()]
    return [_classes(figures) if "classes" in figures else _columns(figures)]


def _classes(figures: dict[str, object]) -> Table:
    table = Table(header_style="bold", title_justify="left")
    for heading in ("class", "images", "± count"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    for one in figures["classes"]:  # type: ignore[attr-defined]
        table.add_row(plain(one["class"]), f"{max(one['images'], 0):,.0f}", f"{one['noise_scale']:.1f}")
    return table


def _columns(figures: dict[str, Any], name: str | None = None) -> Table:
    table = Table(header_style="bold", title_justify="left", title=None if name is None else plain(name))
    for heading in ("column", "kind", "values", "known", "levels", "missing", "± count"):
        table.add_column(heading, justify="right" if heading in ("levels", "missing", "± count") else "left")
    for column in figures["columns"]:
        bounds = " … ".join(column["bounds"]) if "bounds" in column else f"{column['categories']} values"
        mark = "  (target)" if column["name"] == figures["target"] else ""
        table.add_row(
            plain(column["name"]) + mark,
            column["kind"],
            plain(bounds),
            "declared" if column["declared"] else "learnt" if column["learnt"] else "not learnt",
            str(column["levels"]),
            f"{column['missing_share']:.1%}",
            f"{column['noise_scale']:.1f}",
        )
    return table
