"""Shares of a plan's evaluations, by the information that pairs of arms need, and least squares.

A game of the shares w against weights q of the pairs: for q fixed, w_a ← w_a √g_a lowers
Σ_p q_p r_p Var_w(pair p) (Torsney 1983), and q moves to the pairs of largest need. A few per cent from
the optimum will do: nothing that is proven depends on a design.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.errors import SingularDesign
from shortlist.linalg import ALIKE, span

TINY = 1e-300
SMALL, NOTHING = 1e-9, 1e-6  # of the largest eigenvalue; of an eigenvector: less is rounding
NEARLY = 1.05  # times the optimum is good enough
EVEN = 1e-3  # share of equal weights in all designs, which keeps them far from singular
STEPS, OWN_STEPS = 60, 100
MOST_PAIRS = 400  # with features: of a rank of some dozens more decide nothing
MANY_PAIRS = 20_000  # without them: beyond, only the two hardest of each arm count


def spread_design(x: Reals, used: Mask, costs: Reals) -> Reals:
    """Shares of the evaluations for which the largest variance of an arm in use is nearly least.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    >>> spread_design(x, np.ones(3, bool), np.ones(3)).round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    w = used / used.sum()
    dear = costs / costs[used].mean()
    for _ in range(STEPS):
        own = (whitened(x, w / dear) ** 2).sum(axis=0) * used / dear
        if own.max() <= NEARLY * x.shape[1]:
            break
        w = w * own / x.shape[1]
    return np.asarray(w / dear / (w / dear).sum())


def pair_design(
    x: Reals | None, noise: Reals, b: Integers, c: Integers, needs: Reals, start: Reals, used: Mask
) -> tuple[Reals, float]:
    """Shares, and about how much gives each pair (b, c) the information that it needs.

    What is shared out is what evaluations cost, where ``noise`` is the variance of a result times its
    cost. Without features (``x`` is None) an arm of no pair has no share; only ``used`` arms have any.

    Examples
    --------
    >>> pairs = np.array([0, 0]), np.array([1, 2])
    >>> given = np.ones(4), *pairs, np.array([5.0, 5.0]), np.zeros(4), np.ones(4, bool)
    >>> weights, length = pair_design(None, *given)
    >>> weights.round(2).tolist(), round(length, 1)
    ([0.41, 0.29, 0.29, 0.0], 29.1)
    """
    if x is None:
        if len(b) > MANY_PAIRS:
            hard = needs * (noise[b] + noise[c])
            some = np.union1d(hardest(b, hard), hardest(c, hard))
            b, c, needs = b[some], c[some], needs[some]
        return _own_design(noise, b, c, needs, start)
    if len(b) > MOST_PAIRS:
        most = np.argsort(-needs * ((x[b] - x[c]) ** 2).sum(axis=1))[:MOST_PAIRS]
        b, c, needs = b[most], c[most], needs[most]
    even = used / used.sum()
    w = 0.9 * start * used / (start @ used) + 0.1 * even if (start * used).any() else even
    q, best, least, top = np.full(len(b), 1.0 / len(b)), w, math.inf, needs.max()
    needs = needs / top
    for _ in range(STEPS):
        white = whitened(x, w / noise)
        apart = white[:, b] - white[:, c]
        norms = needs * np.maximum((apart**2).sum(axis=0), TINY)
        if norms.max() < least:
            best, least = w, float(norms.max())
        q = q * norms / norms.max()
        q /= q.sum()
        gains = (white * ((apart * (q * needs)) @ apart.T @ white)).sum(axis=0) / noise * used
        if least * gains.max() <= NEARLY * float(q @ norms) ** 2:
            break
        w = w * np.sqrt(np.maximum(gains, 0.0))
        w = (1.0 - EVEN) * w / w.sum() + EVEN * even
    return best, float(top * least)


def hardest(arms: Integers, hard: Reals) -> Integers:
    """The places of the two hardest pairs of every arm.

    Examples
    --------
    >>> hardest(np.array([0, 0, 0, 4]), np.array([2.0, 9.0, 3.0, 1.0])).tolist()
    [1, 2, 3]
    """
    order = np.lexsort((-hard, arms))
    sorted_arms = arms[order]
    first = np.r_[True, sorted_arms[1:] != sorted_arms[:-1]]
    second = np.r_[False, first[:-1]] & ~first
    return np.sort(order[first | second])


def _own_design(
    noise: Reals, b: Integers, c: Integers, needs: Reals, start: Reals
) -> tuple[Reals, float]:
    """The same where every arm tells of itself alone."""
    active = np.unique(np.concatenate([b, c]))
    unit = math.ldexp(
        1.0, math.frexp(float(noise[active].max()))[1]
    )  # squares of it may be no numbers
    noise, w = noise / unit, np.zeros(len(noise))
    w[active] = 1.0 / len(active)
    if start[active].any():
        w[active] = 0.9 * start[active] / start[active].sum() + 0.1 / len(active)
    q, best, least, top = np.full(len(b), 1.0 / len(b)), w, math.inf, needs.max()
    needs, own, ends = needs / top, noise[active], np.concatenate([b, c])
    for _ in range(OWN_STEPS):
        norms = needs * (noise[b] / w[b] + noise[c] / w[c])
        most = float(norms.max())
        if most < least:
            best, least = w, most
        q = q * norms / most
        q /= q.sum()
        shares = q * needs
        gains = np.bincount(ends, np.concatenate([shares, shares]), len(w))
        gains[active] *= own / w[active] ** 2
        if least * gains.max() <= NEARLY * float(q @ norms) ** 2:
            break
        w = w * np.sqrt(gains)
        w[active] = (1.0 - EVEN) * w[active] / w.sum() + EVEN / len(active)
    return best, float(top * unit * least)


def by_chance(wanted: Reals, rng: np.random.Generator) -> Integers:
    """Whole evaluations, each rounded up or down by chance; at least one.

    Examples
    --------
    >>> by_chance(np.array([2.0, 0.0, 5.0]), np.random.default_rng(0)).tolist()
    [2, 0, 5]
    """
    pulls = np.floor(wanted + rng.random(len(wanted))).astype(np.int64)
    return pulls if pulls.any() else (wanted == wanted.max()).astype(np.int64)


def rounded(x: Reals | None, wanted: Reals, few: int) -> Integers:
    """Whole evaluations, about as many as wanted, ``few`` of an arm at least; with features they span them.

    Examples
    --------
    >>> rounded(np.eye(3), np.array([2.4, 2.6, 0.0]), few=1).tolist()
    [2, 3, 1]
    """
    total = wanted.sum()
    w = np.where(wanted > 1e-3 / len(wanted) * total, wanted, 0.0)
    w = w * (math.ceil(total * (1.0 - ALIKE)) / w.sum())
    pulls = np.floor(w + 0.5 + ALIKE).astype(np.int64)
    if x is None:
        pulls = np.where(w > 0.0, np.maximum(pulls, 1), 0)
    else:
        some = span(np.sqrt(np.maximum(w / total, 1e-6))[:, None] * x)
        pulls[some] = np.maximum(pulls[some], 1)
    return np.where(pulls > 0, np.maximum(pulls, few), 0)


def whitened(x: Reals, precision: Reals) -> Reals:
    """L⁻¹xᵀ with Σ precision_a x_a x_aᵀ = LLᵀ."""
    try:
        factor = np.linalg.cholesky((x.T * precision) @ x)
    except np.linalg.LinAlgError:
        raise SingularDesign("the features are too near to a lower rank for a design.") from None
    return np.asarray(np.linalg.solve(factor, x.T))


def laplacian(arms: Integers, blocks: Integers, precision: Reals, count: int) -> Reals:
    """The information on the means of results on blocks (0, 1, …), where each has a free level.

    Examples
    --------
    >>> laplacian(np.array([0, 1]), np.array([0, 0]), np.ones(2), 2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    table = np.zeros((int(blocks.max(initial=0)) + 1, count))
    np.add.at(table, (blocks, arms), precision)
    total = np.maximum(table.sum(axis=1), TINY)
    return np.asarray(np.diag(table.sum(axis=0)) - table.T @ (table / total[:, None]))


def rooted(x: Reals, matrix: Reals) -> tuple[Reals, Reals]:
    """W with WᵀW = X(XᵀMX)⁺Xᵀ, and the directions of the arms in which M (or its diagonal) tells nothing."""
    inner = x.T @ matrix @ x if matrix.ndim > 1 else (x.T * matrix) @ x
    sizes, vectors = np.linalg.eigh(inner)
    good = sizes > SMALL * max(float(sizes[-1]), TINY)
    return (vectors[:, good] / np.sqrt(sizes[good])).T @ x.T, vectors[:, ~good].T @ x.T


def connected(null: Reals, b: Integers, c: Integers) -> Mask:
    """Whether pairs of arms differ in no direction of which nothing is known."""
    return np.asarray((np.abs(null[:, b] - null[:, c]) < NOTHING).all(axis=0))
