"""The book of trials: who was asked, who has answered, and in what order answers are taken in."""

from __future__ import annotations

import hashlib
import numbers
import struct
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.steps import LOOK, REOPEN, TAKE, Steps
from shortlist.core.random import run_seeds
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, UnknownTrial
from shortlist.study.trial import (
    NOBODY,
    ORIGINS,
    Cause,
    State,
    Trial,
    all_fields,
    alter,
    become,
    put_back,
)

Event = Literal["renewed", "reopened"]
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
EVENTS: dict[Event, int] = {"renewed": RENEWED, "reopened": REOPENED}
SEEDS_AT_ONCE = 64
NEVER = int(np.iinfo(np.int64).max)


class Mark(NamedTuple):
    """What a ledger was at one moment: its lists with their lengths then, since they only grow."""

    trials: int
    taken: int
    events: int
    changes: int
    seconds: list[Cause]
    unsettled: dict[int, Trial]
    hash: Any
    moves: tuple[list[tuple[int, int]], int]
    reopened: tuple[list[int], int]
    has_news: bool
    touched: list[tuple[Trial, tuple[Any, ...]]]  # trials changed since, with what they were


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
        self._unsettled: dict[int, Trial] = {}
        self._hash = hashlib.blake2b(settings, digest_size=16)
        self._moves: list[tuple[int, int]] = []  # of the length of ``seconds``, since settled
        self._reopened: list[int] = []
        self._events: list[tuple[int, Event, int]] = []
        self.has_news = False  # for the model
        self._touched: list[tuple[Trial, tuple[Any, ...]]] = []  # the last mark's

    @property
    def pending(self) -> list[Trial]:
        """The open trials, oldest first."""
        return [trial for trial in list(self._unsettled.values()) if trial.state == "pending"]

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one, oldest first."""
        return [trial for trial in list(self._unsettled.values()) if trial.state == "told"]

    @property
    def unsettled_arms(self) -> list[int]:
        """The arms of which results are still to be taken in."""
        return [trial.arm for trial in list(self._unsettled.values())]

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and of every change so far."""
        return self._hash.hexdigest()

    # Changes, and taking them back

    def mark(self) -> Mark:
        """The present moment, for ``restore``; it holds until another one is marked."""
        self._touched = []
        return Mark(
            trials=len(self.trials),
            taken=len(self.taken),
            events=len(self._events),
            changes=self.changes,
            seconds=self.seconds,
            unsettled=self._unsettled,
            hash=self._hash.copy(),
            moves=(self._moves, len(self._moves)),
            reopened=(self._reopened, len(self._reopened)),
            has_news=self.has_news,
            touched=self._touched,
        )

    def restore(self, mark: Mark) -> None:
        """Be what it was at the last mark, and so every trial. If cut short, it is called again."""
        for trial, before in reversed(mark.touched):
            put_back(trial, before)
        for trial in self.trials[mark.trials :]:
            if trial.key is not None:
                self._keyed.pop(trial.key, None)
        del self.trials[mark.trials :], self.taken[mark.taken :], self._events[mark.events :]
        known = mark.unsettled.items()  # trials may have been added to it since
        self._unsettled = {number: trial for number, trial in known if number < mark.trials}
        (moves, moved), (reopened, times) = mark.moves, mark.reopened
        self.seconds, self._moves, self._reopened = mark.seconds, moves[:moved], reopened[:times]
        self._hash, self.changes, self.has_news = mark.hash.copy(), mark.changes, mark.has_news

    def _touch(self, trial: Trial) -> None:
        self._touched.append((trial, all_fields(trial)))

    # Changes of this process

    def open(
        self, arm: int, cause: Cause, *, in_turn: bool = False, key: str | None = None
    ) -> Trial:
        """A new pending trial."""
        self.changes += 1
        number = len(self.trials)
        seed = self._seed_of(number)
        name, opened = self._names[arm], self.changes
        given = {"cause": cause, "opened": opened, "in_turn": in_turn, "key": key}
        trial = Trial(number, arm, name, seed, **given)
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
        check_pending(trial)
        self._touch(trial)
        self.changes += 1
        done = {"state": state, "value": value, "closed": self.changes}
        alter(trial, **done, closed_at=at, reason=reason)
        self.has_news = True
        self._note(CLOSED_AS[state], trial.number, trial.arm, value or 0.0)

    def renew(self, trial: Trial, worker: str, process: str | None, expires: float | None) -> int:
        """Note who has a pending trial now that it was given out again, or back."""
        self._touch(trial)
        alter(trial, worker=worker, process=process, expires_at=expires)
        self.changes += 1
        self._events.append((self.changes, "renewed", trial.number))
        self._note(RENEWED, trial.number, trial.arm, 0.0)
        return self.changes

    def reopen(self) -> int:
        """Count that the stop was taken back."""
        self.changes += 1
        self._events.append((self.changes, "reopened", NOBODY))
        self._reopened.append(self.changes)
        self.has_news = True
        self._note(REOPENED, NOBODY, NOBODY, 0.0)
        return self.changes

    def _enter(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._unsettled[trial.number] = trial
        if trial.key is not None:
            self._keyed[trial.key] = trial
        if trial.cause.origin == "second of a round":
            self.seconds = self.seconds[1:]
            self._moves.append((trial.opened, -1))
        if trial.cause.second != NOBODY:
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
                self._touch(self.trials[number])
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
            arm = self.trials[trial].arm if 0 <= trial < len(self.trials) else NOBODY
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
        other when it is told.
        """
        due: list[tuple[int, Trial | None]] = []
        turn = 0  # the change by which all in turn so far were closed
        for trial in self._unsettled.values():  # by number: they are entered in that order
            closed = NEVER if trial.closed is None else trial.closed
            if trial.in_turn:
                turn = max(turn, closed)
                # What failed or was cancelled makes way at once.
                closed = turn if trial.state == "told" else closed
            if closed < NEVER:
                due.append((closed, trial))
        due += [(change, None) for change in self._reopened]
        due.sort(key=itemgetter(0))
        steps = [trial for _, trial in due]
        held = self._held([change for change, _ in due])
        leaves = {step.number for step in steps if step is not None}
        self._unsettled = {n: trial for n, trial in self._unsettled.items() if n not in leaves}
        self.taken += [trial for trial in steps if trial is not None and trial.state == "told"]
        self._moves, self._reopened, self.has_news = [], [], False
        return Steps(
            kinds=np.array([_kind(trial) for trial in steps], np.int64),
            arms=np.array([0 if trial is None else trial.arm for trial in steps], np.int64),
            values=np.array([0.0 if t is None else t.value or 0.0 for t in steps]),
            held=held,
        )

    def _held(self, changes: list[int]) -> NDArray[np.int64]:
        """Whether the second arm of a round was still to be asked for at these changes."""
        if not self._moves:
            return np.array([len(self.seconds) > 0] * len(changes), np.int64)
        moves = [move for _, move in self._moves]
        lengths = len(self.seconds) - sum(moves) + np.cumsum([0, *moves])
        at = np.searchsorted([change for change, _ in self._moves], changes, side="right")
        return (lengths[at] > 0).astype(np.int64)

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
        if isinstance(number, bool) or not isinstance(number, numbers.Integral):
            raise UnknownTrial(f"a trial is named by itself or by its number, got {trial!r}.")
        if not 0 <= int(number) < len(self.trials):
            raise UnknownTrial(
                f"trial {number} is unknown: this study has asked for {len(self.trials)} so far. "
                "Use tell(arm=…, value=…) for data that nobody asked for."
            )
        own = self.trials[int(number)]
        if isinstance(trial, Trial) and (trial.arm, trial.seed) != (own.arm, own.seed):
            raise UnknownTrial(f"trial {number} belongs to another study.")
        return own


def _asked(trial: Trial) -> int:
    """How a trial was asked for, as a number: its origin and whether it comes in turn."""
    return ASKED + 100 * (1 + ORIGINS.index(trial.cause.origin)) + 10 * bool(trial.in_turn)


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
    known = NOBODY <= trial.cause.b < arms and NOBODY <= trial.cause.c < arms
    if pending != (trial.closed is None) or told != (trial.value is not None) or not known:
        raise DamagedStorage(
            f"trial {trial.number} is stored as {trial.state!r} with value {trial.value!r}, closed by "
            f"change {trial.closed!r}, for arms {trial.cause.b!r} and {trial.cause.c!r}, which no "
            "study writes: it was altered; restore it from a copy."
        )


def _kind(trial: Trial | None) -> int:
    if trial is None:
        return REOPEN
    return TAKE if trial.state == "told" else LOOK


def check_pending(trial: Trial) -> None:
    """Raise where a trial is closed already."""
    if trial.state != "pending":
        remedy = " Pass if_told='ignore' to import twice." if trial.state == "told" else ""
        raise TrialClosed(
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
