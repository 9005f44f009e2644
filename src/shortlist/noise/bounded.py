"""Results that lie in a range: any, with half the range for σ, or bounded as those of coins are."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.advice import setting
from shortlist.arrays import Label
from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.noise.noise import LARGEST, Noise, positive
from shortlist.noise.spread import Found, Spread


class Bounded(Noise):
    """Results in a range: the noise is sub-Gaussian with half the range for σ.

    Examples
    --------
    >>> Bounded(0.0, 1.0).figure
    'σ = 0.5, half the range from 0 to 1'
    """

    word = "bounded"
    takes_range = True

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.sigma = (high - low) / 2.0
        self.limits = max(low, -LARGEST), min(high, LARGEST)

    @classmethod
    def stated(cls, sigma: Any, reward_range: object, names: Sequence[Label]) -> Bounded:
        """The range, if it is one."""
        return cls(*_range(reward_range))

    @property
    def figures(self) -> list[float]:
        """The ends of the range."""
        return [self.low, self.high]

    @property
    def suits(self) -> str:
        """What is for results in a range, unless a class of one's own states a σ that says more."""
        return "in_range" if self.sigma == (self.high - self.low) / 2.0 else "sub_gaussian"

    def check_result(self, value: float) -> None:
        """Raise for a result outside the range."""
        super().check_result(value)
        if not self.low <= value <= self.high:
            raise InvalidInput(
                f"a result must lie in {setting('reward_range', (f'{self.low:g}', f'{self.high:g}'))}, got "
                f"{value!r}: "
                "nothing was told. The guarantee rests on the range, and a result outside voids it. "
                "If it is right, start a new study with a wider range; dropping or clipping it "
                "would bias the mean."
            )

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return f"σ = {self.sigma:g}, half the range from {self.low:g} to {self.high:g}"

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "all results lie in that range"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return f"results between {self.low:g} and {self.high:g}"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        return (
            f"Every result lies between {self.low:g} and {self.high:g}; one that did not was "
            "refused. So the noise is σ-sub-Gaussian with half the range for σ, "
            f"{self.sigma:g}, whatever its distribution (Hoeffding 1963)."
        )


class InRange(Bounded):
    """Results in a range, as an algorithm takes them that does not use σ.

    Parameters
    ----------
    low, high : float
        The ends of the range.
    stated : Noise
        What the study states of the noise.
    algorithm : str
        Whose bounds they are.
    """

    word = ""  # an algorithm makes it, and nobody states it
    uses_sigma = False

    def __init__(self, low: float, high: float, stated: Noise, algorithm: str) -> None:
        super().__init__(low, high)
        self.stated_noise, self.algorithm = stated, algorithm

    def check_result(self, value: float) -> None:
        """Raise for a result outside what is stated."""
        self.stated_noise.check_result(value)

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return "σ is not used"

    @property
    def announcement(self) -> str:
        """The range, where a study begins."""
        return f"results from {self.low:g} to {self.high:g}; {self.figure}"

    @property
    def assumption(self) -> str:
        """What a proof assumes of the results, in few words."""
        return f"the results lie in [{self.low:g}, {self.high:g}]"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the results, in full sentences."""
        return (
            f"Every result lies between {self.low:g} and {self.high:g}; one that did not was "
            "refused. Nothing else is assumed of the noise, and σ was not used."
        )

    @property
    def specification(self) -> str:
        """The value of σ in a table."""
        return f"{self.stated_noise.specification} (not used by this algorithm)"

    @property
    def description(self) -> str:
        """The results in the methods section of a paper."""
        return f"results from {self.low:g} to {self.high:g}"

    def finding(self, spread: Spread, names: Sequence[Label]) -> Found:
        """Nothing can contradict it: results outside the range are refused."""
        return (
            "fine",
            f"{self.algorithm} does not use σ.",
            f"The guarantee rests on results from {self.low:g} to {self.high:g}, and others are "
            "refused.",
        )


@dataclass(frozen=True)
class StatedRange:
    """Bounds for results in the range that is stated, where one is, at their own variance: σ is not used.

    Examples
    --------
    >>> StatedRange().noise(Bounded(0.0, 5.0), "Guess-and-verify").assumption
    'the results lie in [0, 5]'
    """

    def noise(self, stated: Noise, algorithm: str) -> Noise:
        """The results in the range that is stated; else the noise as it is stated."""
        if stated.suits != "in_range":
            return stated
        return InRange(*stated.limits, stated, algorithm)


def within(low: float, high: float) -> dict[str, object]:
    """The settings that say that results lie in a range, for advice.

    Examples
    --------
    >>> within(0.0, 1.0)
    {'sigma': 'bounded', 'reward_range': ('0', '1')}
    """
    return {"sigma": "bounded", "reward_range": (f"{low:g}", f"{high:g}")}


def _range(given: object) -> tuple[float, float]:
    if given is None:
        raise InvalidSetting(
            f"{setting('sigma', 'bounded')} needs the range of the results: give "
            f"{setting('reward_range', ('low', 'high'))}."
        )
    ends = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    if len(ends) != 2 or not all(
        isinstance(end, numbers.Real) and not isinstance(end, bool) and math.isfinite(end)
        for end in ends
    ):
        raise InvalidSetting(f"reward_range must be two finite numbers (low, high), got {given!r}.")
    low, high = float(ends[0]), float(ends[1])
    if not 0.0 < high - low < math.inf:
        raise InvalidSetting(
            f"reward_range must go from the lowest result to the highest, got ({low:g}, {high:g})."
        )
    positive("the width of reward_range", high - low)
    return low, high
