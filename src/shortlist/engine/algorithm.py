"""What an algorithm is, and a procedure: the algorithm on a problem, with what it claims of its answer.

Whoever lists, stores or describes algorithms asks them, without knowing their classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.blocks import NO_BLOCKS
from shortlist.engine.contract import AnyEngine, ChangingEngine
from shortlist.engine.references import Work, work
from shortlist.engine.relation import Relation
from shortlist.engine.threshold import (
    NO_LEVEL,
    AnyThreshold,
    ArmInterval,
    ThresholdInputs,
    usual_interval,
)
from shortlist.errors import InvalidSetting
from shortlist.guarantee import Assumption, Claim, statement
from shortlist.noise import Noise
from shortlist.noise.noise import ResultModel, SubGaussian
from shortlist.printable import slack_words
from shortlist.problem import Problem

OWN = "(your own)"  # in place of code of the user's, which is not stored


class Need(NamedTuple):
    """What an algorithm must be given, so that its name alone does not select it."""

    key: str  # of a screen.toml
    use: str  # what the key is for, after "which"
    words: str  # what to do, for an error
    heading: str  # of a list of algorithms


class Algorithm(ABC):
    """Base class of the algorithms that ``Study`` and ``compare`` take.

    Attributes
    ----------
    name, summary : str
        For tables.
    works : tuple of str or Work
        What it is from: keys of ``works.toml``, or works of its own; the first one introduced it.
    adapted : bool
        Whether it differs from what was published there.
    only_m : int or None
        The only m it is defined for.
    needs : Need or None
        What must be given beside its name.
    unproven : sequence of str
        Why no theorem covers the answer; empty if one does.
    extends : str
        How it goes beyond its theorem; empty if the theorem covers it.
    results : ResultModel
        What its bounds are for: sub-Gaussian noise as it is stated, or results in a range.
    interval : ArmInterval or None
        What an arm's own interval is, where it is not the usual one.
    takes : tuple of str
        The kinds of blocks that it works with.
    uses_costs : bool
        Whether it minimises the cost, not the number of evaluations.
    searches : bool
        Whether what is asked may change on the way, and what was decided stays where a result is corrected.
    """

    name: str
    summary: str
    works: tuple[str | Work, ...]
    adapted: bool = False
    only_m: int | None = None
    needs: ClassVar[Need | None] = None
    unproven: Sequence[str] = ()
    extends: str = ""
    results: ResultModel = SubGaussian()
    interval: ArmInterval | None = None
    takes: tuple[str, ...] = (NO_BLOCKS.word,)
    uses_costs: bool = False
    searches: ClassVar[bool] = False
    kinds: ClassVar[dict[str, type[Algorithm]]] = {}  # all classes, by their names

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        Algorithm.kinds[cls.__name__] = cls

    @classmethod
    def kind_name(cls) -> str:
        """What algorithms of this class are called in a list."""
        return cls.__name__

    @abstractmethod
    def bind(self, problem: Problem, threshold: Any = None) -> Procedure:
        """The algorithm on a problem; raises where it does not suit it."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Names and numbers from which ``read`` makes it again; ``OWN`` stands for code."""

    @classmethod
    def read(cls, settings: dict[str, Any]) -> Self:
        """The algorithm with these settings."""
        return cls(**settings)

    def with_threshold(self, problem: Problem, threshold: Any) -> tuple[Algorithm, Any]:
        """The algorithm and the threshold on a problem, with ``"auto"`` replaced by the choice.

        By default an algorithm has a threshold of its own, and None stands for it.
        """
        return self, None if isinstance(threshold, str) and threshold == "auto" else threshold

    def slow_on(self, problem: Problem) -> str:
        """What to do where it would take long over each result; empty where it does not."""
        return ""

    @property
    def cited(self) -> list[Work]:
        """The works that it is from."""
        return [work(key) for key in self.works]

    @property
    def method(self) -> str:
        """What was used, in a sentence in the past tense."""
        return f"The algorithm was {self.name} ({self.credit})."

    @property
    def credit(self) -> str:
        """Whose algorithm it is, for a sentence."""
        introduced = self.cited[0].short
        return f"this software's, after {introduced}" if self.adapted else introduced


class Parts(NamedTuple):
    """What a procedure is made of."""

    threshold: AnyThreshold  # how wide the indices are
    setting: ThresholdInputs  # what the threshold was computed from
    relation: Relation  # what is assumed of how the means depend on the features
    engine: AnyEngine  # the algorithm's rules or plans, on this problem


@dataclass(frozen=True)
class Procedure:
    """An algorithm on a problem that it suits: what a study or a comparison runs."""

    algorithm: Algorithm
    problem: Problem  # what is asked
    make: Callable[[], Parts]  # called when one of them is first read: a study begins at once
    # The same algorithm and threshold on another problem, where σ or ε may be another.
    rebind: Callable[[Problem], Procedure]
    # The rows of the arms that are left, where others were retired; None if all are.
    left: Integers | None = None

    @cached_property
    def parts(self) -> Parts:
        """What it is made of."""
        return self.make()

    @cached_property
    def threshold(self) -> AnyThreshold:
        """How wide the indices are."""
        return self.parts.threshold

    @cached_property
    def setting(self) -> ThresholdInputs:
        """What the threshold was computed from."""
        return self.parts.setting

    @cached_property
    def relation(self) -> Relation:
        """What is assumed of how the means depend on the features."""
        return self.parts.relation

    @cached_property
    def engine(self) -> AnyEngine:
        """The algorithm's rules or plans, on this problem."""
        return self.parts.engine

    @property
    def name(self) -> str:
        """The algorithm's."""
        return self.algorithm.name

    @cached_property
    def noise(self) -> Noise:
        """What is known about the noise, as the algorithm takes it."""
        return self.algorithm.results.noise(self.problem.noise, self.name)

    def mirrored(self, values: Reals) -> Reals:
        """Results or means with the largest sought, as algorithms do; its own inverse.

        Where the smallest are looked for they are negated.
        """
        return -values if self.problem.minimizes else values

    def on(self, problem: Problem, arms: Integers) -> Procedure:
        """The same algorithm on another problem, of whose arms only some are left."""
        bound = self.rebind(problem)
        if len(arms) == problem.arms:
            return bound
        if bound.engine.searches:
            found = bound.parts._replace(engine=changing(bound.engine).among(arms))
            return replace(bound, make=lambda: found, left=arms)
        raise InvalidSetting(
            f"{self.name} cannot go on without some of its candidates: continue with a study of the others "
            "(study.continued(…)), or take algorithm='auto'."
        )

    @property
    def changing(self) -> ChangingEngine:
        """The engine, where what is asked may change on the way."""
        return changing(self.engine)

    @property
    def arms_left(self) -> Integers:
        """The rows of the arms that were not retired."""
        return np.arange(self.problem.arms) if self.left is None else self.left

    def widened(self, epsilon: float) -> Procedure:
        """The same with a larger ε."""
        return self.on(self.problem.widened(epsilon), self.arms_left)

    @property
    def cost_words(self) -> str:
        """What the costs are and what is made of them; empty where none were stated."""
        costs = self.problem.costs
        if not costs.stated:
            return ""
        used = "the plans minimise the cost"
        if not self.algorithm.uses_costs:
            used = f"{self.name} does not use them: it minimises the number of evaluations"
        return f"{costs.announcement}; {used}"

    @property
    def interval(self) -> ArmInterval:
        """What an arm's own interval is."""
        setup = self.engine.setup
        return (
            self.algorithm.interval
            or self.threshold.interval
            or usual_interval(
                classical=self.setting.classical,
                regularization=setup.regularization,
                one_sigma=bool((setup.noise == 1.0).all()),
            )
        )

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
        unproven = *self.algorithm.unproven, *self.threshold.why_not_proven(self.setting)
        return Claim(
            statement=statement(
                problem, None if self.left is None else int(problem.listable[self.left].sum())
            ),
            risk=problem.delta,
            figures=f"ε = {slack_words(problem.epsilon)}, δ = {problem.delta:g}, {self.noise.figure}{size}",
            threshold=self.threshold.name,
            source=self.threshold.source,
            assumptions=tuple(self._assumptions()),
            condition=relation.assumed,
            condition_badge=relation.badge,
            normality=self.noise.normality,
            not_assumed=relation.not_assumed,
            why_heuristic=(*unproven, *self.noise.flaws),
            extends=self.algorithm.extends,
        )

    def claim_within(self, epsilon: float) -> Claim:
        """What it claims of an answer that is right up to a slack that was not set beforehand."""
        within = self.problem.widened(max(epsilon, self.problem.epsilon))
        return Procedure(self.algorithm, within, self.make, self.rebind, self.left).claim

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
        words, explanation, short = blocks.assumed(noise.suited)
        return [*found, Assumption(blocks.heading, words, explanation, short=short)]


def changing(engine: AnyEngine) -> ChangingEngine:
    """The engine as one that takes changes, which the caller knows that it does."""
    return cast(ChangingEngine, engine)
