"""Optimal designs: w*, by which an arm is chosen that tells of a pair, and shares that tell of many pairs."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.engine.seeds import mix
from shortlist.errors import SingularDesign
from shortlist.linalg import in_units, solve_lower, span, squared_norms

# w*(b, c)
ALL_PAIRS = 50  # arms: with more, pairs are solved one by one as they are asked for
AT_ONCE = 64  # pairs in one call of the solver: more make it no faster
ALL_ARMS = 4096  # with more, few are taken and the others checked
ADDED = 4  # times the rank: arms that join in one step
STEPS = 200
NEGLIGIBLE = 1e-9  # of the largest weight
SAME = 1e-12  # of their largest entry: a smaller difference of two arms is rounding
BITS = 40  # of the largest weight: rounded to them, halves are halves, and counts tie
UNEVEN = 1e-7  # by which weights of arms may differ in price
EXACT = 1e-10  # the least tolerance that HiGHS offers, for a price of 1

# XY-optimal designs
NEWTON_STEPS = 100
BEFORE_THE_WALL = 0.9  # of the way to where something becomes 0
LEAST_CENTERING = 0.01
ROUNDING = 1e-13

Pair = tuple[int, int]


class Designs:
    """|w*(b, c)|, the lightest combination of arms that makes the direction x_b − x_c (equation 1).

    w* = argmin ‖w‖₁ subject to Xᵀw = x_b − x_c. Where arms differ in their noise, ``noise`` is
    (σ_a/σ)² of each, and an evaluation shows x_a in its units: Σ_a w_a x_a σ/σ_a = x_b − x_c.

    The weights depend on the features alone, not on the basis they are in, the order of questions or
    the solver: where several combinations are equally light, arms of lower price are taken, and prices
    differ by a hash of their places. Each pair is solved once, all together where arms are few.
    Threads that ask for one at once may both solve it, to the same weights.

    Examples
    --------
    >>> designs = Designs(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.5, 0.5]]))
    >>> designs.of(2, 0).round(3).tolist(), designs.of(0, 1).tolist()
    ([0.0, 0.1, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0])
    """

    def __init__(self, features: Reals, noise: Reals | None = None) -> None:
        self.features = features
        self.noise = np.ones(len(features)) if noise is None else noise
        self._solved: dict[Pair, tuple[Integers, Reals]] = {}

    def __len__(self) -> int:
        """How many pairs have been solved."""
        return len(self._solved)

    def are_of(self, features: Reals, noise: Reals) -> bool:
        """Whether they are designs for these features and this noise."""
        return np.array_equal(self.noise, noise) and np.array_equal(self.features, features)

    def of(self, b: int, c: int) -> Reals:
        """|w*(b, c)| of every arm."""
        arms, pair = len(self.features), (min(b, c), max(b, c))
        if pair not in self._solved:
            self._solve([pair] if arms > ALL_PAIRS else [*combinations(range(arms), 2)])
        members, sizes = self._solved[pair]
        weights = np.zeros(arms)
        weights[members] = sizes
        return weights

    def table(self) -> Reals:
        """|w*(b, c)| of all pairs, K × K × K."""
        arms = len(self.features)
        table = np.zeros((arms, arms, arms))
        for b in range(arms):
            for c in range(b):
                table[b, c] = table[c, b] = self.of(b, c)
        return table

    @cached_property
    def _basis(self) -> Reals:
        """The features in a basis where rounding errors are small."""
        return self.features if len(self.features) > ALL_ARMS else np.linalg.qr(self.features)[0]

    @cached_property
    def _shown(self) -> Reals:
        """What an evaluation of each arm shows."""
        return in_units(self._basis, self.noise)

    @cached_property
    def _prices(self) -> Reals:
        """Of a unit of weight of each arm."""
        return 1.0 + UNEVEN * np.ldexp(mix(np.arange(len(self.features), dtype=np.uint64)), -64)

    @cached_property
    def _start(self) -> Integers:
        """Arms that span, among which a pair's are looked for first."""
        arms = len(self.features)
        return np.arange(arms) if arms <= ALL_ARMS else span(self._shown)

    def _solve(self, pairs: list[Pair]) -> None:
        arms, rank = self.features.shape
        if rank == arms:  # e_b − e_c is the only combination there is
            for pair in pairs:
                self._solved[pair] = np.array(pair), np.sqrt(self.noise[[*pair]])
            return
        for first in range(0, len(pairs), AT_ONCE):
            some = pairs[first : first + AT_ONCE]
            members, table = self._lightest(np.array(some))
            for pair, sizes in zip(some, np.abs(table), strict=True):
                kept = sizes > NEGLIGIBLE * sizes.max()
                self._solved[pair] = members[kept], _to_bits(sizes[kept])

    def _lightest(self, pairs: Integers) -> tuple[Integers, Reals]:
        """Arms and their weights, a row for each pair.

        At most as many arms carry weight as the features have dimensions, so among very many arms the
        program is solved over a small set. Its prices u of the dimensions say of any other arm whether
        it could make the combination lighter, which is so exactly where |x_aᵀu| is above its own price.
        Such arms join until there are none: then u proves that nothing among all arms is lighter.
        """
        ends = self._basis[pairs]
        targets = ends[:, 0] - ends[:, 1]
        lengths = np.sqrt(squared_norms(targets))
        apart = lengths > SAME * np.abs(ends).max(axis=(1, 2))
        targets[apart] /= lengths[apart, None]  # the solver's tolerances are for numbers about 1
        targets[~apart] = 0.0
        members, rank = np.union1d(self._start, pairs), targets.shape[1]
        for _ in range(STEPS):
            weights, dual = _by_solver(self._shown[members], targets, self._prices[members])
            height = np.abs(self._shown @ dual.T).max(axis=1) / self._prices
            height[members] = 0.0
            best = np.argsort(-height)[: ADDED * rank]
            joining = best[height[best] > 1.0 + EXACT]
            if not len(joining):
                return members, weights * lengths[:, None]
            members = np.union1d(members, joining)
        raise _not_solved(f"arms still joined after {STEPS} steps.")


def _by_solver(shown: Reals, targets: Reals, prices: Reals) -> tuple[Reals, Reals]:
    """The weights of the arms and the dual values of the dimensions: a row of each per target."""
    from scipy.optimize import linprog  # a third of a second, for `optimized` only
    from scipy.sparse import block_diag

    count = len(targets)
    constraints: Any = np.hstack([shown.T, -shown.T])  # sparse ones are unknown to SciPy's types
    if count > 1:
        constraints = block_diag([constraints] * count, format="csc")
    solution = linprog(
        np.tile(prices, 2 * count),
        A_eq=constraints,
        b_eq=targets.ravel(),
        method="highs",
        options={"dual_feasibility_tolerance": EXACT},
    )
    if solution.status != 0 or solution.x is None:
        raise _not_solved(solution.message)
    halves = solution.x.reshape(count, 2, len(shown))
    return halves[:, 0] - halves[:, 1], solution.eqlin.marginals.reshape(targets.shape)


def _not_solved(message: str) -> SingularDesign:
    return SingularDesign(
        f"the linear program of w* was not solved: {message} "
        "Rescale the features, or use selection='greedy'."
    )


def _to_bits(sizes: Reals) -> Reals:
    """Sizes rounded to a multiple of 2^−BITS of the largest."""
    power = BITS - np.frexp(sizes.max(initial=0.0))[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(sizes, power)), -power))


class Shares(NamedTuple):
    """Weights of the arms and of the directions, each with sum 1."""

    arms: Reals
    directions: Reals


def xy_design(arms: Reals, directions: Reals, accuracy: float) -> Shares:
    """The w of the simplex with the least max_p ‖y_p‖²_{V(w)⁻¹}, and the directions' multipliers q.

    V(w) = Σ_a w_a x_a x_aᵀ; the arms must span all dimensions. It stops where the relative distance
    between the value of w and the lower bound of q is at most ``accuracy``. For few arms and
    directions; ``plans.design`` is for many of either, to a few per cent.

    An interior-point method (Mehrotra 1992) looks for the w ≥ 0 of least weight with information
    h_p(w) = 1/‖y_p‖²_{V(w)⁻¹} of at least 1; divided by its weight it is the design. As the least of
    Σ_a w_a (x_aᵀu)² over the u with y_pᵀu = 1, h_p is concave in w and of degree 1: so nearly linear
    that full Newton steps serve. s_p are slacks for h_p − 1, λ_p their multipliers, z_a those of
    w_a ≥ 0, and all steps in w are relative, d = dw/w.

    Examples
    --------
    >>> design = xy_design(np.eye(2), np.array([[1.0, -1.0]]), accuracy=1e-6)
    >>> design.arms.round(4).tolist(), design.directions.tolist()
    ([0.5, 0.5], [1.0])
    """
    from scipy.linalg import cho_factor, cho_solve  # imported here: it takes long, and few need it

    w = np.full(len(arms), 1.0 / len(arms))
    w *= 2.0 / _informed(arms, directions, w)[2].min()
    basis, roots, information = _informed(arms, directions, w)
    slack, count = information - 1.0, len(arms) + len(directions)
    mean = w.sum() / count
    multipliers, on_walls = mean / slack, np.full(len(arms), mean)  # λ_p and w_a z_a
    best, narrowest = Shares(w / w.sum(), np.full(len(directions), 1.0 / len(directions))), np.inf
    for _ in range(NEWTON_STEPS):
        shares = roots**2
        # h in place of 1/h in the constraint: the multiplier of the norm itself is λ h².
        q = multipliers * information**2 / np.sum(multipliers * information**2)
        low = (q @ (1.0 / information)) ** 2 / np.max(shares @ (q / information) / w)
        width = w.sum() / information.min() / low - 1.0
        if width < narrowest:
            best, narrowest = Shares(w / w.sum(), q), width
        if narrowest <= accuracy:
            break
        slopes, missing = shares * information, information - 1.0 - slack  # slopes: w_a ∂h_p/∂w_a
        curved = multipliers * information
        hessian = 2.0 * (basis @ basis.T) * ((roots * curved) @ roots.T)
        hessian += (shares * (curved * (information / slack - 2.0))) @ shares.T
        hessian[np.diag_indices(len(w))] += on_walls
        # Arms that matter and arms that do not differ by many powers of ten: equal diagonals, and
        # a little more than that for what rounding takes.
        scale = np.diagonal(hessian) ** -0.5
        hessian *= scale * scale[:, None]
        hessian[np.diag_indices(len(w))] += ROUNDING
        try:
            factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:  # as far as rounding lets it go
            break
        gap = multipliers @ slack + on_walls.sum()
        center, bend, wall_bend = 0.0, np.zeros(len(directions)), np.zeros(len(arms))
        for corrects in (False, True):  # the step to where every product is the center
            pull = (center - bend - multipliers * missing) / slack
            right = slopes @ pull + center - wall_bend - w
            d = scale * cho_solve(factor, scale * right, check_finite=False)
            ds = slopes.T @ d + missing
            dl = (center - bend - multipliers * (slack + ds)) / slack
            dz = (center - wall_bend) / on_walls - 1.0 - d  # relative, as d
            ahead, dual = _room(d, ds / slack), _room(dl / multipliers, dz)
            if not corrects:
                left = (multipliers + dual * dl) @ (slack + ahead * ds)
                left += on_walls @ ((1.0 + ahead * d) * (1.0 + dual * dz))
                center = gap / count * max((left / gap) ** 2, LEAST_CENTERING)
                bend, wall_bend = dl * ds, on_walls * d * dz
        w = w * (1.0 + ahead * d)
        multipliers = multipliers + dual * dl
        on_walls = on_walls * (1.0 + ahead * d) * (1.0 + dual * dz)
        basis, roots, information = _informed(arms, directions, w)
        slack = np.maximum(slack + ahead * ds, information - 1.0)
    return best


def _informed(arms: Reals, directions: Reals, w: Reals) -> tuple[Reals, Reals, Reals]:
    """Rows √w_a R⁻ᵀx_a, with V = RᵀR; signed roots of how much of h_p is due to each arm; h_p."""
    basis, triangle = np.linalg.qr(np.sqrt(w)[:, None] * arms)
    roots = basis @ solve_lower(triangle.T, directions.T)
    norms = np.sqrt(squared_norms(roots.T))
    return basis, roots / norms, norms**-2


def _room(*relative: Reals) -> float:
    """The longest step, at most 1, that keeps all numbers well above 0."""
    steepest = max(-float(change.min()) for change in relative)
    return min(1.0, BEFORE_THE_WALL / steepest) if steepest > 0.0 else 1.0
