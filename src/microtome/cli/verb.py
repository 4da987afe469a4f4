"""What all verbs share: every wrong option is named at once, numbers are read as people write them, and ``--quiet``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from microtome.cli.screen import be_quiet
from microtome.errors import ParameterError
from microtome.typed_number import typed_count


class Verb(TyperCommand):
    """A command that names everything that is wrong with its options, not only the first.

    Its help is what its function says, in lines as wide as the terminal and not as the source.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, paragraph by paragraph."""
        self.help = "\n\n".join(" ".join(one.split()) for one in (self.help or "").split("\n\n"))
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; where a value is wrong or missing, look for others before saying so."""
        try:
            rest = super().parse_args(ctx, list(args))
        except typer.BadParameter:
            problems = self._problems(ctx, list(args))
            if len(problems) > 1:
                ctx.fail("\n".join(problems))
            raise
        return rest

    def _problems(self, ctx: Any, args: list[str]) -> list[str]:
        given, rest, _ = self.make_parser(ctx).parse_args(args=args)
        found = []
        for parameter in self.get_params(ctx):
            try:
                _, rest = parameter.handle_parse_result(ctx, given, rest)
            except typer.BadParameter as error:
                found.append(error.format_message())
        return found


def count(given: str | int) -> int:
    """A whole number as people write it: 100000, 1e5 or 100_000. Defaults pass here too, as the numbers they are."""
    try:
        return typed_count(str(given))
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None


def _hush(wanted: bool) -> bool:
    if wanted:
        be_quiet()
    return wanted


Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print errors and warnings only.", callback=_hush, show_default=False)
]
"""An option that has done its work when the verb begins."""
