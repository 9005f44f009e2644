"""Instances: features, true means and noise, with the answer known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlist.arrays import Label, Reals
from shortlist.blocks import NO_BLOCKS, Blocks
from shortlist.engine.rewards import Coins, Normal, Recorded, Rewards, drawer
from shortlist.errors import InvalidFeatures, InvalidSetting, unknown_name
from shortlist.linalg import WHOLE, gram, least_squares
from shortlist.noise import Noise
from shortlist.problem import EQUAL, Costs, Problem, checked_seed

FITS = 1e-8  # a residual below this share of the means counts as an exact linear model


@dataclass(frozen=True, eq=False)
class Instance:
    """A bandit whose truth is known.

    Attributes
    ----------
    label, names
        What it is called in tables and pictures, and what its arms are called.
    features, means : array, K × N and K
        A row for each arm, and the true means; ``S`` is ‖θ‖ where these are linear in the features.
    m : int
        How many arms are wanted.
    sigma, noise
        What algorithms are told: a σ for all arms or for each, or a ``noise`` in its place.
    rewards : Rewards
        How a result is drawn.
    costs, blocks
        What an evaluation of each arm costs, and what results share.
    """

    label: str
    features: Reals
    means: Reals
    m: int
    sigma: float | Reals
    names: tuple[Label, ...]
    rewards: Rewards
    S: float | None
    costs: Costs = EQUAL
    blocks: Blocks = NO_BLOCKS
    noise: Noise | None = None

    def problem(
        self,
        delta: float,
        epsilon: float,
        S: float | None = None,
        *,
        sigma: Any = None,
        reward_range: Any = None,
    ) -> Problem:
        """The problem that an algorithm has to solve here; it may be told another σ."""
        problem = Problem.of(
            self.features,
            self.m,
            sigma=(self.noise or self.sigma) if sigma is None else sigma,
            reward_range=reward_range,
            delta=delta,
            epsilon=epsilon,
            S=self.S or None if S is None else S,
            arms=self.names,
            blocks=self.blocks,
            costs=self.costs,
        )
        ordered = np.sort(self.means)[::-1]
        if epsilon == 0.0 and ordered[self.m - 1] == ordered[self.m]:
            raise InvalidSetting(
                f"instance {self.label!r} has equal means ({ordered[self.m]:g}) at ranks "
                f"{self.m} and {self.m + 1}: no algorithm stops at epsilon=0. Set epsilon > 0 or "
                "another m."
            )
        return problem

    def acceptable(self, epsilon: float = 0.0) -> NDArray[np.bool_]:
        """Which arms a right answer may contain: μ_a ≥ μ_m − ε."""
        return np.asarray(self.means >= np.sort(self.means)[-self.m] - epsilon)

    def draw(self, arm: int, seed: int) -> float:
        """The first result of the run of a seed, if it is of this arm.

        Examples
        --------
        >>> round(classic(K=3, m=1, omega=0.1, sigma=0.5).draw(0, seed=1), 4)
        1.1728
        """
        return float(drawer(self.rewards, seed)(np.array([arm]))[0])


def classic(K: int, m: int, omega: float, sigma: float = 0.5) -> Instance:
    """The paper's classic instance, which becomes harder as ω goes to 0.

    x_1 = e_1; x_a = e_1 + e_a for 2 ≤ a ≤ m; x_{m+1} = cos ω e_1 + sin ω e_{m+1}; x_a = e_{a−1}
    for a > m + 1; θ = e_1. (The paper prints e_1 + e_1 for the first.)

    Examples
    --------
    >>> classic(K=4, m=2, omega=np.pi / 3).means.round(3).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    if not 1 <= m <= K - 2:
        raise InvalidSetting(f"the classic instance needs 1 ≤ m ≤ K − 2, got K={K}, m={m}.")
    features = np.zeros((K, K - 1))
    features[:m, 0] = 1.0
    features[m, [0, m]] = np.cos(omega), np.sin(omega)
    best, others = np.arange(1, m), np.arange(m + 1, K)
    features[best, best] = features[others, others - 1] = 1.0
    label = f"classic K={K} m={m} omega={omega:.4g}"
    return from_arrays(features, theta=np.eye(1, K - 1)[0], m=m, sigma=sigma, label=label)


def random(K: int, N: int, m: int, seed: int, sigma: float = 0.5) -> Instance:
    """Gaussian features divided by their spectral norm, θ = e_1 (the paper's Section 4.4).

    Examples
    --------
    >>> random(K=10, N=5, m=3, seed=0).features.shape
    (10, 5)
    """
    if K < 2 or N < 1:
        raise InvalidSetting(f"a random instance needs K ≥ 2 and N ≥ 1, got K={K}, N={N}.")
    features = np.random.default_rng(checked_seed(seed)).standard_normal((K, N))
    features /= np.linalg.norm(features, 2)
    label = f"random K={K} N={N} m={m} seed={seed}"
    return from_arrays(features, theta=np.eye(1, N)[0], m=m, sigma=sigma, label=label)


def from_arrays(
    features: ArrayLike | pd.DataFrame,
    *,
    m: int,
    sigma: Any,
    means: ArrayLike | None = None,
    theta: ArrayLike | None = None,
    noise: str = "gaussian",
    arms: Sequence[Any] | None = None,
    costs: Any = None,
    label: str = "instance",
) -> Instance:
    """An instance from its features and either its means or its θ.

    ``sigma`` is the standard deviation of normal noise, one number or one for every arm, and what
    algorithms are told about it. ``costs`` are those of an evaluation of each arm, as for ``Study``.

    Examples
    --------
    >>> from_arrays(np.eye(3), means=[0.9, 0.5, 0.1], m=1, sigma=0.5, noise="bernoulli").label
    'instance'
    """
    if (means is None) == (theta is None):
        raise InvalidSetting("give exactly one of means and theta.")
    problem, deviations = _problem(features, m, sigma, arms)
    if theta is None:
        truth = _vector("means", means, problem.arms, "arm")
        norm = _theta_norm(problem.features, truth)
    else:
        coefficients = _vector("theta", theta, problem.dimension, "feature")
        truth, norm = problem.features @ coefficients, float(np.linalg.norm(coefficients))
    if noise not in ("gaussian", "bernoulli"):
        raise unknown_name("noise", noise, ["gaussian", "bernoulli"])
    rewards: Rewards = Normal(truth, np.full(truth.shape, deviations))
    if noise == "bernoulli":
        if truth.min() < 0.0 or truth.max() > 1.0:
            raise InvalidSetting(
                f"Bernoulli means must lie in [0, 1], got {truth.min():g} … {truth.max():g}."
            )
        rewards = Coins(truth)
    known = label, problem.features, truth, m, deviations, problem.names, rewards, norm
    return Instance(*known, Costs.of(costs, problem.names))


def recorded(
    features: ArrayLike | pd.DataFrame,
    rewards: ArrayLike | pd.DataFrame,
    *,
    m: int,
    sigma: Any,
    arms: Sequence[Any] | None = None,
    costs: Any = None,
    label: str = "recorded",
) -> Instance:
    """An instance in which a pull returns one of the arm's recorded rewards.

    Parameters
    ----------
    features : array, K × N
        One row per arm.
    rewards : array, n × K
        One column per arm; a pull draws a row.
    m, sigma, arms, costs, label
        As for ``from_arrays``.

    Examples
    --------
    >>> recorded(np.eye(2), [[0.0, 1.0], [0.2, 1.0]], m=1, sigma=0.5).means.tolist()
    [0.1, 1.0]
    """
    problem, deviations = _problem(features, m, sigma, arms)
    table = np.ascontiguousarray(rewards, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != problem.arms or len(table) == 0:
        raise InvalidFeatures(
            f"recorded rewards must have one column per arm ({problem.arms}), got shape "
            f"{table.shape}."
        )
    if not np.all(np.isfinite(table)):
        raise InvalidFeatures("recorded rewards must be finite: drop the rows that are not.")
    means = table.mean(axis=0)
    norm = _theta_norm(problem.features, means)
    known = label, problem.features, means, m, deviations, problem.names, Recorded(table), norm
    return Instance(*known, Costs.of(costs, problem.names))


def table(
    scores: ArrayLike | pd.DataFrame,
    *,
    m: int,
    blocks: str = "pool",
    limits: tuple[float, float] = (0.0, 1.0),
    arms: Sequence[Any] | None = None,
    label: str = "table",
) -> Instance:
    """An instance with blocks, from a table of the results of all arms on all blocks.

    Parameters
    ----------
    scores : array or DataFrame, K × blocks
        One row per arm; a DataFrame's index names the arms.
    blocks : {"pool", "random"}
        Whether the columns are the blocks of a pool, or a block is any of the columns, drawn afresh.
        The true means are the means of the rows in either case.
    limits : (low, high)
        Where results lie, as algorithms are told.
    m, arms, label
        As for ``from_arrays``.

    Examples
    --------
    >>> table([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], m=1).means.round(2).tolist()
    [0.67, 0.33]
    """
    values = _numbers("scores", scores)
    if values.ndim != 2 or min(values.shape) < 2 or not np.all(np.isfinite(values)):
        raise InvalidFeatures(
            "scores must be finite numbers, a row for each of 2 arms or more and a column for each "
            f"of 2 blocks or more, got shape {values.shape}."
        )
    if arms is None and isinstance(scores, pd.DataFrame):
        arms = [str(name) for name in scores.index]
    noise = Noise.of("bounded", limits)
    low, high = noise.limits
    if values.min() < low or values.max() > high:
        raise InvalidSetting(
            f"scores go from {values.min():g} to {values.max():g}, beyond limits=({low:g}, {high:g}): "
            "give the range that they lie in."
        )
    if blocks not in ("pool", "random"):
        raise unknown_name("blocks", blocks, ["pool", "random"])
    shared = Blocks.of(values.shape[1] if blocks == "pool" else blocks)
    arms = range(len(values)) if arms is None else arms
    problem = Problem.of(arms=arms, m=m, sigma=noise, epsilon=(high - low) / 2.0)
    rewards, means = Recorded(np.ascontiguousarray(values.T)), values.mean(axis=1)
    known = label, problem.features, means, m, noise.sigma, problem.names, rewards
    return Instance(*known, float(np.linalg.norm(means)), blocks=shared, noise=noise)


def _problem(
    features: Any, m: int, sigma: Any, arms: Sequence[Any] | None
) -> tuple[Problem, float | Reals]:
    """The problem of an instance, and its σ in numbers: one, or one for every arm."""
    problem = Problem.of(features, m, sigma=sigma, epsilon=1.0, arms=arms)
    if problem.noise.needs_replicates:
        raise InvalidSetting(
            "an instance's sigma must be a number, or one per arm: the noise must be known to be "
            f"simulated. Pass sigma={problem.noise.word!r} to compare."
        )
    return problem, problem.noise.deviations


def _numbers(name: str, values: Any) -> Reals:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(f"{name} must be numbers: {error}.") from None


def _vector(name: str, values: Any, count: int, each: str) -> Reals:
    numbers = _numbers(name, values)
    if numbers.shape != (count,) or not np.all(np.isfinite(numbers)):
        raise InvalidFeatures(
            f"{name} must be {count} finite numbers, one per {each}, got shape {numbers.shape}."
        )
    return numbers


def _theta_norm(features: Reals, means: Reals) -> float | None:
    """The norm of the θ with means Xθ; None where there is no such θ."""
    theta: NDArray[Any]
    product = gram(features) if features.size > WHOLE else None
    if product is None:
        theta = np.linalg.lstsq(features, means, rcond=None)[0]
    else:
        theta = least_squares(features, product, means)
    residual = np.abs(features @ theta - means).max()
    fits = residual <= FITS * max(np.abs(means).max(), 1e-300)
    return float(np.linalg.norm(theta)) if fits else None
