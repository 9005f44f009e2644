"""An algorithm on a problem, and in words what its answer is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shortlist.engine.contract import AnyEngine
from shortlist.errors import InvalidInput
from shortlist.noise import GIVEN
from shortlist.problem import Problem
from shortlist.rules.thresholds import Setting, Threshold

OWN_INTERVAL = "μ̂ ± Cσ‖x‖"
PROVEN = "Proven: "  # how a guarantee begins that a theorem covers


@dataclass(frozen=True)
class AlgorithmOnProblem:
    """What a study or a comparison runs.

    Attributes
    ----------
    name : str
        The algorithm's.
    problem : Problem
        What is asked.
    threshold : Threshold
        How wide the indices are.
    setting : Setting
        What the threshold was computed from.
    engine : AnyEngine
        The algorithm's parts, on this problem.
    unproven_rules : list of str
        Why the rules themselves are not covered by a theorem; empty if they are.
    extends : str
        What it carries further than its theorem does; empty if the theorem covers it.
    misspecification : float
        How far from linear in the features the means may be.
    guide : str
        What guesses from the features, where nothing else uses them; else empty.
    again : callable, optional
        The same algorithm and threshold on another problem, where σ may be estimated.
    reward_range : tuple of float, optional
        Where every result must lie. The bound then rests on it, and σ is not used.
    interval_words : str
        What an arm's own interval is, in signs.
    """

    name: str
    problem: Problem
    threshold: Threshold
    setting: Setting
    engine: AnyEngine
    unproven_rules: list[str]
    extends: str = ""
    misspecification: float = 0.0
    guide: str = ""
    again: Callable[[Problem], AlgorithmOnProblem] | None = None
    reward_range: tuple[float, float] | None = None
    interval_words: str = OWN_INTERVAL

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The least and the largest result that can be; infinite ones cannot."""
        given = [
            (-sys.float_info.max, sys.float_info.max),
            self.reward_range,
            self.problem.noise.range,
        ]
        lows, highs = zip(*(each for each in given if each is not None), strict=True)
        return max(lows), min(highs)

    def check(self, value: float) -> None:
        """Raise for a result that cannot be, by the algorithm or by what is known of the noise."""
        if self.reward_range is not None:
            low, high = self.reward_range
            if not low <= value <= high:
                raise InvalidInput(
                    f"{self.name} is for results from {low:g} to {high:g}, got {value:g}: nothing "
                    "was told. Start anew with an algorithm that uses σ (LUCB, Racing), or with "
                    "results scaled to this range; to cut one off would bias the mean."
                )
        self.problem.noise.check(value)

    def estimated(self, replicates: Sequence[Sequence[float]]) -> AlgorithmOnProblem:
        """The same with σ from replicates of the initial pulls."""
        assert self.again is not None
        noise = self.problem.noise.estimated(replicates, self.problem.delta)
        return self.again(replace(self.problem, noise=noise))

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

    def guarantee(self) -> str:
        """What the answer is worth, in words."""
        problem = self.problem
        slack = "" if problem.epsilon == 0 else f" minus ε = {problem.epsilon:g}"
        bound = "" if problem.S is None else f", S = {problem.S:g}"
        noise = problem.noise.figure if self.reward_range is None else "σ is not used"
        figures = f"ε = {problem.epsilon:g}, δ = {problem.delta:g}, {noise}{bound}"
        claim = f"no arm of the shortlist has a mean below the true mean of rank {problem.m}{slack}"
        if self.why_heuristic:
            return (
                f"Heuristic: no proof covers this answer, because {'; '.join(self.why_heuristic)}. "
                f"Meant is: {claim}, with probability {1 - problem.delta:g} "
                f"({figures}, threshold {self.threshold.name!r})."
            )
        if self.extends:
            return (
                f"Extension without a theorem: {self.extends}. Meant is: {claim}, with probability "
                f"{1 - problem.delta:g} ({figures}, threshold {self.threshold.name!r}, "
                f"{self.threshold.source})."
            )
        return (
            f"{PROVEN}with probability at least {1 - problem.delta:g}, {claim} "
            f"({figures}, threshold {self.threshold.name!r}, {self.threshold.source}), provided "
            f"{self.assumptions}."
        )
