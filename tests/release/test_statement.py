"""The statement says what the release and the shipped audit say, and the page in docs is the same text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import norm

from microtome.accounting import GaussianEvent, Neighbours
from microtome.private import release
from microtome.release import Release
from microtome.release.statement import audit_command, detection_rate, privacy_statement, shipped_audit
from support import ROOT, people, people_schema

GOLDEN = ROOT / "tests" / "release" / "golden" / "version-1.release"


@pytest.mark.parametrize("mu", [0.2, 1.0, 2.5])
def test_detection_rate_is_the_power_of_the_best_test(mu: float) -> None:
    assert detection_rate([GaussianEvent(mu=mu)]) == pytest.approx(norm.sf(norm.isf(0.05) - mu), rel=0.01)


def test_the_page_and_the_package_show_the_committed_audit() -> None:
    """Run benchmarks/statement.py if this fails."""
    document = json.loads((ROOT / "benchmarks" / "results" / "audit.json").read_text(encoding="utf-8"))
    shipped = shipped_audit()
    assert {key: document[key] for key in shipped} == shipped
    page = (ROOT / "docs" / "privacy-statement.md").read_text(encoding="utf-8")
    assert page == privacy_statement()


def test_injected_randomness_promises_nothing() -> None:
    words = privacy_statement(Release.load(GOLDEN))
    assert "**NOTHING.**" in words
    assert "differentially private** for" not in words


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_statement_of_aggregates(neighbours: Neighbours, tmp_path: Path) -> None:
    made = release(
        people(), people_schema(), epsilon=3, delta=1e-5, kind="aggregates", neighbours=neighbours, pivot="owner"
    )
    words = privacy_statement(made)
    assert neighbours.describes in words
    assert "The collector" in words
    assert ("which is protected" in words) == neighbours.protects_count
    assert "| records" not in words
    assert audit_command(made).endswith("--pivot owner")
