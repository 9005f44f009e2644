"""Blocks that share a shift: what is estimated, what shifts cannot do, what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from error_rates import shown_below
from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.blocks.shifted import Shifted, ShiftedMeans, in_random_order
from shortlist.plans.engine import PlanProgress
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults, add_result
from shortlist.plans.strategy import ReducedProblem

SIGMA = 0.5
LINE = np.column_stack([np.ones(12), np.linspace(-1.0, 1.0, 12), np.linspace(-1.0, 1.0, 12) ** 2])


def problem(features: Reals, m: int, delta: float = 0.05) -> ReducedProblem:
    return ReducedProblem(np.linalg.qr(features)[0], m, SIGMA, delta, 0.0)


def played(
    strategy: GuessAndVerify,
    means: Reals,
    wells: int,
    seed: int,
    *,
    size: float = 0.0,
    most: int = 100_000,
) -> tuple[int, list[Integers], Mask | None]:
    """Plates until the stop, the plans that were made, and the answer; None after ``most`` wells.

    A plate's shift is up to ``size``, upwards where the better arms are in the minority.
    """
    noise, now, plate, plans = np.random.default_rng([seed, 2]), PlanProgress(strategy), 0, []
    now.strategy.arrange(seed)
    while plate * wells < most:
        beyond, arms = now.copy(), []
        for _ in range(wells):
            if beyond.needs_plan:
                beyond.suppose(np.zeros(len(means)))
            arms.append(beyond.next_arm())
            beyond.suppose_pull(arms[-1])
        shift = size * (plate % 5 - 1) * np.sign((means[arms] < means.max()).mean() - 0.5)
        plate += 1
        now.results = now.results.with_room(wells)
        errors = noise.standard_normal(wells).tolist()
        for well, (arm, error) in enumerate(zip(arms, errors, strict=True), 1):
            counts = now.strategy.counts_all
            if counts or now.results.pulls[arm] < now.strategy.plan[arm]:
                add_result(now.results, arm, means[arm] + shift + SIGMA * error, plate)
            if now.needs_plan and (well == wells or not counts):
                plans.append(now.strategy.plan)
                now.decide(seed)
                if now.strategy.statistic <= 0.0:
                    return plate, plans, now.strategy.inside
    return plate, plans, None


@pytest.mark.parametrize("features", [np.eye(5), LINE[[0, 3, 6, 8, 11]]], ids=["own", "features"])
def test_estimates_are_free_of_shifts_and_have_the_variance_that_is_claimed(features):
    rng = np.random.default_rng(1)
    noise = np.array([1.0, 0.5, 0.25, 1.0, 0.7])
    arms, blocks = rng.integers(0, 5, 40), np.repeat(np.arange(5), 8)
    means = ShiftedMeans(ReducedProblem(np.linalg.qr(features)[0], 2, 1.0, 0.1, 0.0, noise))

    def fitted(values):
        return means.fit(means.summary(PlanResults.of(5, arms, values, blocks)))

    # The coefficients of the results in the differences to the first arm, one unit at a time.
    units = np.array([fitted(unit).means for unit in np.eye(40)])
    coefficients = units - units[:, :1]
    for block in range(5):
        assert np.abs(coefficients[blocks == block].sum(axis=0)).max() < 1e-12
    truth = features @ rng.standard_normal(features.shape[1])
    shifted = fitted(truth[arms] + 1000.0 * rng.standard_normal(5)[blocks])
    assert np.allclose(shifted.means - shifted.means[0], truth - truth[0], atol=1e-9)
    claimed = shifted.variances(np.array([0]))[0]
    assert np.allclose((coefficients**2 * noise[arms, None]).sum(axis=0)[1:], claimed[1:])


def test_arms_that_nothing_connects_are_not_compared():
    means = ShiftedMeans(problem(np.eye(5), 1))
    # 0 and 1 share a block, 1 and 2 another one; 3 is alone on its block, and 4 has no result.
    cells = np.array([[0, 7], [1, 7], [1, 8], [2, 8], [3, 9]])
    one = means.summary(PlanResults.of(5, cells[:, 0], np.arange(5.0), cells[:, 1]))
    variances = means.fit(one).variances(np.arange(5))
    known = np.isfinite(variances)
    assert known[0].tolist() == [False, True, True, False, False]
    assert not known[3:].any()
    assert variances[0, 2] == pytest.approx(4.0)
    assert not means.fit(one).compares_all
    joined = means.summary(PlanResults.of(5, np.array([0, 3, 4]), np.zeros(3), np.zeros(3, int)))
    assert means.fit(one + joined).compares_all


def test_arms_that_differ_a_little_in_what_a_plan_does_not_show_are_not_compared():
    # The second feature is that of arm 2, which the plan leaves out. The means of arms 3 and 4 may be
    # in either order: 10⁻⁷ of both features is between them.
    features = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.5 + 1e-7, 1e-7]])
    means = ShiftedMeans(ReducedProblem(features, 1, SIGMA, 0.05, 0.0))
    block = np.zeros(2, np.int64)
    seen = means.fit(means.summary(PlanResults.of(5, np.arange(2), np.array([0.0, 1.0]), block)))
    known = np.isfinite(seen.variances(np.arange(5)))
    assert known[0].tolist() == [False, True, False, True, False]
    assert not known[3, 4]


def test_noise_too_large_beside_other_says_nothing():
    for large, finite in ((1e4, 12), (1e12, 0)):
        noise = np.array([1.0, 1.0, large, large])
        means = ShiftedMeans(ReducedProblem(np.eye(4), 1, SIGMA, 0.05, 0.0, noise))
        cells = np.arange(4), np.arange(4.0), np.zeros(4, np.int64)
        variances = means.fit(means.summary(PlanResults.of(4, *cells))).variances(np.arange(4))
        assert np.isfinite(variances).sum() == finite
        assert variances[2, 3] >= 2.0 * large * (1.0 - 1e-9)


@pytest.mark.parametrize("features", [np.eye(12), LINE], ids=["own", "features"])
def test_shifts_change_no_plan_and_no_answer(features):
    truth = LINE @ np.array([0.0, 0.4, 0.1])
    plain, shifted = (
        played(Shifted(problem(features, 3)), truth, 24, seed=3, size=size)
        for size in (0.0, 1024.0)
    )
    assert plain[0] == shifted[0] > 1
    assert len(plain[1]) > 1
    assert all((one == other).all() for one, other in zip(plain[1], shifted[1], strict=True))
    assert plain[2] is not None
    assert (plain[2] == shifted[2]).all()


def test_every_arm_is_evaluated_until_blocks_connect_all():
    strategy = Shifted(problem(np.eye(12), 2))
    _, plans, _ = played(strategy, LINE @ np.ones(3), 4, seed=0, most=60)
    assert (plans[1] == 1).all()
    assert (Shifted(problem(np.eye(12), 2)).plan == 1).all()


def test_plans_are_whole_plates():
    truth = LINE @ np.array([0.0, 0.4, 0.1])
    _, plans, answer = played(Shifted(problem(np.eye(12), 3)), truth, 24, seed=5)
    assert answer is not None
    assert len(plans) > 6
    assert all(int(plan.sum()) % 24 == 0 for plan in plans[1:])


def test_the_order_of_a_plan_is_even_and_random():
    plan = np.array([60, 20, 0, 10, 4, 2])
    arms, earlier = in_random_order(plan, 24, seed=1, made=100)
    assert np.bincount(arms, minlength=6).tolist() == plan.tolist()
    for part in arms.reshape(4, 24):
        counts = np.bincount(part, minlength=6)
        assert np.abs(counts - plan / 4.0).max() <= 1.5
        assert part.tolist() != sorted(part.tolist())
    for arm in range(6):
        assert earlier[arms == arm].tolist() == list(range(plan[arm]))
    assert in_random_order(plan, 24, seed=2, made=100)[0].tolist() != arms.tolist()
    assert in_random_order(plan, 24, seed=1, made=100)[0].tolist() == arms.tolist()


@pytest.mark.parametrize("delta", [0.3, 0.8])
@pytest.mark.parametrize("features", [np.eye(3), LINE[:, :2]], ids=["own", "features"])
def test_near_ties_are_wrong_as_rarely_as_promised_whatever_the_shifts(features, delta):
    truth = np.array([0.0, -1e-9, -0.4]) if len(features) == 3 else 1e-9 * LINE[:, 1]

    def errors_in(runs: int, first: int) -> int:
        wrong = 0
        for seed in range(first, first + runs):
            strategy = Shifted(problem(features, 1, delta))
            answer = played(strategy, truth, 12, seed, size=100.0, most=600)[2]
            wrong += answer is not None and not answer[np.argmax(truth)]
        return wrong

    shown_below(delta, errors_in)


def test_blocks_cost_little_where_there_are_no_shifts():
    truth = np.linspace(0.0, 6.0, 16)
    taken = []
    for kind in (GuessAndVerify, Shifted):
        found = [played(kind(problem(np.eye(16), 3)), truth, 24, seed) for seed in range(12)]
        taken.append(np.mean([plates for plates, *_ in found]))
        assert all(answer is not None and answer[-3:].all() for *_, answer in found)
    assert taken[1] <= 1.25 * taken[0]
