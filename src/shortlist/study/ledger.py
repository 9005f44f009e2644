"""The book of trials: who was asked, who has answered, and in what order answers are taken in."""

from __future__ import annotations

import hashlib
import numbers
import struct
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.follow import LOOK, REOPEN, TAKE, Steps
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, UnknownTrial
from shortlist.numerics.random import run_seeds
from shortlist.study.trial import (
    ORIGINS,
    Cause,
    State,
    Trial,
    all_fields,
    become,
    make_trial,
    put_back,
    set_field,
)

Event = Literal["renewed", "reopened"]
Mark = tuple[Any, ...]  # what a ledger was at one moment
Row = Sequence[Any]  # a trial as it is stored: see ``ROW``
# The fields of a trial, then those of its cause, then its changes; name and seed are not kept.
ROW = (
    *("number", "arm", "state", "value", "reason", "asked_at", "closed_at", "expires_at"),
    *("worker", "process", "in_turn", "origin", "b", "c", "gap", "statistic", "second"),
    *("opened", "closed", "key"),
)
CAUSE = slice(ROW.index("origin"), ROW.index("opened"))

# A change of the study as it enters its fingerprint: its number, kind, trial, arm and value.
ONE_CHANGE = struct.Struct("<4qd")
ASKED, TOLD, FAILED, CANCELLED, RENEWED, REOPENED = range(6)
CLOSED_AS: dict[str, int] = {"told": TOLD, "failed": FAILED, "cancelled": CANCELLED}
PLACES = {origin: place for place, origin in enumerate(ORIGINS, 1)}
EVENTS: dict[Event, int] = {"renewed": RENEWED, "reopened": REOPENED}
SEEDS_AT_ONCE = 64
NEVER = int(np.iinfo(np.int64).max)


class Ledger:
    """All trials of a study, every change to them counted.

    Parameters
    ----------
    names : tuple of str
        The arms'.
    seed : int
        Of the study; each trial's own is made from it.
    settings : bytes
        What the fingerprint starts from.
    """

    def __init__(self, names: tuple[str, ...], seed: int, settings: bytes = b"") -> None:
        self._names, self._seed = names, seed
        self.trials: list[Trial] = []
        self.changes = 0
        self.taken: list[Trial] = []
        self.seconds: list[Cause] = []  # rounds of which the second arm is still to be asked for
        self._keyed: dict[str, Trial] = {}
        self._seeds: tuple[int, list[int]] = 0, []  # of the trials from a number on
        self.unsettled: dict[int, Trial] = {}  # by number: their results are still to be taken in
        self._hash = hashlib.blake2b(settings, digest_size=16)
        self._moves: list[tuple[int, int]] = []  # of the length of ``seconds``, since settled
        self._reopened: list[int] = []
        self._events: list[tuple[int, Event, int]] = []
        self.has_news = False  # for the model
        self._one_step = Steps.empty(1)
        self._touched: list[tuple[Trial, tuple[Any, ...]]] = []  # the last mark's

    @property
    def pending(self) -> list[Trial]:
        """The open trials, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "pending"]

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one, oldest first."""
        return [trial for trial in list(self.unsettled.values()) if trial.state == "told"]

    @property
    def unsettled_arms(self) -> list[int]:
        """The arms of which results are still to be taken in."""
        return [trial.arm for trial in list(self.unsettled.values())]

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and of every change so far."""
        return self._hash.hexdigest()

    # Changes, and taking them back

    def mark(self) -> Mark:
        """The present moment, for ``restore``; it holds until another one is marked.

        Of lists that only grow it holds the length, or the list with its length where another may
        take its place.
        """
        self._touched = []
        return (
            (len(self.trials), len(self.taken), len(self._events)),
            (self._moves, len(self._moves), self._reopened, len(self._reopened)),
            (self.seconds, self.unsettled, self._hash.copy(), self.changes, self.has_news),
            self._touched,
        )

    def restore(self, mark: Mark) -> None:
        """Be what it was at the last mark, and so every trial. If cut short, it is called again."""
        (trials, taken, events), (moves, moved, reopened, times), others, touched = mark
        for trial, before in reversed(touched):
            put_back(trial, before)
        for trial in self.trials[trials:]:
            if trial.key is not None:
                self._keyed.pop(trial.key, None)
        del self.trials[trials:], self.taken[taken:], self._events[events:]
        self._moves, self._reopened = moves[:moved], reopened[:times]
        self.seconds, unsettled, digest, self.changes, self.has_news = others
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
    ) -> Trial:
        """A new pending trial."""
        self.changes += 1
        number = len(self.trials)
        trial = make_trial(
            *(number, arm, self._names[arm], self._seed_of(number)),
            *("pending", None, None, at, None, expires, worker, process, in_turn),
            *(cause, self.changes, None, key),
        )
        self._enter(trial)
        self._note(_asked(trial), number, arm, _besides(trial))
        return trial

    def _seed_of(self, number: int) -> int:
        """A new trial's own; made many at a time, since most of it is the call."""
        first, seeds = self._seeds
        if not first <= number < first + len(seeds):
            first, seeds = number, run_seeds(self._seed, SEEDS_AT_ONCE, number).tolist()
            self._seeds = first, seeds
        return seeds[number - first]

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
            raise not_pending(trial)
        self._touched.append((trial, all_fields(trial)))
        self.changes += 1
        set_field(trial, "state", state)
        set_field(trial, "value", value)
        set_field(trial, "reason", reason)
        set_field(trial, "closed_at", at)
        set_field(trial, "closed", self.changes)
        self.has_news = True
        self._note(CLOSED_AS[state], trial.number, trial.arm, value or 0.0)

    def renew(self, trial: Trial, worker: str, process: str | None, expires: float | None) -> int:
        """Note who has a pending trial now that it was given out again, or back."""
        self._touched.append((trial, all_fields(trial)))
        set_field(trial, "worker", worker)
        set_field(trial, "process", process)
        set_field(trial, "expires_at", expires)
        self.changes += 1
        self._events.append((self.changes, "renewed", trial.number))
        self._note(RENEWED, trial.number, trial.arm, 0.0)
        return self.changes

    def reopen(self) -> int:
        """Count that the stop was taken back."""
        self.changes += 1
        self._events.append((self.changes, "reopened", NO_ARM))
        self._reopened.append(self.changes)
        self.has_news = True
        self._note(REOPENED, NO_ARM, NO_ARM, 0.0)
        return self.changes

    def _enter(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.unsettled[trial.number] = trial
        if trial.key is not None:
            self._keyed[trial.key] = trial
        if trial.cause.origin == "second of a round":
            self.seconds = self.seconds[1:]
            self._moves.append((trial.opened, -1))
        if trial.cause.second != NO_ARM:
            self.seconds = [*self.seconds, trial.cause]
            self._moves.append((trial.opened, 1))

    def _note(self, kind: int, trial: int, arm: int, value: float) -> None:
        self._hash.update(ONE_CHANGE.pack(self.changes, kind, trial, arm, value))

    # Changes of others

    def take_over(
        self, rows: Sequence[Row], events: Sequence[tuple[int, Event, int]], changes: int
    ) -> None:
        """Enter what others did since: the trials they changed, by number, and events."""
        try:
            touched = self._enter_rows(rows)
            noted = [(change, EVENTS[kind], trial) for change, kind, trial in events]
            records = self._records(self.changes, changes, touched, noted)
        except (KeyError, OverflowError, TypeError, ValueError, struct.error) as error:
            raise DamagedStorage(f"a stored trial or event cannot be read: {error!r}.") from None
        self._reopened += [change for change, kind, _ in noted if kind == REOPENED]
        self._events += events
        self._hash.update(records)
        self.changes = changes
        self.has_news = True

    def _enter_rows(self, rows: Sequence[Row]) -> list[Trial]:
        known = len(self.trials)
        added = sum(row[0] >= known for row in rows)
        seeds = run_seeds(self._seed, added, known).tolist()
        touched = []
        for row in rows:
            number, arm = row[0], row[1]
            if number > len(self.trials) or not 0 <= arm < len(self._names):
                raise DamagedStorage(f"trial {number} (arm {arm}) does not belong where it stands.")
            new = number == len(self.trials)
            seed = seeds[number - known] if new else self.trials[number].seed
            fields = (*row[2 : CAUSE.start], Cause._make(row[CAUSE]), *row[CAUSE.stop :])
            trial = Trial(number, arm, self._names[arm], seed, *fields)
            _check_state(trial, len(self._names))
            if new:
                self._enter(trial)
            else:
                self._touched.append((self.trials[number], all_fields(self.trials[number])))
                become(self.trials[number], trial)
            touched.append(trial)
        return touched

    def _records(
        self, before: int, changes: int, touched: list[Trial], events: list[tuple[int, int, int]]
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
        for change, kind, trial in events:
            arm = self.trials[trial].arm if 0 <= trial < len(self.trials) else NO_ARM
            made.append((change, pack(change, kind, trial, arm, 0.0)))
        records = dict(made)
        if len(made) != changes - before or len(records) != len(made):
            records = {}
        try:
            return b"".join([records[change] for change in range(before + 1, changes + 1)])
        except KeyError:
            raise DamagedStorage(
                f"changes {before + 1} to {changes} should be there, each once, and are not: rows "
                "were lost, added or altered."
            ) from None

    # The order in which results are taken in

    def settle(self) -> Steps:
        """What the model is to take in because of the changes since the last time.

        A result told in turn is taken in when all those asked for in turn before it are closed, any
        other when it is told. The steps are good until the next time: a single one is written over
        the last, since new arrays take longer than all else here.
        """
        due: list[tuple[int, Trial | None]] = []
        turn = 0  # the change by which all in turn so far were closed
        for trial in self.unsettled.values():  # by number: they are entered in that order
            closed = NEVER if trial.closed is None else trial.closed
            if trial.in_turn:
                turn = max(turn, closed)
                # What failed or was cancelled makes way at once.
                closed = turn if trial.state == "told" else closed
            if closed < NEVER:
                due.append((closed, trial))
        due += [(change, None) for change in self._reopened]
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
            if step is None:
                kinds[place], arms[place], values[place] = REOPEN, 0, 0.0
                continue
            del unsettled[step.number]
            if step.state == "told":
                kinds[place], arms[place], values[place] = TAKE, step.arm, step.value
                taken.append(step)
            else:
                kinds[place], arms[place], values[place] = LOOK, step.arm, 0.0
        self.unsettled = unsettled
        self.taken += taken
        self._moves, self._reopened, self.has_news = [], [], False
        return steps

    def _held(self, due: list[tuple[int, Trial | None]]) -> NDArray[np.bool_]:
        """Whether the second arm of a round was still to be asked for at these changes."""
        moves = [move for _, move in self._moves]
        lengths = len(self.seconds) - sum(moves) + np.cumsum([0, *moves])
        changes = [change for change, _ in due]
        at = np.searchsorted([change for change, _ in self._moves], changes, side="right")
        return np.asarray(lengths[at] > 0)

    def all_steps(self) -> Steps:
        """Everything that the model was ever to take in, from the first."""
        book = Ledger(self._names, self._seed)
        book.take_over([trial.row for trial in self.trials], self._events, self.changes)
        return book.settle()

    # Looking up

    def keyed(self, key: str) -> Trial | None:
        """The trial that was told with this key."""
        return self._keyed.get(key)

    def find(self, trial: Trial | int | None) -> Trial:
        """The trial meant by itself or by its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        if type(number) is not int and (
            isinstance(number, bool) or not isinstance(number, numbers.Integral)
        ):
            raise UnknownTrial(f"a trial is named by itself or by its number, got {trial!r}.")
        if not 0 <= int(number) < len(self.trials):
            raise UnknownTrial(
                f"trial {number} is unknown: this study has asked for {len(self.trials)} so far. "
                "Use tell(arm=…, value=…) for data that nobody asked for."
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
    """What an opening has in its digest besides: the second arm of its round, or its key."""
    if trial.key is None:
        return trial.cause.second
    digest = hashlib.blake2b(trial.key.encode(), digest_size=6).digest()
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


def not_pending(trial: Trial) -> TrialClosed:
    """The error for a trial that is closed already."""
    remedy = " Pass if_told='ignore' to import twice." if trial.state == "told" else ""
    return TrialClosed(
        f"trial {trial.number} ({trial.name!r}) is {trial.state}, not pending.{remedy}"
    )


def check_same_result(trial: Trial, arm: int, value: float) -> None:
    """Raise where a key that has been told is given to another result."""
    if (trial.arm, trial.value) != (arm, value):
        raise TrialClosed(
            f"key={trial.key!r} was told before as trial {trial.number}, with value {trial.value!r} for "
            f"arm {trial.name!r}, and now comes with {value!r} for row {arm}: nothing was told. Give "
            "another result a key of its own."
        )


def checked_key(key: object) -> str | None:
    """What tells a result from others.

    Examples
    --------
    >>> checked_key(7)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: key must be a text of 1 to 200 characters, got 7: nothing was told.
    """
    if key is None:
        return None
    if not isinstance(key, str) or not 1 <= len(key) <= 200 or not is_text(key):
        shown = repr(key)[:100]
        raise InvalidInput(
            f"key must be a text of 1 to 200 characters, got {shown}: nothing was told."
        )
    return key


def is_text(words: str) -> bool:
    """Whether every database takes it."""
    return "\x00" not in words and not any("\ud800" <= sign <= "\udfff" for sign in words)
