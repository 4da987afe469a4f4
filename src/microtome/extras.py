"""Packages that an install may do without: what each is for, and what brings it."""

from __future__ import annotations

from dataclasses import dataclass

from microtome.errors import MissingPackageError


@dataclass(frozen=True, kw_only=True)
class Extra:
    """An optional package.

    Attributes:
        module: What Python imports.
        package: What pip installs.
        purpose: What cannot be done without it.
        brought_by: What to give to ``pip install``.
    """

    module: str
    package: str
    purpose: str
    brought_by: str

    @property
    def installed(self) -> str | None:
        """The version that is installed, if one is."""
        from importlib.metadata import PackageNotFoundError, version  # slow to load, for --help

        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def command(self) -> str:
        """What to type to have it."""
        quoted = f"'{self.brought_by}'" if "[" in self.brought_by else self.brought_by
        return f"pip install {quoted}"


def _extra(module: str, purpose: str, extra: str, *, package: str | None = None) -> Extra:
    return Extra(module=module, package=package or module, purpose=purpose, brought_by=f"microtome[{extra}]")


EXTRAS = (
    Extra(module="torch", package="torch", purpose="training and sampling", brought_by="microtome"),
    Extra(module="jaxtyping", package="jaxtyping", purpose="training and sampling", brought_by="microtome"),
    _extra("optuna", "tuning", "tune"),
    _extra("h5py", "images in HDF5 files", "images"),
    _extra("cryptography", "signatures", "sign"),
    _extra("openpyxl", "Excel workbooks", "excel"),
    _extra("adbc_driver_manager", "queries by ADBC", "databases", package="adbc-driver-manager"),
    _extra("duckdb", "DuckDB", "databases"),
    _extra("fsspec", "addresses other than s3:// and gs://", "cloud"),
    _extra("pyspark", "Spark", "spark"),
    _extra("sqlglot", "counting inside a database", "sql"),
    _extra("anonymeter", "attacks that single out and link, in an environment of its own", "attacks"),
    Extra(module="polars", package="polars", purpose="polars frames", brought_by="polars"),
)
"""All of them, those that most people miss first."""


def how_to_install(module: str) -> str:
    """What to type to have a package of ``EXTRAS``."""
    return next(extra for extra in EXTRAS if extra.module == module).command


def explained(error: ModuleNotFoundError) -> Exception:
    """What to raise where a module is missing: the same, or what to install if it is one of ``EXTRAS``."""
    missing = (error.name or "").partition(".")[0]
    for extra in EXTRAS:
        if extra.module == missing:
            return MissingPackageError(f"{missing} is not installed, which is for {extra.purpose}: {extra.command}")
    return error
