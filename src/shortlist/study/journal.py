"""Ledger, model and storage kept in step: every change is one transaction, on top of all others'."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.steps import Steps
from shortlist.errors import DamagedStorage, InvalidInput
from shortlist.study.contract import Standing, Storage, Transaction, Unstored
from shortlist.study.ledger import Ledger, Mark, check_pending
from shortlist.study.model import Ahead, Model, machine
from shortlist.study.settings import Settings
from shortlist.study.trial import NOBODY, Cause, State, Trial
from shortlist.study.worker import has_ended, worker

Result = TypeVar("Result")


class Journal:
    """What a study has asked and been told, the same for all who share its storage.

    Parameters
    ----------
    bound : Bound
        The algorithm on its problem.
    settings : Settings
        Of the study.
    at_stop : callable
        Called at every stop, before anything later is taken in.
    at_begin : callable
        Called before all results are taken in from the first: no stop has been met yet.
    """

    def __init__(
        self,
        bound: Bound,
        settings: Settings,
        at_stop: Callable[[], None],
        at_begin: Callable[[], None],
    ) -> None:
        self._bound, self._settings = bound, settings
        self._at_stop, self._at_begin = at_stop, at_begin
        self.storage: Storage = Unstored()
        self._lock = threading.RLock()
        self._at_work = False  # in a change, or in mending

    def begin(self) -> None:
        """Start from nothing."""
        seed = self._settings.choices["seed"]
        self._ledger = Ledger(self._settings.names, seed, self._settings.digest)
        self._mark: Mark | None = None  # before the change that is being made
        self._is_stale = True  # the model: it has not taken in what the ledger says
        self._mend()

    @property
    def ledger(self) -> Ledger:
        """The trials."""
        if not self._at_work:
            self._mend()
        return self._ledger

    @property
    def model(self) -> Model:
        """What the algorithm makes of their results."""
        if not self._at_work:
            self._mend()
        return self._model

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
        self._model = Model(self._bound, self._settings.choices["seed"])
        self._model.take(Steps.supposing([]), self._at_stop)
        self._model.take(self._ledger.all_steps(), self._at_stop)

    @property
    def standing(self) -> Standing:
        """How far the study is."""
        state = "stopped" if self.model.stopped else "running"
        digests = (self.ledger.fingerprint, self.model.digest(), machine())
        return Standing(self.ledger.changes, *digests, state)

    def change(self, act: Callable[[Transaction], Result], *, writing: bool = True) -> Result:
        """Do ``act`` in one transaction, begun with what others have done since the last.

        It is done wholly or not at all. Whatever is raised, and wherever, the ledger is put back to
        what it was, trials in the caller's hands with it. If the model had begun to take results
        in, it is made again from the ledger by whoever asks for it next. So is all of it where an
        exception cut this short too: until ``_mark`` is None, the change has not been made.

        This is a function that is given one, and no context manager: the exception could come
        between the manager's own lines, where nothing of it would be called.
        """
        with self._lock:
            self._mend()
            self._at_work = True
            try:
                with self.storage.transaction(writing=writing) as transaction:
                    self._mark = self._ledger.mark()
                    if self._catch_up(transaction):
                        self._mark, self._is_stale = self._ledger.mark(), False
                    kept = self._ledger.changes
                    result = act(transaction)
                    if self._ledger.has_news:
                        self._take_in()
                    if self._ledger.changes > kept and self.storage.where is not None:
                        transaction.seal(self.standing)
                self._mark, self._is_stale = None, False
            except BaseException as error:
                if isinstance(error, DamagedStorage):
                    self.begin()  # what was read before may have been altered too: read it anew
                elif self._mark is not None:
                    self._ledger.restore(self._mark)
                    self._mark = None
                raise
            finally:
                self._at_work = False
        return result

    def _take_in(self) -> None:
        steps = self._ledger.settle()
        self._is_stale = True  # until the change has been made
        self._model.take(steps, self._at_stop)

    def _catch_up(self, transaction: Transaction) -> bool:
        """Take in what others have done; whether there was anything."""
        stored = transaction.standing
        if stored is None:
            return False
        # A million new trials are no garbage, and would be looked at again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._compare(transaction, stored)
        finally:
            if collects:
                gc.enable()

    def _compare(self, transaction: Transaction, stored: Standing) -> bool:
        is_earlier = stored.changes < self.ledger.changes
        if is_earlier:  # the storage was put back to an earlier copy
            self.begin()
            self._replay()
        news = stored.changes > self.ledger.changes
        if news:
            rows, events = transaction.news(self.ledger.changes)
            self.ledger.take_over(rows, events, stored.changes)
        if self.ledger.fingerprint != stored.fingerprint:
            raise DamagedStorage(
                f"{self.storage.where}: the stored trials do not have the fingerprint that they "
                "had when they were written. They were altered; restore them from a copy."
            )
        if news:
            self._take_in()
            own = self.standing
            if own.machine == stored.machine and own.posterior != stored.posterior:
                raise DamagedStorage(
                    f"{self.storage.where}: what is stored gives other means than it gave when it "
                    "was written. It was altered; restore it from a copy."
                )
        return news or is_earlier

    def ask(self, count: int, *, in_turn: bool, process: str | None) -> list[Trial] | None:
        """Trials to evaluate: those that nobody works on any more, then new ones; None at a stop.

        A budget may allow fewer than were asked for, or none.
        """

        def act(transaction: Transaction) -> list[Trial] | None:
            if self.model.stopped:
                return None
            now = time.time()
            lease = self._settings.choices["lease"]
            expires = None if lease is None else now + lease
            again = [trial for trial in self.ledger.pending if is_free(trial, now)][:count]
            for trial in again:
                self._renew(transaction, trial, worker(), process, expires)
            ahead = Ahead(self.model, self.ledger.unsettled_arms)
            new = []
            for _ in range(min(count - len(again), self._room())):
                trial = self.ledger.open(*self._next(ahead), in_turn=in_turn)
                trial.asked_at, trial.expires_at = now, expires
                trial.worker, trial.process = worker(), process
                ahead.suppose(trial.arm)
                new.append(trial)
            if new:
                transaction.insert(new)
            return again + new

        return self.change(act)

    def _room(self) -> int:
        """How many trials may still be opened, with those under way counted as told."""
        budget = self._bound.engine.budget
        if budget is None:
            return sys.maxsize
        return budget - len(self.ledger.taken) - len(self.ledger.unsettled_arms)

    def _next(self, ahead: Ahead) -> tuple[int, Cause]:
        initial = ahead.initial()
        if initial is not None:
            return initial, Cause("initial")
        if self.ledger.seconds:
            cause = self.ledger.seconds[0]
            return cause.second, cause._replace(origin="second of a round", second=NOBODY)
        decision = self.model.decision
        if decision is None or decision.stop or not ahead.is_now:
            decision = ahead.decide()
        return decision.arm, Cause.of(decision)

    def add(self, arm: int, value: float) -> Trial:
        """A result that nobody asked for."""

        def act(transaction: Transaction) -> Trial:
            trial = self.ledger.open(arm, Cause("unasked"))
            trial.asked_at, trial.worker = time.time(), worker()
            transaction.insert([trial])
            self.close(transaction, trial, "told", value=value)
            return trial

        return self.change(act)

    def tell(self, results: list[tuple[Trial | int, float]], *, twice: bool) -> list[Trial]:
        """Results of pending trials, all or none; those told before are left out if ``twice``."""

        def act(transaction: Transaction) -> list[Trial]:
            found = [(self.ledger.find(trial), value) for trial, value in results]
            if len({trial.number for trial, _ in found}) < len(found):
                raise InvalidInput("a trial is told twice in one call: nothing was told.")
            news = [(t, v) for t, v in found if t.state != "told" or not twice]
            for trial, _ in news:
                check_pending(trial)
            for trial, value in news:
                self.close(transaction, trial, "told", value=value)
            return [trial for trial, _ in found]

        return self.change(act)

    def end(self, trial: Trial | int, state: State, reason: str | None) -> Trial:
        """End a pending trial without a result."""

        def act(transaction: Transaction) -> Trial:
            ended = self.ledger.find(trial)
            check_pending(ended)
            self.close(transaction, ended, state, reason=reason)
            return ended

        return self.change(act)

    def cancel(self, trials: list[Trial]) -> None:
        """End those of the trials that are pending."""

        def act(transaction: Transaction) -> None:
            for trial in map(self.ledger.find, trials):
                if trial.state == "pending":
                    self.close(transaction, trial, "cancelled")

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
        self.ledger.close(trial, state, value, at=time.time(), reason=reason)
        transaction.update([trial], self.ledger.changes)

    def release(self, trials: list[Trial]) -> None:
        """Give back trials that nobody evaluates any more, to be asked for again at once."""

        def act(transaction: Transaction) -> None:
            for trial in map(self.ledger.find, trials):
                if trial.state == "pending":
                    self._renew(transaction, trial, trial.worker, None, time.time())

        self.change(act)

    def _renew(
        self,
        transaction: Transaction,
        trial: Trial,
        whose: str,
        process: str | None,
        expires: float | None,
    ) -> None:
        change = self.ledger.renew(trial, whose, process, expires)
        transaction.note(change, "renewed", trial.number, worker())
        transaction.update([trial], change)

    def reopen(self) -> None:
        """Take a stop back."""

        def act(transaction: Transaction) -> None:
            transaction.note(self.ledger.reopen(), "reopened", NOBODY, worker())

        self.change(act)

    def refresh(self) -> None:
        """Take in what others have done."""
        self.change(lambda transaction: None, writing=False)


def is_free(trial: Trial, now: float) -> bool:
    """Whether nobody works on a pending trial any more."""
    if trial.expires_at is not None and trial.expires_at <= now:
        return True
    return trial.process is not None and has_ended(trial.process)
