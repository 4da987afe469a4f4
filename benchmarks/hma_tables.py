"""SDV's HMA on linked tables of ours: tables and what is said of them are written down for ``hma.py``."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from bank import Tables, read_frame
from microtome.schema import LinkedSchema, LinkedTable

_LEFT_OUT = "card"
_ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv-baselines"


def hma(real: Tables, schema: LinkedSchema, seed: int) -> Tables:
    """SDV's hierarchical model in an environment of its own; it takes five tables, so one is left out."""
    schema = without(schema, _LEFT_OUT)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("real", "synthetic"):
            (folder / part).mkdir()
        for name in schema.names:
            real[name][_compared(schema[name])].to_csv(folder / "real" / f"{name}.csv", index=False)
        said = {"seed": seed, "people": schema.root.name, "metadata": _metadata(schema)}
        (folder / "specification.json").write_text(json.dumps(said))
        python, script = _ENVIRONMENT / "bin" / "python", Path(__file__).with_name("hma.py")
        subprocess.run(
            [python, script, *(folder / part for part in ("specification.json", "real", "synthetic"))], check=True
        )
        return {name: read_frame(folder / "synthetic" / f"{name}.csv") for name in schema.names}


def without(schema: LinkedSchema, name: str) -> LinkedSchema:
    """The schema without one of its tables."""
    return replace(schema, tables=tuple(table for table in schema.tables if table.name != name))


def _compared(table: LinkedTable) -> list[str]:
    return [one.name for one in table.schema.layout() if one.name in table.schema.names or not one.is_dropped]  # type: ignore[union-attr]


def _metadata(schema: LinkedSchema) -> dict[str, Any]:
    """Keys, links and kinds of columns as SDV wants them."""
    tables = {}
    for table in schema.tables:
        columns: dict[str, dict[str, str]] = {}
        for column in table.schema.columns:
            kind = "categorical" if column.kind.is_categorical else "numerical"
            columns[column.name] = (
                {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} if column.kind.is_temporal else {"sdtype": kind}
            )
        columns |= {name: {"sdtype": "id"} for name in _compared(table) if name not in columns}
        tables[table.name] = {"columns": columns, **({} if table.key is None else {"primary_key": table.key})}
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": tables,
        "relationships": [_relationship(name, schema) for name in schema.links],
    }


def _relationship(name: str, schema: LinkedSchema) -> dict[str, str | None]:
    parent = schema.links[name]
    one, many = (name, parent.table) if parent.owner else (parent.table, name)
    return {
        "parent_table_name": one,
        "parent_primary_key": schema[one].key,
        "child_table_name": many,
        "child_foreign_key": parent.foreign_key,
    }
