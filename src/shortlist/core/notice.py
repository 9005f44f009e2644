"""A word to whoever waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
