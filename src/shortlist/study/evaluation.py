"""Evaluations in flight: asked for, sent to an executor, told when they come back."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import CancelledError, Executor, Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shortlist.errors import BudgetSpent, InvalidInput, unknown_name
from shortlist.problem import whole_number
from shortlist.study.budget import no_room
from shortlist.study.executors import check_sendable, find_executor, is_lost
from shortlist.study.journal import Journal, is_free
from shortlist.study.outcome import Objective as Objective
from shortlist.study.outcome import Outcome, evaluate_trial, place
from shortlist.study.progress import ProgressLine
from shortlist.study.trial import Trial
from shortlist.study.worker import running

if TYPE_CHECKING:
    from shortlist.study.study import Study

ORDERS = ("asked", "completion")
# Results that may wait for an earlier one, for each evaluation in flight. Beyond that no new ones
# are asked for: one evaluation that hangs must not be waited for with evaluations without end.
WAITING = 8
PATIENCE = 30.0  # seconds after which a run says whom it is waiting for
LOOK_ROUND = 1.0  # seconds after which to see what others did, when nothing comes back


def evaluate(
    study: Study,
    journal: Journal,
    objective: Objective,
    *,
    executor: Any,
    batch: int,
    order: str,
    max_evaluations: int | None,
    max_failures: int,
    progress: bool,
) -> None:
    """Keep ``batch`` evaluations in flight until the study stops."""
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    most = None if max_evaluations is None else whole_number("max_evaluations", max_evaluations, 1)
    where = find_executor(executor)
    check_sendable(where, objective, "the objective")
    study.refresh()
    with running(journal.now) as run, ProgressLine(study, progress) as line:
        flight = Flight(journal, objective, where, run, batch, order == "asked", most, max_failures)
        try:
            while not flight.is_full:
                flight.depart()
                if study.done:
                    break
                if flight.is_stuck:
                    raise BudgetSpent(no_room(study))
                if not flight.land():
                    study.refresh()
                line.update()
        except BaseException:
            flight.end(cancel=False)
            raise
        flight.end(cancel=study.done)


class Flight:
    """The evaluations of one run that are under way."""

    def __init__(
        self,
        journal: Journal,
        objective: Objective,
        executor: Executor,
        run: str | None,
        batch: int,
        in_turn: bool,
        most: int | None,
        max_failures: int,
    ) -> None:
        self._journal, self._objective, self._executor = journal, objective, executor
        self._batch, self._in_turn = batch, in_turn
        self._most, self._max_failures = most, max_failures
        self._process = run
        self._told = self._failures = 0
        self._refused = False  # the last time, for want of budget
        self._trials: dict[int, Trial] = {}  # asked for by this run, and not ended by it
        self._sent: dict[Future[Any], Trial] = {}
        self._back: SimpleQueue[Future[Any]] = SimpleQueue()  # in the order of completion
        self._heard, self._waited = time.monotonic(), False

    @property
    def is_full(self) -> bool:
        """Whether all results that were wanted are told."""
        return self._told == self._most

    @property
    def is_stuck(self) -> bool:
        """Whether the rest of a budget is with others, of whom nobody knows whether they work."""
        pending = self._journal.ledger.pending
        known = bool(pending) and all(trial.process is not None for trial in pending)
        return self._refused and not known and not self._away()

    def depart(self) -> None:
        """Ask for as many as there is room for, and send them off."""
        room = self._room()
        if room <= 0:
            return
        found = self._journal.ask(room, in_turn=self._in_turn, process=self._process)
        self._refused = found == []
        asked = found or []
        self._trials.update((trial.number, trial) for trial in asked)
        for trial in asked:
            self._send(trial)

    def _send(self, trial: Trial) -> None:
        errand = (self._objective, trial, place(), uuid4().hex)
        future = self._executor.submit(evaluate_trial, *errand)
        self._sent[future] = trial
        future.add_done_callback(self._back.put)

    def _room(self) -> int:
        away, pending = len(self._away()), self._journal.ledger.pending
        room = self._batch - away
        if len(self._journal.ledger.waiting) > WAITING * max(self._batch, len(pending)):
            # Only what is waited for, if nobody works on it any more.
            now = self._journal.now
            room = min(room, sum(is_free(trial, now, lambda _: False) for trial in pending))
        return room if self._most is None else min(room, self._most - self._told - away)

    def _away(self) -> list[Trial]:
        """Those in flight, without those whose lease is over: they may be asked for again."""
        now = self._journal.now
        return [
            trial
            for trial in self._trials.values()
            if trial.state == "pending"
            and trial.process == self._process
            and (trial.expires_at is None or trial.expires_at > now)
        ]

    def land(self) -> bool:
        """Wait for one at least, and tell all that have come; False if none came for a while."""
        ends = [trial.expires_at for trial in self._away() if trial.expires_at is not None]
        patience = min([LOOK_ROUND, *(end - self._journal.now for end in ends)])
        try:
            back = [self._back.get(timeout=max(patience, 0.001))]
        except Empty:
            self._say_who_is_waited_for()
            return False
        self._heard = time.monotonic()
        lost, ending = self._take(back + self._others_back())
        if ending is not None:
            raise ending
        for trial in lost:
            self._send(trial)
        return True

    def _say_who_is_waited_for(self) -> None:
        """Once, where nothing is in flight here and others' trials keep the run waiting."""
        if self._sent or self._waited or time.monotonic() - self._heard < PATIENCE:
            return
        pending = self._journal.ledger.pending
        if pending:
            self._waited = True
            first = min(pending, key=lambda trial: trial.number)
            warnings.warn(
                f"the run waits for {len(pending)} trials of others, first of all trial "
                f"{first.number} ({first.name}), asked for by {first.worker}: tell it, or fail or "
                "cancel it, if nobody evaluates it any more.",
                stacklevel=5,
            )

    def _others_back(self) -> list[Future[Any]]:
        return [self._back.get() for _ in range(self._back.qsize())]

    def _take(self, back: list[Future[Any]]) -> tuple[list[Trial], BaseException | None]:
        """Tell what came, in one transaction; returns what was lost, and what is to end the run."""
        come = [(self._sent.pop(future), _outcome(future)) for future in back]
        lost: list[Trial] = []
        ending: BaseException | None = None
        with self._journal.change() as transaction:
            for sent, (value, error, words) in come:
                trial = self._journal.ledger.find(sent)
                if trial.state != "pending":
                    continue  # its lease ran out, and another evaluation of it was told
                if error is None:
                    outside = self._outside(value)
                    if outside is not None:
                        # No failure, however many may be: to leave such results out would bias
                        # what is kept. The trial stays open.
                        ending = ending or outside
                    elif not self.is_full:
                        self._journal.close(transaction, trial, "told", value=value)
                        self._told += 1
                    continue
                self._failures += 1
                if words is None:
                    lost.append(trial)
                else:
                    self._journal.close(transaction, trial, "failed", reason=words)
                hopeless = words is None and not is_lost(error)
                if ending is None and (hopeless or self._failures > self._max_failures):
                    ending = error
        for sent, _ in come:
            if sent.state != "pending":
                self._trials.pop(sent.number, None)
        return lost, ending

    def _outside(self, value: float | None) -> InvalidInput | None:
        """Why a result cannot be taken in, by the algorithm or by what is known of the noise."""
        try:
            self._journal.model.bound.check(value or 0.0)
        except InvalidInput as error:
            return error
        return None

    def end(self, *, cancel: bool) -> None:
        """Tell what is there, and cancel the rest, or give it back to be asked for again."""
        self._take(self._others_back())
        for future in self._sent:
            future.cancel()
        own = [trial for trial in self._trials.values() if trial.process == self._process]
        if not cancel:
            self._journal.release(own)
            return
        with self._journal.change() as transaction:
            for trial in map(self._journal.ledger.find, own):
                if trial.state == "pending":
                    self._journal.close(transaction, trial, "cancelled")


def _outcome(future: Future[Any]) -> Outcome:
    """What came back; an error of the executor's own has no words to be kept."""
    if future.cancelled():
        return Outcome(None, CancelledError("the executor cancelled an evaluation."), None)
    error = future.exception()
    return Outcome(None, error, None) if error is not None else future.result()
