"""What an algorithm is: its name, its references, its descriptions, and how it is bound to a problem.

Whoever lists, stores or describes algorithms asks them, without knowing their classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.problem import Problem
from shortlist.references import Work, work

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
    """

    name: str
    summary: str
    works: tuple[str | Work, ...]
    adapted: bool = False
    only_m: int | None = None
    needs: ClassVar[Need | None] = None
    kinds: ClassVar[dict[str, type[Algorithm]]] = {}  # all classes, by their names

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        Algorithm.kinds[cls.__name__] = cls

    @classmethod
    def kind_name(cls) -> str:
        """What algorithms of this class are called in a list."""
        return cls.__name__

    @abstractmethod
    def bind(self, problem: Problem, threshold: Any = None) -> AlgorithmOnProblem:
        """The algorithm on a problem."""

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
