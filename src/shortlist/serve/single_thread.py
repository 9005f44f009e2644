"""One thread that does one thing after the other, and keeps no program from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")

NAMES = "shortlist: "  # how the names of the threads begin
PATIENCE = 0.2  # seconds, for a thread that was told to end


class SingleThread:
    """Does what it is given in order; who waits for it is a coroutine.

    Python waits at its end for the threads of a ``ThreadPoolExecutor``, and this one may be waiting
    for a storage that is locked. It may be left in the middle of anything, as when it is killed.

    Examples
    --------
    >>> asyncio.run(SingleThread("adds").do(lambda: 1 + 1))
    2
    """

    def __init__(self, name: str) -> None:
        self._given: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=f"{NAMES}{name}", daemon=True).start()

    async def do(self, act: Callable[[], Result]) -> Result:
        """The result of a function, called in the thread; if cancelled before its turn, not at all."""
        future: Future[Result] = Future()
        self._given.put((future, act))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the thread when it has done what it was given."""
        self._given.put(None)

    def _work(self) -> None:
        while (given := self._given.get()) is not None:
            future, act = given
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(act())
            except BaseException as error:
                future.set_exception(error)


def is_at_work() -> bool:
    """Whether a thread that was told to end still does what it was given."""
    threads = [each for each in threading.enumerate() if each.name.startswith(NAMES)]
    for each in threads:
        each.join(PATIENCE)
    return any(each.is_alive() for each in threads)
