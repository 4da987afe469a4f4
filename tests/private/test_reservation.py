"""What is said of the book when a release is stopped, by what the disk shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from microtome.accounting import GaussianEvent, Ledger
from microtome.private import PrivacySettings
from microtome.private import reservation as module
from microtome.private.reservation import reserved

SETTINGS = PrivacySettings(epsilon=1.0, delta=1e-6)


def stopped(output: Path) -> str:
    """The note on an error after noise was drawn."""
    with pytest.raises(MemoryError) as raised:
        write_and_stop(output)
    return raised.value.__notes__[0]


def write_and_stop(output: Path) -> None:
    """Put a file in its place and fail before saying so."""
    with reserved(Ledger(), "a", [GaussianEvent(mu=0.1)], settings=SETTINGS) as one:
        one.spend(output)
        output.with_name("partial").write_text("new")
        output.with_name("partial").rename(output)
        raise MemoryError


@pytest.mark.parametrize("old", [True, False])
def test_a_file_in_its_place_is_seen_though_nobody_said_so(old: bool, tmp_path: Path) -> None:
    output = tmp_path / "a.release"
    if old:
        output.write_text("old")
    assert stopped(output).startswith(f"{output} is written and whole, and ε = 1")


def test_what_cannot_be_seen_is_not_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity, looked = module._identity, []

    def second_look_fails(path: Path) -> tuple[int, int] | None:
        looked.append(path)
        if len(looked) > 1:
            raise OSError(5, "Input/output error")
        return identity(path)

    monkeypatch.setattr(module, "_identity", second_look_fails)
    said = stopped(tmp_path / "a.release")
    assert "stays charged in the ledger" in said
    assert "cannot be seen: Input/output error" in said
    assert "No release was written" not in said
