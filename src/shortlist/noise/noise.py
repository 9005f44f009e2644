"""``Noise``, the base class of all statements about the noise, and the registry of its kinds."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from shortlist.advice import goes_on, setting
from shortlist.arrays import Integers, Label, Reals
from shortlist.errors import InvalidInput, InvalidSetting, number_hint, unknown_name
from shortlist.noise.spread import ADAPTIVE, ALPHA, HINT, Found, Spread, p_value
from shortlist.printable import count

LARGEST = 1e150  # a result whose square, and the sum of many such, is still a number
UPPER = 0.9  # confidence that a σ advised is large enough
ENOUGH = 10  # degrees of freedom, for a number to be advised
OTHER_UNITS = 10.0  # times σ: noise that is so much larger is likely to be in other units

Choice = TypeVar("Choice")
KINDS: dict[str, type[Noise]] = {}  # by their words, filled where a class is defined


class Noise(ABC):
    """What is known about the noise.

    Attributes
    ----------
    word : str
        What the kind is called where it is stored, and for most kinds in ``sigma=``.
    sigma : float
        σ, that of the noisiest arm where they differ; NaN if it is not known.
    limits : tuple of float
        The least and the largest result that can be.
    takes_range : bool
        Whether it is stated with a ``reward_range``.
    needs_replicates : bool
        Whether σ is not known, and results must show it.
    uses_sigma : bool
        Whether widths are multiples of σ.
    large : float
        The share of σ below which results that spread less are a reason to say what σ costs.

    Examples
    --------
    >>> Noise.of("bounded", (0, 1)).sigma
    0.5
    >>> Noise.of([0.1, 0.2, 0.1], names=("a", "b", "c")).relative(3).tolist()
    [0.25, 1.0, 0.25]
    """

    word: ClassVar[str] = ""
    takes_range: ClassVar[bool] = False
    needs_replicates: ClassVar[bool] = False
    uses_sigma: ClassVar[bool] = True
    large: ClassVar[float] = 0.9

    sigma: float
    limits: tuple[float, float] = (-LARGEST, LARGEST)

    def __init_subclass__(cls) -> None:
        if cls.word:
            KINDS[cls.word] = cls

    def __repr__(self) -> str:
        return f"<{self.figure}>"

    # What a user states

    @staticmethod
    def of(sigma: object, reward_range: object = None, names: Sequence[Label] = ()) -> Noise:
        """Check what was given for ``sigma`` and ``reward_range``."""
        if isinstance(sigma, Noise):
            return sigma
        kind = next((each for each in KINDS.values() if each.recognizes(sigma)), None)
        if reward_range is not None and sigma is None:
            raise InvalidSetting(
                f"{setting('reward_range', reward_range)} needs {setting('sigma', 'bounded')} beside it: then all that is "
                "assumed of the noise is that results lie in that range."
            )
        if reward_range is not None and not (kind is not None and kind.takes_range):
            raise InvalidSetting(
                f"reward_range can only be used with {setting('sigma', 'bounded')}, got sigma = "
                f"{sigma!r}: leave one of them out."
            )
        if sigma is None:
            raise InvalidSetting(
                "sigma is missing: it has no default, since a wrong one silently voids the "
                f"guarantee. Give the noise's standard deviation; or {setting('sigma', 'bounded')} "
                f"with {setting('reward_range', ('low', 'high'))} for bounded rewards; or, for "
                f"normal noise, {setting('sigma', 'estimate')}, or "
                f"{setting('sigma', 'estimate per arm')} where σ differs from arm to arm."
            )
        if kind is not None:
            return kind.stated(sigma, reward_range, names)
        if hint := number_hint(sigma):
            raise InvalidSetting(f"sigma must be a number, got {sigma!r} (str).{hint}")
        words = [word for word, each in KINDS.items() if each.recognizes(word)]
        raise unknown_name("sigma", str(sigma), [*words, "a number", "a number for every arm"])

    @classmethod
    def recognizes(cls, sigma: object) -> bool:
        """Whether ``sigma`` states noise of this kind; by default if it is its word."""
        return isinstance(sigma, str) and sigma == cls.word

    @classmethod
    def stated(cls, sigma: Any, reward_range: object, names: Sequence[Label]) -> Noise:
        """The noise that ``sigma``, which it recognizes, and ``reward_range`` state."""
        return cls()

    # How it is stored

    @property
    def written(self) -> list[Any]:
        """Plain data from which ``read`` makes the same noise as it was stated."""
        return [self.word, *self.figures]

    @property
    @abstractmethod
    def figures(self) -> list[float]:
        """The numbers that make the same noise, given to its class, as it was stated."""

    @staticmethod
    def read(written: list[Any]) -> Noise:
        """The noise that ``written`` was made from.

        Examples
        --------
        >>> Noise.read(["bounded", 0.0, 1.0]).sigma
        0.5
        """
        word, *figures = written
        if word not in KINDS:
            raise unknown_name("kind of noise", str(word), KINDS)
        return KINDS[word](*figures)

    @property
    def as_stated(self) -> Noise:
        """The same noise without what results have added to it."""
        return self

    # Results

    def suited(
        self,
        sub_gaussian: Choice,
        in_range: Choice,
        own_sigma: Choice | None = None,
        one_sigma: Choice | None = None,
    ) -> Choice:
        """The one that is for noise of this kind: sub-Gaussian, results in a range, or normal noise.

        The last two are for a σ that is not known, of its own for each arm or one for all, where there are
        such.
        """
        choices = {"in_range": in_range, "own_sigma": own_sigma, "one_sigma": one_sigma}
        found = choices.get(self.suits)
        return sub_gaussian if found is None else found

    @property
    def suits(self) -> str:
        """The name of that choice."""
        return "sub_gaussian"

    @property
    def scale(self) -> float:
        """σ, as a unit: 1 where it is not known."""
        return 1.0 if math.isnan(self.sigma) else self.sigma

    def limits_given(self, mirrored: bool) -> tuple[float, float]:
        """The least and the largest result that an algorithm is given, negated if they are mirrored."""
        low, high = self.limits
        return (-high, -low) if mirrored else (low, high)

    def check_result(self, value: float) -> None:
        """Raise for a result that is impossible."""
        if abs(value) > LARGEST:
            raise InvalidInput(
                f"a result must lie within ±{LARGEST:g}, so that it can be squared and summed, got "
                f"{value:g}: nothing was told. Check the value, or use other units."
            )

    @property
    def deviations(self) -> float | Reals:
        """σ as a number, or one for every arm where they differ."""
        return self.sigma

    def relative(self, arms: int) -> Reals:
        """(σ_a/σ)² of every arm: the variance of its noise in units of σ²."""
        return np.ones(arms)

    def of_arms(self, arms: Integers) -> Noise:
        """The same noise where only these arms are left."""
        return self

    @property
    def why_no_more_arms(self) -> str:
        """Why it does not say what the noise of other arms is, in words; empty if it does."""
        return ""

    @property
    def flaws(self) -> list[str]:
        """Why σ cannot be relied on; empty if nothing contradicts it."""
        return []

    # Words

    @property
    @abstractmethod
    def figure(self) -> str:
        """The text for σ in a guarantee."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return self.assumption

    @property
    def normality(self) -> str:
        """That noise is normal, where a proof needs it, for the middle of a sentence; else empty."""
        return ""

    @property
    @abstractmethod
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""

    @property
    def specification(self) -> str:
        """The value of σ in a table."""
        return self.figure.removeprefix("σ = ")

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return f"σ-sub-Gaussian noise with {self.figure}"

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return self.figure

    @property
    def size(self) -> str:
        """How large the noise is, in few words."""
        return f"σ = {self.sigma:.4g}"

    # Health

    def finding(self, spread: Spread, names: Sequence[Label]) -> Found:
        """Whether results of the same arm contradict σ."""
        from scipy.special import chdtr, chdtrc

        sigma, degrees = self.sigma, spread.replicates
        if degrees == 0:
            return (
                "untested",
                "No arm has been evaluated twice yet.",
                f"{self.figure} is taken as given, and the guarantee rests on it.",
            )
        squares = spread.total
        words = f"Results of the same arm have {self.measured(spread)}"
        again = spread.shows_noise
        own_degrees = spread.degrees[again]
        each = np.asarray(chdtrc(own_degrees, spread.squares[again] / sigma**2))
        p = float(chdtrc(degrees, squares / sigma**2))
        p_worst = min(float(each.min()) * len(each), 1.0)
        way = goes_on("with all results.", sigma=self.larger(spread))
        too_small = (
            "A σ that is too small voids the guarantee: the intervals are too narrow, and the study "
            f"stops too early. {way} The p-value is for normal noise. {ADAPTIVE}"
        )
        if p < ALPHA:
            words += f": σ is too small (χ² = {squares / sigma**2:.4g}, {p_value(p, 1)})."
            if spread.deviation > OTHER_UNITS * sigma:
                words += " Is it in the units of the results?"
            return "warning", words, too_small, "", way
        if p_worst < ALPHA:
            arm = int(spread.arms[again][np.argmin(each)])
            squares_each = (spread.squares * spread.noise)[again] / own_degrees
            own = math.sqrt(float(squares_each[np.argmin(each)]))
            words += (
                f"; but those of arm {names[arm]!r} have {own:.3g} ({p_value(p_worst, 1)}, "
                f"as the worst of {len(each)} arms)."
            )
            return "warning", words, f"σ must hold for every arm. {too_small}", "", way
        if unequal := self.unequal(spread, names):
            return unequal
        if chdtr(degrees, squares / (self.large * sigma) ** 2) < ALPHA:
            times = (sigma / spread.deviation) ** 2 if spread.deviation > 0.0 else math.inf
            return (
                "note",
                f"{words}: about {times:.2g} times the evaluations that {self.smaller(spread)} takes.",
                "The guarantee holds: evaluations grow with σ². Mind that σ bounds tails and not "
                "only the spread: for bounded results half the range is safe, less is not.",
            )
        words += f" ({p_value(p)} under the claimed σ)."
        if p < HINT:
            meaning = (
                "This suggests that σ is too small, but does not prove it. Look again after more "
                "results. " + ADAPTIVE
            )
            return "note", words, meaning
        return "fine", words, "The results do not contradict σ."

    def measured(self, spread: Spread) -> str:
        """The noise that was measured, beside what is stated."""
        degrees = f"{count(spread.replicates, 'degree')} of freedom"
        return f"standard deviation {spread.deviation:.3g} ({degrees}), and σ = {self.sigma:g}"

    def smaller(self, spread: Spread) -> str:
        """The smaller noise that was measured, in words."""
        return f"a σ of {spread.deviation:.3g}"

    def unequal(self, spread: Spread, names: Sequence[Label]) -> Found | None:
        """That the arms' noise is not as equal as it is stated to be; None if nothing shows it."""
        return None

    def larger(self, spread: Spread) -> float | str:
        """How noise that is larger is stated, for a study to which its results are given."""
        return self.larger_number(spread) or "estimate"

    def larger_number(self, spread: Spread) -> float | None:
        """A larger number for σ, with which the results agree, if they do not agree with this one."""
        sigma = self._larger(spread)
        return None if sigma is None else float(f"{sigma:.3g}")

    def _larger(self, spread: Spread) -> float | None:
        from scipy.special import chdtri

        if spread.replicates < ENOUGH:
            return None
        # With probability 0.9 the true one is no larger, if the noise is normal; two digits, upwards.
        sigma = math.sqrt(spread.total / float(chdtri(spread.replicates, UPPER)))
        return None if sigma <= self.sigma else _upwards(sigma)


class ResultModel(Protocol):
    """What an algorithm's bounds are for: sub-Gaussian noise as it is stated, or results in a range."""

    def noise(self, stated: Noise, algorithm: str) -> Noise:
        """The noise as the algorithm of this name takes it; raises where it cannot."""


class SubGaussian:
    """Bounds for sub-Gaussian noise: it is taken as it is stated."""

    def noise(self, stated: Noise, algorithm: str) -> Noise:
        """The noise that is stated, if σ is known."""
        if stated.needs_replicates:
            raise InvalidSetting(
                f"{algorithm} needs a σ, and sigma={stated.word!r} gives none: give a number for sigma, or "
                "leave out algorithm= and threshold= (Guess-and-verify needs no σ)."
            )
        return stated

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubGaussian)

    def __hash__(self) -> int:
        return hash(SubGaussian)


def _upwards(sigma: float) -> float:
    """A number rounded up to two digits.

    Examples
    --------
    >>> round(_upwards(0.4321), 9)
    0.44
    """
    unit = 10.0 ** (math.floor(math.log10(sigma)) - 1)
    return math.ceil(sigma / unit) * unit


LEAST, MOST = 1e-100, 1e100  # σ, or the width of a range


def checked_number(name: str, value: object) -> float:
    """The value of a setting, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidSetting(
            f"{name} must be a number, got {value!r} ({type(value).__name__}).{number_hint(value)}"
        )
    try:
        return float(value)
    except OverflowError:
        raise InvalidSetting(f"{name} must be at most 1e308, got a larger number.") from None


def positive(name: str, value: object) -> float:
    """The value of a setting, if it is a number above 0."""
    number = checked_number(name, value)
    if not (number > 0.0 and math.isfinite(number)):
        raise InvalidSetting(f"{name} must be above 0 and finite, got {number}.")
    if not LEAST <= number <= MOST:
        raise InvalidSetting(
            f"{name} must lie between {LEAST:g} and {MOST:g}, so that its square can be computed "
            f"with, got {number:g}: measure in another unit."
        )
    return number
