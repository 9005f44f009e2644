"""Memory that no other thread writes beside: small arrays on cache lines of their own."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

LINE = 64  # bytes
SMALL = 1024  # NumPy hands blocks of less than so many bytes from one thread to the next

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def on_own_lines(arrays: Arrays) -> Arrays:
    """The same arrays, the small ones copied to whole cache lines; tuples within as well.

    Arrays of a few numbers that two threads write may lie side by side in one line of the cache,
    which the cores then take from each other at every write.

    Examples
    --------
    >>> near = (np.zeros(4), np.ones(3, np.int64), np.zeros(1000))
    >>> apart = on_own_lines(near)
    >>> [array.ctypes.data % LINE for array in apart[:2]], apart[2] is near[2]
    ([0, 0], True)
    """
    room = np.zeros(LINE + _bytes(arrays), np.uint8)
    return _move(arrays, room, -room.ctypes.data % LINE)[0]


def _is_small(each: Any) -> bool:
    return isinstance(each, np.ndarray) and 0 < each.nbytes < SMALL


def _in_lines(size: int) -> int:
    return -(-size // LINE) * LINE


def _bytes(arrays: tuple[Any, ...]) -> int:
    total = 0
    for each in arrays:
        if isinstance(each, tuple):
            total += _bytes(each)
        elif _is_small(each):
            total += _in_lines(each.nbytes)
    return total


def _move(arrays: Any, room: np.ndarray, first: int) -> tuple[Any, int]:
    moved: list[Any] = []
    for each in arrays:
        own = each
        if isinstance(each, tuple):
            own, first = _move(each, room, first)
        elif _is_small(each):
            own = np.ndarray(each.shape, each.dtype, room, first)
            own[...] = each
            first += _in_lines(each.nbytes)
        moved.append(own)
    return (arrays._make(moved) if hasattr(arrays, "_make") else tuple(moved)), first
