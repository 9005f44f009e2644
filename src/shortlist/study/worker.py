"""Who asks: a name for people, and a run whose end can be noticed."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

PROC = Path("/proc")
MACHINE_ID = Path("/etc/machine-id")
_RUNNING: set[str] = set()  # the runs of this process that are under way


@cache
def worker() -> str:
    """Who works here, for people to read."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    # A name that is not UTF-8 could neither be stored nor printed.
    return f"{user}@{socket.gethostname()}".encode(errors="replace").decode()


@contextmanager
def running() -> Iterator[str | None]:
    """A run, told apart from every other that ever was; None where that cannot be."""
    started, here = _started(os.getpid()), _here()
    if started is None or here is None:
        yield None
        return
    run = " ".join([*here, str(os.getpid()), started, uuid4().hex])
    _RUNNING.add(run)
    try:
        yield run
    finally:
        _RUNNING.discard(run)


def has_ended(run: str) -> bool:
    """Whether a run of this machine is no more; one elsewhere is believed to live.

    Examples
    --------
    >>> has_ended("another-machine boot processes 1 1 run")
    False
    """
    here, parts = _here(), run.split(" ")
    if here is None or len(parts) != 6 or parts[0] != here[0]:
        return False
    if parts[1] != here[1]:
        return True  # the machine was started again since
    if parts[2] != here[2] or not parts[3].isdecimal() or len(parts[3]) > 18:
        return False
    if int(parts[3]) == os.getpid():
        return run not in _RUNNING
    return _started(int(parts[3])) != parts[4]


@cache
def _here() -> tuple[str, str, str] | None:
    """The machine, its present start, and the set of processes seen from here."""
    try:
        known = MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else ""
        machine = f"{socket.gethostname()}/{known}".replace(" ", "_")
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return machine, boot, os.readlink(PROC / "self/ns/pid")
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
