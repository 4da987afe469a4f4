"""The studio in a real browser: the whole way, bad files, closed and doubled tabs, phones, the dark, screen readers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from studio_support import SECRETS, small_table, zipped_pictures

from chromium import require_browser
from microtome.accounting import Ledger
from microtome.published import Artefact
from microtome.studio.serving import Studio

AXE = Path(__file__).resolve().parents[2] / ".axe" / "node_modules" / "axe-core" / "axe.min.js"
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
STEPS = ("", "columns", "promise", "model", "report", "files")
PATIENCE = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = require_browser()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Tab:
    """A tab that is open on a studio, and everything that went wrong in it."""

    def __init__(self, context: BrowserContext, studio: Studio) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.origin = f"http://127.0.0.1:{studio.access.port}"
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda told: self.complaints.append(told.text) if told.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(studio.access.address)
        self.page.wait_for_url(f"{self.origin}/")

    def go(self, step: str) -> Page:
        self.page.goto(f"{self.origin}/{step}")
        if self.page.locator("[data-forecast]").count():
            self.page.wait_for_selector("#forecast[aria-busy=false] section")
            self.page.wait_for_selector("[data-later][aria-busy=true]", state="detached")
        return self.page

    def check(self) -> None:
        """Nothing was complained of, fetched from elsewhere, wider than the screen or hard to use."""
        assert self.complaints == []
        assert {url.partition("/?")[0][: len(self.origin)] for url in self.requests} == {self.origin}
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert found_by_axe(self.page) == []


def found_by_axe(page: Page) -> list[Any]:
    if not AXE.is_file():
        return []
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[Any] = page.evaluate(
        "axe.run().then(found => found.violations.map(one => [one.id, one.impact, one.nodes.map(node => node.html)]))"
    )
    return found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport=DESK, accept_downloads=True)
    yield opened
    opened.close()


@pytest.fixture
def tab(context: BrowserContext, studio: Studio) -> Tab:
    return Tab(context, studio)


def open_small_table(page: Page, content: bytes | None = None) -> None:
    page.set_input_files("#file", {"name": "people.csv", "mimeType": "text/csv", "buffer": content or small_table()})
    page.wait_for_selector("#columns-title")


def confirm(page: Page) -> None:
    """Leave out the column with odd values, and confirm the rest."""
    page.click(".column:has(.name:text-is('sex')) summary")
    page.select_option(".column[open] [name=role]", "drop")
    page.click("text=Change sex")
    page.click(".column:has(.name:text-is('age')) summary")
    page.select_option(".column[open] [name=outside]", "clamp")
    page.click("text=Change age")
    page.check("[name=public]")
    page.click("text=Confirm and go on")
    page.wait_for_selector("#forecast[aria-busy=false] section")


def test_from_an_upload_to_a_release(tab: Tab, studio: Studio) -> None:
    page = tab.page
    tab.check()
    open_small_table(page)
    assert not [secret for secret in SECRETS if secret in page.content()]
    tab.check()
    confirm(page)
    before = page.inner_text("#attacker + p")
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => !document.querySelector('#attacker + p').innerText.includes(before)", arg=before)
    assert page.input_value("#epsilon") == "1.5"
    assert page.get_attribute("#slider", "aria-valuetext") == "ε = 1.5"
    tab.check()
    page.check("[name=anyway]")
    page.click("text=Spend it and release")
    page.wait_for_selector("#made-title")
    assert "(ε = 1.5, δ = 1e-06)-differentially private" in page.content()
    tab.check()
    with page.expect_download() as download:
        page.click("text=Download the release")
    assert Artefact.load(download.value.path()).manifest.promise.epsilon == 1.5
    assert len(Ledger(studio.desk.places.ledger).entries("people.csv")) == 1


def check_all_looks(browser: Browser, studio: Studio) -> None:
    """Every page, at the width of a desk and of a phone, in the light and in the dark."""
    for viewport in (DESK, PHONE):
        for scheme in ("light", "dark"):
            looks: dict[str, Any] = {"viewport": viewport, "color_scheme": scheme}
            other = browser.new_context(**looks)
            watching = Tab(other, studio)
            for step in STEPS:
                watching.go(step)
                watching.check()
            other.close()


def declare_pictures(tab: Tab) -> None:
    """Upload pictures, declare their classes and confirm."""
    page = tab.page
    packed = {"name": "letters.zip", "mimeType": "application/zip", "buffer": zipped_pictures()}
    page.set_input_files("#file", packed)
    page.wait_for_selector("#layout-title")
    assert not [secret for secret in SECRETS if secret in page.content()]
    tab.check()
    page.fill("#classes", ", ".join(SECRETS[:2]))
    page.click("text=Declare this")
    page.check("[name=public]")
    page.click("text=Confirm and go on")
    page.wait_for_selector("#forecast[aria-busy=false] :text('is not foretold')")
    tab.check()


def test_pictures_are_declared(tab: Tab) -> None:
    declare_pictures(tab)


@pytest.mark.slow
def test_from_pictures_to_pictures(context: BrowserContext, browser: Browser, studio: Studio) -> None:
    tab = Tab(context, studio)
    page = tab.page
    declare_pictures(tab)
    page.fill("#epsilon", "30")
    page.click("text=Spend it and release")
    page.click("text=Go on to a model")
    page.fill("#steps", "3")
    page.click("text=Fit a model")
    page.wait_for_selector("text=after 3 steps")
    page.fill("#draw-rows", "40")
    page.click("button:text-is('Draw')")
    page.click("text=see how good they are")
    page.click("text=Make the report")
    page.wait_for_selector("iframe")
    assert page.frame_locator("iframe").locator("img").count() > 0
    check_all_looks(browser, studio)


@pytest.mark.slow
def test_the_whole_way_on_the_town(context: BrowserContext, browser: Browser, studio: Studio) -> None:
    tab = Tab(context, studio)
    page = tab.page
    page.click("text=Open the town")
    page.wait_for_selector("#columns-title")
    page.select_option("#target", "owner")
    page.click("text=Set")
    page.check("[name=public]")
    page.click("text=Confirm and go on")
    page.fill("#epsilon", "5")
    page.wait_for_selector("#forecast[aria-busy=false] :text('at ε = 5')")
    page.click("text=Spend it and release")
    page.click("text=Go on to a model")
    page.fill("#steps", "30")
    page.click("text=Fit a model")
    page.wait_for_selector("text=best at step")
    page.fill("#draw-rows", "3000")
    page.fill("#where", "age=30..40")
    page.click("button:text-is('Draw')")
    page.click("text=see how good they are")
    page.click("text=Make the report")
    page.wait_for_selector("iframe")
    assert page.frame_locator("iframe").locator("h1").inner_text().startswith("people.synthetic.csv")
    tab.go("files")
    assert re.search(r"microtome release .* --epsilon 5", page.inner_text("#commands"))
    assert "mt.Synthesizer" in page.inner_text("#program")
    for name in ("people.release", "people.model", "people.synthetic.csv", "people.statement.md", "people.report.html"):
        with page.expect_download() as download:
            page.click(f"li:has-text('{name}') >> text=Download")
        assert download.value.suggested_filename == name
        assert Path(download.value.path()).stat().st_size > 500
    assert tab.complaints == []
    check_all_looks(browser, studio)


@pytest.mark.slow
def test_by_keyboard_alone(tab: Tab) -> None:
    page = tab.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("text=Open the town")
    page.keyboard.press("Enter")
    page.wait_for_selector("#columns-title")
    page.focus(".column summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "role"
    page.focus("[name=public]")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_selector("#forecast[aria-busy=false] section")


@pytest.mark.slow
def test_bad_files_are_told_of_where_they_were_dropped(tab: Tab) -> None:
    page = tab.page
    page.set_input_files("#file", {"name": ".hidden", "mimeType": "text/csv", "buffer": b"a\n1\n"})
    page.wait_for_selector("[data-drop] [role=alert]:visible")
    assert "give it a plain one" in page.inner_text("[data-drop] [role=alert]")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "alert"
    assert [text for text in tab.complaints if "422" not in text] == []
    dropped = page.evaluate_handle(
        "() => {const held = new DataTransfer(); held.items.add(new File(['%PDF-1.7 a,b'], 'a.csv')); return held}"
    )
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": dropped})
    page.wait_for_selector(".alert.bad:has-text('PDF document')")
    assert "Traceback" not in page.content()
    open_small_table(tab.go(""))


@pytest.mark.slow
def test_a_tab_that_is_closed_during_a_release(context: BrowserContext, studio: Studio) -> None:
    first = Tab(context, studio).page
    many = b"age,visits\n" + b"".join(b"%d,%d\n" % (20 + n % 60, n % 7) for n in range(400_000))
    open_small_table(first, many)
    first.check("[name=public]")
    first.click("text=Confirm and go on")
    first.wait_for_selector("#forecast[aria-busy=false] section")
    with first.expect_response("**/promise/release"):
        first.click("text=Spend it and release", no_wait_after=True)
    first.close()
    second = Tab(context, studio)
    second.go("promise")
    second.page.wait_for_selector("#made-title")
    assert studio.desk.contents.released is not None
    entries = Ledger(studio.desk.places.ledger).entries("people.csv")
    assert [entry.artefact for entry in entries] == [Artefact.load(studio.desk.contents.released.path).fingerprint]


@pytest.mark.slow
def test_two_tabs_release_once_and_a_budget_refuses(context: BrowserContext, studio: Studio) -> None:
    first = Tab(context, studio)
    open_small_table(first.page)
    confirm(first.page)
    second = Tab(context, studio)
    second.go("promise")
    for page in (first.page, second.page):
        page.fill("#epsilon", "3")
        page.check("[name=anyway]")
    first.page.click("text=Spend it and release")
    first.page.wait_for_selector("#made-title")
    second.page.click("text=Spend it and release")
    second.page.wait_for_selector("[role=alert]:has-text('another tab')")
    book = Ledger(studio.desk.places.ledger)
    assert len(book.entries("people.csv")) == 1
    page = first.go("promise")
    page.click("text=Set a budget")
    page.fill("#budget", "3.5")
    page.click("button:text-is('Set the budget')")
    page.wait_for_selector("#forecast :text('It would be refused')")
    page.check("[name=anyway]")
    page.click("text=Spend it and release again")
    page.wait_for_selector("[role=alert]:has-text('nothing was spent')")
    assert len(book.entries("people.csv")) == 1
    first.check()


class Elsewhere(BaseHTTPRequestHandler):
    """Another server on this machine, which to a browser is the same site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Elsewhere</title><body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_page_of_another_server_gets_nothing(context: BrowserContext, studio: Studio, elsewhere: str) -> None:
    inside = Tab(context, studio)
    before = studio.desk.version
    page = context.new_page()
    page.goto(elsewhere)
    read = "address => fetch(address + '/columns', {credentials: 'include'}).then(a => a.text(), () => 'refused')"
    assert page.evaluate(read, inside.origin) == "refused"
    blind = "address => fetch(address + '/open/town', {method: 'POST', mode: 'no-cors', credentials: 'include'})"
    page.evaluate(f"{blind}.then(() => null, () => null)", inside.origin)
    page.evaluate(
        "address => {const frame = document.createElement('iframe'); frame.src = address; document.body.append(frame)}",
        inside.origin,
    )
    page.wait_for_timeout(500)
    assert "Open a table" not in page.frame_locator("iframe").locator("body").inner_text()
    with page.expect_navigation():
        page.evaluate(
            """address => {const form = document.createElement("form"); form.method = "post";
            form.action = address + "/open/town"; document.body.append(form); form.submit()}""",
            inside.origin,
        )
    assert "it is refused" in page.inner_text("body")
    assert studio.desk.version == before
    inside.go("columns")
    assert "Open a table first" in inside.page.content()
