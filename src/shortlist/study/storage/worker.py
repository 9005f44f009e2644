"""Who works on a trial: the user and the machine, the run, and whether that has ended."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

PROC = Path("/proc")
MACHINE_ID = Path("/etc/machine-id")
CLOCKS_DIFFER = 2.0  # seconds that a machine's start may seem later than it was
_RUNNING: set[str] = set()  # the runs of this process that are under way


@cache
def worker() -> str:
    """The user and the machine, for people to read."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    # A name that is not UTF-8 could neither be stored nor printed.
    return f"{user}@{socket.gethostname()}".encode(errors="replace").decode()


@contextmanager
def running(now: float) -> Iterator[str | None]:
    """A unique name of a run that begins now; None where the system does not tell enough."""
    started, here = _started(os.getpid()), _here()
    if started is None or here is None:
        yield None
        return
    run = " ".join([*here, str(os.getpid()), started, uuid4().hex, f"{now:.3f}"])
    _RUNNING.add(run)
    try:
        yield run
    finally:
        _RUNNING.discard(run)


def has_ended(run: str, now: float, is_connected: Callable[[str], bool]) -> bool:
    """Whether a run of this machine has ended; one elsewhere is believed to live.

    A run from before this machine was started has ended. But machines made from one image go by
    one name. So it must have begun before this machine was started, and must not be at work on the
    storage now.

    ``run`` is as ``running`` gave it, ``now`` by the clock that all who share the storage go by,
    and ``is_connected`` says whether a process, by its ``process_name``, is connected to the
    storage.

    Examples
    --------
    >>> has_ended("another-machine boot processes 1 1 run 0.0", 1e9, lambda name: False)
    False
    """
    here, parts = _here(), run.split(" ")
    if here is None or len(parts) not in (6, 7) or parts[0] != here[0]:
        return False
    if parts[1] != here[1]:
        began = float(parts[6]) if len(parts) == 7 else 0.0  # older versions did not say
        earlier = began < now - _uptime() - CLOCKS_DIFFER
        return earlier and not is_connected(process_name(parts[1], parts[3]))
    if parts[2] != here[2] or not parts[3].isdecimal() or len(parts[3]) > 18:
        return False
    if int(parts[3]) == os.getpid():
        return run not in _RUNNING
    return _started(int(parts[3])) != parts[4]


def process_name(boot: str | None = None, pid: str | None = None) -> str:
    """The name under which a process connects to a database server; by default this process."""
    here = _here()
    boot = boot or (here[1] if here is not None else socket.gethostname())
    return f"shortlist {boot} {pid or os.getpid()}"[:63]  # PostgreSQL keeps no more


def _uptime() -> float:
    """For how many seconds the machine has been running."""
    return float((PROC / "uptime").read_text().split()[0])


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
    """When a process started, in ticks; None if it has ended, even if it is still listed."""
    try:
        # After the name, which stands in brackets and may contain anything.
        fields = (PROC / f"{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]
