"""Nothing reaches a page that was not let in, and no answer leaves without the headers that keep it to itself."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from microtome.studio.access import Access

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; "
    "form-action 'none'"
)
"""A report has its style inside and needs nothing else; it is shown in a frame of ours."""
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ADMITTED = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Microtome studio</title>
<link rel="icon" href="/static/icon.svg">
<meta http-equiv="refresh" content="0; url=/"></head><body><main><h1>Microtome studio</h1>
<p><a href="/">Open the studio</a></p></main></body></html>"""
_STRANGER = "This is not open to you. Open the address that 'microtome studio' printed, with its token.\n"
_ELSEWHERE = "This request was meant for another address, or comes from another page; it is refused.\n"


class Guard:
    """Around the whole application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead; ``None`` for a request that is let in."""
        headers, access = Headers(scope=scope), self._access
        if not access.is_own_host(headers.get("host", "")):
            return PlainTextResponse(_ELSEWHERE, 421)
        token = QueryParams(scope["query_string"]).get("token")
        if scope["method"] == "GET" and scope["path"] == "/" and token is not None and access.is_token(token):
            # No redirect: a browser that follows a link from elsewhere would not send a strict cookie along.
            return HTMLResponse(_ADMITTED, headers={"set-cookie": access.cookie})
        if not access.admits(headers.get("cookie", "")):
            return PlainTextResponse(_STRANGER, 403)
        if not access.is_own_page(scope["method"], headers):
            return PlainTextResponse(_ELSEWHERE, 403)
        return None
