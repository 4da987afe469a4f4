"""A short way to reserve, for all tests of the ledger."""

from microtome.accounting import Accountant, Event, Ledger, Neighbours


def reserve(
    ledger: Ledger, *events: Event, dataset: str = "people", neighbours: str = "blank-one", unit: str | None = None
) -> str:
    relation = Neighbours(neighbours)
    return ledger.reserve(dataset, events, purpose="test", neighbours=relation, accountant=Accountant.EXACT, unit=unit)
