"""Evaluations in flight: asked for, sent to an executor, told when they come back."""

from __future__ import annotations

import os
import random
import traceback
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import InvalidSetting, unknown_name
from shortlist.problem import whole_number
from shortlist.study.journal import Journal
from shortlist.study.ledger import checked_value
from shortlist.study.progress import ProgressLine
from shortlist.study.trial import Trial
from shortlist.study.worker import process

if TYPE_CHECKING:
    from shortlist.study.study import Study

Objective = Callable[[Trial], Any]
ORDERS = ("asked", "completion")
# Results that may wait for an earlier one, for each evaluation in flight. Beyond that no new ones
# are asked for: one evaluation that hangs must not be waited for with evaluations without end.
WAITING = 8


class Here(Executor):
    """Evaluates at once, in the caller's own thread."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """The result, or the error, in a future that is over."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*given, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def evaluate_trial(objective: Objective, trial: Trial, asker: int) -> Any:
    """One evaluation.

    Forked processes begin with one and the same state of the global generators, and would all draw
    the same numbers: elsewhere than in the asking process these are seeded by the trial.
    """
    if os.getpid() != asker:
        random.seed(trial.seed)
        np.random.seed(trial.seed % 2**32)  # noqa: NPY002 - it is the global state that is meant
    return objective(trial)


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
    flight = Flight(journal, objective, _executor(executor), in_turn=order == "asked")
    with ProgressLine(study, progress) as line:
        try:
            while True:
                room = batch - len(flight.trials)
                if most is not None:
                    room = min(room, most - flight.told - len(flight.trials))
                if len(study.waiting) > WAITING * batch:
                    room = 0
                if room > 0:
                    flight.depart(room)
                if study.done or not flight.trials:
                    break
                flight.land(max_failures)
                line.update()
        except BaseException:
            flight.abort()
            raise
        flight.cancel()


def _executor(given: Any) -> Executor:
    """The executor meant: none is here, and a Dask client has one."""
    if given is None:
        return Here()
    if isinstance(given, Executor):
        return given
    if hasattr(given, "get_executor"):
        return given.get_executor(pure=False)
    raise InvalidSetting(
        "executor must be a concurrent.futures.Executor or a Dask client, got "
        f"{type(given).__name__}."
    )


class Flight:
    """The evaluations of one run that are under way."""

    def __init__(
        self, journal: Journal, objective: Objective, executor: Executor, *, in_turn: bool
    ) -> None:
        self._journal, self._objective, self._executor = journal, objective, executor
        self._in_turn = in_turn
        self._process = process()
        self._failures = 0
        self.told = 0
        self.trials: dict[Future[Any], Trial] = {}

    def depart(self, count: int) -> None:
        """Ask for more and send them off."""
        asked = self._journal.ask(count, in_turn=self._in_turn, process=self._process) or []
        for place, trial in enumerate(asked):
            try:
                future = self._executor.submit(evaluate_trial, self._objective, trial, os.getpid())
            except BaseException:
                self._journal.release(asked[place:])
                raise
            self.trials[future] = trial

    def land(self, max_failures: int) -> None:
        """Wait for one at least, and tell all that have come."""
        over, _ = wait(self.trials, return_when=FIRST_COMPLETED)
        for future in sorted(over, key=lambda future: self.trials[future].number):
            trial = self.trials[future]
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                raise error  # not the objective's fault: the trial is given back
            if error is None:
                error = self._tell(trial, future.result())
            if error is not None:
                self._fail(trial, error)
            del self.trials[future]
            if error is not None:
                self._failures += 1
                if self._failures > max_failures:
                    raise error

    def _tell(self, trial: Trial, value: Any) -> Exception | None:
        try:
            result = checked_value(value)
        except ValueError as error:
            return error
        with self._journal.change() as transaction:
            # Its lease may have run out, and another been told meanwhile.
            if trial.state == "pending":
                self._journal.close(transaction, trial, "told", value=result)
                self.told += 1
        return None

    def _fail(self, trial: Trial, error: BaseException) -> None:
        reason = "".join(traceback.format_exception(error))
        with self._journal.change() as transaction:
            if trial.state == "pending":
                self._journal.close(transaction, trial, "failed", reason=reason)

    def abort(self) -> None:
        """Give back what is under way, to be asked for again."""
        for future in self.trials:
            future.cancel()
        self._journal.release(list(self.trials.values()))

    def cancel(self) -> None:
        """The study is over: nothing more is wanted."""
        for future, trial in self.trials.items():
            future.cancel()
            with self._journal.change() as transaction:
                if trial.state == "pending":
                    self._journal.close(transaction, trial, "cancelled")
