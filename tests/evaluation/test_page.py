"""The page in a real browser: it renders, loads nothing, fits phone and desk, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from browser import Browser
from evaluation_support import blurred
from markupsafe import escape

import microtome as mt
from chromium import require_browser
from fit_support import planted_release
from microtome.demo import population, population_schema
from microtome.evaluation import Report, report
from microtome.evaluation.attacks import FALSE_ALARMS, most_members_found
from microtome.evaluation.html_page import figure, percent
from microtome.evaluation.values import plain_number
from microtome.published import ReleaseKind
from support import publish, repeatable_noise

WIDTHS = (390, 1280)
NASTY = "<img src=x onerror=alert(1)>&\"'"


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Report:
    town = population(2_500, seed=9)
    real, held_out = town.slice(0, 2_000), town.slice(2_000)
    release = publish(real, population_schema(), tmp_path_factory.mktemp("p") / "town.release", epsilon=5.0)
    return report(real, blurred(real, 0.2, seed=1), release=release, holdout=held_out, sample=1_000)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Report:
    town = population(2_000, seed=9)
    path = tmp_path_factory.mktemp("p") / "town.release"
    release = publish(town, population_schema(), path, kind=ReleaseKind.AGGREGATES, epsilon=5.0)
    return report(None, blurred(town, 0.2, seed=1), release=release)


@pytest.fixture(scope="module")
def pages(private: Report, public: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, made in (("private", private), ("public", public)):
        made.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in ("private", "public")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    opened = Browser(require_browser())
    yield opened
    opened.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["private", "public"])
def test_page_renders_and_fits(browser: Browser, pages: dict[str, Path], kind: str, width: int, dark: bool) -> None:
    browser.open(pages[kind], width=width, dark=dark)
    assert browser.complaints() == []
    assert all(url.startswith("file:") for url in browser.requests())
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.title").endswith("synthetic data report")
    assert _out_of_sight(browser) == []
    assert _contrast(browser) > 7.0
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) is dark
    assert len(browser.screenshot()) > 20_000


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["private", "public"])
def test_every_plot_is_drawn(browser: Browser, pages: dict[str, Path], kind: str, width: int) -> None:
    browser.open(pages[kind], width=width)
    sizes: list[list[Any]] = browser.evaluate(
        "[...document.querySelectorAll('main svg')].map(s => {const b = s.getBoundingClientRect();"
        "return [s.getAttribute('class'), b.width, b.height, s.querySelectorAll('path,rect,circle,polyline').length,"
        "getComputedStyle(s).visibility, s.closest('td.plot') !== null]})"
    )
    kinds = {name for name, *_ in sizes}
    assert kinds >= ({"histogram", "heatmap", "shades", "scale"} | ({"reliability"} if kind == "private" else set()))
    for name, across, down, shapes, visible, tabled in sizes:
        if tabled and width == min(WIDTHS):
            continue  # A phone has the figures of this table and not its plots.
        assert across > 40, name
        assert down > 10, name
        assert shapes >= 1, name
        assert visible == "visible"
    assert browser.evaluate("document.querySelectorAll('.column').length") == len(population_schema().columns)
    assert browser.evaluate("document.querySelectorAll('svg.heatmap').length") == 3
    fills = browser.evaluate(
        "[...document.querySelectorAll('svg.histogram path')].map(p => [getComputedStyle(p).fill, p.getTotalLength()])"
    )
    assert all(length > 100 for _, length in fills)
    assert len({fill for fill, _ in fills}) >= 2, "both sides have colours of their own"


def test_text_is_large_enough_to_read(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["private"], width=390)
    smallest = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('body *:not(svg *)')].filter(e => e.childNodes.length && "
        "[...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => "
        "parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 11.0
    labels = browser.evaluate(
        "[...document.querySelectorAll('svg.heatmap text')].map(t => parseFloat(getComputedStyle(t).fontSize) * "
        "t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert min(labels) >= 8.0


@pytest.mark.parametrize("kind", ["private", "public"])
def test_links_lead_to_sections(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    browser.open(pages[kind], width=1280)
    lost = browser.evaluate(
        "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.getAttribute('href')))"
        ".map(a => a.textContent)"
    )
    assert lost == []


def test_names_from_a_table_are_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    table = pa.table({NASTY: ["a", NASTY, "b"] * 50, "n": [float(i) for i in range(150)]})
    made = report(table, table.slice(3), target=NASTY)
    assert "<img" not in made.html
    made.save(tmp_path / "nasty.html")
    browser.open(tmp_path / "nasty.html", width=390)
    assert browser.complaints() == []
    assert NASTY in browser.evaluate("document.body.textContent")
    assert browser.evaluate("document.querySelectorAll('img, script').length") == 0


def test_private_pages_say_so_and_public_ones_show_no_real_rows(private: Report, public: Report) -> None:
    assert "Computed on private data, not itself private" in private.html
    assert not private.figures.free_to_publish
    assert "Computed on private data" not in public.html
    assert "±" in public.html


def test_public_pages_have_no_empty_sections(private: Report, public: Report) -> None:
    assert 'class="absent"' not in public.html
    for section in ("utility", "detector", "metrics"):
        assert f'id="{section}"' in private.html
        assert section not in re.findall(r'(?:id|href)="#?(\w+)"', public.html)


def test_the_verdict_is_on_top_and_rows_can_be_looked_at(private: Report, public: Report) -> None:
    for made in (private, public):
        verdict = made.figures.verdict
        header = made.html[: made.html.index("</header>")]
        assert f'class="verdict {verdict.level}"' in header
        assert all(str(escape(sentence)) in header for sentence in verdict.sentences)
        assert made.figures.rows.names == tuple(population_schema().names)
        assert len(made.figures.rows.rows) == 8
    assert private.figures.verdict.band == (private.figures.verdict.score,) * 2


def test_histograms_end_where_coverage_does(private: Report, public: Report) -> None:
    for made in (private, public):
        for column in made.figures.columns:
            assert column.distribution.ends == column.coverage.bounds


def test_rare_labels_are_listed() -> None:
    codes = [f"code {number}" for number in range(40) for _ in range(number + 1)]
    table = pa.table({"code": codes, "n": [float(row) for row in range(len(codes))]})
    made = report(table, table.slice(1))
    (column,) = (column for column in made.figures.columns if column.name == "code")
    assert len(column.distribution.rest) == 31
    assert column.distribution.rest[0][0] == "code 30"
    assert "code 0" in made.html


def test_a_report_in_a_notebook_is_short_in_text_and_a_frame_in_html(private: Report) -> None:
    assert len(repr(private)) < 1_000
    assert len(repr(private.figures)) < 500
    assert private.figures.verdict.sentences[0] in repr(private)
    shown = private._repr_html_()
    assert shown.count("<iframe") == 1
    assert "<table" not in shown, "the page is escaped into its frame"


def test_the_promise_is_given_as_what_attacks_can_do() -> None:
    with repeatable_noise():
        release = mt.release(population(500), population_schema(), epsilon=5.0, delta=1e-6)
    made = report(None, population(200, seed=3), release=release)
    allowed = dict(zip(FALSE_ALARMS, most_members_found(release.manifest.promise.events), strict=True))
    assert made.figures.promise is not None
    assert made.figures.promise.members_found == allowed
    assert f'<td class="n">{percent(allowed[0.05])}</td>' in made.html
    assert allowed[0.05] < 0.3


def test_page_needs_nothing_from_outside(private: Report, public: Report) -> None:
    for made in (private, public):
        assert not re.search(r"https?://|<script|<link|@import|url\(", made.html.replace("http-equiv", ""))
        assert "default-src 'none'" in made.html


def test_many_columns_are_folded_and_make_no_heat_map() -> None:
    columns = {f"column {number}": [str((row * number) % 5) for row in range(60)] for number in range(1, 72)}
    made = report(pa.table(columns), pa.table(columns).slice(2))
    assert "11 more columns" in made.html
    assert "too many columns for a heat map" in made.html


def test_a_release_without_pairs_has_a_page(tmp_path: Path) -> None:
    made = report(
        None, population(50).select(["sex"]).append_column("x", pa.array([1.0] * 50)), release=_small(tmp_path)
    )
    assert "says nothing of pairs" in made.html
    assert 'id="pairs"' not in made.html


def _small(folder: Path) -> Any:
    from microtome.schema import Column, Kind, Schema

    table = population(500).select(["sex"]).append_column("x", pa.array([1.0] * 500))
    schema = Schema(
        columns=(
            Column(name="sex", kind=Kind.CATEGORICAL, categories=("male", "female"), missing=False),
            Column(name="x", kind=Kind.FLOAT, missing=False, bounds=(0, 2)),
        )
    )
    return planted_release(folder / "small.release", table=table, schema=schema, kind=ReleaseKind.AGGREGATES)


def test_figures_are_written_with_the_digits_they_need() -> None:
    assert [percent(share) for share in (0.0, 1.0, 0.5, 0.0004, 0.9996, None)] == [
        "0 %", "100 %", "50.0 %", "0.04 %", "99.96 %", "–",
    ]  # fmt: skip
    assert figure(float("nan")) == figure(None) == "–"
    numbers = (0.5, 9_999, 12_000, 500_001, 3.5e6, -2e9, -1.126e15, 2e-7)
    assert [plain_number(value) for value in numbers] == [
        "0.5", "9999", "12,000", "500,001", "3.5 million", "−2 billion", "−1.126 × 10¹⁵", "2 × 10⁻⁷",
    ]  # fmt: skip


def _out_of_sight(browser: Browser) -> list[str]:
    """Elements that stick out of the window, those in boxes that scroll aside."""
    return list(
        browser.evaluate(
            "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('svg') && "
            "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className)"
        )
    )


def _contrast(browser: Browser) -> float:
    """Contrast of the body's text with its background, by the usual formula."""
    colours = browser.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    light = sorted(_luminance([int(part) for part in re.findall(r"\d+", colour)[:3]]) for colour in colours)
    return (light[1] + 0.05) / (light[0] + 0.05)


def _luminance(colour: list[int]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
