"""Designs for differences of means: the w of the simplex with the least max_p r_p‖y_p‖²_{V(w)⁻¹}.

y_p = x_b − x_c belongs to the p-th pair, and r_p is the information that it still needs. The value
at the optimum is how many pulls all pairs need together.

It is a game of w against weights q of the pairs. For q fixed, w_a ← w_a √g_a with
g_a = Σ_p q_p r_p (x_aᵀV⁻¹y_p)² lowers Σ_p q_p r_p‖y_p‖² at every step (Torsney 1983), and q moves
to the pairs of largest norm. (Σ_p q_p r_p‖y_p‖²)² / max_a g_a is a lower bound on the value (see
``theory.lower_bound``), so it is known when w is good enough; a few per cent will do, since the
bounds are made of the norms that the pulls really have.

The arms are whitened once per step, L⁻¹x_a with V(w) = Σ_a w_a x_a x_aᵀ = LLᵀ, and norms and fitted
means are computed from that. It is compiled, and uses no threaded library: at these sizes that is
no slower, and the digits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from shortlist.errors import SingularDesign
from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import cholesky
from shortlist.numerics.order import largest_first
from shortlist.numerics.records import (
    Integers,
    Reals,
    Table,
)
from shortlist.rules.initialization import span

STEPS = 60
TOLERANCE = 0.05
NEAR = 1e-9  # ‖x_b − x_c‖² over ‖x_b‖² + ‖x_c‖²
NOTHING = 1e-30  # the same for arms that do not differ: not 0, or no weights would be left
MANY = 600  # arms: a step among more takes more than a millisecond for every dimension
JOINING = 64  # arms that may be added in a round
ROUNDS = 6
OWN_STEPS = 100
EVEN = 1e-3  # the share of equal weights in all designs, which keeps V far from singular


@compiled(typed=True)
def descend(
    features: Table,
    noise: Reals,
    b: Integers,
    c: Integers,
    needs: Reals,
    steps: int,
    tolerance: float,
    w: Reals,
    best: Reals,
    q: Reals,
    norms: Reals,
    gains: Reals,
    precision: Reals,
    factor: Table,
    white: Table,
    gram: Table,
) -> float:
    """Write the best design of ``steps`` steps into ``best``; its value, or −1 if V is singular."""
    arms, rank = features.shape
    pairs = b.shape[0]
    least = np.inf
    for _ in range(steps):
        for a in range(arms):
            precision[a] = w[a] / noise[a]
        if not whiten(features, precision, factor, white):
            return -1.0
        for a in range(arms):
            gram[a, a:] = 0.0
            for k in range(rank):
                here = white[k, a]
                for i in range(a, arms):
                    gram[a, i] += here * white[k, i]
        for a in range(arms):
            for i in range(a):
                gram[a, i] = gram[i, a]
        largest = 0.0
        for p in range(pairs):
            both = gram[b[p], b[p]] + gram[c[p], c[p]]
            y = both - 2.0 * gram[b[p], c[p]]
            if y < NEAR * both:  # hardly a digit is left: differences before squares have more
                y = NOTHING * both
                for k in range(rank):
                    apart = white[k, b[p]] - white[k, c[p]]
                    y += apart * apart
            norms[p] = needs[p] * y
            largest = max(largest, norms[p])
        if largest < least:
            least = largest
            for a in range(arms):
                best[a] = w[a]
        total = 0.0
        for p in range(pairs):
            q[p] *= norms[p] / largest  # a higher power overshoots
            total += q[p]
        average = 0.0
        gains[:] = 0.0
        for p in range(pairs):
            q[p] /= total
            average += q[p] * norms[p]
            share = q[p] * needs[p]
            if share > 0.0:
                for a in range(arms):
                    away = gram[b[p], a] - gram[c[p], a]
                    gains[a] += share * away * away
        highest = 0.0
        total = 0.0
        for a in range(arms):
            gains[a] /= noise[a]
            highest = max(highest, gains[a])
            w[a] *= np.sqrt(gains[a])
            total += w[a]
        # If total is 0, the arms are so alike that no pull tells them apart: any weights will do.
        if least * highest <= (1.0 + tolerance) * average * average or not total > 0.0:
            break
        for a in range(arms):
            w[a] = (1.0 - EVEN) * w[a] / total + EVEN / arms
    return least


def contrast_design(
    features: Table,
    b: Integers,
    c: Integers,
    needs: Reals,
    start: Reals | None = None,
    noise: Reals | None = None,
) -> tuple[Reals, float]:
    """Weights of the arms, and how many pulls by them give each pair what it needs.

    With more than ``MANY`` arms the design is sought among the arms of the pairs and a few others;
    those whose pulls would tell more than its own are added until there are none.

    The features must span all dimensions. ``needs`` is the information that each pair (b, c) needs,
    1/‖x_b − x_c‖² in the inverse of the pulls; ``start`` are weights to begin with, by default
    equal ones; ``noise`` is the variance of a result of each arm, by default 1.

    Examples
    --------
    >>> weights, pulls = contrast_design(np.eye(2), np.array([0]), np.array([1]), np.array([5.0]))
    >>> weights.round(2).tolist(), round(pulls, 2)
    ([0.5, 0.5], 20.0)
    """
    arms = len(features)
    even = np.full(arms, 1.0 / arms)
    # An arm without weight would never get any.
    start = even if start is None else 0.98 * start + 0.02 * even
    noise = np.ones(arms) if noise is None else noise
    if arms <= MANY:
        weights, value, _ = _solved(features, noise, b, c, needs, start)
        return weights, value
    spread = span(np.sqrt(start / noise)[:, None] * features)
    heaviest = largest_first(start)[:JOINING]
    chosen = np.unique(np.concatenate([spread, heaviest, b, c]))
    weights = start
    for _ in range(ROUNDS):
        here = chosen, np.searchsorted(chosen, b), np.searchsorted(chosen, c)
        some, value, shares = _solved(
            features[chosen], noise[chosen], *here[1:], needs, start[chosen] / start[chosen].sum()
        )
        weights = np.zeros(arms)
        weights[chosen] = some
        white = whitened(features, weights / noise)
        apart = white[:, b] - white[:, c]
        gains = (white.T @ apart) ** 2 @ (shares * needs) / noise
        # At the optimum no arm tells more than the average of those with weight: the value itself.
        telling = largest_first(gains)[:JOINING]
        telling = telling[gains[telling] > (1.0 + TOLERANCE) * float(weights @ gains)]
        joined = np.union1d(chosen, telling)
        if len(joined) == len(chosen):
            break
        start, chosen = 0.9 * weights + 0.1 / arms, joined
    return weights, value


def _solved(
    features: Table, noise: Reals, b: Integers, c: Integers, needs: Reals, w: Reals
) -> tuple[Reals, float, Reals]:
    """The best weights, their value, and the weights of the pairs, from the weights ``w`` on."""
    arms, rank = features.shape
    w = w.copy()
    best, q = w.copy(), np.full(len(b), 1.0 / len(b))
    scratch = np.zeros(len(b)), np.zeros(arms), np.zeros(arms)
    tables = np.zeros((rank, rank)), np.zeros((rank, arms)), np.zeros((arms, arms))
    largest = float(needs.max())
    steps = STEPS * (arms**2 * rank + len(b) * arms)
    value = descend.sparing(steps)(
        features, noise, b, c, needs / largest, STEPS, TOLERANCE, w, best, q, *scratch, *tables
    )
    if value < 0.0:
        raise SingularDesign("the features are too near to a lower rank for a design.")
    return best, largest * float(value), q


def own_design(
    b: Integers, c: Integers, needs: Reals, noise: Reals, start: Reals | None = None
) -> tuple[Reals, float]:
    """``contrast_design`` where every arm is its own dimension; arms of no pair have no weight.

    Examples
    --------
    >>> pairs = np.array([0, 0]), np.array([1, 2])
    >>> weights, pulls = own_design(*pairs, np.array([5.0, 5.0]), np.ones(4))
    >>> weights.round(2).tolist(), round(pulls, 1)
    ([0.41, 0.29, 0.29, 0.0], 29.1)
    """
    active = np.unique(np.concatenate([b, c]))
    w = np.zeros(len(noise))
    w[active] = 1.0 / len(active)
    if start is not None and start[active].any():
        w[active] = 0.9 * start[active] / start[active].sum() + 0.1 / len(active)
    largest = float(needs.max())
    needs, q = needs / largest, np.full(len(b), 1.0 / len(b))
    noise_b, noise_c, ends, own = noise[b], noise[c], np.concatenate([b, c]), noise[active]
    best, least = w, np.inf
    for _ in range(OWN_STEPS):
        norms = needs * (noise_b / w[b] + noise_c / w[c])
        most = norms.max()
        if most < least:
            best, least = w, float(most)
        q = q * norms / most
        q /= q.sum()
        shares = q * needs
        gains = np.bincount(ends, np.concatenate([shares, shares]), len(w))
        gains[active] *= own / w[active] ** 2
        if least * gains.max() <= (1.0 + TOLERANCE) * float(q @ norms) ** 2:
            break
        w = w * np.sqrt(gains)
        w[active] = (1.0 - EVEN) * w[active] / w.sum() + EVEN / len(active)
    return best, largest * least


@compiled(typed=True)
def spread_out(
    features: Table, steps: int, tolerance: float, w: Reals, factor: Table, white: Table, own: Reals
) -> bool:
    """Iterate w_a ← w_a‖x_a‖²_{V⁻¹}/rank to the D-optimal design; False if V is singular."""
    arms, rank = features.shape
    for _ in range(steps):
        if not whiten(features, w, factor, white):
            return False
        own[:] = 0.0
        for k in range(rank):
            for a in range(arms):
                own[a] += white[k, a] * white[k, a]
        largest = 0.0
        for a in range(arms):
            largest = max(largest, own[a])
        if largest <= (1.0 + tolerance) * rank:
            return True
        for a in range(arms):
            w[a] *= own[a] / rank
    return True


def spread_design(features: Table) -> Reals:
    """Weights for which the largest variance of an arm is nearly as small as possible (G-optimal).

    Examples
    --------
    >>> spread_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])).round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    arms, rank = features.shape
    w = np.full(arms, 1.0 / arms)
    tables = np.zeros((rank, rank)), np.zeros((rank, arms))
    designed = spread_out.sparing(STEPS * arms * rank**2)
    if not designed(features, STEPS, TOLERANCE, w, *tables, np.zeros(arms)):
        raise SingularDesign("the features are too near to a lower rank for a design.")
    return w


@compiled(typed=True)
def whiten(features: Table, weights: Reals, factor: Table, white: Table) -> bool:
    """Write L into ``factor`` and L⁻¹x_a into columns of ``white``; False if V is singular."""
    arms, rank = features.shape
    factor[:] = 0.0
    for a in range(arms):
        if weights[a] > 0.0:
            for i in range(rank):
                scaled = weights[a] * features[a, i]
                for j in range(i + 1):
                    factor[i, j] += scaled * features[a, j]
    if not cholesky(factor):
        return False
    for i in range(rank):
        for a in range(arms):
            white[i, a] = features[a, i]
        for k in range(i):
            scale = factor[i, k]
            for a in range(arms):
                white[i, a] -= scale * white[k, a]
        shrink = 1.0 / factor[i, i]
        for a in range(arms):
            white[i, a] *= shrink
    return True


@compiled(typed=True)
def fit(white: Table, sums: Reals, coordinates: Reals, means: Reals) -> None:
    """Write the least-squares means of all arms into ``means``, from sums of results."""
    rank, arms = white.shape
    means[:] = 0.0
    for i in range(rank):
        total = 0.0
        for a in range(arms):
            total += white[i, a] * sums[a]
        coordinates[i] = total
        for a in range(arms):
            means[a] += total * white[i, a]


def whitened(features: Table, weights: Reals | Integers) -> Table:
    """The columns L⁻¹x_a of all arms, with V(w) = LLᵀ."""
    arms, rank = features.shape
    white = np.zeros((rank, arms))
    if not whiten.sparing(arms * rank**2)(
        features, weights.astype(np.float64), np.zeros((rank, rank)), white
    ):
        raise SingularDesign(
            f"{int(np.count_nonzero(weights))} arms with weight do not span the features (rank "
            f"{rank}): give weight to a spanning set of arms."
        )
    return white


def fitted(white: Table, sums: Reals) -> Reals:
    """The least-squares means of all arms, on the design that they were whitened with.

    Examples
    --------
    >>> white = whitened(np.eye(2), np.array([1, 4]))
    >>> fitted(white, np.array([3.0, 4.0])).tolist()
    [3.0, 1.0]
    """
    means = np.zeros(white.shape[1])
    fit.sparing(2 * white.size)(white, sums, np.zeros(len(white)), means)
    return means


@compiled(typed=True)
def spread(white: Table, rows: Integers, least: float, own: Reals, variances: Table) -> None:
    """Write ‖x_i − x_j‖² for the arms i of ``rows`` and all j; see ``spreads``."""
    rank, arms = white.shape
    for k in range(rank):
        for a in range(arms):
            own[a] += white[k, a] * white[k, a]
    for r in range(rows.shape[0]):
        i = rows[r]
        variances[r, :] = 0.0
        for k in range(rank):
            here = white[k, i]
            for j in range(arms):
                away = here - white[k, j]
                variances[r, j] += away * away
        for j in range(arms):
            variances[r, j] = max(variances[r, j], least * (own[i] + own[j]))
        variances[r, i] = np.inf


def spreads(white: Table, least: float = 0.0, rows: Integers | None = None) -> Table:
    """‖x_i − x_j‖² in the norm of V(w)⁻¹, from all arms i or those of ``rows`` to all arms j.

    It is at least ``least`` times ‖x_i‖² + ‖x_j‖², and ∞ for an arm and itself.

    Examples
    --------
    >>> white = whitened(np.eye(2), np.array([1, 4]))
    >>> spreads(white).tolist(), spreads(white, rows=np.array([1])).tolist()
    ([[inf, 1.25], [1.25, inf]], [[1.25, inf]])
    """
    arms = white.shape[1]
    rows = np.arange(arms) if rows is None else rows
    variances = np.zeros((len(rows), arms))
    spread.sparing(len(rows) * white.size)(white, rows, least, np.zeros(arms), variances)
    return variances
