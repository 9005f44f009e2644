"""What the compiled loops are given: the settings of an algorithm, and the routines of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from shortlist.algorithms.round import ROUND
from shortlist.core.least_squares import OBSERVES
from shortlist.core.records import (
    BOOLEAN,
    INTEGER,
    KEY,
    Address,
    Integer,
    Integers,
    Real,
    Reals,
    Record,
    record_type,
)
from shortlist.core.rule import POINTERS
from shortlist.core.state import STATE
from shortlist.rules.allocation import ALLOCATE


@dataclass(frozen=True, eq=False)
class Settings(Record):
    """An algorithm on its problem, for the compiled rounds.

    ``flags`` are bits of ``signals``; ``constants`` are the threshold's; ``numbers`` are those of the rules
    of this package, by kind, or ``OWN``. Rules of the user's own are called by their address; the
    others are ABSENT here.
    """

    m: Integer
    sigma: Real
    epsilon: Real
    flags: Integer
    constants: Reals
    numbers: Integers
    indices: Annotated[Callable[..., None], POINTERS["indices"]]
    threshold: Annotated[Callable[..., float], POINTERS["threshold"]]
    candidates: Annotated[Callable[..., None], POINTERS["candidates"]]
    ambiguous: Annotated[Callable[..., int], POINTERS["ambiguous"]]
    selection: Annotated[Callable[..., int], POINTERS["selection"]]
    stopping: Annotated[Callable[..., float], POINTERS["stopping"]]
    allocate: Annotated[Callable[..., int], Address(ALLOCATE)]


SETTINGS = record_type(Settings)
DECIDE = INTEGER(STATE, ROUND, SETTINGS, KEY)


@dataclass(frozen=True, eq=False)
class Routines(Record):
    """What the loops call by address, so that each kind of study compiles only what it uses."""

    decide: Annotated[Callable[..., int], Address(DECIDE)]
    observe: Annotated[Callable[..., None], Address(OBSERVES)]
    refresh: Annotated[Callable[..., bool], Address(BOOLEAN(STATE))]


ROUTINES = record_type(Routines)
