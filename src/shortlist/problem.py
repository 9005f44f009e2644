"""What is asked: which arms, how many, how sure. Everything from outside is checked here."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlist.core.posterior import reduce_to_rank
from shortlist.errors import (
    IndistinguishableArms,
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    unknown_name,
)
from shortlist.noise import Noise


@dataclass(frozen=True, eq=False)
class Problem:
    """The m best of K arms, up to ε, with confidence 1 − δ.

    Attributes
    ----------
    features : array, K × N
        One row an arm; the identity for a classical bandit.
    names : tuple of str
        What the arms are called.
    m : int
        How many to find.
    noise : Noise
        What is known of the noise.
    delta, epsilon : float
        Risk and slack.
    S : float or None
        A bound on ‖θ‖, if one is known.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], m=1, sigma=0.5)
    >>> problem.arms, problem.dimension, problem.rank
    (3, 2, 2)
    """

    features: NDArray[np.float64]
    names: tuple[str, ...]
    m: int
    noise: Noise
    delta: float
    epsilon: float
    S: float | None

    @classmethod
    def of(
        cls,
        features: ArrayLike | pd.DataFrame | None = None,
        m: int = 1,
        *,
        sigma: Any,
        reward_range: Any = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        S: float | None = None,
        arms: Sequence[Any] | None = None,
    ) -> Problem:
        """Check the input and make a problem of it."""
        matrix, names = _features_and_names(features, arms)
        problem = cls(
            features=matrix,
            names=names,
            m=_count(m, len(names)),
            noise=Noise.of(sigma, reward_range, names),
            delta=_delta(delta),
            epsilon=_epsilon(epsilon),
            S=_bound(S),
        )
        if features is not None:
            problem._check_distinguishable()
        return problem

    @property
    def arms(self) -> int:
        """K."""
        return len(self.names)

    @property
    def sigma(self) -> float:
        """σ, of the noisiest arm where they differ; NaN as long as it is to be estimated."""
        return self.noise.sigma

    @cached_property
    def relative_noise(self) -> NDArray[np.float64]:
        """(σ_a/σ)² of every arm; all 1 unless the arms' noise was told apart."""
        return self.noise.relative(self.arms)

    @property
    def dimension(self) -> int:
        """N."""
        return self.features.shape[1]

    @property
    def rank(self) -> int:
        """How many dimensions the features really have."""
        return self.reduced.shape[1]

    @property
    def is_classical(self) -> bool:
        """Whether every arm is a dimension of its own."""
        return self.arms == self.dimension and bool(
            np.array_equal(self.features, np.eye(self.arms))
        )

    @property
    def longest(self) -> float:
        """L = max ‖x_a‖, in units of the arm's noise where it was told apart."""
        return float(np.sqrt(((self.features**2).sum(axis=1) / self.relative_noise).max()))

    @cached_property
    def reduced(self) -> NDArray[np.float64]:
        """The features in a basis of their row space."""
        return reduce_to_rank(self.features)

    @cached_property
    def orthonormal(self) -> NDArray[np.float64]:
        """The same in orthonormal columns: the size of a feature plays no part in it."""
        if self.rank == self.arms and np.array_equal(self.reduced, np.eye(self.arms)):
            return self.reduced
        return np.ascontiguousarray(np.linalg.qr(self.reduced)[0])

    def index(self, arm: int | str) -> int:
        """The row of an arm that is named or counted.

        Examples
        --------
        >>> Problem.of(arms=["ash", "beech"], m=1, sigma=1.0).index("beech")
        1
        """
        if isinstance(arm, str):
            if arm not in self.names:
                raise unknown_name("arm", arm, self.names)
            return self.names.index(arm)
        if isinstance(arm, numbers.Integral) and 0 <= int(arm) < self.arms:
            return int(arm)
        raise InvalidInput(f"arm must be a name or a row from 0 to {self.arms - 1}, got {arm!r}.")

    def _check_distinguishable(self) -> None:
        zero = np.flatnonzero(~self.features.any(axis=1))
        if len(zero):
            raise IndistinguishableArms(
                f"arm {self.names[zero[0]]!r} has only zeros as features: the linear model says "
                "that its mean is exactly 0 and that evaluating it teaches nothing. Remove it, or "
                "add a constant column to the features."
            )
        if self.epsilon > 0.0:
            return
        _, inverse, counts = np.unique(
            self.features, axis=0, return_inverse=True, return_counts=True
        )
        repeated = np.flatnonzero(counts > 1)
        if len(repeated):
            twins = np.flatnonzero(inverse.reshape(-1) == repeated[0])[:2]
            one, other = (self.names[i] for i in twins)
            raise IndistinguishableArms(
                f"arms {one!r} and {other!r} have the same features: their means are equal under "
                "the linear model, and with epsilon=0 no number of evaluations may tell which "
                "belongs in. Keep one of them, give them different features, or set epsilon > 0."
            )


def _features_and_names(
    features: ArrayLike | pd.DataFrame | None, arms: Sequence[Any] | None
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    if features is None and arms is None:
        raise InvalidFeatures(
            "neither features nor arms were given: pass features (one row an arm), or "
            "arms=[names] for arms of which nothing is known."
        )
    if features is None:
        names = [str(name) for name in arms or ()]
        return np.eye(len(names)), _names(names)
    if isinstance(features, pd.DataFrame):
        text = [str(c) for c in features.columns if not pd.api.types.is_numeric_dtype(features[c])]
        if text:
            raise InvalidFeatures(
                f"features column {text[0]!r} is not numeric: encode it as numbers, or make it the "
                "index if it names the arms."
            )
        names = [str(name) for name in (features.index if arms is None else arms)]
        raw: Any = features.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        raw = features
        names = [str(name) for name in arms] if arms is not None else []
    try:
        matrix = np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(
            f"features must be a table of numbers, one row an arm: {error}."
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidFeatures(
            f"features must be a table of K arms × N features, got shape {matrix.shape}: one row "
            "an arm, one column a feature."
        )
    if arms is None and not isinstance(features, pd.DataFrame):
        names = [str(i) for i in range(len(matrix))]
    if len(names) != len(matrix):
        raise InvalidFeatures(
            f"{len(names)} names were given for {len(matrix)} rows of features: one name an arm."
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        arm, column = bad[0]
        raise InvalidFeatures(
            f"feature {column} of arm {names[arm]!r} is {matrix[arm, column]}: features must be "
            f"finite ({len(bad)} entries are not). Fill or drop them first."
        )
    return matrix, _names(names)


def _names(names: list[str]) -> tuple[str, ...]:
    if len(names) < 2:
        raise InvalidFeatures(f"at least 2 arms are needed to choose among, got {len(names)}.")
    broken = next(
        (name for name in names if any("\ud800" <= sign <= "\udfff" for sign in name)), None
    )
    if broken is not None:
        raise InvalidFeatures(
            f"the name {broken!r} is not text: it holds half a character. Rename it."
        )
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidFeatures(f"the name {twice!r} is given to more than one arm: rename one.")
    return tuple(names)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidSetting(f"{name} must be a number, got {value!r} ({type(value).__name__}).")
    return float(value)


def _count(m: object, arms: int) -> int:
    if isinstance(m, bool) or not isinstance(m, numbers.Integral):
        raise InvalidSetting(f"m must be a whole number, got {m!r}.")
    if not 1 <= int(m) < arms:
        raise InvalidSetting(
            f"m must be at least 1 and below the number of arms ({arms}), got {int(m)}."
        )
    return int(m)


def _delta(delta: object) -> float:
    value = _number("delta", delta)
    if not 0.0 < value < 1.0:
        raise InvalidSetting(
            f"delta, the risk of a wrong answer, must lie between 0 and 1, got {value}: 0.05 is "
            "usual."
        )
    return value


def _epsilon(epsilon: object) -> float:
    value = _number("epsilon", epsilon)
    if not (value >= 0.0 and math.isfinite(value)):
        raise InvalidSetting(f"epsilon, the slack in the means, must be 0 or more, got {value}.")
    return value


def _bound(S: object) -> float | None:
    if S is None:
        return None
    value = _number("S", S)
    if not (value > 0.0 and math.isfinite(value)):
        raise InvalidSetting(f"S, a bound on the norm of θ, must be above 0, got {value}.")
    return value


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number that is not too small.

    Examples
    --------
    >>> whole_number("runs", 2.5, 1)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: runs must be a whole number, at least 1, got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InvalidSetting(f"{name} must be a whole number, at least {least}, got {value!r}.")
    return int(value)


def checked_seed(seed: object) -> int:
    """A seed of 64 bits."""
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | np.integer)
        or not 0 <= int(seed) < 2**64
    ):
        raise InvalidSetting(f"seed must be a whole number from 0 to 2**64 − 1, got {seed!r}.")
    return int(seed)


def drawn_seed() -> int:
    """A seed that nobody has had before."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
