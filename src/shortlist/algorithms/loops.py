"""The compiled loops, each loaded when first called: a study asks for one, a comparison for the other."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from shortlist.core.notice import notice

_one_thread = Lock()  # compiles, and says so; others wait


@cache
def following() -> Any:
    """The loop over results from outside."""
    words = "compiling the loop over results for this machine: once only, a minute or two"
    with _one_thread, notice(words):
        from shortlist.algorithms.follow import follow
    return follow


@cache
def replicating() -> Any:
    """The loop over simulated runs."""
    words = "compiling the loop over runs for this machine: once only, a minute or two"
    with _one_thread, notice(words):
        from shortlist.algorithms.replicate import replicate
    return replicate
