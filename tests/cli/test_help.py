"""``--help`` and completion answer at once: they load nothing that they do not need."""

import json
import os
import resource
import subprocess
import sys

import pytest
import typer.main
from typer.testing import CliRunner

from microtome.accounting import Accountant, DirectionKind, Neighbours
from microtome.cli import choices
from microtome.cli.main import app
from microtome.published import ReleaseKind

HEAVY = ("numpy", "scipy", "torch", "pandas", "pyarrow", "sklearn", "safetensors", "microtome.private")
GROUP = typer.main.get_command(app)
VERBS = [
    [name, *inner]
    for name, verb in GROUP.commands.items()
    for inner in [[one] for one in getattr(verb, "commands", {})] or [[]]
]
TIMES_AS_LONG = 2.5
"""Processor time of ``--help`` against that of loading Typer and Rich's tables, which draw it."""
RUNS = 8


@pytest.mark.parametrize("verb", [[], *VERBS], ids=" ".join)
def test_help_by_its_short_name_loads_nothing_heavy(verb: list[str]) -> None:
    code = (
        "import sys, json\n"
        "from microtome.cli.main import run\n"
        f"sys.argv = ['microtome', *{verb!r}, '-h']\n"
        "try:\n    run()\n"
        "except SystemExit as leaving:\n"
        "    print('\\n' + json.dumps([leaving.code, sorted(sys.modules)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, modules = json.loads(done.stdout.splitlines()[-1])
    assert exit_code == 0
    assert "Usage: microtome" in done.stdout
    assert not [name for name in HEAVY if name in modules]


def processor_time(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_takes_little_longer_than_what_draws_it() -> None:
    bare = "import typer, rich.table, rich.panel, rich.markdown"
    helped = "import sys; sys.argv = ['microtome', '--help']; from microtome.cli.main import run; run()"
    # In turn, and the least of each: whatever else the machine does can only add, and it comes and goes.
    bare_times, helped_times = zip(*((processor_time(bare), processor_time(helped)) for _ in range(RUNS)), strict=True)
    assert min(helped_times) < TIMES_AS_LONG * min(bare_times)


@pytest.mark.parametrize(
    ("offered", "known", "left_out"),
    [
        (choices.Neighbours, Neighbours, set()),
        (choices.Kind, ReleaseKind, set()),
        (choices.Directions, DirectionKind, set()),
        (choices.DrawnDirections, DirectionKind, {"fixed"}),
        (choices.ReleaseAccountant, Accountant, {"prop3"}),
    ],
)
def test_options_offer_what_the_library_knows(offered: type, known: type, left_out: set[str]) -> None:
    assert {str(one) for one in offered} == {str(one) for one in known} - left_out  # type: ignore[attr-defined]


def test_the_shell_completes_verbs_and_options() -> None:
    def completed(words: str) -> str:
        asked = {"_MICROTOME_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        code = "import sys; sys.argv = ['microtome']; from microtome.cli.main import run; run()"
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False).stdout

    assert "sample" in completed("microtome sa").split()
    assert "--spreadsheet-safe" in completed("microtome sample --sp").split()


def test_paragraphs_are_as_wide_as_the_terminal() -> None:
    shown = CliRunner().invoke(app, ["release", "--help"], env={"COLUMNS": "80"}, terminal_width=80).output
    assert "the release, and refuses one that would hold next to nothing" in shown
