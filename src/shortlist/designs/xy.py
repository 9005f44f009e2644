"""XY-optimal designs: how pulls of all arms are best shared out to tell many contrasts.

``contrast_design`` goes over all arms for each of its few hundred pairs, step by step, and keeps a
table of arms by arms. A budget begins with all pairs of hundreds of arms, so here few of either are
looked at, and those that matter are added.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.designs.interior_point import optimal_design
from shortlist.numerics.linear import solve_lower, solve_upper
from shortlist.rules.initialization import span

ACCURACY = 0.1  # a design 10 % off costs 10 % more pulls at most; the first is often nearer
ARMS = CONTRASTS = 64  # how many may join in a round; the work grows with the cube of what is there
ROUNDS = 20


def xy_design(arms: Reals, contrasts: Reals) -> Reals:
    """About the w of the simplex with the least max_p ‖y_p‖²_{V(w)⁻¹}, V(w) = Σ_a w_a x_a x_aᵀ.

    Arms and contrasts are added until the dual bound (see ``theory.lower_bound``) says that the
    rest changes little.

    Parameters
    ----------
    arms : array, K × r
        One row x_a an arm, in a basis in which the columns are orthonormal.
    contrasts : array, P × r
        One row y_p a contrast, none of them zero, in the same basis.

    Examples
    --------
    >>> xy_design(np.eye(3), np.array([[1.0, -1.0, 0.0]])).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    weights = best = np.full(len(arms), 1.0 / len(arms))
    low, high = 0.0, np.inf
    rows = np.arange(len(arms)) if len(arms) <= ARMS else span(arms)
    pairs = np.zeros(0, np.int64)
    shares = np.zeros(0)
    for _ in range(ROUNDS):
        triangle = np.linalg.qr(np.sqrt(weights)[:, None] * arms)[1]
        try:
            half = solve_lower(triangle.T, contrasts.T)
            norms = np.einsum("kp,kp->p", half, half)
            worst = np.argsort(-norms, kind="stable")[:CONTRASTS]
            if not len(pairs):
                pairs, shares = worst, np.full(len(worst), 1.0 / len(worst))
            u = solve_upper(triangle, half[:, pairs])
        except np.linalg.LinAlgError:  # as far as rounding lets it go
            break
        if norms[worst[0]] < high:
            best, high = weights, float(norms[worst[0]])
        value = float(shares @ norms[pairs])
        gains = (arms @ u) ** 2 @ shares / value
        low = max(low, value / float(gains.max()))
        if high <= low * (1.0 + ACCURACY):
            break
        telling = np.argsort(-gains, kind="stable")[:ARMS]
        rows = np.union1d(rows, telling[gains[telling] > 1.0])
        pairs = np.union1d(pairs, worst)
        design = optimal_design(arms[rows], contrasts[pairs], ACCURACY / 4.0)
        weights, shares = np.zeros(len(arms)), design.directions
        weights[rows] = design.arms
    return best


def rounded(weights: Reals, pulls: int) -> Integers:
    """Whole numbers of that sum in about these proportions: the largest remainders are rounded up.

    Examples
    --------
    >>> rounded(np.array([0.5, 0.3, 0.2]), 4).tolist()
    [2, 1, 1]
    """
    wanted = weights * (pulls / weights.sum())
    whole = np.floor(wanted).astype(np.int64)
    rest = pulls - int(whole.sum())
    whole[np.argsort(whole - wanted, kind="stable")[:rest]] += 1
    return whole
