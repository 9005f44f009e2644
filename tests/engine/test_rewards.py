"""What simulated arms answer: the right distribution, the same whoever asks and however many at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shortlist.engine.rewards import Coins, Normal, Recorded, Rewards, drawer

MEANS = np.array([0.2, 0.9])
TABLE = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
KINDS = [Normal(MEANS, np.array([0.5, 2.0])), Coins(MEANS), Recorded(TABLE)]


@pytest.mark.parametrize("rewards", KINDS, ids=lambda each: type(each).__name__)
def test_the_nth_result_is_the_same_however_many_are_drawn_at_a_time(rewards: Rewards) -> None:
    arms = np.random.default_rng(0).integers(2, size=60)
    whole, parts, other = drawer(rewards, 3), drawer(rewards, 3), drawer(rewards, 4)
    drawn = whole(arms)
    assert (
        np.concatenate([parts(arms[:1]), parts(arms[1:20]), parts(arms[20:])]).tolist()
        == drawn.tolist()
    )
    assert other(arms).tolist() != drawn.tolist()
    low, high = rewards.limits or (-np.inf, np.inf)
    assert ((low <= drawn) & (drawn <= high)).all()


def test_results_have_their_distributions() -> None:
    arms = np.zeros(20_000, np.int64)
    normal, coins, recorded = (drawer(each, 1)(arms + 1) for each in KINDS)
    assert stats.kstest(normal, "norm", (0.9, 2.0)).pvalue > 1e-3
    assert stats.binomtest(int(coins.sum()), len(arms), 0.9).pvalue > 1e-3
    values, counts = np.unique(recorded, return_counts=True)
    assert values.tolist() == [10.0, 20.0, 30.0]
    assert stats.chisquare(counts).pvalue > 1e-3
