"""How much memory and time a file may take, and how to allow more."""

from __future__ import annotations

import math
import os
import re

from shortlist.errors import InvalidInput, InvalidSetting

BYTES, SECONDS = "SHORTLIST_MAX_BYTES", "SHORTLIST_MAX_SECONDS"
DEFAULT_BYTES = 2 << 30
TIMES = 16  # a large file may take this many times its size, whatever the limit
DEFAULT_SECONDS = 60.0
PER_SECOND = 10_000_000  # bytes of a file for which it is given another second
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
CELL = 24  # bytes of a number: 8, and two copies while a table is turned and checked
NAME = 256  # bytes of a name beside its letters: Python's text, lists of it, an index of pandas


def most_bytes(size: int = 0) -> int:
    """How much memory the content of a file of ``size`` bytes may take.

    It is what ``SHORTLIST_MAX_BYTES`` says, 2 GB if that is not set, and 16 times the file's own
    size if that is more.

    Examples
    --------
    >>> most_bytes() == 2 * 2**30, most_bytes(2**30) == 16 * 2**30
    (True, True)
    """
    text = os.environ.get(BYTES, "").strip()
    if not text:
        return max(DEFAULT_BYTES, TIMES * size)
    parts = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", text, re.I | re.ASCII)
    if parts is None or float(parts[1]) <= 0:
        raise InvalidSetting(
            f"{BYTES} must be a number of bytes, such as 500M or 8G, got {text[:40]!r}."
        )
    return max(int(float(parts[1]) * UNITS[parts[2].upper()]), TIMES * size)


def most_seconds(size: int = 0) -> float:
    """How many seconds the reading of a file of ``size`` bytes may take in a process of its own.

    It is what ``SHORTLIST_MAX_SECONDS`` says, 60 if that is not set, and one more for every 10 MB.

    Examples
    --------
    >>> most_seconds(), most_seconds(200_000_000)
    (60.0, 80.0)
    """
    text = os.environ.get(SECONDS, "").strip()
    try:
        seconds = float(text) if text else DEFAULT_SECONDS
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e6:  # false for NaN too
        raise InvalidSetting(f"{SECONDS} must be a number of seconds above 0, got {text[:40]!r}.")
    return seconds + size / PER_SECOND


class Memory:
    """The memory that the content of one file may take; what it declares is counted up.

    Examples
    --------
    >>> memory = Memory("large.h5ad", InvalidInput, size=4096)
    >>> memory.need(10**6)
    >>> memory.need_table(10**6, 10**6)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: large.h5ad: its content would take 21.8 TB, more than the 2 GB that a file of this size may take. If the file is not damaged, set the environment variable SHORTLIST_MAX_BYTES to a larger number, such as 8G.
    """

    def __init__(self, source: object, error: type[InvalidInput], size: int) -> None:
        self.source, self.error = source, error
        self.most = most_bytes(size)
        self._declared = 0

    def need(self, count: int) -> None:
        """Raise before memory is taken that the file may not take."""
        self._declared += count
        if count < 0 or self._declared > self.most:
            raise self.exceeded(self._declared)

    def need_table(self, rows: int, columns: int) -> None:
        """Raise unless a table of numbers of this shape may be made."""
        self.need(CELL * rows * columns + NAME * rows)

    def exceeded(self, needed: int | None = None) -> InvalidInput:
        """The error for content that would take more memory than it may."""
        many = "more" if needed is None else f"{in_words(needed)}, more"
        return self.error(
            f"{self.source}: its content would take {many} than the {in_words(self.most)} that a "
            "file of this size may take. If the file is not damaged, set the environment variable "
            f"{BYTES} to a larger number, such as 8G."
        )


def in_words(count: int) -> str:
    """A number of bytes in readable units.

    Examples
    --------
    >>> in_words(2 * 2**30), in_words(1500)
    ('2 GB', '1.5 kB')
    """
    for unit, name in ((1 << 60, "EB"), (1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB")):
        if count >= unit:
            return f"{min(count // (unit // 10), 10**9) / 10:g} {name}"
    return f"{count / 1024:.1f} kB" if count >= 1024 else f"{count} bytes"
