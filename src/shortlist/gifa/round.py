"""One round of Algorithm 1 of the paper, for some runs at once: J(t), b_t, c_t, the stop, a_t."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.engine.contract import Setup
from shortlist.engine.fits import Fits, Rows
from shortlist.engine.seeds import Words, priorities
from shortlist.gifa.lingame import Game
from shortlist.gifa.rules import Pairs, Rule, individual, mask_of, paired, smallest_gap, values_of

# Relative: two gap indices that differ by less are told apart by computing them in full.
NEAR = 1e-9
SORTED_UP_TO = 64  # arms: sorting is as fast as finding the m largest
# The first, added to C and taken away again, leaves multiples of the other.
COARSE, GRAIN = 2.0**20, 2.0**-32
EVERY_PAIR_UP_TO = 150  # arms: with more, gap indices that cannot matter are left out
FIRST_TRIED = 64  # arms of largest upper bound, to find out which others may be challengers
# Which of the choices of a round a tie is in, so that ties are broken independently.
FOR_CANDIDATES, FOR_AMBIGUOUS, FOR_CHALLENGER, FOR_SELECTION = range(4)


def largest(
    values: Reals, seeds: Words, t: int, purpose: int, arms: Integers
) -> tuple[Integers, Reals]:
    """The place of the largest value of every row, and the value.

    Ties are broken by priority of the ``arms`` at these places.

    Examples
    --------
    >>> seeds = np.zeros(2, np.uint64)
    >>> values = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 2.0]])
    >>> [each.tolist() for each in largest(values, seeds, 0, 0, np.arange(3))]
    [[1, 0], [3.0, 5.0]]
    """
    best = values.argmax(axis=1)
    most = at_places(values, best)
    tied = values == most[:, None]
    if np.count_nonzero(tied) > len(values):
        some = np.flatnonzero(np.count_nonzero(tied, axis=1) > 1)
        labels = np.broadcast_to(arms, values.shape)[some]
        ranks = priorities(seeds[some], t, purpose, labels)
        best[some] = np.where(tied[some], ranks, np.uint64(0)).argmax(axis=1)
    return best, most


def at_places(values: Any, places: Integers) -> Any:
    """One value of every row.

    Examples
    --------
    >>> at_places(np.array([[1.0, 3.0], [5.0, 1.0]]), np.array([1, 0])).tolist()
    [3.0, 5.0]
    """
    rows, length = values.shape
    return values.reshape(-1).take(np.arange(0, rows * length, length) + places)


def mth_largest(values: Reals, m: int) -> Reals:
    """The m-th largest value of every row.

    Examples
    --------
    >>> mth_largest(np.array([[1.0, 3.0, 2.0]]), 2).tolist()
    [2.0]
    """
    place = values.shape[-1] - m
    if values.shape[-1] <= SORTED_UP_TO:
        return np.asarray(np.sort(values, axis=-1)[..., place])
    return np.asarray(np.partition(values, place, axis=-1)[..., place])


def best_of(values: Reals, m: int, seeds: Words, t: int) -> Mask:
    """Which are the m largest values of every row; ties by priority.

    Examples
    --------
    >>> best_of(np.array([[1.0, 3.0, 2.0]]), 2, np.zeros(1, np.uint64), 0).tolist()
    [[False, True, True]]
    """
    arms = values.shape[1]
    inside = values >= mth_largest(values, m)[:, None]
    if np.count_nonzero(inside) > len(values) * m:
        some = np.flatnonzero(np.count_nonzero(inside, axis=1) > m)
        ranks = priorities(seeds[some], t, FOR_CANDIDATES, np.arange(arms)[None, :])
        order = np.lexsort((~ranks, -values[some]), axis=1)
        inside[some] = False
        inside[some[:, None], order[:, :m]] = True
    return np.asarray(inside)


class DesignTable:
    """|w*| of every pair, each made when it is first asked for: K × K × K, NaN until then."""

    def __init__(self, design: Callable[[int, int], Reals], arms: int) -> None:
        self._design, self.table = design, np.full((arms, arms, arms), np.nan)

    def add(self, b: int, c: int) -> None:
        """Make the design of a pair, which is the same both ways."""
        self.table[b, c] = self.table[c, b] = self._design(b, c)

    def of(self, b: Integers, c: Integers) -> Reals:
        """Those of some pairs, a row each."""
        for k in np.flatnonzero(np.isnan(self.table[b, c, 0])).tolist():
            self.add(int(b[k]), int(c[k]))
        return np.asarray(self.table[b, c])


@dataclass(frozen=True, eq=False)
class Recipe:
    """An algorithm on its problem: what does not change from round to round."""

    setup: Setup
    rules: dict[str, Rule]
    threshold: Callable[[int, Reals], Reals]  # (t, ln det of every run) → C
    design: Callable[[int, int], Reals]  # (b, c) → |w*|
    as_published: bool = False  # whether LinGame is that of the published runs

    @property
    def stops_late(self) -> bool:
        """Whether the stop reads the pair of the round before."""
        return "lagged" in self.rules["stopping"].traits

    @property
    def pulls_both(self) -> bool:
        """Whether a round pulls b_t and then c_t."""
        return "pulls_both" in self.rules["selection"].traits

    @property
    def allocates(self) -> bool:
        """Whether pulls follow an allocation."""
        return "allocation" in self.rules["selection"].traits

    @cached_property
    def has_own(self) -> bool:
        """Whether a rule is the user's own, and may read whatever a round has."""
        return any(each.is_own for each in self.rules.values())

    @property
    def asks_of_all(self) -> bool:
        """Whether a rule of the user's own may read the m-th gaps of all arms."""
        return any(each.is_own and "mth_gaps" in each.needs for each in self.rules.values())

    @cached_property
    def may_stay(self) -> bool:
        """Whether J(t) may be kept on the word of its own m-th gaps, the others' left unknown."""
        by_gaps = self.rules["candidates"] is smallest_gap
        return by_gaps and self.rules["indices"] is paired and not self.asks_of_all

    @property
    def keeps_designs(self) -> bool:
        """Whether arms are few enough for a table of the designs of all pairs."""
        return len(self.setup.features) <= EVERY_PAIR_UP_TO

    @cached_property
    def designs(self) -> DesignTable:
        """The designs of pairs, kept as they are made."""
        return DesignTable(self.design, len(self.setup.features))

    @cached_property
    def prunes(self) -> bool:
        """Whether U_i − L_j bounds B_ij, and B_ij = B_ji + 2(μ̂_i − μ̂_j)."""
        return self.rules["indices"] in (paired, individual)

    def scale(self, fits: Fits) -> Reals:
        """Cσ of every run."""
        scale = self.coarse(fits.observed, fits.log_det) * self.setup.sigma
        return scale if scale.ndim else np.full(len(fits), scale)

    def coarse(self, observed: int, log_det: Reals) -> Reals:
        """C to nine digits after the point, rounded up: the order of sums in ln det decides nothing."""
        C = self.threshold_at(observed, log_det)
        return np.asarray((C + COARSE) - COARSE + GRAIN, np.float64)

    def threshold_at(self, observed: int, log_det: Reals) -> Reals:
        """C_{t,δ}: at t after initial pulls, at t + 1 without them (as in the published runs)."""
        return self.threshold(observed + (len(self.setup.initial) == 0), log_det)


class Decided(NamedTuple):
    """What a round decided, for every run."""

    stop: Mask
    inside: Mask
    b: Integers
    c: Integers
    arm: Integers
    gap: Reals
    statistic: Reals
    threshold: Reals

    def among(self, runs: Mask) -> Decided:
        """That of some of the runs."""
        return Decided._make(each[runs] for each in self)


class Memory:
    """What runs remember from one round to the next."""

    def __init__(self, recipe: Recipe, runs: int) -> None:
        self.last: Decided | None = None
        self.game = Game(recipe.setup, runs, recipe.as_published) if recipe.allocates else None

    def keep(self, runs: Mask) -> None:
        """Keep some of the runs."""
        if self.last is not None:
            self.last = self.last.among(runs)
        if self.game is not None:
            self.game = self.game.among(runs)

    def copy(self) -> Memory:
        """An independent copy."""
        twin = object.__new__(Memory)
        twin.last = self.last
        every = None if self.game is None else np.ones(len(self.game.shared), np.bool_)
        twin.game = None if self.game is None else self.game.among(cast(Mask, every))
        return twin


class Round:
    """What the rules of a round read; arrays have a row for each run.

    Attributes
    ----------
    m, sigma, epsilon : int, float, float
        Those of the problem.
    noise : array, K
        (σ_a/σ)².
    t : int
        How many results every run has.
    means, variances, pulls : array, runs × K
        μ̂_a, ‖x_a‖² in V⁻¹, N_a.
    scale : array, runs
        Cσ.
    inside : array of bool, runs × K
        J(t), once it is chosen; ``candidates`` lists it, runs × m.
    b, c, gap : array, runs
        The ambiguous pair and B_cb, once they are chosen.
    """

    inside: Mask
    candidates: Integers
    b: Integers
    c: Integers
    gap: Reals

    def __init__(self, recipe: Recipe, fits: Fits, seeds: Words, memory: Memory) -> None:
        setup = recipe.setup
        self.recipe, self.fits, self.seeds, self._memory = recipe, fits, seeds, memory
        self.m, self.sigma, self.epsilon, self.noise = (
            setup.m,
            setup.sigma,
            setup.epsilon,
            setup.noise,
        )
        self.t, self.means, self.variances, self.pulls = (
            fits.observed, fits.means, fits.variances, fits.pulls
        )  # fmt: skip
        self.scale = recipe.scale(fits)
        self.runs, self.arms = fits.runs, fits.means.shape[1]

    def __len__(self) -> int:
        return len(self.fits)

    # What rules read

    @property
    def in_pair(self) -> Mask:
        """Which arms are b_t or c_t."""
        return mask_of(self.b, self.arms) | mask_of(self.c, self.arms)

    def marked(self, arms: Integers) -> Reals:
        """1 for one arm of each run, 0 for the others."""
        return mask_of(arms, self.arms).astype(np.float64)

    def row(self, arms: Integers) -> Reals:
        """One row of G = X V⁻¹ Xᵀ for each run."""
        return self.fits.rows(arms)

    def of_candidates(self, values: Reals) -> Reals:
        """The values of the candidates, runs × m."""
        return np.asarray(values.reshape(-1)[self.fits.places(self.candidates)].reshape(-1, self.m))

    @property
    def design(self) -> Reals:
        """|w*(b, c)|, with a sum of 1."""
        if self.recipe.keeps_designs:
            return self.recipe.designs.of(self.b, self.c)
        pairs = zip(self.b.tolist(), self.c.tolist(), strict=True)
        return np.stack([self.recipe.design(b, c) for b, c in pairs])

    @cached_property
    def wanted(self) -> Reals:
        """How many pulls of each arm the allocation asks for."""
        game = self._memory.game
        assert game is not None
        return game.wanted(self.fits, self.inside, self.epsilon)

    @cached_property
    def mth_gaps(self) -> Reals:
        """The m-th largest B_ij over i ≠ j; ∞ for arms that cannot be candidates, where no rule asks."""
        last = self._memory.last
        if last is None or not self.recipe.may_stay:
            return self._all_mth_gaps()
        found, may = self._mth_gaps_of_last(last.inside)
        runs, js = np.nonzero(may)
        if len(runs) and not self._few:
            return self._all_mth_gaps()
        if len(runs):
            B = self._columns_of(runs, js, self.fits.rows_of(runs, js))
            B[np.arange(len(js)), js] = -np.inf
            found[runs, js] = mth_largest(B, self.m)
        return found

    @cached_property
    def outside_gaps(self) -> Reals:
        """max_{i∉J} B_ij of every candidate j, runs × m."""
        B = self._outside[0]
        rows = B.reshape(-1, B.shape[2])
        return at_places(rows, rows.argmax(axis=1)).reshape(B.shape[:2])

    # Gap indices

    def index(self, i: Integers, j: Integers) -> Reals:
        """B_ij of one pair of each run."""
        runs, (means, variances) = self.runs, (self.means, self.variances)
        pairs = Pairs(
            means[runs, i], means[runs, j], variances[runs, i], variances[runs, j],
            self.fits.rows(j)[runs, i], self.scale, self.fits.floor,
        )  # fmt: skip
        return values_of(self.recipe.rules["indices"], pairs, i.shape)

    def columns(self, js: Integers) -> Reals:
        """B_ij of all arms i: runs × js × K, of js in every run."""
        runs = self.runs.repeat(js.shape[1])
        B = self._columns_of(runs, js.reshape(-1), self._covariances(js))
        return B.reshape(*js.shape, self.arms)

    def _columns_of(self, runs: Integers, js: Integers, covariances: Reals) -> Reals:
        """B_ij of all arms i, a row for each run and j: few loops, and long ones."""
        at = runs * self.arms + js
        pairs = Pairs(
            self.means.take(runs, axis=0), self.means.reshape(-1).take(at)[:, None],
            self.variances.take(runs, axis=0), self.variances.reshape(-1).take(at)[:, None],
            covariances, self.scale.take(runs)[:, None], self.fits.floor,
        )  # fmt: skip
        return values_of(self.recipe.rules["indices"], pairs, (len(js), self.arms))

    def _covariances(self, js: Integers) -> Reals:
        """The rows of G that an index rule reads; none for arms that are bounded alone."""
        if self.recipe.rules["indices"] is individual:
            return np.zeros((1, 1))
        if js.shape[1] == self.arms and hasattr(self.fits, "G"):
            return cast(Reals, self.fits.G).reshape(-1, self.arms)  # js are all arms in order
        return self.fits.rows(js).reshape(-1, self.arms)

    def among(self, js: Integers, others: Integers) -> Reals:
        """B_ij of some arms i against some js, js × i, where there is one run."""
        means, variances, fits = self.means[0], self.variances[0], self.fits
        if isinstance(fits, Rows):
            X = fits.features
            covariances = (X[js] @ fits.inverse[0]) @ X[others].T
        else:
            covariances = fits.rows(js[None, :])[0][:, others]
        pairs = Pairs(
            means[others], means[js][:, None], variances[others], variances[js][:, None],
            covariances, self.scale[0], fits.floor,
        )  # fmt: skip
        return cast(Reals, self.recipe.rules["indices"](pairs))

    @property
    def _few(self) -> bool:
        """Whether all gap indices are computed: arms are few, or nothing bounds these."""
        return not self.recipe.prunes or self.arms <= EVERY_PAIR_UP_TO or len(self) > 1

    def _ends(self) -> tuple[Reals, Reals]:
        """U and L of every arm, bounded alone: B_ij ≤ U_i − L_j."""
        half = self.scale[:, None] * np.sqrt(np.maximum(self.variances, 0.0))
        return self.means + half, self.means - half

    @cached_property
    def _outside(self) -> tuple[Reals, Integers]:
        """B of possible challengers i of all candidates j, runs × m × i, and which arms these are."""
        return self.outside(self.candidates)

    def outside(self, js: Integers) -> tuple[Reals, Integers]:
        """B of possible challengers i of some js, −∞ for candidates, and which arms these are.

        The package's rules read the largest of all only, rules of the user's own that of every j.
        """
        if self._few or self.recipe.rules["indices"] is individual:
            B = self.columns(js)
            B += np.where(self.inside, -np.inf, 0.0)[:, None, :]
            return B, np.arange(self.arms)
        upper, lower = (each[0] for each in self._ends())
        upper = np.where(self.inside[0], -np.inf, upper)
        tried = min(FIRST_TRIED, self.arms - self.m)
        some = np.argpartition(upper, -tried)[-tried:]
        most = self.among(js[0], some).max(axis=1)  # the largest of each j is no smaller
        least = most.min() if self.recipe.has_own else most.max()
        near = NEAR * (abs(least) + float((upper - lower)[some].max()))
        arms = np.flatnonzero(upper - lower[js[0]].min() >= least - near)
        return self.among(js[0], arms)[None], arms

    # m-th gaps

    def _all_mth_gaps(self) -> Reals:
        K, m = self.arms, self.m
        if self.recipe.rules["indices"] is individual:
            # B_ij = U_i − L_j: the m-th largest U of the others is one of two.
            upper, lower = self._ends()
            order = np.partition(upper, (K - m - 1, K - m), axis=1)
            mth, after = order[:, K - m, None], order[:, K - m - 1, None]
            return np.where(upper >= mth, after, mth) - lower
        if not self._few:
            if self.recipe.may_stay:
                return self._mth_gaps_that_matter()
            arms, found = np.arange(K), np.full(K, np.inf)
            is_first = not hasattr(self, "candidates")  # asked before J(t) is chosen
            js = arms if is_first or self.recipe.asks_of_all else self.candidates[0]
            found[js] = self._mth_among(js, arms)
            return found[None]
        B = np.array(self.columns(np.broadcast_to(np.arange(K), (len(self), K))))
        B[:, np.arange(K), np.arange(K)] = -np.inf
        return mth_largest(B, m)

    def _mth_gaps_of_last(self, inside: Mask) -> tuple[Reals, Mask]:
        """The m-th gaps of the last candidates, ∞ for others; and which of these may be smaller.

        The m-th largest B_ij of another arm j is at least the smallest B_ij over the m candidates i. As
        widths are symmetric, B_ij = B_ji + 2(μ̂_i − μ̂_j), which costs no new column.
        """
        m, means = self.m, self.means
        J = np.nonzero(inside)[1].reshape(len(self), m)
        B = np.array(self.columns(J))
        bound = (B + 2.0 * (means[self.runs[:, None], J][:, :, None] - means[:, None, :])).min(
            axis=1
        )
        B[self.runs[:, None], np.arange(m), J] = -np.inf
        mth = mth_largest(B, m)
        worst = mth.max(axis=1)[:, None]
        apart = bound - worst > NEAR * (np.abs(bound) + np.abs(worst) + np.abs(means))
        found = np.full(means.shape, np.inf)
        found[self.runs[:, None], J] = mth
        return found, ~(apart | inside)

    def _mth_gaps_that_matter(self) -> Reals:
        """The m-th gaps of one run: exact for arms that may be candidates, ∞ for the others.

        The m-th largest B_ij over a few arms i is a lower bound. Those of largest U are tried, more and more
        of them against fewer and fewer arms j, until no arm is left out that could be larger.
        """
        K, m, last = self.arms, self.m, self._memory.last
        upper, lower = (each[0] for each in self._ends())
        near = NEAR * float((upper - lower).max() + np.abs(self.means).max())
        found, worst = np.full(K, np.inf), np.inf
        guess = (
            np.argpartition(-self.means[0], m)[:m]
            if last is None
            else np.flatnonzero(last.inside[0])
        )
        high, ordered = np.zeros(0, np.int64), 0
        for js in (guess, np.setdiff1d(np.arange(K), guess)):
            tried = min(2 * m + 6, K)
            while len(js):
                if tried > ordered:
                    ordered = min(max(tried, 256), K)
                    high = np.argpartition(-upper, ordered - 1)[:ordered]
                    high = high[np.argsort(-upper[high], kind="stable")]
                value = self._mth_among(js, high[:tried])
                left = -np.inf
                if tried < K:
                    left = upper[high[tried]] if tried < ordered else upper[high[-1]]
                may = value <= worst + near
                js, value = js[may], value[may]
                known = (
                    left - lower[js] <= value - near if tried < K else np.ones(len(js), np.bool_)
                )
                found[js[known]], js = value[known], js[~known]
                tried = min(4 * tried, K)
            worst = float(found[guess].max())
        return found[None]

    def _mth_among(self, js: Integers, others: Integers) -> Reals:
        """The m-th largest B_ij of every j over some arms i ≠ j, block by block."""
        found, step = np.empty(len(js)), max(1, 2**16 // len(others))
        place = np.full(self.arms, -1)
        place[others] = np.arange(len(others))
        for first in range(0, len(js), step):
            block = js[first : first + step]
            B = self.among(block, others)
            own = np.flatnonzero(place[block] >= 0)
            B[own, place[block[own]]] = -np.inf
            found[first : first + step] = np.partition(B, -self.m, axis=1)[:, -self.m]
        return found


def decide(
    recipe: Recipe, fits: Fits, seeds: Words, memory: Memory, *, stops: bool = True
) -> Decided:
    """One round of every run, up to the pull; ``memory`` is brought up to date."""
    rules, m, runs = recipe.rules, recipe.setup.m, fits.runs
    now, last = Round(recipe, fits, seeds, memory), memory.last
    late = np.zeros(len(fits), np.bool_) if recipe.stops_late else None
    if late is not None and last is not None:
        # As published, the stop is tested before the next pair is chosen: on the pair of the round before,
        # by the results that came since.
        now.inside, now.b, now.c, now.gap = last.inside, last.b, last.c, now.index(last.c, last.b)
        before = values_of(rules["stopping"], now, (len(fits),))
        late = stops & (before <= now.epsilon)
        late_gap = now.gap

    # J(t)
    every = (len(fits), now.arms)
    now.inside = best_of(values_of(rules["candidates"], now, every), m, seeds, now.t)
    now.candidates = np.nonzero(now.inside)[1].reshape(len(fits), m)

    # b_t, and its challenger c_t
    doubts = values_of(rules["ambiguous"], now, (len(fits), m))
    place, _ = largest(doubts, seeds, now.t, FOR_AMBIGUOUS, now.candidates)
    now.b = at_places(now.candidates, place)
    if "_outside" in vars(now):
        gaps, others = now._outside[0][runs, place], now._outside[1]
    else:
        found, others = now.outside(now.b[:, None])
        gaps = found[:, 0]
    challenger, now.gap = largest(gaps, seeds, now.t, FOR_CHALLENGER, others)
    now.c = others.take(challenger)

    # The stop
    if late is not None:
        statistic, stop = now.gap if last is None else before, late
        if late.any():
            assert last is not None
            now.inside = np.where(late[:, None], last.inside, now.inside)
            now.b, now.c = np.where(late, last.b, now.b), np.where(late, last.c, now.c)
            now.gap = np.where(late, late_gap, now.gap)
    else:
        statistic = values_of(rules["stopping"], now, (len(fits),))
        stop = np.asarray(stops & (statistic <= now.epsilon))

    # a_t
    arm = now.b
    if not stop.all():
        scores = values_of(rules["selection"], now, every)
        arm, _ = largest(scores, seeds, now.t, FOR_SELECTION, np.arange(now.arms))
    C = now.scale / now.sigma
    memory.last = Decided(stop, now.inside, now.b, now.c, arm, now.gap, np.asarray(statistic), C)
    return memory.last
