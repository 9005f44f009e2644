"""The log of a study: every change to it, kept in step with the model and with the storage.

Every change is one transaction, made on top of what others have done. After an exception, the ledger
and the model are rebuilt from what the storage has.
"""

from __future__ import annotations

import gc
import getpass
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from shortlist.advice import advise, continued
from shortlist.arrays import NO_ARM, Label
from shortlist.blocks import Cell
from shortlist.engine.algorithm import Procedure
from shortlist.engine.follow import CORRECT, DECIDE, Steps
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, warn_caller
from shortlist.printable import on_one_line, quoted
from shortlist.problem import Problem
from shortlist.storage.base import Change, Checkpoint, Known, Storage, Transaction
from shortlist.storage.forking import LONGEST_WAIT, STUDIES
from shortlist.study.definition import Definition
from shortlist.study.insight.audit import Audit
from shortlist.study.ledger import (
    OVERDUE,
    OVERDUE_AT_THE_END,
    WITH_KEY,
    Added,
    Kind,
    Ledger,
    Retirement,
    Source,
    key_of_trial,
)
from shortlist.study.model import Addition, Ahead, Model, machine
from shortlist.study.running.process import is_dead
from shortlist.study.trial import Cause, Origin, State, Trial, came_together

LOGGER = logging.getLogger(__name__)
TOO_LATE = "nobody works on it any more, and later its block would be another one"
MUCH = 10_000  # results that are not processed while others wait to write
IfTold = Literal["raise", "ignore", "same"]
Result = TypeVar("Result")


class _MuchNews(Exception):
    """What others have done takes long to process, and nobody could write meanwhile."""


class Told(NamedTuple):
    """Results that were told: all their trials, and which of them were not told before."""

    trials: list[Trial]
    new: list[Trial]


class Log:
    """What a study has asked and been told, the same for all who share its storage.

    ``at_stop`` is called at every stop, before anything later is processed; ``at_begin`` before all
    results are processed from the first, when no stop has been met yet.
    """

    def __init__(
        self,
        procedure: Procedure,
        definition: Definition,
        storage: Storage,
        at_stop: Callable[[], None],
        at_begin: Callable[[], None],
    ) -> None:
        self._procedure, self._definition, self.storage = procedure, definition, storage
        self._at_stop, self._at_begin = at_stop, at_begin
        self._lock = threading.RLock()
        self._is_paused = False
        self._is_changing = False
        self._said_rounding = False  # that means are rounded otherwise here
        self._ahead = 0.0  # seconds by which the storage's clock is ahead of this machine's
        self._leases: Mapping[str, float] = {}  # of runs, as they were last read
        # How many changes ledger, model and storage agree on; −1 before anything was read, and there
        # is no ledger. If it is another number than the ledger counts, a change was cut short.
        self._agreed = -1
        STUDIES.add(self)

    def _forget(self) -> None:
        """Begin with nothing: the next change takes in what is stored."""
        self._agreed = -1
        self._ledger = empty_ledger(self._definition)
        self._ledger.keeps_decisions = self._procedure.algorithm.searches
        self._model: Model | None = None  # made when it is needed
        # Whether the means are not linear; an attribute, since nothing may be called after a change.
        self.is_rejected = False
        self.results = 0  # how many there are; an attribute for the same reason
        self.set_aside = self._ledger.set_aside  # an attribute for the same reason
        self._at_begin()

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""
        return time.time() + self._ahead

    @property
    def procedure(self) -> Procedure:
        """The algorithm on its problem, with σ if it was to be estimated and has been."""
        self._mend()
        return self._procedure if self._model is None else self._model.procedure

    @property
    def first_problem(self) -> Problem:
        """What the study was begun with."""
        return self._procedure.problem

    @property
    def is_classical(self) -> bool:
        """Whether the study was begun without features."""
        return self._definition.features is None

    @property
    def ledger(self) -> Ledger:
        """The trials."""
        self._mend()
        return self._ledger

    @property
    def model(self) -> Model:
        """What the algorithm makes of their results."""
        self._mend()
        return self._model or self._begin_model()

    @property
    def audit(self) -> Audit:
        """Whether the results contradict means that are linear in the features."""
        self._mend()
        if self._model is None:
            self._begin_model()
        return self._audit

    @property
    def stopped(self) -> bool:
        """Whether there is an answer, and nothing left to test of what it assumes."""
        return self.model.stopped and not self._audit.is_running and not self.is_rejected

    @property
    def lease(self) -> float | None:
        """Seconds after which a trial may be asked for again."""
        lease: float | None = self._definition.choices["lease"]
        return lease

    @property
    def intercept(self) -> bool:
        """Whether the means may have a level of their own."""
        return bool(self._definition.choices["intercept"])

    def _mend(self) -> None:
        """Read all of it where nothing was read yet, or a change was cut short."""
        is_current = self._agreed >= 0 and self._agreed == self._ledger.changes
        if not is_current and not self._is_changing:
            self.refresh()

    def _begin_model(self) -> Model:
        with self._lock:
            self._audit = Audit(self._definition.audit)
            seed, additions = self._definition.choices["seed"], self._ledger.additions
            model = self._model = Model(self._first_procedure(), seed, additions)
            model.take(Steps.of(DECIDE), self._stop)
            return model

    def _first_procedure(self) -> Procedure:
        """The algorithm on the arms that were there before the first result."""
        procedure, problem = self._procedure, self._procedure.problem
        for added in self._ledger.added:
            if added.from_start:
                problem = problem.with_arms(*added.addition)
        return procedure if problem is procedure.problem else procedure.rebind(problem)

    def _take_news(self) -> None:
        """Let model and audit see what is new; from the first result on where one was corrected."""
        steps = self._ledger.settle()
        if self._ledger.is_rewritten:
            self._at_begin()
            self._begin_model()
            steps = self._ledger.all_steps()
            self._ledger.is_rewritten = False
        model = self._model or self._begin_model()
        if (steps.kinds == CORRECT).any():  # all tests are made anew, of the right values
            self._audit = Audit(self._definition.audit)
        model.take(steps, self._stop)
        if model.verifies:
            self._audit.end()
        elif len(self._ledger.taken) >= self._audit.due:
            self._audit.follow(model, self._ledger.trials, self._ledger.taken)
        self.is_rejected = self._audit.rejection is not None
        self.results = len(self._ledger.taken)

    def _stop(self) -> None:
        self._audit.follow(self.model, self._ledger.trials, self._ledger.taken)
        self._at_stop()

    def _checkpoint(self) -> Checkpoint:
        """How far the study is; without digests of the model where nobody else reads them."""
        changes, fingerprint = self._ledger.changes, self._ledger.fingerprint
        if self.storage.where is None:
            return Checkpoint(changes, fingerprint, "", "", "")
        state = "stopped" if self.stopped else "running"
        return Checkpoint(changes, fingerprint, self.model.digest(), machine(), state)

    def change(self, act: Callable[[Transaction], Result], *, writing: bool = True) -> Result:
        """Do ``act`` in one transaction, begun with what others have done since the last.

        It is done wholly or not at all: until ``_agreed`` says so at the end, in one assignment, it
        has not been made here, and whoever looks next reads again what the storage has.
        """
        with self._lock:
            if self._agreed < 0 or self._agreed != self._ledger.changes:
                self._forget()
            self._is_changing = True
            try:
                while True:
                    try:
                        return self._transact(act, writing=writing)
                    except _MuchNews:
                        self._transact(lambda transaction: None, writing=False)
            finally:
                self._is_changing = False

    def _transact(self, act: Callable[[Transaction], Result], *, writing: bool) -> Result:
        with self.storage.transaction(writing=writing) as transaction:
            self._ahead = transaction.now - time.time()
            self._catch_up(transaction, writing=writing)
            ledger = self._ledger
            before, events = ledger.changes, len(ledger.events)
            ledger.written.clear()
            result = act(transaction)
            if ledger.has_news:
                self._take_news()
            if ledger.changes > before:
                trials = [ledger.trials[number] for number in ledger.written]
                opened = [trial.row for trial in trials if trial.opened > before]
                altered = [trial.row for trial in trials if trial.opened <= before]
                new = ledger.events[events:]
                transaction.commit(Change(opened, altered, new, self._checkpoint()))
        self._agreed = ledger.changes
        return result

    def _catch_up(self, transaction: Transaction, *, writing: bool) -> None:
        """Take in what others have done."""
        stored = transaction.checkpoint
        if stored.changes < self._ledger.changes:  # the storage was put back to an earlier copy
            self._forget()
        ledger = self._ledger
        if writing and stored.changes - ledger.changes > MUCH:
            raise _MuchNews
        if stored.changes > ledger.changes:
            # A million new trials are not garbage; the collector would scan them over and over.
            collects = gc.isenabled()
            gc.disable()
            try:
                pending = [trial.number for trial in ledger.pending]
                known = Known(ledger.changes, len(ledger.trials), pending)
                ledger.take_over(*transaction.news(known), stored.changes)
            finally:
                if collects:
                    gc.enable()
        if ledger.fingerprint != stored.fingerprint:
            self._agreed = -1  # what was read before may have been altered too
            raise DamagedStorage(
                f"{self.storage.where}: the stored trials do not have the fingerprint that they "
                "had when they were written. They were altered; restore them from a copy."
            )
        if writing and ledger.is_rewritten and len(ledger.taken) > MUCH:
            raise _MuchNews
        if ledger.has_news:
            self._take_news()
            own = self._checkpoint()
            differs = own.machine == stored.machine and own.posterior != stored.posterior
            if differs and not self._said_rounding:
                # Nothing was altered: the fingerprint covers every result.
                self._said_rounding = True
                warn_caller(
                    UserWarning(
                        f"{self.storage.where}: means of the same results are rounded otherwise here than "
                        "where they were stored, as with another number of threads "
                        "(OPENBLAS_NUM_THREADS) or another NumPy. All stored results are as they were "
                        "written. Where two candidates are nearly alike, what is asked next and the list "
                        "may differ between the two."
                    )
                )
        self._agreed = ledger.changes

    def undisturbed(self, look: Callable[[], Result]) -> Result:
        """What ``look`` finds, while no other thread changes the study and none forks."""
        with self._lock:
            return look()

    def before_fork(self) -> None:
        """Wait until no thread is at work: it might be compiling, with locks that a child never gets."""
        self._is_paused = self._lock.acquire(timeout=LONGEST_WAIT)

    def after_fork(self) -> None:
        """Go on in the parent."""
        if self._is_paused:
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Begin anew in a forked process: a thread that is not there may have been at work."""
        self._lock = threading.RLock()
        self._is_changing, self._agreed = False, -1

    # Asking

    def ask(
        self, count: int, *, in_turn: bool, run: str | None, key: str | None = None
    ) -> list[Trial] | None:
        """Trials to evaluate: those that nobody works on any more, then new ones; None at a stop.

        Of a cell that is wanted and whose trial is overdue, that trial is given out again. A budget, an
        audit or arms set aside may allow fewer than were asked for, or none. With a key that was used
        before, the trials that were asked for with it. A first plan goes on without the arms set aside
        where nothing else of it is wanted.
        """

        def act(transaction: Transaction) -> list[Trial] | None:
            model, ledger = self.model, self._ledger
            me = worker() if key is None else f"{WITH_KEY}{key}"
            if key is not None and (asked := ledger.asked_by(me)):
                return asked
            if self.is_rejected or (model.stopped and not self._audit.is_running):
                return None
            now, lease = transaction.now, self.lease
            expires = None if lease is None else now + lease
            free = self._unattended(transaction)[:count] if ledger.unsettled else []
            first = ledger.next_block
            if not ledger.blocks.renews:
                for trial in free:
                    self.close(trial, "cancelled", now, reason=TOO_LATE)
                free = []
            again = [ledger.renew(trial, me, run, expires, now, worker()) for trial in free]

            def wanted(times: int) -> Iterator[Trial]:
                overdue = {trial.cell: trial for trial in ledger.overdue(times)}
                for cell, cause in self._wanted(count - len(again), overdue):
                    if cell in overdue:
                        late = overdue[cell]
                        LOGGER.warning("trial %d is overdue, and asked for again", late.number)
                        yield ledger.renew(late, me, run, expires, now, worker())
                    else:
                        placed = ledger.blocks.placed(cell, first)
                        yield ledger.open(placed, cause, now, me, run, expires, in_turn)

            new = list(wanted(OVERDUE)) or list(wanted(OVERDUE_AT_THE_END))
            if not again and not new and self._leaves_out(now):
                if self.stopped or self.is_rejected:
                    return None
                new = list(wanted(OVERDUE))
            if LOGGER.isEnabledFor(logging.DEBUG):
                for trial in again + new:
                    LOGGER.debug("trial %d (%s) asked", trial.number, trial.name)
            return again + new

        return self.change(act)

    def _leaves_out(self, now: float) -> bool:
        """Go on without arms that are set aside, if nothing else is waited for; whether there are any."""
        failing = dict(self._ledger.set_aside)
        if self._ledger.pending or not failing:
            return False
        try:
            self._check_retirement(list(failing))
        except InvalidInput:
            return False
        for arm, failures in failing.items():
            self._retire(arm, failures.words, now, failing=True)
        self._take_news()
        return True

    def _unattended(self, transaction: Transaction) -> list[Trial]:
        """The pending trials that nobody works on any more."""
        now, wanted = transaction.now, self._ledger.pending
        if self.model.stopped:  # the rounds are over: what they asked for is of no use any more
            wanted = [trial for trial in wanted if trial.cause.origin == "audit"]
        wanted = [t for t in wanted if t.run is not None or t.expires_at is not None]
        # A lease that was read before may have been renewed since, and is never made shorter.
        if any(t.run is not None and self._leases.get(t.run, 0.0) <= now for t in wanted):
            self._leases = transaction.leases()
        return [trial for trial in wanted if self.is_free(trial, now)]

    def is_free(self, trial: Trial, now: float) -> bool:
        """Whether nobody works on a pending trial any more, as far as leases are known here."""
        if trial.expires_at is not None and trial.expires_at <= now:
            return True
        return trial.run is not None and (
            self._leases.get(trial.run, 0.0) <= now or is_dead(trial.run)
        )

    def free_in(self, trial: Trial) -> float | None:
        """In how many seconds an open trial is given out again if nothing is heard; None if never."""
        ends = [] if trial.expires_at is None else [trial.expires_at]
        if trial.run is not None:
            ends.append(self._leases.get(trial.run, 0.0))
        return min(ends) - self.now if ends else None

    def _wanted(self, count: int, overdue: Collection[Cell]) -> Iterator[tuple[Cell, Cause]]:
        """The cells to evaluate next; each must be opened before the one after it is asked for.

        Those that are ``overdue`` do not count as under way.
        """
        model, ledger = self.model, self._ledger
        if self._audit.is_open:
            for cell in self._audit.missing(ledger.trials)[:count]:
                yield cell, Cause("audit")
                count -= 1
        if model.stopped:
            return
        # Those under way are counted as told.
        made = len(ledger.taken) + len(ledger.unsettled)
        count = int(min(count, self._procedure.engine.setup.aim.room(made)))
        ahead: Ahead | None = None
        aside = ledger.set_aside
        absent = {NO_ARM, *aside, *ledger.retired}
        controls = self._procedure.problem.controls.places(count, ledger.next_block, model.seed)
        for place in range(count):
            if (control := controls.get(place, NO_ARM)) not in absent:
                yield Cell(control), Cause("control")
                if ahead is not None:
                    ahead.suppose(Cell(control))
                continue
            if model.initialized and not ledger.unsettled and not ledger.seconds:
                decision = model.decision
                if (
                    decision is not None
                    and not decision.stop
                    and decision.arm != NO_ARM
                    and not (aside and (decision.arm in aside or decision.queued in aside))
                ):
                    yield Cell(decision.arm, decision.block), Cause.of(decision)
                    continue
            if ahead is None:
                open_or_told = [trial.cell for trial in (*ledger.pending, *ledger.waiting)]
                ahead = Ahead(model, [cell for cell in open_or_told if cell not in overdue])
            cell_and_cause = self._next(ahead)
            if cell_and_cause is None:
                return
            yield cell_and_cause
            ahead.suppose(cell_and_cause[0])

    def _next(self, ahead: Ahead) -> tuple[Cell, Cause] | None:
        """The next cell, as if those under way had come out at their means.

        None where all arms that are wanted now are set aside.
        """
        aside = self._ledger.set_aside
        if not self.model.initialized:
            initial = ahead.initial(aside)
            return None if initial is None else (initial, Cause("initial"))
        if self._ledger.seconds:
            # Even if it was set aside after its round: until it is asked for no new round begins.
            cause = self._ledger.seconds[0]
            return Cell(cause.second), cause._replace(origin="second of a round", second=NO_ARM)
        decision = ahead.decide(aside)
        if decision is None:
            return None
        return Cell(decision.arm, decision.block), Cause.of(decision)

    # Telling

    def tell(
        self,
        results: Sequence[tuple[Trial | int, float]] = (),
        unasked: Sequence[tuple[Cell, float, str | None]] = (),
        *,
        if_told: IfTold = "raise",
    ) -> Told:
        """Results of trials, and unrequested results by cell, all or none.

        A trial that was told before is left alone with ``"ignore"``, and with ``"same"`` if it was
        told this value. An unrequested result with a key that was told before is left alone. Where
        a cell has one result, what is told of it is told to the trial that is open.
        """

        def act(transaction: Transaction) -> Told:
            ledger, now = self._ledger, transaction.now
            by_number: dict[int, Trial] = {}
            values: dict[int, float] = {}
            for given, value in results:
                trial = ledger.find(given)
                if trial.number in by_number:
                    raise InvalidInput("a trial is told twice in one call: nothing was told.")
                by_number[trial.number] = trial
                is_same = if_told == "same" and trial.was_told(value)
                if trial.state != "told" or not (is_same or if_told == "ignore"):
                    values[trial.number] = value
            new = [
                self.close(by_number[n], "told", now, value=value) for n, value in values.items()
            ]
            by_number |= {trial.number: trial for trial in new}
            trials = list(by_number.values())
            for cell, value, key in unasked:
                known = self._told_before(cell, value, key)
                own = ledger.cells.get(cell)
                if known is None and own is not None and own.state == "told":
                    is_same = if_told == "same" and own.was_told(value)
                    if not (is_same or if_told == "ignore"):
                        raise self._has_result(own, value)
                    known = own
                if known is None:
                    opened = own or self._open(cell, "unasked", now, key)
                    known = self.close(opened, "told", now, value=value)
                    new.append(known)
                trials.append(known)
            for trial in new:  # an arm that was left out for failures comes back
                retirement = ledger.retired.get(trial.arm)
                if retirement is not None and retirement.failing:
                    ledger.readmit(trial.number, now, worker(), left_out=True)
            return Told(trials, new)

        return self.change(act)

    def _has_result(self, known: Trial, value: float) -> TrialClosed:
        """The error for a second result of a cell that has one."""
        right = advise("correct", trial=known.number, value=value)
        return TrialClosed(
            f"{known.name!r} has its result on block {known.block!r} already: trial {known.number} "
            f"was told {known.value!r}, and now comes {value!r}. Nothing was told: a pool has one "
            f"result of an arm on a block. {right} corrects a wrong one."
        )

    def _told_before(self, cell: Cell, value: float, key: str | None) -> Trial | None:
        """The trial of an unrequested result that was told before with the same key."""
        known = None if key is None else self._ledger.keyed.get(key)
        if known is None or (known.cell == cell and known.was_told(value)):
            return known
        arm = cell.arm
        right = advise("correct", trial=known.number, value=value)
        raise TrialClosed(
            f"the key {key!r} was told before as trial {known.number} ({known.value!r} for arm "
            f"{known.name!r}), but now comes with {value!r} for arm "
            f"{self._ledger.names[arm]!r}: nothing was told. Give a new result a key of its "
            f"own; {right} corrects a wrong one."
        )

    def _open(
        self, cell: Cell, origin: Origin, now: float, key: str | None, others: tuple[str, ...] = ()
    ) -> Trial:
        """A trial that is closed in the same transaction."""
        return self._ledger.open(cell, Cause(origin), now, worker(), key=key, other_keys=others)

    def carry(
        self, trials: Sequence[Trial], taken: Sequence[Trial], source: Source, own_mark: str
    ) -> list[Trial]:
        """Copy the trials of another study, all or none, each once; returns those told, in order.

        In a study without trials every copy keeps its number: what has no result is then copied as
        cancelled. ``taken`` are those of the ``trials`` that were processed, in that order.
        ``own_mark`` is this study's.
        """
        arms = {str(name): arm for arm, name in enumerate(self.ledger.names)}
        processed = dict.fromkeys(trial.number for trial in taken)
        ended = [t for t in trials if t.state == "failed" or t.number in processed]
        copied = [t for t in trials[: ended[-1].number + 1 if ended else 0] if str(t.name) in arms]

        def act(transaction: Transaction) -> list[Trial]:
            ledger, now = self._ledger, transaction.now
            keeps_numbers, before = not ledger.trials, ledger.changes
            known, same = ledger.copies_of(ended, source.mark, own_mark)
            copies = same | known
            groups = dict(zip(processed, came_together(taken)[1], strict=True))
            blocks = {
                groups.get(trial.number) if trial.block is None else trial.block: copies[
                    trial.number
                ].block_index
                for trial in ended
                if trial.number in copies
            }
            opened: dict[int, Trial] = {}
            for trial in copied:
                is_told, failed = trial.number in processed, trial.state == "failed"
                key = key_of_trial(source.mark, trial.number) if is_told or failed else None
                if trial.number in copies or (key is None and not keeps_numbers):
                    continue
                others = trial.keys if key else ()
                group = groups.get(trial.number, f"trial {trial.number}")
                block = ledger.blocks.carried(trial.block, blocks, ledger.next_block, group)
                cell = Cell(arms[str(trial.name)], block)
                if cell in ledger.cells:
                    copies[trial.number] = self._same_cell(ledger.cells[cell], trial, now)
                    continue
                copy = self._open(cell, "carried", now, key, others)
                if failed:
                    self.close(copy, "failed", now, reason=trial.reason)
                elif is_told:
                    opened[trial.number] = copy
                else:
                    words = f"{trial.state} in {source.name!r} when its results were carried over"
                    self.close(copy, "cancelled", now, reason=words)
            for trial in taken:
                if trial.number in opened:
                    copy = opened[trial.number]
                    copies[trial.number] = self.close(copy, "told", now, value=trial.value)
            noted_before = on_one_line(source.mark) in [each.mark for each in ledger.sources]
            # Also if nothing was copied: trials that are open there must have other seeds here.
            if ledger.changes > before or not noted_before:
                ledger.note_source(source, own_mark, now, worker())
            return [copies[trial.number] for trial in taken]

        return self.change(act)

    def _same_cell(self, own: Trial, there: Trial, now: float) -> Trial:
        """The trial here of a cell that another study has a trial of, told if it was told there."""
        if there.value is None or (own.state == "told" and own.is_like(there)):
            return own
        if own.state == "told":
            raise self._has_result(own, there.value)
        return self.close(own, "told", now, value=there.value)

    def close(
        self,
        trial: Trial,
        state: State,
        now: float,
        *,
        value: float | None = None,
        reason: str | None = None,
    ) -> Trial:
        """End a pending trial, within a change; returns it as it is then."""
        closed = self._ledger.close(trial, state, value, at=now, reason=reason)
        if state == "failed":
            LOGGER.warning("trial %d (%s) failed: %s", trial.number, trial.name, reason)
        elif LOGGER.isEnabledFor(logging.DEBUG):
            words = "" if value is None else f": {value!r}"
            LOGGER.debug("trial %d (%s) %s%s", trial.number, trial.name, state, words)
        return closed

    def end(
        self,
        trials: Sequence[Trial | int],
        state: State,
        reason: str | None,
        *,
        again: bool = False,
    ) -> tuple[list[Trial], list[Trial]]:
        """End pending trials without a result, all or none: those that end now, and the others.

        The others ended so before, which is an error unless it may be done ``again``.
        """

        def act(transaction: Transaction) -> tuple[list[Trial], list[Trial]]:
            distinct = {trial.number: trial for trial in map(self._ledger.find, trials)}.values()
            before = [trial for trial in distinct if again and trial.state == state]
            others = [trial for trial in distinct if trial not in before]
            # Those that cannot be ended come first: then nothing has been changed yet.
            others.sort(key=lambda trial: trial.state == "pending")
            now = transaction.now
            ended = [self.close(trial, state, now, reason=reason) for trial in others]
            return ended, before

        return self.change(act)

    def give_up(self, trials: Sequence[Trial], *, cancel: bool) -> None:
        """Cancel those that are pending, or give them back, to be asked for again at once."""

        def act(transaction: Transaction) -> None:
            now = transaction.now
            for trial in map(self._ledger.find, trials):
                if trial.state == "pending" and cancel:
                    self.close(trial, "cancelled", now)
                elif trial.state == "pending":
                    self._ledger.renew(trial, trial.worker, None, now, now, worker())

        self.change(act)

    def retire(self, arm: int, reason: str) -> Retirement:
        """Let an arm never be asked for again, and cancel what is open of it."""

        def act(transaction: Transaction) -> Retirement:
            if arm in self._ledger.retired:
                return self._ledger.retired[arm]
            self._check_retirement([arm])
            return self._retire(arm, reason, transaction.now)

        return self.change(act)

    def readmit(self) -> None:
        """Ask again for the arms that are set aside, or were left out because they failed."""

        def act(transaction: Transaction) -> None:
            ledger = self._ledger
            back = any(each.failing for each in ledger.retired.values())
            if back or ledger.set_aside:
                ledger.readmit(NO_ARM, transaction.now, worker(), left_out=back)

        self.change(act)

    def _retire(
        self,
        arm: int,
        reason: str,
        now: float,
        *,
        failing: bool = False,
    ) -> Retirement:
        ledger = self._ledger
        for trial in [each for each in ledger.pending if each.arm == arm]:
            self.close(trial, "cancelled", now, reason=f"retired: {reason}")
        given = arm, ledger.names[arm], reason, failing
        retirement = ledger.retire(Retirement(*given), now, worker())
        LOGGER.info("arm %s retired: %s", retirement.name, reason)
        return retirement

    def _check_retirement(self, arms: list[int]) -> None:
        """Raise where arms cannot be retired."""
        procedure = self.procedure
        name, m = self._ledger.names[arms[0]], procedure.problem.m
        left = int(procedure.problem.listable[np.setdiff1d(procedure.arms_left, arms)].sum())
        if left <= m:
            raise InvalidInput(
                f"without {name!r} only {left:,} arms would be left, and m = {m}: they would be the "
                "answer whatever their means, and there would be nothing to find out. Nothing was "
                "changed."
            )
        if not procedure.engine.setup.aim.certifies:
            raise InvalidInput(
                "arms cannot be retired from a study with a budget: what was spent on them would be "
                "missing. Nothing was changed. Begin a study without the arm, with the rest of the "
                f"budget and these results: {advise('carry over')}."
            )
        if not procedure.engine.searches:
            raise InvalidInput(
                f"{procedure.name} cannot go on without an arm: its proof is for the arms it began with. "
                "Nothing was changed. Go on with an algorithm that can, and retire the arm there: "
                f"{continued(algorithm='auto')}."
            )

    def add(self, names: tuple[Label, ...], rows: list[list[float]] | None) -> None:
        """Let arms be evaluated from now on that were not there before."""

        def act(transaction: Transaction) -> None:
            ledger, procedure, model = self._ledger, self.procedure, self.model
            if any((each.names, each.rows) == (names, rows) for each in ledger.added):
                return
            there = set(map(str, ledger.names))
            if known := [name for name in names if str(name) in there]:
                raise InvalidInput(
                    f"{quoted(known, 5)} {'is' if len(known) == 1 else 'are'} in the study already: "
                    "nothing was changed. Leave out the arms that it has."
                )
            from_start = not ledger.trials
            if not from_start:
                self._check_growth(procedure, model)
            ledger.add(Added(names, rows, from_start), transaction.now, worker())
            LOGGER.info("%d arms added", len(names))

        self.change(act)

    def _check_growth(self, procedure: Procedure, model: Model) -> None:
        """Raise where arms cannot be added to a study that has trials."""
        again = (
            f"Begin another study with all arms, and give it these results: {advise('carry over')}."
        )
        if not procedure.engine.searches:
            raise InvalidInput(
                f"{procedure.name} cannot take more arms: its proof is for a number of arms that is "
                f"fixed before the first result. Nothing was changed. {again}"
            )

    def step(self, kind: Kind, check: Callable[[], bool]) -> None:
        """Take a stop back, or go on by verifying the answer.

        ``check`` looks at the study as it is then, and says whether there is anything to do, or raises.
        """

        def act(transaction: Transaction) -> None:
            if check():
                self._ledger.step(kind, transaction.now, worker())

        self.change(act)

    def why_not_wider(self, epsilon: float | None = None) -> str:
        """Why ε cannot be made larger, such as this one; empty if it can."""
        if self.model.stopped:
            return (
                "the study has stopped, and a larger epsilon would only make its answer worth "
                f"less: nothing was changed. {advise('certain')} says at which epsilon it is "
                "certified."
            )
        return ""

    def widen(self, epsilon: object) -> None:
        """Go on with a larger ε, or stop with it; nothing if it is as large already."""

        def act(transaction: Transaction) -> None:
            problem = self.procedure.problem
            wider = problem.widened(epsilon).epsilon
            if wider == problem.epsilon:
                return
            if why := self.why_not_wider(wider):
                raise InvalidInput(why)
            self._ledger.step("widened", transaction.now, worker(), wider)
            LOGGER.info("epsilon widened from %g to %g", problem.epsilon, wider)

        self.change(act)

    def correct(
        self, trial: Trial | int, value: float, reason: str, arm: int | None = None
    ) -> Trial:
        """Put a told result right, and take all results in again; nothing if it is right already."""

        def act(transaction: Transaction) -> Trial:
            own = self._ledger.find(trial)
            if arm is not None and own.arm != arm:
                told = [t.number for t in self._ledger.trials if t.arm == arm and t.state == "told"]
                raise InvalidInput(
                    f"trial {own.number} is of {own.name!r}, not of "
                    f"{self._ledger.names[arm]!r}: nothing was changed. "
                    + (
                        f"That arm has the results of trials {', '.join(map(str, told))}."
                        if told
                        else "That arm has no result."
                    )
                )
            if own.state != "told":
                raise TrialClosed(
                    f"trial {own.number} ({own.name!r}) is {own.state}: only a told result can "
                    "be corrected. "
                    + (
                        "Tell it."
                        if own.state == "pending"
                        else "A result without a trial is told by its arm: "
                        f"{advise('tell', arm=None, value=None)}."
                    )
                )
            if own.value == value:
                return own
            corrected = self._ledger.correct(own, value, reason, transaction.now, worker())
            words = "trial %d (%s) corrected from %r to %r: %s"
            LOGGER.info(words, own.number, own.name, own.value, value, reason)
            return corrected

        return self.change(act)

    def refresh(self) -> None:
        """Read what others have done."""
        self.change(lambda transaction: None, writing=False)


def arms_added(storage: Storage) -> list[Addition]:
    """The arms that were added to the study that was found in a storage, in order."""
    ledger = Ledger((), 0)
    with storage.transaction(writing=False) as transaction:
        for event in transaction.news(Known(0, sys.maxsize, []))[1]:
            ledger.follow_arms(event)
    return [each.addition for each in ledger.added]


def begun(definition: Definition) -> Checkpoint:
    """The checkpoint of a study that was begun just now."""
    return Checkpoint(0, definition.fingerprint, "", "", "running")


def empty_ledger(definition: Definition) -> Ledger:
    """The ledger of a study that has no trials yet."""
    seed = definition.choices["seed"]
    drawn = definition.digest, definition.blocks, definition.feature_row
    return Ledger(definition.names, seed, *drawn)


@cache
def worker() -> str:
    """The user and the machine, for people to read."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    # A name that is not UTF-8 could neither be stored nor printed.
    return f"{user}@{socket.gethostname()}".encode(errors="replace").decode()
