"""An algorithm on a problem, and in words what its answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shortlist.arrays import Reals
from shortlist.engine.contract import AnyEngine
from shortlist.errors import InvalidInput
from shortlist.guarantee import INDEPENDENCE, Assumption, Claim
from shortlist.problem import Problem
from shortlist.references import Work
from shortlist.relation import Relation
from shortlist.rules.rewards import either, gaussian
from shortlist.rules.rule import Rule
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
    relation: Relation  # what is assumed of how the means depend on the features
    engine: AnyEngine  # the algorithm's parts, on this problem
    # Why the rules themselves are not covered by a theorem; empty if they are.
    unproven_rules: list[str]
    # What it carries further than its theorem does; empty if the theorem covers it.
    extends: str = ""
    # The same algorithm and threshold on another problem, where σ may be estimated.
    rebind: Callable[[Problem], AlgorithmOnProblem] | None = None
    # Where every result must lie. The bound then rests on it, and σ is not used.
    reward_range: tuple[float, float] | None = None
    # What an arm's own interval is, in signs, where it is not the usual one.
    interval_words: str = ""
    method: str = ""  # what was used, in a sentence
    cited: tuple[Work, ...] = ()  # the works that the algorithm is from

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

    def rewards(self, means: Reals) -> tuple[Rule, Reals]:
        """How results are simulated if these are the means: the reward model and its parameters."""
        if self.reward_range is None:
            setup = self.engine.setup
            return gaussian, np.vstack([means, setup.sigma * np.sqrt(setup.noise)])
        low, high = np.full((2, len(means)), np.array(self.reward_range)[:, None])
        shares = np.clip((means - low) / (high - low), 0.0, 1.0)
        return either, np.vstack([shares, low, high])

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
    def proven(self) -> bool:
        """Whether a theorem covers the answer."""
        return self.claim.proven

    @property
    def claim(self) -> Claim:
        """What it claims of its answer."""
        problem, relation = self.problem, self.relation
        size = "" if problem.S is None else f", S = {problem.S:g}"
        noise = problem.noise.figure if self.reward_range is None else "σ is not used"
        unproven = self.unproven_rules + self.threshold.why_not_proven(self.setting)
        return Claim(
            statement=f"no arm of the shortlist has a mean {beyond_rank(problem, 'true ')}",
            risk=problem.delta,
            figures=f"ε = {problem.epsilon:g}, δ = {problem.delta:g}, {noise}{size}",
            threshold=self.threshold.name,
            source=self.threshold.source,
            assumptions=tuple(self._assumptions()),
            condition=relation.assumed,
            condition_badge=relation.badge,
            not_assumed=relation.not_assumed,
            why_heuristic=(*unproven, *problem.noise.flaws),
            extends=self.extends,
        )

    def _assumptions(self) -> list[Assumption]:
        """What the proof needs."""
        relation, short = self.relation, self.problem.noise.assumption
        if self.reward_range is not None:
            short = "the results lie in [{:g}, {:g}]".format(*self.reward_range)
        found = [
            Assumption("Noise", short, _noise_explained(self)),
            Assumption("Model", relation.assumed, relation.explanation),
        ]
        if self.threshold.needs_S:
            words = (
                f"‖θ‖ ≤ S = {self.problem.S:g}. S was given, not estimated. If θ is longer, the "
                "claim does not hold."
            )
            found.append(Assumption("Size of θ", "‖θ‖ ≤ S", words))
        return [*found, INDEPENDENCE]


def _noise_explained(bound: AlgorithmOnProblem) -> str:
    """What is assumed of the noise, in full sentences."""
    noise = bound.problem.noise
    if bound.reward_range is not None:
        low, high = bound.reward_range
        return (
            f"Every result lies between {low:g} and {high:g}; one that did not was refused. "
            "Nothing else is assumed of the noise, and σ was not used."
        )
    if noise.each is not None and not noise.is_estimated:
        return (
            "The noise of every result is sub-Gaussian with the σ of its arm, from "
            f"{noise.each.min():g} to {noise.each.max():g}: for normal noise its standard "
            "deviation. These were given, not estimated. If the true noise of an arm is larger, "
            "the claim does not hold."
        )
    if noise.range is not None:
        return (
            f"Every result lies between {noise.range[0]:g} and {noise.range[1]:g}; one that did "
            "not was refused. So the noise is σ-sub-Gaussian with half the range for σ, "
            f"{noise.sigma:g}, whatever its distribution (Hoeffding 1963)."
        )
    if noise.kind == "estimate per arm":
        found = "They are not known yet."
        if noise.found is not None and noise.each is not None:
            found = (
                f"Each arm has {noise.found.degrees} degrees of freedom, and the bounds go "
                f"from {noise.each.min():.4g} to {noise.each.max():.4g}."
            )
        return (
            "The noise of every result is normal, with a standard deviation σ of its own for each "
            "arm. Each is bounded from above (χ²) by the replicates among the arm's initial pulls, "
            f"and a share of {noise.share:g} δ is paid for all bounds together. {found} If the "
            "noise is not normal, the claim does not hold."
        )
    if noise.kind == "estimate":
        found = (
            "It is not known yet."
            if noise.found is None
            else f"They have standard deviation {noise.found.spread:.4g} on {noise.found.degrees} "
            f"degrees of freedom, and σ ≤ {noise.sigma:.4g}."
        )
        return (
            "The noise of every result is normal with the same standard deviation σ for all arms. "
            "σ is bounded from above (χ²) by the replicates among the initial pulls, and a share "
            f"of {noise.share:g} δ is paid for that bound. {found} If the noise is not normal, or "
            "larger for some arms than for others, the claim does not hold."
        )
    return (
        f"The noise of every result is σ-sub-Gaussian with σ = {noise.sigma:g}: large deviations "
        "are no likelier than for normal noise of standard deviation σ. For normal noise σ is that "
        "standard deviation, for bounded results half their range. σ was given, not estimated. If "
        "the true noise is larger, the claim does not hold."
    )
