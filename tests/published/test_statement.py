"""The statement says what the release and the shipped audit say, and the page in docs is the same text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import microtome as mt
from microtome import release
from microtome.accounting import GaussianEvent, Neighbours
from microtome.images import ImageSchema, ImageSet
from microtome.published import Release, statement
from microtome.published.statement import audit_command, detection_rate, privacy_statement, shipped_audit
from support import ROOT, people, people_schema

GOLDEN = ROOT / "tests" / "published" / "golden" / "version-1.release"


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
    made = release(people(), people_schema(), epsilon=3, delta=1e-5, neighbours=neighbours, pivot="owner", anyway=True)
    words = privacy_statement(made)
    assert neighbours.describes in words
    assert "The collector" in words
    assert ("which is protected" in words) == neighbours.protects_count
    assert "| records" not in words
    assert audit_command(made).endswith("--pivot owner")


@pytest.mark.parametrize(
    ("options", "audited", "others"),
    [
        ({"kind": "aggregates"}, ("images, aggregates", "images, profile", "images, spreads"), ("images, records",)),
        ({"kind": "records", "subsample": 0.5}, ("images, records", "images, profile"), ("images, means",)),
    ],
    ids=["aggregates", "records"],
)
def test_statement_of_images(
    options: dict[str, Any], audited: tuple[str, ...], others: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the audit of a version that knew no images, and with that of one that does."""
    pixels = np.random.default_rng(0).random((40, 4, 4, 1))
    schema = ImageSchema(height=4, width=4, low=0.0, high=1.0)
    made = mt.release(ImageSet(pixels=pixels, labels=None), schema, epsilon=3, delta=1e-5, **options)
    command = audit_command(made)
    assert command.startswith(f"microtome audit --images --kind {options['kind']} --epsilon 3")
    assert ("--subsample 0.5" in command) == ("subsample" in options)
    shipped = shipped_audit()
    of_tables = [finding for finding in shipped["findings"] if not finding["setting"].startswith("images")]
    of_images = [
        {**finding, "setting": f"{name}, blank-one, ε = 1"} for name in (*audited, *others) for finding in of_tables[:1]
    ]
    monkeypatch.setattr(statement, "shipped_audit", lambda: {**shipped, "findings": of_tables})
    words = privacy_statement(made)
    assert "No setting like this one" in words
    assert command in words
    monkeypatch.setattr(statement, "shipped_audit", lambda: {**shipped, "findings": of_tables + of_images})
    words = privacy_statement(made)
    assert all(f"| {name}, blank-one" in words for name in audited)
    assert not any(f"| {name}" in words for name in (*others, "records", "aggregates"))
