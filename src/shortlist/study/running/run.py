"""Evaluations in flight: asked for, sent to an executor, told when they come back."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from shortlist.errors import BudgetSpent, InvalidInput, OutcomeUnknown, StorageError, unknown_name
from shortlist.problem import whole_number
from shortlist.study.budget import no_room
from shortlist.study.journal import Journal, Transaction, is_free
from shortlist.study.running.executors import check_sendable, find_executor, is_lost
from shortlist.study.running.objective import Objective, Outcome, evaluate_trial, place
from shortlist.study.running.progress import ProgressLine
from shortlist.study.running.untold import Untold
from shortlist.study.storage.process import running
from shortlist.study.trial import Trial
from shortlist.study.view import View

ORDERS = ("asked", "completion")
# Results that may wait for an earlier one, for each evaluation in flight. Beyond that no new ones
# are asked for: one evaluation that hangs must not be waited for with evaluations without end.
WAITING = 8
PATIENCE = 30.0  # seconds after which a run says whom it is waiting for
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds until a storage that is away is tried again
PASSING = (StorageError, OutcomeUnknown)  # other errors of a storage do not pass by waiting
LOOK_ROUND = 1.0  # seconds after which to see what others did, when nothing comes back


def evaluate(
    study: View,
    journal: Journal,
    objective: Objective,
    *,
    refresh: Callable[[], None],
    executor: Any,
    batch: int,
    order: str,
    max_evaluations: int | None,
    max_failures: int,
    patience: float,
    progress: bool,
) -> None:
    """Keep ``batch`` evaluations in flight until the study stops, or cannot."""
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    most = None if max_evaluations is None else whole_number("max_evaluations", max_evaluations, 1)
    where = find_executor(executor)
    check_sendable(where, objective, "the objective")
    refresh()
    with running(journal.now) as run, ProgressLine(study, progress) as line:
        flight = Flight(journal, objective, where, run, batch, order == "asked", most, max_failures)
        storage = Patience(patience, line, flight)
        try:
            while not flight.is_full:
                storage.needed_for(flight.depart)
                if study.done or study.audit.rejection is not None:
                    break
                if flight.is_stuck:
                    raise BudgetSpent(no_room(study))
                if flight.land():
                    storage.needed_for(flight.tell)
                    flight.go_on()
                else:
                    storage.needed_for(refresh)
                line.update()
            over = study.done or study.audit.rejection is not None
            storage.needed_for(lambda: flight.end(cancel=over))
        except BaseException as error:
            flight.abandon(error)
            raise


class Patience:
    """With a storage that is away: what needs it is tried again, with growing pauses.

    Parameters
    ----------
    seconds : float
        For how long.
    line : ProgressLine
        Says so.
    flight : Flight
        Keeps what has come meanwhile.
    """

    def __init__(self, seconds: float, line: ProgressLine, flight: Flight) -> None:
        self._seconds, self._line, self._flight = seconds, line, flight

    def needed_for(self, act: Callable[[], object]) -> None:
        """Do something that needs the storage."""
        deadline, pause = time.monotonic() + self._seconds, FIRST_PAUSE
        while True:
            try:
                act()
                self._line.say("")
                return
            except StorageError as error:
                left = deadline - time.monotonic()
                if type(error) not in PASSING or left <= 0.0:
                    raise
                self._flight.unsure |= isinstance(error, OutcomeUnknown)
                self._line.say(
                    f"the storage is away, {self._flight.kept} results are kept here; trying again "
                    f"for {left:.0f} s: {error}"
                )
            time.sleep(min(pause, left))
            pause = min(2.0 * pause, LONGEST_PAUSE)


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
        self._kept: list[tuple[Trial, Outcome]] = []  # come back, and not told yet
        self._lost: list[Trial] = []  # by the executor: to be sent again
        self._ending: BaseException | None = None
        self.unsure = False  # whether results that are kept may have been told
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
            for trial in map(self._as_known, self._trials.values())
            if trial.state == "pending"
            and trial.process == self._process
            and (trial.expires_at is None or trial.expires_at > now)
        ]

    def _as_known(self, trial: Trial) -> Trial:
        """The study's own; it is another one when all was read anew after the storage was away."""
        known = self._journal.ledger.trials
        return known[trial.number] if trial.number < len(known) else trial

    def land(self) -> bool:
        """Wait for one at least, and keep all that have come; False if none came for a while."""
        ends = [trial.expires_at for trial in self._away() if trial.expires_at is not None]
        patience = min([LOOK_ROUND, *(end - self._journal.now for end in ends)])
        try:
            back = [self._back.get(timeout=max(patience, 0.001))]
        except Empty:
            self._say_who_is_waited_for()
            return False
        self._heard = time.monotonic()
        self._keep(back + self._others_back())
        return True

    @property
    def kept(self) -> int:
        """How many results have come back and are not told yet."""
        return len(self._kept) + self._back.qsize()

    def go_on(self) -> None:
        """Send again what was lost; raise what is to end the run."""
        if self._ending is not None:
            raise self._ending
        for trial in self._lost:
            self._send(trial)
        self._lost = []

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

    def _keep(self, back: list[Future[Any]]) -> None:
        self._kept += [(self._sent[future], _outcome(future)) for future in back]
        for future in back:
            del self._sent[future]

    def tell(self) -> None:
        """Tell what is kept, in one transaction; notes what was lost, and what is to end the run."""
        lost: list[Trial] = []
        ending: BaseException | None = None
        told, failures = self._told, self._failures

        def act(transaction: Transaction) -> None:
            nonlocal ending, told, failures
            for sent, (value, error, words) in self._kept:
                trial = self._journal.ledger.find(sent)
                if trial.state != "pending":
                    # Its lease ran out, and another evaluation of it was told; or it was told here,
                    # and the storage did not come to say so.
                    ours = trial.process == self._process and trial.value == value
                    told += self.unsure and trial.state == "told" and ours
                    continue
                if error is None:
                    outside = self._outside(value)
                    if outside is not None:
                        # No failure, however many may be: to leave such results out would bias
                        # what is kept. The trial stays open.
                        ending = ending or outside
                    elif told != self._most:
                        self._journal.close(transaction, trial, "told", value=value)
                        told += 1
                    continue
                failures += 1
                if words is None:
                    lost.append(trial)
                else:
                    self._journal.close(transaction, trial, "failed", reason=words)
                hopeless = words is None and not is_lost(error)
                if ending is None and (hopeless or failures > self._max_failures):
                    ending = error

        self._journal.change(act)
        self._told, self._failures = told, failures
        self._lost, self._ending = [*self._lost, *lost], self._ending or ending
        for sent, _ in self._kept:
            if self._as_known(sent).state != "pending":
                self._trials.pop(sent.number, None)
        self._kept, self.unsure = [], False

    def _outside(self, value: float | None) -> InvalidInput | None:
        """Why a result cannot be taken in, by the algorithm or by what is known of the noise."""
        try:
            self._journal.model.bound.check(value or 0.0)
        except InvalidInput as error:
            return error
        return None

    def end(self, *, cancel: bool) -> None:
        """Tell what is there, and cancel the rest, or give it back to be asked for again."""
        self._keep(self._others_back())
        try:
            self.tell()
        finally:
            for future in self._sent:
                future.cancel()
            known = map(self._as_known, self._trials.values())
            own = [trial for trial in known if trial.process == self._process]
            if cancel:
                self._journal.cancel(own)
            else:
                self._journal.release(own)

    def abandon(self, error: BaseException) -> None:
        """Give up because of an error: tell what is there, or write it down if that cannot be done."""
        try:
            self.end(cancel=False)
        except StorageError as away:
            untold = Untold(self._journal.storage.where or "")
            self._write_down(untold)
            if not untold.results:
                return
            if isinstance(error, StorageError):
                raise StorageError(f"{error} {untold}") from away
            error.add_note(f"{away} {untold}")

    def _write_down(self, untold: Untold) -> None:
        """Write down what is kept, and what is still to come when it comes."""
        for sent, outcome in self._kept:
            if outcome.value is not None:
                untold.add(sent, outcome.value)

        def later(future: Future[Any]) -> None:
            value = _outcome(future).value
            if value is not None:
                untold.add(sent_as[future], value)

        sent_as = dict(self._sent)
        for future in sent_as:
            if not future.cancel():
                future.add_done_callback(later)


def _outcome(future: Future[Any]) -> Outcome:
    """What came back; an error of the executor's own has no words to be kept."""
    if future.cancelled():
        return Outcome(None, CancelledError("the executor cancelled an evaluation."), None)
    error = future.exception()
    return Outcome(None, error, None) if error is not None else future.result()
