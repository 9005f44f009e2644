"""Studies in memory: they end with the process."""

# ruff: noqa: D102 - what the methods do stands in base.Storage

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from shortlist.storage.base import Change, Checkpoint, Event, Known, Row, Settings


class _Kept:
    """What is kept of a study.

    A change is kept by one assignment, to ``_begun``, and entered into the lists after it. Where
    an exception or a fork came in between, it is entered again before the next transaction.
    """

    def __init__(self, settings: Settings | None, checkpoint: Checkpoint) -> None:
        self.settings, self.checkpoint = settings, checkpoint
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.runs: dict[str, float] = {}
        self._begun: Change | None = None

    def keep(self, change: Change) -> None:
        self._begun = change
        self.finish()

    def finish(self) -> None:
        change = self._begun
        if change is None:
            return
        for row in (*change.opened, *change.altered):
            if row[0] < len(self.rows):
                self.rows[row[0]] = row
            else:
                self.rows.append(row)
        last = self.events[-1].change if self.events else 0
        self.events += [event for event in change.events if event.change > last]
        self.checkpoint = change.checkpoint
        self._begun = None


class _Transaction:
    def __init__(self, kept: _Kept) -> None:
        kept.finish()
        self._kept, self.checkpoint, self.now = kept, kept.checkpoint, time.time()

    def news(self, known: Known) -> tuple[Sequence[Row], Sequence[Event]]:
        rows, events = self._kept.rows, self._kept.events
        altered = [rows[number] for number in known.pending]
        since = [event for event in events if event.change > known.changes]
        return [*altered, *rows[known.trials :]], since

    def leases(self) -> Mapping[str, float]:
        return self._kept.runs

    def commit(self, change: Change) -> None:
        self._kept.keep(change)


class MemoryStorage:
    """A storage in memory, as ``Storage`` describes it."""

    where: str | None = None
    address: str | None = None

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._studies: dict[str, _Kept] = {}
        if checkpoint is not None:  # a study that nobody will look for by its name
            self._study = _Kept(None, checkpoint)

    def names(self) -> list[str]:
        return list(self._studies)

    def begin(self, name: str, settings: Settings, checkpoint: Checkpoint) -> Settings:
        self._study = self._studies.setdefault(name, _Kept(settings, checkpoint))
        return self._study.settings or settings

    def open(self, name: str) -> Settings | None:
        if name not in self._studies:
            return None
        self._study = self._studies[name]
        return self._study.settings

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[_Transaction]:
        yield _Transaction(self._study)

    def hold(self, run: str, seconds: float) -> None:
        if seconds:  # a run ends with the process, or says so
            self._study.runs[run] = math.inf
        else:
            self._study.runs.pop(run, None)

    def sources(self) -> list[tuple[str, str]]:
        return [
            (name, event.reason or "")
            for name, kept in self._studies.items()
            for event in kept.events
            if event.kind == "carried"
        ]

    def close(self) -> None:
        pass
