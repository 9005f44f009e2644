"""An algorithm on a problem, and what it claims of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.blocks import NO_BLOCKS
from shortlist.engine.contract import AnyEngine
from shortlist.engine.some_arms import SomeArms
from shortlist.errors import InvalidSetting
from shortlist.guarantee import Assumption, Claim, statement
from shortlist.noise import Noise
from shortlist.noise.noise import ResultModel, SubGaussian
from shortlist.numerics.blockwise import is_identity
from shortlist.problem import Problem
from shortlist.references import Work
from shortlist.relation import Relation
from shortlist.rules.thresholds import (
    NO_LEVEL,
    OF_AVERAGE,
    OF_LEAST_SQUARES,
    ArmInterval,
    StrategyThreshold,
    Threshold,
    ThresholdInputs,
)


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
    # The same algorithm and threshold on another problem, where σ or ε may be another.
    rebind: Callable[[Problem], AlgorithmOnProblem] | None = None
    # What the bounds are for: noise as it is stated, or results in a range.
    results: ResultModel = field(default_factory=SubGaussian)
    # What an arm's own interval is, where it is not the usual one.
    own_interval: ArmInterval | None = None
    # The rows of the arms that are left, where others were retired; None if all are.
    left: Integers | None = None
    method: str = ""  # what was used, in a sentence
    cited: tuple[Work, ...] = ()  # the works that the algorithm is from
    uses_costs: bool = False  # whether it minimises the cost, not the number of evaluations
    takes: tuple[str, ...] = (NO_BLOCKS.word,)  # the kinds of blocks that it works with

    def __post_init__(self) -> None:
        if self.problem.blocks.word not in self.takes:
            raise InvalidSetting(self.problem.blocks.refusal(self.name))

    @cached_property
    def noise(self) -> Noise:
        """What is known about the noise, as the algorithm takes it."""
        return self.results.noise(self.problem.noise, self.name)

    def mirrored(self, values: Reals) -> Reals:
        """Results or means with the largest sought, as algorithms do; its own inverse.

        Where the smallest are looked for they are negated. An algorithm for results from 0 to 1 is
        given them mirrored within that range.
        """
        return self.noise.mirrored_at - values if self.problem.minimizes else values

    def estimated(self, replicates: Sequence[Sequence[float]]) -> AlgorithmOnProblem:
        """The same with σ from replicates of the initial pulls."""
        problem, arms = self.problem, self.arms_left
        noise = problem.noise.estimated(replicates, problem.delta)
        return self.on(replace(problem, noise=noise.among(arms, problem.arms)), arms)

    def on(self, problem: Problem, arms: Integers) -> AlgorithmOnProblem:
        """The same algorithm on another problem, of whose arms only some are left."""
        assert self.rebind is not None
        if len(arms) == problem.arms:
            return self.rebind(problem)
        inner = self.rebind(problem.of_arms(arms))
        own = is_identity(inner.engine.setup.features)
        features = np.eye(problem.arms) if own else problem.reduced
        engine = SomeArms(inner.engine, arms, features, problem.relative_noise)
        return replace(inner, problem=problem, engine=engine, left=arms)

    @property
    def arms_left(self) -> Integers:
        """The rows of the arms that were not retired."""
        return np.arange(self.problem.arms) if self.left is None else self.left

    def widened(self, epsilon: float) -> AlgorithmOnProblem:
        """The same with a larger ε."""
        return self.on(self.problem.widened(epsilon), self.arms_left)

    @property
    def cost_words(self) -> str:
        """What the costs are and what is made of them; empty where none were stated."""
        costs = self.problem.costs
        if not costs.stated:
            return ""
        used = "the plans minimise the cost"
        if not self.uses_costs:
            used = f"{self.name} does not use them: it minimises the number of evaluations"
        return f"{costs.announcement}; {used}"

    @property
    def interval(self) -> ArmInterval:
        """What an arm's own interval is."""
        return self.own_interval or (OF_AVERAGE if self.setting.classical else OF_LEAST_SQUARES)

    @property
    def coverage(self) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        return self.coverage_if(proven=self.proven)

    def coverage_if(self, *, proven: bool) -> str:
        """The same, where how results came in may leave nothing ``proven``."""
        words = self.threshold.coverage if proven else NO_LEVEL
        return words.format(level=f"{1 - self.problem.delta:g}", interval=self.interval.short)

    @property
    def proven(self) -> bool:
        """Whether a theorem covers the answer."""
        return self.claim.proven

    @property
    def claim(self) -> Claim:
        """What it claims of its answer."""
        problem, relation = self.problem, self.relation
        size = "" if problem.S is None else f", S = {problem.S:g}"
        unproven = self.unproven_rules + self.threshold.why_not_proven(self.setting)
        return Claim(
            statement=statement(
                problem, None if self.left is None else int(problem.listable[self.left].sum())
            ),
            risk=problem.delta,
            figures=f"ε = {problem.epsilon:g}, δ = {problem.delta:g}, {self.noise.figure}{size}",
            threshold=self.threshold.name,
            source=self.threshold.source,
            assumptions=tuple(self._assumptions()),
            condition=relation.assumed,
            condition_badge=relation.badge,
            not_assumed=relation.not_assumed,
            why_heuristic=(*unproven, *self.noise.flaws),
            extends=self.extends,
        )

    def _assumptions(self) -> list[Assumption]:
        """What the proof needs."""
        noise, relation = self.noise, self.relation
        found = [
            Assumption("Noise", noise.assumption, noise.explanation, short=noise.short),
            Assumption("Model", relation.assumed, relation.explanation, short=relation.short),
        ]
        if self.threshold.needs_S:
            words = (
                f"‖θ‖ ≤ S = {self.problem.S:g}. S was given, not estimated. If θ is longer, the "
                "claim does not hold."
            )
            found.append(Assumption("Size of θ", "‖θ‖ ≤ S", words))
        blocks = self.problem.blocks
        shared = Assumption(
            blocks.heading, blocks.assumption, blocks.explanation, short=blocks.short
        )
        return [*found, shared]
