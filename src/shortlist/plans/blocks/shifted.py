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
of blocks long, by the largest of the last plan. The j-th of the n pulls of an arm takes its turn at
(j + u)/n of the plan, u a random number of the arm: every block is a sample of the plan, as even as it
can be, and in random order. The more alike the blocks are, the less is lost: of n results in a block
about one. With features some wells are for the arms evaluated least often: a design for linear means
evaluates few arms, and could not show that the means are not linear.

**Where σ is not known** the first plan is several rounds, and its results less a level of every block and a
mean of every arm bound σ (``noise.estimated``). They say nothing of the differences that it estimates.

**Controls** are arms that are never listed. A request puts them on its block, beside what the plan asks
for, and their results count as those of all arms do. No pair with one of them is tested and no plan asks
for them. With features each has an indicator of its own (``Problem.reduced``), so that nothing is
assumed of its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.blocks import NO_BLOCKS, Shift
from shortlist.designs.pairs import spreads
from shortlist.noise.noise import ShiftedBlocks
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL, ROUNDING, ArmEvidence
from shortlist.plans.evidence import (
    PRIOR,
    ByEstimates,
    Evidence,
    OpenPairs,
    PairEvidence,
    Verifier,
    squared_threshold,
)
from shortlist.plans.guess_and_verify import LEAST_GROWTH, NAMED_SETS, GuessAndVerify
from shortlist.plans.means import (
    QUARTER,
    SHORTEST,
    SMALLEST_SHARE,
    Fit,
    LinearMeans,
    Means,
    OwnMeans,
)
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem

# Of the largest eigenvalue: directions below it are taken for unknown; and where some are, those below
# the second too, since rounding turns them towards each other.
UNKNOWN, UNKNOWN_TOO = 1e-10, 1e-4
# With features, of the first plan and of later ones: for arms evaluated least often, to see whether
# their means are linear.
FIRST_PROBES, PROBES = 20, 0.1
# Two arms that differ by more than this share of their difference along a direction that is unknown are
# not compared: by what rounding makes of it, over the least eigenvalue that is known.
BY_ROUNDING = 1e-13
# A projection: the smallest gap that is drawn, in σ, results beyond which nobody counts, and pairs that
# decide how long it takes.
SMALLEST_GAP, MOST_PROJECTED, HARDEST = 1e-6, 1e9, 64


@dataclass(frozen=True, eq=False)
class BlockEquations:
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
    total : float
        The sum of all results, shifts and all.

    Examples
    --------
    >>> two = PlanResults.of(3, np.array([0, 1]), np.array([5.0, 7.0]), np.array([4, 4]))
    >>> BlockEquations.of(two, np.ones(3)).sums.tolist()
    [-1.0, 1.0, 0.0]
    """

    pulls: Integers
    matrix: Reals
    sums: Reals
    total: float

    @classmethod
    def of(cls, results: PlanResults, noise: Reals) -> BlockEquations:
        """The results of a plan, where those of arm a have the variance ``noise[a]``."""
        arms, blocks, values = results.singles
        _, blocks = np.unique(blocks, return_inverse=True)
        weights = 1.0 / noise[arms]
        table = np.zeros((int(blocks.max(initial=-1)) + 1, len(noise)))
        np.add.at(table, (blocks, arms), weights)
        totals = table.sum(axis=1)
        levels = np.bincount(blocks, weights * values, len(totals)) / totals
        matrix = np.diag(table.sum(axis=0)) - table.T @ (table / totals[:, None])
        sums = np.zeros(len(noise))
        np.add.at(sums, arms, weights * (values - levels[blocks]))
        return cls(results.pulls, matrix, sums, float(values.sum()))

    def __add__(self, other: BlockEquations) -> BlockEquations:
        return BlockEquations(
            self.pulls + other.pulls,
            self.matrix + other.matrix,
            self.sums + other.sums,
            self.total + other.total,
        )


@dataclass(frozen=True, eq=False)
class ShiftedFit(Fit):
    """Means up to a constant, by differences within blocks.

    Attributes
    ----------
    means : array, K
        Estimates of the means, from which the average of all arms that may be listed is subtracted.
    white : array, rank × K
        The inner products of its columns are the covariances, in units of σ².
    unknown : array, K × any
        Where two arms differ in it, nothing is known of their difference.
    basis : array, K × any
        All in which arms differ.
    apart : float
        The share of a difference in ``basis`` that may be in ``unknown``, by rounding.
    listable : array of bool, K
        Whether each arm may be listed.
    """

    means: Reals
    white: Reals
    unknown: Reals
    basis: Reals
    apart: float
    listable: Mask

    @property
    def compares_all(self) -> bool:
        """Whether something is known of the difference of any two arms that may be listed."""
        return bool(self._connected[self.listable].all())

    @property
    def _connected(self) -> Mask:
        """Whether something is known of the difference of each arm and the first that may be listed."""
        return self._alike(np.flatnonzero(self.listable)[:1])[0]

    def _alike(self, rows: Integers) -> Mask:
        """Whether two arms differ in nothing that is unknown, but for rounding."""
        unknown, all_ = (_distances(each, rows) for each in (self.unknown, self.basis))
        return np.asarray(unknown <= self.apart * all_ + ROUNDING)

    def variances(self, rows: Integers) -> Reals:
        """Of the differences within blocks; infinite where nothing connects two arms."""
        known = self._alike(rows)
        return np.where(known, spreads(self.white, SMALLEST_SHARE, rows), np.inf)

    @property
    def own_variances(self) -> Reals:
        """Of an arm less the average of those that may be listed; infinite where not all are connected."""
        if not self.compares_all:
            return np.full(len(self.means), np.inf)
        centred = self.white - self.white[:, self.listable].mean(axis=1, keepdims=True)
        return np.where(self._connected, np.einsum("ka,ka->a", centred, centred), np.inf)

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Errors of the differences."""
        return rng.standard_normal((count, len(self.white))) @ self.white[:, arms]


class ShiftedMeans(Means):
    """Means up to a constant, with features or without, where blocks are shifted.

    Plans are designed as if all results were in one block: ``in_random_order`` makes blocks that are
    nearly alike.

    Parameters
    ----------
    problem : ReducedProblem
        Its features are used where they restrict the differences of means.
    """

    def __init__(self, problem: ReducedProblem) -> None:
        features, arms = problem.features, len(problem.features)
        self._listable = problem.may_be_listed
        self.noise, self._basis = problem.noise_of_arms, centred_basis(features)
        self.is_linear = self._basis.shape[1] < arms - 1
        level = np.full((arms, 1), arms**-0.5)
        among = problem._replace(
            features=np.hstack([self._basis, level])[self._listable],
            noise=self.noise[self._listable],
            costs=problem.cost_of_arms[self._listable],
        )
        self._plans: Means = LinearMeans(among) if self.is_linear else OwnMeans(among)
        self.shortest, self.costs = self._plans.shortest, problem.cost_of_arms

    def first(self) -> tuple[Integers, Reals]:
        """The first plan, and its weights; no plan asks for controls."""
        plan, weights = self._plans.first()
        return self._among_all(plan), self._among_all(weights)

    def before_fit(self, results: PlanResults) -> Integers:
        """The plan that is needed before these results say anything of every mean; zeros if none."""
        return self._among_all(
            self._plans.before_fit(results.placed(np.flatnonzero(self._listable)))
        )

    def design(
        self, b: Integers, c: Integers, needs: Reals, urgency: Reals, start: Reals
    ) -> tuple[Reals, float]:
        """Weights for some pairs, and how many pulls give each what it needs."""
        place = np.cumsum(self._listable) - 1
        start = start[self._listable]
        weights, total = self._plans.design(place[b], place[c], needs, urgency, start)
        return self._among_all(weights), total

    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """About ``length`` pulls by these weights."""
        return self._among_all(self._plans.plan(weights[self._listable], length, rng))

    def _among_all(self, values: Any) -> Any:
        """Numbers of the arms that may be listed among zeros for controls."""
        among = np.zeros(len(self._listable), values.dtype)
        among[self._listable] = values
        return among

    def summary(self, results: PlanResults) -> BlockEquations:
        """The normal equations."""
        return BlockEquations.of(results, self.noise)

    def fit(self, results: BlockEquations) -> ShiftedFit:
        """Least squares with a free level of every block."""
        from scipy.sparse.csgraph import connected_components  # loads late

        matrix, sums, basis = results.matrix, results.sums, self._basis
        if self.is_linear:
            white, fitted, unknown, apart = solved(basis.T @ matrix @ basis, basis.T @ sums)
            return self._fit(basis @ fitted, white @ basis.T, basis @ unknown, basis, apart)
        parts, labels = connected_components(matrix != 0.0, directed=False)
        white, means, unknown, _ = solved(matrix, sums)
        if unknown.shape[1] != parts:  # noise so large beside other is lost in rounding
            labels = np.arange(len(labels), dtype=labels.dtype)
        own = labels[:, None].astype(np.float64)
        return self._fit(means, white, own, own, 0.0)

    def _fit(
        self, means: Reals, white: Reals, unknown: Reals, basis: Reals, apart: float
    ) -> ShiftedFit:
        level = means[self._listable].mean()
        return ShiftedFit(means - level, white, unknown, basis, apart, self._listable)


def _distances(points: Reals, rows: Integers) -> Reals:
    """How far those of some rows are from all."""
    squares = np.zeros((len(rows), len(points)))
    for column in points.T:
        squares += (column[rows, None] - column) ** 2
    return np.sqrt(squares)


def solved(matrix: Reals, sums: Reals) -> tuple[Reals, Reals, Reals, float]:
    """W with WᵀW the pseudo-inverse of a matrix, WᵀW times the sums, and the directions unknown.

    The last is how far rounding may have turned these.

    Examples
    --------
    >>> white, means, unknown, turned = solved(np.diag([4.0, 0.0]), np.array([2.0, 0.0]))
    >>> means.tolist(), np.abs(unknown).tolist(), turned
    ([0.5, 0.0], [[0.0], [1.0]], 1e-13)
    """
    values, vectors = np.linalg.eigh(matrix)
    largest = max(float(values[-1]), 1e-300)
    known = values > UNKNOWN * largest
    if not known.all():
        known = values > UNKNOWN_TOO * largest
    least = float(values[known].min(initial=largest))
    white = (vectors[:, known] / np.sqrt(values[known])).T
    turned = BY_ROUNDING * largest / least
    return white, white.T @ (white @ sums), vectors[:, ~known], turned


def centred_basis(features: Reals) -> Reals:
    """An orthonormal basis, K × rank, of the features less their averages.

    Examples
    --------
    >>> centred_basis(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 5.0]])).round(3).tolist()
    [[-0.656], [-0.094], [0.749]]
    """
    centred = features - features.mean(axis=0)
    vectors, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-10 * max(float(sizes[0]), 1e-300)
    basis = vectors[:, kept]
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])])
    return np.ascontiguousarray(basis * signs)


class Shifted(GuessAndVerify):
    """Guess-and-verify by differences within blocks that share a shift."""

    counts_all = True

    def __init__(self, problem: ReducedProblem) -> None:
        super().__init__(problem)
        self.keeps_values, self.goes_on = True, False
        if self._shifted.is_linear and problem.first is None:
            self.plan = self.plan + self._probes(FIRST_PROBES)
        self._size = 1  # results of the largest block of the last plan, without controls
        self._order = by_rounds(self.plan, 0)

    def verifier(self, problem: ReducedProblem, kind: type[Verifier]) -> Verifier:
        """By differences within blocks."""
        self._shifted = ShiftedMeans(problem)
        return ByEstimates(problem, self._shifted, ArmEvidence.none(len(problem.features)))

    def arrange(self, seed: int) -> None:
        """Put the first plan into an order that depends on the seed."""
        if self._whole is None:
            self._order = by_rounds(self.plan, seed)

    def next_arm(self, missing: Integers) -> int:
        """The arm whose pull comes next in the order of the plan."""
        arms, earlier = self._order
        made = self.plan - missing
        wanted = (earlier >= made[arms]) & (missing[arms] > 0)
        return int(arms[np.argmax(wanted)])

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan."""
        twin = self.copy()  # so that an exception on the way leaves all as it was
        arms, blocks, _ = results.singles
        listed = blocks[self._problem.may_be_listed[arms]]
        sizes = np.unique(listed, return_counts=True)[1].tolist()
        twin._size = max(sizes, default=self._size)
        super(Shifted, twin).decide(results, seed)
        made = int(twin._results.pulls.sum())
        twin._order = in_random_order(twin.plan, twin._size, seed, made)
        self.__dict__.update(twin.__dict__)

    def plan_for(
        self,
        means: Means,
        pairs: OpenPairs,
        lacking: Reals,
        evidence: Evidence | None,
        guess: Fit,
        made: float,
        rng: np.random.Generator,
    ) -> tuple[Integers, Reals]:
        """A plan of whole blocks that gives the pairs some of what they lack, and its weights.

        Every arm once more until blocks connect all.
        """
        if not guess.compares_all:
            return means.first()
        needs = np.maximum(lacking, SHORTEST / pairs.variances)
        urgency = needs * pairs.variances
        weights, total = means.design(pairs.b, pairs.c, needs, urgency, self._weights)
        length = self._length(made, total)
        probes = self._probes(int(PROBES * length) if self._shifted.is_linear else 0)
        plan = means.plan(weights, length - int(probes.sum()), rng) + probes
        return filled(plan, weights, self._size), weights

    def _probes(self, count: int) -> Integers:
        """One pull of each of the arms evaluated least often that may be listed."""
        arms = len(self.plan)
        pulls = self._results.pulls + (self.plan if self._whole is None else 0)
        anyhow = np.random.default_rng(arms).permutation(arms)
        anyhow = anyhow[self._problem.may_be_listed[anyhow]]
        probes = np.zeros(arms, np.int64)
        probes[anyhow[np.argsort(pulls[anyhow], kind="stable")][:count]] = 1
        return probes

    # What a study shows

    def projected(self, count: int, rng: np.random.Generator) -> Reals | None:
        """By the plans that follow the last decision, for means and noise that are drawn."""
        guess = self._guess
        if guess is None or not guess.compares_all:
            return None
        drawn = guess.draw(np.arange(len(guess.means)), count, rng) * self._problem.sigma
        luck = rng.standard_normal(count)
        return np.array(
            [
                self._plans_until(*self._lacking(guess.means + error, guess, z))
                for error, z in zip(drawn, luck, strict=True)
            ]
        )

    def _lacking(self, means: Reals, guess: Fit, luck: float) -> tuple[float, bool]:
        """The results that the m best take to pass, if these are the means; whether this plan counts.

        ``luck`` is that of the results to come, in standard errors.
        """
        problem = self._problem
        inside = problem.best_of(means)
        tables = self._tables.with_rows(np.flatnonzero(inside))
        b, c, used = np.flatnonzero(inside), tables.others(inside), len(tables.namings)
        gaps = means[b][:, None] - means[c] + problem.epsilon
        evidence, level = cast("tuple[PairEvidence, float]", tables.latest(inside))
        counts = evidence is not tables.fall_back or used == len(self._shares)
        if counts:
            here = np.ix_(tables.of(inside), c)
            have, scores, prior = (
                each[here] for each in (evidence.information, evidence.scores, evidence.prior)
            )
        else:  # what is in will not count
            level = -math.log(problem.delta * self._shares[used])
            have, scores, prior = np.zeros((3, *gaps.shape))
        needs = to_pass(gaps, have, scores, prior, level, problem.sigma, luck)
        rows, columns = np.nonzero((tables.margins(inside) < 0.0) & (needs > 0.0))
        if not len(rows):
            return 0.0, counts
        urgency = needs[rows, columns] * guess.variances(b)[rows, c[columns]]
        most = np.argsort(-urgency, kind="stable")[:HARDEST]
        rows, columns, urgency = rows[most], columns[most], urgency[most]
        needs = needs[rows, columns]
        total = self._shifted.design(b[rows], c[columns], needs, urgency, self._weights)[1]
        return total, counts

    def _plans_until(self, lacking: float, counts: bool) -> float:
        """The results from the last decision to the end of the plan at which so many are in.

        Where the m best are not named yet, this plan does not count.
        """
        made, length, spent = float(self._results.pulls.sum()), float(self.plan.sum()), 0.0
        while spent < MOST_PROJECTED:
            spent += length
            lacking -= length if counts else 0.0
            if counts and lacking <= 0.0:
                break
            counts = True
            length = self._length(made + spent, max(lacking, 0.0))
        return spent if spent < MOST_PROJECTED else math.inf

    def _length(self, made: float, total: float) -> int:
        """The length of a plan of whole blocks after so many results, where ``total`` seem to lack."""
        length = max(self._shifted.shortest * made, min(made, QUARTER * total))
        return self._size * max(1, round(length / self._size))

    @property
    def _level(self) -> float:
        """The mean of all arms on the average of all blocks so far."""
        assert self._whole is not None
        total = self._results
        return (total.total - float(total.pulls @ self._whole.means)) / max(total.pulls.sum(), 1)

    @property
    def adjusts(self) -> bool:
        """Shifts are taken away."""
        return True

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """As if every arm were on the average of all blocks; variances of what sets arms apart."""
        if self._whole is None:
            return means, variances
        return self._whole.means + self._level, self._whole.own_variances

    def intervals(self) -> tuple[Reals, Reals]:
        """Bounds on every arm less the average of all that may be listed, at the level of ``estimates``."""
        lower, upper = super().intervals()
        level = 0.0 if self._whole is None else self._level
        return lower + level, upper + level


def to_pass(
    gaps: Reals,
    have: Reals,
    scores: Reals,
    prior: Reals,
    level: float,
    sigma: float,
    luck: float,
) -> Reals:
    """The information with which pairs of these gaps pass, beyond what they have.

    The scores grow by the gap, and by ``luck`` times their standard error. ``prior`` is ρ, 0 where it
    is not known yet.

    Examples
    --------
    >>> one = np.ones(1)
    >>> fresh = 0 * one, 0 * one, 0 * one
    >>> [to_pass(gap * one, *fresh, 3.0, 1.0, 0.0).round(1).item() for gap in (1.0, 2.0)]
    [7.7, 1.9]
    """
    gaps = np.maximum(gaps, SMALLEST_GAP * sigma)
    behind = gaps * have - scores  # of what the gap would have given
    total = np.maximum(have, squared_threshold(level, 1.0 / PRIOR) * (sigma / gaps) ** 2)
    for _ in range(4):
        grown = np.maximum(total / np.where(prior > 0.0, prior, PRIOR * total), LEAST_GROWTH)
        height = np.sqrt(squared_threshold(level, grown)) - luck * np.sqrt(
            np.maximum(1.0 - have / total, 0.0)
        )
        height = np.maximum(height, 0.0) * sigma
        root = (height + np.sqrt(np.maximum(height**2 + 4.0 * gaps * behind, 0.0))) / (2.0 * gaps)
        total = np.maximum(root**2, 1e-9)
    return np.maximum(total - have, 0.0)


def filled(plan: Integers, weights: Reals, size: int) -> Integers:
    """A plan with more pulls, by the weights, so that it is whole blocks.

    Examples
    --------
    >>> filled(np.array([3, 1, 1]), np.array([0.6, 0.3, 0.1]), size=4).tolist()
    [5, 2, 1]
    """
    total = -(-int(plan.sum()) // size) * size
    wanted = weights * (total / weights.sum())
    plan = plan.copy()
    for _ in range(total - int(plan.sum())):
        plan[int(np.argmax(wanted - plan))] += 1
    return plan


def by_rounds(plan: Integers, seed: int) -> tuple[Integers, Integers]:
    """The same as ``in_random_order`` for blocks of unknown size.

    A plan that is another one several times is so many rounds, each in an order of its own: with the
    same order the arms would meet the same ones in every round.

    Examples
    --------
    >>> arms, earlier = by_rounds(np.array([2, 4, 0]), seed=0)
    >>> np.bincount(arms[:3]).tolist(), earlier[arms == 1].tolist()
    ([1, 2], [0, 1, 2, 3])
    """
    rounds = int(np.gcd.reduce(plan))
    once = plan // rounds
    size = int(once.sum())
    orders = [in_random_order(once, 1, seed, each * size) for each in range(rounds)]
    counted = [earlier + each * once[arms] for each, (arms, earlier) in enumerate(orders)]
    return np.concatenate([arms for arms, _ in orders]), np.concatenate(counted)


def in_random_order(plan: Integers, size: int, seed: int, made: int) -> tuple[Integers, Integers]:
    """The arms of a plan in turn, and for each pull how many earlier ones are of the same arm.

    Every part of ``size`` pulls is a sample of the plan, as even as it can be, in random order.

    Examples
    --------
    >>> arms, earlier = in_random_order(np.array([6, 2, 0, 4]), 6, seed=0, made=12)
    >>> len(arms), int(earlier.max()), bool((np.bincount(arms[:6]) <= [4, 2, 0, 3]).all())
    (12, 5, True)
    """
    rng = np.random.default_rng([seed, made, 1])
    arms = np.repeat(np.arange(len(plan)), plan)
    earlier = np.arange(len(arms)) - np.repeat(np.cumsum(plan) - plan, plan)
    places = (earlier + rng.random(len(plan))[arms]) / plan[arms]
    part = np.empty(len(arms), np.int64)
    part[np.argsort(places, kind="stable")] = np.arange(len(arms)) // size
    shuffled = arms[np.lexsort((rng.random(len(arms)), part))]
    order = np.argsort(shuffled, kind="stable")
    counted = np.empty(len(arms), np.int64)
    counted[order] = earlier
    return shuffled, counted


ON_BLOCKS = replace(
    NAMED_SETS,
    coverage="Shifts leave differences only: means and bounds are placed at the level of the average "
    "block. If what the guarantee assumes is true, how far each arm is above or below the average of "
    "all arms that may be listed lies within its bounds, at all times at once, with probability at least {level}, for "
    "each arm by itself and not for all arms together.",
)
ALGORITHMS = {
    "Guess-and-verify (plates)": Planned(
        strategy=Shifted,
        threshold=ON_BLOCKS,
        name="Guess-and-verify (plates)",
        works=("karnin",),
        adapted=True,
        summary="Karnin 2016, adapted to any m and to blocks that share a shift: differences within them",
        interval=INTERVAL,
        uses_noise=True,
        results=ShiftedBlocks(),
        takes=(NO_BLOCKS.word, Shift.word),
    ),
}
