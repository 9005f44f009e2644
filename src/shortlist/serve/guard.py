"""Who may come in: the token and the Origin of every request, and the size of its body."""

from __future__ import annotations

import asyncio
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shortlist.serve.connection import INVITED

LARGEST = 2**20  # bytes of a request: a plate of 1,536 wells has about 60,000
API, PAGE = "/api", "/page"
ENDED = (
    "the server was stopped before this was answered: send it again when it runs again; what was done "
    "already is not done twice."
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The page's address contains the token. "no-referrer" would make the Origin of forms "null".
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Passes on only what the holder of the token sends, from no page of another server.

    ``/TOKEN/…`` is passed on as ``/page/…``, and ``/api/…`` as it is if it has the header
    ``Authorization: Bearer TOKEN``. The body is read before anything else is done: whoever sends it
    slowly keeps nobody waiting, and nothing is done for one that was cut.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        What only the invited know.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        is_answered = False

        async def send_guarded(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._answer(scope, receive, send_guarded)
        except asyncio.CancelledError:  # the server ends
            if not is_answered:
                await refused(ENDED, 503)(scope, receive, send_guarded)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        read: bytes | Response | None = _stranger(headers) or self._uninvited(headers, path)
        if read is None:
            scope[INVITED] = True
            if path.split("/")[1:] == [self._token.decode()]:
                read = Response(status_code=307, headers={"Location": f"{path}/"})
            else:
                read = await _body(headers, path, receive)
        if isinstance(read, Response):
            await read(scope, receive, send)
            return
        body = read
        if not path.startswith(f"{API}/"):
            path = PAGE + path[1 + len(self._token) :]

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        inner = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(inner, receive_body, send)

    def _uninvited(self, headers: Headers, path: str) -> Response | None:
        if path.startswith(f"{API}/"):
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() == "bearer" and self._is_token(given.strip()):
                return None
            return refused(
                "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN' with "
                "the token that `shortlist serve` printed.",
                401,
                {"WWW-Authenticate": "Bearer"},
            )
        if path.startswith("/") and self._is_token(path.split("/")[1]):  # "OPTIONS *" has no slash
            return None
        return PlainTextResponse(
            "This address is not valid, or no longer. Open the one that `shortlist serve` printed.",
            403,
        )

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token)


def refused(words: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error as JSON."""
    return JSONResponse({"error": words, "kind": "Refused"}, status, headers)


def _stranger(headers: Headers) -> Response | None:
    """The refusal of what a page of another server sends."""
    origin = headers.get("origin")
    if origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower():
        return None
    return refused(f"a page of {origin[:100]!r} may not use this server.", 403)


async def _body(headers: Headers, path: str, receive: Receive) -> bytes | Response:
    """The whole body; or the refusal of one that is too large, or was cut."""
    length = headers.get("content-length")
    if length is not None and not (length.isascii() and length.isdecimal()):
        return _unread(path, f"Content-Length must be a number of bytes, got {length[:40]!r}", 400)
    declared = None if length is None else int(length[:12])
    body, more = b"", (declared or 0) <= LARGEST
    while more and len(body) <= LARGEST:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if message["type"] == "http.disconnect":
            return _unread(path, "the request was cut", 400)
    if max(len(body), declared or 0) > LARGEST:
        words = f"a request may have {LARGEST:,} bytes at most, and this one has more"
        return _unread(path, words, 413)
    if declared not in (None, len(body)):
        return _unread(path, f"the request has {len(body):,} bytes, not {declared:,}", 400)
    return body


def _unread(path: str, words: str, status: int) -> Response:
    """The refusal of a body: as JSON, or as text."""
    if path.startswith(f"{API}/"):
        return refused(f"{words}: nothing was done.", status)
    return PlainTextResponse(f"{words[0].upper()}{words[1:]}: nothing was done.", status)
