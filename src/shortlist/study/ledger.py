"""The trials of a study in memory, and every change to them, counted and in order."""

from __future__ import annotations

import hashlib
import json
import numbers
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shortlist.advice import advise
from shortlist.arrays import NO_ARM, NO_BLOCK, Label
from shortlist.blocks import NO_BLOCKS, Blocks, Cell
from shortlist.engine.follow import (
    ADD,
    CORRECT,
    DECIDE,
    READMIT,
    REOPEN,
    RETIRE,
    TAKE,
    VERIFY,
    WIDEN,
    Steps,
)
from shortlist.engine.seeds import run_seeds
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, UnknownTrial
from shortlist.printable import cut, on_one_line
from shortlist.storage.base import ROW, Event, Row, is_text
from shortlist.study import AGAIN, ROW_KEY
from shortlist.study.definition import first_fingerprint
from shortlist.study.model import Addition
from shortlist.study.trial import (
    FAILURES_IN_A_ROW,
    Cause,
    Correction,
    FeatureRow,
    Origin,
    State,
    Trial,
)

Kind = Literal[
    "renewed",
    "reopened",
    "corrected",
    "carried",
    "verifying",
    "widened",
    "retired",
    "added",
    "readmitted",
]
STATE, OPENED, BLOCK = ROW.index("state"), ROW.index("opened"), ROW.index("block")
CAUSE = slice(ROW.index("origin"), OPENED)

# A change of the study as it enters its fingerprint: its number, kind, trial, arm, block and value.
ONE_CHANGE = struct.Struct("<5qd")
NO_CELL = Cell(NO_ARM, NO_BLOCK)
ASKED, TOLD, FAILED, CANCELLED = range(4)
CLOSED_AS: dict[str, int] = {"told": TOLD, "failed": FAILED, "cancelled": CANCELLED}
PLACES = {origin: place for place, origin in enumerate(get_args(Origin), 1)}
EVENTS: dict[str, int] = {kind: number for number, kind in enumerate(get_args(Kind), 4)}
# Events that the model must process, as its steps.
STEPS: dict[str, int] = {"reopened": REOPEN, "verifying": VERIFY, "widened": WIDEN}


class Marker(NamedTuple):
    """A step of the model that is no result: its kind, the arm that it is about, and a value."""

    kind: int
    arm: int = 0
    value: float = 0.0


SEEDS_AT_ONCE = 64
LONGEST_KEY, LONGEST_MARK = 200, 150  # characters
RETIRED_SHOWN = 20
REASON_SHOWN = 200  # characters of the last reason of an arm that fails
SHOWN = 60  # characters of what is no trial
WITH_KEY = "key "  # how the worker of a trial begins that was asked for with a key
NEVER = int(np.iinfo(np.int64).max)
BESIDE = ("unasked", "carried")  # origins of results that this study did not ask for
# Of results that came in while a trial was open: times the most for any of those told last. Then it is
# overdue, and sooner where there is nothing else to ask for.
OVERDUE, OVERDUE_AT_THE_END = 8, 2
LAST_TOLD = 100


class Failures(NamedTuple):
    """The failures in a row of an arm, or of an arm on a block, in the order of their closing.

    A result of the arm (on that block) ends the row; what was cancelled does not count.
    """

    number: int
    last: Trial
    set_aside_by: Trial | None  # the failure after which the arm is not asked for any more
    on_block: bool = False  # whether they are those of the arm on one block

    @property
    def words(self) -> str:
        """How often it failed in a row, on which block, and the last line of the last reason."""
        lines = (self.last.reason or "").strip().splitlines()
        why = f": {on_one_line(lines[-1].strip())[:REASON_SHOWN]}" if lines else ""
        block = "" if self.last.block is None else f" on block {self.last.block!r}"
        if self.on_block or not block:
            return f"{self.number:,} failures in a row{block}{f', the last{why}' if why else ''}"
        return f"{self.number:,} failures in a row, the last{block}{why}"


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


class Retirement(NamedTuple):
    """An arm that was retired.

    Attributes
    ----------
    arm : int
        Its row.
    name, reason : str
        What it is called, and why it was retired.
    failing : bool
        Whether the study left it out because its evaluations failed: then it may come back.
    change : int
        The change of the study by which it was retired.
    """

    arm: int
    name: Label
    reason: str
    failing: bool = False
    change: int = 0

    @property
    def marker(self) -> Marker:
        """What the model does at that change."""
        return Marker(RETIRE, self.arm)


def retired_words(retired: Sequence[Retirement]) -> str:
    """Arms that were retired, each with the reason; empty if there are none.

    Examples
    --------
    >>> retired_words([Retirement(3, "elm", "out of stock")])
    "'elm' (out of stock)"
    """
    shown = [f"{each.name!r} ({on_one_line(each.reason)})" for each in retired[:RETIRED_SHOWN]]
    more = len(retired) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


class Added(NamedTuple):
    """Arms that were added: their names, their features, and whether before any result."""

    names: tuple[Label, ...]
    rows: list[list[float]] | None
    from_start: bool
    change: int = 0

    @property
    def marker(self) -> Marker | None:
        """What the model does at that change; None if there was no result before it."""
        return None if self.from_start else Marker(ADD)

    @property
    def addition(self) -> Addition:
        """The arms as a model takes them."""
        rows = None if self.rows is None else np.array(self.rows, np.float64)
        return Addition(tuple(self.names), rows)


class Ledger:
    """All trials of a study, every change to them counted.

    Each trial's seed is made from the study's, or from a seed of its own once results were carried
    over: the other study may have the same seed, and noise drawn by equal seeds is equal. Where
    blocks share seeds it is the same for all trials of a block. The fingerprint starts from ``settings``.

    Every change begins by counting itself in ``changes``. So a ledger in which an exception cut a
    change short is known by it; then all of it is read again from the storage.
    """

    def __init__(
        self,
        names: tuple[Label, ...],
        seed: int,
        settings: bytes = b"",
        blocks: Blocks = NO_BLOCKS,
        rows: Callable[[int], FeatureRow | None] = lambda arm: None,
    ) -> None:
        self.names, self._seed, self.blocks = names, seed, blocks
        self._rows = cache(rows)  # of a million trials most are of few arms
        self._given = len(names)  # arms, without those that were added
        # Of trials that are open or told, the last of each cell, where a cell has one result.
        self.cells: dict[Cell, Trial] = {}
        self._block_seeds: dict[int, int] = {}  # of the blocks that were ever asked for or told
        self.next_block = 0  # one more than the largest that was
        self.trials: list[Trial] = []
        self.changes = 0
        self.taken: list[Trial] = []
        self.events: list[Event] = []
        self.seconds: list[Cause] = []  # rounds of which the second arm is still to be asked for
        self.keyed: dict[str, Trial] = {}  # the trials that have keys, by each of them
        self._requested: dict[
            str, dict[int, None]
        ] = {}  # numbers of trials, by who asked with a key
        self.unsettled: dict[int, Trial] = {}  # by number: their results are still to be taken in
        self.written: dict[int, None] = {}  # the trials that are to be stored, by number
        self.has_news = False  # for the model
        self.is_rewritten = False  # a result that the model has taken in is another one now
        self._seeds: tuple[int, list[int]] = 0, []  # of the trials from a number on
        self._first_carrying: Event | None = None
        self._hash = first_fingerprint(settings)
        self._moves: list[tuple[int, int]] = []  # of the length of ``seconds``, since settled
        # Events that the model must process, since settled, after their changes.
        self._stepping: list[tuple[int, Trial | Marker]] = []
        self.retired: dict[int, Retirement] = {}  # by arm
        self.added: list[Added] = []
        self.additions: list[Addition] = []  # those of them that come after results
        # All that was settled: trials by number and with their values then, and others.
        self._order: list[tuple[int | Marker, float]] = []
        self._corrected: dict[int, list[Event]] = {}  # by trial
        # Whether what was decided stays where a result is corrected: else all is decided anew.
        self.keeps_decisions = False
        self._order_held: list[int] = []
        # By arm, and by arm and block: those whose last trial failed.
        self._failing: dict[tuple[int, int | None], Failures] = {}
        self.set_aside: dict[int, Failures] = {}  # by arm: those that failed too often

    @cached_property
    def _one_step(self) -> Steps:
        return Steps.empty(1)

    @property
    def pending(self) -> list[Trial]:
        """The open trials, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "pending"]

    def overdue(self, times: int = OVERDUE) -> list[Trial]:
        """The open trials that a decision may wait for in vain, oldest first.

        They have neither a lease nor a run, and far more results came in since they were given out
        than for those that were told. No clock has a part in it: a replay finds the same ones.
        """
        if not self.blocks.names_cells or not self.unsettled:
            return []
        unheld = [trial for trial in self.pending if trial.run is None is trial.expires_at]
        if not unheld:
            return []
        given = {each.trial: each.change for each in self.events if each.kind == "renewed"}

        def told_before(trial: Trial) -> int:
            change = given.get(trial.number, trial.opened)
            return bisect_left(self.taken, change, key=lambda told: told.closed or 0)

        results = len(self.taken)
        last = range(max(results - LAST_TOLD, 0), results)
        meanwhile = [
            place - told_before(self.taken[place]) for place in last if self.taken[place].was_asked
        ]
        enough = times * (1 + max(meanwhile, default=results))
        return [trial for trial in unheld if results - told_before(trial) >= enough]

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "told"]

    @property
    def sources(self) -> list[Source]:
        """The studies from which results were carried over, as the last carrying described them."""
        read = [Source.read(each.reason or "") for each in self.events if each.kind == "carried"]
        return list({source.mark: source for source in read}.values())

    @property
    def returned(self) -> list[Label]:
        """The arms that came back after the study had gone on without them."""
        out, back = dict[int, Label](), list[Label]()
        for event in self.events:
            if event.kind == "retired":
                retired = Retirement(**json.loads(event.reason or ""))
                out |= {retired.arm: retired.name} if retired.failing else {}
            elif event.kind == "readmitted" and event.value:
                every = list(out) if event.trial == NO_ARM else [self.trials[event.trial].arm]
                back += [out.pop(arm) for arm in every if arm in out]
        return back

    def asked_by(self, who: str) -> list[Trial]:
        """The trials of a request with a key, without those that somebody else has now."""
        trials = [self.trials[number] for number in sorted(self._requested.get(who, ()))]
        return [trial for trial in trials if trial.worker == who]

    def open_at_changes(self) -> list[Trial]:
        """The trials that were open at a change from which on evidence counts, or waited, and count.

        That is where a verification began, where arms were added, where one was retired because of
        results, and where ε was made larger: who decides that may have seen what was told and waits.
        """
        changed: list[Retirement | Added] = [*self.retired.values(), *self.added]
        arms = [each.change for each in changed if each.marker is not None]
        began = [each.change for each in self.events if each.kind in ("verifying", "widened")]
        ends = sorted(arms + began)
        return [
            trial
            for at, trial in _processed(self.trials if ends else [])
            if trial.state == "told" and bisect_left(ends, at) > bisect_left(ends, trial.opened)
        ]

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and of every change so far."""
        return self._hash.hexdigest()

    # Changes of this process

    def open(
        self,
        cell: Cell,
        cause: Cause,
        at: float,
        worker: str,
        run: str | None = None,
        expires: float | None = None,
        in_turn: bool = False,
        key: str | None = None,
        other_keys: tuple[str, ...] = (),
    ) -> Trial:
        """A new pending trial."""
        self.changes += 1
        number = len(self.trials)
        trial = Trial(
            number,
            cell.arm,
            self.names[cell.arm],
            self._trial_seed(number, cell.block),
            asked_at=at,
            expires_at=expires,
            worker=worker,
            run=run,
            in_turn=in_turn,
            cause=cause,
            opened=self.changes,
            key=key,
            other_keys=other_keys,
            block=self.blocks.label(cell.block),
            block_index=cell.block,
            feature_row=self._feature_row(cell.arm),
        )
        self._enter(trial)
        self.written[number] = None
        self._note(_asked(trial), number, cell, _besides(trial))
        return trial

    def _trial_seed(self, number: int, block: int) -> int:
        """The seed of a trial that this change opens."""
        if self.blocks.shares_seed:
            return self._block_seed(block, self.changes)
        first, seeds = self._seeds
        if not first <= number < first + len(seeds):  # made many at a time: most of it is the call
            seed = self._seed_at(self.changes)
            first, seeds = number, run_seeds(seed, SEEDS_AT_ONCE, number).tolist()
            self._seeds = first, seeds
        return int(seeds[number - first])

    def _block_seed(self, block: int, change: int) -> int:
        """The seed of all trials of a block, of which this change opens one."""
        if block not in self._block_seeds:
            root = self._seed_at(change) if self.blocks.reseeds else self._seed
            self._block_seeds[block] = int(run_seeds(root, 1, block)[0])
        return self._block_seeds[block]

    def close(
        self,
        trial: Trial,
        state: State,
        value: float | None = None,
        *,
        at: float | None = None,
        reason: str | None = None,
    ) -> Trial:
        """End a pending trial; returns it as it is then."""
        if trial.state != "pending":
            raise _is_closed(trial, state)
        self.changes += 1
        closed = replace(
            trial, state=state, value=value, reason=reason, closed_at=at, closed=self.changes
        )
        self._put(closed)
        self.written[trial.number] = None
        self.has_news = True
        if state == "failed" or self._failing:
            self._count_failures(closed)
        self._note(CLOSED_AS[state], trial.number, trial.cell, value or 0.0)
        return closed

    def _put(self, trial: Trial) -> None:
        """Let a trial take the place of what it was before."""
        number = trial.number
        self.trials[number] = trial
        if number in self.unsettled:
            self.unsettled[number] = trial
        if self.blocks.once:
            self._note_cell(trial)
        self._note_request(trial)
        for key in trial.keys:
            if self.keyed[key].number == number:
                self.keyed[key] = trial

    def _note_cell(self, trial: Trial) -> None:
        """Keep which trial a cell has, where it has one result."""
        if trial.state in ("pending", "told"):
            self.cells[trial.cell] = trial
        elif trial.cell in self.cells and self.cells[trial.cell].number == trial.number:
            del self.cells[trial.cell]

    def _note_request(self, trial: Trial) -> None:
        if trial.worker.startswith(WITH_KEY):
            self._requested.setdefault(trial.worker, {})[trial.number] = None

    def _count_failures(self, trial: Trial) -> None:
        """Take a trial that was closed into the failures in a row of its arm, and of its cell.

        Where the arms of a block share a seed, an arm may fail on one block for ever and have
        results on all others.
        """
        if trial.state == "cancelled":
            return
        rows = [None, trial.block_index] if self.blocks.shares_seed else [None]
        for block in rows:
            before = self._failing.pop((trial.arm, block), None)
            if trial.state == "failed":
                number, by = (
                    (1, None) if before is None else (before.number + 1, before.set_aside_by)
                )
                by = trial if number == FAILURES_IN_A_ROW else by
                failures = Failures(number, trial, by, block is not None)
                self._failing[trial.arm, block] = failures
        self.set_aside.pop(trial.arm, None)
        for (arm, _), failures in self._failing.items():
            if arm == trial.arm and failures.set_aside_by is not None:
                self.set_aside[arm] = failures
                return

    def correct(self, trial: Trial, value: float, reason: str, at: float, worker: str) -> Trial:
        """Put a told result right; what it was stays in the log. Returns the corrected trial."""
        self._apply(self._log("corrected", trial.number, at, worker, value, reason))
        return self.trials[trial.number]

    def note_source(self, source: Source, own_mark: str, at: float, worker: str) -> None:
        """Keep from which study results are carried over, and a seed for the trials from here on."""
        words = "\n".join([own_mark, source.mark, self.fingerprint]).encode()
        digest = hashlib.blake2b(words, digest_size=6).digest()
        seed = float(int.from_bytes(digest, "big"))  # exact: it has 48 bits
        self._follow_carrying(self._log("carried", NO_ARM, at, worker, seed, source.written))

    def _follow_carrying(self, event: Event) -> None:
        if event.kind == "carried" and self._first_carrying is None:
            self._first_carrying, self._seeds = event, (0, [])

    def _seed_at(self, change: int) -> int:
        """What the seeds of trials are made from that are opened by this change."""
        carrying = self._first_carrying
        if carrying is None or carrying.value is None or change < carrying.change:
            return self._seed
        return int(carrying.value)

    def _apply(self, event: Event) -> None:
        """Give a trial the value of a correction."""
        trial = self.trials[event.trial]
        if trial.value is None or event.value is None:
            raise DamagedStorage(
                f"trial {trial.number} is stored as corrected to {event.value!r}, but was told "
                f"{trial.value!r}: it was altered; restore it from a copy."
            )
        correction = Correction(
            trial.value, event.value, event.reason or "", event.at, event.worker
        )
        self._put(replace(trial, value=event.value, corrections=(*trial.corrections, correction)))
        self._corrected.setdefault(trial.number, []).append(event)
        self.has_news = True
        if self.keeps_decisions:
            marker = Marker(CORRECT, trial.number, event.value)
            self._stepping.append((event.change, marker))
        else:
            self.is_rewritten = True

    def _log(
        self,
        kind: Kind,
        trial: int,
        at: float,
        worker: str,
        value: float | None = None,
        reason: str | None = None,
    ) -> Event:
        self.changes += 1
        event = Event(self.changes, kind, trial, at, worker, value, reason)
        cell = NO_CELL if trial == NO_ARM else self.trials[trial].cell
        self.events.append(event)
        self._note(EVENTS[kind], trial, cell, value or 0.0)
        return event

    def renew(
        self, trial: Trial, whose: str, run: str | None, expires: float | None, at: float, by: str
    ) -> Trial:
        """Note who has a pending trial now that it was given out again, or back."""
        self._log("renewed", trial.number, at, by)
        renewed = replace(trial, worker=whose, run=run, expires_at=expires)
        self._put(renewed)
        self.written[trial.number] = None
        return renewed

    def step(self, kind: Kind, at: float, worker: str, value: float | None = None) -> None:
        """Note an event that the model must process: one of ``STEPS``."""
        event = self._log(kind, NO_ARM, at, worker, value)
        self._stepping.append((event.change, _marker(event)))
        self.has_news = True

    def retire(self, retirement: Retirement, at: float, worker: str) -> Retirement:
        """Keep that an arm was retired; returns that with the change it was."""
        self._without_second(self._log_arms("retired", retirement, at, worker))
        self._end_failures()
        return self.retired[retirement.arm]

    def readmit(self, trial: int, at: float, worker: str, *, left_out: bool) -> None:
        """Let the arm of a trial be asked for again after failures; all such arms with ``NO_ARM``.

        Also those that were ``left_out`` of the first plan.
        """
        self._follow_readmission(self._log("readmitted", trial, at, worker, float(left_out)))

    def _follow_readmission(self, event: Event) -> None:
        """Forget failures; an arm that was left out for them had been there all the time."""

        def is_meant(arm: int) -> bool:
            return event.trial == NO_ARM or self.trials[event.trial].arm == arm

        for row in [row for row in self._failing if is_meant(row[0])]:
            del self._failing[row]
        for arm in [arm for arm in self.set_aside if is_meant(arm)]:
            del self.set_aside[arm]
        for arm, each in list(self.retired.items()):
            if event.value and each.failing and each.change < event.change and is_meant(arm):
                del self.retired[arm]
                self.has_news = True
                self._stepping.append((event.change, Marker(READMIT, arm)))

    def add(self, added: Added, at: float, worker: str) -> None:
        """Keep that arms were added."""
        self._log_arms("added", added, at, worker)

    def _log_arms(self, kind: Kind, change: Retirement | Added, at: float, worker: str) -> Event:
        words = json.dumps(dict(zip(change._fields[:-1], change[:-1], strict=True)))
        event = self._log(kind, NO_ARM, at, worker, _digest(words), words)
        self.follow_arms(event)
        return event

    def follow_arms(self, event: Event) -> None:
        """Enter arms that were retired or added by an event; others change nothing here."""
        kinds: dict[str, type[Retirement | Added]] = {"retired": Retirement, "added": Added}
        if event.kind not in kinds:
            return
        if event.reason is None or event.value != _digest(event.reason):
            raise DamagedStorage(
                f"change {event.change}, by which arms were {event.kind}, was altered; restore it "
                "from a copy."
            )
        change: Any = kinds[event.kind](**json.loads(event.reason), change=event.change)
        if event.kind == "retired":
            self.retired[change.arm] = change
        else:
            change = change._replace(names=tuple(change.names))
            self.added.append(change)
            self.names += change.names
        if change.marker is None:
            self.is_rewritten = True
        else:
            self._stepping.append((event.change, change.marker))
            self.additions += [change.addition] if event.kind == "added" else []
        self.has_news = True

    def _without_second(self, event: Event) -> None:
        """Ask no more for an arm that was retired as the second of a round."""
        if event.kind != "retired":
            return
        arms = self.retired
        stay = [each for each in self.seconds if each.second not in arms]
        self._moves += [(event.change, -1)] * (len(self.seconds) - len(stay))
        self.seconds[:] = stay

    def _end_failures(self) -> None:
        """An arm that is retired is not set aside."""
        for row in [row for row in self._failing if row[0] in self.retired]:
            del self._failing[row]
        for arm in self.retired:
            self.set_aside.pop(arm, None)

    def _enter(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.unsettled[trial.number] = trial
        if trial.block_index >= self.next_block:
            self.next_block = trial.block_index + 1
        if self.blocks.once:
            self._note_cell(trial)
        self._note_request(trial)
        for key in trial.keys:  # what was told here with a key of a copy stays known by it
            self.keyed.setdefault(key, trial)
        if trial.cause.origin == "second of a round":
            del self.seconds[:1]
            self._moves.append((trial.opened, -1))
        if trial.cause.second != NO_ARM:
            self.seconds.append(trial.cause)
            self._moves.append((trial.opened, 1))

    def _note(self, kind: int, trial: int, cell: Cell, value: float) -> None:
        self._hash.update(ONE_CHANGE.pack(self.changes, kind, trial, *cell, value))

    # Changes of others

    def take_over(self, rows: Sequence[Row], events: Sequence[Event], changes: int) -> None:
        """Enter what others did since: the trials they changed, by number, and events."""
        before, self.changes = self.changes, changes
        try:
            for event in events:
                self._follow_carrying(event)
                self.follow_arms(event)
            touched = self._enter_rows(rows, events)
            records = self._records(before, changes, touched, events)
            self._recount(touched, before, events)
            self._end_failures()
            for event in events:
                if event.kind == "corrected":
                    self._apply(event)
        except (LookupError, OverflowError, TypeError, ValueError, struct.error) as error:
            raise DamagedStorage(f"a stored trial or event cannot be read: {error!r}.") from None
        self._stepping += [(each.change, _marker(each)) for each in events if each.kind in STEPS]
        self.events += events
        self._hash.update(records)
        self.has_news = True

    def _enter_rows(self, rows: Sequence[Row], events: Sequence[Event]) -> list[Trial]:
        to_come = [event for event in events if event.kind == "retired"]
        seeds = self._seeds_of([row for row in rows if row[0] >= len(self.trials)])
        known, touched = len(self.trials), []
        for row in rows:
            number, arm, block = row[:STATE]
            known_cell = 0 <= arm < len(self.names) and self.blocks.is_known(block)
            if number > len(self.trials) or not known_cell:
                raise DamagedStorage(
                    f"trial {number} (arm {arm}, block {block}) is out of sequence, or its arm or "
                    "its block does not exist."
                )
            new = number == len(self.trials)
            while new and to_come and to_come[0].change < row[OPENED]:
                self._without_second(to_come.pop(0))
            seed = seeds[number - known] if new else self.trials[number].seed
            keys = () if row[-1] is None else tuple(json.loads(row[-1]))
            rest = *row[STATE : CAUSE.start], Cause._make(row[CAUSE]), *row[CAUSE.stop : -1], keys
            besides: dict[str, Any] = {"block": self.blocks.label(block), "block_index": block}
            besides["feature_row"] = self._feature_row(arm)
            trial = Trial(number, arm, self.names[arm], seed, *rest, **besides)
            _check_state(trial, len(self.names))
            if new:
                self._enter(trial)
            else:
                self._put(trial)
            touched.append(trial)
        for event in to_come:
            self._without_second(event)
        return touched

    def _seeds_of(self, rows: Sequence[Row]) -> list[int]:
        """The seeds of trials that follow those known here."""
        if self.blocks.shares_seed:
            return [self._block_seed(row[BLOCK], row[OPENED]) for row in rows]
        seeds: list[int] = []
        for seed, changes in groupby([row[OPENED] for row in rows], self._seed_at):
            seeds += run_seeds(seed, len(list(changes)), len(self.trials) + len(seeds)).tolist()
        return seeds

    def _recount(self, touched: list[Trial], before: int, events: Sequence[Event]) -> None:
        """Count failures among the trials that others closed since a change."""
        readmitted = [event for event in events if event.kind == "readmitted"]
        failed = {trial.arm for trial in touched if trial.state == "failed"}
        arms = failed | {arm for arm, _ in self._failing}
        of_them = [t for t in touched if t.arm in arms and (t.closed or 0) > before]
        for trial in sorted(of_them, key=lambda each: each.closed or 0):
            while readmitted and readmitted[0].change < (trial.closed or 0):
                self._follow_readmission(readmitted.pop(0))
            self._count_failures(trial)
        for event in readmitted:
            self._follow_readmission(event)

    def _records(
        self, before: int, changes: int, touched: list[Trial], events: Sequence[Event]
    ) -> bytes:
        """The changes as they enter the fingerprint, in their order; each must be there once."""
        pack, made = ONE_CHANGE.pack, []
        for t in touched:
            if t.opened > before:
                cell = t.arm, t.block_index
                made.append((t.opened, pack(t.opened, _asked(t), t.number, *cell, _besides(t))))
            if t.closed is not None and t.closed > before:
                kind = CLOSED_AS.get(t.state, -1)
                record = pack(t.closed, kind, t.number, t.arm, t.block_index, t.value or 0.0)
                made.append((t.closed, record))
        for event in events:
            known = 0 <= event.trial < len(self.trials)
            which = event.trial, *(self.trials[event.trial].cell if known else NO_CELL)
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
        due: list[tuple[int, Trial | Marker]] = [
            *_processed(self.unsettled.values()),  # they are entered by number
            *self._stepping,
        ]
        if len(due) > 1:
            due.sort(key=itemgetter(0))
        steps = self._one_step if len(due) == 1 else Steps.empty(len(due))
        steps.held.fill(len(self.seconds) > 0)
        if self._moves:
            steps.held[:] = self._held(due)
        if self.blocks.shifts:
            steps.held[:] = self._divides(due)
        for place, (change, step) in enumerate(due):
            if isinstance(step, Marker):
                own = self._placed(step) if step.kind == CORRECT else step
                _write(steps, place, own)
                self._order.append((own, own.value))
                continue
            value = self._value_at(step, change) if step.corrections else step.value or 0.0
            _write(steps, place, step, value)
            self._order.append((step.number, value))
            del self.unsettled[step.number]
            if step.state == "told":
                self.taken.append(step)
        self._order_held += steps.held.tolist()
        if self.is_rewritten:
            self.taken = [self.trials[trial.number] for trial in self.taken]
        self._moves, self._stepping, self.has_news = [], [], False
        return steps

    def _value_at(self, trial: Trial, change: int) -> float:
        """The value of a trial when it is taken in: as told, with corrections until then."""
        value = trial.first_value
        for event in self._corrected.get(trial.number, ()):
            value = event.value if event.change < change else value
        return value or 0.0

    def _placed(self, marker: Marker) -> Marker:
        """The correction of a trial by its place among those taken in; nothing if it was not yet."""
        for place, trial in enumerate(self.taken):
            if trial.number == marker.arm:
                self.taken[place] = self.trials[trial.number]
                return marker._replace(arm=place)
        return Marker(DECIDE)

    def _held(self, due: list[tuple[int, Trial | Marker]]) -> NDArray[np.bool_]:
        """Whether the second arm of a round was still to be asked for at these changes."""
        moves = [move for _, move in self._moves]
        lengths = len(self.seconds) - sum(moves) + np.cumsum([0, *moves])
        changes = [change for change, _ in due]
        at = np.searchsorted([change for change, _ in self._moves], changes, side="right")
        return np.asarray(lengths[at] > 0)

    def _divides(self, due: list[tuple[int, Trial | Marker]]) -> list[bool]:
        """Whether other trials of the same block were still under way at these changes."""
        places = {step.number: k for k, (_, step) in enumerate(due) if isinstance(step, Trial)}
        later: dict[int, list[tuple[int, int]]] = {}
        for trial in self.unsettled.values():
            at = places.get(trial.number, NEVER), trial.opened
            later.setdefault(trial.block_index, []).append(at)
        return [
            isinstance(step, Trial)
            and any(k > place and opened <= change for k, opened in later[step.block_index])
            for place, (change, step) in enumerate(due)
        ]

    def all_steps(self) -> Steps:
        """Everything that the model ever had to process, from the first."""
        steps = Steps.empty(len(self._order))
        steps.held[:] = self._order_held
        for place, step in enumerate(self._order):
            which, value = step
            if isinstance(which, Marker):
                _write(steps, place, which)
            else:
                kept = self.keeps_decisions
                trial = self.trials[which]
                _write(steps, place, trial, value if kept else trial.value or 0.0)
        return steps

    def _feature_row(self, arm: int) -> FeatureRow | None:
        """The features of an arm, also of one that was added."""
        if arm < self._given:
            return self._rows(arm)
        first = self._rows(0)
        if first is None:
            return None
        added = [row for each in self.added for row in each.rows or ()]
        return FeatureRow(np.array(added[arm - self._given]), first.columns)

    def copies_of(
        self, trials: Sequence[Trial], mark: str, own_mark: str
    ) -> tuple[dict[int, Trial], dict[int, Trial]]:
        """What is here of the trials of the study with this mark, by their numbers.

        First their copies, and the trials of this study that they are copies of. Then results that
        were told to both with the same key. Two files may have the same name: keys of a file are
        those of the same results only if arm and value agree in every row that both studies have.
        (Row by row, which results count would depend on their values.)
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
            if all(own.name == trial.name and trial.is_like(own) for trial, own in pairs):
                same |= {trial.number: own for trial, own in pairs}
        return copies, same

    def find(self, trial: Trial | int | None) -> Trial:
        """The trial meant by itself or by its number, as it is now."""
        number = trial.number if isinstance(trial, Trial) else trial
        if type(number) is not int and (
            isinstance(number, bool) or not isinstance(number, numbers.Integral)
        ):
            raise UnknownTrial(
                f"expected one Trial or the number of one, got {cut(repr(trial), SHOWN)}."
            )
        if not 0 <= int(number) < len(self.trials):
            raise UnknownTrial(
                f"trial {number} is unknown: this study has asked for {len(self.trials)} so far, "
                f"numbered from 0. Use {advise('tell', arm=None, value=None)} for unrequested data."
            )
        own = self.trials[int(number)]
        if isinstance(trial, Trial) and (trial.arm, trial.seed) != (own.arm, own.seed):
            raise UnknownTrial(f"trial {number} belongs to another study.")
        return own


def _digest(words: str) -> float:
    """A digest of a text as a number that is exact."""
    return float(int.from_bytes(hashlib.blake2b(words.encode(), digest_size=6).digest(), "big"))


def _marker(event: Event) -> Marker:
    """The step of the model that an event of ``STEPS`` is."""
    return Marker(STEPS[event.kind], value=event.value or 0.0)


def _write(steps: Steps, place: int, step: Trial | Marker, told: float = 0.0) -> None:
    """Write a closed trial, or another step, as a step for the model."""
    if isinstance(step, Marker):
        kind, arm, block, value = step.kind, step.arm, NO_BLOCK, step.value
    elif step.value is not None:
        kind, arm, block, value = TAKE, step.arm, step.block_index, told
    else:
        kind, arm, block, value = DECIDE, step.arm, step.block_index, 0.0
    steps.kinds[place], steps.arms[place] = kind, arm
    steps.blocks[place], steps.values[place] = block, value
    steps.unasked[place] = isinstance(step, Trial) and step.cause.origin in BESIDE


def _is_closed(trial: Trial, wanted: str) -> TrialClosed:
    """The error for a trial that is to end and has ended."""
    stored = ""
    if trial.state == "told":
        right = advise("correct it", trial=trial.number)
        stored = f" ({trial.value!r} is stored; {right} corrects a wrong one)"
    return TrialClosed(
        f"trial {trial.number} ({trial.name!r}) is {trial.state} and cannot be {wanted}{stored}: "
        "nothing was changed."
    )


def _processed(trials: Iterable[Trial]) -> list[tuple[int, Trial]]:
    """By which change each of some trials, by number, is processed; without those that wait."""
    due = []
    turn = 0  # the change by which all in turn so far were closed
    for trial in trials:
        closed = NEVER if trial.closed is None else trial.closed
        if trial.in_turn:
            turn = max(turn, closed)
            # What failed or was cancelled makes way at once.
            closed = turn if trial.state == "told" else closed
        if closed < NEVER:
            due.append((closed, trial))
    return due


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
