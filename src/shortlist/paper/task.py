"""Something to be done many times over, a chunk at a time, each chunk kept."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable

import pandas as pd

from shortlist.paper.store import Store


class Task(ABC):
    """Numbered repetitions (runs, random instances): how many are there, and how to make the rest.

    Parameters
    ----------
    name, key : str
        Of its file in the store.
    wanted : int
        How many repetitions.
    chunk : int
        How many are made between two looks at the disk; at least one a worker.
    cost : float
        About how many seconds one takes on one core; for the time left only.
    store : Store
        Where finished ones are kept.
    """

    def __init__(
        self, name: str, key: str, *, wanted: int, chunk: int, cost: float, store: Store
    ) -> None:
        self.wanted, self.cost = wanted, cost
        self._name, self._key, self._chunk, self._store = name, key, chunk, store
        self._frame: pd.DataFrame | None = store.read(name, key, self.valid)

    @property
    def missing(self) -> int:
        """How many are still to be made."""
        return max(0, self.wanted - self._there)

    @property
    def _there(self) -> int:
        return 0 if self._frame is None else len(self._frame)

    def finish(self, workers: int | None, progress: Callable[[float], None]) -> None:
        """Make what is missing, a chunk at a time; each chunk is kept."""
        chunk = max(self._chunk, workers or os.cpu_count() or 1)
        while self.missing:
            new = self.make(self._there, min(chunk, self.missing), workers)
            both = new if self._frame is None else pd.concat([self._frame, new], ignore_index=True)
            self._store.write(self._name, self._key, both)
            self._frame = both
            progress(self.cost * len(new))

    def finished(self) -> pd.DataFrame:
        """As many as were asked for, even where more are kept."""
        assert self._frame is not None
        return self._frame.head(self.wanted)

    @abstractmethod
    def make(self, start: int, count: int, workers: int | None) -> pd.DataFrame:
        """Repetitions ``start`` to ``start + count − 1``, one row each."""

    @abstractmethod
    def valid(self, frame: pd.DataFrame) -> bool:
        """Whether rows from the disk can be those of this task."""
