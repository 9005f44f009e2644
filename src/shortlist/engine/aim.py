"""When a study stops: once its answer is certain, or when its budget is spent.

Each aim is a class that supplies its own wording, so that callers never test which one they have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from shortlist.printable import count
from shortlist.problem import Problem


class Aim(ABC):
    """When a study stops, and how that is said.

    Attributes
    ----------
    budget : int or None
        The number of results at which it stops, if that is set beforehand.
    certifies : bool
        Whether its answer comes with a claim that a theorem may cover.
    proves : bool
        Whether results say at the end of a budget up to which difference the answer is proven.
    statistic_name, statistic_words : str
        What the statistic of a round is, on an axis and in a sentence.
    compared : str
        What is compared besides the intervals of single arms, in sentences.
    """

    budget: int | None = None
    certifies: bool
    proves: bool = False
    statistic_name: str
    statistic_words: str
    compared: str

    @abstractmethod
    def room(self, made: int) -> float:
        """How many evaluations may still be asked for, if ``made`` are in or under way."""

    @abstractmethod
    def short(self, problem: Problem) -> str:
        """When it stops, in a few characters."""

    @abstractmethod
    def wanted(self, problem: Problem) -> str:
        """How sure or how good the answer will be, after "the m best"."""

    @abstractmethod
    def stop_words(self, statistic: float, epsilon: float) -> str:
        """What the statistic of a round meant for the stop, to end a sentence."""

    @abstractmethod
    def delta_words(self, delta: float) -> str:
        """δ, and what it is for where it does not decide."""

    @abstractmethod
    def method(self, wanted: str, paper: str) -> str:
        """What was looked for, in a sentence in the past tense."""

    @property
    def out_of(self) -> str:
        """What follows the number of evaluations so far: " of 100", or nothing."""
        return ""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """What was set by the user: names and values."""
        return []

    @property
    def why_final(self) -> str:
        """Why a stop cannot be taken back; empty if it can."""
        return ""


class Certainty(Aim):
    """The study stops when the answer is certain enough.

    Examples
    --------
    >>> CERTAINTY.stop_words(0.5, 0.1)
    'the stopping statistic was 0.5, and the study stops when it is at most 0.1'
    """

    certifies = True
    statistic_name = "stopping statistic"
    statistic_words = "The stopping statistic, which must fall to ε, over the evaluations."
    compared = (
        "The stop compares differences of two means, which are known more precisely. So intervals "
        "may overlap where the order is settled."
    )

    def room(self, made: int) -> float:
        """No limit."""
        return float("inf")

    def short(self, problem: Problem) -> str:
        """The risk."""
        return f"δ = {problem.delta:g}"

    def wanted(self, problem: Problem) -> str:
        """With which risk."""
        return f"with risk δ = {problem.delta:g}"

    def stop_words(self, statistic: float, epsilon: float) -> str:
        """What the statistic was and must be."""
        return (
            f"the stopping statistic was {statistic:.4g}, and the study stops when it is at most "
            f"{epsilon:g}"
        )

    def delta_words(self, delta: float) -> str:
        """δ."""
        return f"{delta:g}"

    def method(self, wanted: str, paper: str) -> str:
        """What was looked for, in a sentence in the past tense."""
        return f"We looked for {wanted} by top-m identification with fixed confidence ({paper})."


CERTAINTY = Certainty()


class Budget(Aim):
    """The study stops when a number of evaluations is in, whether or not the answer is certain.

    Examples
    --------
    >>> Budget(100).room(98), Budget(100).out_of
    (2, ' of 100')
    """

    certifies = False
    statistic_name = "how much better c may be than b"
    statistic_words = (
        "How much better the challenger may still be, each time the results were looked at."
    )
    compared = "Differences of two means are known more precisely."
    budget: int

    def __init__(self, evaluations: int, *, proves: bool = False) -> None:
        self.budget, self.proves = evaluations, proves

    def room(self, made: int) -> float:
        """What is left of the budget."""
        return max(self.budget - made, 0)

    def short(self, problem: Problem) -> str:
        """The budget."""
        return f"budget {self.budget:,}"

    def wanted(self, problem: Problem) -> str:
        """As well as the budget can tell."""
        return f"as well as {count(self.budget, 'evaluation')} can tell"

    def stop_words(self, statistic: float, epsilon: float) -> str:
        """After how many evaluations it stops."""
        return f"the study stops after {self.budget:,} evaluations"

    def delta_words(self, delta: float) -> str:
        """δ, which only says how wide intervals are where nothing is proven."""
        if self.proves:
            return f"{delta:g} (of what is proven at the end)"
        return f"{delta:g} (of the interval of an arm named beforehand; it decides nothing)"

    def method(self, wanted: str, paper: str) -> str:
        """What was looked for, in a sentence in the past tense."""
        return (
            f"We looked for {wanted} by top-m identification ({paper}) with a fixed budget of "
            f"T = {self.budget:,} evaluations."
        )

    @property
    def out_of(self) -> str:
        """The budget, after the number of evaluations so far."""
        return f" of {self.budget}"

    @property
    def settings(self) -> list[tuple[str, str]]:
        """What was set by the user: names and values."""
        return [("Budget, T", f"{self.budget:,} evaluations")]

    @property
    def why_final(self) -> str:
        """Why a stop cannot be taken back."""
        return f"the budget of {self.budget:,} evaluations is spent, and a study's budget is final."
