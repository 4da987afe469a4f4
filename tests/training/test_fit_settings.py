"""Settings: refused when they make no sense, the same again from JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from microtome.divergences import FDivergence
from microtome.errors import ParameterError
from microtome.generators import MixtureSettings, NetworkSettings
from microtome.training import FitSettings, LossMix, Schedule, SliceChoice


def test_settings_survive_json() -> None:
    settings = FitSettings(
        network=NetworkSettings(latent_dim=3, hidden=(5, 7)),
        mixture=MixtureSettings(components=9, prior=2.5),
        loss=LossMix(kernel=0.25, f=FDivergence.CHI_SQUARED, slices=SliceChoice.PAIRS, slice_dim=2),
        steps=7,
        patience=None,
        learning_rate=1 / 3,
        schedule=Schedule.CONSTANT,
        keeps_last=True,
    )
    assert FitSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_what_is_not_said_is_the_default() -> None:
    assert FitSettings.from_dict({}) == FitSettings()
    assert FitSettings.from_dict({"loss": {"mmd": 1}}).loss == LossMix(mmd=1)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"speed": 1}, "unknown setting 'speed'"),
        ({"loss": {"f": "bogus"}}, "bogus"),
        ({"loss": {"slices": "bogus"}}, "bogus"),
        ({"loss": {"bogus": 1}}, "bogus"),
        ({"loss": {"moments": 0}}, "all losses have weight 0"),
        ({"loss": {"kernel": -1}}, "kernel is -1"),
        ({"loss": {"num_slices": 0}}, "num_slices is 0"),
        ({"loss": {"slice_dim": 0}}, "slice_dim is 0"),
        ({"loss": {"batch_uses": 0}}, "batch_uses is 0"),
        ({"schedule": "bogus"}, "bogus"),
        ({"loss": []}, None),
        ({"loss": 3}, "cannot be read"),
        ({"network": 3}, "cannot be read"),
        ({"network": {"hidden": 5}}, "cannot be read"),
        ({"network": {"hidden": [0]}}, "hidden"),
        ({"mixture": {"components": 0}}, "components"),
        ({"mixture": {"prior": -1}}, "prior"),
        ({"mixture": {"start_spread": 0}}, "start_spread"),
        ({"steps": 0}, "steps is 0"),
        ({"check_every": 0}, "check_every is 0"),
        ({"steps": 1.5}, "steps is 1.5; it must be a whole number"),
        ({"steps": "many"}, "steps is 'many'"),
        ({"batch_size": 1}, "batch_size is 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"patience": 0}, "patience is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"learning_rate": "fast"}, "cannot be read"),
    ],
)
def test_nonsense_is_refused(document: dict[str, Any], said: str | None) -> None:
    if said is None:
        assert FitSettings.from_dict(document) == FitSettings()
        return
    with pytest.raises(ParameterError, match=said):
        FitSettings.from_dict(document)


def test_defaults_depend_on_what_is_fitted() -> None:
    mixture, network = FitSettings().pace(mixture=True), FitSettings().pace(mixture=False)
    assert (mixture.steps, mixture.learning_rate, mixture.check_every) == (400, 0.2, 10)
    assert [FitSettings().pace(mixture=True, clarity=clear).steps for clear in (0.0, 1_599.0, 1_600.0)] == [
        200,
        200,
        400,
    ]
    assert (network.steps, network.learning_rate, network.check_every) == (600, 2e-3, 50)
    assert FitSettings(steps=7).pace(mixture=True).steps == 7


def test_settings_are_saved_and_read(tmp_path: Path) -> None:
    settings = FitSettings(steps=7, network=NetworkSettings(hidden=(8, 8)), loss=LossMix(f=FDivergence.CHI_SQUARED))
    settings.save(tmp_path / "settings.json")
    assert FitSettings.load(tmp_path / "settings.json") == settings
    (tmp_path / "list.json").write_text("[]")
    for name, said in (("list.json", "not list"), ("nowhere.json", "cannot be read")):
        with pytest.raises(ParameterError, match=said):
            FitSettings.load(tmp_path / name)
