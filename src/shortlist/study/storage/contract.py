"""What a study needs of the place where it is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from shortlist.study.ledger import Event
from shortlist.study.trial import Trial


class Standing(NamedTuple):
    """How far a stored study is, and the digests to check it by."""

    changes: int
    fingerprint: str
    posterior: str
    machine: str
    state: str


class Known(NamedTuple):
    """What a process knows of a study: how many changes and trials, and which trials are open."""

    changes: int
    trials: int
    pending: list[int]


class Transaction(Protocol):
    """One change of a study, whole or not at all."""

    standing: Standing | None

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""

    def news(self, known: Known) -> tuple[Sequence[Any], list[tuple[int, Event, int]]]:
        """The trials changed since then, by number, and the events since."""

    def unclaimed(self) -> set[int]:
        """The open trials that were asked for here, and of which the reply was lost."""

    def is_connected(self, process: str) -> bool:
        """Whether a process is connected to the storage, where the storage knows that."""

    def insert(self, trials: Sequence[Trial]) -> None:
        """Keep new trials."""

    def update(self, trials: Sequence[Trial], change: int) -> None:
        """Keep what has become of trials."""

    def note(self, change: int, kind: Event, trial: int, worker: str) -> None:
        """Keep an event."""

    def seal(self, standing: Standing) -> None:
        """Keep how far the study is now."""


class Storage(Protocol):
    """What a study needs of the place where it is kept."""

    where: str | None  # for people: without a password
    address: Any  # to be opened again

    def transaction(self, *, writing: bool, known: Callable[[], Known] | None = None) -> Any:
        """A context manager that gives a :class:`Transaction`, to write in or only to look.

        With what is ``known``, the storage may read in one go what is new.
        """

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""


class Unstored:
    """The storage of a study that is only in memory: nothing to keep, nobody else's news."""

    where: str | None = None
    address: Any = None
    standing: Standing | None = None
    now = 0.0

    def transaction(self, *, writing: bool, known: Callable[[], Known] | None = None) -> Unstored:
        """Itself, with the time at which it begins, by this machine's clock."""
        self.now = time.time()
        return self

    def __enter__(self) -> Unstored:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def news(self, known: Known) -> tuple[Sequence[Any], list[tuple[int, Event, int]]]:
        """None."""
        return [], []

    def unclaimed(self) -> set[int]:
        """None."""
        return set()

    def is_connected(self, process: str) -> bool:
        """Nobody is."""
        return False

    def insert(self, trials: Sequence[Trial]) -> None:
        """Nothing to do."""

    def update(self, trials: Sequence[Trial], change: int) -> None:
        """Nothing to do."""

    def note(self, change: int, kind: Event, trial: int, worker: str) -> None:
        """Nothing to do."""

    def seal(self, standing: Standing) -> None:
        """Nothing to do."""
