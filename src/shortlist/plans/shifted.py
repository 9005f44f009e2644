"""Blocks that share a shift: plates, days, operators.

A result of arm a in block k is μ_a + s_k + noise. Nothing is assumed of the shifts s_k, which may
even be chosen against us as long as they are fixed before the results of their block. Results tell of
differences within their block only: least squares with a free level for every block. Its coefficients
add up to 0 within each block, so that the shifts drop out whatever they are. They depend on which
arms share which blocks, which is fixed before the plan's results, so that the variance σ²v_s of a
difference is known before. All else is as in ``guess_and_verify``: the same test, the same proof.

Two arms that share no block in a plan are compared through others. Where nothing connects them the
plan says nothing of their difference.

**Which arms share a block.** A plan has weights, as it would have without blocks, and is a whole number
of blocks long. The j-th of the n pulls of an arm takes its turn at (j + u)/n of the plan, u a
random number of the arm: every block is a sample of the plan, as even as it can be. The more alike the
blocks are, the less is lost: with blocks of n results about one result in n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Reals
from shortlist.designs.pairs import spreads
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.difference_bounds import SMALLEST_SHARE
from shortlist.plans.evidence import Evidence, OpenPairs
from shortlist.plans.guess_and_verify import NAMED_SETS, GuessAndVerify, Tables
from shortlist.plans.means import Fit, LinearMeans, Means, OwnMeans
from shortlist.plans.phased import QUARTER
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem

UNKNOWN = 1e-10  # of the largest eigenvalue: directions below it are taken for unknown
APART = 1e-6  # along an unknown direction: arms further apart are not compared


@dataclass(frozen=True, eq=False)
class WithinBlocks:
    """What results say once the level of every block is free: the normal equations of the means.

    Those of several plans add up.

    Attributes
    ----------
    pulls : array of int, K
        How many results there are of each arm.
    matrix : array, K × K
        The Laplacian of the graph in which arms of a block are joined.
    sums : array, K
        Sums of what results differ from the average of their block.

    Examples
    --------
    >>> two = PlanResults.of(3, np.array([0, 1]), np.array([5.0, 7.0]), np.array([4, 4]))
    >>> WithinBlocks.of(two, np.ones(3)).sums.tolist()
    [-1.0, 1.0, 0.0]
    """

    pulls: Integers
    matrix: Reals
    sums: Reals

    @classmethod
    def none(cls, arms: int) -> WithinBlocks:
        """No result yet."""
        return cls(np.zeros(arms, np.int64), np.zeros((arms, arms)), np.zeros(arms))

    @classmethod
    def of(cls, results: PlanResults, noise: Reals) -> WithinBlocks:
        """The results of a plan, where those of arm a have the variance ``noise[a]``."""
        arms, blocks, values = results.singles
        _, blocks = np.unique(blocks, return_inverse=True)
        weights = 1.0 / noise[arms]
        table = np.zeros((int(blocks.max(initial=-1)) + 1, len(noise)))
        np.add.at(table, (blocks, arms), weights)
        totals = table.sum(axis=1)
        levels = np.bincount(blocks, weights * values, len(totals)) / totals
        matrix = np.diag(table.sum(axis=0)) - table.T @ (table / totals[:, None])
        sums = np.bincount(arms, weights * (values - levels[blocks]), len(noise))
        return cls(results.pulls, matrix, sums)

    def __add__(self, other: WithinBlocks) -> WithinBlocks:
        return WithinBlocks(
            self.pulls + other.pulls, self.matrix + other.matrix, self.sums + other.sums
        )


@dataclass(frozen=True, eq=False)
class ShiftedFit(Fit):
    """Means up to a constant, by differences within blocks.

    Attributes
    ----------
    means : array, K
        Estimates of the means, from which the average of all arms is subtracted.
    white : array, rank × K
        The inner products of its columns are the covariances, in units of σ².
    unknown : array, K × any
        Where two arms differ in it, nothing is known of their difference.
    """

    means: Reals
    white: Reals
    unknown: Reals

    @property
    def compares_all(self) -> bool:
        """Whether something is known of the difference of any two arms."""
        return bool(self._alike(self.unknown[:1]).all())

    def _alike(self, rows: Reals) -> Reals:
        apart = np.abs(rows[:, None, :] - self.unknown[None, :, :])
        return np.asarray((apart < APART).all(axis=2))

    def variances(self, rows: Integers) -> Reals:
        """Of the differences within blocks; infinite where nothing connects two arms."""
        known = self._alike(self.unknown[rows])
        return np.where(known, spreads(self.white, SMALLEST_SHARE, rows), np.inf)

    @property
    def own_variances(self) -> Reals:
        """Of an arm less the average of all arms; infinite where some arm is not connected."""
        if not self.compares_all:
            return np.full(len(self.means), np.inf)
        centred = self.white - self.white.mean(axis=1, keepdims=True)
        return np.asarray(np.einsum("ka,ka->a", centred, centred))

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Errors of the differences."""
        return rng.standard_normal((count, len(self.white))) @ self.white[:, arms]


class OwnShiftedMeans(OwnMeans):
    """Arms that tell of each other only by sharing blocks."""

    def summary(self, results: PlanResults) -> WithinBlocks:
        """The normal equations."""
        return WithinBlocks.of(results, self.noise)

    def fit(self, results: WithinBlocks) -> ShiftedFit:
        """Least squares with a free level of every block."""
        from scipy.sparse.csgraph import connected_components

        _, labels = connected_components(results.matrix != 0.0, directed=False)
        white, means, _ = solved(results.matrix, results.sums)
        return ShiftedFit(means - means.mean(), white, labels[:, None].astype(float))


class LinearShiftedMeans(LinearMeans):
    """Means that are linear in the features, but for a constant."""

    def __init__(self, problem: ReducedProblem) -> None:
        features = problem.features
        self._centred = centred_basis(features)
        ones = np.full((len(features), 1), len(features) ** -0.5)
        # A design for differences beside a level that is free, as if all were in one block.
        super().__init__(problem._replace(features=np.hstack([self._centred, ones])))

    def summary(self, results: PlanResults) -> WithinBlocks:
        """The normal equations."""
        return WithinBlocks.of(results, self.noise)

    def fit(self, results: WithinBlocks) -> ShiftedFit:
        """Least squares with a free level of every block."""
        basis = self._centred
        white, means, unknown = solved(basis.T @ results.matrix @ basis, basis.T @ results.sums)
        return ShiftedFit(basis @ means, white @ basis.T, basis @ unknown)


def solved(matrix: Reals, sums: Reals) -> tuple[Reals, Reals, Reals]:
    """W with WᵀW the pseudo-inverse of a matrix, WᵀW times the sums, and the directions unknown.

    Examples
    --------
    >>> white, means, unknown = solved(np.diag([4.0, 0.0]), np.array([2.0, 0.0]))
    >>> means.tolist(), np.abs(unknown).tolist()
    ([0.5, 0.0], [[0.0], [1.0]])
    """
    values, vectors = np.linalg.eigh(matrix)
    known = values > UNKNOWN * max(float(values[-1]), 1e-300)
    white = (vectors[:, known] / np.sqrt(values[known])).T
    return white, white.T @ (white @ sums), vectors[:, ~known]


def centred_basis(features: Reals) -> Reals:
    """An orthonormal basis, K × rank, of the features less their averages.

    Examples
    --------
    >>> centred_basis(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 4.0]])).round(3).tolist()
    [[-0.707], [0.0], [0.707]]
    """
    centred = features - features.mean(axis=0)
    vectors, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-10 * max(float(sizes[0]), 1e-300)
    basis = vectors[:, kept]
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])])
    return np.ascontiguousarray(basis * signs)


class Shifted(GuessAndVerify):
    """Guess-and-verify by differences within blocks that share a shift."""

    keeps_values = True
    _size = 1  # results of the largest block so far

    def __init__(self, problem: ReducedProblem) -> None:
        super().__init__(problem)
        self._turns = _turns(len(self.plan), 0, 0)

    def means(self, problem: ReducedProblem) -> Means:
        """How results become means."""
        arms, rank = problem.features.shape
        linear = rank < arms and centred_basis(problem.features).shape[1] < arms - 1
        return LinearShiftedMeans(problem) if linear else OwnShiftedMeans(problem)

    def next_arm(self, missing: Integers) -> int:
        """The arm whose next pull comes first."""
        made = self.plan - missing
        places = np.full(len(made), np.inf)
        wanted = missing > 0
        places[wanted] = (made[wanted] + self._turns[wanted]) / self.plan[wanted]
        return int(np.argmin(places)) if wanted.any() else NO_ARM

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan."""
        size = max(self._size, int(np.bincount(results.singles[1]).max()))
        before, self._size = self._size, size
        super().decide(results, seed)
        self._turns = _turns(len(self.plan), seed, int(self._results.pulls.sum()))

    def _next_plan(self, tables, guess, inside, pairs, made):
        if not guess.compares_all:  # every arm once more
            return self._means.first()
        return super()._next_plan(tables, guess, inside, pairs, made)

    def plan_for(
        self, pairs: OpenPairs, needs: Reals, evidence: Evidence | None, guess: Fit, made: float
    ) -> tuple[Integers, Reals]:
        """A plan of whole blocks that gives the pairs some of what they need, and its weights."""
        means, urgency = self._means, needs * pairs.variances
        weights, total = means.design(pairs.b, pairs.c, needs, urgency, self._weights)
        length = max(means.shortest * made, min(made, QUARTER * total))
        size = self._size
        plan = means.plan(weights, size * max(1.0, np.round(length / size)))
        return filled(plan, weights, size), weights


def filled(plan: Integers, weights: Reals, size: int) -> Integers:
    """A plan with more pulls, by the weights, so that it is whole blocks of ``size``.

    Examples
    --------
    >>> filled(np.array([3, 1, 1]), np.array([0.6, 0.3, 0.1]), 4).tolist()
    [5, 2, 1]
    """
    total = -(-int(plan.sum()) // size) * size
    wanted = weights * (total / weights.sum())
    plan = plan.copy()
    for _ in range(total - int(plan.sum())):
        plan[int(np.argmax(wanted - plan))] += 1
    return plan


def _turns(arms: int, seed: int, made: int) -> Reals:
    """A random number of every arm."""
    return np.random.default_rng([seed, made, 1]).random(arms)
