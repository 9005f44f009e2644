"""How much memory and time a file may take, and how to allow more."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from shortlist.errors import InvalidInput, InvalidSetting

BYTES, SECONDS = "SHORTLIST_MAX_BYTES", "SHORTLIST_MAX_SECONDS"
DEFAULT_BYTES = 2 << 30
TIMES = 16  # a large file may take this many times its size, whatever the limit
DEFAULT_SECONDS = 60.0
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


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


def most_seconds() -> float:
    """The number of seconds for which the reading of a file may show no progress."""
    text = os.environ.get(SECONDS, "").strip()
    try:
        seconds = float(text) if text else DEFAULT_SECONDS
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e6:  # false for NaN too
        raise InvalidSetting(f"{SECONDS} must be a number of seconds above 0, got {text[:40]!r}.")
    return seconds


def size_of(path: str | os.PathLike[str]) -> int:
    """The size of a file, 0 if it has none."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def too_large(
    source: object, needed: int | None, most: int, error: type[InvalidInput]
) -> InvalidInput:
    """The error for a file whose content would take more memory than it may."""
    many = "more" if needed is None else f"{in_words(needed)}, more"
    return error(
        f"{source}: its content would take {many} than the {in_words(most)} that a file of this "
        f"size may take. If the file is not damaged, set the environment variable {BYTES} to a "
        "larger number, such as 8G."
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
