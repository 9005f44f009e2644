"""Forks wait until no thread is at work on a study: a child must not inherit a half-made change."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_changed = threading.Condition(threading.Lock())
LONGEST_WAIT = 120.0  # seconds; no transaction takes as long
_at_work: dict[int, int] = {}  # how deep each thread is in its work, by its identity
_forking = 0  # the thread that is about to fork
_before: list[Callable[[], None]] = []
_owners: weakref.WeakSet[Any] = weakref.WeakSet()
_held: list[Any] = []  # the locks that are held during a fork


class no_fork:  # noqa: N801 - used as a function is
    """Work that no fork may interrupt: locks held, a transaction begun, memory half changed."""

    __slots__ = ()

    def __enter__(self) -> None:
        me = threading.get_ident()
        with _changed:
            while _forking and _forking != me and me not in _at_work:
                _changed.wait()
            _at_work[me] = _at_work.get(me, 0) + 1

    def __exit__(self, *error: object) -> None:
        me = threading.get_ident()
        with _changed:
            _at_work[me] -= 1
            if not _at_work[me]:
                del _at_work[me]
                if _forking:
                    _changed.notify_all()


def block_forks_of(owner: Any) -> None:
    """Let no fork happen while another thread holds the ``_lock`` of an owner.

    For what must not make a call of its own at its end, as ``no_fork`` does: a study's changes.
    """
    with _changed:
        _owners.add(owner)


def before_fork(do: Callable[[], None]) -> None:
    """Register something to do before every fork, when no other thread is at work."""
    _before.append(do)


def _wait_for_other_threads() -> None:
    global _forking
    me = threading.get_ident()
    with _changed:
        # A thread that forks during its own work does not wait: others may wait for that work.
        while me not in _at_work and (_forking != me or _at_work):
            if not _forking:
                _forking = me  # from now on nobody begins, and those at work come to their end
            elif not _changed.wait(LONGEST_WAIT):
                break  # one of them was cut off before it could say that it has come to its end
        owners = list(_owners)
    for owner in owners:
        if owner._lock.acquire(timeout=LONGEST_WAIT):
            _held.append(owner._lock)
    for do in _before:
        do()


def _release_locks() -> None:
    while _held:
        _held.pop().release()


def _resume_parent() -> None:
    global _forking
    _release_locks()
    with _changed:
        if _forking == threading.get_ident():
            _forking = 0
        _changed.notify_all()


def _reset_child() -> None:
    """Reset everything in the child, where the other threads do not exist."""
    global _changed, _forking
    _release_locks()
    _changed = threading.Condition(threading.Lock())
    _forking = 0
    me = threading.get_ident()
    for thread in [each for each in _at_work if each != me]:
        del _at_work[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_wait_for_other_threads, after_in_parent=_resume_parent, after_in_child=_reset_child
    )
