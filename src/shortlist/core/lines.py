"""Memory that no other thread writes beside: small arrays on cache lines of their own."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shortlist.core.records import Record

LINE = 64  # bytes
SMALL = 1024  # NumPy hands blocks of less than so many bytes from one thread to the next

Kind = TypeVar("Kind", bound=Record)


def on_own_line(array: NDArray[Any]) -> NDArray[Any]:
    """The array, copied to whole cache lines if it is small.

    Arrays of a few numbers that two threads write may lie side by side in one line of the cache,
    which the cores then take from each other at every write.

    Examples
    --------
    >>> on_own_line(np.ones(3, np.int64)).ctypes.data % LINE
    0
    >>> large = np.zeros(1000)
    >>> on_own_line(large) is large
    True
    """
    if not 0 < array.nbytes < SMALL:
        return array
    lines = np.zeros(LINE + -(-array.nbytes // LINE) * LINE, np.uint8)
    own: NDArray[Any] = np.ndarray(array.shape, array.dtype, lines, -lines.ctypes.data % LINE)
    own[...] = array
    return own


def on_own_lines(record: Kind) -> Kind:
    """The record with each of its small arrays, and of those within, on lines of their own."""
    return record.mapped(on_own_line)
