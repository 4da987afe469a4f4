"""A studio that really listens, and somebody who talks to it as a browser would, or as nobody should."""

from __future__ import annotations

import io
import re
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from PIL import Image

from microtome.studio.desk import Desk
from microtome.studio.places import Places
from microtome.studio.serving import Studio, studio_at
from microtome.whole_file import scratch_folder

SECRETS = ("Quentin", "Wilhelmina", "31337")
"""Values that occur in the table and in no catalogue, draft or word of ours."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Visitor:
    """Somebody with a connection to a studio."""

    def __init__(self, studio: Studio, *, admitted: bool = True) -> None:
        self.studio, self.port = studio, studio.access.port
        self.cookie = f"{studio.access.cookie_name}={studio.access.key}" if admitted else ""

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """One request; a header that is ``None`` is left out."""
        usual: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie or None}
        if method != "GET":
            usual["Origin"] = f"http://127.0.0.1:{self.port}"
        given = {**usual, **{name.replace("_", "-").capitalize(): value for name, value in headers.items()}}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if isinstance(body, bytes):
                connection.putheader("Content-Length", str(len(body)))
                connection.endheaders(body)
            else:
                if body is not None:
                    connection.putheader("Transfer-Encoding", "chunked")
                connection.endheaders(body, encode_chunked=body is not None)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", errors="replace")
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, address: str, /, *, version: int | None = None, **fields: str) -> Answer:
        """A form, as the page that shows what is there now would send it."""
        seen = self.studio.desk.version if version is None else version
        return self.ask("POST", address, urlencode({"version": seen, **fields}).encode())

    def upload(self, name: str, content: Any) -> Answer:
        query = urlencode({"name": name, "version": self.studio.desk.version})
        return self.ask("POST", f"/open/upload?{query}", content)

    def opened(self, name: str, content: bytes) -> Answer:
        """Upload a table, and wait for its draft."""
        answer = self.upload(name, content)
        self.studio.desk.wait()
        return answer

    def done(self, address: str, /, **fields: str) -> Answer:
        """Send a form that begins work, wait for its end, and look at the page then."""
        answer = self.post(address, **fields)
        self.studio.desk.wait()
        return answer if answer.status != 303 else self.get(answer.headers["location"])


def problem(answer: Answer) -> str:
    """What a page says is wrong."""
    found = re.search(r"<pre>(.*?)</pre>", answer.text, flags=re.DOTALL)
    assert found is not None, answer.text
    return found[1]


def small_table(rows: int = 600) -> bytes:
    """People with a name, an age and a sex, of whom some have what nobody else has."""
    lines = [f"{20 + number % 60},{('female', 'male')[number % 2]},{number % 7}" for number in range(rows)]
    lines[3] = f"{SECRETS[2]},female,1"
    lines[5] = f"44,{SECRETS[0]},2"
    lines[9] = f"45,{SECRETS[1]},2"
    return ("age,sex,visits\n" + "\n".join(lines) + "\n").encode()


def zipped_pictures(pictures: int = 40) -> bytes:
    """Pictures of two classes that nobody would guess, in a folder of the kind that people pack."""
    generator, packed = np.random.default_rng(0), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for place, name in enumerate(SECRETS[:2]):
            for number in range(pictures):
                pixels = generator.integers(100 * place, 100 * place + 99, (8, 8), np.uint8)
                with archive.open(f"letters/{name}/{number}.png", "w") as file:
                    Image.fromarray(pixels).save(file, format="PNG")
    return packed.getvalue()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def open_studio(folder: Path, **options: Any) -> Iterator[Studio]:
    """A studio with its results and its book in a folder."""
    with scratch_folder("microtome-studio-test") as private:
        given = {"private": private, "results": folder / "results", "ledger": folder / "book.json", **options}
        desk = Desk(Places(**given))
        with studio_at(0, desk) as studio:
            thread = threading.Thread(target=studio.run)
            thread.start()
            try:
                yield studio
            finally:
                studio.end()
                thread.join()
