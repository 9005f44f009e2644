"""What is known about the noise: σ, the same for all arms or arm by arm, and where it comes from.

σ from replicates: an upper bound that normal noise exceeds with a chosen probability.

Σ_a Σ_k (y_ak − ȳ_a)² / σ² is χ² with Σ_a (n_a − 1) degrees of freedom, whatever the means. So,
except with probability q, σ² is at most that sum of squares over the χ² quantile at q. For noise
that is only known to be sub-Gaussian no such bound exists: a rare large value may not be among
the replicates. The same holds arm by arm, with Σ_k (y_ak − ȳ_a)² and n_a − 1 degrees of freedom.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.arrays import Reals
from shortlist.errors import InvalidInput, InvalidSetting, number_hint, unknown_name

ESTIMATED = ("estimate", "estimate per arm")
WORDS = ("bounded", *ESTIMATED)
GIVEN = "the noise is σ-sub-Gaussian"  # as the thresholds' assumptions have it


@dataclass(frozen=True, eq=False)
class Noise:
    """What a study is told of the noise.

    Attributes
    ----------
    kind : {"given", "each", "bounded", "estimate", "estimate per arm"}
        One σ; one for every arm; half the range of the results; from replicates, one σ for all
        arms or one for every arm.
    sigma : float
        σ, that of the noisiest arm where they differ; NaN until it is estimated.
    each : array or None
        σ_a of every arm, where they differ.
    range : tuple of float or None
        Where every result lies.
    share : float
        The share of δ that is spent on the estimate.
    degrees : int
        The degrees of freedom that the estimate must have; per arm, that of every arm.
    found : Estimate or None
        The estimate, once there is one; per arm, the largest bound, the least spread, the least
        degrees of freedom and the largest share of equal replicates.

    Examples
    --------
    >>> Noise.of("bounded", (0, 1)).sigma
    0.5
    >>> Noise.of([0.1, 0.2, 0.1], names=("a", "b", "c")).relative(3).tolist()
    [0.25, 1.0, 0.25]
    """

    kind: str
    sigma: float
    each: Reals | None = None
    range: tuple[float, float] | None = None
    share: float = 0.0
    degrees: int = 0
    found: Estimate | None = None

    @classmethod
    def of(cls, sigma: object, reward_range: object = None, names: Sequence[str] = ()) -> Noise:
        """Check what was given for ``sigma`` and ``reward_range``."""
        if isinstance(sigma, Noise):
            return sigma
        if reward_range is not None and not (isinstance(sigma, str) and sigma == "bounded"):
            raise InvalidSetting(
                f"reward_range can only be used with sigma='bounded', got sigma = "
                f"{sigma!r}: leave one of them out."
            )
        if sigma is None:
            raise InvalidSetting(
                "sigma is missing: it has no default, since a wrong one silently voids the "
                "guarantee. Give the noise's standard deviation; or sigma='bounded' "
                "with reward_range=(low, high) for bounded rewards; or, for normal noise, "
                "sigma='estimate', or sigma='estimate per arm' where σ "
                "differs from arm to arm."
            )
        if isinstance(sigma, str):
            return cls._by_word(sigma, reward_range)
        if isinstance(sigma, Mapping | pd.Series):
            return cls._each(_in_order(sigma, names), names)
        if isinstance(sigma, Sequence | np.ndarray):
            return cls._each(sigma, names)
        return cls("given", _positive("sigma", sigma))

    @classmethod
    def _by_word(cls, word: str, reward_range: object) -> Noise:
        if number_hint(word):
            raise InvalidSetting(f"sigma must be a number, got {word!r} (str).{number_hint(word)}")
        if word not in WORDS:
            raise unknown_name("sigma", word, [*WORDS, "a number", "a number for every arm"])
        if word in ESTIMATED:
            degrees = DEGREES if word == "estimate" else DEGREES_OF_EACH
            return cls(word, math.nan, share=SHARE, degrees=degrees)
        low, high = _range(reward_range)
        return cls("bounded", (high - low) / 2.0, range=(low, high))

    @classmethod
    def _each(cls, values: Any, names: Sequence[str]) -> Noise:
        table = isinstance(values, np.ndarray) and values.ndim != 1
        if table or len(values) != len(names):
            got = f"shape {values.shape}" if table else f"{len(values)}"
            raise InvalidSetting(
                f"sigma must be one number, or one for each of the {len(names)} arms, got {got}."
            )
        each = [_positive(f"sigma of arm {n!r}", v) for n, v in zip(names, values, strict=True)]
        return cls("each", max(each), each=np.array(each))

    # As it is stored

    @property
    def written(self) -> float | list[Any]:
        """Plain data from which ``read`` makes the same noise, without its estimate."""
        if self.is_estimated:
            return [self.kind, self.share, self.degrees]
        if self.each is not None:
            return list(self.each.tolist())
        if self.range is not None:
            return ["bounded", *self.range]
        return self.sigma

    @classmethod
    def read(cls, written: Any, names: Sequence[str]) -> Noise:
        """The noise that ``written`` was made from.

        Examples
        --------
        >>> Noise.read(["bounded", 0.0, 1.0], ("a", "b")).sigma
        0.5
        """
        if isinstance(written, list) and written and isinstance(written[0], str):
            word, *rest = written
            if word in ESTIMATED:
                share, degrees = rest
                return cls(word, math.nan, share=float(share), degrees=int(degrees))
            return cls._by_word(word, rest)
        return cls.of(written, names=names)

    # What is made of it

    def relative(self, arms: int) -> Reals:
        """(σ_a/σ)² of every arm: the variance of its noise in units of σ²."""
        return np.ones(arms) if self.each is None else (self.each / self.sigma) ** 2

    def check(self, value: float) -> None:
        """Raise for a result outside the range."""
        if self.range is not None and not self.range[0] <= value <= self.range[1]:
            low, high = self.range
            raise InvalidInput(
                f"a result must lie in reward_range=({low:g}, {high:g}), got {value!r}: nothing "
                "was told. σ is half the range, and a result outside voids the guarantee. If it is "
                "right, start a new study with a wider range; dropping or clipping it would bias "
                "the mean."
            )

    @property
    def is_estimated(self) -> bool:
        """Whether σ comes from replicates, whether or not they are in."""
        return self.kind in ESTIMATED

    @property
    def awaits_estimate(self) -> bool:
        """Whether σ is still to be estimated."""
        return math.isnan(self.sigma)

    def left_of(self, delta: float) -> float:
        """The part of δ that the estimate leaves to the algorithm."""
        return delta - self.share * delta

    def estimated(self, replicates: Sequence[Sequence[float]], delta: float) -> Noise:
        """The noise with σ from replicates: an upper bound, wrong with probability ``share`` δ.

        Per arm there are replicates of every arm, and all bounds hold at once.

        Examples
        --------
        >>> noise = Noise.of("estimate per arm").estimated([[1.0, 1.2, 0.8], [2.2, 1.8, 2.0]], 0.05)
        >>> noise.each.round(2).tolist(), noise.found.degrees
        ([2.82, 2.82], 2)
        """
        if self.kind == "estimate":
            found = bound_from_replicates(replicates, self.share * delta)
            return replace(self, sigma=found.sigma, found=found)
        risk = self.share * delta / len(replicates)  # the union over all arms
        bounds = [bound_from_replicates([values], risk) for values in replicates]
        largest = max(bound.sigma for bound in bounds)
        each = np.array([max(bound.sigma, SMALLEST * largest) for bound in bounds])
        spread, degrees = min(b.spread for b in bounds), min(b.degrees for b in bounds)
        equal = max(max(Counter(values).values()) / len(values) for values in replicates)
        found = Estimate(largest, spread, degrees, equal)
        return replace(self, sigma=largest, each=each, found=found)

    @property
    def flaws(self) -> list[str]:
        """Why the estimate cannot be relied on; empty if nothing contradicts it."""
        if self.found is None:
            return []
        if self.found.spread == 0.0:
            whose = "every arm" if self.kind == "estimate" else "an arm"
            return [f"the replicates of {whose} are equal, so no σ can be estimated from them"]
        if self.found.equal > MOST_EQUAL:
            return ["more than half of an arm's replicates are equal, so its noise is not normal"]
        return []

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee.

        Examples
        --------
        >>> Noise.of("bounded", (0, 1)).figure
        'σ = 0.5, half the range from 0 to 1'
        """
        if self.each is not None and self.found is not None:
            return (
                f"σ per arm bounded above by {self.each.min():.4g} to {self.each.max():.4g}, each "
                f"from {self.found.degrees} degrees of freedom of the initial pulls, at a cost of "
                f"{self.share:g} δ"
            )
        if self.each is not None:
            return f"σ per arm from {self.each.min():g} to {self.each.max():g}"
        if self.range is not None:
            return f"σ = {self.sigma:g}, half the range from {self.range[0]:g} to {self.range[1]:g}"
        if self.kind == "given":
            return f"σ = {self.sigma:g}"
        if self.found is None:
            whose = "σ" if self.kind == "estimate" else "σ of each arm"
            return f"{whose} to be estimated from the initial pulls, at a cost of {self.share:g} δ"
        return (
            f"σ ≤ {self.sigma:.4g} by {self.found.degrees} degrees of freedom of the initial "
            f"pulls, at a cost of {self.share:g} δ"
        )

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise."""
        return {
            "given": GIVEN,
            "each": "the noise of every arm is sub-Gaussian with its σ",
            "bounded": "all results lie in that range",
            "estimate": "the noise is normal with the same σ for all arms",
            "estimate per arm": "the noise of each arm is normal with a σ of its own",
        }[self.kind]


def checked_number(name: str, value: object) -> float:
    """The value of a setting, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidSetting(
            f"{name} must be a number, got {value!r} ({type(value).__name__}).{number_hint(value)}"
        )
    return float(value)


def _positive(name: str, value: object) -> float:
    number = checked_number(name, value)
    if not (number > 0.0 and math.isfinite(number)):
        raise InvalidSetting(f"{name} must be above 0 and finite, got {number}.")
    return number


def _range(given: object) -> tuple[float, float]:
    if given is None:
        raise InvalidSetting(
            "sigma='bounded' needs the range of the results: give reward_range=(low, high)."
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
    return low, high


def _in_order(sigma: Any, names: Sequence[str]) -> list[Any]:
    """The values of a mapping or a Series in the order of the arms."""
    known, by_name = set(names), dict[str, Any]()
    for key, value in sigma.items():
        name = str(key)
        if name not in known:
            raise unknown_name("arm in sigma", name, names)
        if name in by_name:
            raise InvalidSetting(f"sigma names the arm {name!r} twice: keep one.")
        by_name[name] = value
    for name in names:
        if name not in by_name:
            raise InvalidSetting(f"sigma has no number for arm {name!r}: give one for every arm.")
    return [by_name[name] for name in names]


# A fifth of δ, and at least 60 degrees of freedom: docs/noise.md says why.
SHARE = 0.2
DEGREES = 60
DEGREES_OF_EACH = 30  # where each arm has a σ of its own
SMALLEST = (
    1e-4  # of the largest σ: smaller bounds are raised to it, so that results can be added up
)
MOST_EQUAL = 0.5  # of an arm's replicates: normal results rounded to 1.3 σ have about as many


class Estimate(NamedTuple):
    """An upper bound on σ, and the replicates' spread (0 if only rounding) and degrees.

    Per arm, ``equal`` is the largest share of an arm's replicates that have the same value.
    """

    sigma: float
    spread: float
    degrees: int
    equal: float = 0.0


def bound_from_replicates(replicates: Sequence[Sequence[float]], risk: float) -> Estimate:
    """An upper bound on σ, for normal noise with the same σ for all arms.

    Parameters
    ----------
    replicates : sequence of sequences
        The results of each arm. How many there are must be fixed before any is seen.
    risk : float
        The probability that the bound is wrong.

    Examples
    --------
    >>> found = bound_from_replicates([[1.0, 1.2, 0.8], [2.1, 1.9, 2.0]], risk=0.01)
    >>> round(found.sigma, 3), round(found.spread, 3), found.degrees
    (0.58, 0.158, 4)
    """
    # Exact sums and a rounded factor: the same σ on every machine, in every process.
    squares = math.fsum(square for values in replicates for square in _squares(values))
    degrees = sum(len(values) - 1 for values in replicates)
    spread = math.sqrt(squares / degrees)
    rounding = max(1e-12 * max(abs(value) for values in replicates for value in values), 1e-150)
    if spread <= rounding:  # no width can be made of 0
        return Estimate(rounding, 0.0, degrees)
    return Estimate(spread * inflation(degrees, risk), spread, degrees)


def inflation(degrees: int, risk: float) -> float:
    """The ratio of the bound to the spread of the replicates, rounded up.

    Examples
    --------
    >>> round(inflation(60, 0.01), 3)
    1.265
    """
    from scipy.special import gammaincinv

    quantile = 2.0 * float(gammaincinv(degrees / 2.0, risk))
    return math.ceil(math.sqrt(degrees / quantile) * 1e9) / 1e9


def rounds_for(degrees: int, initial: NDArray[np.int64]) -> int:
    """How many rounds of the initial pulls give this number of degrees of freedom.

    Examples
    --------
    >>> rounds_for(60, np.arange(10)), rounds_for(60, np.arange(4))
    (7, 16)
    """
    return -(-(degrees + len(np.unique(initial))) // len(initial))


def first_of_each(
    arms: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64]
) -> list[list[float]] | None:
    """The first ``wanted`` results of each arm, in order; None while one is missing.

    Examples
    --------
    >>> first_of_each(np.array([0, 1, 0, 0]), np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 1]))
    [[1.0, 3.0], [2.0]]
    """
    if (np.bincount(arms, minlength=len(wanted)) < wanted).any():
        return None
    return [values[arms == a][: wanted[a]].tolist() for a in np.flatnonzero(wanted)]


def _squares(values: Sequence[float]) -> list[float]:
    from_first = [value - values[0] for value in values]
    mean = math.fsum(from_first) / len(values)
    return [(value - mean) ** 2 for value in from_first]
