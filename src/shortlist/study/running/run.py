"""A run: evaluations asked for, sent to an executor, and told when they come back."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from shortlist.advice import advise
from shortlist.errors import (
    InvalidInput,
    InvalidSetting,
    OutcomeUnknown,
    StorageError,
    unknown_name,
    warn_caller,
)
from shortlist.printable import count
from shortlist.problem import whole_number
from shortlist.storage.base import Storage, Transaction
from shortlist.study.definition import checked_seconds
from shortlist.study.failing_words import nothing_to_ask
from shortlist.study.log import Log
from shortlist.study.running.executors import (
    CoroutineExecutor,
    InlineExecutor,
    check_sendable,
    find_executor,
    is_coroutine_function,
    is_dask_client,
    is_lost,
)
from shortlist.study.running.objective import (
    Call,
    Evaluated,
    Objective,
    await_trial,
    evaluate_trial,
    process_id,
)
from shortlist.study.running.process import name_of_run
from shortlist.study.running.progress import ProgressLine
from shortlist.study.running.untold_results import UntoldResults
from shortlist.study.trial import Trial
from shortlist.study.view import View

LOGGER = logging.getLogger(__name__)
ORDERS = ("asked", "completion")
# Results that may wait for an earlier one, for each evaluation under way. Beyond that no new ones
# are asked for: one evaluation that hangs must not be waited for with evaluations without end.
WAITING = 8
PATIENCE = 5.0  # seconds after which a run says whom it is waiting for
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds until a storage that is away is tried again
# Seconds before an evaluation that raised is repeated: four times as long each time.
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
PASSING = (StorageError, OutcomeUnknown)  # other errors of a storage do not pass by waiting
AWAITED = 8  # evaluations of a coroutine function at a time
# Where an executor does not say how many workers it has: how many there may be, and seconds within
# which a free one begins.
MOST_WORKERS, BEGINS_WITHIN = 256, 0.2
LOOK_ROUND = 1.0  # seconds after which to see what others did, when nothing comes back


RUN_LEASE = 60.0  # seconds without a word from a run after which its trials are given out again


class RunLease:
    """Says to all who share a storage that a run is at work, as long as this is entered.

    It is renewed by ``renew``, and by a thread where the evaluations keep the run's own one busy.
    (Not always: a process that has threads should not be forked, and pools of processes do that.)
    """

    def __init__(self, storage: Storage, run: str, *, by_thread: bool) -> None:
        self._storage, self._run = storage, run
        self._renewed = -math.inf
        self._over, self._turn = threading.Event(), threading.Lock()
        self.is_away = False  # whether nobody should wait for the storage any more
        self._by_thread = by_thread and storage.where is not None

    def __enter__(self) -> None:
        self.renew()
        if self._by_thread:
            threading.Thread(target=self._keep, daemon=True).start()

    def renew(self) -> None:
        """Renew the lease if a third of it is over."""
        if time.monotonic() - self._renewed > RUN_LEASE / 3:
            self._storage.hold(self._run, RUN_LEASE)
            self._renewed = time.monotonic()

    def _keep(self) -> None:
        while not self._over.wait(RUN_LEASE / 4):
            with suppress(StorageError), self._turn:
                if not self._over.is_set():  # else it would begin again after its end
                    self.renew()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self.is_away:  # then the lease ends by itself
            return
        with suppress(StorageError), self._turn:
            self._storage.hold(self._run, 0.0)


class Run:
    """The evaluations of one ``Study.run``, whose parameters these are, that are under way."""

    def __init__(
        self,
        log: Log,
        objective: Objective,
        *,
        executor: Any,
        batch: int | None,
        order: str,
        max_evaluations: int | None,
        retries: int,
        max_failures: int,
        timeout: float | None,
        patience: float,
    ) -> None:
        self._log, self._objective = log, objective
        self._is_awaited = is_coroutine_function(objective)
        self._executor = find_executor(executor)
        self._batch, self._grows = self._first_batch(batch, executor)
        log.ledger.blocks.check_request(self._batch)
        log.procedure.problem.controls.check_request(self._batch)
        self._pauses = tuple(
            min(FIRST_WAIT * 4.0**k, LONGEST_WAIT)
            for k in range(whole_number("retries", retries, 0))
        )
        self._max_failures = whole_number("max_failures", max_failures, 0)
        self._patience = checked_seconds("patience", patience, zero=True)
        limit = math.inf if timeout is None else timeout
        self._timeout = checked_seconds("timeout", limit, endless=True)
        if order not in ORDERS:
            raise unknown_name("order", order, ORDERS)
        self._in_turn = order == "asked"
        self._most = max_evaluations
        if max_evaluations is not None:
            self._most = whole_number("max_evaluations", max_evaluations, 1)
        self._evaluates = await_trial if self._is_awaited else evaluate_trial
        self._run = name_of_run()
        in_this_thread = isinstance(self._executor, InlineExecutor)
        self._lease = RunLease(log.storage, self._run, by_thread=in_this_thread)
        check_sendable(self._executor, objective, "the objective")
        if self._is_awaited:
            self._executor = CoroutineExecutor()
        self._told = self._failures = 0
        self._refused = False  # whether the last ask found nothing to ask for
        self._trials: dict[int, Trial] = {}  # asked for by this run, and not ended by it
        self._sent: dict[Future[Any], Trial] = {}
        self._kept: list[tuple[Trial, Evaluated]] = []  # come back, and not told yet
        self._lost: list[Trial] = []  # by the executor: to be sent again
        self._ended: list[Trial] = []  # told or failed, and not reported to the caller yet
        self._ending: BaseException | None = None
        self._unsure = False  # whether results that are kept may have been told
        self._back: SimpleQueue[Future[Any]] = SimpleQueue()  # in the order of completion
        self._heard, self._waited = time.monotonic(), False

    def _first_batch(self, batch: int | None, executor: Any) -> tuple[int, bool]:
        """How many to keep under way, and whether it is to be found out how many workers there are."""
        shifts = self._log.ledger.blocks.shifts  # there a batch is a plate
        if self._is_awaited and executor is not None:
            raise InvalidSetting(
                "the objective is a coroutine function, which is awaited in an event loop, not sent to "
                "an executor: leave executor out, and say by batch=n how many to await at a time."
            )
        if batch is not None:
            most = whole_number("batch", batch, 1)
            if most > 1 and executor is None and not self._is_awaited and not shifts:
                warn_caller(
                    UserWarning(
                        f"batch={most} without an executor: {most} evaluations are asked for at a time, "
                        f"and made one after the other. For {most} at once write "
                        f"executor=ThreadPoolExecutor({most}), from concurrent.futures, or make the "
                        "objective a coroutine function (async def)."
                    )
                )
            return most, False
        if self._is_awaited:
            return AWAITED, False
        if executor is None or shifts:
            return 1, False
        if is_dask_client(executor):
            return max(sum(executor.nthreads().values()), 1), False
        return 1, True

    def _grow(self) -> None:
        """Find out how many workers the executor has: more are sent until one has to wait."""
        while self._grows and len(self._sent) == self._batch < MOST_WORKERS:
            deadline = time.monotonic() + BEGINS_WITHIN
            while not all(future.running() or future.done() for future in self._sent):
                if time.monotonic() > deadline:
                    if self._batch == 1:
                        warn_caller(
                            UserWarning(
                                "the executor does not say how many evaluations it can make at once, so "
                                "they are made one after the other: write batch=n for n at once."
                            )
                        )
                    self._grows, self._batch = False, max(self._batch - 1, 1)
                    return
                time.sleep(0.001)
            if any(future.done() for future in self._sent):
                return
            self._batch += 1
            self._ask_for_room()

    def evaluate(
        self,
        study: View,
        refresh: Callable[[], None],
        ended: Callable[[Trial], None],
        *,
        progress: bool,
    ) -> None:
        """Keep ``batch`` evaluations under way until the study stops, or cannot.

        ``ended`` is called with every trial that was told or has failed.
        """
        refresh()
        deadline = time.monotonic() + self._timeout
        with ProgressLine(study, progress) as self._line, self._lease:
            try:
                while self._told != self._most:
                    if time.monotonic() < deadline:
                        self._with_patience(self._ask_and_send)
                    elif not self._sent:
                        break
                    if study.done or study.audit.rejection is not None:
                        break
                    if self._is_stuck():
                        raise nothing_to_ask(study)
                        continue
                    if self._collect():
                        self._with_patience(self._tell)
                        self._report(ended)
                        if self._ending is not None:
                            raise self._ending
                        for trial in self._lost:
                            self._send(trial)
                        self._lost = []
                    else:
                        self._with_patience(refresh)
                    self._line.update()
                over = study.done or study.audit.rejection is not None
                self._with_patience(lambda: self._end(cancel=over))
                self._report(ended)
            except BaseException as error:
                self._abandon(error)
                raise
            finally:
                if self._is_awaited:
                    self._executor.shutdown()

    def _report(self, ended: Callable[[Trial], None]) -> None:
        """Pass on the trials that were told or have failed since the last time."""
        while self._ended:
            ended(self._as_known(self._ended.pop(0)))

    def _with_patience(self, act: Callable[[], object]) -> None:
        """Do something that needs the storage; while it is away, again and again."""
        deadline, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                act()
                self._line.say("")
                return
            except StorageError as error:
                left = deadline - time.monotonic()
                if type(error) not in PASSING or left <= 0.0:
                    raise
                self._unsure |= isinstance(error, OutcomeUnknown)
                LOGGER.warning("the storage is unavailable: %s", error)
                results = len(self._kept) + self._back.qsize()
                self._line.say(
                    f"the storage is unavailable; {results} results are held in memory; retrying for "
                    f"another {left:.0f} s: {error}"
                )
            time.sleep(min(pause, left))
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _is_stuck(self) -> bool:
        """Whether nothing can be asked for, and no worker that is known to run has a trial.

        Then the rest of the budget is pending elsewhere, or only arms set aside are wanted.
        """
        pending = self._log.ledger.pending
        known = bool(pending) and all(trial.run is not None for trial in pending)
        return self._refused and not known and not self._under_way()

    def _ask_and_send(self) -> None:
        """Ask for as many trials as there is room for, and send them to the executor."""
        self._lease.renew()
        self._ask_for_room()
        self._grow()

    def _ask_for_room(self) -> None:
        pending = self._log.ledger.pending
        for trial in pending:
            if trial.run == self._run and trial.number not in self._trials:
                # Asked for here, and the reply was lost.
                self._trials[trial.number] = trial
                self._send(trial)
        under_way = len(self._under_way())
        room = self._log.ledger.blocks.room(self._batch, under_way)
        if len(self._log.ledger.waiting) > WAITING * max(self._batch, len(pending)):
            # Only what is waited for, if nobody works on it any more.
            now = self._log.now
            room = min(room, sum(self._log.is_free(trial, now) for trial in pending))
        if self._most is not None:
            room = min(room, self._most - self._told - under_way)
        if room <= 0:
            return
        trials = self._log.ask(room, in_turn=self._in_turn, run=self._run)
        self._refused = trials == []
        asked = trials or []
        self._trials.update((trial.number, trial) for trial in asked)
        for trial in asked:
            self._send(trial)

    def _send(self, trial: Trial) -> None:
        call = Call(self._objective, trial, process_id(), uuid4().hex, self._pauses)
        future = self._executor.submit(self._evaluates, call)
        self._sent[future] = trial
        future.add_done_callback(self._back.put)

    def _under_way(self) -> list[Trial]:
        """The open trials of this run, without those whose lease is over."""
        now = self._log.now
        return [
            trial
            for trial in map(self._as_known, self._trials.values())
            if trial.state == "pending"
            and trial.run == self._run
            and (trial.expires_at is None or trial.expires_at > now)
        ]

    def _as_known(self, trial: Trial) -> Trial:
        """The trial as it is now."""
        known = self._log.ledger.trials
        return known[trial.number] if trial.number < len(known) else trial

    def _collect(self) -> bool:
        """Wait for one at least, and keep all that have come; False if none came for a while."""
        ends = [trial.expires_at for trial in self._under_way() if trial.expires_at is not None]
        patience = min([LOOK_ROUND, *(end - self._log.now for end in ends)])
        try:
            first = self._back.get(timeout=max(patience, 0.001))
        except Empty:
            self._say_who_is_waited_for()
            return False
        self._heard = time.monotonic()
        self._keep([first])
        return True

    def _say_who_is_waited_for(self) -> None:
        """Warn once, where nothing is under way here and others' trials keep the run waiting."""
        if self._sent or self._waited or time.monotonic() - self._heard < PATIENCE:
            return
        pending = self._log.ledger.pending
        if pending:
            self._waited = True
            first = min(pending, key=lambda trial: trial.number)
            again = self._log.free_in(first)
            what = (
                f"if nobody is evaluating it any more, call {advise('cancel', trial=first.number)}"
                if again is None
                else f"if nothing is heard from there, it is given out again in {max(again, 0.0):.0f} s"
            )
            warn_caller(
                UserWarning(
                    f"the run is waiting for {count(len(pending), 'trial')} of other workers, the first "
                    f"being trial {first.number} ({first.name}), asked for by {first.worker}: {what}."
                )
            )

    def _keep(self, back: list[Future[Any]]) -> None:
        """Keep what these futures gave, and all others that have come back."""
        back += [self._back.get() for _ in range(self._back.qsize())]
        self._kept += [(self._sent[future], _evaluated(future)) for future in back]
        for future in back:
            del self._sent[future]

    def _tell(self) -> None:
        """Tell what is kept, in one transaction; note what was lost, and what is to end the run."""
        lost: list[Trial] = []
        ended: list[Trial] = []
        ending: BaseException | None = None
        told, failures = self._told, self._failures

        def act(transaction: Transaction) -> None:
            nonlocal ending, told, failures
            now = transaction.now
            for sent, (value, error, words) in self._kept:
                trial = self._log.ledger.find(sent)
                if trial.state != "pending":
                    # Its lease ran out, and another evaluation of it was told; or it was told here,
                    # and the storage did not come to say so.
                    ours = trial.run == self._run and trial.value == value
                    told += self._unsure and trial.state == "told" and ours
                    continue
                if error is None:
                    outside = self._outside(value)
                    if outside is not None:
                        # No failure, however many may be: to leave such results out would bias
                        # what is kept. The trial stays open.
                        ending = ending or outside
                    elif told != self._most:
                        closed = self._log.close(trial, "told", now, value=value, reason=words)
                        ended.append(closed)
                        told += 1
                    continue
                failures += 1
                if words is None:
                    lost.append(trial)
                else:
                    ended.append(self._log.close(trial, "failed", now, reason=words))
                hopeless = words is None and not is_lost(error)
                if ending is None and (hopeless or failures > self._max_failures):
                    ending = error
                    which = f"trial {trial.number}, arm {trial.name!r}"
                    which += "" if trial.block is None else f" on block {trial.block!r}"
                    if words is not None:
                        goes_on = "run(max_failures=…) goes on after failures"
                        error.add_note(f"This was the evaluation of {which}; {goes_on}.")

        self._log.change(act)
        self._told, self._failures, self._ended = told, failures, [*self._ended, *ended]
        self._lost, self._ending = [*self._lost, *lost], self._ending or ending
        for sent, _ in self._kept:
            if self._as_known(sent).state != "pending":
                self._trials.pop(sent.number, None)
        self._kept, self._unsure = [], False

    def _outside(self, value: float | None) -> InvalidInput | None:
        """Why a result cannot be used, by the algorithm or by what is known about the noise."""
        try:
            self._log.procedure.noise.check_result(value or 0.0)
        except InvalidInput as error:
            return error
        return None

    def _end(self, *, cancel: bool) -> None:
        """Tell what is there, and cancel the rest, or give it back to be asked for again."""
        self._keep([])
        try:
            self._tell()
        finally:
            for future in self._sent:
                future.cancel()
            known = map(self._as_known, self._trials.values())
            own = [trial for trial in known if trial.run == self._run]
            self._log.give_up(own, cancel=cancel)

    def _abandon(self, error: BaseException) -> None:
        """Give up because of an error: tell what is there, or else write it to a file.

        A storage that was waited for with patience is not tried again. Whatever else keeps it from
        being told, such as a second Ctrl-C, it is written down.
        """
        away = error
        if type(error) not in PASSING:
            try:
                self._end(cancel=False)
                return
            except BaseException as failure:
                away = failure
        if isinstance(away, InvalidInput):  # refused, however often it is told
            if results := [
                (sent, outcome.value) for sent, outcome in self._kept if outcome.value is not None
            ]:
                calls = ", ".join(
                    f"tell(arm={sent.name!r}, value={value!r})" for sent, value in results
                )
                error.add_note(f"Not recorded, to be told to another study: {calls}.")
            return
        self._lease.is_away = True
        untold = UntoldResults(self._log.storage.where or "")
        self._write_down(untold)
        if not untold.results:
            return
        if isinstance(error, StorageError):
            raise StorageError(f"{error} {untold}") from away
        error.add_note(f"{away or type(away).__name__} {untold}")

    def _write_down(self, untold: UntoldResults) -> None:
        """Write down what is kept, and what is still to come when it comes."""
        for sent, outcome in self._kept:
            if outcome.value is not None:
                untold.add(sent, outcome.value)

        def later(future: Future[Any]) -> None:
            value = _evaluated(future).value
            if value is not None:
                untold.add(sent_as[future], value)

        sent_as = dict(self._sent)
        for future in sent_as:
            if not future.cancel():
                future.add_done_callback(later)


def _evaluated(future: Future[Any]) -> Evaluated:
    """What came back; an error of the executor's own has no words to be kept."""
    if future.cancelled():
        return Evaluated(None, CancelledError("the executor cancelled an evaluation."), None)
    error = future.exception()
    return Evaluated(None, error, None) if error is not None else future.result()
