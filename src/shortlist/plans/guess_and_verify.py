"""Guess-and-verify on a problem: by features, by arms' own results, or guided by features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shortlist.advice import setting
from shortlist.arrays import Reals
from shortlist.blocks import NO_BLOCKS, Pool, Random, Shift
from shortlist.engine.aim import CERTAINTY, Budget
from shortlist.engine.algorithm import Need, Procedure
from shortlist.engine.relation import Linear, Relation, Unrelated, relation_on
from shortlist.engine.threshold import ArmInterval, StrategyThreshold
from shortlist.errors import InvalidSetting
from shortlist.noise import Noise
from shortlist.noise.bounded import StatedRange
from shortlist.plans.algorithm import ByPlans, OnBudget
from shortlist.plans.noises import Common, InRange, Known, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
from shortlist.plans.search_engine import Scale, SearchEngine
from shortlist.problem import Problem, whole_number

MOST_ARMS = 200_000  # tables of some fifty rows then take a gigabyte
BY_FEATURES, BY_OWN, GUIDED = "features", "own results", "guide"
TAKEN = NO_BLOCKS.word, Pool.word, Random.word, Shift.word

NAMED_SETS = StrategyThreshold(
    "named_sets",
    "√(2 ln(1/share)): what the evidence of every pair of a set must reach that was named beforehand.",
    "after Karnin 2016; proof: docs/proofs.md of shortlist",
    coverage="If what the guarantee assumes is true, the true mean of an arm lies within its bounds at all times "
    "at once with probability at least {level}, for each arm by itself and not for all arms together.",
    interval=ArmInterval(
        "by its own results, at all times", "own results", "bounds by the arm's own results"
    ),
)
REFUTED = StrategyThreshold(
    "refuted",
    "ln(1/share): what bets that a mean is not above that of the list must reach, for one arm.",
    "docs/proofs.md of shortlist",
    coverage="Bounds of single arms are the worst case: every missing result is counted as the least or the "
    "largest that is possible. They are certain.",
    interval=ArmInterval(
        "(S + low·(N − n))/N to (S + high·(N − n))/N",
        "from (S + low·(N − n))/N to (S + high·(N − n))/N, with S the sum of its n results, N the number of "
        "blocks and [low, high] the range of the results",
        "what the missing results allow",
    ),
)
NAMES = {  # and what they do
    BY_FEATURES: ("Guess-and-verify", "names the m best when they are likely, then verifies them"),
    BY_OWN: (
        "Guess-and-verify (own results)",
        "the same by the arms' own results, without features",
    ),
    GUIDED: ("Guess-and-verify (guided)", "guesses by the features, verifies without them"),
}


class Proving(OnBudget):
    """An algorithm that ends with a budget and proves what it can by then, on a problem."""

    @property
    def coverage(self) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        return self.coverage_if(proven=True)


@dataclass(frozen=True)
class GuessAndVerify(ByPlans):
    """Guess the m best by all results, name the guess, and verify it by later ones.

    Parameters
    ----------
    by : {"features", "own results", "guide"}
        Whether means are taken to be linear in the features; arms are judged by their own results; or
        features guess and own results prove.
    budget : int, optional
        The number of evaluations, all of which are made; by default it ends when the answer is proven.
    """

    by: str = BY_FEATURES
    budget: int | None = None

    works = ("karnin",)
    adapted = True
    results = StatedRange()
    takes = TAKEN
    uses_costs = True
    searches = True

    def __post_init__(self) -> None:
        if self.budget is not None:
            object.__setattr__(self, "budget", whole_number("budget", self.budget, 1))

    @property
    def name(self) -> str:  # type: ignore[override]  # made of the settings
        """For tables."""
        return NAMES[self.by][0]

    @property
    def summary(self) -> str:  # type: ignore[override]
        """For tables."""
        return f"Karnin 2016, adapted to any m; {NAMES[self.by][1]}"

    @property
    def settings(self) -> dict[str, Any]:
        """What it goes by, and the budget if there is one."""
        return {"by": self.by, **self._of_budget}

    @property
    def _of_budget(self) -> dict[str, Any]:
        return {} if self.budget is None else {"budget": self.budget}

    @property
    def procedure(self) -> type[Procedure]:
        """What it is on a problem."""
        return Procedure if self.budget is None else Proving

    def relation(self, problem: Problem) -> Relation:
        """What is assumed of how the means depend on the features."""
        kinds: dict[str, Any] = {
            BY_FEATURES: Linear,
            BY_OWN: Unrelated,
            GUIDED: partial(Unrelated, guide="least squares"),
        }
        return relation_on(problem, Unrelated if problem.blocks.once else kinds[self.by])

    def check(self, problem: Problem) -> None:
        """Raise where the problem does not suit it."""
        if problem.blocks.once and not problem.noise.takes_range:
            raise InvalidSetting(
                "the results of a pool are fixed numbers in a range: write "
                f"{setting('sigma', 'bounded')} with {setting('reward_range', ('low', 'high'))}, such as (0, 1) "
                "for scores."
            )
        if problem.arms > MOST_ARMS:
            raise InvalidSetting(
                f"{self.name} is for {MOST_ARMS:,} arms at most, got {problem.arms:,}: use m-LinGapE, "
                "or leave out arms that are known to be bad."
            )
        if self.budget is None:
            return
        first = len(Search(replace(self.question(problem), budget=np.inf), 0).slots.arms)
        if self.budget < first:
            raise InvalidSetting(
                f"budget={self.budget} is too small: the first plan alone has {first:,} evaluations. "
                f"Pass at least budget={first}, better several times as much."
            )

    def on_budget(self, procedure: Procedure) -> str:
        """What the results say at the end of a budget."""
        sure = f"with probability at least {1 - procedure.problem.delta:g}"
        return f"At its end it says up to which difference the list is right {sure}."

    def bound(self, problem: Problem) -> StrategyThreshold:
        """What its evidence must reach, in words."""
        return REFUTED if problem.blocks.once else NAMED_SETS

    def engine(self, problem: Problem, features: Reals, noise: Noise) -> SearchEngine:
        """A search, or one on a pool."""
        return SearchEngine(
            self.question(problem),
            features,
            problem.relative_noise,
            noise.scale,
            scale_of(problem),
            CERTAINTY if self.budget is None else Budget(self.budget, proves=True),
            problem.blocks.number,
        )

    def question(self, problem: Problem) -> Question:
        """What is asked, with the largest sought."""
        restricts = not problem.is_classical and problem.rank < problem.arms
        uses = self.by != BY_OWN and restricts and not problem.blocks.once
        shared = None
        if problem.blocks.exist:
            shared = Shared(requested=problem.blocks.shifts, controls=problem.controls.wells)
        noise, known = problem.noise, Known(np.full(problem.arms, problem.noise.deviations))
        return Question(
            arms=problem.arms,
            m=problem.m,
            noise=noise.suited(known, InRange(), own_sigma=Unknown(), one_sigma=Common()),
            delta=problem.delta,
            epsilon=problem.epsilon / scale_of(problem).width,
            costs=problem.costs.of_arms(problem.arms),
            out=~problem.listable,
            features=problem.reduced if uses else None,
            relies=self.by == BY_FEATURES,
            shared=shared,
            budget=np.inf if self.budget is None else self.budget,
        )


def scale_of(problem: Problem) -> Scale:
    """What results are made to lie between 0 and 1 by, where they lie in a range."""
    if problem.noise.suits != "in_range":
        return Scale()
    low, high = problem.noise.limits_given(problem.minimizes)
    return Scale(low, high - low)


@dataclass(frozen=True)
class Guided(GuessAndVerify):
    """Features guess which arms are best, and arms' own results prove it.

    So nothing is assumed of how the means depend on the features: poor ones cost evaluations, and never
    the guarantee.

    Examples
    --------
    >>> from shortlist import Study
    >>> Study([[1.0], [2.0], [3.0]], m=1, sigma=0.1, trust="guide").procedure.name
    'Guess-and-verify (guided)'
    """

    by: str = GUIDED

    needs = Need(
        "trust",
        'with the value "guide" chooses this algorithm',
        "Guided is selected with trust='guide': pass that to Study, write "
        'trust = "guide" in a screen.toml, or pass shortlist.Guided() to compare.',
        'With features used only as a guide (trust = "guide" in a screen.toml)',
    )

    @property
    def settings(self) -> dict[str, Any]:
        """The budget, if there is one."""
        return self._of_budget


ALGORITHMS = {each.name: each for each in (GuessAndVerify(), GuessAndVerify(BY_OWN))}
