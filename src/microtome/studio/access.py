"""Who may talk to the studio: a browser on this machine that was once given the address with its token.

Any program on this machine can reach a port, and any page in a browser can send requests to it. So an address has a
token, which is exchanged for a cookie that pages of others are never sent with; and only requests that name this very
address as their host, and as their origin where they change something, are answered.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost")
_READING = ("GET", "HEAD")
_BYTES = 32


def _secret() -> str:
    return secrets.token_urlsafe(_BYTES)


@dataclass(frozen=True, kw_only=True)
class Access:
    """The address of a studio and its two secrets.

    Attributes:
        port: Where it listens, on the loopback interface alone.
        token: What the address carries.
        key: What the cookie carries: another secret, which is in no address, history or log.
    """

    port: int
    token: str = field(default_factory=_secret, repr=False)
    key: str = field(default_factory=_secret, repr=False)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def cookie_name(self) -> str:
        """The cookie's name; browsers do not tell ports of a machine apart."""
        return f"microtome-studio-{self.port}"

    @property
    def cookie(self) -> str:
        """The header that sets it."""
        return f"{self.cookie_name}={self.key}; Path=/; HttpOnly; SameSite=Strict"

    def is_own_host(self, host: str) -> bool:
        """Whether a request means this address, and not a name that somebody had lead here."""
        return host in [f"{name}:{self.port}" for name in _NAMES]

    def is_own_page(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from a page of ours; to look, an address may also be typed or clicked.

        To a browser another port of this machine is the same site, and its pages are sent with our cookie.
        """
        if method in _READING:
            return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        return headers.get("origin") == f"http://{headers.get('host')}"

    def is_token(self, given: str) -> bool:
        """Whether this is the token, told in constant time."""
        return secrets.compare_digest(given.encode(), self.token.encode())

    def admits(self, cookies: str) -> bool:
        """Whether the cookies of a request hold the key."""
        pairs = [one.strip().partition("=") for one in cookies.split(";")]  # others' may be written in any way
        held = [value for name, _, value in pairs if name == self.cookie_name]
        return any(secrets.compare_digest(value.encode(), self.key.encode()) for value in held)
