"""Which process a run is in, as the run's own name says it, and whether that process is known to be dead."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from uuid import uuid4


def name_of_run() -> str:
    """A name for a run of this process that no other run has."""
    return f"{uuid4().hex} {os.getpid()} {_machine()}"


def is_dead(run: str) -> bool:
    """Whether the process of a run is known to have ended: only on the machine where it was.

    Examples
    --------
    >>> is_dead(name_of_run()), is_dead("a run of somebody else")
    (False, False)
    """
    _, _, where = run.partition(" ")
    process, _, machine = where.partition(" ")
    if os.name != "posix" or machine != _machine() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@cache
def _machine() -> str:
    """The machine, and on Linux which of its tables of processes this one is in.

    Containers may share a name, and the numbers of their processes repeat.
    """
    table = ""
    with suppress(OSError):
        table = os.readlink("/proc/self/ns/pid")
    words = f"{socket.gethostname()} {table}".encode(errors="surrogateescape")
    return hashlib.blake2b(words, digest_size=6).hexdigest()
