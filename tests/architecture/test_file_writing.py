"""One way to write a file: whole or not at all. Whatever else opens files for writing would leave halves behind."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_code import parsed

import microtome

PACKAGE = Path(microtome.__file__).parent
WRITES_FILES = {
    "whole_file.py",  # the one way
}
WRITERS = {"write_bytes", "mkstemp", "NamedTemporaryFile", "copyfile", "copy2", "save_file", "memmap", "tofile"}
TAKE_A_FILE = {"write_csv", "CSVWriter", "ParquetWriter", "savez", "savez_compressed"}
"""Writers of others, which take a name as well as an open file; they are to be given a file."""


def _called(node: ast.Call) -> tuple[str, str]:
    """What a call is a method of, and its name."""
    if isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value), node.func.attr
    return "", getattr(node.func, "id", "")


def _opens_for_writing(node: ast.Call, name: str) -> bool:
    if name not in ("open", "fdopen"):
        return False
    given = [*node.args, *(word.value for word in node.keywords if word.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    flags = [ast.unparse(one) for one in node.args]
    return any(set(mode) <= set("rwxab+t") and set(mode) & set("wxa+") for mode in modes) or any(
        "O_WRONLY" in flag or "O_RDWR" in flag for flag in flags
    )


def writes(text: str) -> Iterator[str]:
    """Every call in a file that writes another without going through ``whole_file``."""
    for node in ast.walk(parsed(text)):
        if not isinstance(node, ast.Call):
            continue
        owner, name = _called(node)
        given = [ast.unparse(argument) for argument in node.args]
        renames = owner == "os" and name in ("replace", "rename", "link")
        by_method = bool(owner) and name == "write_text"
        by_name = name in TAKE_A_FILE and "file" not in given
        if _opens_for_writing(node, name) or renames or by_method or by_name or name in WRITERS:
            yield ast.unparse(node)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_writes_files_but_through_whole_file(path: Path) -> None:
    if path.relative_to(PACKAGE).as_posix() not in WRITES_FILES:
        assert list(writes(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "path.write_text('x')",
        "path.write_bytes(b'x')",
        "open(path, 'w')",
        "path.open('wb')",
        "path.open(mode='a')",
        "os.open(path, os.O_RDWR | os.O_CREAT)",
        "os.replace(a, b)",
        "tempfile.mkstemp()",
        "shutil.copyfile(a, b)",
        "pq.ParquetWriter(str(partial), schema)",
        "np.savez_compressed(path, images=x)",
        "pacsv.write_csv(table, path)",
    ],
)
def test_the_search_finds_writers(line: str) -> None:
    assert list(writes(line))


@pytest.mark.parametrize("line", ["write_text(path, 'x')", "path.open('rb')", "open(path)", "text.replace('a', 'w')"])
def test_the_search_leaves_others_alone(line: str) -> None:
    assert not list(writes(line))
