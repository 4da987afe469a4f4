"""YAML documents as people write them, read strictly: what a person would not write on purpose is refused.

An alias can make a small file into billions of entries, a repeated key silently drops the first one, and nesting
without end exhausts the stack. None of them has a use in a schema.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from microtome.errors import SchemaError
from microtome.file_kind import mistaken_for

_LARGEST = 64 * 2**20
_DEEPEST = 32


class _Loader(yaml.SafeLoader):
    """Plain values without aliases, repeated keys and deep nesting."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        place = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _refused(place, "aliases (*name) are not read; write the values out")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _refused(place, f"it is nested deeper than {_DEEPEST} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if isinstance(name, Hashable) and name in seen:
                raise _refused(key.start_mark, f"the key {name!r} is there twice")
            seen |= {name} if isinstance(name, Hashable) else set()
        return super().construct_mapping(node, deep=deep)


def read_document(path: str | Path) -> Any:
    """A YAML file as plain values."""
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise SchemaError(f"{path}: larger than {_LARGEST // 2**20} MiB; that is no schema")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such file; write one with 'microtome schema draft'") from None
    except UnicodeDecodeError as error:
        said = mistaken_for(path, "a schema") or f"cannot be read as YAML: {error}"
        raise SchemaError(f"{path}: {said}") from error
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_document(text, str(path))


def parse_document(text: str, origin: str = "the schema") -> Any:
    """A YAML text as plain values."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SchemaError(f"{origin}: cannot be read as YAML: {error}") from error


@contextmanager
def contents_of(path: str | Path) -> Iterator[None]:
    """Turn whatever goes wrong with a document's contents into an error with its name."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
        raise SchemaError(f"{path}: its values make no sense: {error}") from error


def refuse_unknown(entries: Mapping[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    """Refuse what nobody would read."""
    unknown = sorted(repr(str(key)) for key in set(entries) - known)
    if unknown:
        word = "an unknown key" if len(unknown) == 1 else "unknown keys"
        raise SchemaError(f"{where} has {word} {', '.join(unknown)}; known are {', '.join(sorted(known))}")


class _Dumper(yaml.SafeDumper):
    """Quotes text with characters that cannot be seen, which plain YAML would fold or drop."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_text)


def scalar(value: Any) -> str:
    """A value on one line, as YAML."""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=2**30)
    return text.removesuffix("\n").removesuffix("\n...")


def _refused(mark: yaml.Mark, what: str) -> yaml.YAMLError:
    return yaml.YAMLError(f"line {mark.line + 1}: {what}")
