"""XY-optimal designs: the w of the simplex with the least max_p ‖y_p‖²_{V(w)⁻¹} for contrasts y_p.

V(w) = Σ_a w_a x_a x_aᵀ. ``optimal_design`` is for few arms and contrasts; ``plans.design`` is for many of
either.

Its interior-point method looks for the w ≥ 0 of least weight with ‖y_p‖²_{V(w)⁻¹} ≤ 1 for all p.
Divided by its weight it is the design, and its weight is the value, since the norms are homogeneous
in w. It works with the information h_p(w) = 1/‖y_p‖²_{V(w)⁻¹} ≥ 1. As the least of
Σ_a w_a (x_aᵀu)² over the u with y_pᵀu = 1 it is concave in w and of degree 1, so nearly linear that
full Newton steps serve, without a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Reals
from shortlist.numerics.linear import solve_lower

STEPS = 100
BEFORE_THE_WALL = 0.9  # of the way to where something becomes 0
LEAST_CENTERING = 0.01
ROUNDING = 1e-13


class Design(NamedTuple):
    """Weights w of the arms and q of the directions, each with sum 1."""

    arms: Reals
    directions: Reals


class _Point(NamedTuple):
    """The information at w, in coordinates relative to w.

    basis : rows √w_a R⁻ᵀx_a, with V = RᵀR
    shares : how much of h_p is due to each arm, columns of sum 1; roots are their signed roots
    information : h_p
    """

    basis: Reals
    roots: Reals
    shares: Reals
    information: Reals


def _point(arms: Reals, directions: Reals, w: Reals) -> _Point:
    basis, triangle = np.linalg.qr(np.sqrt(w)[:, None] * arms)
    roots = basis @ solve_lower(triangle.T, directions.T)
    norms = np.sqrt(np.sum(roots**2, axis=0))
    roots /= norms
    return _Point(basis, roots, roots**2, norms**-2)


def optimal_design(arms: Reals, directions: Reals, accuracy: float) -> Design:
    """The design with the least max_p ‖y_p‖²_{V(w)⁻¹}, and the directions' multipliers q.

    A primal-dual method with predictor and corrector (Mehrotra 1992), slack s_p for h_p − 1,
    multipliers λ_p for it and z_a for w_a ≥ 0. All steps in w are relative, d = dw/w.

    The arms must span all dimensions. It stops where the relative distance between the value of w
    and the lower bound of q is at most ``accuracy``.

    Examples
    --------
    >>> design = optimal_design(np.eye(2), np.array([[1.0, -1.0]]), accuracy=1e-6)
    >>> design.arms.round(4).tolist(), design.directions.tolist()
    ([0.5, 0.5], [1.0])
    """
    count = len(arms) + len(directions)
    w = np.full(len(arms), 1.0 / len(arms))
    w *= 2.0 / _point(arms, directions, w).information.min()
    point = _point(arms, directions, w)
    slack = point.information - 1.0
    mean = w.sum() / count
    multipliers, on_walls = mean / slack, np.full(len(arms), mean)  # λ_p and w_a z_a
    best, narrowest = Design(w / w.sum(), np.full(len(directions), 1.0 / len(directions))), np.inf
    for _ in range(STEPS):
        information = point.information
        # h in place of 1/h in the constraint: the multiplier of the norm itself is λ h².
        q = multipliers * information**2 / np.sum(multipliers * information**2)
        low = (q @ (1.0 / information)) ** 2 / np.max(point.shares @ (q / information) / w)
        width = w.sum() / information.min() / low - 1.0
        if width < narrowest:
            best, narrowest = Design(w / w.sum(), q), width
        if narrowest <= accuracy:
            break
        try:
            towards = _newton(w, point, slack, multipliers, on_walls)
        except np.linalg.LinAlgError:  # as far as rounding lets it go
            break
        d, ds, dl, dz = towards(0.0, 0.0, 0.0)
        gap = multipliers @ slack + on_walls.sum()
        ahead, dual = _room(d, ds / slack), _room(dl / multipliers, dz)
        left = (multipliers + dual * dl) @ (slack + ahead * ds)
        left += on_walls @ ((1.0 + ahead * d) * (1.0 + dual * dz))
        center = gap / count * max((left / gap) ** 2, LEAST_CENTERING)
        d, ds, dl, dz = towards(center, dl * ds, on_walls * d * dz)
        ahead, dual = _room(d, ds / slack), _room(dl / multipliers, dz)
        w = w * (1.0 + ahead * d)
        multipliers = multipliers + dual * dl
        on_walls = on_walls * (1.0 + ahead * d) * (1.0 + dual * dz)
        point = _point(arms, directions, w)
        slack = np.maximum(slack + ahead * ds, point.information - 1.0)
    return best


def _room(*relative: Reals) -> float:
    """The longest step, at most 1, that keeps all numbers well above 0."""
    steepest = max(-float(change.min()) for change in relative)
    return min(1.0, BEFORE_THE_WALL / steepest) if steepest > 0.0 else 1.0


def _newton(
    w: Reals, point: _Point, slack: Reals, multipliers: Reals, on_walls: Reals
) -> Callable[..., tuple[Reals, Reals, Reals, Reals]]:
    """Solves the Newton equations at one point, factored once for predictor and corrector."""
    from scipy.linalg import cho_factor, cho_solve  # imported here: it takes long, and few need it

    basis, roots, shares, information = point
    slopes = shares * information  # w_a ∂h_p/∂w_a
    missing = information - 1.0 - slack
    curved = multipliers * information
    hessian = 2.0 * (basis @ basis.T) * ((roots * curved) @ roots.T)
    hessian += (shares * (curved * (information / slack - 2.0))) @ shares.T
    hessian[np.diag_indices(len(w))] += on_walls
    # Arms that matter and arms that do not differ by many powers of ten: equal diagonals, and
    # a little more than that for what rounding takes.
    scale = np.diagonal(hessian) ** -0.5
    hessian *= scale
    hessian *= scale[:, None]
    hessian[np.diag_indices(len(w))] += ROUNDING
    factor = cho_factor(hessian, overwrite_a=True, check_finite=False)

    def towards(
        center: float, bend: Reals | float, wall_bend: Reals | float
    ) -> tuple[Reals, Reals, Reals, Reals]:
        """The step in w, s, λ and z (w and z relative) to where every product is ``center``."""
        pull = (center - bend - multipliers * missing) / slack
        right = slopes @ pull + center - wall_bend - w
        d = scale * cho_solve(factor, scale * right, check_finite=False)
        ds = slopes.T @ d + missing
        dl = (center - bend - multipliers * (slack + ds)) / slack
        dz = (center - wall_bend) / on_walls - 1.0 - d
        return d, ds, dl, dz

    return towards
