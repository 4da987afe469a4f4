"""From the texts and tables of a schema to rules about its columns, with everything that is wrong in them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from microtome.errors import SchemaError, together
from microtome.schema.cells import OTHER
from microtome.schema.column import Column, Value
from microtome.schema.formula import Either, Every, Formula, Gap, Limit, OneOf, Order, negated
from microtome.schema.kind import Kind
from microtome.schema.rule_clash import refuse_clashes
from microtome.schema.rule_text import (
    Absence,
    Addition,
    Comparison,
    Joined,
    Listing,
    RuleText,
    Sentence,
    Term,
    parse_rule,
)
from microtome.schema.rules import Check, Computed, Lookup, Rules, RuleSource, Sum, TableRule
from microtome.schema.scale import Scale, has_numbers

_MOST_SHOWN = 5
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def read_rules(sources: Sequence[RuleSource], columns: Sequence[Column], aside: Sequence[str]) -> Rules:
    """The rules about these columns; an error with all that is wrong, or with those that clash."""
    reader = _Reader(columns={column.name: column for column in columns}, aside=frozenset(aside))
    checks: list[Check] = []
    computed: list[Computed] = []
    with together() as attempts:
        for source in sources:
            with attempts:
                match reader.rule(source):
                    case Check() as check:
                        checks.append(check)
                    case Sum() | Lookup() as one:
                        computed.append(one)
    rules = Rules(scales=reader.scales, checks=tuple(checks), computed=_in_order(computed))
    refuse_clashes(rules)
    return rules


def _in_order(computed: Sequence[Computed]) -> tuple[Computed, ...]:
    """Every column after those that it follows from; an error for one that follows twice, or from itself."""
    by_column: dict[str, Computed] = {}
    for one in computed:
        if one.column in by_column:
            raise SchemaError(
                f"rules {by_column[one.column].text!r} and {one.text!r} clash: column {one.column!r} would be computed "
                "twice; keep one, or write the other as '<=' and '>='"
            )
        by_column[one.column] = one
    done: dict[str, Computed] = {}

    def add(one: Computed, above: tuple[Computed, ...]) -> None:
        if one in above:
            circle = " and ".join(repr(rule.text) for rule in above[above.index(one) :])
            raise SchemaError(f"rules {circle} clash: column {one.column!r} would be computed from itself")
        for name in one.sources:
            if name in by_column and name not in done:
                add(by_column[name], (*above, one))
        done[one.column] = one

    for one in computed:
        if one.column not in done:
            add(one, ())
    return tuple(done.values())


@dataclass(kw_only=True)
class _Reader:
    """Reads rules about some columns; names get their places as they come."""

    columns: Mapping[str, Column]
    aside: frozenset[str]
    scales: dict[str, Scale] = field(default_factory=dict)
    names: dict[Value, float] = field(default_factory=dict)

    def rule(self, source: RuleSource) -> Check | Computed:
        match source:
            case str():
                return self._text(" ".join(source.split()))
            case TableRule():
                return self._lookup(source)

    def _text(self, text: str) -> Check | Computed:
        parsed = parse_rule(text)
        about = _About(reader=self, text=text)
        match parsed:
            case RuleText(premise=None, never=False, sentence=Comparison(operator="=") as equation):
                if (found := about.equation(equation)) is not None:
                    return found
        sentence = about.formula(parsed.sentence)
        if parsed.never:
            return Check(text=text, formula=negated(sentence))
        if parsed.premise is None:
            return Check(text=text, formula=sentence)
        premise = about.formula(parsed.premise)
        return Check(text=text, formula=Either(parts=(negated(premise), sentence)), premise=premise)

    def scale(self, column: Column) -> Scale:
        """The places of a column's values."""
        if column.name not in self.scales:
            if not has_numbers(column):
                for value in column.categories or ():
                    self.names.setdefault(value, float(len(self.names)))
            self.scales[column.name] = Scale.of(column, self.names)
        return self.scales[column.name]

    def column(self, name: str, where: str) -> Column:
        """A column by its name, the nearest one suggested."""
        if name in self.columns:
            return self.columns[name]
        if name in self.aside:
            raise SchemaError(f"{where}: column {name!r} is not released: its action is drop or surrogate")
        raise SchemaError(f"{where}: there is no column {name!r}{_nearest(name, list(self.columns))}")

    def place(self, column: Column, text: Any, where: str) -> float:
        """The place of a value that a rule names; an error if the schema cannot hold it."""
        scale = self.scale(column)
        if not column.kind.is_categorical:
            return self._number(column, text, where)
        value = _category(column, text, where)
        if not has_numbers(column):
            self.names.setdefault(value, float(len(self.names)))
        return scale.place(value)

    def _number(self, column: Column, text: Any, where: str) -> float:
        if str(text) in column.code_texts:
            raise SchemaError(f"{where}: {text!r} is a code of column {column.name!r}; rules are about measured values")
        try:
            number = column.to_number(_as_number(text) if column.kind.is_number else text)
        except (SchemaError, ValueError):
            raise SchemaError(
                f"{where}: {text!r} is neither a column nor a value of {column.name!r}, which is {column.kind}"
                f"{_nearest(str(text), list(self.columns))}"
            ) from None
        bounds = column.number_bounds()
        if bounds is not None and not bounds[0] <= number <= bounds[1]:
            low, high = column.bounds or bounds
            raise SchemaError(f"{where}: {text} is outside the bounds of {column.name!r}, {low} … {high}")
        return number

    def _lookup(self, rule: TableRule) -> Lookup:
        where = f"rule of column {rule.column!r}"
        with together() as attempts:
            with attempts:
                target = self.column(rule.column, where)
            with attempts:
                source = self.column(rule.source, where)
        if target is source:
            raise SchemaError(f"{where}: it follows from itself")
        places: dict[float, float | None] = {}
        of_missing: float | None = None
        has_missing = False
        with together() as attempts:
            for key, value in rule.table:
                with attempts:
                    place = None if value is None else self.place(target, value, where)
                    if place is None and not target.missing:
                        raise SchemaError(f"{where}: {key!r} leads to a missing value, which it never has")
                    if key is None:
                        of_missing, has_missing = place, True
                        continue
                    found = self.place(source, key, where)
                    if found in places:
                        raise SchemaError(f"{where}: {key!r} stands in its table twice")
                    places[found] = place
        self._check_complete(rule, source, target, places, has_missing=has_missing)
        text = f"{rule.column}: from {rule.source} by a table"
        return Lookup(text=text, target=self.scale(target), source=rule.source, places=places, of_missing=of_missing)

    def _check_complete(
        self, rule: TableRule, source: Column, target: Column, places: Mapping[float, Any], *, has_missing: bool
    ) -> None:
        where = f"rule of column {rule.column!r}"
        scale = self.scale(source)
        lacking = [value for value in source.categories or () if scale.place(value) not in places]
        if lacking:
            shown = ", ".join(map(str, lacking[:_MOST_SHOWN])) + (" …" if len(lacking) > _MOST_SHOWN else "")
            raise SchemaError(f"{where}: its table does not say what follows from {rule.source} = {shown}")
        if source.missing and not target.missing and not has_missing:
            raise SchemaError(
                f"{where}: {rule.source!r} may be missing and {rule.column!r} may not; say 'missing: allowed' of it, "
                "or give the table a line for null"
            )


@dataclass(frozen=True, kw_only=True)
class _About:
    """One rule that is being read."""

    reader: _Reader
    text: str

    def _where(self, term: Term) -> str:
        return f"rule {self.text!r}, character {term.place}"

    def formula(self, sentence: Sentence) -> Formula:
        """What a sentence says of the columns."""
        match sentence:
            case Joined(parts=parts, every=every):
                read: list[Formula] = []
                with together() as attempts:
                    for part in parts:
                        with attempts:
                            read.append(self.formula(part))
                return Every(parts=tuple(read)) if every else Either(parts=tuple(read))
            case Absence(left=left, wanted=wanted):
                column = self._column(left)
                if not column.missing:
                    raise SchemaError(
                        f"{self._where(left)}: column {column.name!r} is never missing; say 'missing: allowed' of it"
                    )
                self.reader.scale(column)
                return Gap(column=column.name, wanted=wanted)
            case Listing(left=left, values=values, wanted=wanted):
                return self._one_of(self._column(left), values, wanted=wanted)
            case Comparison():
                return self._comparison(sentence)

    def equation(self, equation: Comparison) -> Computed | None:
        """The column that an equation of columns computes; ``None`` for one with a value."""
        left, right = equation.left, equation.right
        if left.single is None:
            left, right = right, left
        target = left.single
        if target is None:
            raise SchemaError(f"rule {self.text!r}: one side of '=' must be a single column, as in 'total = a + b'")
        if right.single is None:
            return self._sum(self._column(target), right)
        column = self._column(target)
        other = self._column_or_none(column, right.single)
        if other is None:
            return None
        if other is column:
            raise SchemaError(f"rule {self.text!r}: a column is compared with itself")
        if not (column.kind.is_categorical or other.kind.is_categorical):
            return self._sum(column, right)
        return self._copy(column, other, right.single)

    def _copy(self, target: Column, source: Column, term: Term) -> Lookup:
        self._check_comparable(target, source, "=", term)
        pairs = [(value, value) for value in source.categories or () if value in (target.categories or ())]
        if not pairs:
            raise SchemaError(f"{self._where(term)}: {target.name!r} and {source.name!r} have no category in common")
        if source.missing and not target.missing:
            raise SchemaError(f"{self._where(term)}: {source.name!r} may be missing and {target.name!r} may not")
        here, there = self.reader.scale(source), self.reader.scale(target)
        places: dict[float, float | None] = {here.place(value): there.place(value) for value, _ in pairs}
        return Lookup(text=self.text, target=there, source=source.name, places=places, of_missing=None)

    def _sum(self, target: Column, right: Addition) -> Sum:
        constant, days, terms = 0.0, 0, []
        with together() as attempts:
            for sign, term in right.terms:
                with attempts:
                    number = None if term.quote or term.text in self.reader.columns else _number_or_none(term.text)
                    if number is not None:
                        constant += sign * number
                        continue
                    column = self._column(term)
                    days += sign * self._is_day(column, term)
                    self.reader.scale(column)
                    terms.append((sign, column.name))
                    if column.missing and not target.missing:
                        raise SchemaError(
                            f"{self._where(term)}: {column.name!r} may be missing and its sum {target.name!r} may not; "
                            f"say 'missing: allowed' of {target.name!r}"
                        )
            with attempts:
                if days not in (0, 1) or days != self._is_day(target, right.terms[0][1]):
                    raise SchemaError(
                        f"rule {self.text!r}: dates and numbers do not add up so; a date less a date is days"
                    )
        if not terms:
            raise SchemaError(f"rule {self.text!r}: there is no column to the right of '='; declare bounds instead")
        if target.name in [name for _, name in terms]:
            raise SchemaError(f"rule {self.text!r}: column {target.name!r} is on both sides")
        whole = all(self.reader.columns[name].kind.is_integral for _, name in terms) and constant.is_integer()
        if target.kind.is_integral and not whole:
            raise SchemaError(
                f"rule {self.text!r}: column {target.name!r} holds whole numbers, and the sum may not be one"
            )
        return Sum(text=self.text, target=self.reader.scale(target), terms=tuple(terms), constant=constant)

    def _is_day(self, column: Column, term: Term) -> int:
        match column.kind:
            case Kind.DATE:
                return 1
            case Kind.INTEGER | Kind.FLOAT:
                return 0
            case Kind.CATEGORICAL | Kind.ORDERED | Kind.BOOLEAN | Kind.DATETIME | Kind.TIME:
                raise SchemaError(
                    f"{self._where(term)}: column {column.name!r} is {column.kind}; sums are of numbers and dates"
                )

    def _comparison(self, comparison: Comparison) -> Formula:
        left, right = comparison.left.single, comparison.right.single
        if left is None or right is None:
            raise SchemaError(
                f"rule {self.text!r}: a sum stands by itself, as in 'total = a + b'; give it a column and compare that"
            )
        column = self._column(left)
        other = self._column_or_none(column, right)
        operator = comparison.operator
        if other is None:
            if operator in ("=", "!="):
                return self._one_of(column, (right,), wanted=operator == "=")
            self._check_ordered(column, operator, left)
            number = self.reader.place(column, right.text, self._where(right))
            return Limit(column=column.name, operator=operator, number=number)
        if other is column:
            raise SchemaError(f"{self._where(right)}: column {column.name!r} is compared with itself")
        self._check_comparable(column, other, operator, right)
        self.reader.scale(column), self.reader.scale(other)
        return Order(left=column.name, operator=operator, right=other.name)

    def _one_of(self, column: Column, terms: Sequence[Term], *, wanted: bool) -> OneOf:
        numbers: list[float] = []
        with together() as attempts:
            for term in terms:
                with attempts:
                    numbers.append(self.reader.place(column, term.text, self._where(term)))
        whole = column.kind.is_integral
        if whole and any(not number.is_integer() for number in numbers):
            raise SchemaError(f"rule {self.text!r}: column {column.name!r} holds whole numbers only")
        return OneOf(column=column.name, numbers=tuple(numbers), wanted=wanted)

    def _check_ordered(self, column: Column, operator: str, term: Term) -> None:
        if not self.reader.scale(column).is_ordered:
            raise SchemaError(
                f"{self._where(term)}: column {column.name!r} is {column.kind}, which has no order for '{operator}'; "
                "write '= value' or 'in [a, b]', or say 'kind: ordered' and list its categories in order"
            )

    def _check_comparable(self, left: Column, right: Column, operator: str, term: Term) -> None:
        where = self._where(term)
        if operator not in ("=", "!="):
            self._check_ordered(left, operator, term)
            self._check_ordered(right, operator, term)
        for column in (left, right):
            if not has_numbers(column) and column.categories is None:
                raise SchemaError(f"{where}: declare the categories of {column.name!r} to compare it with a column")
        if _sort(left) != _sort(right):
            raise SchemaError(
                f"{where}: {left.name!r} is {left.kind} and {right.name!r} is {right.kind}; they do not compare"
            )

    def _column(self, term: Term) -> Column:
        return self.reader.column(term.text, self._where(term))

    def _column_or_none(self, left: Column, term: Term) -> Column | None:
        """The column that a term to the right of a comparison is; ``None`` if it is a value."""
        if term.quote == "`":
            return self._column(term)
        if term.quote or term.text not in self.reader.columns:
            return None
        if term.text in map(str, left.categories or ()):
            raise SchemaError(
                f"{self._where(term)}: {term.text!r} is a column and a category of {left.name!r}; put it in quotes for "
                "the category, or in `backticks` for the column"
            )
        return self.reader.columns[term.text]


def _sort(column: Column) -> object:
    """What has to be the same of two columns for their values to compare."""
    match column.kind:
        case Kind.ORDERED:
            return column.categories
        case Kind.DATE | Kind.DATETIME | Kind.TIME | Kind.BOOLEAN:
            return column.kind
        case Kind.INTEGER | Kind.FLOAT | Kind.CATEGORICAL:
            return "number" if has_numbers(column) else column.dtype


def _category(column: Column, text: Any, where: str) -> Value:
    """The category that a rule names, of the column's own type."""
    by_text = {str(value): value for value in column.categories or ()}
    words = {str(value).lower(): value for value in column.categories or ()}
    said = str(text)
    if said in by_text:
        return by_text[said]
    match column.kind:
        case Kind.BOOLEAN if said.lower() in _WORDS or said.lower() in words:
            return _WORDS.get(said.lower(), words.get(said.lower(), False))
    if column.categories is None:
        return _learnt_category(column, text, where)
    if said == OTHER and not column.outside.is_refused:
        return OTHER
    if isinstance(text, bool):
        raise SchemaError(
            f"{where}: YAML reads {text} for yes, no, on or off; put the value of {column.name!r} in quotes"
        )
    shown = ", ".join(list(by_text)[:_MOST_SHOWN]) + (" …" if len(by_text) > _MOST_SHOWN else "")
    raise SchemaError(
        f"{where}: {said!r} is not a category of {column.name!r}, which has {shown}{_nearest(said, list(by_text))}"
    )


def _learnt_category(column: Column, text: Any, where: str) -> Value:
    if not has_numbers(column):
        return str(text)
    try:
        return _as_number(text)
    except ValueError:
        raise SchemaError(f"{where}: {text!r} is neither a column nor a number as {column.name!r} has them") from None


def _as_number(text: Any) -> int | float:
    if isinstance(text, bool):
        raise ValueError(f"{text} is not a number")
    return text if isinstance(text, int | float) else float(text)


def _number_or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _nearest(name: str, known: Sequence[str]) -> str:
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""
