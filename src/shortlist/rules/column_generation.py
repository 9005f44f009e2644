"""w*(b, c) among very many arms: a linear program of a few of them, and a look at all the others.

The arms of w* are at most as many as the features have dimensions. So the program is solved over a
small set; its prices u say of any other arm whether it could make the combination lighter, which is
so exactly where |x_aᵀu| > 1. Such arms join the set until there are none. Then u proves that nothing
among all arms is lighter: the optimum is that of the program of all of them.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.core.tall import gram, orthonormal_basis, triangle_of
from shortlist.errors import SingularDesign
from shortlist.rules.initialization import span
from shortlist.rules.vertex import arrive, fresh_vertex, stand_in

NEGLIGIBLE = 1e-9  # of the largest weight
ADDED = 4  # times the rank: arms that join in one go
STEPS = 200
PIVOTS = 20  # times the rank, before a walk is taken to go in circles
EXACT = 1e-10  # the least that HiGHS offers; of a price of 1


def not_solved(b: int, c: int, message: str) -> SingularDesign:
    """The error for a pair whose program has no solution."""
    return SingularDesign(
        f"the linear program for the pair ({b}, {c}) was not solved: {message} "
        "Rescale the features, or use selection='greedy'."
    )


def few_weights(
    features: Reals,
    b: int,
    c: int,
    noise: Reals | None = None,
    start: Integers | None = None,
    basis: Reals | None = None,
) -> tuple[Integers, Reals]:
    """The arms of w*(b, c) and their weights.

    Parameters
    ----------
    features : array, K × r
        One row an arm, of full column rank.
    b, c : int
        The pair.
    noise : array, K, optional
        (σ_a/σ)² of every arm, all 1 by default.
    start : array of int, optional
        Arms to begin with, which span, such as those of another pair's design.
    basis : array, r × r, optional
        What ``kind_basis`` gives, if it is at hand.

    Examples
    --------
    >>> members, weights = few_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0)
    >>> members.tolist(), weights.round(3).tolist()
    ([1], [0.1])
    """
    rank = features.shape[1]
    scale = np.ones(len(features)) if noise is None else 1.0 / np.sqrt(noise)
    target = features[b] - features[c]
    kind = kind_basis(features) if basis is None else basis
    begin = span(features) if start is None else start
    among = np.union1d([b, c], begin).astype(np.int64)
    for _ in range(STEPS):
        shown = features[among] * scale[among, None]
        found = _by_walking(shown, target, kind) or _by_solver(shown, target)
        if isinstance(found, str):
            raise not_solved(b, c, found)
        weights, price = found
        height = np.abs(features @ price) * scale
        height[among] = 0.0
        best = np.argpartition(height, -min(ADDED * rank, len(height)))[-ADDED * rank :]
        joining = best[height[best] > 1.0 + EXACT]
        if not len(joining):
            kept = np.abs(weights) > NEGLIGIBLE * np.abs(weights).max()
            return among[kept], weights[kept]
        among = np.union1d(among, joining)
    raise not_solved(b, c, f"arms still joined after {STEPS} steps.")


def kind_basis(features: Reals) -> Reals:
    """W for which XW has about orthonormal columns: w* is the same, and rounding is kinder."""
    product = gram(features)
    if product is not None:
        return orthonormal_basis(product)
    return np.asarray(np.linalg.inv(triangle_of(features)))


def _by_walking(shown: Reals, target: Reals, basis: Reals) -> tuple[Reals, Reals] | None:
    """Weights and prices by a walk along vertices; None if they are not proven to be the optimum."""
    vertex, weights = fresh_vertex(*shown.shape), np.zeros(len(shown))
    points = np.ascontiguousarray(shown @ basis)
    size = float(np.abs(points).max())
    points /= size
    vertex.target[:] = target @ basis / size
    stand_in(vertex)
    if not arrive(points, vertex, weights, PIVOTS * shown.shape[1]):
        return None
    return weights, basis @ vertex.point / size


def _by_solver(shown: Reals, target: Reals) -> tuple[Reals, Reals] | str:
    """The same by a general solver, or why not."""
    from scipy.optimize import linprog  # a quarter of a second, for `optimized` only

    solution = linprog(
        np.ones(2 * len(shown)),
        A_eq=np.hstack([shown.T, -shown.T]),
        b_eq=target,
        method="highs",
        options={"dual_feasibility_tolerance": EXACT, "primal_feasibility_tolerance": EXACT},
    )
    if solution.status != 0 or solution.x is None:
        return str(solution.message)
    return solution.x[: len(shown)] - solution.x[len(shown) :], solution.eqlin.marginals
