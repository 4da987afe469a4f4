"""``microtome key``: a key to sign releases with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli.screen import console, plain
from microtome.cli.verb import Quiet, Verb

app = typer.Typer(help="A key to sign releases with.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """A key to sign releases with."""


@app.command(cls=Verb)
def make(
    key: Annotated[Path, typer.Argument(help="File for the private key; the public one gets the ending .pub.")],
    force: Annotated[bool, typer.Option(help="Replace an existing key, which is lost.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a pair of keys: KEY signs releases and stays with you, KEY.pub verifies them and is for everybody."""
    from microtome.published.signature import PUBLIC_SUFFIX, make_key

    name = make_key(key, force=force)
    console.print(
        f"[bold]{plain(key)}[/]: the private key, readable by you only; keep it secret, and keep a copy.\n"
        f"[bold]{plain(key)}{PUBLIC_SUFFIX}[/]: the public key (id {name}); give it to whoever is to verify releases.",
        soft_wrap=True,
    )
