"""σ as a number that is given: one for all arms (``Given``), or one for every arm (``Each``)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shortlist.arrays import Integers, Label, Reals
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.noise.noise import Noise, positive
from shortlist.noise.spread import Spread


class Given(Noise):
    """One σ for all arms.

    Examples
    --------
    >>> Given(0.5).announcement
    'σ = 0.5 in a single evaluation'
    """

    word = "given"

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    @classmethod
    def recognizes(cls, sigma: object) -> bool:
        """A number; what is none is refused as one."""
        return sigma is not None and not isinstance(sigma, str) and not Each.recognizes(sigma)

    @classmethod
    def stated(cls, sigma: Any, reward_range: object, names: Sequence[Label]) -> Given:
        """σ, if it is a number above 0."""
        return cls(positive("sigma", sigma))

    @property
    def figures(self) -> list[float]:
        """σ."""
        return [self.sigma]

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return f"σ = {self.sigma:g}"

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return f"{self.figure} in a single evaluation"

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "the noise is σ-sub-Gaussian"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return f"noise s.d. at most {self.sigma:g}"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        return (
            f"The noise of every result is σ-sub-Gaussian with σ = {self.sigma:g}: large deviations "
            "are no likelier than for normal noise of standard deviation σ. For normal noise σ is "
            "that standard deviation, for bounded results half their range. σ was given, not "
            "estimated. If the true noise is larger, the claim does not hold."
        )


class ByArm(Noise):
    """A σ for every arm.

    Attributes
    ----------
    each : array or None
        σ_a of every arm; None until it is known.
    """

    each: Reals | None

    @property
    def deviations(self) -> float | Reals:
        """σ_a of every arm."""
        return self.sigma if self.each is None else self.each

    def relative(self, arms: int) -> Reals:
        """(σ_a/σ)² of every arm, with σ the largest; 1 until they are known."""
        return np.ones(arms) if self.each is None else (self.each / self.sigma) ** 2

    def of_arms(self, arms: Integers) -> ByArm:
        """The same without the σ of other arms; what is measured in units of σ stays so."""
        if self.each is None:
            return self
        twin = copy.copy(self)
        twin.each = self.each[arms]
        return twin

    @property
    def why_no_more_arms(self) -> str:
        """That every arm has a σ of its own."""
        return "every arm of this study has a σ of its own, and none is known of new arms"

    @property
    def size(self) -> str:
        """How large the noise is, in few words."""
        return "each arm's σ"

    def measured(self, spread: Spread) -> str:
        """The noise that was measured, beside what is stated."""
        ratio = spread.deviation / self.sigma
        return f"{ratio:.3g} times their arm's σ ({spread.replicates} degrees of freedom)"

    def smaller(self, spread: Spread) -> str:
        """The smaller noise that was measured, in words."""
        return "such smaller σ"

    def larger(self, spread: Spread) -> float | str:
        """To have them estimated."""
        return "estimate per arm"


class Each(ByArm):
    """A σ for every arm, given.

    Examples
    --------
    >>> Noise.of({"b": 0.2, "a": 0.1}, names=("a", "b")).figure
    'σ per arm from 0.1 to 0.2'
    """

    word = "each"
    each: Reals

    def __init__(self, *each: float) -> None:
        self.sigma, self.each = max(each), np.array(each)

    @classmethod
    def recognizes(cls, sigma: object) -> bool:
        """A sequence, or numbers by the names of the arms."""
        listed = isinstance(sigma, Mapping | pd.Series | Sequence | np.ndarray)
        return listed and not isinstance(sigma, str)

    @classmethod
    def stated(cls, sigma: Any, reward_range: object, names: Sequence[Label]) -> Each:
        """σ of every arm, if they are numbers above 0."""
        values = each_arm("sigma", sigma, names)
        return cls(
            *(positive(f"sigma of arm {n!r}", v) for n, v in zip(names, values, strict=True))
        )

    @property
    def figures(self) -> list[float]:
        """σ of every arm."""
        return list(self.each.tolist())

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return f"σ per arm from {self.each.min():g} to {self.each.max():g}"

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "the noise of every arm is sub-Gaussian with its σ"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return f"noise s.d. of each arm at most its σ ({self.each.min():g} to {self.each.max():g})"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        return (
            "The noise of every result is sub-Gaussian with the σ of its arm, from "
            f"{self.each.min():g} to {self.each.max():g}: for normal noise its standard "
            "deviation. These were given, not estimated. If the true noise of an arm is larger, "
            "the claim does not hold."
        )


def each_arm(what: str, values: Any, names: Sequence[Label]) -> list[Any]:
    """The values in the order of the arms; ``what`` they are called in messages.

    Examples
    --------
    >>> each_arm("costs", {"elm": 10.0, "ash": 1.0}, ["ash", "elm"])
    [1.0, 10.0]
    >>> each_arm("costs", [1.0], ["ash", "elm"])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: costs must be one number for each of the 2 arms, got 1.
    """
    if isinstance(values, Mapping | pd.Series):
        return _in_order(what, values, names)
    table = isinstance(values, np.ndarray) and values.ndim != 1
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise InvalidSetting(
            f"{what} must be one number for each of the {len(names)} arms, got {values!r}."
        )
    if table or len(values) != len(names):
        got = f"shape {np.shape(values)}" if table else f"{len(values)}"
        raise InvalidSetting(
            f"{what} must be one number for each of the {len(names)} arms, got {got}."
        )
    return list(values)


def _in_order(what: str, values: Any, names: Sequence[Label]) -> list[Any]:
    """The values of a mapping or a Series in the order of the arms."""
    known, by_name = set(map(str, names)), dict[str, Any]()
    for key, value in values.items():
        name = str(key)
        if name not in known:
            raise unknown_name(f"arm in {what}", name, map(str, names))
        if name in by_name:
            raise InvalidSetting(f"{what} names the arm {name!r} twice: keep one.")
        by_name[name] = value
    for label in names:
        if str(label) not in by_name:
            raise InvalidSetting(f"{what} has no number for arm {label!r}: give one for every arm.")
    return [by_name[str(label)] for label in names]
