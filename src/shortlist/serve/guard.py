"""Who may come in: the token and the Origin of every request, and the size of its body."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 2**20  # bytes of a request: a plate of 1,536 wells has about 60,000
API, PAGE = "/api", "/page"

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
    slowly keeps nobody waiting.

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

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers, path = Headers(scope=scope), scope["path"]
        answer = _stranger(headers) or self._uninvited(headers, path)
        body = b""
        if answer is None and path.split("/")[1:] == [self._token.decode()]:
            answer = Response(status_code=307, headers={"Location": f"{path}/"})
        if answer is None:
            whole = await _body(headers, receive)
            answer, body = (None, whole) if whole is not None else (_too_large(path), b"")
        if answer is not None:
            await answer(scope, receive, send_guarded)
            return
        if not path.startswith(f"{API}/"):
            path = PAGE + path[1 + len(self._token) :]

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        inner = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(inner, receive_body, send_guarded)

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
        if self._is_token(path.split("/")[1]):
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


async def _body(headers: Headers, receive: Receive) -> bytes | None:
    """The whole body, or None if it is too large."""
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdecimal() or int(length[:12]) > LARGEST:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


def _too_large(path: str) -> Response:
    words = (
        f"a request may have {LARGEST:,} bytes at most, and this one has more: nothing was read."
    )
    if path.startswith(f"{API}/"):
        return refused(words, 413)
    return PlainTextResponse(words[0].upper() + words[1:], 413)
