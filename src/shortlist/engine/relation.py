"""How an answer assumes that the means of the arms depend on their features.

Each kind is a class that supplies its own wording. Algorithms say which one they rely on; the
guarantee, the audit of linearity, the health findings, the report and the pictures ask it, and never
test which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from shortlist.problem import Problem


@dataclass(frozen=True)
class Relation(ABC):
    """What an algorithm assumes about how the means depend on the features.

    Attributes
    ----------
    uses_features : bool
        Whether estimates of the means rest on the features.
    guide : str
        What guesses from the features, where they have no other part; else empty.
    """

    problem: Problem

    uses_features: ClassVar[bool] = True
    guide: str = ""

    @property
    @abstractmethod
    def shape(self) -> str:
        """What the means are assumed to be, in a few words: "linear"; empty if nothing."""

    @property
    @abstractmethod
    def explanation(self) -> str:
        """What is assumed of the means, in full sentences."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How the means were modelled, in a sentence in the past tense."""

    @property
    def audited(self) -> bool:
        """Whether evaluations made for the purpose test it before an answer is final."""
        return False

    @property
    def assumed(self) -> str:
        """What the answer assumes, for the middle of a sentence; empty if nothing."""
        return f"the means are {self.shape} in the features" if self.shape else ""

    @property
    def short(self) -> str:
        """The same in a few words."""
        return f"means {self.shape} in the features" if self.shape else ""

    @property
    def badge(self) -> str:
        """The same in a word or two."""
        return self.shape

    @property
    def not_assumed(self) -> str:
        """That nothing is assumed of the features, where they have another part; else empty."""
        if not self.guide:
            return ""
        return "nothing is assumed about how the means depend on the features"

    @property
    def supposed(self) -> str:
        """What an estimate supposes besides the noise, to go on after "normal noise"."""
        return (
            f" and means {self.shape} in the features, which was not tested" if self.shape else ""
        )

    @property
    def features_used(self) -> str:
        """How many features there are and their rank, or that none is used."""
        added = ", and an intercept" if self.problem.intercept else ""
        given = self.problem.dimension - self.problem.intercept
        return f"{given:,}{added} (rank {self.problem.rank:,})"


@dataclass(frozen=True)
class Unrelated(Relation):
    """Nothing is assumed: every arm is judged by its own results.

    Examples
    --------
    >>> Unrelated(Problem.of(arms=["a", "b"], sigma=1.0)).assumed
    ''
    """

    uses_features: ClassVar[bool] = False

    @property
    def shape(self) -> str:
        """Nothing."""
        return ""

    @property
    def explanation(self) -> str:
        """What is assumed of the means, in full sentences."""
        ignored = "" if self.problem.is_classical else " The features were not used."
        if self.guide:
            ignored = (
                f" The features helped to guess, by {self.guide}, and had no part in the "
                "verification."
            )
        return f"None: nothing is assumed about how the means of the arms are related.{ignored}"

    @property
    def method(self) -> str:
        """How the means were modelled, in a sentence in the past tense."""
        words = "No model related the means of the arms"
        if self.guide:
            words += f": the features were used to guess, by {self.guide}, and not to verify"
        return f"{words}."

    @property
    def features_used(self) -> str:
        """That none is used, unless they guide."""
        return super().features_used if self.guide else "none used"


@dataclass(frozen=True)
class Linear(Relation):
    """The means are linear in the features: θ·x, with one unknown θ.

    With as many independent features as arms any means are, and nothing is assumed.

    Examples
    --------
    >>> Linear(Problem.of([[1.0], [2.0]], 1, sigma=1.0)).assumed
    'the means are linear in the features'
    >>> Linear(Problem.of([[1.0, 0.0], [2.0, 1.0]], 1, sigma=1.0)).assumed
    ''
    """

    @property
    def restricts(self) -> bool:
        """Whether some means are not of this form."""
        return self.problem.rank < self.problem.eligible

    @property
    def audited(self) -> bool:
        """Whether evaluations made for the purpose test it before an answer is final."""
        return self.restricts

    @property
    def shape(self) -> str:
        """What the means are assumed to be, in a few words."""
        return "linear" if self.restricts else ""

    @property
    def explanation(self) -> str:
        """What is assumed of the means, in full sentences."""
        words = f"The mean of every arm{self._of_others} is linear in {self._features}"
        if self.restricts:
            return (
                f"{words}: θ·x, with one unknown θ for all arms. If the true means depart from "
                "that, the claim does not hold."
            )
        return f"{words}. With as many independent features as arms this is no restriction."

    @property
    def method(self) -> str:
        """How the means were modelled, in a sentence in the past tense."""
        return (
            f"Every arm{self._of_others} had {self.problem.features_in_words} "
            f"(rank {self.problem.rank:,}), "
            "and the means were modelled as linear in them."
        )

    @property
    def _features(self) -> str:
        return f"its {self.problem.features_in_words} (rank {self.problem.rank})"

    @property
    def _of_others(self) -> str:
        return " that is not a control" if self.problem.controls.exist else ""


def relation_on(problem: Problem, relation: Callable[[Problem], Relation]) -> Relation:
    """The relation on a problem; there is none if every arm is its own dimension.

    Examples
    --------
    >>> relation_on(Problem.of(arms=["a", "b"], sigma=1.0), Linear).uses_features
    False
    """
    return Unrelated(problem) if problem.is_classical else relation(problem)
