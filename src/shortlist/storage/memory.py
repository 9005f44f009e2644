"""Studies in memory: they end with the process."""

# ruff: noqa: D102 - what the methods do stands in base.Storage

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from shortlist.storage.base import Change, Checkpoint, Event, Known, Row, Settings


class _StoredStudy:
    """What is kept of a study.

    A change is kept by one assignment, to ``last``, after which nothing is called that could be
    interrupted. It is entered into the lists by the next transaction; if that is interrupted, by
    the one after it.
    """

    def __init__(self, settings: Settings | None, checkpoint: Checkpoint) -> None:
        self.settings, self.checkpoint = settings, checkpoint
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.runs: dict[str, float] = {}
        self.last: Change | None = None

    def enter_last(self) -> None:
        change = self.last
        if change is None:
            return
        for row in (*change.opened, *change.altered):
            if row[0] < len(self.rows):
                self.rows[row[0]] = row
            else:
                self.rows.append(row)
        before = self.events[-1].change if self.events else 0
        self.events += [event for event in change.events if event.change > before]
        self.checkpoint = change.checkpoint
        self.last = None


class _Transaction:
    def __init__(self, study: _StoredStudy) -> None:
        self._study = study
        self._change: Change | None = None

    def __enter__(self) -> _Transaction:
        self._study.enter_last()
        self.checkpoint, self.now = self._study.checkpoint, time.time()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._study.last = self._change

    def news(self, known: Known) -> tuple[Sequence[Row], Sequence[Event]]:
        rows, events = self._study.rows, self._study.events
        altered = [rows[number] for number in known.pending]
        since = [event for event in events if event.change > known.changes]
        return [*altered, *rows[known.trials :]], since

    def leases(self) -> Mapping[str, float]:
        return dict(self._study.runs)

    def commit(self, change: Change) -> None:
        self._change = change


class MemoryStorage:
    """A storage in memory, as ``Storage`` describes it."""

    where: str | None = None
    address: str | None = None

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._studies: dict[str, _StoredStudy] = {}
        if checkpoint is not None:  # a study that nobody will look for by its name
            self._study = _StoredStudy(None, checkpoint)

    def names(self) -> list[str]:
        return list(self._studies)

    def begin(self, name: str, settings: Settings, checkpoint: Checkpoint) -> Settings:
        self._study = self._studies.setdefault(name, _StoredStudy(settings, checkpoint))
        return self._study.settings or settings

    def open(self, name: str) -> Settings | None:
        if name not in self._studies:
            return None
        self._study = self._studies[name]
        return self._study.settings

    def transaction(self, *, writing: bool) -> _Transaction:
        return _Transaction(self._study)

    def hold(self, run: str, seconds: float) -> None:
        if seconds:  # a run ends with the process, or says so
            self._study.runs[run] = math.inf
        else:
            self._study.runs.pop(run, None)

    def sources(self) -> list[tuple[str, str]]:
        for study in self._studies.values():
            study.enter_last()
        return [
            (name, event.reason or "")
            for name, study in self._studies.items()
            for event in study.events
            if event.kind == "carried"
        ]

    def close(self) -> None:
        pass
