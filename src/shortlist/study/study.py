"""The study: ask what to evaluate, tell what came out, stop when it is certain enough."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlist.algorithms.catalog import find_algorithm
from shortlist.algorithms.engine import Decision
from shortlist.algorithms.gifa import GIFA
from shortlist.core.posterior import Posterior
from shortlist.errors import (
    InvalidInput,
    InvalidSetting,
    StudyStopped,
    unknown_name,
)
from shortlist.problem import Problem, checked_seed, drawn_seed
from shortlist.study.answer import Shortlist, arm_table
from shortlist.study.ledger import Ledger, checked_value
from shortlist.study.progress import ProgressLine
from shortlist.study.trial import Reason, Trial


class Study:
    """Find the m best arms by asking for one evaluation after another.

    Parameters
    ----------
    features : array K × N, DataFrame or None
        One row an arm; a DataFrame's index names the arms. None with ``arms`` means a classical
        bandit: nothing is known of the arms.
    m : int
        How many to find.
    sigma : float
        The noise is σ-sub-Gaussian. There is no default: a wrong σ silently voids the guarantee.
    delta : float
        The risk of a wrong answer.
    epsilon : float
        The slack allowed in the means.
    S : float, optional
        A bound on ‖θ‖, for thresholds that need one.
    algorithm : str or GIFA
        See ``shortlist.algorithms``.
    threshold : optional
        In place of the algorithm's own.
    seed : int, optional
        For ties; by default drawn, and kept in ``study.seed``.
    arms : sequence, optional
        Names of the arms.

    Examples
    --------
    >>> features = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.4]]
    >>> study = Study(features, m=1, sigma=0.1, seed=0, arms=["a", "b", "c"])
    >>> noise = np.random.default_rng(0)
    >>> while not study.done:
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [1.0, 0.2, 0.8][trial.arm] + 0.1 * noise.standard_normal())
    >>> study.shortlist.names
    ('a',)
    """

    def __init__(
        self,
        features: ArrayLike | pd.DataFrame | None = None,
        m: int = 1,
        *,
        sigma: float | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        S: float | None = None,
        algorithm: str | GIFA = "m-LinGapE",
        threshold: Any = None,
        seed: int | None = None,
        arms: Sequence[Any] | None = None,
    ) -> None:
        self.problem = Problem.of(
            features, m, sigma=sigma, delta=delta, epsilon=epsilon, S=S, arms=arms
        )
        self.seed = drawn_seed() if seed is None else checked_seed(seed)
        self.bound = find_algorithm(algorithm).bind(self.problem, threshold)
        self._ledger = Ledger(self.problem.names, self.seed)
        self._initialized = False
        self._decided_at = -1
        self._posterior = self.bound.engine.posterior()
        self._round = self.bound.engine.round()
        self._decision: Decision | None = None
        self._queue: list[tuple[int, Reason]] = []
        self._answer: Shortlist | None = None
        self._after_change()

    # Asking

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next evaluation to make, or the next ``n``.

        Trials asked for and not told yet shrink the widths and leave the means alone, so that a
        batch is spread out; the stop looks at told results only.
        """
        if n is not None and (not isinstance(n, numbers.Integral) or n < 1):
            raise InvalidSetting(f"n must be a whole number of at least 1, got {n!r}.")
        if self.done:
            raise StudyStopped(
                f"the study stopped after {self.evaluations} evaluations and its answer is final: "
                "read study.shortlist, or call study.reopen() to go on evaluating."
            )
        if n is None:
            return self._ask_one()
        return [self._ask_one() for _ in range(n)]

    def _ask_one(self) -> Trial:
        arm, reason = self._next()
        return self._ledger.open(arm, reason)

    def _next(self) -> tuple[int, Reason]:
        pending = self.pending
        initial = self._next_initial(pending)
        if initial is not None:
            return initial, Reason.plain(self.problem.names[initial], "an initial pull")
        if self._queue:
            return self._queue.pop(0)
        decision = self._decision
        if decision is None or decision.stop or pending:
            decision = self._decide_beyond(pending)
        if decision.queued is not None:
            reason = Reason.of(decision, decision.queued, self.problem)
            self._queue.append((decision.queued, reason))
        return decision.arm, Reason.of(decision, decision.arm, self.problem)

    def _next_initial(self, pending: list[Trial]) -> int | None:
        counts = self._posterior.pulls + np.bincount(
            [trial.arm for trial in pending], minlength=self.problem.arms
        )
        wanted = np.zeros(self.problem.arms, np.int64)
        for arm in self.bound.engine.initial:
            wanted[arm] += 1
            if counts[arm] < wanted[arm]:
                return int(arm)
        if self._initialized:
            return None
        # All initial pulls are under way and nothing is known yet: go round them again.
        return int(min(self.bound.engine.initial, key=lambda arm: (counts[arm], arm)))

    def _decide_beyond(self, pending: list[Trial]) -> Decision:
        """The next pull as if every pending trial had come out at its current mean."""
        belief = self._posterior.copy()
        for trial in pending:
            belief.observe(trial.arm, float(belief.means[trial.arm]))
        decision, _ = self.bound.engine.decide(
            belief, self.bound.engine.round_beyond(self._round), self.seed, check_stop=False
        )
        return decision

    # Telling

    def tell(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        arm: int | str | None = None,
        if_told: Literal["raise", "ignore"] = "raise",
    ) -> Trial:
        """Take in a result.

        Parameters
        ----------
        trial : Trial or int
            Which one, itself or its number.
        value : float
            What came out; finite.
        arm : int or str
            In place of ``trial``, for data that nobody asked for.
        if_told : {"raise", "ignore"}
            What to do when the trial was told already.
        """
        if (trial is None) == (arm is None):
            raise InvalidSetting("tell either a trial or arm=…, and one of them only.")
        if if_told not in ("raise", "ignore"):
            raise unknown_name("if_told", if_told, ["raise", "ignore"])
        result = checked_value(value)
        if arm is not None:
            index = self.problem.index(arm)
            told = self._ledger.open(
                index, Reason.plain(self.problem.names[index], "data that nobody asked for")
            )
        else:
            told = self._ledger.find(trial)
            if told.state == "told" and if_told == "ignore":
                return told
        self._ledger.close(told, "told")
        told.value = result
        self._posterior.observe(told.arm, result)
        self._after_change()
        return told

    def fail(self, trial: Trial | int, reason: str = "") -> Trial:
        """Say that an evaluation came to nothing; no value is made up for it."""
        failed = self._ledger.find(trial)
        self._ledger.close(failed, "failed")
        failed.reason = str(reason)
        self._after_change()
        return failed

    def cancel(self, trial: Trial | int) -> Trial:
        """Say that an evaluation will not be made."""
        cancelled = self._ledger.find(trial)
        self._ledger.close(cancelled, "cancelled")
        self._after_change()
        return cancelled

    def _after_change(self) -> None:
        """Decide anew if there is news, and stop for good if it is time."""
        engine, posterior = self.bound.engine, self._posterior
        if not self._initialized:
            wanted = np.bincount(engine.initial, minlength=self.problem.arms)
            if np.any(posterior.pulls < wanted):
                return
            self._initialized = True
            if not posterior.ready:
                posterior.refresh()
        # A round that pulls two arms is looked at when both are in.
        if self.done or self._queue or posterior.observed == self._decided_at:
            return
        self._decided_at = posterior.observed
        self._decision, self._round = engine.decide(posterior, self._round, self.seed)
        if self._decision.stop:
            self._answer = self._shortlist(final=True)

    # Reading

    @property
    def done(self) -> bool:
        """Whether the study has stopped."""
        return self._answer is not None

    @property
    def evaluations(self) -> int:
        """How many results were told."""
        return self._posterior.observed

    @property
    def trials(self) -> list[Trial]:
        """Every trial so far, by number."""
        return self._ledger.trials

    @property
    def pending(self) -> list[Trial]:
        """The trials asked for and still open, oldest first."""
        return self._ledger.pending

    @property
    def posterior(self) -> Posterior:
        """Means, variances and pulls as told so far."""
        return self._posterior

    @property
    def statistic(self) -> float | None:
        """What must fall to ε for the study to stop; None during the initial pulls."""
        return None if self._decision is None else self._decision.statistic

    @property
    def shortlist(self) -> Shortlist:
        """The answer: final once the study is done, before that the current guess."""
        return self._answer or self._shortlist(final=False)

    def _shortlist(self, *, final: bool) -> Shortlist:
        table = self.table()
        chosen = table[table["in_shortlist"]].sort_values("mean", ascending=False)
        names = tuple(chosen["name"]) if self._decision is not None else ()
        guarantee = self.bound.guarantee()
        if not final:
            guarantee = f"No guarantee yet: the study has not stopped. At its stop: {guarantee}"
        return Shortlist(names, chosen.reset_index(drop=True), self.evaluations, final, guarantee)

    def table(self) -> pd.DataFrame:
        """Every arm: name, pulls, mean, lower, upper, in_shortlist.

        The bounds are μ̂ ± Cσ‖x‖_{V⁻¹} with the threshold C that the stopping rule uses; they are
        missing until the initial pulls are told.
        """
        if self._decision is None:
            return arm_table(self.problem, self._posterior, np.nan, None)
        C = self.bound.engine.threshold(self._posterior)
        return arm_table(self.problem, self._posterior, C, self._round.inside)

    def why(self, trial: Trial | int) -> Reason:
        """Why a trial was asked for: b_t, c_t and their gap index."""
        return self._ledger.reason(trial)

    # Going on

    def reopen(self) -> None:
        """Take the stop back: the study may be asked again, and stops again after a result."""
        if self._answer is None:
            raise InvalidInput("the study has not stopped: there is nothing to reopen.")
        self._answer = None

    def run(
        self,
        objective: Callable[[Trial], float],
        *,
        max_evaluations: int | None = None,
        progress: bool = True,
    ) -> Shortlist:
        """Evaluate ``objective(trial)`` until the study stops.

        Parameters
        ----------
        objective : callable
            Given a trial (its ``arm``, ``name`` and ``seed``), returns the result. If it raises,
            the trial is marked as failed and the error goes on to the caller.
        max_evaluations : int, optional
            Results to take in at most; the study can be run on later.
        progress : bool
            Show a line with evaluations, stopping statistic and current shortlist.

        Examples
        --------
        >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
        >>> study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False).names
        ('2',)
        """
        if max_evaluations is not None and max_evaluations < 1:
            raise InvalidSetting(f"max_evaluations must be at least 1, got {max_evaluations}.")
        told = 0
        with ProgressLine(self, progress) as line:
            while not self.done and (max_evaluations is None or told < max_evaluations):
                trial = self.ask()
                try:
                    value = objective(trial)
                except BaseException as error:
                    self.fail(trial, repr(error))
                    raise
                self.tell(trial, value)
                told += 1
                line.update()
        return self.shortlist
