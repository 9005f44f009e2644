"""An algorithm on a problem, and in words what its answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shortlist.arrays import Reals
from shortlist.engine.contract import AnyEngine
from shortlist.errors import InvalidInput
from shortlist.noise import GIVEN
from shortlist.problem import Problem
from shortlist.rules.thresholds import NO_LEVEL, StrategyThreshold, Threshold, ThresholdInputs

LARGEST = 1e150  # a result whose square, and the sum of many such, is still a number


def beyond_rank(problem: Problem, which: str = "") -> str:
    """Where the mean of a wrong arm lies, in words.

    Examples
    --------
    >>> beyond_rank(Problem.of(arms=["a", "b", "c"], m=2, sigma=1.0, epsilon=0.1), "true ")
    'below the true mean of rank 2 minus ε = 0.1'
    >>> beyond_rank(Problem.of(arms=["a", "b"], sigma=1.0, direction="minimize"))
    'above the mean of rank 1 (the smallest first)'
    """
    side, sign, first = ("above", "plus", " (the smallest first)")
    if not problem.minimizes:
        side, sign, first = "below", "minus", ""
    slack = "" if problem.epsilon == 0 else f" {sign} ε = {problem.epsilon:g}"
    return f"{side} the {which}mean of rank {problem.m}{first}{slack}"


@dataclass(frozen=True)
class AlgorithmOnProblem:
    """What a study or a comparison runs."""

    name: str  # the algorithm's
    problem: Problem  # what is asked
    threshold: Threshold | StrategyThreshold  # how wide the indices are
    setting: ThresholdInputs  # what the threshold was computed from
    engine: AnyEngine  # the algorithm's parts, on this problem
    # Why the rules themselves are not covered by a theorem; empty if they are.
    unproven_rules: list[str]
    # What it carries further than its theorem does; empty if the theorem covers it.
    extends: str = ""
    misspecification: float = 0.0  # how far from linear in the features the means may be
    guide: str = ""  # what guesses from the features, where nothing else uses them; else empty
    # The same algorithm and threshold on another problem, where σ may be estimated.
    rebind: Callable[[Problem], AlgorithmOnProblem] | None = None
    # Where every result must lie. The bound then rests on it, and σ is not used.
    reward_range: tuple[float, float] | None = None
    # What an arm's own interval is, in signs, where it is not the usual one.
    interval_words: str = ""

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The least and the largest result that can be."""
        given = [
            (-LARGEST, LARGEST),
            self.reward_range,
            self.problem.noise.range,
        ]
        lows, highs = zip(*(each for each in given if each is not None), strict=True)
        return max(lows), min(highs)

    def check(self, value: float) -> None:
        """Raise if a result is impossible for the algorithm or for what is known about the noise."""
        if self.reward_range is not None:
            low, high = self.reward_range
            if not low <= value <= high:
                raise InvalidInput(
                    f"{self.name} is for results from {low:g} to {high:g}, got {value:g}: nothing "
                    "was told. Start a new study with an algorithm that uses σ (LUCB, Racing), or "
                    "scale the results to this range; clipping them would bias the mean."
                )
        if abs(value) > LARGEST:
            raise InvalidInput(
                f"a result must lie within ±{LARGEST:g}, so that it can be squared and summed, got "
                f"{value:g}: nothing was told. Check the value, or use other units."
            )
        self.problem.noise.check(value)

    def mirrored(self, values: Reals) -> Reals:
        """Results or means with the largest sought, as algorithms do; its own inverse.

        Where the smallest are looked for they are negated. An algorithm for results from 0 to 1 is
        given them mirrored within that range.
        """
        return self.mirrored_at - values if self.problem.minimizes else values

    @property
    def mirrored_at(self) -> float:
        """The sum of a result and of what the algorithm sees of it, where the smallest are sought."""
        return sum(self.reward_range or (0.0, 0.0))

    def estimated(self, replicates: Sequence[Sequence[float]]) -> AlgorithmOnProblem:
        """The same with σ from replicates of the initial pulls."""
        assert self.rebind is not None
        noise = self.problem.noise.estimated(replicates, self.problem.delta)
        return self.rebind(replace(self.problem, noise=noise))

    @property
    def interval(self) -> str:
        """What an arm's own interval is, in signs."""
        usual = "μ̂ ± Cσ/√N" if self.setting.classical else "μ̂ ± Cσ√(xᵀV⁻¹x)"
        return self.interval_words or usual

    @property
    def coverage(self) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        words = self.threshold.coverage if self.proven else NO_LEVEL
        interval = self.interval_words or "the mean ± C standard errors"
        return words.format(level=f"{1 - self.problem.delta:g}", interval=interval)

    @property
    def why_heuristic(self) -> list[str]:
        """Why no theorem covers the answer; empty if one does."""
        known = self.unproven_rules + self.threshold.why_not_proven(self.setting)
        return known + self.problem.noise.flaws

    @property
    def proven(self) -> bool:
        """Whether a theorem covers the answer."""
        return not self.why_heuristic and not self.extends

    @property
    def assumptions(self) -> str:
        """What the proof needs; without features nothing has to be linear in them."""
        words = self.threshold.assumptions.replace(GIVEN, self.problem.noise.assumption)
        if not self.setting.classical:
            return words
        linear = "the means are linear in the features"
        return words.replace(f" and {linear}", "").replace(f", {linear}", "")

    @property
    def assumed_of_features(self) -> str:
        """What the answer assumes of how the means depend on the features; empty if nothing.

        With as many independent features as arms any means are linear in them.
        """
        if self.setting.classical or self.problem.rank == self.problem.arms:
            return ""
        c = self.misspecification
        return f"the means are {f'within c = {c:g} of linear' if c else 'linear'} in the features"

    @property
    def first_words(self) -> str:
        """How a guarantee begins that a theorem covers: "Proven" alone assumes only the noise."""
        assumed = self.assumed_of_features
        return f"Proven if {assumed}" if assumed else "Proven"

    def guarantee(self, first: str | None = None) -> str:
        """What the answer is worth, in words; ``first`` may stand in place of the first words."""
        problem = self.problem
        bound = "" if problem.S is None else f", S = {problem.S:g}"
        noise = problem.noise.figure if self.reward_range is None else "σ is not used"
        figures = f"ε = {problem.epsilon:g}, δ = {problem.delta:g}, {noise}{bound}"
        claim = f"no arm of the shortlist has a mean {beyond_rank(problem, 'true ')}"
        if self.why_heuristic:
            return (
                f"Heuristic: no proof covers this answer, because {'; '.join(self.why_heuristic)}. "
                f"The intended claim is: {claim}, with probability {1 - problem.delta:g} "
                f"({figures}, threshold {self.threshold.name!r})."
            )
        if self.extends:
            return (
                f"Extension without a theorem: {self.extends}. The intended claim is: {claim}, with probability "
                f"{1 - problem.delta:g} ({figures}, threshold {self.threshold.name!r}, "
                f"{self.threshold.source})."
            )
        return (
            f"{first or self.first_words}: with probability at least {1 - problem.delta:g}, {claim} "
            f"({figures}, threshold {self.threshold.name!r}, {self.threshold.source}), provided "
            f"{self.assumptions}."
        )
