"""A word to whoever waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_said: set[str] = set()


@contextmanager
def notice(words: str, after: float = 2.0, *, once: bool = False) -> Iterator[None]:
    """Say what takes so long, if it takes longer than ``after`` seconds; with ``once``, once a process."""

    def say() -> None:
        if not (once and words in _said):
            _said.add(words)
            print(f"shortlist: {words}", file=sys.stderr)

    timer = threading.Timer(after, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
