"""Top-two sampling: what is drawn, which pair is told apart, and by which arm; stored studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

import shortlist
from budgets import begin, play, result
from shortlist import errors
from shortlist.numerics.random import seed_stream
from shortlist.plans import top_two
from shortlist.plans.strategy import ReducedProblem
from shortlist.plans.top_two import TopTwoStrategy
from shortlist.study.definition import _described

RNG = np.random.default_rng(0)
WHITE = RNG.standard_normal((12, 3))
MEANS = RNG.standard_normal(12)


def stream_of(seed: int) -> NDArray[np.uint64]:
    stream = np.zeros(4, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(np.uint64(seed), stream)
    return stream


def sampling(features: Any, m: int, *, epsilon: float = 0.0, budget: int = 200) -> TopTwoStrategy:
    problem = ReducedProblem(np.asarray(features, float), m, 0.5, 0.05, epsilon)
    return TopTwoStrategy(problem, budget)


def test_the_most_telling_arm_leaves_the_least_variance() -> None:
    for b, c in ((0, 1), (4, 9), (11, 2)):
        left = []
        for arm in range(12):
            after = np.linalg.inv(np.eye(3) + np.outer(WHITE[arm], WHITE[arm]))
            left.append((WHITE[b] - WHITE[c]) @ after @ (WHITE[b] - WHITE[c]))
        assert top_two.most_telling(WHITE, b, c) == int(np.argmin(left))


def test_a_supposed_result_changes_the_variances_as_a_real_one_does() -> None:
    white = WHITE.copy()
    top_two.suppose_result(white, 5, np.zeros(3))
    after = np.linalg.inv(np.eye(3) + np.outer(WHITE[5], WHITE[5]))
    np.testing.assert_allclose(white @ white.T, WHITE @ after @ WHITE.T, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2, 5, 11])
def test_draws_are_those_of_the_posterior_and_the_m_best_are_marked(m: int) -> None:
    near, stream = np.arange(12), stream_of(1)
    noise, draw, kept, best = np.zeros(3), np.zeros(12), np.zeros(12), np.zeros(12, np.bool_)
    drawn = []
    for _ in range(4000):
        top_two.draw_best(MEANS, WHITE, near, m, 0.5, stream, noise, draw, kept, best)
        assert best.sum() == m
        assert draw[best].min() > draw[~best].max()
        drawn.append(draw.copy())
    off = np.mean(drawn, axis=0) - MEANS
    spread = 0.25 * WHITE @ WHITE.T
    assert (np.abs(off) < 5 * np.sqrt(np.diag(spread) / 4000)).all()
    np.testing.assert_allclose(np.cov(np.transpose(drawn)), spread, atol=0.1 * spread.max())


def test_of_arms_with_equal_features_no_more_than_m_are_marked() -> None:
    white, means, best = np.ones((6, 1)), np.zeros(6), np.zeros(6, np.bool_)
    scratch = np.zeros(1), np.zeros(6), np.zeros(6)
    top_two.draw_best(means, white, np.arange(6), 2, 1.0, stream_of(2), *scratch, best)
    assert best.sum() == 2


def test_draws_disagree_only_by_more_than_epsilon() -> None:
    leading, other = np.array([True, True, False]), np.array([True, False, True])
    draw = np.array([3.0, 1.0, 1.5])
    assert top_two.disagree(draw, leading, other, 0.4)
    assert not top_two.disagree(draw, leading, other, 0.6)
    assert not top_two.disagree(draw, leading, leading, 0.0)


def test_without_features_the_pair_in_doubt_gets_the_pulls() -> None:
    means = [2.0, 1.0, 0.8, -1.0, -2.0]
    pulls = play(sampling(np.eye(5), 2), means).pulls
    assert pulls[[1, 2]].sum() > 150
    assert (pulls >= 1).all()


def test_with_features_the_arm_that_tells_most_gets_the_pulls() -> None:
    """At a small angle two arms are told apart by a third."""
    angle = 0.1
    features = [[1.0, 0.0], [np.cos(angle), np.sin(angle)], [0.0, 1.0]]
    pulls = play(sampling(features, 1), np.array(features) @ [1.0, 0.0]).pulls
    assert pulls[2] > 150


def test_one_against_many_gets_as_many_as_each_of_them() -> None:
    """One arm above 24 equal ones: √24 times as many would be best, and pairs in doubt does that."""
    means = np.append(0.1, np.zeros(24))
    strategy = sampling(np.eye(25), 1, budget=10_000)
    strategy.take(np.full(25, 10), 10 * means)
    while strategy.told < 4_000:
        strategy.decide(strategy.plan * means, strategy.told)
    assert strategy.pulls[0] / strategy.pulls[1:].mean() == pytest.approx(1.03, abs=0.05)


def test_slack_moves_pulls_to_where_it_does_not_help() -> None:
    means = [3.0, 1.0, 0.99, 0.0]
    near, slack = (play(sampling(np.eye(4), 2, epsilon=e), means).pulls for e in (0.0, 0.5))
    assert near[[1, 2]].sum() > slack[[1, 2]].sum()


@pytest.mark.parametrize("m", [1, 2])
def test_arms_that_nothing_tells_apart_do_no_harm(m: int) -> None:
    features = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    last = play(sampling(features, m, epsilon=0.1), features @ [1.0, 0.2])
    assert last.pulls.sum() == 200
    assert set(np.flatnonzero(last.inside)) < {0, 1, 2}


def test_a_plan_is_one_part_in_32_of_what_is_known_and_ends_at_the_budget() -> None:
    strategy = sampling(np.eye(4), 1, budget=301)
    ends = []
    while not strategy.spent:
        told = strategy.told
        assert strategy.plan.sum() == (4 if not told else min(max(1, told // 32), 301 - told))
        ends.append(strategy.end)
        strategy.decide(strategy.plan * np.array([1.0, 0.9, 0.8, 0.0]), 0)
    assert ends[-1] == strategy.end == strategy.told == 301


def test_the_seed_decides_and_nothing_else() -> None:
    pulls = []
    for seed in (1, 1, 2):
        study = begin(60, seed=seed, algorithm="top-two")
        study.run(result, progress=False)
        pulls.append([trial.arm for trial in study.trials])
    assert pulls[0] == pulls[1] != pulls[2]


def test_compiled_and_interpreted_choose_the_same_pulls() -> None:
    plans = []
    for choose in (top_two.choose_pulls, top_two.choose_pulls.interpret):
        plan, masks = np.zeros(12, np.int64), (np.zeros(12, np.bool_), np.zeros(12, np.bool_))
        given = MEANS, WHITE.copy(), np.arange(12), 3, 0.5, 0.1, 25, stream_of(4)
        choose(*given, np.zeros((5, 12)), *masks, plan)
        plans.append(plan.tolist())
    assert plans[0] == plans[1]
    assert sum(plans[0]) == 25


def test_it_is_stored_under_its_own_kind(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(50, storage=path, algorithm="top-two")
    assert _described(shortlist.TopTwo(budget=50)) == {
        "name": "top-two",
        "budget": 50,
        "kind": "TopTwo",
    }
    study.run(result, max_evaluations=30, progress=False)
    loaded = shortlist.Study.load(path)
    assert loaded.round.strategy.plan.tolist() == study.round.strategy.plan.tolist()
    assert loaded.ask().arm == begin(50, storage=path).pending[0].arm


def test_a_study_stored_before_there_were_pairs_in_doubt_goes_on_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(60, algorithm="top-two", storage=path)
    study.run(result, max_evaluations=25, progress=False)
    again = begin(60, storage=path)  # nothing is named, and the budget is the same
    assert again.bound.name == shortlist.Study.load(path).bound.name == "top-two"
    assert again.round.strategy.plan.tolist() == study.round.strategy.plan.tolist()
    with pytest.raises(errors.StudyMismatch, match="but algorithm = pairs-in-doubt"):
        begin(60, algorithm="pairs-in-doubt", storage=path)


# Of 40 results, as top-two sampling asked for them while ``Study(…, budget=T)`` used it.
PULLED = "0101001110101010110101010101010101101010"


def test_pulls_are_those_that_they_always_were() -> None:
    study = begin(40, algorithm="top-two")
    study.run(result, progress=False)
    assert "".join(str(trial.arm) for trial in study.trials) == PULLED


@pytest.mark.slow
def test_it_errs_no_more_often_than_halving() -> None:
    """On ten steps without features, with a budget so small that both err often."""
    means = 2.0 * np.linspace(0.5, 0.05, 10)
    instance = shortlist.instances.from_arrays(np.eye(10), means=means, m=3, sigma=0.5)
    ours, halving = (
        int((~shortlist.compare(each, instance, runs=100, progress=False).frame["correct"]).sum())
        for each in (shortlist.TopTwo(budget=150), shortlist.XYHalving(budget=150))
    )
    assert halving > 20  # there is something to be better at
    assert binomtest(ours, ours + halving, alternative="greater").pvalue > 0.01
