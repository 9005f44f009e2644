"""The rounds of ``gifa.simulated`` compiled by Numba, with the same pulls: the extra ``fast``.

It is optional: only comparisons load it, and only where every rule is one of this package's. The arithmetic is
that of ``gifa.round`` and ``engine.fits``, operation by operation, so that rounding and ties are the same too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from shortlist.arrays import Integers, Mask, Reals
from shortlist.engine.fits import STEEPEST, Diagonal, Fits, Whole
from shortlist.engine.rewards import Coins, Normal, Recorded, Rewards
from shortlist.engine.seeds import Words
from shortlist.gifa.round import COARSE, GRAIN, NEAR, Memory, Recipe
from shortlist.gifa.thresholds import BUILT_IN, INFLATION, Computed, self_normalized

# These constants of other files are compiled in, and what Numba keeps is not made anew when only those files
# change: no guarantee may rest on them.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}  # no test of divisions for 0
INLINED = {**OPTIONS, "inline": "always"}
GOLDEN, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)
TWICE = np.uint64(2 * 0x9E3779B97F4A7C15 % 2**64)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)
SELECTIONS = ("largest_variance", "greedy", "optimized", "both_arms")
LARGEST_VARIANCE, GREEDY, OPTIMIZED, BOTH_ARMS = range(4)
STOPS, (LUCB, UGAPE, LAGGED) = ("lucb", "ugape", "lucb_lagged"), range(3)
REWARDS, (NORMAL, COINS, RECORDED) = (Normal, Coins, Recorded), range(3)
STOPPED, USED_UP, TO_REFRESH, TO_DESIGN = range(4)  # why the rounds of a run end


@njit(**OPTIONS)
def mix(z):
    """``seeds.mix``."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@njit(**OPTIONS)
def before(x, i, y, j, key):
    """Whether arm i, of value x, comes before arm j, of value y: the larger; then by priority."""
    if x != y:
        return x > y
    whole = mix(key)
    return mix(whole + (np.uint64(i) + ONE) * GOLDEN) > mix(whole + (np.uint64(j) + ONE) * GOLDEN)


@njit(**OPTIONS)
def best_of(values, sign, key, best):
    """Put the arms of largest ``sign`` times value into ``best``, in order."""
    m, found = len(best), 0
    for i in range(len(values)):
        x = sign * values[i]
        if found == m and not before(x, i, sign * values[best[m - 1]], best[m - 1], key):
            continue
        k = found if found < m else m - 1
        while k > 0 and before(x, i, sign * values[best[k - 1]], best[k - 1], key):
            best[k] = best[k - 1]
            k -= 1
        best[k] = i
        found = min(found + 1, m)


@njit(**OPTIONS)
def columns(B, J, means, variances, roots, G, scale, floor, alone):
    """B_ij of all arms i ≠ j, −∞ for i = j: a row for each j of J."""
    for place in range(len(J)):
        j = J[place]
        mean, variance, root = means[j], variances[j], roots[j]
        if alone:
            for i in range(len(means)):
                B[place, i] = (means[i] + scale * roots[i]) - (mean - scale * root)
        else:
            related = len(G) > 0
            for i in range(len(means)):
                both = variances[i] + variance
                apart = both - 2.0 * G[j, i] if related else both
                square = max(max(apart, floor * both), 0.0)
                B[place, i] = math.sqrt(square) * scale + (means[i] - mean)
        B[place, j] = -np.inf


@njit(**INLINED)
def mth_largest(values, kept):
    """The m-th largest value, m being the length of ``kept``."""
    m = len(kept)
    kept[:] = -np.inf
    for x in values:
        if x > kept[m - 1]:
            k = m - 1
            while k > 0 and kept[k - 1] < x:
                kept[k] = kept[k - 1]
                k -= 1
            kept[k] = x
    return kept[m - 1]


@njit(**INLINED)
def mth_gaps_alone(mth, means, roots, scale, kept):
    """The m-th gaps of arms that are bounded alone, U of another arm less L of its own."""
    for i in range(len(means)):
        mth[i] = means[i] + scale * roots[i]
    after = mth_largest(mth, kept)  # kept has m + 1 places
    value = kept[len(kept) - 2]
    for i in range(len(means)):
        mth[i] = (after if mth[i] >= value else value) - (means[i] - scale * roots[i])


@njit(**INLINED)
def mth_gaps(mth, B, J, means, variances, roots, G, scale, floor, kept, one, smallest):
    """The m-th gaps of the last candidates J and of all arms that may be better, ∞ for the others."""
    m, worst = len(J), -np.inf
    mth[:] = np.inf
    for place in range(m):
        mth[J[place]] = mth_largest(B[place], kept)
        worst = max(worst, mth[J[place]])
    for i in range(len(means) if smallest else 0):
        bound = np.inf
        for place in range(m):  # B_ji, of B_ij
            bound = min(bound, B[place, i] + 2.0 * (means[J[place]] - means[i]))
        if mth[i] == np.inf and bound - worst <= NEAR * (abs(bound) + abs(worst) + abs(means[i])):
            one[0] = i
            columns(B[m:], one, means, variances, roots, G, scale, floor, False)
            mth[i] = mth_largest(B[m], kept)


@njit(**OPTIONS)
def rounds(
    law, seed, t, now, draws, C, pulls, sums, means, variances, G, log_det, shifted, J, pair
):  # fmt: skip
    """Rounds of one run from draw ``now`` on: after how many pulls they ended, and why.

    G is empty where nothing relates the arms. J are the candidates, and ``pair`` is b, c, 1 while c is still to
    be pulled, and of which b and c a design is missing.

    One long function: arrays that are passed to another are counted as references each time.
    """
    (
        smallest, by_mth, alone, selection, stop, kind, tracks, m, epsilon, sigma, floor, regularization, shift,
        level, inflation, noise, features, table, designs,
    ) = law  # fmt: skip
    K, N, related, by_time = len(means), len(shifted), len(G) > 0, len(C) > 0
    reads_mth = smallest or by_mth or stop == UGAPE
    B, roots, mth, kept = np.empty((m + 1, K)), np.zeros(K), np.empty(K), np.empty(m + alone)
    k, w, v, one = np.empty(K), np.empty(N), np.empty(N), np.empty(1, np.int64)
    b, c, waits, why = pair[0], pair[1], pair[2], USED_UP
    while now < len(draws):
        if waits:
            arm, waits = c, 0
        else:
            key = seed + GOLDEN * np.uint64(4 * (t + now) + 1)
            if by_time:
                scale = C[now] * sigma
            else:
                scale = math.sqrt(2.0 * (1.0 + inflation) * (level + 0.5 * log_det[0]))
                scale = ((scale + COARSE) - COARSE + GRAIN) * sigma
            if alone:
                for i in range(K):
                    roots[i] = math.sqrt(max(variances[i], 0.0))
            if stop == LAGGED:
                one[0] = b
                columns(B, one, means, variances, roots, G, scale, floor, alone)
                if B[0, c] <= epsilon:
                    why = STOPPED
                    break

            # J(t)
            if not smallest:
                best_of(means, 1.0, key, J)
            columns(B, J, means, variances, roots, G, scale, floor, alone)
            if reads_mth and alone:
                mth_gaps_alone(mth, means, roots, scale, kept)
            elif reads_mth:
                mth_gaps(mth, B, J, means, variances, roots, G, scale, floor, kept, one, smallest)
            if smallest:
                best_of(mth, -1.0, key, J)
                columns(B, J, means, variances, roots, G, scale, floor, alone)
            for place in range(m):
                for other in range(m):
                    B[place, J[other]] = -np.inf

            # b_t, and its challenger c_t
            at, most = 0, -np.inf
            for place in range(m):
                x = mth[J[place]]
                if not by_mth:
                    x = B[place, 0]
                    for i in range(1, K):
                        x = max(x, B[place, i])
                if place == 0 or before(x, J[place], most, J[at], key + GOLDEN):
                    at, most = place, x
            next_b, next_c, gap = J[at], -1, -np.inf
            for i in range(K):
                x = B[at, i]
                if x > -np.inf and (next_c < 0 or before(x, i, gap, next_c, key + TWICE)):
                    next_c, gap = i, x

            statistic = gap
            if stop == UGAPE:
                statistic = mth[J].max()
            if stop != LAGGED and statistic <= epsilon:
                why = STOPPED
                break
            if selection == OPTIMIZED and math.isnan(designs[next_b, next_c, 0]):
                pair[3], pair[4] = next_b, next_c
                why = TO_DESIGN
                break

            # a_t
            b, c, waits = next_b, next_c, int(selection == BOTH_ARMS)
            arm, most = b, -np.inf
            last = key + TWICE + GOLDEN
            if selection == LARGEST_VARIANCE and before(variances[c], c, variances[b], b, last):
                arm = c
            elif selection == GREEDY:
                for i in range(K):
                    y = G[b, i] - G[c, i] if related else variances[i] * (i in (b, c))
                    x = y * y / (noise[i] + variances[i])
                    if i == 0 or before(x, i, most, arm, last):
                        arm, most = i, x
            elif selection == OPTIMIZED:
                for i in range(K):
                    if designs[b, c, i] > 0.0:
                        x = -pulls[i] / designs[b, c, i]
                        if most == -np.inf or before(x, i, most, arm, last):
                            arm, most = i, x

        # The result, as in Fits.observe
        if kind == NORMAL:
            value = table[0, arm] + table[1, arm] * draws[now]
        elif kind == COINS:
            value = 1.0 if draws[now] < table[0, arm] else 0.0
        else:
            value = table[int(draws[now] * len(table)), arm]
        now += 1
        pulls[arm] += 1
        sums[arm] += value
        if related:
            growth = noise[arm] + G[arm, arm]
            root = math.sqrt(max(growth, noise[arm]))
            change = (value - means[arm]) / root
            for i in range(K):
                k[i] = G[arm, i] / root
                means[i] += k[i] * change
                variances[i] -= k[i] * k[i]
            for j in range(K):
                x = k[j]
                for i in range(K):
                    G[j, i] -= x * k[i]
        else:
            growth = noise[arm] + variances[arm]
            counted = regularization + pulls[arm] / noise[arm]
            variances[arm] = 1.0 / counted
            means[arm] = sums[arm] / noise[arm] / counted
        if shift > 0.0:
            grown = growth
            if N:
                grown = 0.0
                for j in range(N):
                    w[j] = 0.0
                    for i in range(N):
                        w[j] += shifted[j, i] * features[arm, i]
                    grown += features[arm, j] * w[j]
                grown += noise[arm]
                for j in range(N):
                    v[j] = w[j] / grown
                for j in range(N):
                    x = w[j]
                    for i in range(N):
                        shifted[j, i] -= x * v[i]
            elif tracks:
                grown = noise[arm] + 1.0 / (shift + (pulls[arm] - 1) / noise[arm])
            log_det[0] += math.log(max(grown, noise[arm]) / noise[arm])
        if not (growth >= noise[arm] and growth <= STEEPEST * noise[arm]):
            why = TO_REFRESH
            break
    pair[0], pair[1], pair[2] = b, c, waits
    return now, why


def serves(recipe: Recipe, fits: Fits, rewards: Rewards) -> bool:
    """Whether it can make the rounds of these runs."""
    rules, threshold = recipe.rules, recipe.threshold
    if recipe.allocates or any(rule.is_own for rule in rules.values()):
        return False
    if rules["selection"].name == "optimized" and not recipe.keeps_designs:
        return False
    is_known = isinstance(threshold, Computed) and threshold.rule in BUILT_IN
    return is_known and isinstance(fits, Whole | Diagonal) and type(rewards) in REWARDS


def law_of(recipe: Recipe, fits: Fits, rewards: Rewards) -> tuple[Any, ...]:
    """What all runs share, as ``rounds`` takes it."""
    setup, rules = recipe.setup, {kind: rule.name for kind, rule in recipe.rules.items()}
    numbers = setup.epsilon, setup.sigma, fits.floor, fits.regularization, fits.shift
    return (
        int(rules["candidates"] == "smallest_gap"),
        int(rules["ambiguous"] == "mth_gap"),
        int(rules["indices"] == "individual"),
        SELECTIONS.index(rules["selection"]),
        STOPS.index(rules["stopping"]),
        REWARDS.index(type(rewards)),
        int(fits.tracks),
        setup.m,
        *map(float, numbers),
        math.log(1.0 / recipe.threshold.known.delta),  # type: ignore[attr-defined]
        INFLATION,
        fits.noise,
        fits.features,
        np.vstack(list(vars(rewards).values())).astype(np.float64, order="C"),  # of results
        recipe.designs.table if rules["selection"] == "optimized" else np.empty((0, 0, 0)),
    )


def advance(
    recipe: Recipe, law: tuple[Any, ...], fits: Fits, seeds: Words, memory: Memory, draws: Reals
) -> tuple[Integers, bool]:
    """Rounds of all runs while there are draws, a row for each run; ``fits`` and ``memory`` change.

    Returns after how many pulls every run stopped, −1 where it did not, and whether c is still to be pulled.
    """
    runs, size, last, threshold = len(fits), draws.shape[1], memory.last, recipe.threshold
    assert last is not None
    by_time = 0 if threshold.rule is self_normalized else size  # type: ignore[attr-defined]
    now = fits.observed + (len(recipe.setup.initial) == 0)  # as in ``Recipe.threshold_at``
    C = (threshold.by_time(range(now, now + by_time)) + COARSE) - COARSE + GRAIN  # type: ignore[attr-defined]
    J, pair = np.nonzero(last.inside)[1].reshape(runs, -1), np.zeros((runs, 5), np.int64)
    pair[:, 0], pair[:, 1] = last.b, last.c
    G = fits.G if isinstance(fits, Whole) else np.empty((runs, 0, 0))
    arrays = (
        fits.pulls, fits.sums, fits.means, fits.variances, G, fits.log_det[:, None], fits.shifted, J, pair
    )  # fmt: skip
    stopped = np.full(runs, -1)
    for r in range(runs):  # in Python: compiled, the loop made rounds several times slower
        run, now, why = [each[r] for each in arrays], 0, TO_REFRESH
        while why in (TO_REFRESH, TO_DESIGN):
            now, why = rounds(law, seeds[r], fits.observed, now, draws[r], C, *run)
            if why == TO_DESIGN:
                recipe.designs.add(int(pair[r, 3]), int(pair[r, 4]))
            elif why == TO_REFRESH:
                fits.refresh_some(np.array([r]))
        if why == STOPPED:
            stopped[r] = now
    inside: Mask = np.zeros(last.inside.shape, np.bool_)
    inside[fits.runs[:, None], J] = True
    memory.last = last._replace(inside=inside, b=pair[:, 0].copy(), c=pair[:, 1].copy())
    return stopped, bool(pair[stopped < 0, 2].any())
