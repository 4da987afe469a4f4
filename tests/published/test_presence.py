"""Levels of rows that are there never stand beside levels of rows that are not: in no table, and in no draw."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microtome as mt
from microtome.demo.clinic import clinic, clinic_schema
from microtome.published import LinkedRelease
from microtome.schema import LinkedSchema

KEY = {"action": "surrogate", "dtype": "int64"}
BANK = LinkedSchema.from_dict(
    {
        "microtome-linked": 1,
        "tables": [
            {
                "table": "client",
                "key": "client",
                "columns": [
                    {"name": "client", **KEY},
                    {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
                ],
            },
            {
                "table": "disp",
                "key": "disp",
                "parent": "client",
                "foreign_key": "client",
                "cardinality": "1:1",
                "min_rows": 1,
                "columns": [
                    {"name": "disp", **KEY},
                    {"name": "client", **KEY},
                    {"name": "account", **KEY},
                    {"name": "role", "kind": "categorical", "categories": ["owner", "other"], "missing": "never"},
                ],
            },
            {
                "table": "account",
                "key": "account",
                "parent": "disp",
                "foreign_key": "account",
                "cardinality": "m:n",
                "owner": {"role": "owner"},
                "columns": [
                    {"name": "account", **KEY},
                    {"name": "open", "kind": "boolean", "missing": "never"},
                    {"name": "note", "kind": "categorical", "categories": ["x", "y"]},
                ],
            },
            {
                "table": "loan",
                "parent": "account",
                "foreign_key": "account",
                "cardinality": "1:1",
                "columns": [
                    {"name": "account", **KEY},
                    {"name": "amount", "kind": "integer", "bounds": [0, 9], "missing": "never"},
                    {"name": "end", "kind": "categorical", "categories": ["good", "bad"], "missing": "never"},
                ],
            },
            {
                "table": "order",
                "parent": "account",
                "foreign_key": "account",
                "max_rows": 3,
                "columns": [
                    {"name": "account", **KEY},
                    {"name": "sum", "kind": "integer", "bounds": [0, 9]},
                ],
            },
        ],
    }
)
CLIENTS = 900


def bank() -> dict[str, pd.DataFrame]:
    """Two of three clients own an account, three of five accounts have a loan, which ends badly with many orders."""
    rng = np.random.default_rng(3)
    owns = np.arange(CLIENTS) % 3 > 0
    accounts = np.flatnonzero(owns)
    held = np.where(owns, np.arange(CLIENTS), rng.choice(accounts, CLIENTS))
    numbers = rng.integers(0, 4, len(accounts))
    lent = rng.random(len(accounts)) < 0.6
    bad = rng.random(len(accounts)) < numbers / 4
    orders = np.repeat(accounts, numbers)
    sums = pd.array(rng.integers(0, 10, len(orders)), "Int64")
    sums[rng.random(len(orders)) < 0.2] = pd.NA
    return {
        "client": pd.DataFrame({"client": np.arange(CLIENTS), "sex": rng.choice(["f", "m", None], CLIENTS)}),
        "disp": pd.DataFrame(
            {
                "disp": np.arange(CLIENTS),
                "client": np.arange(CLIENTS),
                "account": held,
                "role": np.where(owns, "owner", "other"),
            }
        ),
        "account": pd.DataFrame(
            {
                "account": accounts,
                "open": rng.random(len(accounts)) < 0.5,
                "note": rng.choice(["x", "y", None], len(accounts)),
            }
        ),
        "loan": pd.DataFrame(
            {
                "account": accounts[lent],
                "amount": rng.integers(0, 10, int(lent.sum())),
                "end": np.where(bad[lent], "bad", "good"),
            }
        ),
        "order": pd.DataFrame({"account": orders, "sum": sums}),
    }


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> LinkedRelease:
    return mt.release(bank(), BANK, epsilon=300.0, delta=1e-5, output=tmp_path_factory.mktemp("bank") / "a.release")


def columns(release: LinkedRelease) -> dict[str, int]:
    return {name: place for place, name in enumerate(release.joint.schema.names)}


@pytest.mark.parametrize("tables", [bank, lambda: clinic(300)], ids=["bank", "clinic"])
def test_no_record_of_any_table_is_where_none_can_be(tables: Any, tmp_path: Path) -> None:
    """With next to no noise every count at impossible pairs of levels is zero, and many others are not."""
    schema = BANK if tables is bank else clinic_schema()
    joint = mt.release(tables(), schema, epsilon=1e5, delta=1e-5, output=tmp_path / "a.release").joint
    presence = joint.presence
    assert presence is not None
    measured = joint.second_noise() > 0
    shut = presence.impossible & measured
    assert shut.sum() > 50
    assert np.abs(joint.second[0][shut]).max() < 0.5 < np.abs(joint.second[0][measured & ~shut]).max()


def test_what_can_be_is_not_shut_out(release: LinkedRelease) -> None:
    """A value that may be missing tells nothing where it is, and a step that ends is no missing row."""
    place, joint = columns(release), release.joint
    blocks, codes = joint.codebook.blocks, joint.codebook.codes
    assert joint.presence is not None

    def shut(first: str, second: str) -> np.ndarray:
        a, b = blocks[place[first]], blocks[place[second]]
        return joint.presence.impossible[a.start : a.stop, b.start : b.stop]  # type: ignore[union-attr]

    open_, note = codes[place["account: open"]], codes[place["account: note"]]
    assert shut("account: open", "account: note")[:-1, -1].sum() == 0, "an account without a note"
    assert shut("account: open", "account: note")[-1, :-1].all(), "no account, and no note"
    assert open_.num_levels == note.num_levels == 3
    assert shut("loan: end", "account: open")[:-1, -1].all(), "no loan without an account"
    assert not shut("loan: end", "account: open")[-1].any(), "an account without a loan"
    assert not shut("client: sex", "account: open").any()


def test_drawn_rows_have_what_was_counted_of_siblings(release: LinkedRelease) -> None:
    """How a loan ends goes with the number of its account's orders, which are in another table."""
    drawn = mt.Synthesizer(random_state=0).fit(release).sample(CLIENTS, random_state=0)
    real = bank()
    assert abs(len(drawn["loan"]) - len(real["loan"])) < 0.35 * len(real["loan"])  # drawn one by one
    assert abs(len(drawn["account"]) - len(real["account"])) < 0.03 * len(real["account"])

    def slope(tables: dict[str, Any]) -> float:
        number = tables["order"].groupby("account").size().reindex(tables["loan"]["account"], fill_value=0)
        return float(np.corrcoef(number.to_numpy(), (tables["loan"]["end"] == "bad").to_numpy())[0, 1])

    assert slope(real) > 0.3
    assert slope(drawn) > 0.5 * slope(real)
