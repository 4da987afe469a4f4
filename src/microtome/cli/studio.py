"""``microtome studio``: a local page from table to report."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from microtome.cli.screen import console, errors, plain
from microtome.errors import ParameterError
from microtome.whole_file import scratch_folder, write_text

_MIB = 1 << 20


def studio(
    table: Annotated[
        str | None, typer.Argument(help="A private table, or a release, to begin with: a file or folder.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for releases, models, rows and reports; it stays.")
    ] = Path("microtome-studio"),
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Book of what was spent, for all tables.",
            show_default="beside a table that is opened by its path; ~/.microtome/studio.ledger.json for uploads",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port of this machine to listen at.", show_default="any that is free")] = 0,
    largest_upload: Annotated[int, typer.Option(help="Most MiB of a file that is dropped on the page.")] = 2048,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page in the usual browser.")] = False,
) -> None:
    """Work in a browser: open a table, correct its draft, see what a release is worth, release, fit, draw, report.

    The page is for this machine alone, and for whoever has the address with its token. Ctrl-C ends it: files that were
    dropped on the page are removed, releases and what was made of them stay in the output folder.
    """
    try:
        from microtome.studio.desk import Desk
        from microtome.studio.places import Places
        from microtome.studio.serving import FOLDER, studio_at
        from microtome.studio.table_page import open_path
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ParameterError("the studio needs Starlette and uvicorn: pip install 'microtome[studio]'") from None
    from microtome.studio.receiving import Form

    with scratch_folder(FOLDER) as private:
        places = Places(private=private, results=output, ledger=ledger, largest_upload=largest_upload * _MIB)
        desk = Desk(places)
        with studio_at(port, desk) as running:
            if table is not None:
                open_path(desk, Form({"version": str(desk.version), "path": table}))
            address = running.access.address
            console.print(f"The studio is at [bold]{plain(address)}[/]", soft_wrap=True)
            console.print("Whoever has this address can work with your tables: keep it. Ctrl-C ends the studio.")
            if browser:
                _open(address, private)
            with suppress(KeyboardInterrupt):  # how a studio is ended
                running.run(tell=lambda words: errors.print(plain(words), soft_wrap=True))
            if desk.standing is not None and desk.standing.problem:
                errors.print(plain(f"{desk.standing.title}: {desk.standing.problem}"), soft_wrap=True)
    console.print(f"The studio has ended. Releases and what was made of them: {plain(output)}", soft_wrap=True)


def _open(address: str, folder: Path) -> None:
    """By a page in the private folder: the arguments of a browser can be seen by everybody on this machine."""
    page = folder / "open.html"
    text = f'<!doctype html><title>Microtome studio</title><meta http-equiv="refresh" content="0; url={address}">'
    write_text(page, text, mode=0o600)
    webbrowser.open(page.as_uri())
