"""What a command gives back, and the desk it is run at."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@dataclass(frozen=True)
class Desk:
    """A folder with a table and its schema, as a data holder has it."""

    folder: Path
    table: Path
    schema: Path
    output: Path

    @property
    def ledger(self) -> Path:
        return self.folder / "people.csv.ledger.json"

    def arguments(self, **changes: object) -> list[object]:
        """Of a release of records, where nothing else is said."""
        options: dict[str, object] = {"schema": self.schema, "epsilon": 5, "output": self.output, "kind": "records"}
        options |= {"anyway": True, **changes}
        given = [self.table]
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            given += [flag] if value is True else [] if value is False else [flag, value]
        return given

    def left_behind(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path not in (self.table, self.schema))
