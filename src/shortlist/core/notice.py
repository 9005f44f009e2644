"""A word to whoever waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _after(seconds: float, words: str) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: print(f"shortlist: {words}", file=sys.stderr))
    timer.daemon = True
    return timer


@contextmanager
def notice(words: str, after: float = 2.0) -> Iterator[None]:
    """Say what takes so long, if it takes longer than ``after`` seconds."""
    timer = _after(after, words)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def compiling(words: str, after: float = 2.0) -> Iterator[None]:
    """The same of what Numba compiles within; to load what was compiled before says nothing."""
    from numba.core import event

    timer = _after(after, words)
    begun = threading.Event()

    class First(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if not begun.is_set():
                begun.set()
                timer.start()

        def on_end(self, event: Any) -> None:
            pass

    first = First()
    event.register("numba:compile", first)
    try:
        yield
    finally:
        event.unregister("numba:compile", first)
        timer.cancel()
