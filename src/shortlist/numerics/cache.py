"""Where the machine code of this package is kept between two starts.

Numba keeps it, in a folder that it is given here. Its index looks at the file of a function, and not at
those of the functions that it calls: so the folder is named by a hash of all files that compiled
functions are made of, and an edit or an upgrade never runs old machine code. What is loaded from there runs as this
user: so the folder is the user's own, and nobody else can write to it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba

from shortlist.errors import warn_caller

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: two processes may compile the same)
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).parents[1]
# All that compiled functions are made of: their own code, and the constants that they use.
ROOMS = (
    "allocations",
    "arrays.py",
    "designs",
    "engine",
    "numerics",
    "plans",
    "posterior",
    "repurposing/networks",
    "rules",
)
_numba_settings = threading.RLock()


@cache
def folder() -> Path | None:
    """Where machine code of these sources for this machine is; None where none can be kept."""
    base = _base()
    if base is None:
        return None
    files = [file for room in ROOMS for file in _python_files(PACKAGE / room)]
    machine = (
        str(PACKAGE),
        platform.python_version(),
        numba.__version__,
        llvmlite.__version__,
        llvmlite.binding.get_host_cpu_name(),
    )
    try:
        _make_own(base)
        sources = _hash(*(part for file in files for part in (str(file), file.read_bytes())))
        found = base / _hash(*machine) / sources
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        for older in found.parent.iterdir():
            if older != found:
                shutil.rmtree(older, ignore_errors=True)
    except OSError:
        return None
    return found


def _python_files(place: Path) -> list[Path]:
    return [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))


def _hash(*parts: str | bytes) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode() if isinstance(part, str) else part)
        made.update(b"\0")
    return made.hexdigest()[:16]


def _base() -> Path | None:
    """$NUMBA_CACHE_DIR, or the user's folder for what can be made anew."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute() / f"shortlist-{os.getuid() if hasattr(os, 'getuid') else 0}"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        return None
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return (base / "shortlist" / "compiled").absolute()


def _make_own(base: Path) -> None:
    """Make the folder if it is not there; raise if somebody else could have written to it."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not hasattr(
        os, "getuid"
    ):  # pragma: no cover  (Windows: others cannot write to a user's folders)
        return
    found = base.lstat()
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not own or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        warn_caller(
            UserWarning(
                f"compiled code is not kept, and compiled again at every start: {base} is not a folder of "
                "yours that only you can write to. Remove it, or set NUMBA_CACHE_DIR to another folder."
            )
        )
        raise PermissionError(base)


@cache
def _names(place: Path) -> set[str]:
    """What has been compiled, as this process found it when it first asked."""
    with suppress(OSError):
        return set(os.listdir(place / "names"))
    return set()


def _name(function: Callable[..., Any], kind: str) -> str:
    return f"{function.__module__}.{function.__qualname__}.{kind}"


def is_kept(function: Callable[..., Any], kind: str) -> bool:
    """Whether machine code of this kind was kept before this process asked, or by it."""
    place = folder()
    return place is not None and _name(function, kind) in _names(place)


@contextmanager
def keeping(function: Callable[..., Any], kind: str) -> Iterator[None]:
    """Let Numba load and keep machine code; raises where that cannot be done.

    One process compiles a function while others wait for what it makes. Where that fails, what is kept
    of this function is deleted, to be made anew: it may be damaged.
    """
    place = folder()
    if place is None:
        raise OSError("no folder")
    name, names = _name(function, kind), _names(place)
    try:
        with _locked(place, name, name in names), _used_by_numba(place / name):
            yield
        if name not in names:
            (place / "names").mkdir(exist_ok=True)
            (place / "names" / name).touch()
            names.add(name)
    except Exception:
        names.discard(name)
        with suppress(OSError):
            (place / "names" / name).unlink(missing_ok=True)
        shutil.rmtree(place / name, ignore_errors=True)
        raise


@contextmanager
def _used_by_numba(place: Path) -> Iterator[None]:
    """Have Numba keep the machine code of what is decorated meanwhile here."""
    with _numba_settings:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


@contextmanager
def _locked(place: Path, name: str, is_kept: bool) -> Iterator[None]:
    if is_kept or fcntl is None:
        yield
        return
    (place / "locks").mkdir(parents=True, exist_ok=True)
    with open(place / "locks" / name, "w") as file:
        with suppress(OSError):  # a file system without locks: both compile
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
