"""What is public about images: the document, its errors, and the cosine code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.fft import dctn

from microtome.errors import SchemaError
from microtome.images import ImageCode, ImageSchema
from microtome.images.image_schema import classes_from_text, draft_of_layout, schema_of_layout
from microtome.schema_file import load_schema

COLOUR = ImageSchema(
    height=6, width=4, channels=3, low=-1, high=3, mean=(0.0, 1.0, 2.0), classes=("cat", "dog"), components=24
)


def test_the_document_survives_yaml(tmp_path: Path) -> None:
    for schema in (COLOUR, ImageSchema(height=28, width=28), ImageSchema(height=8, width=8, classes=(0, 1), mean=(3,))):
        (tmp_path / "s.yaml").write_text(schema.to_yaml(), encoding="utf-8")
        assert ImageSchema.load(tmp_path / "s.yaml") == load_schema(tmp_path / "s.yaml") == schema


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": 0}, "height is 0"),
        ({"width": 2.5}, "width is 2.5"),
        ({"range": [5, 5]}, "range is"),
        ({"range": [0]}, "must have 2 numbers"),
        ({"mean": [300]}, "outside the range"),
        ({"mean": [1, 2]}, "one for each channel"),
        ({"classes": []}, "0 classes"),
        ({"classes": [1, "a"]}, "all whole numbers, or all names"),
        ({"classes": [1, 1]}, "name one twice"),
        ({"classes": "ab"}, "list of labels"),
        ({"components": 65}, "from 1 to the 64"),
        ({"aligned": "yes"}, "true or false"),
        ({"colour": 1}, "unknown key 'colour'"),
        ({"edges": True}, "measured no more"),
        ({"microtome-image-schema": 2}, "version 2"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], message: str) -> None:
    document = ImageSchema(height=8, width=8, classes=(0, 1)).to_dict() | changes
    with pytest.raises(SchemaError, match=message):
        ImageSchema.from_dict(document)


def test_classes_as_people_write_them() -> None:
    assert classes_from_text("3") == (0, 1, 2)
    assert classes_from_text("cat, dog") == ("cat", "dog")
    assert classes_from_text("4,7") == (4, 7)
    assert classes_from_text("01,2") == ("01", "2")
    with pytest.raises(SchemaError):
        classes_from_text("cat,cat")


def test_the_range_is_that_of_the_type_or_has_to_be_declared() -> None:
    assert schema_of_layout((2, 2, 1), "uint16", None).high == 65535
    with pytest.raises(SchemaError, match="declare their range"):
        schema_of_layout((2, 2, 1), "int32", None)
    assert draft_of_layout((2, 2, 1), "int32").high == 255
    assert draft_of_layout((2, 2, 1), "uint16").high == 65535


def test_components_are_those_of_the_cosine_transform_lowest_first() -> None:
    schema = ImageSchema(height=5, width=7, low=0, high=1, components=35)
    code, images = ImageCode(schema), np.random.default_rng(0).random((3, 5, 7, 1))
    whole = dctn(images[..., 0], axes=(1, 2), norm="ortho").reshape(3, -1)
    np.testing.assert_allclose(np.sort(code.encode(images), axis=1), np.sort(whole, axis=1), atol=1e-5)
    np.testing.assert_allclose(code.encode(images)[:, 0], whole[:, 0], atol=1e-5)
    np.testing.assert_allclose(code.plane @ code.plane.T, np.eye(35), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_image_in_range_is_longer_than_the_largest_and_all_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.choice([-1.0, 3.0, rng.uniform(-1, 3)], (4, *COLOUR.shape))
    code = ImageCode(COLOUR)
    rows = code.encode(pixels)
    assert np.linalg.norm(rows, axis=1).max() <= code.largest + 1e-5
    np.testing.assert_allclose(code.decode(rows), (pixels + 1) / 4, atol=1e-5)


def test_schemas_that_say_there_are_no_edges_are_read() -> None:
    """Files were written with that key for a while; it meant what is always so now."""
    schema = ImageSchema(height=8, width=8, classes=(0, 1))
    assert ImageSchema.from_dict(schema.to_dict() | {"edges": False}) == schema
