"""A short way to reserve, for all tests of the ledger."""

from microtome.accounting import Accountant, Event, Ledger, Neighbours


def reserve(ledger: Ledger, *events: Event, dataset: str = "people", neighbours: str = "blank-one") -> str:
    return ledger.reserve(
        dataset, events, purpose="test", neighbours=Neighbours(neighbours), accountant=Accountant.EXACT
    )
