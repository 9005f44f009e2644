"""The log of a study: every trial and every change, in step with the model and with the storage.

The ``Ledger`` holds the trials and counts their changes. The ``Journal`` makes every
change one transaction, on top of what others have done: ledger, model and storage change together
or not at all.
"""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import numbers
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.engine.follow import LOOK, REOPEN, TAKE, VERIFY, Steps
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, UnknownTrial
from shortlist.numerics.random import run_seeds
from shortlist.printable import on_one_line
from shortlist.study import AGAIN, ROW_KEY
from shortlist.study.definition import Definition
from shortlist.study.insight.audit import Audit
from shortlist.study.model import Ahead, Model, machine
from shortlist.study.storage.forking import block_forks_of
from shortlist.study.storage.worker import has_ended, worker
from shortlist.study.trial import (
    FAILURES_IN_A_ROW,
    Cause,
    Correction,
    Origin,
    State,
    Trial,
    all_fields,
    make_trial,
    restore_fields,
    set_field,
)

LOGGER = logging.getLogger(__name__)
Event = Literal["renewed", "reopened", "corrected", "carried", "verifying"]
Mark = tuple[Any, ...]  # what a ledger was at one moment
Row = Sequence[Any]  # a trial as it is stored: see ``ROW``
Result = TypeVar("Result")
# The fields of a trial, then those of its cause, then its changes; name and seed are not kept.
ROW = (
    *("number", "arm", "state", "value", "reason", "asked_at", "closed_at", "expires_at"),
    *("worker", "process", "in_turn", "origin", "b", "c", "gap", "statistic", "second"),
    *("opened", "closed", "key", "other_keys"),
)
OPENED = ROW.index("opened")
CAUSE = slice(ROW.index("origin"), OPENED)

# A change of the study as it enters its fingerprint: its number, kind, trial, arm and value.
ONE_CHANGE = struct.Struct("<4qd")
ASKED, TOLD, FAILED, CANCELLED, RENEWED, REOPENED, CORRECTED, CARRIED, VERIFYING = range(9)
CLOSED_AS: dict[str, int] = {"told": TOLD, "failed": FAILED, "cancelled": CANCELLED}
PLACES = {origin: place for place, origin in enumerate(get_args(Origin), 1)}
KINDS = (RENEWED, REOPENED, CORRECTED, CARRIED, VERIFYING)
EVENTS: dict[Event, int] = dict(zip(get_args(Event), KINDS, strict=True))
# Events after which a study goes on, as steps of the model.
RESUMES: dict[Event, int] = {"reopened": REOPEN, "verifying": VERIFY}
SEEDS_AT_ONCE = 64
LONGEST_KEY, LONGEST_MARK = 200, 150  # characters
NEVER = int(np.iinfo(np.int64).max)


class Logged(NamedTuple):
    """A change of a study that neither opened nor closed a trial.

    ``value`` and ``reason`` are those of a correction. When results are carried over, ``reason`` is
    a ``Source`` as text, and ``value`` is what the seeds of later trials are made from.
    """

    change: int
    kind: Event
    trial: int
    at: float
    worker: str
    value: float | None = None
    reason: str | None = None


class Failures(NamedTuple):
    """The failures in a row of an arm, in the order in which its trials were closed.

    A result of the arm ends the row; what was cancelled does not count.
    """

    number: int
    last: Trial
    set_aside_by: Trial | None  # the failure after which the arm is not asked for any more


class Source(NamedTuple):
    """Another study, from which results were carried over."""

    mark: str
    words: str  # how that study ended, or how far it was

    @classmethod
    def read(cls, text: str) -> Source:
        """The source that ``written`` gave."""
        mark, _, words = text.partition("\n")
        return cls(mark, words)

    @property
    def written(self) -> str:
        """The source as the log has it: the mark on the first line."""
        return f"{on_one_line(self.mark)}\n{self.words}"

    @property
    def name(self) -> str:
        """What the other study is called."""
        return self.mark.rpartition("-")[0]


class Checkpoint(NamedTuple):
    """How far a stored study is, and the digests to check it by."""

    changes: int
    fingerprint: str
    posterior: str
    machine: str
    state: str


class KnownState(NamedTuple):
    """What a process knows of a study: how many changes and trials, and which trials are open."""

    changes: int
    trials: int
    pending: list[int]


class Transaction:
    """One change of a study, whole or not at all. This one is of a study that is only in memory."""

    standing: Checkpoint | None = None
    now = 0.0  # seconds since 1970, by the clock that all who share the storage go by

    def __enter__(self) -> Transaction:
        self.now = time.time()
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def news(self, known: KnownState) -> tuple[Sequence[Row], list[Logged]]:
        """The trials changed since then, by number, and the events since."""
        return [], []

    def unclaimed(self) -> set[int]:
        """The open trials that were asked for here, and of which the reply was lost."""
        return set()

    def is_connected(self, process: str) -> bool:
        """Whether a process is connected to the storage, where the storage knows that."""
        return False

    def insert(self, trials: Sequence[Trial]) -> None:
        """Keep new trials."""

    def update(self, trial: Trial, change: int) -> None:
        """Keep what this change has made of a trial."""

    def note(self, event: Logged) -> None:
        """Keep an event."""

    def seal(self, standing: Checkpoint) -> None:
        """Keep how far the study is now."""


class Storage:
    """Where a study is kept. This one keeps nothing: the study is only in memory."""

    where: str | None = None  # for people: without a password
    address: str | None = None  # to be opened again

    def continuations(self, mark: str) -> list[str]:
        """The names of the studies that results of the study with this mark were carried to."""
        return []

    def transaction(
        self, *, writing: bool, known: Callable[[], KnownState] | None = None
    ) -> AbstractContextManager[Transaction]:
        """A transaction, to write in or only to read.

        With what is ``known``, the storage may read in one go what is new.
        """
        return Transaction()

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""


class Ledger:
    """All trials of a study, every change to them counted.

    Each trial's seed is made from the study's, or from a seed of its own once results were carried
    over: the other study may have the same seed, and noise drawn by equal seeds is equal. The
    fingerprint starts from ``settings``.
    """

    def __init__(self, names: tuple[str, ...], seed: int, settings: bytes = b"") -> None:
        self._names, self._seed = names, seed
        self.trials: list[Trial] = []
        self.changes = 0
        self.taken: list[Trial] = []
        self.seconds: list[Cause] = []  # rounds of which the second arm is still to be asked for
        self.keyed: dict[str, Trial] = {}  # the trials that have keys, by each of them
        self._seeds: tuple[int, list[int]] = 0, []  # of the trials from a number on
        self._first_carrying: Logged | None = None
        self.unsettled: dict[int, Trial] = {}  # by number: their results are still to be taken in
        self._hash = hashlib.blake2b(settings, digest_size=16)
        self._moves: list[tuple[int, int]] = []  # of the length of ``seconds``, since settled
        self._resumed: list[tuple[int, int]] = []  # changes that go on after a stop, and how
        self._events: list[Logged] = []
        self.has_news = False  # for the model
        self.is_rewritten = False  # a result that the model has taken in is another one now
        self._one_step = Steps.empty(1)
        self._touched: list[tuple[Trial, tuple[Any, ...]]] = []  # the last mark's
        self._failing: dict[int, Failures] = {}  # by arm: those whose last trial failed
        self.set_aside: dict[int, Failures] = {}  # and those of them that failed too often
        self._recounted: list[tuple[int, Failures | None]] = []  # what was there at the last mark

    @property
    def pending(self) -> list[Trial]:
        """The open trials, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "pending"]

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "told"]

    @property
    def sources(self) -> list[Source]:
        """The studies from which results were carried over, as the last carrying described them."""
        read = [Source.read(each.reason or "") for each in self._events if each.kind == "carried"]
        return list({source.mark: source for source in read}.values())

    def open_at_verification(self) -> list[Trial]:
        """The trials that were open when the verification began, and were told later."""
        began = next((each.change for each in self._events if each.kind == "verifying"), NEVER)
        return [t for t in self.taken if t.opened < began < (t.closed or 0)]

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and of every change so far."""
        return self._hash.hexdigest()

    # Changes, and taking them back

    def mark(self) -> Mark:
        """The present moment, for ``restore``; it is valid until another one is marked.

        For lists that only grow it has the length, or the list with its length where another may
        take its place.
        """
        self._touched, self._recounted = [], []
        return (
            (len(self.trials), len(self.taken), len(self._events)),
            (self._moves, len(self._moves), self._resumed, len(self._resumed)),
            (self.seconds, self.unsettled, self._hash.copy(), self.changes),
            (self.has_news, self.is_rewritten),
            self._touched,
            self._recounted,
        )

    def restore(self, mark: Mark) -> None:
        """Restore the ledger and its trials as they were at the last mark; if interrupted, call it again."""
        (trials, taken, events), (moves, moved, resumed, times), others, flags, *both = mark
        touched, recounted = both
        for trial, before in reversed(touched):
            restore_fields(trial, before)
        for arm, failures in reversed(recounted):
            self._put_failures(arm, failures)
        for trial in self.trials[trials:]:
            for key in trial.keys:
                if self.keyed.get(key) is trial:
                    del self.keyed[key]
        del self.trials[trials:], self.taken[taken:], self._events[events:]
        self._moves, self._resumed = moves[:moved], resumed[:times]
        self.seconds, unsettled, digest, self.changes = others
        self.has_news, self.is_rewritten = flags
        if self._first_carrying is not None and self._first_carrying.change > self.changes:
            self._first_carrying, self._seeds = None, (0, [])
        self._hash = digest.copy()
        known = unsettled.items()  # trials may have been added to it since
        self.unsettled = {number: trial for number, trial in known if number < trials}

    # Changes of this process

    def open(
        self,
        arm: int,
        cause: Cause,
        at: float,
        worker: str,
        process: str | None = None,
        expires: float | None = None,
        in_turn: bool = False,
        key: str | None = None,
        other_keys: tuple[str, ...] = (),
    ) -> Trial:
        """A new pending trial."""
        self.changes += 1
        number = len(self.trials)
        first, seeds = self._seeds
        if not first <= number < first + len(seeds):  # made many at a time: most of it is the call
            seed = self._seed_at(self.changes)
            first, seeds = number, run_seeds(seed, SEEDS_AT_ONCE, number).tolist()
            self._seeds = first, seeds
        trial = make_trial(
            *(number, arm, self._names[arm], seeds[number - first]),
            *("pending", None, None, at, None, expires, worker, process, in_turn),
            *(cause, self.changes, None, key, other_keys, ()),
        )
        self._enter(trial)
        self._note(_asked(trial), number, arm, _besides(trial))
        return trial

    def close(
        self,
        trial: Trial,
        state: State,
        value: float | None = None,
        *,
        at: float | None = None,
        reason: str | None = None,
    ) -> None:
        """End a pending trial."""
        if trial.state != "pending":
            remedy = ""
            if trial.state == "told":
                remedy = (
                    " Pass if_told='ignore' to import the same results twice; "
                    f"study.correct({trial.number}, value, reason=…) corrects a wrong result."
                )
            raise TrialClosed(
                f"trial {trial.number} ({trial.name!r}) is {trial.state}, not pending.{remedy}"
            )
        self._touched.append((trial, all_fields(trial)))
        self.changes += 1
        set_field(trial, "state", state)
        set_field(trial, "value", value)
        set_field(trial, "reason", reason)
        set_field(trial, "closed_at", at)
        set_field(trial, "closed", self.changes)
        self.has_news = True
        if state == "failed" or self._failing:
            self._count_failures(trial)
        self._note(CLOSED_AS[state], trial.number, trial.arm, value or 0.0)

    def _count_failures(self, trial: Trial) -> None:
        """Take a trial that was closed into the failures in a row of its arm."""
        before = self._failing.get(trial.arm)
        if trial.state == "cancelled" or (trial.state == "told" and before is None):
            return
        now = None
        if trial.state == "failed":
            number, by = (1, None) if before is None else (before.number + 1, before.set_aside_by)
            now = Failures(number, trial, trial if number == FAILURES_IN_A_ROW else by)
        self._recounted.append((trial.arm, before))
        self._put_failures(trial.arm, now)

    def _put_failures(self, arm: int, failures: Failures | None) -> None:
        self._failing.pop(arm, None)
        self.set_aside.pop(arm, None)
        if failures is not None:
            self._failing[arm] = failures
            if failures.set_aside_by is not None:
                self.set_aside[arm] = failures

    def correct(self, trial: Trial, value: float, reason: str, at: float, worker: str) -> Logged:
        """Put a told result right; what it was stays in the log."""
        event = self._log("corrected", trial.number, at, worker, value, reason)
        self._apply(event)
        return event

    def note_source(self, source: Source, own_mark: str, at: float, worker: str) -> Logged:
        """Keep from which study results are carried over, and a seed for the trials from here on."""
        words = "\n".join([own_mark, source.mark, self.fingerprint]).encode()
        digest = hashlib.blake2b(words, digest_size=6).digest()
        seed = float(int.from_bytes(digest, "big"))  # exact: it has 48 bits
        event = self._log("carried", NO_ARM, at, worker, seed, source.written)
        self._follow_carrying(event)
        return event

    def _follow_carrying(self, event: Logged) -> None:
        if event.kind == "carried" and self._first_carrying is None:
            self._first_carrying, self._seeds = event, (0, [])

    def _seed_at(self, change: int) -> int:
        """What the seeds of trials are made from that are opened by this change."""
        carrying = self._first_carrying
        if carrying is None or carrying.value is None or change < carrying.change:
            return self._seed
        return int(carrying.value)

    def _apply(self, event: Logged) -> None:
        """Give a trial the value of a correction."""
        trial = self.trials[event.trial]
        if trial.value is None or event.value is None:
            raise DamagedStorage(
                f"trial {trial.number} is stored as corrected to {event.value!r}, but was told "
                f"{trial.value!r}: it was altered; restore it from a copy."
            )
        self._touched.append((trial, all_fields(trial)))
        correction = Correction(
            trial.value, event.value, event.reason or "", event.at, event.worker
        )
        set_field(trial, "value", event.value)
        set_field(trial, "corrections", (*trial.corrections, correction))
        self.has_news = self.is_rewritten = True

    def _log(
        self,
        kind: Event,
        trial: int,
        at: float,
        worker: str,
        value: float | None = None,
        reason: str | None = None,
    ) -> Logged:
        self.changes += 1
        event = Logged(self.changes, kind, trial, at, worker, value, reason)
        arm = NO_ARM if trial == NO_ARM else self.trials[trial].arm
        self._events.append(event)
        self._note(EVENTS[kind], trial, arm, value or 0.0)
        return event

    def renew(
        self, trial: Trial, worker: str, process: str | None, expires: float | None, at: float
    ) -> Logged:
        """Note who has a pending trial now that it was given out again, or back."""
        self._touched.append((trial, all_fields(trial)))
        set_field(trial, "worker", worker)
        set_field(trial, "process", process)
        set_field(trial, "expires_at", expires)
        return self._log("renewed", trial.number, at, worker)

    def resume(self, how: Event, at: float, worker: str) -> Logged:
        """Count that the stop was taken back, or that the answer is verified from now on."""
        event = self._log(how, NO_ARM, at, worker)
        self._resumed.append((self.changes, RESUMES[how]))
        self.has_news = True
        return event

    def _enter(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.unsettled[trial.number] = trial
        for key in trial.keys:  # what was told here with a key of a copy stays known by it
            self.keyed.setdefault(key, trial)
        if trial.cause.origin == "second of a round":
            self.seconds = self.seconds[1:]
            self._moves.append((trial.opened, -1))
        if trial.cause.second != NO_ARM:
            self.seconds = [*self.seconds, trial.cause]
            self._moves.append((trial.opened, 1))

    def _note(self, kind: int, trial: int, arm: int, value: float) -> None:
        self._hash.update(ONE_CHANGE.pack(self.changes, kind, trial, arm, value))

    # Changes of others

    def take_over(self, rows: Sequence[Row], events: Sequence[Logged], changes: int) -> None:
        """Enter what others did since: the trials they changed, by number, and events."""
        try:
            for event in events:
                self._follow_carrying(event)
            touched = self._enter_rows(rows)
            records = self._records(self.changes, changes, touched, events)
            self._recount(touched, self.changes)
            for event in events:
                if event.kind == "corrected":
                    self._apply(event)
        except (LookupError, OverflowError, TypeError, ValueError, struct.error) as error:
            raise DamagedStorage(f"a stored trial or event cannot be read: {error!r}.") from None
        self._resumed += [
            (each.change, RESUMES[each.kind]) for each in events if each.kind in RESUMES
        ]
        self._events += events
        self._hash.update(records)
        self.changes = changes
        self.has_news = True

    def _enter_rows(self, rows: Sequence[Row]) -> list[Trial]:
        seeds: list[int] = []
        opened = [row[OPENED] for row in rows if row[0] >= len(self.trials)]
        for seed, changes in groupby(opened, self._seed_at):
            seeds += run_seeds(seed, len(list(changes)), len(self.trials) + len(seeds)).tolist()
        known, touched = len(self.trials), []
        for row in rows:
            number, arm = row[0], row[1]
            if number > len(self.trials) or not 0 <= arm < len(self._names):
                raise DamagedStorage(
                    f"trial {number} (arm {arm}) is out of sequence, or its arm does not exist."
                )
            new = number == len(self.trials)
            seed = seeds[number - known] if new else self.trials[number].seed
            keys = () if row[-1] is None else tuple(json.loads(row[-1]))
            fields = (*row[2 : CAUSE.start], Cause._make(row[CAUSE]), *row[CAUSE.stop : -1], keys)
            trial = Trial(number, arm, self._names[arm], seed, *fields)
            _check_state(trial, len(self._names))
            if new:
                self._enter(trial)
            else:
                own = self.trials[number]
                self._touched.append((own, all_fields(own)))
                restore_fields(own, all_fields(trial))
            touched.append(trial)
        return touched

    def _recount(self, touched: list[Trial], before: int) -> None:
        """Count failures among the trials that others closed since a change."""
        arms = {trial.arm for trial in touched if trial.state == "failed"} | self._failing.keys()
        of_them = [t for t in touched if t.arm in arms and (t.closed or 0) > before]
        for trial in sorted(of_them, key=lambda each: each.closed or 0):
            self._count_failures(self.trials[trial.number])

    def _records(
        self, before: int, changes: int, touched: list[Trial], events: Sequence[Logged]
    ) -> bytes:
        """The changes as they enter the fingerprint, in their order; each must be there once."""
        pack, made = ONE_CHANGE.pack, []
        for t in touched:
            if t.opened > before:
                made.append((t.opened, pack(t.opened, _asked(t), t.number, t.arm, _besides(t))))
            if t.closed is not None and t.closed > before:
                kind = CLOSED_AS.get(t.state, -1)
                record = pack(t.closed, kind, t.number, t.arm, t.value or 0.0)
                made.append((t.closed, record))
        for event in events:
            known = 0 <= event.trial < len(self.trials)
            which = event.trial, self.trials[event.trial].arm if known else NO_ARM
            record = pack(event.change, EVENTS[event.kind], *which, event.value or 0.0)
            made.append((event.change, record))
        records = dict(made)
        if len(made) != changes - before or len(records) != len(made):
            records = {}
        try:
            return b"".join([records[change] for change in range(before + 1, changes + 1)])
        except KeyError:
            raise DamagedStorage(
                f"changes {before + 1} to {changes} should each be there exactly once, but are "
                "not: rows were lost, added or altered."
            ) from None

    # The order in which results are taken in

    def settle(self) -> Steps:
        """What the model must process because of the changes since the last time.

        A result told in turn is processed when all those asked for in turn before it are closed, any
        other when it is told. The steps are good until the next time: a single one is written over
        the last, since new arrays take longer than all else here.
        """
        due: list[tuple[int, Trial | int]] = []
        turn = 0  # the change by which all in turn so far were closed
        for trial in self.unsettled.values():  # by number: they are entered in that order
            closed = NEVER if trial.closed is None else trial.closed
            if trial.in_turn:
                turn = max(turn, closed)
                # What failed or was cancelled makes way at once.
                closed = turn if trial.state == "told" else closed
            if closed < NEVER:
                due.append((closed, trial))
        due += self._resumed
        if len(due) > 1:
            due.sort(key=itemgetter(0))
        steps = self._one_step if len(due) == 1 else Steps.empty(len(due))
        kinds, arms, values, held = steps.kinds, steps.arms, steps.values, steps.held
        held.fill(len(self.seconds) > 0)
        if self._moves:
            held[:] = self._held(due)
        taken: list[Trial] = []
        unsettled = self.unsettled.copy()  # a mark may hold the other
        for place, (_, step) in enumerate(due):
            if isinstance(step, int):
                kinds[place], arms[place], values[place] = step, 0, 0.0
                continue
            del unsettled[step.number]
            if step.state == "told":
                kinds[place], arms[place], values[place] = TAKE, step.arm, step.value
                taken.append(step)
            else:
                kinds[place], arms[place], values[place] = LOOK, step.arm, 0.0
        self.unsettled = unsettled
        self.taken += taken
        self._moves, self._resumed, self.has_news = [], [], False
        return steps

    def _held(self, due: list[tuple[int, Trial | int]]) -> NDArray[np.bool_]:
        """Whether the second arm of a round was still to be asked for at these changes."""
        moves = [move for _, move in self._moves]
        lengths = len(self.seconds) - sum(moves) + np.cumsum([0, *moves])
        changes = [change for change, _ in due]
        at = np.searchsorted([change for change, _ in self._moves], changes, side="right")
        return np.asarray(lengths[at] > 0)

    def all_steps(self) -> Steps:
        """Everything that the model ever had to process, from the first."""
        again = Ledger(self._names, self._seed)
        again.take_over([trial.row for trial in self.trials], self._events, self.changes)
        return again.settle()

    def copies_of(
        self, trials: Sequence[Trial], mark: str, own_mark: str
    ) -> tuple[dict[int, Trial], dict[int, Trial]]:
        """What is here of the trials of the study with this mark, by their numbers.

        First their copies, and the trials of this study that they are copies of. Then results that
        were told to both with the same key. Two files may have the same name: keys of a file are
        those of the same results only if arm and value agree in every row that both studies have.
        """
        here = {key_of_trial(own_mark, own.number): own for own in self.trials}
        copies: dict[int, Trial] = {}
        files: dict[str, list[tuple[Trial, Trial]]] = {}
        for trial in trials:
            by_number = key_of_trial(mark, trial.number), trial.carried_from
            for key in dict.fromkeys((by_number[0], *trial.keys)):
                own = here.get(key) or self.keyed.get(key)
                if own is None:
                    continue
                if key in here or key in by_number:
                    copies.setdefault(trial.number, own)
                else:
                    row = ROW_KEY.fullmatch(key)
                    files.setdefault(row[1] if row else key, []).append((trial, own))
        same: dict[int, Trial] = {}
        for pairs in files.values():
            if all(
                own.name == trial.name and not set(own.told_values).isdisjoint(trial.told_values)
                for trial, own in pairs
            ):
                same |= {trial.number: own for trial, own in pairs}
        return copies, same

    def find(self, trial: Trial | int | None) -> Trial:
        """The trial meant by itself or by its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        if type(number) is not int and (
            isinstance(number, bool) or not isinstance(number, numbers.Integral)
        ):
            raise UnknownTrial(f"expected a Trial or the number of one, got {trial!r}.")
        if not 0 <= int(number) < len(self.trials):
            raise UnknownTrial(
                f"trial {number} is unknown: this study has asked for {len(self.trials)} so far. "
                "Use study.tell(arm=…, value=…) for unrequested data."
            )
        own = self.trials[int(number)]
        if (
            own is not trial
            and isinstance(trial, Trial)
            and (trial.arm, trial.seed) != (own.arm, own.seed)
        ):
            raise UnknownTrial(f"trial {number} belongs to another study.")
        return own


def _asked(trial: Trial) -> int:
    """How a trial was asked for, as a number: its origin and whether it comes in turn."""
    return ASKED + 100 * PLACES[trial.cause.origin] + 10 * bool(trial.in_turn)


def _besides(trial: Trial) -> float:
    """What an opening has in its digest besides: the second arm of its round, or its keys."""
    if not trial.keys:
        return trial.cause.second
    digest = hashlib.blake2b("\n".join(trial.keys).encode(), digest_size=6).digest()
    return -2.0 - int.from_bytes(digest, "big")  # exact, and no arm


def _check_state(trial: Trial, arms: int) -> None:
    """Raise where a stored trial is in a state that no change leads to: no digest covers those.

    The digest is of changes, and an open trial has had none but its opening.
    """
    pending, told = trial.state == "pending", trial.state == "told"
    known = NO_ARM <= trial.cause.b < arms and NO_ARM <= trial.cause.c < arms
    if pending != (trial.closed is None) or told != (trial.value is not None) or not known:
        raise DamagedStorage(
            f"trial {trial.number} is stored as {trial.state!r} with value {trial.value!r}, closed by "
            f"change {trial.closed!r}, for arms {trial.cause.b!r} and {trial.cause.c!r}, which no "
            "study writes: it was altered; restore it from a copy."
        )


def checked_key(key: object) -> str | None:
    """What tells a result, or a request for trials, from others.

    Examples
    --------
    >>> checked_key(7)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: key must be a text of 1 to 200 characters, got 7: nothing was changed.

    What says that a result was measured again is not counted:

    >>> len(checked_key("k" * 200 + AGAIN))
    216
    """
    if key is None:
        return None
    if (
        not isinstance(key, str)
        or not 1 <= len(key.removesuffix(AGAIN)) <= LONGEST_KEY
        or not is_text(key)
    ):
        shown = repr(key)[:100]
        raise InvalidInput(
            f"key must be a text of 1 to {LONGEST_KEY} characters, got {shown}: nothing was changed."
        )
    return key


def key_of_trial(mark: str, number: int | str) -> str:
    """The key of a result that comes from another study, or from a file, by the mark of that.

    Examples
    --------
    >>> key_of_trial("screen-93a1e6bc", 7)
    'screen-93a1e6bc, trial 7'
    """
    return f"{mark[-LONGEST_MARK:]}, trial {number}"


def is_text(words: str) -> bool:
    """Whether every database takes it."""
    return "\x00" not in words and not any("\ud800" <= sign <= "\udfff" for sign in words)


class Journal:
    """What a study has asked and been told, the same for all who share its storage.

    ``at_stop`` is called at every stop, before anything later is processed; ``at_begin`` before all
    results are processed from the first, when no stop has been met yet.
    """

    def __init__(
        self,
        bound: AlgorithmOnProblem,
        definition: Definition,
        at_stop: Callable[[], None],
        at_begin: Callable[[], None],
    ) -> None:
        self._bound, self._definition = bound, definition
        self._at_stop, self._at_begin = at_stop, at_begin
        self.storage = Storage()
        self._lock = threading.RLock()
        block_forks_of(self)
        self._at_work = False  # in a change, or in mending
        # Whether the means are not linear; an attribute, since nothing may be called after a change.
        self.is_rejected = False
        self._ahead = 0.0  # seconds by which the storage's clock is ahead of this machine's

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""
        return time.time() + self._ahead

    def begin(self) -> None:
        """Start from nothing."""
        seed = self._definition.choices["seed"]
        self._ledger = Ledger(self._definition.names, seed, self._definition.digest)
        self.set_aside = self._ledger.set_aside  # an attribute for the same reason as is_rejected
        self._mark: Mark | None = None  # before the change that is being made
        self._is_stale = True  # model and audit: they have not taken in what the ledger says
        self._mend()

    @property
    def ledger(self) -> Ledger:
        """The trials."""
        self._mend()
        return self._ledger

    @property
    def model(self) -> Model:
        """What the algorithm makes of their results."""
        if self._is_stale or self._mark is not None:
            self._mend()
        return self._model

    @property
    def audit(self) -> Audit:
        """Whether the results contradict means that are linear in the features."""
        self._mend()
        return self._audit

    @property
    def stopped(self) -> bool:
        """Whether there is an answer, and nothing left to test of what it assumes."""
        self._mend()
        return self._model.stopped and not self._audit.is_running and not self.is_rejected

    @property
    def lease(self) -> float | None:
        """Seconds after which a trial may be asked for again."""
        lease: float | None = self._definition.choices["lease"]
        return lease

    def _mend(self) -> None:
        """Take back a change that was cut short, and make the model again from the log."""
        if self._at_work or (self._mark is None and not self._is_stale):
            return
        with self._lock:
            self._at_work = True
            try:
                if self._mark is not None:
                    self._ledger.restore(self._mark)
                    self._mark = None
                if self._is_stale:
                    self._replay()
                    self._is_stale = False
            finally:
                self._at_work = False

    def _replay(self) -> None:
        self._at_begin()
        self._audit = Audit(self._definition.audit)
        self._model = Model(self._bound, self._definition.choices["seed"])
        self._model.take(Steps.supposing([]), self._stop)
        self._take(self._ledger.all_steps())

    def _take_news(self) -> None:
        """Let model and audit see what is new; from the first result on where one was corrected."""
        steps = self._ledger.settle()
        if self._ledger.is_rewritten:
            self._is_stale = True
            self._replay()
            self._ledger.is_rewritten = False
        else:
            self._take(steps)

    def _take(self, steps: Steps) -> None:
        """Let model and audit see results."""
        self._is_stale = True  # until the change has been made
        self._model.take(steps, self._stop)
        if self._model.verifies:
            self._audit.end()
            self.is_rejected = False
        elif len(self._ledger.taken) >= self._audit.due:
            self._audit.follow(self._model, self._ledger.trials, self._ledger.taken)
            self.is_rejected = self._audit.rejection is not None

    def _stop(self) -> None:
        self._audit.open(self._model, self._ledger.taken)
        self._at_stop()

    @property
    def standing(self) -> Checkpoint:
        """How far the study is."""
        state = "stopped" if self.stopped else "running"
        digests = (self._ledger.fingerprint, self._model.digest(), machine())
        return Checkpoint(self._ledger.changes, *digests, state)

    def change(self, act: Callable[[Transaction], Result], *, writing: bool = True) -> Result:
        """Do ``act`` in one transaction, begun with what others have done since the last.

        It is done wholly or not at all. Whatever is raised, and wherever, the ledger is put back to
        what it was, trials in the caller's hands with it. If the model had begun to take results
        in, it is made again from the ledger by whoever asks for it next. So is all of it where an
        exception cut this short too: until ``_mark`` is None, the change has not been made.

        ``act`` is passed as a function, not run in a context manager: an exception raised between
        the lines of ``__exit__`` would skip the clean-up.
        """
        with self._lock:
            if self._is_stale or self._mark is not None:
                self._mend()
            self._at_work = True
            try:
                with self.storage.transaction(writing=writing, known=self._known) as transaction:
                    self._ahead = transaction.now - time.time()
                    self._mark = self._ledger.mark()
                    if transaction.standing is not None and self._catch_up(
                        transaction, transaction.standing
                    ):
                        self._mark, self._is_stale = self._ledger.mark(), False
                    kept = self._ledger.changes
                    result = act(transaction)
                    if self._ledger.has_news:
                        self._take_news()
                    if self._ledger.changes > kept and self.storage.where is not None:
                        transaction.seal(self.standing)
                self._mark, self._is_stale = None, False
            except BaseException as error:
                if isinstance(error, DamagedStorage):
                    self.begin()  # what was read before may have been altered too: read it again
                elif self._mark is not None:
                    self._ledger.restore(self._mark)
                    self._mark = None
                raise
            finally:
                self._at_work = False
        return result

    def _known(self) -> KnownState:
        pending = [trial.number for trial in self._ledger.pending]
        return KnownState(self._ledger.changes, len(self._ledger.trials), pending)

    def _catch_up(self, transaction: Transaction, stored: Checkpoint) -> bool:
        """Take in what others have done; whether there was anything."""
        # A million new trials are not garbage; the collector would scan them over and over.
        collects = gc.isenabled()
        gc.disable()
        try:
            is_earlier = stored.changes < self._ledger.changes
            if is_earlier:  # the storage was put back to an earlier copy
                self.begin()
                self._replay()
            has_news = stored.changes > self._ledger.changes
            if has_news:
                rows, events = transaction.news(self._known())
                self._ledger.take_over(rows, events, stored.changes)
            if self._ledger.fingerprint != stored.fingerprint:
                raise DamagedStorage(
                    f"{self.storage.where}: the stored trials do not have the fingerprint that they "
                    "had when they were written. They were altered; restore them from a copy."
                )
            if has_news:
                self._take_news()
                own = self.standing
                if own.machine == stored.machine and own.posterior != stored.posterior:
                    raise DamagedStorage(
                        f"{self.storage.where}: the stored results give different means than when "
                        "they were written. They were altered; restore them from a copy."
                    )
        finally:
            if collects:
                gc.enable()
        return has_news or is_earlier

    def ask(
        self, count: int, *, in_turn: bool, process: str | None, key: str | None = None
    ) -> list[Trial] | None:
        """Trials to evaluate: those that nobody works on any more, then new ones; None at a stop.

        A budget, an audit or arms set aside may allow fewer than were asked for, or none. With a key that was used
        before, the trials that were asked for with it.
        """

        def act(transaction: Transaction) -> list[Trial] | None:
            model, ledger = self._model, self._ledger
            me = worker() if key is None else f"key {key}"
            if key is not None and (asked := [t for t in ledger.trials if t.worker == me]):
                return asked
            if self.is_rejected or (model.stopped and not self._audit.is_running):
                return None
            now, lease = transaction.now, self._definition.choices["lease"]
            expires = None if lease is None else now + lease
            again = self._unattended(transaction)[:count] if ledger.unsettled else []
            for trial in again:
                self._renew(transaction, trial, me, process, expires)
            new = [
                ledger.open(arm, cause, now, me, process, expires, in_turn)
                for arm, cause in self._wanted(count - len(again))
            ]
            if new:
                transaction.insert(new)
            if LOGGER.isEnabledFor(logging.DEBUG):
                for trial in again + new:
                    LOGGER.debug("trial %d (%s) asked", trial.number, trial.name)
            return again + new

        return self.change(act)

    def _unattended(self, transaction: Transaction) -> list[Trial]:
        """The pending trials that nobody works on any more."""
        now, lost, wanted = transaction.now, transaction.unclaimed(), self._ledger.pending
        if self._model.stopped:  # the rounds are over: what they asked for is of no use any more
            wanted = [trial for trial in wanted if trial.cause.origin == "audit"]
        return [
            trial
            for trial in wanted
            if trial.number in lost or is_free(trial, now, transaction.is_connected)
        ]

    def _wanted(self, count: int) -> Iterator[tuple[int, Cause]]:
        """The arms to evaluate next; each must be opened before the one after it is asked for."""
        model, ledger = self._model, self._ledger
        if self._audit.due == 0:
            for arm in self._audit.missing(ledger.trials)[:count]:
                yield arm, Cause("audit")
                count -= 1
        if model.stopped:
            return
        # Those under way are counted as told.
        made = len(ledger.taken) + len(ledger.unsettled)
        count = int(min(count, self._bound.engine.setup.aim.room(made)))
        ahead: Ahead | None = None
        aside = ledger.set_aside
        for _ in range(count):
            if model.initialized and not ledger.unsettled and not ledger.seconds:
                decision = model.decision
                if (
                    decision is not None
                    and not decision.stop
                    and not (aside and (decision.arm in aside or decision.queued in aside))
                ):
                    yield decision.arm, Cause.of(decision)
                    continue
            if ahead is None:
                ahead = Ahead(model, [trial.arm for trial in ledger.unsettled.values()])
            found = self._next(ahead)
            if found is None:
                return
            yield found
            ahead.suppose(found[0])

    def _next(self, ahead: Ahead) -> tuple[int, Cause] | None:
        """The next arm, as if those under way had come out at their means.

        None where all arms that are wanted now are set aside.
        """
        aside = self._ledger.set_aside
        if not self._model.initialized:
            initial = ahead.initial(aside)
            return None if initial is None else (initial, Cause("initial"))
        if self._ledger.seconds:
            # Even if it was set aside after its round: until it is asked for no new round begins.
            cause = self._ledger.seconds[0]
            return cause.second, cause._replace(origin="second of a round", second=NO_ARM)
        decision = ahead.decide(aside)
        return None if decision is None else (decision.arm, Cause.of(decision))

    def add(self, results: Sequence[tuple[int, float, str | None]]) -> list[Trial]:
        """Unrequested results, all or none; one with a key is added once."""

        def act(transaction: Transaction) -> list[Trial]:
            added = []
            for arm, value, key in results:
                known = None if key is None else self._ledger.keyed.get(key)
                if known is not None and known.arm == arm and known.was_told(value):
                    added.append(known)
                    continue
                if known is not None:
                    right = f"study.correct({known.number}, {value!r}, reason=…)"
                    raise TrialClosed(
                        f"the key {key!r} was told before as trial {known.number} "
                        f"({known.value!r} for arm {known.name!r}), but now comes with {value!r} "
                        f"for arm {self._definition.names[arm]!r}: nothing was told. Give a new "
                        f"result a key of its own; {right} corrects a wrong one."
                    )
                trial = self._open_closed(transaction, arm, "unasked", key)
                self.close(transaction, trial, "told", value=value)
                added.append(trial)
            return added

        return self.change(act)

    def _open_closed(
        self,
        transaction: Transaction,
        arm: int,
        origin: Origin,
        key: str | None,
        other_keys: tuple[str, ...] = (),
    ) -> Trial:
        """A trial that is closed in the same transaction."""
        who = worker()
        trial = self._ledger.open(
            arm, Cause(origin), transaction.now, who, key=key, other_keys=other_keys
        )
        transaction.insert([trial])
        return trial

    def carry(
        self, trials: Sequence[Trial], taken: Sequence[Trial], source: Source, own_mark: str
    ) -> list[Trial]:
        """Copy the trials of another study, all or none, each once; returns those told, in order.

        In a study without trials every copy keeps its number: what has no result is then copied as
        cancelled. Corrections come too, also of what was copied before, but not those of a result
        that was told to both studies. ``taken`` are those of the ``trials`` that were processed, in
        that order. ``own_mark`` is this study's.
        """
        arms = {name: arm for arm, name in enumerate(self._definition.names)}
        processed = {trial.number for trial in taken}
        ended = [t for t in trials if t.state == "failed" or t.number in processed]
        copied = [t for t in trials[: ended[-1].number + 1 if ended else 0] if t.name in arms]

        def act(transaction: Transaction) -> list[Trial]:
            ledger = self._ledger
            keeps_numbers, before = not ledger.trials, ledger.changes
            known, same = ledger.copies_of(ended, source.mark, own_mark)
            copies: dict[int, Trial] = {}
            for trial in copied:
                is_told, failed = trial.number in processed, trial.state == "failed"
                key = key_of_trial(source.mark, trial.number) if is_told or failed else None
                has_one = trial.number in known or trial.number in same
                if has_one or (key is None and not keeps_numbers):
                    continue
                arm, others = arms[trial.name], trial.keys if key else ()
                copy = self._open_closed(transaction, arm, "carried", key, others)
                copies[trial.number] = copy
                if failed:
                    self.close(transaction, copy, "failed", reason=trial.reason)
                elif not is_told:
                    words = f"{trial.state} in {source.name!r} when its results were carried over"
                    self.close(transaction, copy, "cancelled", reason=words)
            told, all_copies = [], same | known | copies
            for trial in taken:
                copy = all_copies[trial.number]
                if trial.number in copies:
                    self.close(transaction, copy, "told", value=trial.first_value)
                told.append(copy)
                is_copy = trial.number in known or trial.number in copies
                for each in trial.later_corrections(copy) if is_copy else ():
                    right = each.value, each.reason
                    transaction.note(ledger.correct(copy, *right, transaction.now, worker()))
            noted_before = on_one_line(source.mark) in [each.mark for each in ledger.sources]
            # Also if nothing was copied: trials that are open there must have other seeds here.
            if ledger.changes > before or not noted_before:
                noted = ledger.note_source(source, own_mark, transaction.now, worker())
                transaction.note(noted)
            return told

        return self.change(act)

    def tell(self, results: list[tuple[Trial | int, float]], *, skip_told: bool) -> list[Trial]:
        """Results of pending trials, all or none; those told already are skipped if asked."""

        def act(transaction: Transaction) -> list[Trial]:
            found: dict[int, Trial] = {}
            for given, value in results:
                trial = self._ledger.find(given)
                if trial.number in found:
                    raise InvalidInput("a trial is told twice in one call: nothing was told.")
                found[trial.number] = trial
                if trial.state != "told" or not skip_told:
                    self.close(transaction, trial, "told", value=value)
            return list(found.values())

        return self.change(act)

    def end(self, trial: Trial | int, state: State, reason: str | None) -> Trial:
        """End a pending trial without a result."""

        def act(transaction: Transaction) -> Trial:
            ended = self._ledger.find(trial)
            self.close(transaction, ended, state, reason=reason)
            return ended

        return self.change(act)

    def give_up(self, trials: list[Trial], *, cancel: bool) -> None:
        """Cancel those that are pending, or give them back, to be asked for again at once."""

        def act(transaction: Transaction) -> None:
            for trial in map(self._ledger.find, trials):
                if trial.state == "pending" and cancel:
                    self.close(transaction, trial, "cancelled")
                elif trial.state == "pending":
                    self._renew(transaction, trial, trial.worker, None, transaction.now)

        self.change(act)

    def close(
        self,
        transaction: Transaction,
        trial: Trial,
        state: State,
        *,
        value: float | None = None,
        reason: str | None = None,
    ) -> None:
        """End a pending trial."""
        self._ledger.close(trial, state, value, at=transaction.now, reason=reason)
        if state == "failed":
            LOGGER.warning("trial %d (%s) failed: %s", trial.number, trial.name, reason)
        elif LOGGER.isEnabledFor(logging.DEBUG):
            words = "" if value is None else f": {value!r}"
            LOGGER.debug("trial %d (%s) %s%s", trial.number, trial.name, state, words)
        transaction.update(trial, self._ledger.changes)

    def _renew(
        self,
        transaction: Transaction,
        trial: Trial,
        whose: str,
        process: str | None,
        expires: float | None,
    ) -> None:
        event = self._ledger.renew(trial, whose, process, expires, transaction.now)
        transaction.note(event._replace(worker=worker()))
        transaction.update(trial, event.change)

    def resume(self, how: Event) -> None:
        """Take a stop back, or go on by verifying the answer."""
        self.change(lambda change: change.note(self._ledger.resume(how, change.now, worker())))

    def correct(
        self, trial: Trial | int, value: float, reason: str, arm: int | None = None
    ) -> Trial:
        """Put a told result right, and take all results in again; nothing if it is right already."""

        def act(transaction: Transaction) -> Trial:
            found = self._ledger.find(trial)
            if arm is not None and found.arm != arm:
                told = [t.number for t in self._ledger.trials if t.arm == arm and t.state == "told"]
                raise InvalidInput(
                    f"trial {found.number} is of {found.name!r}, not of "
                    f"{self._definition.names[arm]!r}: nothing was changed. "
                    + (
                        f"That arm has the results of trials {', '.join(map(str, told))}."
                        if told
                        else "That arm has no result."
                    )
                )
            if found.state != "told":
                raise TrialClosed(
                    f"trial {found.number} ({found.name!r}) is {found.state}: only a told result can "
                    "be corrected. "
                    + (
                        "Tell it."
                        if found.state == "pending"
                        else "A result without a trial is told by its arm: "
                        "study.tell(arm=…, value=…)."
                    )
                )
            if found.value != value:
                was = found.value
                event = self._ledger.correct(found, value, reason, transaction.now, worker())
                transaction.note(event)
                words = "trial %d (%s) corrected from %r to %r: %s"
                LOGGER.info(words, found.number, found.name, was, value, reason)
            return found

        return self.change(act)

    def refresh(self) -> None:
        """Read what others have done."""
        self.change(lambda transaction: None, writing=False)


def is_free(trial: Trial, now: float, is_connected: Callable[[str], bool]) -> bool:
    """Whether nobody works on a pending trial any more."""
    if trial.expires_at is not None and trial.expires_at <= now:
        return True
    return trial.process is not None and has_ended(trial.process, now, is_connected)
