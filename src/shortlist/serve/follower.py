"""A study as the pages show it: looked at in a thread of its own, once for all who watch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from shortlist.advice import read_by
from shortlist.errors import ShortlistError
from shortlist.printable import plain
from shortlist.report.analysis import Analysis
from shortlist.serve.actions import command_line
from shortlist.serve.pages import live
from shortlist.serve.single_thread import SingleThread
from shortlist.study.insight.summary import status_report

if TYPE_CHECKING:
    from shortlist.study.study import Study

Result = TypeVar("Result")
PAUSE = 1.0  # seconds between two looks, at least
SHARE = 0.25  # of the time goes into looks: asking and telling need the rest
LONGEST_PAUSE = 5.0  # seconds: a page is no older, but for the time that a look takes


@dataclass(frozen=True)
class Snapshot:
    """A study at one moment: the part of the page that changes, and the status as JSON has it."""

    changes: int
    html: str
    status: dict[str, Any]


class Follower:
    """Looks at a study when somebody watches, and shows all of them the same.

    The study is one of its own: computing what a page shows keeps nobody from asking or telling. It
    is looked at by one thread, and who waits for it is a coroutine that holds nothing.

    Parameters
    ----------
    load : callable
        Opens the study.
    """

    def __init__(self, load: Callable[[], Study]) -> None:
        self._load = load
        self._study: Study | None = None
        self._thread = SingleThread("look")
        self._looking: asyncio.Task[None] | None = None
        self._latest: Snapshot | None = None
        self._due = 0.0  # when the next look may begin
        self.problem = ""  # why the last look failed

    async def latest(self, changes: int | None = None) -> Snapshot:
        """The study as it was last seen, or looked at again.

        Once the last look is old enough another one is begun. It is waited for if the study is
        wanted after at least this number of ``changes``, which may be 0.
        """
        if self._looking is None and time.monotonic() >= self._due:
            look = self._look()
            if changes is not None:
                await asyncio.shield(look)
        for _ in range(3):  # a look that is under way may have begun too early
            fails = changes is not None and self.problem  # then who wants it is told so
            if self._latest is not None and self._latest.changes >= (changes or 0) and not fails:
                break
            await asyncio.shield(self._look())
        assert self._latest is not None
        return self._latest

    async def read(self, read: Callable[[Study], Result]) -> Result:
        """What a function reads of the study as it is now; it waits for looks, and for no writer."""
        return await self._thread.do(lambda: read(self._refreshed()))

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def _look(self) -> asyncio.Task[None]:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look_now())
            # Nobody may be waiting for it; what is wrong is in ``problem``.
            self._looking.add_done_callback(lambda look: look.cancelled() or look.exception())
        return self._looking

    async def _look_now(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._latest = await self._thread.do(self._snapshot)
            self.problem = ""
        except Exception as error:
            self.problem = str(error)
            if not isinstance(error, ShortlistError):
                failed = {"message": "a look at the study failed", "exception": error}
                loop.call_exception_handler(failed)
            raise
        finally:
            self._looking = None

    def _refreshed(self) -> Study:
        """The study as it is now: in the thread."""
        self._study = self._study or self._load()
        self._study.refresh()
        return self._study

    def _snapshot(self) -> Snapshot:
        """Look: in the thread."""
        began = time.monotonic()
        try:
            study = self._refreshed()
            if self._latest is not None and self._latest.changes == study.changes:
                return self._latest
            with read_by(command_line(study)):
                analysis = Analysis(study)
                html = live(analysis)
                status = status_report(study, analysis.remaining, analysis.findings)
            return Snapshot(study.changes, html, plain(status))  # NaN is not valid JSON
        finally:
            now = time.monotonic()
            wanted = max(PAUSE, (now - began) * (1.0 / SHARE - 1.0))
            self._due = now + min(wanted, LONGEST_PAUSE)
