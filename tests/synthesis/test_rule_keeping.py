"""Rules hold in every sampled row, whatever the model thinks of them, and distributions suffer little."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fit_support import quick_mixture
from microtome import Column, Schema, Synthesizer
from microtome.errors import ModelError, SchemaError
from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout
from microtome.schema import Codebook, initial_cells
from microtome.schema.code_kinds import code_from_counts
from microtome.schema.column_code import CellCounts
from microtome.synthesis.draw import Draw
from microtome.synthesis.table_model import TableModel
from support import publish

NUM_ROWS = 20_000
DENSITIES = {"A": 120.0, "B": 85.5, "C": 7.0}
COLUMNS = (
    Column(name="age", kind="integer", bounds=(0, 99), missing=False),
    Column(name="marital", kind="categorical", categories=("N", "M", "D"), missing=True),
    Column(name="sex", kind="categorical", categories=("M", "F"), missing=False),
    Column(name="pregnant", kind="boolean", missing=False),
    Column(name="admission", kind="date", bounds=("2020-01-01", "2020-12-31"), missing=False),
    Column(name="discharge", kind="date", bounds=("2020-01-01", "2021-03-31"), missing=True),
    Column(name="stay", kind="integer", bounds=(0, 455), missing=True),
    Column(name="a", kind="float", bounds=(0, 10), missing=False, format="0.00"),
    Column(name="b", kind="float", bounds=(0, 10), missing=False, format="0.00"),
    Column(name="total", kind="float", bounds=(0, 20), missing=False, format="0.00"),
    Column(name="district", kind="categorical", categories=("A", "B", "C"), missing=False),
    Column(name="density", kind="float", bounds=(0, 5000), missing=False),
)
RULES: tuple[Any, ...] = (
    "discharge >= admission",
    "if age < 15: marital = N",
    "if age >= 90: marital is not missing",
    "never: sex = M and pregnant = yes",
    "total = a + b",
    "stay = discharge - admission",
    "age != 50",
    {"density": {"from": "district", "table": DENSITIES}},
)


def breaks(frame: pd.DataFrame) -> dict[str, int]:
    """Rows that break each rule, counted by hand."""
    given = frame["discharge"].notna()
    days = (pd.to_datetime(frame["discharge"]) - pd.to_datetime(frame["admission"])).dt.days
    return {
        "order": int((days < 0).sum()),
        "implication": int(((frame["age"] < 15) & frame["marital"].isin(["M", "D"])).sum()),
        "not missing": int(((frame["age"] >= 90) & frame["marital"].isna()).sum()),
        "forbidden": int(((frame["sex"] == "M") & frame["pregnant"].astype(bool)).sum()),
        "sum": int((~np.isclose(frame["total"], frame["a"] + frame["b"], rtol=1e-9, atol=1e-9)).sum()),
        "difference": int((given & (frame["stay"].astype("Float64") != days)).fillna(True).sum()),
        "missing parts": int((~given & frame["stay"].notna()).sum()),
        "constant": int((frame["age"] == 50).sum()),
        "table": int((frame["density"] != frame["district"].map(DENSITIES)).sum()),
    }


def hospital(num_rows: int, *, seed: int = 0) -> pa.Table:
    """A table that keeps the rules."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, num_rows)
    age[age == 50] = 51
    sex, first = rng.choice(["M", "F"], num_rows), rng.integers(0, 366, num_rows)
    stay, gone = rng.geometric(0.2, num_rows) - 1, rng.random(num_rows) < 0.1
    marital = np.where(age < 15, "N", rng.choice(["N", "M", "D"], num_rows, p=[0.3, 0.5, 0.2])).astype(object)
    marital[(rng.random(num_rows) < 0.05) & (age < 90)] = None
    a, b = np.round(rng.random((2, num_rows)) * 10, 2)
    district = rng.choice(list(DENSITIES), num_rows, p=[0.5, 0.3, 0.2])
    start = dt.date(2020, 1, 1).toordinal()
    days = [dt.date.fromordinal(start + int(day)) for day in first]
    values = {
        "age": age,
        "marital": marital,
        "sex": sex,
        "pregnant": (sex == "F") & (rng.random(num_rows) < 0.2),
        "admission": days,
        "discharge": [None if no else day + dt.timedelta(int(n)) for no, day, n in zip(gone, days, stay, strict=True)],
        "stay": [None if no else int(n) for no, n in zip(gone, stay, strict=True)],
        "a": a,
        "b": b,
        "total": np.round(a + b, 2),
        "district": district,
        "density": [DENSITIES[one] for one in district],
    }
    return pa.table({column.name: pa.array(values[column.name], column.arrow_type) for column in COLUMNS})


def made_up(schema: Schema, *, seed: int = 0, components: int = 8, margins: Any = None) -> TableModel:
    """A model that nobody trained: it knows nothing of the rules."""
    rng = np.random.default_rng(seed)
    codes = []
    for column in schema.columns:
        cells = initial_cells(column)
        assert cells is not None
        counts = rng.integers(1, 100, len(cells)).astype(float) if margins is None else margins(column, cells)
        given = CellCounts(column=column, counts=counts, noise_scale=0.1, total=float(counts.sum()))
        codes.append(code_from_counts(cells, given))
    codebook = Codebook(codes=tuple(codes), centred=True)
    shares = torch.tensor(np.concatenate([code.level_margins for code in codes])[None], dtype=torch.float32)
    generator = MixtureGenerator(RowLayout.of(codebook), shares, MixtureSettings(components=components))
    generator.leave_start(torch.Generator().manual_seed(seed))
    return TableModel(generator=generator, schema=schema, codebook=codebook, origin={})


def drawn(model: TableModel, number: int, **conditions: Any) -> pd.DataFrame:
    frame: pd.DataFrame = model.draw(Draw(number=number, conditions=conditions, seed=1))
    return frame


@pytest.fixture(scope="module")
def hospital_model(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    path = tmp_path_factory.mktemp("releases") / "hospital.release"
    schema = Schema(columns=COLUMNS, rules=RULES)
    release = publish(hospital(6000), schema, path, epsilon=3.0, kind="aggregates")
    return Synthesizer(quick_mixture(steps=100), random_state=0).fit(release)


def test_every_kind_of_rule_holds_in_all_rows_of_a_fitted_model(hospital_model: Synthesizer) -> None:
    frame = hospital_model.sample(NUM_ROWS)
    assert len(frame) == NUM_ROWS
    assert breaks(frame) == dict.fromkeys(breaks(frame), 0)
    assert frame["marital"].isna().any()
    assert frame["stay"].isna().any()


def test_rules_hold_in_files_too(hospital_model: Synthesizer, tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.parquet"):
        hospital_model.sample_to_file(tmp_path / name, NUM_ROWS, random_state=3)
    text = pd.read_csv(tmp_path / "rows.csv", keep_default_na=True, dtype={"stay": "Int64"})
    for frame in (text, pd.read_parquet(tmp_path / "rows.parquet")):
        assert breaks(frame) == dict.fromkeys(breaks(frame), 0)


def test_rules_hold_under_conditions_and_conditions_under_rules(hospital_model: Synthesizer) -> None:
    conditions = {"density": 7.0, "age": (5, 30), "stay": (2, 9)}
    frame = hospital_model.sample(4000, conditions=conditions)
    assert breaks(frame) == dict.fromkeys(breaks(frame), 0)
    assert set(frame["district"]) == {"C"}
    assert frame["age"].between(5, 30).all()
    assert frame["stay"].between(2, 9).all()


def test_conditions_that_rules_forbid_are_an_error(hospital_model: Synthesizer) -> None:
    with pytest.raises(ModelError, match="no row that also meets the conditions was found that keeps the rules"):
        hospital_model.sample(10, conditions={"sex": "M", "pregnant": True})


def test_the_same_seed_draws_the_same_rows(hospital_model: Synthesizer) -> None:
    first, second = (hospital_model.sample(500, random_state=5) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_a_saved_model_keeps_the_rules(hospital_model: Synthesizer, tmp_path: Path) -> None:
    hospital_model.save(tmp_path / "hospital.model")
    frame = Synthesizer.load(tmp_path / "hospital.model").sample(2000)
    assert breaks(frame) == dict.fromkeys(breaks(frame), 0)


def test_every_kind_of_rule_holds_in_all_rows_of_a_model_that_knows_nothing() -> None:
    frame = drawn(made_up(Schema(columns=COLUMNS, rules=RULES)), 3000)
    assert breaks(frame) == dict.fromkeys(breaks(frame), 0)


def test_rejection_leaves_the_model_given_the_rule() -> None:
    """Columns that are independent in the model are so among rows that keep a rule, in the shares they had."""
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 5), missing=False) for name in ("x", "y", "z"))
    schema = Schema(columns=columns, rules=("x <= y",))
    model, free = made_up(schema), made_up(Schema(columns=columns))
    kept, plain = drawn(model, 60_000), drawn(free, 120_000)
    plain = plain[plain["x"] <= plain["y"]]
    wanted, found = (frame.value_counts(normalize=True) for frame in (plain, kept))
    assert (wanted - found.reindex(wanted.index, fill_value=0.0)).abs().sum() < 0.05


def test_numbers_in_one_level_are_put_in_order_without_leaving_it() -> None:
    """Both columns have one level: no row is lost, and the earlier is the smaller of two even draws."""
    columns = tuple(Column(name=name, kind="float", bounds=(0, 1), missing=False, bins=2) for name in ("x", "y"))
    frame = drawn(made_up(Schema(columns=columns, rules=("x < y",))), 20_000)
    assert (frame["x"] < frame["y"]).all()


def test_a_sum_with_fewer_digits_than_its_parts_is_their_rounded_sum() -> None:
    columns = [Column(name=name, kind="float", bounds=(0, 10), missing=False) for name in ("a", "b")]
    total = Column(name="total", kind="float", bounds=(0, 20), missing=False, format="0.0")
    frame = drawn(made_up(Schema(columns=(*columns, total), rules=("total = a + b",))), 5000)
    assert ((frame["total"] - frame["a"] - frame["b"]).abs() < 0.05 + 1e-9).all()
    assert frame["a"].nunique() > 1000


def test_a_rule_that_the_model_never_keeps_is_kept_by_mending() -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 400), missing=False) for name in "abcdefgh")
    rules = tuple(f"{one} < {two}" for one, two in zip("abcdefg", "bcdefgh", strict=True))
    frame = drawn(made_up(Schema(columns=columns, rules=rules)), 3000)
    ordered = np.diff(frame.to_numpy().astype(int), axis=1)
    assert (ordered > 0).all()
    assert frame["d"].nunique() > 100


def test_rules_that_clash_unseen_end_in_an_error_and_not_in_rows() -> None:
    """Only the ends of sums are compared in the search for clashes: b + c is odd and even at once."""
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 400), missing=False) for name in ("a", "b", "c"))
    schema = Schema(columns=columns, rules=("a = b + c", "b = c", "a in [3, 5, 7]"))
    with pytest.raises(ModelError, match=r"no row was found that keeps the rules of the schema: a in \[3, 5, 7\]; "):
        drawn(made_up(schema), 20)


def test_without_rules_rows_are_drawn_as_ever() -> None:
    schema = Schema(columns=COLUMNS)
    model = made_up(schema)
    assert drawn(model, 100).equals(drawn(model, 100))


Truth = bool | None
Row = dict[str, Any]
Judge = Callable[[Row], Truth]
"""What a sentence says of a row; None for unknown."""
SMALL = {
    "x": Column(name="x", kind="integer", bounds=(0, 3), missing=False),
    "y": Column(name="y", kind="integer", bounds=(1, 4), missing=True),
    "z": Column(name="z", kind="integer", bounds=(0, 9), missing=True),
    "f": Column(name="f", kind="float", bounds=(0, 5), missing=False),
    "c": Column(name="c", kind="categorical", categories=("p", "q", "r"), missing=True),
    "d": Column(name="d", kind="categorical", categories=("q", "p"), missing=False),
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@st.composite
def atoms(draw: st.DrawFn) -> tuple[str, Judge]:
    """A condition, and by itself what it means."""
    name = draw(st.sampled_from(list(SMALL)))
    column, kind = SMALL[name], draw(st.sampled_from(["value", "column", "missing"]))
    if kind == "missing" and column.missing:
        wanted = draw(st.booleans())
        return f"{name} is {'' if wanted else 'not '}missing", lambda row: (row[name] is None) == wanted
    operator = draw(st.sampled_from(list(COMPARE)))
    if column.categories is not None:
        operator = draw(st.sampled_from(["=", "!="]))
    if kind == "column":
        others = [
            one for one in SMALL if (SMALL[one].categories is None) == (column.categories is None) and one != name
        ]
        other = draw(st.sampled_from(others))
        return f"{name} {operator} {other}", _comparing(name, operator, lambda row: row[other])
    if column.categories is not None:
        value: Any = draw(st.sampled_from(column.categories))
    else:
        assert column.bounds is not None
        value = draw(st.integers(int(column.bounds[0]), int(column.bounds[1])))  # type: ignore[call-overload]
    return f"{name} {operator} {value}", _comparing(name, operator, lambda row: value)


def _comparing(name: str, operator: str, other: Callable[[Row], Any]) -> Judge:
    def judge(row: Row) -> Truth:
        left, right = row[name], other(row)
        return None if left is None or right is None else COMPARE[operator](left, right)

    return judge


def _all(judges: list[Judge]) -> Judge:
    def judge(row: Row) -> Truth:
        found = [one(row) for one in judges]
        return False if False in found else None if None in found else True

    return judge


def _not(one: Judge) -> Judge:
    def judge(row: Row) -> Truth:
        found = one(row)
        return None if found is None else not found

    return judge


@st.composite
def rules(draw: st.DrawFn) -> tuple[Any, Judge]:
    """A rule, and by itself what it means."""
    kind = draw(st.sampled_from(["plain", "if", "never", "sum", "table"]))
    if kind == "sum":
        return (
            "z = x + y",
            lambda row: None if None in (row["x"], row["y"], row["z"]) else row["z"] == row["x"] + row["y"],
        )
    if kind == "table":
        table = {one: draw(st.sampled_from(["p", "q"])) for one in ("p", "q", "r")}
        rule = {"d": {"from": "c", "table": {**table, None: "q"}}}
        return rule, lambda row: row["d"] == ("q" if row["c"] is None else table[row["c"]])
    text, judge = draw(atoms())
    other, judge_other = draw(atoms())
    if kind == "if":
        return f"if {other}: {text}", _not(_all([judge_other, _not(judge)]))
    if kind == "never":
        return f"never: {text} and {other}", _not(_all([judge, judge_other]))
    return text, judge


def _rows(columns: tuple[str, ...] = ("x", "y", "z", "c", "d")) -> list[Row]:
    """All rows without missing values, and with one number for the float."""
    found: list[Row] = [{"f": number / 2} for number in range(11)]
    for name in columns:
        column = SMALL[name]
        values = column.categories or tuple(range(int(column.bounds[0]), int(column.bounds[1]) + 1))  # type: ignore
        found = [{**row, name: value} for row in found for value in values]
    return found


EVERY_ROW = _rows()


def accepted(texts: tuple[Any, ...]) -> tuple[Schema | None, str]:
    """A schema with the rules, or why there is none."""
    try:
        return Schema(columns=tuple(SMALL.values()), rules=texts), ""
    except SchemaError as error:
        return None, str(error)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(rules(), min_size=1, max_size=4), st.integers(0, 5))
def test_random_rules_are_refused_or_kept_in_every_row(made: list[tuple[Any, Judge]], seed: int) -> None:
    texts, judges = zip(*made, strict=True)
    schema, said = accepted(texts)
    if schema is None:
        says_missing = any("missing" in str(text) for text in texts)
        if "clash: no row" in said and "stands after 'if'" not in said and not says_missing:
            assert not any(all(judge(row) is not False for judge in judges) for row in EVERY_ROW), said
        return
    frame = drawn(made_up(schema, seed=seed, components=3), 200)
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        assert all(judge(row) is not False for judge in judges), (texts, row)
