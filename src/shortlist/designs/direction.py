"""w*(b, c): the lightest combination of arms that makes the direction x_b − x_c (equation 1).

``lightest_weights`` solves the linear program of one pair. ``all_weights`` solves those of every pair
of an instance, many in one call of the solver: a call costs as much as the program of a pair does.

``few_weights`` is for very many arms. The arms of w* are at most as many as the features have
dimensions, so the program is solved over a small set of arms. Its prices u say of any other arm
whether it could make the combination lighter, which is so exactly where |x_aᵀu| > 1. Such arms join
the set until there are none. Then u proves that nothing among all arms is lighter.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.errors import SingularDesign
from shortlist.spanning import span

NEGLIGIBLE = 1e-9  # of the largest weight
ALL_AT_ONCE = 4096  # arms: with more, few are taken and the others checked
KEPT = 8  # times the rank: arms of earlier designs to start the next from
ADDED = 4  # times the rank: arms that join in one step
STEPS = 200
PAIRS = 64  # in one call of the solver: more make it no faster
EXACT_PRICE = 1e-10  # the least tolerance that HiGHS offers, for a price of 1
FINE = {"dual_feasibility_tolerance": EXACT_PRICE, "primal_feasibility_tolerance": EXACT_PRICE}


def lightest_weights(features: Reals, b: int, c: int, noise: Reals | None = None) -> Reals:
    """Argmin ‖w‖₁ subject to Xᵀw = x_b − x_c.

    ``noise`` is (σ_a/σ)² of every arm, all 1 by default. An evaluation then shows x_a in units of
    its noise: Σ_a w_a x_a σ/σ_a makes the direction.

    Examples
    --------
    >>> lightest_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0).round(3).tolist()
    [0.0, 0.1, 0.0]
    """
    arms, rank = features.shape
    weights = np.zeros(arms)
    if rank == arms:
        # Linearly independent rows: e_b − e_c is the only combination there is.
        weights[b], weights[c] = 1.0, -1.0
        return weights if noise is None else weights * np.sqrt(noise)
    if arms > ALL_AT_ONCE:
        members, values = few_weights(features, b, c, noise)
        weights[members] = values
        return weights
    scaled = features if noise is None else features / np.sqrt(noise)[:, None]
    return _cleaned(_by_solver(scaled, (features[b] - features[c])[None, :])[0][0])


def _by_solver(scaled: Reals, targets: Reals, options: Any = None) -> tuple[Reals, Reals]:
    """The weights of the arms and the dual values of the dimensions: a row of each per target."""
    from scipy.optimize import linprog  # a quarter of a second, for `optimized` only
    from scipy.sparse import block_diag

    arms, programs = len(scaled), len(targets)
    constraints: Any = np.hstack([scaled.T, -scaled.T])  # sparse ones are unknown to SciPy's types
    if programs > 1:
        constraints = block_diag([constraints] * programs, format="csc")
    solution = linprog(
        np.ones(2 * arms * programs),
        A_eq=constraints,
        b_eq=targets.ravel(),
        method="highs",
        options=options,
    )
    if solution.status != 0 or solution.x is None:
        raise _not_solved(solution.message)
    halves = solution.x.reshape(programs, 2, arms)
    return halves[:, 0] - halves[:, 1], solution.eqlin.marginals.reshape(targets.shape)


def _not_solved(message: str) -> SingularDesign:
    return SingularDesign(
        f"the linear program of w* was not solved: {message} "
        "Rescale the features, or use selection='greedy'."
    )


def _cleaned(weights: Reals) -> Reals:
    size = np.abs(weights)
    weights[size <= NEGLIGIBLE * size.max(axis=-1, keepdims=True)] = 0.0
    return weights


def all_weights(features: Reals) -> Iterator[tuple[Integers, Integers, Reals]]:
    """The designs of all pairs b < c, some at a time: the arms b, the arms c, and a row w*(b, c) each.

    The features must have full column rank (see ``reduce_to_rank``).

    Examples
    --------
    >>> [found] = all_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]))
    >>> [each.round(3).tolist() for each in found]
    [[0, 0, 1], [1, 2, 2], [[1.0, -1.0, 0.0], [0.0, -0.1, 0.0], [-1.0, 0.9, 0.0]]]
    """
    arms, rank = features.shape
    # w* is the same in any basis of the column space; rounding errors are small in this one.
    basis = np.linalg.qr(features)[0]
    first, second = np.triu_indices(arms, 1)
    for start in range(0, len(first), PAIRS):
        b, c = first[start : start + PAIRS], second[start : start + PAIRS]
        if rank == arms:
            table = np.zeros((len(b), arms))
            table[np.arange(len(b)), b], table[np.arange(len(b)), c] = 1.0, -1.0
        else:
            table = _cleaned(_by_solver(basis, basis[b] - basis[c])[0])
        yield b, c, table


class Designs:
    """The designs of every pair asked for so far, each solved once, shared by all runs.

    Only the arms that carry weight are kept: about as many as there are features.
    """

    def __init__(self, features: Reals, noise: Reals | None = None) -> None:
        self._features, self._noise = features, noise
        self._solved: dict[tuple[int, int], tuple[Integers, Reals]] = {}
        self._useful = np.zeros(0, np.int64)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._solved)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what is solved, and without the lock."""
        return Designs, (self._features, self._noise)

    def are_of(self, features: Reals, noise: Reals) -> bool:
        """Whether they are designs for these features and this noise."""
        return np.array_equal(self._noise, noise) and np.array_equal(self._features, features)  # type: ignore[arg-type]

    def of(self, b: int, c: int) -> Reals:
        """w*(b, c) up to its sign."""
        pair = (min(b, c), max(b, c))
        with self._lock:
            if pair not in self._solved:
                self._solved[pair] = self._solve(*pair)
            members, values = self._solved[pair]
        weights = np.zeros(len(self._features))
        weights[members] = np.abs(values)
        return np.asarray(np.round(weights / max(float(weights.sum()), 1e-300), 12))

    def _solve(self, b: int, c: int) -> tuple[Integers, Reals]:
        arms, rank = self._features.shape
        if arms <= ALL_AT_ONCE or rank == arms:
            weights = lightest_weights(self._features, b, c, self._noise)
            members = np.flatnonzero(weights)
            return members, weights[members]
        if not len(self._useful):
            self._useful = span(self._features)
        members, values = few_weights(self._features, b, c, self._noise, self._useful)
        # The arms of one pair's design are those of the next one's, or near them.
        if len(self._useful) < KEPT * rank:
            self._useful = np.union1d(self._useful, members)
        return members, values


def few_weights(
    features: Reals,
    b: int,
    c: int,
    noise: Reals | None = None,
    start: Integers | None = None,
) -> tuple[Integers, Reals]:
    """The arms of w*(b, c) and their weights, for features of full column rank.

    ``noise`` is (σ_a/σ)² of every arm, all 1 by default; ``start`` are arms to begin with, which
    span, such as those of another pair's design.

    Examples
    --------
    >>> members, weights = few_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0)
    >>> members.tolist(), weights.round(3).tolist()
    ([1], [0.1])
    """
    rank = features.shape[1]
    scale = np.ones(len(features)) if noise is None else 1.0 / np.sqrt(noise)
    among = np.union1d([b, c], span(features) if start is None else start).astype(np.int64)
    for _ in range(STEPS):
        scaled = features[among] * scale[among, None]
        [weights], [dual] = _by_solver(scaled, (features[b] - features[c])[None, :], FINE)
        height = np.abs(features @ dual) * scale
        height[among] = 0.0
        best = np.argpartition(height, -min(ADDED * rank, len(height)))[-ADDED * rank :]
        joining = best[height[best] > 1.0 + EXACT_PRICE]
        if not len(joining):
            nonzero = np.abs(weights) > NEGLIGIBLE * np.abs(weights).max()
            return among[nonzero], weights[nonzero]
        among = np.union1d(among, joining)
    raise _not_solved(f"arms still joined after {STEPS} steps.")
