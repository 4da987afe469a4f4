"""The grammar of rules: a short text to a tree of terms, without knowing any column.

    rule       if CONDITION: CONDITION  |  if CONDITION then CONDITION  |  never: CONDITION  |  CONDITION
    condition  ONE, joined by "and" and "or" ("and" binds closer), in parentheses where needed
    one        SUM = SUM  (also == != < <= > >=)  |  TERM in [TERM, …]  |  TERM not in […]  |  TERM is (not) missing
    sum        TERM, or several joined by + and -, with blanks around them
    term       words up to the next sign or keyword, or anything in quotes; `in backticks` is a column, never a value

Keywords are written small, so that IN and OR may be states. A colon ends a premise if a blank follows, so that 08:30 is
a time; a hyphen within a word belongs to it, so that never-married is a category and 2026-01-31 a date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from microtome.errors import SchemaError

OPERATORS = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "≠": "!=",
    "<": "<",
    "<=": "<=",
    "≤": "<=",
    ">": ">",
    ">=": ">=",
    "≥": ">=",
}
_KEYWORDS = frozenset(["if", "then", "never", "and", "or", "is", "not", "in", "missing"])
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>"[^"]*"|'[^']*'|`[^`]*`)
    |(?P<sign><=|>=|!=|==|[=<>≤≥≠])
    |(?P<mark>[()\[\],]|:(?=\s|$)|[+\-](?=\s))
    |(?P<word>(?:[^\s<>=≤≥≠()\[\],:!]|:(?!\s|$)|!(?!=))+)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class Term:
    """A column or a value: which of them, only the columns tell.

    Attributes:
        text: What it says.
        quote: The sign that it is quoted with, or ``""``.
        place: Where it begins, counted from 1.
    """

    text: str
    quote: str
    place: int


@dataclass(frozen=True, kw_only=True)
class Addition:
    """Terms that are added (sign 1) or taken away (−1)."""

    terms: tuple[tuple[int, Term], ...]

    @property
    def single(self) -> Term | None:
        """Its only term."""
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == 1 else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sums, compared."""

    left: Addition
    operator: str
    right: Addition


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A term that is, or is not, one of a list."""

    left: Term
    values: tuple[Term, ...]
    wanted: bool


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A term that is, or is not, missing."""

    left: Term
    wanted: bool


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Sentences of which all have to hold, or any."""

    parts: tuple[Sentence, ...]
    every: bool


Sentence = Comparison | Listing | Absence | Joined


@dataclass(frozen=True, kw_only=True)
class RuleText:
    """A rule as it was read.

    Attributes:
        premise: When it applies; ``None`` for always.
        sentence: What holds then, or, if ``never``, what does not.
        never: Whether it forbids.
    """

    premise: Sentence | None
    sentence: Sentence
    never: bool = False


@dataclass(frozen=True, kw_only=True)
class _Token:
    kind: str
    text: str
    place: int


def parse_rule(text: str) -> RuleText:
    """The tree of a rule; an error with the place of whatever is not understood."""
    return _Parser(text).rule()


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while text[place:].strip():
        token = _TOKEN.match(text, place)
        if token is None or token.end() == place:
            raise SchemaError(f"rule {text!r}: cannot read {text[place:].strip()!r}; put names with signs in quotes")
        kind = token.lastgroup or ""
        word = token[kind]
        if kind == "word" and word in _KEYWORDS:
            kind = "keyword"
        found.append(_Token(kind=kind, text=word, place=token.start(token.lastgroup or 0) + 1))
        place = token.end()
    return found


class _Parser:
    """Reads from left to right; every method takes what it is named after."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next = text, _tokens(text), 0

    def rule(self) -> RuleText:
        if self._took("if"):
            premise = self._any()
            if not (self._took(":") or self._took("then")):
                raise self._error("a ':' or 'then' after the premise, as in 'if age < 15: marital = N'")
            read = RuleText(premise=premise, sentence=self._any())
        elif self._took("never"):
            self._took(":")
            read = RuleText(premise=None, sentence=self._any(), never=True)
        else:
            read = RuleText(premise=None, sentence=self._any())
        if self._next < len(self._tokens):
            raise self._error("'and', 'or' or the end of the rule")
        return read

    def _any(self) -> Sentence:
        parts = [self._all()]
        while self._took("or"):
            parts.append(self._all())
        return _joined(parts, every=False)

    def _all(self) -> Sentence:
        parts = [self._one()]
        while self._took("and"):
            parts.append(self._one())
        return _joined(parts, every=True)

    def _one(self) -> Sentence:
        if self._took("("):
            inner = self._any()
            self._need(")")
            return inner
        left = self._sum()
        if (operator := self._sign()) is not None:
            return Comparison(left=left, operator=operator, right=self._sum())
        if left.single is None:
            raise self._error("a comparison such as '=' after a sum")
        if self._took("is"):
            wanted = not self._took("not")
            self._need("missing")
            return Absence(left=left.single, wanted=wanted)
        wanted = not self._took("not")
        if self._took("in"):
            return Listing(left=left.single, values=self._list(), wanted=wanted)
        raise self._error("one of = != < <= > >=, 'in [a, b]', 'is missing' or 'is not missing'")

    def _list(self) -> tuple[Term, ...]:
        closing = ")" if self._took("(") else "]"
        if closing == "]":
            self._need("[")
        values = [self._term()]
        while self._took(","):
            values.append(self._term())
        self._need(closing)
        return tuple(values)

    def _sum(self) -> Addition:
        terms = [(1, self._term())]
        while True:
            if self._took("+"):
                terms.append((1, self._term()))
            elif self._took("-"):
                terms.append((-1, self._term()))
            else:
                return Addition(terms=tuple(terms))

    def _term(self) -> Term:
        token = self._peek()
        if token is not None and token.kind == "quoted":
            self._next += 1
            return Term(text=token.text[1:-1], quote=token.text[0], place=token.place)
        words: list[_Token] = []
        while (token := self._peek()) is not None and token.kind == "word":
            words.append(token)
            self._next += 1
        if not words:
            raise self._error("a column or a value; one that is a keyword, or has one in it, stands in quotes")
        return Term(text=" ".join(word.text for word in words), quote="", place=words[0].place)

    def _sign(self) -> str | None:
        token = self._peek()
        if token is None or token.kind != "sign":
            return None
        self._next += 1
        return OPERATORS[token.text]

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _took(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.kind not in ("mark", "keyword") or token.text != text:
            return False
        self._next += 1
        return True

    def _need(self, text: str) -> None:
        if not self._took(text):
            raise self._error(f"'{text}'")

    def _error(self, wanted: str) -> SchemaError:
        token = self._peek()
        where = "at its end" if token is None else f"at {token.text!r} (character {token.place})"
        return SchemaError(f"rule {self._text!r}: {where} there should be {wanted}")


def _joined(parts: Sequence[Sentence], *, every: bool) -> Sentence:
    return parts[0] if len(parts) == 1 else Joined(parts=tuple(parts), every=every)
