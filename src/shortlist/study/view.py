"""What a study shows of itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.steps import Steps
from shortlist.core.posterior import Posterior
from shortlist.problem import Problem
from shortlist.study.answer import Shortlist, arm_table
from shortlist.study.budget import worth
from shortlist.study.conditions import conditions
from shortlist.study.estimated_error import estimated_error
from shortlist.study.journal import Journal
from shortlist.study.stage import makes_plans
from shortlist.study.trial import Reason, Trial, Trials

if TYPE_CHECKING:
    from shortlist.study.feature_health import Finding
    from shortlist.study.history import History
    from shortlist.study.remaining import Projection


class View:
    """The readable side of a study."""

    seed: int
    name: str
    created_at: float
    _journal: Journal
    _answer: Shortlist | None
    _answered_at: int = 0

    @property
    def bound(self) -> Bound:
        """The algorithm on its problem; another one once σ is estimated, if it is to be."""
        return self._journal.model.bound

    @property
    def problem(self) -> Problem:
        """What is asked."""
        return self.bound.problem

    @property
    def done(self) -> bool:
        """Whether the study has stopped, as far as it is known here (see :meth:`refresh`)."""
        return self._journal.model.stopped

    @property
    def evaluations(self) -> int:
        """How many results were taken in."""
        return self.posterior.observed

    @property
    def budget(self) -> int | None:
        """After how many results the study stops; None if it stops when it is certain enough."""
        return self.bound.engine.budget

    @property
    def trials(self) -> Trials:
        """Every trial so far, by number."""
        return Trials(self._journal.ledger.trials)

    @property
    def pending(self) -> list[Trial]:
        """The trials asked for and still open, oldest first."""
        return self._journal.ledger.pending

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one before they are taken in."""
        return self._journal.ledger.waiting

    @property
    def taken(self) -> Trials:
        """The told trials in the order in which they were taken in."""
        return Trials(self._journal.ledger.taken)

    def all_steps(self) -> Steps:
        """Everything that the model took in, from the first, to be taken in again."""
        return self._journal.ledger.all_steps()

    @property
    def storage(self) -> str | None:
        """Where the study is kept, without the password; None if in memory only."""
        return self._journal.storage.where

    @property
    def fingerprint(self) -> str:
        """A digest of the settings, the features and all that was asked and told."""
        return self._journal.ledger.fingerprint

    @property
    def posterior(self) -> Posterior:
        """Means, variances and pulls as taken in so far."""
        return self._journal.model.posterior

    @property
    def round(self) -> Any:
        """What the algorithm remembers; only its engine looks into it."""
        return self._journal.model.round

    @property
    def statistic(self) -> float | None:
        """What must fall to ε for the study to stop; None before :attr:`stage` is ``"rounds"``.

        With a budget it decides nothing: it is how much better the challenger may still be.
        """
        model = self._journal.model
        return model.decision.statistic if model.decision is not None and model.looks else None

    @property
    def stage(self) -> Literal["initial pulls", "pilot", "pulls after the pilot", "rounds"]:
        """How far the study is; the stop is looked for in rounds only."""
        model = self._journal.model
        if model.looks:
            return "rounds"
        if model.posterior.aside:
            return "pulls after the pilot"
        return "initial pulls" if model.decision is None else "pilot"

    @property
    def shortlist(self) -> Shortlist:
        """The answer: final once the study is done, before that the current guess."""
        return self._final() if self.done else self._shortlist(final=False)

    @property
    def answered_at(self) -> int:
        """How many results the last stop rests on."""
        return self._answered_at

    def _keep_answer(self) -> None:
        self._answered_at = self.evaluations
        self._answer = self._shortlist(final=True)

    def _final(self) -> Shortlist:
        assert self._answer is not None
        return self._answer

    def _shortlist(self, *, final: bool) -> Shortlist:
        table = self.table()
        chosen = table[table["in_shortlist"]].sort_values("mean", ascending=False)
        names = tuple(chosen["name"])
        error = None if self.budget is None else estimated_error(self)
        guarantee = self.bound.guarantee() if self.budget is None else worth(self, error)
        if final:
            guarantee = " ".join([guarantee, *(words for _, words in conditions(self))])
        elif self.budget is None:
            guarantee = f"No guarantee yet: the study has not stopped. At its stop: {guarantee}"
        else:
            guarantee = f"Not final: {self.evaluations:,} of {self.budget:,} results. {guarantee}"
        chosen = chosen.reset_index(drop=True)
        return Shortlist(names, chosen, self.evaluations, final, guarantee, error)

    def table(self) -> pd.DataFrame:
        """Every arm: name, pulls, mean, lower, upper, in_shortlist.

        The bounds are μ̂ ± Cσ‖x‖_{V⁻¹} with the threshold C that the stopping rule uses, or of the
        algorithm's own kind, as it last looked (KL-LUCB, MisLid); they are missing before
        :attr:`stage` is ``"rounds"``, and so are the means during the initial pulls. After a pilot
        means and bounds are those of the evaluations since: it is set aside.
        """
        model = self._journal.model
        now = None if model.decision is None else self.round
        C = self.bound.engine.threshold(self.posterior, now) if model.looks else math.nan
        return arm_table(self.bound, self.posterior, C, now)

    def remaining(self, *, quick: bool = False) -> Projection:
        """How many more evaluations the stop is away, with a range, as far as the estimates tell.

        With a budget it is exact: the budget less the results told.

        Parameters
        ----------
        quick : bool
            In a few milliseconds, and less well.
        """
        from shortlist.study.remaining import remaining

        return remaining(self, quick=quick)

    def health(self) -> list[Finding]:
        """What speaks for or against the features, σ, S and the linear model, and what it means."""
        from shortlist.study.health import examine

        return examine(self)

    def history(self) -> History:
        """What the study looked like after every evaluation."""
        from shortlist.study.history import history

        return history(self)

    def why(self, trial: Trial | int) -> Reason:
        """Why a trial was asked for: b_t, c_t and their gap index."""
        found = self._journal.ledger.find(trial)
        return Reason.of(found, self.problem, self.budget, planned=makes_plans(self))
