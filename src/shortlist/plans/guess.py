"""What all results say of the arms, and the plan that this suggests. Nothing here enters a proof."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.design import (
    by_chance,
    connected,
    laplacian,
    pair_design,
    rooted,
    rounded,
    whitened,
)
from shortlist.plans.noises import TINY, NoiseModel, Pace, Totals
from shortlist.plans.question import Question
from shortlist.proof.contrasts import per_block

HALF_WIDTH = 0.7  # standard errors: a gap that is not known to be larger is taken for that
NARROWED = 0.5  # the same for plans, in C standard errors
DOUBTFUL = 3.0  # standard errors: pairs further apart are not evaluated for before sets are named
CONTENDER = 4.0  # standard errors: arms further from the best m are not drawn
PRICE = 1.0  # of not knowing the gap, in ln E
LEAST_MISSING = 0.1  # of ln E: a pair that is nearly there is not forgotten
LEAST_INFORMATION = 0.05  # of what a gap is known by: the same for plans
DRAWS = 1000
DEPARTURES = 10  # grid of the variance of departures from linear means
SPARE = 5  # arms beyond the dimensions: with fewer nobody sees that means are not linear


class Results(NamedTuple):
    """Single results, in the order in which they came: what guesses are made from on blocks."""

    arms: Integers
    blocks: Integers
    values: Reals

    @classmethod
    def none(cls) -> Results:
        """No result."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, np.zeros(0))

    def plus(self, arms: Integers, blocks: Integers, values: Reals) -> Results:
        """With more of them."""
        more = zip(self, (arms, blocks, values), strict=True)
        return Results(*(np.concatenate(each) for each in more))


@dataclass(frozen=True, eq=False)
class Fit:
    """Means as results make them.

    Attributes
    ----------
    means : array, K
        The means; on blocks, up to a constant.
    white : array, any × K
        The covariances are WᵀW, plus ``own`` on the diagonal.
    own : array, K
        Variances of what is known of each arm by itself; infinite where nothing is.
    departure : float
        The variance of departures from linear means; infinite where features do not guide.
    null : array, any × K, or None
        Where two arms differ in it, nothing is known of their difference.
    """

    means: Reals
    white: Reals
    own: Reals
    departure: float = math.inf
    null: Reals | None = None

    def variances(self, b: Integers, c: Integers) -> Reals:
        """Of differences of means."""
        apart = self.white[:, b] - self.white[:, c]
        found = (apart**2).sum(axis=0) + self.own[b] + self.own[c]
        return found if self.null is None else np.where(connected(self.null, b, c), found, np.inf)

    @property
    def own_variances(self) -> Reals:
        """Of means."""
        return np.asarray((self.white**2).sum(axis=0) + self.own)


class OpenPairs(NamedTuple):
    """Pairs of a set that have not passed: b inside, c outside.

    ``gaps`` are estimates of μ_b − μ_c + ε, ``variances`` theirs, ``missing`` what ln E lacks: infinite
    where the set was not named.
    """

    b: Integers
    c: Integers
    gaps: Reals
    variances: Reals
    missing: Reals

    def only(self, some: Mask | Integers) -> OpenPairs:
        """Some of the pairs."""
        known = self.gaps[some], self.variances[some], self.missing[some]
        return OpenPairs(self.b[some], self.c[some], *known)


class Guess:
    """Means and variances as all results make them, asked for or not.

    Attributes
    ----------
    question : Question
        What is asked.
    total : Totals
        Of all results.
    x : array, K × rank, or None
        The features that are relied on, in an orthonormal basis; None for arms' own results.
    noise : array, K
        Variances of a result of each arm, as they seem.
    fit : Fit
        The means.
    weights : array, K
        Shares of the last design, which the next one begins with.
    """

    def __init__(self, question: Question, total: Totals, singles: Results) -> None:
        arms = question.arms
        self.question, self.total, self.singles = question, total, singles
        self.weights = np.zeros(arms)
        relies = question.features is not None and question.relies
        self.x = question.basis() if relies else None
        self.fit = Fit(np.full(arms, 0.5), np.zeros((0, arms)), np.full(arms, np.inf))
        self.noise = np.ones(arms) if question.paired else self._variances()

    @property
    def pools(self) -> bool:
        """Whether own results of all plans count together."""
        return self.x is None and self.question.noise.pools and self.question.shared is None

    def add(self, arms: Integers, blocks: Integers | None, values: Reals) -> None:
        """Take results in."""
        self.total = self.total.plus(arms, values)
        if self.question.shared is not None and blocks is not None:
            self.singles = self.singles.plus(arms, blocks, values)

    # What is known

    def _variances(self) -> Reals:
        question, rank = self.question, None if self.x is None else self.x.shape[1]
        return question.noise.variances(self.total, self.fit.means, rank, question.m)

    def look(self) -> None:
        """Variances, and a fit by them, from all results."""
        question, total, x = self.question, self.total, self.x
        if not total.pulls.any():
            return
        if question.shared is not None:
            self._look_within()
        elif x is None:
            pulls, nothing = total.pulls, np.zeros((0, question.arms))
            self.fit = Fit(total.averages, nothing, np.zeros(question.arms))
            self.noise = self._variances()
            own = np.where(pulls > 0, self.noise / np.maximum(pulls, 1), np.inf)
            self.fit = replace(self.fit, own=own)
            if question.features is not None:
                self.fit = nearly_linear(question.basis(), total, self.noise)
        elif np.linalg.matrix_rank(x[total.pulls > 0]) == x.shape[1]:
            for _ in range(2):  # variances by the means, and means by the variances
                white = whitened(x, total.pulls / self.noise)
                means = white.T @ (white @ (total.sums / self.noise))
                self.fit = Fit(means, white, np.zeros(question.arms))
                self.noise = self._variances()

    def _look_within(self) -> None:
        """The same by least squares with a level for every block."""
        question, arms = self.question, self.question.arms
        arm, y = self.singles.arms, self.singles.values
        blocks, block = np.unique(self.singles.blocks, return_inverse=True)
        kind = question.noise
        noise = self._variances() if kind.known else np.ones(arms)
        matrix = laplacian(arm, block, 1.0 / noise[arm], arms)
        y = y - per_block(block, 1.0 / noise[arm], y)[block]
        scores: Reals = np.bincount(arm, y / noise[arm], arms).astype(np.float64)
        relied = question.relied
        white, null = rooted(np.eye(arms) if relied is None else relied, matrix)
        if not kind.known:
            left = float(y @ y - ((white @ scores) ** 2).sum())
            degrees = len(y) - len(blocks) - len(white)
            usual = (max(left, 0.0) + kind.vague) / max(degrees + 4.0 * kind.vague, 1.0)
            usual = max(usual, 1e-9 * float(y @ y) / len(y), 1e-12)
            noise = np.full(arms, usual)
            matrix, white, scores = matrix / usual, white * math.sqrt(usual), scores / usual
        departure = math.inf
        if question.features is not None and relied is None:
            given = question.basis(), matrix, scores, float(noise.mean())
            departure, white, null = nearly_linear_within(*given)
        means = white.T @ (white @ scores)
        means += self.total.sums.sum() / self.total.pulls.sum() - means[question.listable].mean()
        self.noise, self.fit = noise, Fit(means, white, np.zeros(arms), departure, null)

    def unseen(self) -> Mask:
        """Arms of which nothing is known beside the one with most results."""
        ok, arms = self.question.listable, np.arange(self.question.arms)
        if not self.total.pulls[ok].any() or not np.isfinite(self.fit.own).any():
            return ok
        most = np.full(len(ok), np.argmax(np.where(ok, self.total.pulls, -1)))
        lost = ~np.isfinite(self.fit.variances(arms, most))
        return np.asarray(ok & lost & (most != arms))

    def sizes(self, b: Integers, c: Integers) -> Reals:
        """Gaps as they seem to be, for bets on them."""
        errors = np.sqrt(self.fit.variances(b, c))
        gaps = np.abs(self.fit.means[b] - self.fit.means[c]) + self.question.epsilon
        errors = np.where(np.isfinite(errors), errors, 0.0)
        return np.maximum(np.maximum(gaps, HALF_WIDTH * errors), 1e-12)

    def drawn(self, some: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Means of some arms, drawn ``count`` times from a posterior of a flat prior."""
        fit, noise = self.fit, self.question.noise
        found = fit.means[some] + rng.standard_normal((count, len(fit.white))) @ fit.white[:, some]
        if fit.own.any():
            part = Totals(*(each[some] for each in vars(self.total).values()))
            kind = NoiseModel if self.question.shared is not None else type(noise)
            found += kind.errors(noise, part, fit.own[some], count, rng)
        return np.asarray(found)

    def vote(self, inside: Mask, rng: np.random.Generator) -> dict[bytes, float]:
        """The share of draws that speak for each set: for ``inside`` where it is right within ε.

        Else for the m best of the draw. Sets are the bytes of their masks.
        """
        question, means = self.question, self.fit.means
        errors, listable = CONTENDER * np.sqrt(self.fit.own_variances), question.listable
        low = np.sort((means - errors)[listable])[-question.m]
        some = np.flatnonzero(inside | (listable & (means + errors >= low)))
        drawn, held, m = self.drawn(some, DRAWS, rng), inside[some], question.m
        best = np.argpartition(-drawn, m - 1, axis=1)[:, :m]
        lowest = np.take_along_axis(drawn, best, axis=1).min(axis=1)
        right = drawn[:, held].min(axis=1) >= lowest - question.epsilon
        votes = {inside.tobytes(): float(right.mean())}
        for places, number in Counter(map(bytes, np.sort(best[~right], axis=1))).items():
            other = np.zeros(question.arms, np.bool_)
            other[some[np.frombuffer(places, best.dtype)]] = True
            key = other.tobytes()
            votes[key] = votes.get(key, 0.0) + number / DRAWS
        return votes

    # The plan

    def lacking(self, pairs: OpenPairs, missing: Reals | float, width: float) -> Reals:
        """The information for so much ln E, if gaps are as they seem, or ``width`` standard errors."""
        gaps = np.maximum(pairs.gaps, width * np.sqrt(pairs.variances))
        return np.asarray(2.0 * np.maximum(missing, LEAST_MISSING) / gaps**2)

    @property
    def pace(self) -> Pace:
        """How long plans are."""
        noise = self.question.noise if self.question.shared is None else NoiseModel
        return noise.own if self.x is None else noise.linear

    def plan(
        self, pairs: OpenPairs, begun: Integers | None, level: float, rng: np.random.Generator
    ) -> Integers:
        """Some of the evaluations that the pairs lack.

        ``begun`` is how many each arm had when the set was named; None if it was not.
        """
        question, x = self.question, self.x
        noise, costs, used = question.noise, question.costs, question.listable
        counted: Reals = np.zeros(question.arms)
        if begun is None:  # to guess: only pairs in doubt matter
            apart = pairs.gaps / np.sqrt(pairs.variances)
            pairs = pairs.only(apart < max(DOUBTFUL, float(apart.min()) + 0.5))
            level = PRICE - math.log(question.delta)
            missing: Reals | float = level
            # Where means seem so linear that features are what a guess is best made by.
            departs = 2.0 * float(self.fit.own.mean()) < 0.5 * float(pairs.variances.mean())
            if self.fit.departure < math.inf and departs:
                x = question.basis()
        else:
            missing = np.minimum(pairs.missing, level + PRICE)
            if self.pools:
                counted = (self.total.pulls - begun).astype(np.float64)
        needs = self.lacking(pairs, missing, NARROWED * math.sqrt(2.0 * (level + PRICE)))
        needs = np.maximum(needs, LEAST_INFORMATION / pairs.variances)
        variances = self.noise
        if x is None and question.shared is None:
            variances = noise.for_designs(variances, self.total, question.m)
        both = counted / variances
        needs += both[pairs.b] * both[pairs.c] / np.maximum(both[pairs.b] + both[pairs.c], TINY)
        if question.paired and x is None:  # an arm is on as many blocks as its hardest pair needs
            wanted = np.zeros(question.arms)
            for each in (pairs.b, pairs.c):
                np.maximum.at(wanted, each, needs * (variances[pairs.b] + variances[pairs.c]))
        else:
            given = pairs.b, pairs.c, needs, self.weights, used
            self.weights, length = pair_design(x, variances * costs, *given)
            wanted = self.weights * length / costs
        lacks = np.maximum(wanted - counted, 0.0)
        done = lacks[pairs.b] + lacks[pairs.c] <= 0.0
        for each in (pairs.b[done], pairs.c[done]):
            lacks[each] = np.maximum(lacks[each], LEAST_INFORMATION * wanted[each])
        made = float(self.total.pulls @ costs)
        pace, total = self.pace, float(lacks @ costs)
        length = max(pace.shortest * made, min(made, pace.share * total))
        wanted = lacks * (length / total)
        if self.pools and x is None:
            return by_chance(wanted, rng)
        return rounded(x, wanted, noise.few)

    def design_for(self, pairs: OpenPairs, needs: Reals) -> None:
        """Foresee how verification is going to share out evaluations, by arms' own results."""
        if self.x is None:
            question = self.question
            given = self.noise * question.costs, pairs.b, pairs.c, needs, self.weights
            self.weights = pair_design(None, *given, question.listable)[0]

    def length(self, arms: Integers, others: Integers, needs: Reals) -> Reals:
        """About how many results give each arm so much information on the gap to another, row by row.

        ``others`` are places in ``arms``. Of weights half is even: boundaries may move.
        """
        noise, question = self.noise, self.question
        if self.x is None:
            return np.asarray((2.0 * noise[arms] * needs).sum(axis=1))
        used, w = question.listable, self.weights / question.costs
        w = 0.5 * w / max(w.sum(), TINY) + 0.5 * used / used.sum()
        white = whitened(self.x, w / noise)[:, arms]
        apart = [((white - white[:, each]) ** 2).sum(axis=0) for each in others]
        return np.asarray((needs * np.array(apart)).max(axis=1))


def nearly_linear(x: Reals, total: Totals, noise: Reals) -> Fit:
    """Linear means with departures, of the most likely variance of a grid."""
    seen = total.pulls > 0
    own = noise[seen] / total.pulls[seen]
    means = total.averages
    grid = (0.0, *(0.01 * 4.0**power * noise.mean() for power in range(DEPARTURES)))
    if seen.sum() < x.shape[1] + SPARE:  # nearly any means fit: departures are as likely as not
        grid = (float(own.mean()),)
    best = -math.inf
    for each in grid:
        precision = np.zeros(len(x))
        precision[seen] = 1.0 / (own + each)
        white, null = rooted(x, precision)
        fitted = white.T @ (white @ (precision * means))
        likelihood = np.log(precision[seen]) - precision[seen] * (means - fitted)[seen] ** 2
        sizes = np.linalg.eigvalsh((x.T * precision) @ x)
        found = 0.5 * float(likelihood.sum() - np.log(sizes[-len(white) :]).sum())
        found += math.log(0.5 if each == 0.0 else 0.05)
        if found > best:
            best, departure, chosen, linear, unknown = found, float(each), white, fitted, null
    share = np.zeros(len(x))
    share[seen] = departure / (own + departure)
    linear = linear + share * (means - linear)
    white = chosen * (1.0 - share)
    return Fit(
        linear, white, departure * (1.0 - share), departure, unknown if len(unknown) else None
    )


def nearly_linear_within(
    x: Reals, matrix: Reals, scores: Reals, noise: float
) -> tuple[float, Reals, Reals]:
    """The same where results tell only of differences."""
    across, best = np.eye(len(x)) - x @ np.linalg.pinv(x), -math.inf
    for departure in noise * 0.01 * 4.0 ** np.arange(-2.0, 10.0):
        together = matrix + across / departure
        white, null = rooted(np.eye(len(x)), together)
        sizes = np.linalg.eigvalsh(together)
        likelihood = -(np.trace(across) * math.log(departure))
        likelihood -= np.log(sizes[sizes > 1e-9 * sizes[-1]]).sum()
        found = 0.5 * float(likelihood + ((white @ scores) ** 2).sum())
        if found > best:
            best, chosen = found, (float(departure), white, null)
    return chosen
