"""What options offer to choose from, by name alone: ``--help`` lists them without the library that knows what they are.

A test compares them with the library's own.
"""

from enum import StrEnum


class Neighbours(StrEnum):
    """Neighbouring relations."""

    BLANK_ONE = "blank-one"
    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


class Kind(StrEnum):
    """Kinds of release."""

    AGGREGATES = "aggregates"
    RECORDS = "records"


class Engine(StrEnum):
    """Who reads a table and counts."""

    LOCAL = "local"
    SPARK = "spark"
    SQL = "sql"

    @property
    def unit(self) -> str:
        """What a bar counts."""
        match self:
            case Engine.LOCAL:
                return "rows"
            case Engine.SPARK:
                return "tasks"
            case Engine.SQL:
                return "queries"

    @property
    def writes_shards(self) -> bool:
        """Whether records are written as a folder, by many machines."""
        match self:
            case Engine.SPARK:
                return True
            case Engine.LOCAL | Engine.SQL:
                return False


class Directions(StrEnum):
    """Laws of directions."""

    ORTHOGONAL = "orthogonal"
    GAUSSIAN = "gaussian"
    FIXED = "fixed"


class DrawnDirections(StrEnum):
    """Laws of directions that a release may draw from."""

    ORTHOGONAL = Directions.ORTHOGONAL.value
    GAUSSIAN = Directions.GAUSSIAN.value


class Suggestions(StrEnum):
    """What becomes of suggestions when a draft is confirmed."""

    KEEP = "keep"
    DROP = "drop"

    @property
    def are_kept(self) -> bool:
        """Whether they become declarations; otherwise what was suggested is learnt."""
        match self:
            case Suggestions.KEEP:
                return True
            case Suggestions.DROP:
                return False


class SchemaForm(StrEnum):
    """Documents of others that a schema can be written as."""

    SDV = "sdv"
    FRICTIONLESS = "frictionless"
    JSON_SCHEMA = "json-schema"


class ReleaseAccountant(StrEnum):
    """Accountants that apply to a release."""

    EXACT = "exact"
    RENYI = "renyi"
    THEOREM1 = "theorem1"
