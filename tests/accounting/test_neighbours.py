"""Relations own their numbers, and one that nobody has thought of is an error everywhere."""

import math
from collections.abc import Callable

import pytest

from microtome.accounting import Directions, Neighbours, noise_by_accountant
from microtome.accounting.directions import DirectionKind
from microtome.accounting.neighbours import _RELATIONS
from microtome.errors import MicrotomeError
from microtome.images import ImageSchema
from microtome.private import PrivacySettings
from microtome.private.aggregating import plan_tables
from microtome.private.batches import BatchPrivacy, plan_batches
from microtome.private.image_plan import plan_image_profile, plan_image_slices, plan_moments
from microtome.private.plan import plan_profile, plan_slices
from microtome.private.profile import ProfileBudget
from microtome.published import ReleaseKind
from support import people_schema

IMAGES = ImageSchema(height=4, width=3, classes=(0, 1, 2), low=0, high=16, components=5)
SCHEMA = people_schema()


def unthought_of() -> Neighbours:
    """A fourth member of the enumeration, as a later version may have."""
    member = str.__new__(Neighbours, "swap-two")
    member._name_, member._value_ = "SWAP_TWO", "swap-two"
    return member


def test_every_relation_has_its_numbers() -> None:
    assert set(_RELATIONS) == set(Neighbours)
    found = {name: (name.cells_changed, name.symmetric, name.centred, name.protects_count) for name in Neighbours}
    assert found == {
        Neighbours.BLANK_ONE: (1, False, True, False),
        Neighbours.ADD_REMOVE: (1, False, True, True),
        Neighbours.REPLACE_ONE: (2, True, False, False),
    }
    distances = [name.row_distance(nonnegative=sign) for name in Neighbours for sign in (True, False)]
    assert distances == [1.0, 1.0, 1.0, 1.0, math.sqrt(2.0), 2.0]


def _settings(kind: ReleaseKind) -> PrivacySettings:
    made = PrivacySettings(epsilon=1.0, delta=1e-5, kind=kind)
    object.__setattr__(made, "neighbours", unthought_of())
    return made


def _batches() -> object:
    privacy = BatchPrivacy(epsilon=2.0, delta=1e-4)
    object.__setattr__(privacy, "neighbours", unthought_of())
    return plan_batches(privacy, num_records=300, dim=6, num_steps=3, num_slices=6, slice_dim=1, batch_size=30)


LAW = Directions(kind=DirectionKind.ORTHOGONAL, dim=5, num_slices=5, slice_dim=1)
USES: dict[str, Callable[[], object]] = {
    "settings": lambda: PrivacySettings(epsilon=1.0, delta=1e-5, neighbours=unthought_of()),
    "profile": lambda: plan_profile(_settings(ReleaseKind.RECORDS), SCHEMA),
    "noise of the profile": lambda: ProfileBudget(mu=1.0, threshold_delta=1e-7, neighbours=unthought_of()).noise_scales(
        [3]
    ),
    "threshold": lambda: ProfileBudget(mu=1.0, threshold_delta=1e-7, neighbours=unthought_of()).threshold(1.0),
    "slices": lambda: plan_slices(_settings(ReleaseKind.RECORDS), SCHEMA, ()),
    "tables": lambda: plan_tables(_settings(ReleaseKind.AGGREGATES), SCHEMA, ()),
    "image profile": lambda: plan_image_profile(_settings(ReleaseKind.AGGREGATES)),
    "image moments": lambda: plan_moments(_settings(ReleaseKind.AGGREGATES), IMAGES, ()),
    "image rows": lambda: plan_image_slices(_settings(ReleaseKind.RECORDS), IMAGES, ()),
    "batches": _batches,
    "budget": lambda: noise_by_accountant(
        epsilon=1.0, delta=1e-5, directions=LAW, neighbours=unthought_of(), subsample=None, nonnegative=False
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_relation_without_numbers_is_refused(use: Callable[[], object]) -> None:
    with pytest.raises(MicrotomeError, match="swap-two"):
        use()
