"""Commands that run at once: of what there is room for, exactly so much is spent, and readers see whole files only."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from cases import DELTA, RELEASES, Case
from trial import Outcome, Trials

from microtome.accounting import Ledger, epsilon
from microtome.accounting.ledger_records import RELEASED
from microtome.published import Artefact
from microtome.whole_file import SUFFIX

QUICK, LARGE = 3, 8
ROOM = {2: 1, 3: 2, 4: 1, 5: 3, 6: 2, 7: 4, 8: 3}
"""Of so many releases at once, how many the budget has room for."""
KILLED = 6


@dataclass(frozen=True, kw_only=True)
class Race:
    """Releases of one table at once, in a folder of their own."""

    trials: Trials
    place: Path
    case: Case

    @property
    def book(self) -> Ledger:
        return Ledger(self.place / str(self.case.ledger))

    def allow(self, number: int) -> None:
        """A new book, with a budget that has room for so many releases."""
        one = self.book.entries()[0].events
        (self.place / str(self.case.ledger)).unlink()
        limit = epsilon(list(one) * number, DELTA) * (1 + 1e-4)
        self.book.set_budget(str(self.case.dataset), epsilon=limit, delta=DELTA)

    def release(self, output: str, *more: str) -> dict[str, object]:
        return {"folder": self.place, "arguments": [*self.case.arguments, "-o", output, *more]}

    def command(self, *arguments: str) -> dict[str, object]:
        return {"folder": self.place, "arguments": list(arguments)}

    def run(self, jobs: Sequence[dict[str, object]]) -> list[Outcome]:
        done = self.trials.stable.run(*jobs)
        self.trials.number += len(jobs)
        for one in done:
            self.expect("Traceback" not in one.err, f"a traceback: {one.err}")
        return done

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.trials.failures.append(f"{self.case.name}: {otherwise}")

    def settled(self) -> list[str | None]:
        return [entry.artefact for entry in self.book.entries() if entry.status == RELEASED]

    def expect_no_litter(self) -> None:
        left = [path.name for path in self.place.iterdir() if path.name.endswith(SUFFIX)]
        self.expect(not left, f"litter: {left}")


@pytest.fixture
def race(trials: Trials, tmp_path: Path) -> Race:
    place = tmp_path / "race"
    RELEASES[0].lay_out(trials.desk, place, old=False)
    return Race(trials=trials, place=place, case=RELEASES[0])


def spend_at_once(race: Race, number: int, room: int) -> None:
    race.allow(room)
    done = race.run([race.release(f"{one}.release") for one in range(number)])
    won = [one for one, outcome in enumerate(done) if outcome.code == 0]
    race.expect(len(won) == room, f"{len(won)} of {number} released, with room for {room}: {[one.err for one in done]}")
    artefacts = [Artefact.load(race.place / f"{one}.release").fingerprint for one in won]
    race.expect(sorted(race.settled(), key=str) == sorted(artefacts), "the book has other releases than the folder")
    for one, outcome in enumerate(done):
        if one not in won:
            race.expect("nothing was spent" in outcome.err, f"no word that nothing was spent: {outcome.err}")
            race.expect(not (race.place / f"{one}.release").exists(), "a refused release was written")
        (race.place / f"{one}.release").unlink(missing_ok=True)
    race.expect_no_litter()


def test_three_releases_at_once(race: Race) -> None:
    spend_at_once(race, QUICK, ROOM[QUICK])
    race.trials.conclude("three releases at once")


@pytest.mark.slow
def test_releases_at_once_spend_what_there_is_room_for(race: Race) -> None:
    for number, room in ROOM.items():
        spend_at_once(race, number, room)
    race.trials.conclude("2 to 8 releases at once, room for some")


@pytest.mark.slow
def test_releases_to_one_name_leave_one_whole_file(race: Race) -> None:
    for number in range(2, LARGE + 1):
        race.allow(number)
        done = race.run([race.release("same.release", "--force") for _ in range(number)])
        race.expect([one.code for one in done] == [0] * number, f"not all released: {[one.err for one in done]}")
        race.expect(len(race.settled()) == number, "not all are in the book")
        race.expect(Artefact.load(race.place / "same.release").fingerprint in race.settled(), "a file of nobody's")
        race.expect_no_litter()
    race.trials.conclude("2 to 8 releases to one name")


@pytest.mark.slow
def test_budgets_set_during_releases(race: Race) -> None:
    for number in range(2, LARGE + 1):
        race.allow(3 * number)
        budgets = [
            race.command(
                "ledger",
                "set-budget",
                str(race.case.ledger),
                str(race.case.dataset),
                "--epsilon",
                str(90 + one),
                "--delta",
                str(DELTA),
            )
            for one in range(number)
        ]
        done = race.run(
            [job for one in range(number) for job in (race.release(f"{one}.release", "--force"), budgets[one])]
        )
        race.expect([one.code for one in done] == [0] * (2 * number), f"refused: {[one.err for one in done]}")
        account = race.book.account(str(race.case.dataset), delta=DELTA)
        race.expect(len(race.settled()) == number, "not all releases are in the book")
        race.expect(len(account.budgets) == number + 1, "not all budgets are in the book")
    race.trials.conclude("budgets set during releases")


@pytest.mark.slow
def test_readers_see_whole_files(race: Race) -> None:
    for _ in range(KILLED):
        race.allow(LARGE)
        race.run([race.release("same.release", "--force")])
        readers = [
            race.command("inspect", "same.release"),
            race.command("ledger", "show", str(race.case.ledger)),
            race.command("inspect", "same.release", "--json"),
        ]
        done = race.run(
            [race.release("same.release", "--force"), *readers, race.release("same.release", "--force"), *readers]
        )
        race.expect([one.code for one in done] == [0] * len(done), f"refused: {[one.err for one in done]}")
    race.trials.conclude("readers during releases")


@pytest.mark.slow
def test_one_that_is_killed_holds_nobody_up(race: Race) -> None:
    choice = random.Random(1)
    for _ in range(KILLED):
        race.allow(LARGE)
        jobs = [race.release(f"{one}.release") for one in range(4)]
        jobs[0]["signal"] = (choice.uniform(0.05, 1.5), int(signal.SIGKILL))
        done = race.run(jobs)
        race.expect([one.code for one in done[1:]] == [0] * 3, f"held up: {[one.err for one in done]}")
        settled = race.settled()  # the killed one too, if it had only left to say so
        killed = (race.place / "0.release").exists() and Artefact.load(race.place / "0.release").fingerprint in settled
        race.expect(len(settled) == 3 + killed and (killed or done[0].code != 0), "not all releases are in the book")
        shutil.rmtree(race.place)
        race.case.lay_out(race.trials.desk, race.place, old=False)
    race.trials.conclude("one of four releases killed")
