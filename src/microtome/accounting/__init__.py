"""Privacy accounting: what a release costs, how much noise a promise needs, and the book of what was spent.

Numbers only: this package sees no data. It reads like ``docs/privacy.md``:

    neighbours.py         which two tables are hard to tell apart            section 1
    directions.py         what slices let through of a row                   section 2
    projection_law.py     … and how that is integrated
    gaussian.py           δ_G and its inverses                               section 3
    divergence.py         pairs of outputs, sliced and subsampled            sections 3 and 5
    privacy_profile.py    the exact δ(ε) of a composition                    section 4
    loss_distribution.py  … where no closed form is left
    merging.py            … and where there are hundreds of different parts
    renyi.py              Rényi divergences                                  section 3
    paper.py              Theorem 1, Proposition 3, and all side by side     section 3
    accountant.py         δ of ε, and ε of δ
    calibration.py        the noise that a promise needs
    default_delta.py      the δ of whoever gives none
    verification.py       whether a stated promise is kept
    ledger.py             what was spent, what is left                       sections 4 and 6
    account.py            … how a data set stands
    ledger_records.py     … record by record
    ledger_file.py        … on disk
    ledger_place.py       … which file that is, and whose turn
"""

from microtome.accounting.account import Account, Remaining
from microtome.accounting.accountant import Accountant, delta, epsilon
from microtome.accounting.calibration import calibrate_noise
from microtome.accounting.default_delta import default_delta
from microtome.accounting.directions import DirectionKind, Directions
from microtome.accounting.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    RepeatableEvent,
    RepeatedEvent,
    SliceEvent,
    SubsampledEvent,
    event_from_dict,
    events_of,
)
from microtome.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu, mu_of_pure
from microtome.accounting.ledger import Ledger, dataset_name
from microtome.accounting.ledger_place import ledger_beside
from microtome.accounting.ledger_records import Budget, Entry
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.paper import epsilon_by_accountant, noise_by_accountant
from microtome.accounting.verification import verify_promise

__all__ = [
    "Account",
    "Accountant",
    "Budget",
    "DirectionKind",
    "Directions",
    "Entry",
    "Event",
    "FailureEvent",
    "GaussianEvent",
    "Ledger",
    "Neighbours",
    "Remaining",
    "RepeatableEvent",
    "RepeatedEvent",
    "SliceEvent",
    "SubsampledEvent",
    "calibrate_noise",
    "dataset_name",
    "default_delta",
    "delta",
    "epsilon",
    "epsilon_by_accountant",
    "event_from_dict",
    "events_of",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "ledger_beside",
    "mu_of_pure",
    "noise_by_accountant",
    "verify_promise",
]
