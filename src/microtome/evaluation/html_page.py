"""A page as one HTML file that needs no network and runs no script: how it is laid out, saved, and shown in a notebook.

Everything that came from a table (names, labels) is escaped, and the page's own policy forbids it to load or run
anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from microtome.evaluation.values import plain_number
from microtome.published import check_output
from microtome.whole_file import write_text


class HtmlPage(ABC):
    """A report that is a page."""

    @property
    @abstractmethod
    def html(self) -> str:
        """One self-contained page: no scripts, no network."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """What it says, in a sentence or two, with what may be done with it."""

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page, whole or not at all."""
        check_output(Path(path), force=force)
        write_text(Path(path), self.html)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's leave each other alone."""
        return (
            f"<p>{escape(self.headline)}</p>"
            f'<iframe sandbox srcdoc="{escape(self.html)}" title="report" '
            'style="width:100%;height:720px;border:1px solid #8884;border-radius:8px"></iframe>'
        )


def render_template(name: str, **context: Any) -> str:
    """A page from a template of this package."""
    loader = PackageLoader("microtome.evaluation", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": percent, "figure": figure, "number": number, "plain": plain_number}
    style = Markup(loader.get_source(environment, "report.css")[0])
    return environment.get_template(name).render(style=style, **context)


def percent(share: float | None) -> str:
    """A share in per cent, with as many digits as it needs."""
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    digits = 1 if 0.001 <= share <= 0.999 else 2
    return f"{100 * share:.{digits}f} %"


def figure(value: float | None) -> str:
    """A score with three decimals."""
    return "–" if value is None or np.isnan(value) else f"{value:.3f}"


def number(value: float | None) -> str:
    """A whole number with separators."""
    return "–" if value is None else f"{value:,.0f}"
