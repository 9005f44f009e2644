"""Ledger, model and storage kept in step: every change is one transaction, on top of all others'."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from shortlist.arrays import NO_ARM
from shortlist.engine.bound_algorithm import BoundAlgorithm
from shortlist.engine.follow import Steps
from shortlist.errors import DamagedStorage, InvalidInput
from shortlist.study.definition import Settings
from shortlist.study.insight.audit import Audit
from shortlist.study.ledger import Ledger, Mark, check_same_result
from shortlist.study.model import Ahead, Model, machine
from shortlist.study.storage.contract import Known, Standing, Storage, Transaction, Unstored
from shortlist.study.storage.forking import keep_whole
from shortlist.study.storage.worker import has_ended, worker
from shortlist.study.trial import Cause, Origin, State, Trial

Result = TypeVar("Result")


class Journal:
    """What a study has asked and been told, the same for all who share its storage.

    Parameters
    ----------
    bound : BoundAlgorithm
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
        bound: BoundAlgorithm,
        settings: Settings,
        at_stop: Callable[[], None],
        at_begin: Callable[[], None],
    ) -> None:
        self._bound, self._settings = bound, settings
        self._at_stop, self._at_begin = at_stop, at_begin
        self.storage: Storage = Unstored()
        self._lock = threading.RLock()
        keep_whole(self)
        self._at_work = False  # in a change, or in mending
        # Whether the means are not linear; an attribute, since nothing may be called after a change.
        self.is_rejected = False
        self._ahead = 0.0  # seconds by which the storage's clock is ahead of this machine's

    @property
    def now(self) -> float:
        """Seconds since 1970, by the clock that all who share the storage go by."""
        return time.time() + self._ahead

    def begin(self) -> None:
        """Start from nothing."""
        seed = self._settings.choices["seed"]
        self._ledger = Ledger(self._settings.names, seed, self._settings.digest)
        self._mark: Mark | None = None  # before the change that is being made
        self._is_stale = True  # model and audit: they have not taken in what the ledger says
        self._mend()

    @property
    def ledger(self) -> Ledger:
        """The trials."""
        if self._is_stale or self._mark is not None:
            self._mend()
        return self._ledger

    @property
    def model(self) -> Model:
        """What the algorithm makes of their results."""
        if self._is_stale or self._mark is not None:
            self._mend()
        return self._model

    @property
    def audit(self) -> Audit:
        """Whether the results speak against means that are linear in the features."""
        if self._is_stale or self._mark is not None:
            self._mend()
        return self._audit

    @property
    def stopped(self) -> bool:
        """Whether there is an answer, and nothing left to test of what it assumes."""
        if self._is_stale or self._mark is not None:
            self._mend()
        return self._model.stopped and not self._audit.is_open and not self.is_rejected

    @property
    def lease(self) -> float | None:
        """Seconds after which a trial may be asked for again."""
        lease: float | None = self._settings.choices["lease"]
        return lease

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
        self._audit = Audit(self._settings.audit)
        self._model = Model(self._bound, self._settings.choices["seed"])
        self._model.take(Steps.supposing([]), self._stop)
        self._take(self._ledger.all_steps())

    def _take(self, steps: Steps) -> None:
        """Let model and audit see results."""
        self._model.take(steps, self._stop)
        if len(self._ledger.taken) >= self._audit.due:
            self._audit.follow(self._model, self._ledger.trials, self._ledger.taken)
            self.is_rejected = self._audit.rejection is not None

    def _stop(self) -> None:
        self._audit.open(self._model, self._ledger.taken)
        self._at_stop()

    @property
    def standing(self) -> Standing:
        """How far the study is."""
        state = "stopped" if self.stopped else "running"
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
            if self._is_stale or self._mark is not None:
                self._mend()
            self._at_work = True
            try:
                with self.storage.transaction(writing=writing, known=self._known) as transaction:
                    self._ahead = transaction.now - time.time()
                    self._mark = self._ledger.mark()
                    if transaction.standing is not None and self._catch_up(transaction):
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
        self._take(steps)

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

    def _known(self) -> Known:
        pending = [trial.number for trial in self._ledger.pending]
        return Known(self._ledger.changes, len(self._ledger.trials), pending)

    def _compare(self, transaction: Transaction, stored: Standing) -> bool:
        is_earlier = stored.changes < self.ledger.changes
        if is_earlier:  # the storage was put back to an earlier copy
            self.begin()
            self._replay()
        news = stored.changes > self.ledger.changes
        if news:
            rows, events = transaction.news(self._known())
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

        A budget or an audit may allow fewer than were asked for, or none.
        """

        def act(transaction: Transaction) -> list[Trial] | None:
            model, ledger, me = self._model, self._ledger, worker()
            if self.is_rejected or (model.stopped and not self._audit.is_open):
                return None
            now, lease = transaction.now, self._settings.choices["lease"]
            expires = None if lease is None else now + lease
            again = self._unattended(transaction)[:count] if ledger.unsettled else []
            for trial in again:
                self._renew(transaction, trial, me, process, expires)
            new = [
                ledger.open(arm, cause, now, me, process, expires, in_turn)
                for arm, cause in self._wanted(count - len(again))
            ]
            if new:
                transaction.insert(new)
            return again + new

        return self.change(act)

    def _unattended(self, transaction: Transaction) -> list[Trial]:
        """The pending trials that nobody works on any more."""
        now, lost, wanted = transaction.now, transaction.unclaimed(), self._ledger.pending
        if self._model.stopped:  # the rounds are over: what they asked for is of no use any more
            wanted = [trial for trial in wanted if trial.cause.origin == "audit"]
        return [
            trial
            for trial in wanted
            if trial.number in lost or is_free(trial, now, transaction.is_connected)
        ]

    def _wanted(self, count: int) -> Iterator[tuple[int, Cause]]:
        """The arms to evaluate next; each must be opened before the one after it is asked for."""
        model, ledger = self._model, self._ledger
        if self._audit.due == 0:
            for arm in self._audit.missing(ledger.trials)[:count]:
                yield arm, Cause("audit")
                count -= 1
        if model.stopped:
            return
        ahead: Ahead | None = None
        for _ in range(min(count, self._room())):
            if model.initialized and not ledger.unsettled and not ledger.seconds:
                decision = model.decision
                if decision is not None and not decision.stop:
                    yield decision.arm, Cause.of(decision)
                    continue
            if ahead is None:
                ahead = Ahead(model, ledger.unsettled_arms)
            arm, cause = self._next(ahead)
            yield arm, cause
            ahead.suppose(arm)

    def _room(self) -> int:
        """How many trials may still be opened, with those under way counted as told."""
        budget = self._bound.engine.setup.budget
        if budget is None:
            return sys.maxsize
        return budget - len(self.ledger.taken) - len(self.ledger.unsettled_arms)

    def _next(self, ahead: Ahead) -> tuple[int, Cause]:
        """The next arm, as if those under way had come out at their means."""
        initial = ahead.initial()
        if initial is not None:
            return initial, Cause("initial")
        if self.ledger.seconds:
            cause = self.ledger.seconds[0]
            return cause.second, cause._replace(origin="second of a round", second=NO_ARM)
        decision = ahead.decide()
        return decision.arm, Cause.of(decision)

    def add(
        self,
        results: list[tuple[int, float]],
        origin: Origin = "unasked",
        key: str | None = None,
    ) -> list[Trial]:
        """Results that nobody asked for, all or none; one with a key is added once."""

        def act(transaction: Transaction) -> list[Trial]:
            added = []
            for arm, value in results:
                known = None if key is None else self.ledger.keyed(key)
                if known is not None:
                    check_same_result(known, arm, value)
                    return [known]
                trial = self.ledger.open(arm, Cause(origin), transaction.now, worker(), key=key)
                transaction.insert([trial])
                self.close(transaction, trial, "told", value=value)
                added.append(trial)
            return added

        return self.change(act)

    def tell(self, results: list[tuple[Trial | int, float]], *, twice: bool) -> list[Trial]:
        """Results of pending trials, all or none; those told before are left out if ``twice``."""

        def act(transaction: Transaction) -> list[Trial]:
            found: dict[int, Trial] = {}
            for given, value in results:
                trial = self._ledger.find(given)
                if trial.number in found:
                    raise InvalidInput("a trial is told twice in one call: nothing was told.")
                found[trial.number] = trial
                if trial.state != "told" or not twice:
                    self.close(transaction, trial, "told", value=value)
            return list(found.values())

        return self.change(act)

    def end(self, trial: Trial | int, state: State, reason: str | None) -> Trial:
        """End a pending trial without a result."""

        def act(transaction: Transaction) -> Trial:
            ended = self.ledger.find(trial)
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
        self._ledger.close(trial, state, value, at=transaction.now, reason=reason)
        transaction.update([trial], self._ledger.changes)

    def release(self, trials: list[Trial]) -> None:
        """Give back trials that nobody evaluates any more, to be asked for again at once."""

        def act(transaction: Transaction) -> None:
            for trial in map(self.ledger.find, trials):
                if trial.state == "pending":
                    self._renew(transaction, trial, trial.worker, None, transaction.now)

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
            transaction.note(self.ledger.reopen(), "reopened", NO_ARM, worker())

        self.change(act)

    def refresh(self) -> None:
        """Take in what others have done."""
        self.change(lambda transaction: None, writing=False)


def is_free(trial: Trial, now: float, is_connected: Callable[[str], bool]) -> bool:
    """Whether nobody works on a pending trial any more."""
    if trial.expires_at is not None and trial.expires_at <= now:
        return True
    return trial.process is not None and has_ended(trial.process, now, is_connected)
