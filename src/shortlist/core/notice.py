"""A word to whoever waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def notice(words: str, after: float = 2.0) -> Iterator[None]:
    """Say what takes so long, if it takes longer than ``after`` seconds."""
    timer = threading.Timer(after, lambda: print(f"shortlist: {words}", file=sys.stderr))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
