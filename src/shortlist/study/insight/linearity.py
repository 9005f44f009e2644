"""The test of whether means are linear in the features, by arms that were fixed before any result.

A shape is a way in which means may depart from linear ones: a square, a product or a cube of features. It
is fitted as one more feature. If the means are linear its coefficient is 0, and the estimate over its
standard error is normal, or Student's. That holds for results of arms that were fixed beforehand: those of
the first plan, and of a list that is made with it (``fixed_arms``). At fixed lengths of that list the
test is made, each time with a share of its level. ``docs/proofs.md`` has the proof.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.linalg import even
from shortlist.problem import Problem
from shortlist.proof.contrasts import TINY, sums_of
from shortlist.proof.evidence import Pairs
from shortlist.proof.increments import Student, SubGaussian, log_sum
from shortlist.proof.plan import Plan

LEVEL = 0.01  # of all tests of a study
FIRST_SHARE = 0.85  # of the level, for the first test
OF_PLANS = 0.1  # of the level, for the plans of a search
SIZES = (0.1, 0.3, 1.0)  # of coefficients, in σ, as bets are made
OVERALL = 0.15  # of the level, for all departures together
CUBES = 0.25  # of the level, for cubes, and as much for a level that the features cannot express;
# over the rest, which is for squares and products
MOST_SHAPES = 1000  # beyond, products are left out
CONSIDERED = 1000  # arms among which those to evaluate are chosen
STEPS = 100  # of the design
FEWEST = 24  # evaluations of the first test; with few arms twice their number
FLAT = 1e-9  # of the length of a column: what varies less does not vary
SPANNED = 1e-6  # of the length of a shape: no more is left, by rounding, of one that is linear
SMALL = 1e-8  # of the largest singular value: less is rounding
ROUNDING = 1e-11  # of the largest mean: what averages and predictions may be off by
OFTEN = 0.9  # the probability with which a misfit of the size that is named is found
_SHAPES: WeakKeyDictionary[Problem, Shapes] = WeakKeyDictionary()


def share_of_test(k: int) -> float:
    """The share of the level of the k-th test, from 0 on: all of them add up to 0.9.

    Examples
    --------
    >>> share_of_test(0), round(share_of_test(1), 3), round(sum(map(share_of_test, range(9999))), 3)
    (0.85, 0.025, 0.9)
    """
    rest = 1.0 - FIRST_SHARE - OF_PLANS
    return FIRST_SHARE if k == 0 else rest / (k * (k + 1.0))


@dataclass(frozen=True, eq=False)
class Shapes:
    """Departures from linear means that are looked for, at some of the arms.

    Attributes
    ----------
    arms : array of int
        Those that are considered, sorted.
    x : array, arms × rank
        The features.
    columns : array, arms × shapes
        The departures: nothing of them is linear, and their mean square over the arms is 1.
    shares : array
        Of the level, for every shape.
    terms : list of tuple of int
        The columns of features that are multiplied; none for a level.
    """

    arms: Integers
    x: Reals
    columns: Reals
    shares: Reals
    terms: list[tuple[int, ...]]

    @classmethod
    def of(cls, problem: Problem) -> Shapes:
        """Squares and products, cubes beside squares, and a level if the features cannot express it.

        Examples
        --------
        >>> dose = np.arange(6.0)[:, None]
        >>> Shapes.of(Problem.of(dose, 1, sigma=1.0, intercept=True)).terms
        [(0, 0), (0, 0, 0)]
        """
        if problem not in _SHAPES:
            _SHAPES[problem] = cls._of(problem)
        return _SHAPES[problem]

    @classmethod
    def _of(cls, problem: Problem) -> Shapes:
        arms = np.flatnonzero(problem.listable)
        if len(arms) > CONSIDERED:
            arms = np.sort(np.random.default_rng(0).choice(arms, CONSIDERED, replace=False))
        x, z = problem.orthonormal[arms], even(problem.features[arms])
        z = z - z.mean(axis=0)
        spread = np.sqrt((z**2).mean(axis=0))
        varied = np.flatnonzero(spread > FLAT)
        z = z[:, varied] / spread[varied]
        pairs = list(itertools.combinations_with_replacement(range(len(varied)), 2))
        if len(pairs) > MOST_SHAPES:
            pairs = [(k, k) for k in range(len(varied))]
        one, other = np.array(pairs, np.int64).reshape(-1, 2).T
        line = np.column_stack([np.ones(len(x)), x])
        squares, first = _beyond(line, z[:, one] * z[:, other])
        cubes, second = _beyond(np.column_stack([line, z**2]), z**3)
        level, third = _beyond(x, np.ones((len(x), 1)))
        terms = [pairs[k] for k in first] + [(int(k),) * 3 for k in second] + [()] * len(third)
        groups = [
            (1.0 - CUBES, len(first)),
            (CUBES, len(second)),
            (CUBES, len(third)),
        ]
        total = max(sum(share for share, many in groups if many), TINY)
        shares = np.concatenate([np.full(n, share / total / max(n, 1)) for share, n in groups])
        named = [tuple(int(varied[k]) for k in term) for term in terms]
        return cls(arms, x, np.hstack([squares, cubes, level]), shares, named)

    def rows(self, arms: Integers) -> tuple[Integers, Mask]:
        """The rows of these arms, and which of them have one."""
        at = np.minimum(np.searchsorted(self.arms, arms), len(self.arms) - 1)
        return at, self.arms[at] == arms


def _beyond(line: Reals, columns: Reals) -> tuple[Reals, Integers]:
    """What is left of columns that linear means cannot express, of mean square 1, and which these are."""
    left, sizes, _ = np.linalg.svd(line, full_matrices=False)
    left = left[:, sizes > SMALL * sizes[0]]
    lengths = np.linalg.norm(columns, axis=0)
    for _ in range(2):  # once more, for what rounding left
        columns = columns - left @ (left.T @ columns)
    rest = np.linalg.norm(columns, axis=0)
    some = np.flatnonzero(rest > SPANNED * lengths)
    return columns[:, some] / rest[some] * np.sqrt(len(columns)), some


def fixed_arms(
    shapes: Shapes, first: Integers, allowed: Mask, count: int, each: int, *, again: bool = True
) -> Integers:
    """A list of arms to evaluate beside a first plan, by which the shapes are found best.

    It maximises the product of what is known of the coefficients (each with its share as exponent). Of a
    list for more evaluations it is the beginning.

    Parameters
    ----------
    shapes : Shapes
        What is looked for.
    first : array of int
        How many results the first plan has of each of ``shapes.arms``.
    allowed : array of bool
        Which of them may be evaluated.
    count : int
        How many evaluations.
    each : int
        How many of an arm follow one another.
    again : bool
        Whether an arm may come again later.

    Examples
    --------
    >>> dose = Shapes.of(Problem.of(np.arange(9.0)[:, None], 1, sigma=1.0, intercept=True))
    >>> ends = np.array([4, 0, 0, 0, 0, 0, 0, 0, 4])
    >>> fixed_arms(dose, ends, np.ones(9, bool), count=8, each=2).tolist()
    [3, 3, 5, 5, 0, 0, 8, 8]
    """
    x, v = shapes.x, shapes.columns
    w = allowed / max(allowed.sum(), 1)
    for _ in range(min(STEPS, 10_000_000 // max(v.size, 1)) if v.size else 0):
        pulls = first + FEWEST * w
        root = np.sqrt(pulls)[:, None]
        fitted = np.linalg.lstsq(root * x, root * v, rcond=None)[0]
        squares = (v - x @ fitted) ** 2
        w = w * (squares @ (shapes.shares / np.maximum(pulls @ squares, TINY)))
        w = w / w.sum()
    turns, given = np.zeros(-(-count // each), np.int64), np.zeros(len(w))
    for turn in range(len(turns)):
        turns[turn] = np.argmax(w / (given + 0.5) * (1.0 - 1e-9 * np.arange(len(w)) / len(w)))
        given[turns[turn]] += 1.0 if again else np.inf
    return np.repeat(shapes.arms[turns], each)[:count]


@dataclass(frozen=True, eq=False)
class Sample:
    """Results of arms that were fixed beforehand, by arm, or by arm and block.

    Attributes
    ----------
    arms, counts, means : array
        Of which arm, how many results, their average.
    squares : array
        The sum of their squares around that.
    noise : array
        The variance of one result; up to one factor where that is not known.
    kind : {"known", "one", "own"}
        Whether σ is known, one that is not, or another one for every arm.
    blocks : array of int, optional
        On which block they are, where results of a block share a level.
    ranges : bool
        Whether nothing is known of the noise but that results lie within 2σ: of a block they may depend
        on each other.
    """

    arms: Integers
    counts: Reals
    means: Reals
    squares: Reals
    noise: Reals
    kind: str = "known"
    blocks: Integers | None = None
    ranges: bool = False

    @classmethod
    def of(
        cls, problem: Problem, arms: Integers, values: Reals, blocks: Integers | None = None
    ) -> Sample:
        """Of single results."""
        shared = np.zeros(len(arms), np.int64) if blocks is None else blocks
        cells, of = np.unique(np.column_stack([shared, arms]), axis=0, return_inverse=True)
        of = of.ravel()
        counts = sums_of(of, np.ones(len(arms)), len(cells))
        means = sums_of(of, values, len(cells)) / counts
        squares = sums_of(of, (values - means[of]) ** 2, len(cells))
        given = cells[:, 1], counts, means, squares, *noise_of(problem, cells[:, 1])
        return cls(*given, None if blocks is None else cells[:, 0], problem.noise.takes_range)

    @property
    def weighed(self) -> Reals:
        """By what results are weighted: the noise where something is known of it."""
        return np.ones(len(self.arms)) if self.kind == "own" else self.noise


def noise_of(problem: Problem, arms: Integers) -> tuple[Reals, str]:
    """The variance of results of these arms, and how it is known."""
    relative = problem.relative_noise[arms]
    if not problem.noise.needs_replicates:
        return problem.sigma**2 * relative, "known"
    one = problem.noise.suited(False, False, own_sigma=False, one_sigma=True)
    return relative, "one" if one else "own"


class Overall(NamedTuple):
    """How far means are from linear ones in all: p-value, and by how much they may be."""

    p: float = 1.0
    worth: float = 0.0  # the noncentrality of a misfit of 1 at every arm, with random signs
    degrees: float = 0.0


class Fit(NamedTuple):
    """The coefficient of every shape: estimate, standard error, degrees of freedom."""

    estimates: Reals
    errors: Reals  # infinite where nothing is known
    degrees: Reals
    overall: Overall = Overall()

    @classmethod
    def of(cls, sample: Sample, x: Reals, columns: Reals) -> Fit:
        """Of least squares on linear features, levels of blocks, and one shape at a time."""
        weights, information, left = weights_of(sample, x, columns)
        found = sample.means @ weights
        variances, degrees = _variances(sample, weights, left, found, information)
        off = (ROUNDING * np.abs(sample.means).max()) ** 2 * (weights**2).sum(axis=0)
        seen = (information > 0.0) & (degrees > 0.0)
        errors = np.where(seen, np.sqrt(variances + off), np.inf)
        return cls(found, errors, degrees, _overall(sample, left))


def _overall(sample: Sample, left: Reals) -> Overall:
    """By what a linear model leaves: χ², or F where σ is one that is not known."""
    from scipy.special import chdtrc, fdtrc

    free = float(len(sample.arms) - left.shape[1])
    within = float((sample.counts - 1.0).sum())
    if free < 1.0 or sample.kind == "own" or (sample.ranges and sample.blocks is not None):
        return Overall()
    size = ROUNDING * np.abs(sample.means).max()
    root = np.sqrt(sample.counts / (sample.noise + sample.counts * size**2))
    y = root * sample.means
    for _ in range(2):
        y = y - left @ (left.T @ y)
    squares, worth = float(y @ y), float(root**2 @ (1.0 - (left**2).sum(axis=1)))
    if sample.kind == "known":
        return Overall(float(chdtrc(free, squares)), worth, free)
    spread = float((sample.squares / sample.noise).sum()) / max(within, 1.0) + size**2
    if within < 1.0 or spread <= 0.0:
        return Overall()
    return Overall(float(fdtrc(free, within, squares / free / spread)), 0.0, free)


def weights_of(sample: Sample, x: Reals, columns: Reals) -> tuple[Reals, Reals, Reals]:
    """Weights of the averages in the coefficient of every shape, its information, and what is nuisance.

    Both are 0 where the results say nothing of a shape. The last is an orthonormal basis.
    """
    root, known = np.sqrt(sample.counts / sample.weighed), x
    if sample.blocks is not None:
        level = np.unique(sample.blocks, return_inverse=True)[1]
        known = np.column_stack([x, np.eye(int(level.max()) + 1)[level]])
    left, sizes, _ = np.linalg.svd(root[:, None] * known, full_matrices=False)
    left = left[:, sizes > SMALL * sizes[0]]
    shape = root[:, None] * columns
    lengths = np.linalg.norm(shape, axis=0)
    for _ in range(2):  # once more, for what rounding left
        shape = shape - left @ (left.T @ shape)
    information = (shape**2).sum(axis=0)
    information[information <= (SPANNED * lengths) ** 2] = 0.0
    seen = information > 0.0
    weights = root[:, None] * shape * seen / np.where(seen, information, 1.0)
    return weights, information, left


def _variances(
    sample: Sample, weights: Reals, left: Reals, found: Reals, information: Reals
) -> tuple[Reals, Reals]:
    """Of the coefficients, with degrees of freedom."""
    many, known = np.full(len(found), np.inf), np.where(information > 0.0, information, 1.0)
    if sample.kind == "known":
        if not (sample.ranges and sample.blocks is not None):
            return 1.0 / known, many
        block = np.unique(sample.blocks, return_inverse=True)[1]  # whatever results of one share
        reach = np.zeros((int(block.max()) + 1, len(found)))
        np.add.at(reach, block, np.abs(weights) * np.sqrt(sample.noise)[:, None])
        return (reach**2).sum(axis=0), many
    if sample.kind == "one":
        y = np.sqrt(sample.counts / sample.noise) * sample.means
        for _ in range(2):
            y = y - left @ (left.T @ y)
        total = float((sample.squares / sample.noise).sum()) + float(y @ y)
        free = float(sample.counts.sum()) - left.shape[1] - 1.0
        spread = np.maximum(total - found**2 * information, 0.0) / max(free, 1.0)
        return spread / known, np.full(len(found), max(free, 0.0))
    used = np.abs(weights) > 1e-9 * np.abs(weights).max(axis=0, initial=0.0)
    degree = np.maximum(sample.counts - 1.0, 1.0)[:, None]
    parts = weights**2 * used * (sample.squares / sample.counts)[:, None] / degree
    variances = parts.sum(axis=0)
    degrees = variances**2 / np.maximum((parts**2 / degree).sum(axis=0), TINY)  # Satterthwaite's
    alone = (used & (sample.counts < 2.0)[:, None]).any(axis=0)
    return variances, np.where(alone, 0.0, np.minimum(degrees, 1e6))


@dataclass(frozen=True)
class Verdict:
    """What a test found.

    Attributes
    ----------
    level : float
        The share of the level that this test has.
    fit : Fit or None
        Of the shapes; None if no result came in.
    shares : array
        Of the level, for every shape.
    """

    level: float
    fit: Fit | None
    shares: Reals

    @cached_property
    def p(self) -> Reals:
        """Of every shape, and of all departures together, over its share of the level."""
        from scipy.special import ndtr, stdtr

        if self.fit is None:
            return np.ones(1)
        t = np.abs(self.fit.estimates / self.fit.errors)
        t = np.where(np.isfinite(self.fit.errors), t, 0.0)
        degrees = np.where(np.isfinite(self.fit.degrees), self.fit.degrees, 1.0)
        tails = np.where(
            np.isfinite(self.fit.degrees), stdtr(np.maximum(degrees, 1.0), -t), ndtr(-t)
        )
        rest = 1.0 - OVERALL if len(self.shares) else 0.0
        p = np.append(2.0 * tails / (self.shares * rest), self.fit.overall.p / (1.0 - rest))
        return np.asarray(np.minimum(p, 1.0))

    @property
    def least(self) -> float:
        """The p-value of the test, with Bonferroni's correction."""
        return float(self.p.min(initial=1.0))

    @property
    def shape(self) -> int | None:
        """The shape that improves the fit most; None where all departures together say more."""
        best = int(np.argmin(self.p))
        return best if best < len(self.shares) else None

    @property
    def rejected(self) -> bool:
        """Whether the means are not linear."""
        return self.least <= self.level

    @cached_property
    def detectable(self) -> float:
        """The misfit, in the root mean square over all arms, of a typical shape that would be found.

        With a probability of 0.9; infinite if half of the shapes would never be.
        """
        from scipy.special import ndtri, stdtrit

        if self.fit is None:
            return np.inf
        if not len(self.shares):
            return self._in_all(self.fit.overall)
        tails = 0.5 * self.level * (1.0 - OVERALL) * self.shares
        finite = np.isfinite(self.fit.degrees)
        degrees = np.where(finite, np.maximum(self.fit.degrees, 1.0), 1.0)
        limits = np.where(finite, -stdtrit(degrees, tails), -ndtri(tails))
        return float(np.median((limits + ndtri(OFTEN)) * self.fit.errors))

    def _in_all(self, overall: Overall) -> float:
        """The same of departures with random signs."""
        from scipy.special import chdtri, chndtrinc

        if not overall.worth:
            return np.inf
        limit = chdtri(overall.degrees, self.level)
        return float(np.sqrt(chndtrinc(limit, overall.degrees, 1.0 - OFTEN) / overall.worth))


def lack_of_fit(problem: Problem, sample: Sample, level: float) -> Verdict:
    """Test results of arms that were fixed beforehand against linear means.

    Examples
    --------
    >>> dose = np.arange(20.0)
    >>> problem = Problem.of(dose[:, None], 1, sigma=1.0, intercept=True)
    >>> arms = np.repeat([0, 6, 13, 19], 6)
    >>> for means in (dose, (dose - 10.0) ** 2 / 20.0):
    ...     values = means[arms] + np.random.default_rng(0).standard_normal(24)
    ...     verdict = lack_of_fit(problem, Sample.of(problem, arms, values), 0.01)
    ...     print(verdict.rejected, round(verdict.detectable, 2))
    False 0.68
    True 0.68
    """
    shapes = Shapes.of(problem)
    at, known = shapes.rows(sample.arms)
    if not known.any():
        return Verdict(level, None, shapes.shares)
    if sample.kind == "own" and sample.blocks is not None:
        fit = _by_blocks(sample, shapes, at, known)
    else:
        some = _only(sample, known)
        fit = Fit.of(some, shapes.x[at[known]], shapes.columns[at[known]])
    return Verdict(level, fit, shapes.shares)


class Plans:
    """Evidence by the plans of a search, each of which was fixed before its own results.

    That of the core, for a shape's coefficient in place of a difference of two means, in either direction.
    """

    def __init__(self, problem: Problem, kind: str, sizes: float) -> None:
        self.shapes = Shapes.of(problem)
        self.pairs = Pairs(np.arange(2), max(len(self.shapes.shares), 2))
        guesses = [np.full(len(self.pairs), part * sizes) for part in SIZES]
        known = kind == "known"
        self.evidence = [
            SubGaussian(self.pairs, g) if known else Student(self.pairs, g) for g in guesses
        ]

    def after(self, sample: Sample, noise: Reals) -> None:
        """Take in the results of a plan; ``noise`` are variances as they seemed before."""
        at, known = self.shapes.rows(sample.arms)
        if not known.any() or not len(self.shapes.shares):
            return
        some = _only(sample, known)
        found = _OfPlan(
            some, self.shapes.x[at[known]], self.shapes.columns[at[known]], noise[known]
        )
        for each in self.evidence:
            each.after(cast(Plan, found))

    @property
    def log_e(self) -> float:
        """The logarithm of the average of all evidence."""
        return float(log_sum(self._logs)) if len(self.shapes.shares) else -np.inf

    @property
    def shape(self) -> int:
        """The shape that has most."""
        return int(np.argmax(self._logs)) % len(self.shapes.shares)

    @property
    def _logs(self) -> Reals:
        count = len(self.shapes.shares)
        b, c = np.repeat([0, 1], count), np.tile(np.arange(count), 2)
        found = [each.log_e(b, c, 0.0) for each in self.evidence]
        logs = [np.where(np.isneginf(each), 0.0, each) for each in found]  # nothing is known: 1
        weights = np.log(np.tile(self.shapes.shares, 2) / (2.0 * len(logs)))
        return np.concatenate([each + weights for each in logs])


class _OfPlan:
    """What evidence asks of a plan, of the coefficients of shapes: itself in place of its contrasts."""

    def __init__(self, sample: Sample, x: Reals, columns: Reals, noise: Reals) -> None:
        weights, information, left = weights_of(sample, x, columns)
        self.found, self.contrasts = sample.means @ weights, self
        self.variances, self.degrees = _variances(sample, weights, left, self.found, information)
        if sample.kind == "own":  # the least of those arms, and not Satterthwaite's
            used = np.abs(weights) > 1e-9 * np.abs(weights).max(axis=0, initial=0.0)
            free = np.where(used, sample.counts[:, None] - 1.0, np.inf).min(axis=0, initial=np.inf)
            self.degrees = np.where(np.isfinite(free), np.floor(free), 0.0)
        seemed = self.variances
        if sample.kind != "known":
            seemed = (weights**2 * (noise / sample.counts)[:, None]).sum(axis=0)
        self.information = np.where(information > 0.0, 1.0 / np.maximum(seemed, TINY), 0.0)
        self.off = ROUNDING * np.abs(sample.means).max() * np.abs(weights).sum(axis=0)

    def estimates(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The coefficients, or less than nothing of them, and their information."""
        c = np.minimum(c, len(self.found) - 1)
        return np.where(b == 0, 1.0, -1.0) * self.found[c], self.information[c]

    def rounding(self, b: Integers, c: Integers) -> Reals:
        """Those of averages."""
        return self.off[np.minimum(c, len(self.found) - 1)]

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The variances as the plan shows them."""
        c = np.minimum(c, len(self.found) - 1)
        return self.variances[c], self.degrees[c]


def _only(sample: Sample, some: Mask) -> Sample:
    blocks = None if sample.blocks is None else sample.blocks[some]
    return Sample(
        sample.arms[some],
        sample.counts[some],
        sample.means[some],
        sample.squares[some],
        sample.noise[some],
        sample.kind,
        blocks,
        sample.ranges,
    )


def _by_blocks(sample: Sample, shapes: Shapes, at: Integers, known: Mask) -> Fit:
    """By what each block makes of the shapes, of those blocks that have the most arms in common."""
    assert sample.blocks is not None
    arms, column = np.unique(at[known], return_inverse=True)
    blocks, row = np.unique(sample.blocks[known], return_inverse=True)
    table = np.full((len(blocks), len(arms)), np.nan)
    table[row, column] = sample.means[known]
    has = ~np.isnan(table)
    kinds, of, number = np.unique(has, axis=0, return_inverse=True, return_counts=True)
    best = int(np.argmax((number > 1) * number * kinds.sum(axis=1)))
    each, use = table[of.ravel() == best][:, kinds[best]], arms[kinds[best]]
    nothing = np.zeros(len(use))
    one = Sample(use, nothing + 1.0, nothing, nothing, nothing + 1.0, blocks=nothing.astype(int))
    weights = weights_of(one, shapes.x[use], shapes.columns[use])[0]
    made, degrees = each @ weights, np.full(weights.shape[1], len(each) - 1.0)
    seen = (degrees > 0.0) & weights.any(axis=0)
    off = (ROUNDING * np.abs(each).max()) ** 2 * (weights**2).sum(axis=0)
    errors = np.sqrt((made.var(axis=0) + off) / np.maximum(degrees, 1.0))
    return Fit(made.mean(axis=0), np.where(seen, errors, np.inf), degrees)
