"""Seeds of runs, generators of results, and who wins a tie."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import oracle
from shortlist.engine.seeds import generator_of, mix, priorities, run_seeds

UNLIKELY = 1e-3  # seeds are fixed: a test that passes once passes always


def test_mix_is_one_to_one_and_scatters() -> None:
    values = mix(np.arange(100_000, dtype=np.uint64))
    assert len(np.unique(values)) == 100_000
    assert values[:5].tolist() == [oracle.mix(i) for i in range(5)]
    flipped = np.bitwise_count(values[::2] ^ values[1::2])
    assert abs(flipped.mean() - 32) < 0.1


def test_run_seeds_are_distinct_and_do_not_depend_on_how_many_there_are() -> None:
    many = [run_seeds(seed, 2000) for seed in range(50)]
    assert len(np.unique(np.concatenate(many))) == 100_000
    assert run_seeds(7, 5, first=10).tolist() == run_seeds(7, 15)[10:].tolist()


def test_neighbouring_runs_have_independent_results() -> None:
    first = np.array([generator_of(seed).standard_normal() for seed in run_seeds(0, 5000)])
    assert stats.kstest(first, "norm").pvalue > UNLIKELY
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 3.5 / np.sqrt(len(first))
    again = [generator_of(seed).standard_normal() for seed in run_seeds(0, 3)]
    assert again == first[:3].tolist()


def test_priorities_are_those_of_the_oracle() -> None:
    for t, purpose in [(0, 0), (10**9, 3), (7, 2)]:
        seeds, arms = np.array([0, 5, 2**64 - 1], np.uint64), np.array([0, 1, 4999])
        wanted = [
            [oracle.priority(seed, t, purpose, arm) for arm in arms.tolist()]
            for seed in seeds.tolist()
        ]
        assert priorities(seeds, t, purpose, arms[None, :]).tolist() == wanted
        own = np.array([[3], [4], [5]])  # of another arm in each run
        assert priorities(seeds, t, purpose, own)[1].tolist() == [oracle.priority(5, t, purpose, 4)]


def winners(seeds: np.ndarray, t: int, purpose: int, arms: int) -> np.ndarray:
    return priorities(seeds, t, purpose, np.arange(arms)[None, :]).argmax(axis=1)


@pytest.mark.parametrize("vary", ["seed", "round"])
def test_ties_are_won_about_equally_often(vary: str) -> None:
    arms, n = 7, 7000
    won = winners(np.arange(n, dtype=np.uint64), 0, 0, arms)
    if vary == "round":
        one = np.zeros(1, np.uint64)
        won = np.concatenate([winners(one, t, 0, arms) for t in range(n)])
    assert stats.chisquare(np.bincount(won, minlength=arms)).pvalue > UNLIKELY


def test_ties_of_two_purposes_and_of_two_rounds_are_independent() -> None:
    one = np.ones(1, np.uint64)
    won = np.array([[winners(one, t, purpose, 4)[0] for purpose in (0, 3)] for t in range(4001)])
    for first, second in (
        (won[:, 0], won[:, 1]),
        (won[:-1, 0], won[1:, 0]),
        (won[:-1, 1], won[1:, 0]),
    ):
        table = np.zeros((4, 4))
        np.add.at(table, (first, second), 1)
        assert stats.chi2_contingency(table).pvalue > UNLIKELY
