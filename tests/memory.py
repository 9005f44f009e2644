"""How much memory an action takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak(action: Callable[[], Any]) -> tuple[Any, int]:
    """What an action gives, and the bytes that it had at once at most."""
    tracemalloc.start()
    try:
        result = action()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
