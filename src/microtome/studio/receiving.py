"""What comes in: forms, as texts by name, and files, straight to the disk; neither larger than it needs to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request

from microtome.errors import ParameterError
from microtome.typed_number import typed_count
from microtome.whole_file import whole_file

_LARGEST_FORM = 4 << 20
_LONGEST_NAME = 200
_OWN_FILE = 0o600


class Form(Mapping[str, str]):
    """The fields of a form, as they were typed; a field that is not there is empty."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = dict(fields)

    def __getitem__(self, name: str) -> str:
        return self._fields.get(name, "").strip()

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def number(self, name: str) -> float:
        """A field as a number."""
        try:
            return float(self[name])
        except ValueError:
            raise ParameterError(f"{name} is {self[name]!r}; it must be a number") from None

    def whole(self, name: str) -> int:
        """A field as a whole number."""
        try:
            return typed_count(self[name])
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from None

    def lines(self, name: str) -> list[str]:
        """The lines of a field that are not empty."""
        return [line.strip() for line in self[name].splitlines() if line.strip()]


async def read_form(request: Request) -> Form:
    """The fields that were sent."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_FORM:
            raise ParameterError(f"the form is larger than {_LARGEST_FORM >> 20} MiB")
    try:
        return Form(dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")))
    except ValueError:
        raise ParameterError("the form cannot be read as text") from None


async def receive_file(request: Request, folder: Path, *, largest: int) -> Path:
    """Write the body of a request to a file of its name, which nobody else can read.

    Raises:
        ParameterError: It has no name, or is larger than ``largest`` bytes; nothing of it stays.
    """
    path = folder / _safe_name(request.query_params.get("name", ""))
    _check_size(int(request.headers.get("content-length", 0)), largest)
    size = 0
    with whole_file(path, mode=_OWN_FILE) as file:
        async for piece in request.stream():
            size += len(piece)
            _check_size(size, largest)
            await to_thread.run_sync(file.write, piece)
    return path


def _safe_name(given: str) -> str:
    """The last part of a name, which is what files of other systems are called too."""
    name = PurePath(given.replace("\\", "/")).name
    if not name or name.startswith(".") or not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise ParameterError(f"a file of the name {given!r} is not taken; give it a plain one, such as people.csv")
    return name


def _check_size(size: int, largest: int) -> None:
    if size > largest:
        raise ParameterError(
            f"the file is larger than {largest >> 20:,} MiB, the most that is copied here (--largest-upload); open it "
            "by its path instead, which copies nothing"
        )
