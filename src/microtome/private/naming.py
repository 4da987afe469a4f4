"""Whether a column holds keys, names of people or free text: by its name in several languages, and by its values.

Noise protects none of these, and no model learns from them: a draft sets them aside. A name alone decides nothing
where a column has few values (a ``telephone`` that is yes or no), and values alone tell what no name does.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from microtome.schema import Action

_FEW = 20
_ROWS_TO_JUDGE = 30
_SHARE_OF_KEYS = 0.1
_MANY = 1000
_NEARLY_ALL = 0.5
_MOSTLY = 0.9
_WORDS, _LETTERS, _SPELLED = 3.0, 40.0, 0.9
_SHARE_OF_PATTERN = 0.8
_SHORTEST_NUMBER = 7
_PERSONAL = frozenset((
    "address", "adresse", "adresa", "anschrift", "correo", "courriel", "direccion", "e-mail", "email",
    "endereco", "fax", "firstname", "forename", "fullname", "handy", "indirizzo", "lastname", "mail", "mobile",
    "nachname", "nom", "nombre", "phone", "prenom", "street", "strasse", "straße", "surname", "telefon",
    "telefone", "telefono", "telephone", "tel", "url", "username", "vorname", "website", "apellido",
    "apellidos", "cognome",
))  # fmt: skip
_KEYS = frozenset((
    "accountnumber", "bsn", "cpf", "dni", "guid", "iban", "idnumber", "imei", "kontonummer", "kundennummer",
    "matricule", "mrn", "nhs", "nif", "nino", "passport", "patientid", "pesel", "personennummer",
    "personnummer", "rowid", "siren", "siret", "ssn", "steuernummer", "subjid", "usubjid", "uuid", "vin",
))  # fmt: skip
_FREE_TEXT = frozenset((
    "bemerkung", "bemerkungen", "comentario", "comentarios", "comment", "comments", "commentaire",
    "description", "descripcion", "feedback", "freitext", "freetext", "kommentar", "message", "narrative",
    "notes", "notiz", "notizen", "observaciones", "remark", "remarks", "text",
))  # fmt: skip
_OF_KEY = frozenset((
    "id", "ids", "key", "uid", "pk", "guid",
))  # fmt: skip
_NUMBERS = frozenset((
    "no", "nr", "num", "number", "nummer", "numero", "code", "ref", "reference",
))  # fmt: skip
_NUMBERED = frozenset((
    "account", "card", "case", "client", "contract", "customer", "document", "employee", "insurance", "invoice",
    "licence", "license", "loan", "member", "order", "passport", "patient", "person", "phone", "policy",
    "record", "reference", "registration", "security", "serial", "social", "student", "subject", "tax",
    "ticket", "tracking", "transaction", "user", "vehicle",
))  # fmt: skip
_PEOPLE = frozenset((
    "client", "customer", "employee", "member", "patient", "person", "student", "subject", "user",
))  # fmt: skip
_WHOSE = frozenset((
    "bsn", "cpf", "dni", "kundennummer", "mrn", "nhs", "nif", "nino", "patientid", "pesel", "personennummer",
    "personnummer", "ssn", "subjid", "usubjid",
))  # fmt: skip
_NAMED = frozenset((
    "client", "contact", "customer", "employee", "family", "first", "full", "given", "guest", "last", "maiden",
    "member", "middle", "patient", "person", "user",
))  # fmt: skip
_PATTERNS = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "UUIDs": re.compile(r"\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?"),
    "web addresses": re.compile(r"(https?://|www\.)\S+"),
    "IBANs": re.compile(r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,8}( ?[A-Z0-9]{1,4})?"),
    "IP addresses": re.compile(r"(\d{1,3}\.){3}\d{1,3}"),
}
_SURROGATES = ("UUIDs", "IBANs")


@dataclass(frozen=True, kw_only=True)
class Values:
    """What the first rows show of a column.

    Attributes:
        rows: Values that are not missing.
        distinct: Different ones among them.
        sample: Some of these, as text.
        whole_numbers: Whether they are whole numbers.
        rising: Whether each is larger than the one before it.
        spread: Largest less smallest, of whole numbers.
    """

    rows: int
    distinct: int
    sample: tuple[str, ...]
    whole_numbers: bool
    rising: bool = False
    spread: float = float("inf")

    @property
    def is_few(self) -> bool:
        """So few that they are codes, whatever they are called."""
        return self.distinct <= _FEW and 4 * self.distinct <= self.rows


def tokens(name: str) -> list[str]:
    """The words of a name, without accents: ``accountNumber`` and ``ACCOUNT_NUMBER`` have the same."""
    name = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W_]+", spaced.lower().replace("e-mail", "email"))


def set_aside(name: str, values: Values) -> tuple[Action, str] | None:
    """What to do with a column that holds identifiers or free text, and why; ``None`` for any other."""
    if values.is_few:
        return None
    return _by_pattern(values) or _by_name(tokens(name), values) or _by_values(values)


def is_of_person(name: str) -> bool:
    """Whether a column of keys says whose a row is, by its name alone."""
    words = tokens(name)
    return _kind_of_name(words) in ("key", "perhaps a key") and (bool(_PEOPLE & {*words}) or "".join(words) in _WHOSE)


def is_code(name: str, values: Values) -> bool:
    """Whether numbers of this name are keys of something, and not amounts."""
    return values.whole_numbers and _kind_of_name(tokens(name)) in ("key", "perhaps a key")


def _by_pattern(values: Values) -> tuple[Action, str] | None:
    for what, pattern in _PATTERNS.items():
        if sum(pattern.fullmatch(one.strip()) is not None for one in values.sample) > _SHARE_OF_PATTERN * len(
            values.sample
        ):
            return Action.SURROGATE if what in _SURROGATES else Action.DROP, f"its values are {what}"
    return None


def _by_name(words: list[str], values: Values) -> tuple[Action, str] | None:
    match _kind_of_name(words):
        case "personal":
            return Action.DROP, "its name says that it tells who somebody is"
        case "text" if not values.whole_numbers:
            return Action.DROP, "its name says that it is free text"
        case "key":
            return Action.SURROGATE, "its name says that it is a key"
        case "perhaps a key" if values.distinct > min(_SHARE_OF_KEYS * values.rows, _MANY):
            return Action.SURROGATE, "its name says that it is a key, and it has many values"
        case _:
            return None


def _kind_of_name(words: list[str]) -> str:
    """What a name says: personal, text, key, perhaps a key, or nothing."""
    if not words:
        return ""
    pairs = set(pairwise(words))
    joined, last = "".join(words), words[-1]
    if any(first in _NUMBERED and second in _NUMBERS | _OF_KEY for first, second in pairs) or {*words, joined} & _KEYS:
        return "key"
    if {*words, joined} & _PERSONAL or words == ["name"] or any(a in _NAMED and b == "name" for a, b in pairs):
        return "personal"
    if last in _FREE_TEXT or words[0] in ("free", "comment", "notes", "note"):
        return "text"
    if last in _OF_KEY or words[0] in ("id", "uid") or (len(words) > 1 and last in _NUMBERS) or last.endswith("nummer"):
        return "perhaps a key"
    return ""


def _by_values(values: Values) -> tuple[Action, str] | None:
    if values.rows < _ROWS_TO_JUDGE:
        return None
    if not values.whole_numbers:
        if values.distinct <= max(_NEARLY_ALL * values.rows, _FEW):
            return None
        looks = [(len(one.split()), len(one), not any(map(str.isdigit, one))) for one in values.sample]
        words, letters, spelled = (sum(look) / len(looks) for look in zip(*looks, strict=True))
        if words >= _WORDS or letters >= _LETTERS or spelled >= _SPELLED:
            return Action.DROP, "most of its values are texts of their own"
        return Action.SURROGATE, "most of its values are different, as those of keys are"
    if values.distinct == values.rows and (values.rising or values.spread < 2 * values.rows):
        return Action.SURROGATE, "its whole numbers are all different, as keys are"
    digits, count = Counter(len(one.strip("-")) for one in values.sample).most_common(1)[0]
    alike = digits >= _SHORTEST_NUMBER and count >= _MOSTLY * len(values.sample)
    if alike and values.distinct >= _MOSTLY * values.rows:
        return Action.SURROGATE, "its whole numbers are long, and nearly all different, as keys are"
    return None
