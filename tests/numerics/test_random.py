"""The generator: its distributions, its seeds, and the ties it breaks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from shortlist.engine.engine import Engine

import shortlist
from oracle import priority as oracle_priority
from shortlist.numerics.random import (
    mix,
    next_word,
    priority,
    round_key,
    run_seed,
    run_seeds,
    seed_stream,
    standard_normal,
    uniform,
)
from shortlist.problem import Problem

Array = NDArray[np.float64]
DRAWS = 1_000_000
UNLIKELY = 1e-3  # seeds are fixed: a test that passes once passes always


@numba.njit
def fill_normal(stream: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = standard_normal(stream)


@numba.njit
def fill_uniform(stream: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = uniform(stream)


def stream_of(seed: int) -> NDArray[np.uint64]:
    stream = np.zeros(4, np.uint64)
    seed_stream(np.uint64(seed), stream)
    return stream


def draw(fill: Callable[..., None], seed: int, count: int = DRAWS) -> Array:
    out = np.empty(count)
    fill(stream_of(seed), out)
    return out


@pytest.fixture(scope="module")
def normals() -> Array:
    return draw(fill_normal, 1)


@pytest.fixture(scope="module")
def uniforms() -> Array:
    return draw(fill_uniform, 2)


# Distributions


@pytest.mark.parametrize("seed", [0, 3, 2**64 - 1])
def test_normal_numbers_pass_kolmogorov_and_smirnov(seed: int) -> None:
    assert stats.kstest(draw(fill_normal, seed), "norm").pvalue > UNLIKELY


def test_normal_numbers_have_the_moments(normals: Array) -> None:
    n = len(normals)
    # E x^k of a standard normal, and the standard deviation of the empirical one.
    for k, moment in enumerate([0, 1, 0, 3, 0, 15, 0, 105], start=1):
        variance = math.prod(range(1, 2 * k, 2)) - moment**2
        assert abs(np.mean(normals**k) - moment) < 3.5 * math.sqrt(variance / n)


def test_normal_tails_are_neither_cut_nor_fat(normals: Array) -> None:
    """The ziggurat's last layer ends at 3.654: beyond it another method draws."""
    edge = 3.6541528853610088
    for bound in (1.0, 2.0, 3.0, edge, 4.0):
        for tail in (normals > bound, normals < -bound):
            expected = stats.norm.sf(bound) * len(normals)
            assert abs(tail.sum() - expected) < 3.5 * math.sqrt(expected)
    beyond = np.concatenate([draw(fill_normal, seed) for seed in range(10, 16)])
    beyond = np.abs(beyond[np.abs(beyond) > edge])
    assert len(beyond) > 1000
    conditional = stats.norm.sf(beyond) / stats.norm.sf(edge)
    assert stats.kstest(conditional, "uniform").pvalue > UNLIKELY


def test_normal_numbers_are_even_in_every_layer(normals: Array) -> None:
    """A wrong end or height of one of the 256 layers shows in narrow bins."""
    edges = stats.norm.ppf(np.linspace(0, 1, 2001))
    counts = np.histogram(normals, edges)[0]
    assert stats.chisquare(counts).pvalue > UNLIKELY


def test_uniform_numbers_pass_kolmogorov_and_smirnov(uniforms: Array) -> None:
    assert stats.kstest(uniforms, "uniform").pvalue > UNLIKELY
    assert uniforms.min() >= 0.0
    assert uniforms.max() < 1.0


def test_uniform_numbers_have_the_moments(uniforms: Array) -> None:
    for k in range(1, 6):
        variance = 1 / (2 * k + 1) - 1 / (k + 1) ** 2
        error = abs(np.mean(uniforms**k) - 1 / (k + 1))
        assert error < 3.5 * math.sqrt(variance / len(uniforms))


def test_the_next_number_does_not_depend_on_the_last(normals: Array, uniforms: Array) -> None:
    for numbers in (normals, uniforms, np.abs(normals)):
        for lag in (1, 2, 3, 4):
            correlation = np.corrcoef(numbers[:-lag], numbers[lag:])[0, 1]
            assert abs(correlation) < 3.5 / math.sqrt(len(numbers))
    pairs = np.histogram2d(uniforms[0::2], uniforms[1::2], bins=32, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > UNLIKELY


def test_every_bit_of_a_word_is_a_coin() -> None:
    stream = stream_of(9)
    words = np.array([int(next_word(stream)) for _ in range(40_000)], dtype=np.uint64)
    ones = [int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
    deviations = (np.array(ones) - 20_000) / 100
    assert np.abs(deviations).max() < 4.0
    assert stats.chi2.sf((deviations**2).sum(), 64) > UNLIKELY


def test_words_are_those_of_xoshiro256plusplus() -> None:
    """The published algorithm, in Python's integers."""
    word = 2**64

    def turn(value: int, by: int) -> int:
        return ((value << by) | (value >> (64 - by))) % word

    stream = np.array([1, 2, 3, 4], dtype=np.uint64)
    s = [1, 2, 3, 4]
    for _ in range(1000):
        expected = (turn((s[0] + s[3]) % word, 23) + s[0]) % word
        t = (s[1] << 17) % word
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = turn(s[3], 45)
        assert int(next_word(stream)) == expected


# Seeds


def test_streams_of_different_seeds_differ() -> None:
    starts = [draw(fill_uniform, seed, 8) for seed in range(2000)]
    assert len({tuple(start) for start in starts}) == 2000
    assert len(set(np.concatenate(starts))) == 16_000
    first = np.array([start[0] for start in starts])
    assert stats.kstest(first, "uniform").pvalue > UNLIKELY
    neighbours = np.corrcoef(first[:-1], first[1:])[0, 1]
    assert abs(neighbours) < 3.5 / math.sqrt(len(first))


def test_a_stream_is_repeated_by_its_seed() -> None:
    assert np.array_equal(draw(fill_normal, 5, 100), draw(fill_normal, 5, 100))


def test_run_seeds_are_distinct() -> None:
    many = [run_seeds(seed, 2000) for seed in range(50)]
    assert len(np.unique(np.concatenate(many))) == 100_000
    assert int(run_seed(np.uint64(7), 3)) == int(run_seeds(7, 4)[3])


def test_neighbouring_runs_have_independent_streams() -> None:
    first = np.array([draw(fill_normal, int(seed), 1)[0] for seed in run_seeds(0, 20_000)])
    assert stats.kstest(first, "norm").pvalue > UNLIKELY
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 3.5 / math.sqrt(len(first))


def test_mix_is_one_to_one_and_scatters() -> None:
    values = [int(mix(np.uint64(i))) for i in range(100_000)]
    assert len(set(values)) == 100_000
    flipped = [(values[2 * i] ^ values[2 * i + 1]).bit_count() for i in range(50_000)]
    assert abs(np.mean(flipped) - 32) < 0.1


# Ties


def test_priorities_are_those_of_the_oracle() -> None:
    for seed, t, purpose, arm in [(0, 0, 0, 0), (2**64 - 1, 10**9, 3, 4999), (5, 7, 2, 1)]:
        key = round_key(np.uint64(seed), t, purpose)
        assert int(priority(np.uint64(key), arm)) == oracle_priority(seed, t, purpose, arm)


def winner(seed: int, t: int, purpose: int, arms: int) -> int:
    key = np.uint64(round_key(np.uint64(seed), t, purpose))
    return max(range(arms), key=lambda arm: int(priority(key, arm)))


@pytest.mark.parametrize("vary", ["seed", "round"])
def test_ties_are_won_about_equally_often(vary: str) -> None:
    arms, n = 7, 7000
    seeds = range(n) if vary == "seed" else [0] * n
    rounds = [0] * n if vary == "seed" else range(n)
    won = [winner(seed, t, 0, arms) for seed, t in zip(seeds, rounds, strict=True)]
    assert stats.chisquare(np.bincount(won, minlength=arms)).pvalue > UNLIKELY


def test_ties_of_two_purposes_are_independent() -> None:
    table = np.zeros((4, 4))
    for t in range(4000):
        table[winner(1, t, 0, 4), winner(1, t, 3, 4)] += 1
    assert stats.chi2_contingency(table).pvalue > UNLIKELY
    following = np.zeros((4, 4))
    won = [winner(2, t, 1, 4) for t in range(4001)]
    np.add.at(following, (won[:-1], won[1:]), 1)
    assert stats.chi2_contingency(following).pvalue > UNLIKELY


def symmetric_engine(candidates: str, selection: str) -> Engine:
    """Six arms that differ in nothing, before the first pull."""
    algorithm = shortlist.GIFA(
        candidates=candidates,
        ambiguous="mth_gap" if candidates == "smallest_gap" else "largest_gap",
        selection=selection,
        threshold="frequentist",
        regularization=1.0,
        initialization=None,
    )
    return algorithm.bind(Problem.of(np.eye(6), 2, sigma=1.0, S=1.0)).engine


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["top_means", "smallest_gap"])
@pytest.mark.parametrize("selection", ["largest_variance", "greedy", "optimized"])
def test_a_symmetric_problem_favours_no_arm(candidates: str, selection: str) -> None:
    engine = symmetric_engine(candidates, selection)
    posterior, n = engine.posterior(), 3000
    pairs = dict.fromkeys(permutations(range(6), 2), 0)
    sets = dict.fromkeys(combinations(range(6), 2), 0)
    arms = np.zeros(6, int)
    chose_b = 0
    now = engine.round()
    for seed in range(n):
        decision, now = engine.decide(posterior, now, seed)
        pairs[decision.b, decision.c] += 1
        sets[tuple(np.flatnonzero(now.inside).tolist())] += 1
        arms[decision.arm] += 1
        chose_b += decision.arm == decision.b
    assert stats.chisquare(list(pairs.values())).pvalue > UNLIKELY
    assert stats.chisquare(list(sets.values())).pvalue > UNLIKELY
    assert stats.chisquare(arms).pvalue > UNLIKELY
    assert stats.binomtest(chose_b, n).pvalue > UNLIKELY
