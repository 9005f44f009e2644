"""The server's answers: pages for browsers, and JSON for instruments and other languages."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp
from uvicorn import Config, Server

from shortlist.advice import read_by
from shortlist.errors import (
    BudgetSpent,
    InvalidInput,
    LinearityRejected,
    OnlyFailingArms,
    ShortlistError,
    StorageError,
    StudyStopped,
    ToldBefore,
    TrialClosed,
    UnknownTrial,
)
from shortlist.printable import count, plain
from shortlist.serve import actions, pages
from shortlist.serve.connection import AT_ONCE, WAITING, Connection
from shortlist.serve.follower import Follower
from shortlist.serve.guard import API, PAGE, Guard
from shortlist.serve.single_thread import SingleThread
from shortlist.study.insight.summary import trial_numbers
from shortlist.study.plate import write_plate
from shortlist.study.view import more_than_needed

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

Result = TypeVar("Result")
Action = Callable[["Study", Mapping[str, Any]], dict[str, Any]]
OFFERED = (
    "there are GET /api/status and POST /api/ask, /api/tell, /api/fail, /api/cancel, /api/verify, "
    "/api/widen, /api/retire and /api/add, and the page at the address that `shortlist serve` printed."
)
SHOWN, SHOWN_ROWS = 16, 250_000  # files, and rows of all, that are kept until they are confirmed
DIGITS = 18  # of the number of a trial
GRACE = 3  # seconds in which requests may come to their end once the server is to stop
# The first class that fits counts.
CONFLICT = 409
STATUS: tuple[tuple[type[ShortlistError], int], ...] = (
    (UnknownTrial, 404),
    (TrialClosed, CONFLICT),
    (ToldBefore, CONFLICT),
    (StudyStopped, CONFLICT),
    (BudgetSpent, CONFLICT),
    (OnlyFailingArms, CONFLICT),
    (LinearityRejected, CONFLICT),
    (StorageError, 503),
    (ShortlistError, 400),
)


def application(load: Callable[[], Study], *, token: str, names: Collection[str]) -> ASGIApp:
    """An ASGI application that serves one study.

    Parameters
    ----------
    load : callable
        Opens the study, such as ``lambda: Study.load("screen.db")``. It is called twice: one is
        asked and told, the other is looked at.
    token : str
        Whoever knows it may do everything: it is part of the page's address, and sent with every
        request for JSON.
    names : collection of str
        What the server is called in the header ``Host``, such as ``["127.0.0.1", "localhost"]``.
        A page from elsewhere whose name was made to point here is refused.
    """
    hosts = [f"[{name}]" if ":" in name else name for name in names]  # IPv6 is in brackets there
    guard = Guard(_Served(load).starlette(), token)
    return TrustedHostMiddleware(guard, allowed_hosts=hosts, www_redirect=False)


def server(app: ASGIApp) -> Server:
    """The HTTP server. Requests are not logged: their addresses contain the token."""
    config = Config(
        app,
        http=Connection,
        ws="none",
        access_log=False,
        log_level="error",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=GRACE,
        backlog=AT_ONCE,
    )
    return _Server(config)


class _Server(Server):
    """A server that accepts few connections at once, while many may wait to be accepted.

    Uvicorn has one number for both.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(WAITING)


class _Served:
    """One study and those who use it.

    All that changes the study is done by one thread, one after the other. Who waits for it is a
    coroutine, which holds no lock.
    """

    def __init__(self, load: Callable[[], Study]) -> None:
        self._study = load()
        self._follower = Follower(load)
        self._shown: dict[str, tuple[pages.Sent, list[dict[str, Any]]]] = {}  # the oldest first
        self._thread = SingleThread("study")
        # As they were after the last act here: to read them of the study may take its storage.
        self._changes = self._study.changes

    def starlette(self) -> Starlette:
        """The routes."""
        page = [
            Route("/", self.page),
            Route("/live", self.live),
            Route("/style.css", partial(_asset, "style.css", "text/css")),
            Route("/live.js", partial(_asset, "live.js", "text/javascript")),
            Route("/plate.csv", self.download_plate),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/preview", self.preview_upload, methods=["POST"]),
            Route("/tell", self.tell_confirmed, methods=["POST"]),
            Route("/fail", self.fail, methods=["POST"]),
            Route("/cancel", self.cancel, methods=["POST"]),
            Route("/verify", self.verify, methods=["POST"]),
            Route("/widen", self.widen, methods=["POST"]),
        ]
        api = [
            Route("/status", self.status),
            *(
                Route(f"/{action.__name__}", partial(self.act, action), methods=["POST"])
                for action in (
                    *(actions.ask, actions.tell, actions.fail, actions.cancel, actions.verify),
                    *(actions.widen, actions.retire, actions.add),
                )
            ),
        ]
        return Starlette(
            routes=[Mount(PAGE, routes=page), Mount(API, routes=api)],
            exception_handlers={ShortlistError: self.refused, HTTPException: self.refused},
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """While the server runs."""
        yield
        self._follower.close()
        self._thread.close()

    async def _do(self, act: Callable[[Study], Result], *, is_json: bool = False) -> Result:
        def acted() -> Result:
            with read_by(actions.command_line(self._study, is_json=is_json)):
                done = act(self._study)
            self._changes = self._study.changes
            return done

        return await self._thread.do(acted)

    # JSON

    async def status(self, request: Request) -> Response:
        """Where the study stands; it includes all that was acknowledged here before."""
        snapshot = await self._follower.latest(self._changes)
        return JSONResponse(snapshot.status)

    async def act(self, action: Action, request: Request) -> Response:
        """Ask, tell, fail, cancel, verify, widen, retire or add."""
        given = _read_json(await request.body())
        done = await self._do(lambda study: action(study, given), is_json=True)
        return JSONResponse(plain(done))

    # The page

    async def page(self, request: Request) -> Response:
        """The page."""
        seen = await self._follower.latest(self._changes)
        return HTMLResponse(
            pages.page(self._study, seen.changes, seen.html, self._follower.problem)
        )

    async def live(self, request: Request) -> Response:
        """The part of the page that changes; empty (204) if it is as the client has seen it."""
        snapshot, problem = await self._follower.latest(), self._follower.problem
        version = f"{snapshot.changes}{'?' if problem else ''}"
        if request.query_params.get("seen") == version:
            return Response(status_code=204)
        body = pages.shown(snapshot.html, problem)
        return HTMLResponse(body, headers={"Study-Changes": version})

    async def download_plate(self, request: Request) -> Response:
        """The open trials as a plate: all, or those that were asked for with a key."""
        key = request.query_params.get("key")
        separator = ";" if request.query_params.get("separator") == "semicolon" else ","

        def written(study: Study) -> tuple[str, str]:
            trials = [t for t in study.pending if key is None or t.worker == f"key {key}"]
            numbers = trial_numbers(trials).replace("–", "-").replace(", ", "_")
            return write_plate(study, trials, separator), numbers

        text, numbers = await self._follower.read(written)
        name = quote(f"plate-{numbers[:60]}.csv" if numbers else "plate-empty.csv")
        attached = {"Content-Disposition": f"attachment; filename={name}"}
        return Response(text, media_type="text/csv", headers=attached)

    async def ask(self, request: Request) -> Response:
        """Ask for a plate."""
        async with request.form() as form:
            number, key = _text(form, "n"), _text(form, "key")
        if not number.isascii() or not number.isdecimal():
            raise InvalidInput(f"{number[:40]!r} is not a number of trials: nothing was asked.")

        def asked(study: Study) -> tuple[list[Trial], str]:
            trials = actions.ask_for(study, int(number[:9]), key)
            return trials, more_than_needed(study, trials)

        trials, needed = await self._do(asked)
        words = f"{count(len(trials), 'trial')} to be measured: {trial_numbers(trials)}. {needed}"
        return self._message("The next plate", words, plate=f"plate.csv?{urlencode({'key': key})}")

    async def preview_upload(self, request: Request) -> Response:
        """What a plate would tell; nothing is told."""
        async with request.form(max_files=1) as form:
            upload, again = form.get("plate"), _text(form, "measured_again") == "yes"
            if isinstance(upload, UploadFile) and upload.filename:
                file, data = Path(upload.filename).name or "plate.csv", await upload.read()
            elif again:  # one that was shown before
                file, data = self._recalled(form)[0][:2]
            else:
                raise InvalidInput("no file was chosen: choose the measured plate.")
        sent = pages.Sent(file, data, again, secrets.token_hex(8))

        def read(study: Study) -> tuple[str, list[dict[str, Any]]]:
            told = actions.preview_file(study, file, data, again)
            return pages.preview(study, sent, told), pages.results_of(study, told)

        try:
            page, results = await self._do(read)
        except ToldBefore as error:
            self._keep(sent, [])
            words = str(error) if again else error.found
            refused = pages.told_before(self._study, sent, words)
            return HTMLResponse(refused, CONFLICT)
        self._keep(sent, results)
        return HTMLResponse(page)

    def _keep(self, sent: pages.Sent, results: list[dict[str, Any]]) -> None:
        """Keep a file that is shown: sent back by a form, a large one would be too large."""
        self._shown[sent.key] = sent, results
        while len(self._shown) > 1 and (
            len(self._shown) > SHOWN
            or sum(len(rows) for _, rows in self._shown.values()) > SHOWN_ROWS
        ):
            del self._shown[next(iter(self._shown))]

    def _recalled(self, form: FormData) -> tuple[pages.Sent, list[dict[str, Any]]]:
        """The file that a form is about, and its results."""
        kept = self._shown.get(_text(form, "shown"))
        if kept is None:
            raise InvalidInput(
                "the file is no longer kept here: others have been shown since, or the server "
                "was restarted. Nothing was told; choose the file again."
            )
        return kept

    async def tell_confirmed(self, request: Request) -> Response:
        """Tell what was shown and is confirmed."""
        async with request.form() as form:
            given = {"results": self._recalled(form)[1]}
        done = await self._do(lambda study: actions.tell(study, given))
        known = f", {len(done['known'])} known already" if done["known"] else ""
        return self._message("Told", f"{count(len(done['taken']), 'result')} recorded{known}.")

    async def fail(self, request: Request) -> Response:
        """Mark trials as failed."""
        async with request.form() as form:
            given = {"trials": _trials(form), "reason": _text(form, "reason")}
        return await self._closed(actions.fail, given, "failed")

    async def cancel(self, request: Request) -> Response:
        """Mark trials as cancelled."""
        async with request.form() as form:
            given = {"trials": _trials(form)}
        return await self._closed(actions.cancel, given, "cancelled")

    async def verify(self, request: Request) -> Response:
        """Go on by verifying the list."""
        await self._do(lambda study: actions.verify(study, {}))
        words = "The study goes on: each arm's own later results verify the list. Ask for a plate."
        return self._message("Verifying", words)

    async def widen(self, request: Request) -> Response:
        """Go on with a larger ε."""
        async with request.form() as form:
            epsilon = _decimal(form, "epsilon")
        done = await self._do(lambda study: actions.widen(study, {"epsilon": epsilon}))
        then = "The study has stopped." if done["done"] else "That does not end the study yet."
        return self._message("Widened", f"The slack is now ε = {done['epsilon']:g}. {then}")

    async def _closed(self, action: Action, given: Mapping[str, Any], state: str) -> Response:
        done = await self._do(lambda study: action(study, given))
        known = f", {len(done['known'])} before" if done["known"] else ""
        words = f"{count(len(done['closed']), 'trial')} {state}{known}."
        return self._message(state.capitalize(), words)

    def _message(self, title: str, words: str, **more: Any) -> Response:
        return HTMLResponse(pages.message(self._study, title, words, **more))

    async def refused(self, request: Request, error: Exception) -> Response:
        """Say what is wrong: as JSON, or on a page."""
        if isinstance(error, HTTPException):
            code, words, headers = error.status_code, error.detail, error.headers
            if code in (404, 405):
                words = f"there is no {request.method} {request.url.path[:100]}: {OFFERED}"
        else:
            code = next(code for kind, code in STATUS if isinstance(error, kind))
            words, headers = str(error), None
        if request.url.path.startswith(f"{API}/"):
            reply = {"error": words, "kind": type(error).__name__}
            return JSONResponse(reply, code, headers)
        page = pages.message(self._study, "Nothing was done", words, bad=True)
        return HTMLResponse(page, code, headers)


async def _asset(name: str, kind: str, request: Request) -> Response:
    return Response(pages.asset(name), media_type=kind)


def _trials(form: FormData) -> list[int]:
    numbers = _text(form, "trials").replace(",", " ").split()
    if not numbers or not all(word.isascii() and word.isdecimal() for word in numbers):
        raise InvalidInput("name the trials by their numbers, such as 12 17: nothing was changed.")
    for word in numbers:
        if len(word) > DIGITS:
            raise UnknownTrial(f"there is no trial {word[:40]}: nothing was changed.")
    return [int(word) for word in numbers]


def _decimal(form: FormData, name: str) -> float:
    text = _text(form, name)
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is not a number: nothing was changed.") from None


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, but a file was sent.")
    return value


def _read_json(body: bytes) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise InvalidInput(
            f"{constant} is not a valid JSON number and cannot be a result: nothing was done."
        )

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"the request is not JSON in UTF-8 ({error}): nothing was done."
        ) from None
