"""Whether a synthetic table keeps the rules of its schema, in a sentence: both are public, and so is the answer."""

from __future__ import annotations

import pyarrow as pa

from microtome.evaluation.tables import RawTable
from microtome.schema import Schema


def rules_in_words(table: RawTable, schema: Schema) -> list[str]:
    """In how many rows rules hold; nothing without rules."""
    rules, rows = schema.ruled, table.data.num_rows
    if not rules:
        return []
    named = "The rule of the schema holds" if len(rules.all) == 1 else f"The {len(rules.all)} rules of the schema hold"
    try:
        broken = {text: count for text, count in rules.broken_rows(table.data).items() if count}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        return [f"Warning: {table.origin} is not of the schema's types, so its rules were not checked: {error}"]
    if not broken:
        return [f"{named} in all {rows:,} rows of {table.origin}."]
    told = "; ".join(f"{text!r} in {count:,}" for text, count in broken.items())
    return [f"Warning: of {rows:,} rows of {table.origin} some break rules of the schema: {told}."]
