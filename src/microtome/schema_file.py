"""Reads a schema, whether it is of a table, of several or of images: the document says which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from microtome.errors import SchemaError
from microtome.images.image_schema import KEY, ImageSchema
from microtome.schema.document import Schema
from microtome.schema.linked import LinkedSchema
from microtome.schema.linked_document import KEY as LINKED
from microtome.schema.linked_document import linked_from_dict, with_public_rows
from microtome.schema.rule_document import with_files
from microtome.schema.yaml_document import contents_of, read_document


def load_any_schema(path: str | Path) -> Schema | LinkedSchema | ImageSchema:
    """Read a YAML document about a table, about several or about images."""
    document = read_document(path)
    with contents_of(path):
        if isinstance(document, Mapping) and KEY in document:
            return ImageSchema.from_dict(document)
        if isinstance(document, Mapping) and LINKED in document:
            return linked_from_dict(with_public_rows(document, Path(path).parent))
        return Schema.from_dict(with_files(document, Path(path).parent))


def load_schema(path: str | Path) -> Schema | ImageSchema:
    """Read a YAML document about one table or about images."""
    match load_any_schema(path):
        case LinkedSchema() as linked:
            raise SchemaError(f"{path} is about {len(linked.tables)} linked tables; this needs the schema of one table")
        case schema:
            return schema
