"""Views of linked tables as tables of one distribution: every column once, every count where it belongs."""

import numpy as np
import pytest

import microtome as mt
from microtome.demo.clinic import clinic, clinic_schema
from microtome.published import LinkedRelease


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> LinkedRelease:
    output = tmp_path_factory.mktemp("joint") / "clinic.release"
    return mt.release(clinic(300), clinic_schema(), epsilon=20.0, delta=1e-5, output=output)


def test_every_column_is_there_once(release: LinkedRelease) -> None:
    own = sum(len(one.view.own_schema.columns) + len(one.view.steps) for one in release.linked.values())
    names = release.joint.schema.names
    assert len(names) == len(set(names)) == own
    assert {place for name in release.views for place in release.places(name)} == set(range(own))


def test_an_inherited_column_is_that_of_the_table_above(release: LinkedRelease) -> None:
    above, below = release.views["patients"], release.views["visits"]
    here = release.places("visits")[below.schema.names.index("patients: age")]
    assert here == release.places("patients")[above.schema.names.index("age")]


def test_tables_of_every_view_are_met_with_their_noise(release: LinkedRelease) -> None:
    joint = release.joint
    for (name, view), (part, here) in zip(release.views.items(), joint.parts, strict=True):
        assert part is view
        np.testing.assert_array_equal(joint.second[:, here[:, None], here], view.second)
        places = release.places(name)
        noise = np.array(joint.mechanism.pair_noise)[np.ix_(places, places)]
        np.testing.assert_array_equal(noise, view.mechanism.pair_noise)


def test_what_no_view_has_counted_is_not_measured(release: LinkedRelease) -> None:
    """The number of a visit's prescriptions and what is prescribed are counted together, two steps are not."""
    joint, steps = release.joint, release.places("visits")[-2:]
    assert not joint.measured()[steps[0], steps[1]]
    assert (joint.levels_met() <= joint.codebook.dim).all()
    assert (joint.levels_met()[steps] < joint.codebook.dim).all()
