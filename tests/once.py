"""What takes long to make, made once in a test run and read by all its processes."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

FOLDER = Path()  # the same to all processes of a run; set by conftest.py


def once(name: str, make: Callable[[Path], object]) -> Path:
    """The file or folder of this name; ``make`` makes it at the path that it is given.

    Whoever comes while it is being made waits. If ``make`` raises, the next one tries again.
    """
    place, begun = FOLDER / name, FOLDER / f"{name}.part"
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            make(begun)
            begun.rename(place)
    return place
