"""The code in documents: which there is, and running it as a reader would, from top to bottom in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import microtome

ROOT = Path(__file__).resolve().parents[2]
RUN = ("python", "sh", "bash")
BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S)
SOURCES = str(Path(microtome.__file__).parents[1])


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """A block of code.

    Attributes:
        language: ``python``, ``sh`` or ``bash``.
        code: The code.
        line: Where it begins.
        reason: Why it is not run, if it is not.
    """

    language: str
    code: str
    line: int
    reason: str | None


def snippets(page: Path) -> list[Snippet]:
    """All blocks of a page that are code to run."""
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(
            language=found["language"],
            code=found["code"],
            line=text.count("\n", 0, found.start("code")) + 1,
            reason=found["reason"],
        )
        for found in BLOCK.finditer(text)
        if found["language"] in RUN
    ]


def pages_with_code() -> list[Path]:
    """Pages of docs/ that have any."""
    return [page for page in sorted((ROOT / "docs").glob("*.md")) if snippets(page)]


def run_page(page: Path, names: dict[str, object]) -> None:
    """Run what a page has in the working directory; Python shares one set of names."""
    for snippet in snippets(page):
        if snippet.reason is not None:
            continue
        if snippet.language == "python":
            exec(compile("\n" * (snippet.line - 1) + snippet.code, str(page), "exec"), names)
        else:
            _shell(snippet, page)


def path_of_this_environment() -> str:
    """Where a reader who has activated this environment finds commands: its own come first, Python for Spark too."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def _shell(snippet: Snippet, page: Path) -> None:
    """Run lines in a shell that stops at the first that fails."""
    environment = {**os.environ, "PYTHONPATH": SOURCES, "PATH": path_of_this_environment()}
    command = [str(shutil.which("bash")), "-e", "-o", "pipefail", "-c", snippet.code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{page}, line {snippet.line}:\n{done.stderr}"
