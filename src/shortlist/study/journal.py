"""Ledger, model and storage kept in step: every change is one transaction, on top of all others'."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.steps import Steps
from shortlist.errors import DamagedStorage, InvalidInput
from shortlist.study.contract import Standing, Storage, Transaction, Unstored
from shortlist.study.forking import working
from shortlist.study.ledger import Ledger, check_pending, check_same_result
from shortlist.study.model import Ahead, Model, machine
from shortlist.study.settings import Settings
from shortlist.study.trial import NOBODY, Cause, State, Trial, alter
from shortlist.study.worker import has_ended, worker


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
    """

    def __init__(self, bound: Bound, settings: Settings, at_stop: Callable[[], None]) -> None:
        self._bound, self._settings, self._at_stop = bound, settings, at_stop
        self.storage: Storage = Unstored()
        self._lock = threading.RLock()
        self._ahead = 0.0  # seconds by which the storage's clock is ahead of this machine's

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""
        return time.time() + self._ahead

    def begin(self) -> None:
        """Start from nothing."""
        seed = self._settings.choices["seed"]
        self.ledger = Ledger(self._settings.names, seed, self._settings.digest)
        self.model = Model(self._bound, seed)
        self.model.take(Steps.supposing([]), self._at_stop)

    @property
    def standing(self) -> Standing:
        """How far the study is."""
        state = "stopped" if self.model.stopped else "running"
        digests = (self.ledger.fingerprint, self.model.digest(), machine())
        return Standing(self.ledger.changes, *digests, state)

    @contextmanager
    def change(self, *, writing: bool = True) -> Iterator[Transaction]:
        """One transaction, begun with what others have done since the last."""
        with working(), self._lock:
            kept = self.ledger.changes
            try:
                with self.storage.transaction(writing=writing) as transaction:
                    self._ahead = transaction.now - time.time()
                    self._catch_up(transaction)
                    kept = self.ledger.changes
                    yield transaction
                    if self.ledger.has_news:
                        self.model.take(self.ledger.settle(), self._at_stop)
                    if self.ledger.changes > kept and self.storage.where is not None:
                        transaction.seal(self.standing)
            except BaseException as error:
                stored = self.storage.where is not None
                if stored and (self.ledger.changes > kept or isinstance(error, DamagedStorage)):
                    self.begin()  # memory is ahead of what was kept: read all of it anew
                raise

    def _catch_up(self, transaction: Transaction) -> None:
        stored = transaction.standing
        if stored is None:
            return
        with _without_collections():
            self._compare(transaction, stored)

    def _compare(self, transaction: Transaction, stored: Standing) -> None:
        if stored.changes < self.ledger.changes:
            self.begin()  # the storage was put back to an earlier copy
        news = stored.changes > self.ledger.changes
        if news:
            pending = [trial.number for trial in self.ledger.pending]
            known = self.ledger.changes, len(self.ledger.trials), pending
            rows, events = transaction.news(*known)
            self.ledger.take_over(rows, events, stored.changes)
        if self.ledger.fingerprint != stored.fingerprint:
            raise DamagedStorage(
                f"{self.storage.where}: the stored trials do not have the fingerprint that they "
                "had when they were written. They were altered; restore them from a copy."
            )
        if news:
            self.model.take(self.ledger.settle(), self._at_stop)
            own = self.standing
            same = (own.posterior, own.state) == (stored.posterior, stored.state)
            if own.machine == stored.machine and not same:
                raise DamagedStorage(
                    f"{self.storage.where}: what is stored gives other means, or another stop, "
                    "than it gave when it was written. It was altered; restore it from a copy."
                )

    def ask(self, count: int, *, in_turn: bool, process: str | None) -> list[Trial] | None:
        """Trials to evaluate: those that nobody works on any more, then new ones; None at a stop.

        A budget may allow fewer than were asked for, or none.
        """
        with self.change() as transaction:
            if self.model.stopped:
                return None
            now, lost = transaction.now, transaction.unclaimed()
            lease = self._settings.choices["lease"]
            expires = None if lease is None else now + lease
            again = [
                trial
                for trial in self.ledger.pending
                if trial.number in lost or is_free(trial, now, transaction.is_connected)
            ][:count]
            for trial in again:
                alter(trial, worker=worker(), process=process, expires_at=expires)
                self._note_renewal(transaction, trial)
            ahead = Ahead(self.model, self.ledger.unsettled_arms)
            new = []
            for _ in range(min(count - len(again), self._room())):
                trial = self.ledger.open(*self._next(ahead), in_turn=in_turn)
                alter(trial, asked_at=now, expires_at=expires, worker=worker(), process=process)
                ahead.suppose(trial.arm)
                new.append(trial)
            if new:
                transaction.insert(new)
        return again + new

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

    def add(
        self, transaction: Transaction, arm: int, value: float, key: str | None = None
    ) -> Trial:
        """A result that nobody asked for; the one that is there if its key has been told before."""
        known = None if key is None else self.ledger.keyed(key)
        if known is not None:
            check_same_result(known, arm, value)
            return known
        trial = self.ledger.open(arm, Cause("unasked"), key=key)
        alter(trial, asked_at=transaction.now, worker=worker())
        transaction.insert([trial])
        self.close(transaction, trial, "told", value=value)
        return trial

    def tell(self, results: list[tuple[Trial | int, float]], *, twice: bool) -> list[Trial]:
        """Results of pending trials, all or none; those told before are left out if ``twice``."""
        with self.change() as transaction:
            found = [(self.ledger.find(trial), value) for trial, value in results]
            if len({trial.number for trial, _ in found}) < len(found):
                raise InvalidInput("a trial is told twice in one call: nothing was told.")
            news = [(t, v) for t, v in found if t.state != "told" or not twice]
            for trial, _ in news:
                check_pending(trial)
            for trial, value in news:
                self.close(transaction, trial, "told", value=value)
        return [trial for trial, _ in found]

    def end(self, trial: Trial | int, state: State, reason: str | None) -> Trial:
        """End a pending trial without a result."""
        with self.change() as transaction:
            ended = self.ledger.find(trial)
            check_pending(ended)
            self.close(transaction, ended, state, reason=reason)
        return ended

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
        self.ledger.close(trial, state, value)
        alter(trial, closed_at=transaction.now, reason=reason)
        transaction.update([trial], self.ledger.changes)

    def release(self, trials: list[Trial]) -> None:
        """Give back trials that nobody evaluates any more, to be asked for again at once."""
        with self.change() as transaction:
            for trial in map(self.ledger.find, trials):
                if trial.state == "pending":
                    alter(trial, process=None, expires_at=transaction.now)
                    self._note_renewal(transaction, trial)

    def _note_renewal(self, transaction: Transaction, trial: Trial) -> None:
        change = self.ledger.renew(trial)
        transaction.note(change, "renewed", trial.number, worker())
        transaction.update([trial], change)

    def reopen(self) -> None:
        """Take a stop back."""
        with self.change() as transaction:
            transaction.note(self.ledger.reopen(), "reopened", NOBODY, worker())


@contextmanager
def _without_collections() -> Iterator[None]:
    """No garbage collection: a million new trials are no garbage, and are looked at every time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def is_free(trial: Trial, now: float, is_connected: Callable[[str], bool]) -> bool:
    """Whether nobody works on a pending trial any more."""
    if trial.expires_at is not None and trial.expires_at <= now:
        return True
    return trial.process is not None and has_ended(trial.process, now, is_connected)
