"""Who is let in: this machine, this address, this browser; and what leaves with every answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from studio_support import Visitor, open_studio

from microtome.errors import ParameterError
from microtome.studio.access import Access
from microtome.studio.desk import Desk
from microtome.studio.places import Places
from microtome.studio.serving import Studio, studio_at

PAGES = (
    "/",
    "/columns",
    "/promise",
    "/model",
    "/report",
    "/files",
    "/under-way",
    "/promise/forecast",
    "/promise/curve",
    "/static/studio.js",
)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One for all of these: none of them changes it."""
    with open_studio(tmp_path_factory.mktemp("studio")) as opened:
        yield opened


@pytest.fixture
def stranger(studio: Studio) -> Visitor:
    return Visitor(studio, admitted=False)


@pytest.mark.parametrize("path", [*PAGES, "/?token=", "/?token=wrong", "/columns?token=wrong", "/nowhere"])
def test_nobody_without_the_token_sees_anything(stranger: Visitor, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert "token" in answer.text


def test_the_token_is_exchanged_for_a_cookie_that_other_pages_cannot_use(stranger: Visitor, studio: Studio) -> None:
    answer = stranger.get(studio.access.address.partition(str(studio.access.port))[2])
    assert answer.status == 200
    assert "location" not in answer.headers
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert studio.access.token not in cookie
    assert studio.access.token not in answer.text
    assert stranger.get("/", cookie=cookie.partition(";")[0]).status == 200


def test_a_wrong_cookie_is_none(stranger: Visitor, studio: Studio) -> None:
    name = studio.access.cookie_name
    for cookie in (f"{name}=", f"{name}={studio.access.token}", f"other={studio.access.key}", "\x01;=", f"{name}=é"):
        assert stranger.get("/", cookie=cookie.encode("utf-8").decode("latin-1")).status == 403


def test_cookies_of_other_servers_lock_nobody_out(visitor: Visitor) -> None:
    for other in ('state={"a": [1, 2], "b": "c"}', "no-value", "a b=c", 'quoted="', "=", f"{visitor.cookie}x"):
        for cookies in (f"{other}; {visitor.cookie}", f"{visitor.cookie};{other}"):
            assert visitor.get("/", cookie=cookies).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", ""]
)
def test_another_host_is_refused_even_with_the_cookie(visitor: Visitor, host: str) -> None:
    answer = visitor.get("/", host=host.format(port=visitor.port))
    assert answer.status in (400, 421)
    assert "Microtome studio" not in answer.text


def test_the_machine_may_be_called_localhost(visitor: Visitor) -> None:
    assert visitor.get("/", host=f"localhost:{visitor.port}").status == 200


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:1"])
@pytest.mark.parametrize(
    "path", ["/open/town", "/open/upload?name=a.csv", "/promise/release", "/under-way/stop", "/end"]
)
def test_a_change_is_taken_from_our_own_pages_only(visitor: Visitor, path: str, origin: str | None) -> None:
    before = visitor.studio.desk.version
    assert visitor.ask("POST", path, b"version=1", origin=origin).status == 403
    assert visitor.studio.desk.version == before
    assert visitor.get("/").status == 200


def test_pages_are_not_shown_to_other_sites(visitor: Visitor) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert visitor.get("/", sec_fetch_site=site).status == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT"])
def test_other_methods_do_nothing(visitor: Visitor, method: str) -> None:
    assert visitor.ask(method, "/").status in (400, 403, 404, 405)


@pytest.mark.parametrize("path", [*PAGES, "/nowhere", "/files/release", "/report/page"])
def test_every_answer_keeps_to_itself(visitor: Visitor, path: str) -> None:
    for headers in (visitor.get(path).headers, Visitor(visitor.studio, admitted=False).get(path).headers):
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "server" not in headers


@pytest.mark.parametrize("path", PAGES[:6])
def test_pages_have_no_scripts_styles_or_addresses_of_elsewhere(visitor: Visitor, path: str) -> None:
    text = visitor.get(path).text
    assert not re.search(r"https?://|//[a-z]|style=|<style|<script(?! src=\"/static/)|\son[a-z]+=|javascript:", text)


def test_static_files_fetch_nothing_from_elsewhere() -> None:
    import microtome.studio

    for file in (Path(microtome.studio.__file__).parent / "static").iterdir():
        found = re.findall(r"https?://[^\s\"')]+|@import|url\(", file.read_text(encoding="utf-8"))
        assert set(found) <= {"http://www.w3.org/2000/svg"}, file


def test_static_files_are_no_way_to_others(visitor: Visitor) -> None:
    for path in ("/static/../access.py", "/static/%2e%2e/access.py", "/static//etc/passwd", "/files/..%2f..%2fetc"):
        assert visitor.get(path).status == 404


def test_it_listens_on_the_loopback_interface_alone(studio: Studio) -> None:
    assert studio.listening.getsockname()[0] == "127.0.0.1"


def test_secrets_are_new_long_and_hidden() -> None:
    first, second = Access(port=1), Access(port=1)
    assert len({first.token, first.key, second.token, second.key}) == 4
    assert min(map(len, (first.token, first.key))) >= 43
    assert first.token not in repr(first)
    assert first.key not in repr(first)


def test_a_port_that_is_taken_is_told_of(studio: Studio, tmp_path: Path) -> None:
    desk = Desk(Places(private=tmp_path, results=tmp_path))
    with pytest.raises(ParameterError, match="cannot be had"), studio_at(studio.access.port, desk):
        pass
    with pytest.raises(ParameterError, match="cannot be had"), studio_at(1 << 20, desk):
        pass


def test_it_ends_when_told_and_takes_the_private_folder_along(tmp_path: Path) -> None:
    with open_studio(tmp_path) as studio:
        visitor, private = Visitor(studio), studio.desk.places.private
        visitor.post("/open/town")
        assert private.is_dir()
        assert "has ended" in visitor.post("/end").text
    assert not private.exists()
    connection = HTTPConnection("127.0.0.1", studio.access.port, timeout=2)
    with pytest.raises(ConnectionError):
        connection.request("GET", "/")
