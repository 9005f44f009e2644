"""What a storage must offer: seven methods, two properties, a transaction, and plain records.

A new kind of storage is a file with a class that has these methods, and a line in
``address.BACK_ENDS``. ``shortlist.testing.check_storage`` checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

# A trial as it is stored: its fields, those of its cause, and the changes that opened and closed it.
# Its name and its seed follow from the study. A corrected trial has the value that was told first.
ROW = (
    *("number", "arm", "block", "state", "value", "reason", "asked_at", "closed_at", "expires_at"),
    *("worker", "run", "in_turn", "origin", "b", "c", "gap", "statistic", "second"),
    *("opened", "closed", "key", "other_keys"),
)
Row = Sequence[Any]  # by ``ROW``


class Settings(NamedTuple):
    """What a study was begun with."""

    choices: str  # JSON
    arms: str  # their names, JSON
    features: bytes | None
    features_hash: str
    columns: str | None  # what the features are called, JSON
    created_at: float  # seconds since 1970


class Event(NamedTuple):
    """A change of a study that neither opened nor closed a trial.

    ``value`` and ``reason`` are those of a correction. When results are carried over, ``reason`` is
    a ``Source`` as text, and ``value`` is what the seeds of later trials are made from.
    """

    change: int
    kind: str
    trial: int
    at: float
    worker: str
    value: float | None = None
    reason: str | None = None


class Checkpoint(NamedTuple):
    """How far a study is, and the digests to check it by."""

    changes: int
    fingerprint: str
    posterior: str  # empty before the first result
    machine: str
    state: str


class Known(NamedTuple):
    """What a process knows of a study: how many changes and trials, and which trials are open."""

    changes: int
    trials: int
    pending: list[int]


class Change(NamedTuple):
    """What one transaction writes."""

    opened: Sequence[Row]  # new trials
    altered: Sequence[Row]  # trials that were there before
    events: Sequence[Event]
    checkpoint: Checkpoint


class Transaction(Protocol):
    """One look at a study, and one change of it, whole or not at all."""

    @property
    def checkpoint(self) -> Checkpoint:
        """How far the study is."""

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""

    def news(self, known: Known) -> tuple[Sequence[Row], Sequence[Event]]:
        """The trials opened or altered since then, by number, and the events since.

        Open trials that nobody has altered may be among them.
        """

    def leases(self) -> Mapping[str, float]:
        """Until when the trials of each run are its own; a run that is absent holds none."""

    def commit(self, change: Change) -> None:
        """Keep a change; once in a transaction, and the last that is done in it.

        Raises
        ------
        OutcomeUnknown
            If the storage did not say whether the change was kept.
        StorageError
            If it was not kept.
        """


class Storage(Protocol):
    """Where one study is kept; there may be others in the same place.

    ``where`` names the place for people, without a password; ``address`` is to open it again. Both
    are None in memory.
    """

    @property
    def where(self) -> str | None:
        """The place, for people."""

    @property
    def address(self) -> str | None:
        """The place, to be opened again; it may contain a password."""

    def names(self) -> list[str]:
        """The names of the studies in this place, in the order in which they began."""

    def begin(self, name: str, settings: Settings, checkpoint: Checkpoint) -> Settings:
        """Begin the study of this name, or find the one that is there; returns its settings.

        Of several that begin one study at once, one begins it and the others find it.
        """

    def open(self, name: str) -> Settings | None:
        """Find a study; None if there is none of this name."""

    def transaction(self, *, writing: bool) -> AbstractContextManager[Transaction]:
        """A transaction on the study that was begun or opened, to write in or only to read.

        What it shows is of one moment. Two that may write do not overlap. What is not committed at
        its end is not kept.
        """

    def hold(self, run: str, seconds: float) -> None:
        """Let the trials of a run be its own for so long from now on; 0 ends it."""

    def sources(self) -> list[tuple[str, str]]:
        """The name of a study here and the reason of an event "carried" of it, for all of them."""

    def close(self) -> None:
        """Let go of connections; they are made again when they are needed."""


def is_text(words: str) -> bool:
    """Whether every storage can store this text."""
    return "\x00" not in words and not any("\ud800" <= sign <= "\udfff" for sign in words)
