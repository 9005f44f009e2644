"""Whether a linear model fits means, where all that is known of the noise is how each arm's results spread.

A χ² or F statistic would take estimated weights for known, and would be too large. So arms are weighted by
their counts alone, and each distance from the model is compared with an error that is made of the spread of
all arms. Its normal score is that of the same tail, with the degrees of freedom of the arm, which are too
few. The scores are correlated: the sum of their squares is about a multiple of χ² with the same mean and
variance (Box 1954). A heuristic: no guarantee rests on it.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Reals
from shortlist.noise.spread import LEAST_P, Spread

LEAST_LEFT = (
    1e-6  # of an average's variance: less is left by rounding where an arm fits whatever it is
)


def normal_scores(statistics: Reals, degrees: Reals) -> Reals:
    """Values of a normal distribution with the tails of Student's statistics.

    Examples
    --------
    >>> normal_scores(np.array([-2.0, 2.0, 2.0]), np.array([4.0, 4.0, 1e9])).round(2).tolist()
    [-1.57, 1.57, 2.0]
    """
    from scipy.special import ndtri, stdtr

    tails = np.maximum(stdtr(degrees, -np.abs(statistics)), LEAST_P)
    return np.asarray(np.sign(statistics) * np.abs(ndtri(tails)))


def own_variances(results: Spread) -> Reals:
    """The variance of every average by the spread of its own results; 0 where that shows no noise."""
    squares = results.squares * results.noise
    shows = results.shows_noise & (squares > results.rounding)
    return np.where(shows, squares / np.maximum(results.degrees, 1.0) / results.counts, 0.0)


def lack_of_fit(x: Reals, results: Spread) -> tuple[float, float]:
    """A statistic that is about χ² where the means are linear, and its degrees of freedom; 0 if none.

    Parameters
    ----------
    x : array, arms × rank
        The features of the arms that have results.
    results : Spread
        Their results; arms whose results show no noise are left out.

    Examples
    --------
    >>> rng, arms = np.random.default_rng(0), np.repeat(np.arange(40), 5)
    >>> x = np.column_stack([np.ones(40), np.arange(40.0)])
    >>> for means in (0.1 * x[:, 1], 0.002 * x[:, 1] ** 2):
    ...     values = means[arms] + 0.3 * rng.standard_normal(200)
    ...     found, degrees = lack_of_fit(x, Spread.of(arms, values, np.ones(40)))
    ...     print(round(found), round(degrees))
    43 36
    101 37
    """
    shows = own_variances(results) > 0.0
    if shows.sum() <= np.linalg.matrix_rank(x[shows]):
        return 0.0, 0.0
    x, means, degrees = x[shows], results.means[shows], results.degrees[shows]
    root, own = np.sqrt(results.counts[shows]), own_variances(results)[shows]
    solve = np.linalg.pinv(x * root[:, None], rcond=1e-8) * root
    misses, said = means - x @ (solve @ means), np.einsum("ai,ia->a", x, solve)
    covariance = (solve * own) @ solve.T
    variances = own * (1.0 - 2.0 * said) + np.einsum("ai,ij,aj->a", x, covariance, x)
    left = variances > LEAST_LEFT * own
    if not left.any():
        return 0.0, 0.0
    scores = normal_scores(misses[left] / np.sqrt(variances[left]), degrees[left])
    # The correlations of the misses are a diagonal and U M Uᵀ, with few columns.
    size = np.sqrt(variances[left])[:, None]
    u = np.hstack([x, (solve * own).T])[left] / size
    unit, none = np.eye(len(solve)), np.zeros((len(solve),) * 2)
    m, diagonal = np.block([[covariance, -unit], [-unit, none]]), (own / variances)[left]
    product = m @ (u.T @ u)
    squares = float((diagonal**2).sum() + np.trace(product @ product))
    squares += 2.0 * float((diagonal * np.einsum("ai,ij,aj->a", u, m, u)).sum())
    scale = squares / len(scores)
    return float((scores**2).sum()) / scale, len(scores) / scale
