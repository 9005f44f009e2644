"""Before a fork all threads come to rest: a child never gets the locks that they hold."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

LONGEST_WAIT = 120.0  # seconds that a fork waits for a thread that is at work


class AtRest(Protocol):
    """What a fork must not find in the middle of something."""

    def before_fork(self) -> None:
        """Wait until no thread is at work, and keep others from beginning."""

    def after_fork(self) -> None:
        """Go on in the parent."""

    def after_fork_in_child(self) -> None:
        """Go on in the child, where no other thread is left."""


# A study that is at work may be waiting for its storage, never the other way round: so studies first.
STUDIES: weakref.WeakSet[AtRest] = weakref.WeakSet()
STORAGES: weakref.WeakSet[AtRest] = weakref.WeakSet()


def _before() -> None:
    for each in [*STUDIES, *STORAGES]:
        each.before_fork()


def _after() -> None:
    for each in [*STORAGES, *STUDIES]:
        each.after_fork()


def _after_in_child() -> None:
    for each in [*STORAGES, *STUDIES]:
        each.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
