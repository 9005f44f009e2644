"""Who asks: a name for people, and a process whose end can be noticed."""

from __future__ import annotations

import getpass
import os
import socket
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@cache
def worker() -> str:
    """Who works here, for people to read."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def process() -> str | None:
    """The own process, told apart from every other that ever was; None where that cannot be."""
    started = _started(os.getpid())
    here = _here()
    return None if started is None or here is None else f"{here} {os.getpid()} {started}"


def has_ended(process: str) -> bool:
    """Whether a process of this machine is no more; one elsewhere is believed to live.

    Examples
    --------
    >>> has_ended("another-machine 1 1")
    False
    """
    here, pid, started = process.rsplit(" ", 2)
    return here == _here() and pid.isdecimal() and _started(int(pid)) != started


@cache
def _here() -> str | None:
    """The present start of the machine, and the set of processes seen from here."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """When a process started, in ticks; None if there is none (or it has ended and is not buried)."""
    try:
        # After the name, which stands in brackets and may hold anything.
        fields = (PROC / f"{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]
