"""Reads a schema, whether it is of a table or of images: the document says which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from microtome.images.image_schema import KEY, ImageSchema
from microtome.schema.document import Schema
from microtome.schema.rule_document import with_files
from microtome.schema.yaml_document import contents_of, read_document


def load_schema(path: str | Path) -> Schema | ImageSchema:
    """Read a YAML document about a table or about images."""
    document = read_document(path)
    with contents_of(path):
        if isinstance(document, Mapping) and KEY in document:
            return ImageSchema.from_dict(document)
        return Schema.from_dict(with_files(document, Path(path).parent))
