"""How databases write what we ask of them: names, values and the few functions that differ.

Everything that a server could decide by its settings is spelled out: collation, time zone, casts, escapes. A float is
written with as many digits as tell it from all others, in quotes, and cast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from microtome.private.key_texts import BLANKS, MINUS_NOTHING, WHOLE

_WRAP = 1 << 64


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """One database's way of writing.

    Attributes:
        name: What sqlglot calls it.
        double: The type of 64-bit floats.
        whole: The type of 64-bit whole numbers.
        varchar: The type of texts.
        as_text: A text compared byte by byte, whatever its column says.
        sha256: The SHA-256 of a text in UTF-8, in hexadecimal digits.
        is_nan: Whether a float is not a number.
        unspelled: A text in small letters, accents composed, without these characters around it.
        days: A date as days since 1970.
        microseconds: A timestamp, one with a zone, or a time of day, as microseconds, by the name of its family.
        groups: What stands for the first two groups of a pattern, one after the other.
        round_even: A float as the nearest whole one, the even of two.
        bucket: The bucket of a float (``histograms.buckets``) of so many.
        bits: A float's bits as a whole number.
        begin: Statements that hold the table as it is now, and fix what values look like.
        types: Families of its types, by the name, or the number, that its driver gives them.
    """

    name: str
    double: str
    whole: str
    varchar: str
    as_text: Callable[[str], str]
    sha256: Callable[[str], str]
    is_nan: Callable[[str], str]
    unspelled: Callable[[str, str], str]
    days: Callable[[str], str]
    microseconds: dict[str, Callable[[str], str]]
    groups: str = r"\1\2"
    round_even: Callable[[str], str] | None = None
    bucket: Callable[[str, int], str] | None = None
    bits: Callable[[str], str] | None = None
    begin: tuple[str, ...] = ()
    types: dict[str, str] = field(default_factory=dict)

    def identifier(self, name: str) -> str:
        """A name, quoted."""
        from sqlglot import exp

        return str(exp.to_identifier(name, quoted=True).sql(dialect=self.name))

    def text(self, value: str) -> str:
        """A text."""
        from sqlglot import exp

        return str(exp.Literal.string(value).sql(dialect=self.name))

    def without_blanks(self, text: str) -> str:
        """A text in small letters, accents composed, without the blanks around it."""
        return self.unspelled(text, self.text(BLANKS))

    def plain_spelling(self, text: str) -> str:
        """A text without what spelling adds (``key_texts``)."""
        plain = f"regexp_replace({self.without_blanks(text)}, {self.text(WHOLE)}, {self.text(self.groups)})"
        return f"regexp_replace({plain}, {self.text(MINUS_NOTHING)}, {self.text('0')})"

    def number(self, value: float) -> str:
        """A float, to the last bit."""
        return f"CAST('{float(value)!r}' AS {self.double})"


def _duckdb_bucket(number: str, size: int) -> str:
    bits = f"CAST(CAST({number} + CAST('0.0' AS DOUBLE) AS BIT) AS UBIGINT)"
    for factor in _FACTORS:
        product = f"CAST(xor({bits}, {bits} >> 33) AS UHUGEINT) * CAST('{factor}' AS UHUGEINT)"
        bits = f"CAST({product} % CAST('{_WRAP}' AS UHUGEINT) AS UBIGINT)"
    return f"CAST(xor({bits}, {bits} >> 33) % {size} AS BIGINT)"


def _postgres_bucket(number: str, size: int) -> str:
    bits = f"('x' || encode(float8send({number} + CAST('0.0' AS DOUBLE PRECISION)), 'hex'))::bit(64)"
    for factor in _FACTORS:
        mixed = f"(SELECT b # (b >> 33) FROM (SELECT {bits} AS b OFFSET 0) AS m)"
        unsigned = f"mod({mixed}::bigint::numeric + {_WRAP}, {_WRAP})"
        bits = f"(mod(mod({unsigned} * {factor}, {_WRAP}) + {_WRAP // 2}, {_WRAP}) - {_WRAP // 2})::bigint::bit(64)"
    last = f"(SELECT b # (b >> 33) FROM (SELECT {bits} AS b OFFSET 0) AS m)"
    return f"mod(mod({last}::bigint::numeric + {_WRAP}, {_WRAP}), {size})::bigint"


_FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
"""Those of ``histograms.buckets``."""


def _postgres_composed(text: str) -> str:
    """Accents composed, as they are anyway in a database of one byte a character."""
    return f"CASE WHEN getdatabaseencoding() = 'UTF8' THEN normalize({text}, NFC) ELSE {text} END"


def _epoch(value: str) -> str:
    return f"CAST(EXTRACT(EPOCH FROM {value}) * 1000000 AS BIGINT)"


DUCKDB = SqlDialect(
    name="duckdb",
    double="DOUBLE",
    whole="BIGINT",
    varchar="VARCHAR",
    as_text=lambda value: f"CAST(encode({value}) AS BLOB)",
    sha256=lambda text: f"sha256({text})",
    is_nan=lambda value: f"isnan({value})",
    unspelled=lambda text, blanks: f"lower(trim(nfc_normalize({text}), {blanks}))",
    days=lambda value: f"CASE WHEN isfinite({value}) THEN date_diff('day', DATE '1970-01-01', {value}) END",
    microseconds={name: lambda value: f"epoch_us({value})" for name in ("timestamp", "timestamptz", "time")},
    round_even=lambda value: f"round_even({value}, 0)",
    bucket=_duckdb_bucket,
    bits=lambda number: f"CAST(CAST({number} AS BIT) AS BIGINT)",
    types={
        **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "whole"),
        "DOUBLE": "double",
        "VARCHAR": "text",
        "BOOLEAN": "boolean",
        "DATE": "date",
        "TIMESTAMP": "timestamp",
        "TIMESTAMP WITH TIME ZONE": "timestamptz",
        "TIME": "time",
    },
)
POSTGRES = SqlDialect(
    name="postgres",
    double="DOUBLE PRECISION",
    whole="BIGINT",
    varchar="TEXT",
    as_text=lambda value: f'({value} COLLATE "C")',
    sha256=lambda text: f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')",
    is_nan=lambda value: f"({value} = CAST('NaN' AS DOUBLE PRECISION))",
    unspelled=lambda text, blanks: f"lower(btrim({_postgres_composed(text)}, {blanks}))",
    days=lambda value: f"CASE WHEN isfinite({value}) THEN {value} - DATE '1970-01-01' END",
    microseconds={
        "timestamp": lambda value: f"CASE WHEN isfinite({value}) THEN {_epoch(value)} END",
        "timestamptz": lambda value: f"CASE WHEN isfinite({value}) THEN {_epoch(f'({value} AT TIME ZONE {_UTC})')} END",
        "time": _epoch,
    },
    round_even=lambda value: f"round({value})",
    bucket=_postgres_bucket,
    bits=lambda number: f"('x' || encode(float8send({number}), 'hex'))::bit(64)::bigint",
    begin=(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL standard_conforming_strings = on",
        "SET LOCAL TimeZone = 'UTC'",
        "SET LOCAL extra_float_digits = 1",
    ),
    types={
        **dict.fromkeys(("20", "21", "23"), "whole"),
        "701": "double",
        "25": "text",
        "1043": "text",
        "16": "boolean",
        "1082": "date",
        "1114": "timestamp",
        "1184": "timestamptz",
        "1083": "time",
    },
)
_UTC = "'UTC'"


SPARK = SqlDialect(
    name="spark",
    double="DOUBLE",
    whole="BIGINT",
    varchar="STRING",
    as_text=lambda value: f"CAST({value} AS BINARY)",
    sha256=lambda text: f"sha2({text}, 256)",
    is_nan=lambda value: f"isnan({value})",
    unspelled=lambda text, blanks: f"lower(trim(BOTH {blanks} FROM {text}))",
    groups="$1$2",
    days=lambda value: f"datediff({value}, DATE '1970-01-01')",
    microseconds={"timestamptz": lambda value: f"unix_micros({value})"},
)
BIGQUERY = SqlDialect(
    name="bigquery",
    double="FLOAT64",
    whole="INT64",
    varchar="STRING",
    as_text=lambda value: f"CAST({value} AS BYTES)",
    sha256=lambda text: f"TO_HEX(SHA256({text}))",
    is_nan=lambda value: f"IS_NAN({value})",
    unspelled=lambda text, blanks: f"LOWER(TRIM(NORMALIZE({text}, NFC), {blanks}))",
    days=lambda value: f"DATE_DIFF({value}, DATE '1970-01-01', DAY)",
    microseconds={"timestamptz": lambda value: f"UNIX_MICROS({value})"},
)
SNOWFLAKE = SqlDialect(
    name="snowflake",
    double="DOUBLE",
    whole="BIGINT",
    varchar="VARCHAR",
    as_text=lambda value: f"TO_BINARY({value}, 'UTF-8')",
    sha256=lambda text: f"SHA2({text}, 256)",
    is_nan=lambda value: f"({value} = CAST('NaN' AS DOUBLE))",
    unspelled=lambda text, blanks: f"LOWER(TRIM({text}, {blanks}))",
    days=lambda value: f"DATEDIFF('day', DATE '1970-01-01', {value})",
    microseconds={"timestamp": lambda value: f"DATE_PART(EPOCH_MICROSECOND, {value})"},
)
"""These three are compiled, and were not run: their text is read by people, not compared with our counts."""
