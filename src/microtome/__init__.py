"""Microtome: synthetic data under differential privacy, from one noisy release of the private table.

    import microtome as mt
    release = mt.release(frame, schema, epsilon=5, delta=1e-6)   # the only private step
    model = mt.Synthesizer(random_state=0).fit(release)
    frame = model.sample(100_000)

Names are loaded when they are first used: holding a release needs none of the code that reads private rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microtome.accounting import Ledger
    from microtome.adaptation import DomainAdapter
    from microtome.api import release
    from microtome.evaluation import report, report_linked
    from microtome.forecasting.prediction import Forecast, forecast
    from microtome.images import ImageSchema, ImageSet, read_images
    from microtome.private import draft_schema
    from microtome.private.engines.sql import sql_table
    from microtome.published import ImageRelease, Release, pool
    from microtome.query import Query
    from microtome.schema import Column, LinkedSchema, Schema
    from microtome.settings import PrivacySettings, RunSettings
    from microtome.synthesis import Synthesizer
    from microtome.synthesis.spark_rows import spark_sample
    from microtome.training import FitSettings, ImageFitSettings

__version__ = "0.1.0"

_HOMES = {
    "Column": "microtome.schema",
    "DomainAdapter": "microtome.adaptation",
    "FitSettings": "microtome.training",
    "Forecast": "microtome.forecasting",
    "ImageFitSettings": "microtome.training",
    "ImageRelease": "microtome.published",
    "ImageSchema": "microtome.images",
    "ImageSet": "microtome.images",
    "Ledger": "microtome.accounting",
    "LinkedSchema": "microtome.schema",
    "PrivacySettings": "microtome.settings",
    "Query": "microtome.query",
    "Release": "microtome.published",
    "RunSettings": "microtome.settings",
    "Schema": "microtome.schema",
    "Synthesizer": "microtome.synthesis",
    "draft_schema": "microtome.private",
    "forecast": "microtome.forecasting",
    "pool": "microtome.published",
    "read_images": "microtome.images",
    "release": "microtome.api",
    "report": "microtome.evaluation",
    "report_linked": "microtome.evaluation",
    "spark_sample": "microtome.synthesis.spark_rows",
    "sql_table": "microtome.private.engines.sql",
}

__all__ = [
    "Column",
    "DomainAdapter",
    "FitSettings",
    "Forecast",
    "ImageFitSettings",
    "ImageRelease",
    "ImageSchema",
    "ImageSet",
    "Ledger",
    "LinkedSchema",
    "PrivacySettings",
    "Query",
    "Release",
    "RunSettings",
    "Schema",
    "Synthesizer",
    "draft_schema",
    "forecast",
    "pool",
    "read_images",
    "release",
    "report",
    "report_linked",
    "spark_sample",
    "sql_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microtome' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
