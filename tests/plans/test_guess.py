"""What plans are made of: designs, least squares, variances, guesses, the order of evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from searching import FEATURES, MEANS, NOISES, SHARED, SIGMA, measuring, question
from shortlist.errors import SingularDesign
from shortlist.plans.design import (
    by_chance,
    connected,
    laplacian,
    pair_design,
    rooted,
    rounded,
    spread_design,
    whitened,
)
from shortlist.plans.guess import Guess, OpenPairs, Results
from shortlist.plans.noises import Totals
from shortlist.plans.slots import Slots, turns_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 3))
EVERY = np.ones(9, bool)


def largest(x: np.ndarray, w: np.ndarray, b: np.ndarray, c: np.ndarray, needs: np.ndarray) -> float:
    """How many evaluations in these shares give each pair the information that it needs."""
    apart = x[b] - x[c]
    inverse = np.linalg.inv((x.T * w) @ x)
    return float((needs * np.einsum("pi,ij,pj->p", apart, inverse, apart)).max())


@pytest.mark.parametrize("x", [X, np.eye(9)])
def test_a_design_of_pairs_is_hardly_improved_by_any_other(x: np.ndarray) -> None:
    b, c = np.repeat([0, 1], 7), np.tile(np.arange(2, 9), 2)
    needs = RNG.uniform(0.5, 2.0, len(b))
    given = None if x.shape[1] == 9 else x
    w, length = pair_design(given, np.ones(9), b, c, needs, np.zeros(9), EVERY)
    assert w.sum() == pytest.approx(1.0)
    assert length == pytest.approx(largest(x, w, b, c, needs), rel=1e-6)
    for _ in range(200):
        other = w * np.exp(0.3 * RNG.normal(size=9))
        assert largest(x, other / other.sum(), b, c, needs) > 0.93 * length


def test_a_first_design_spreads_and_asks_less_of_dear_arms() -> None:
    cheap = spread_design(X, EVERY, np.ones(9))
    inverse = np.linalg.inv((X.T * cheap) @ X)
    assert np.einsum("ai,ij,aj->a", X, inverse, X).max() <= 1.06 * 3
    twice = np.vstack([X, X])
    dear = spread_design(twice, np.ones(18, bool), np.repeat([1.0, 9.0], 9))
    assert dear[:9].sum() > 2.0 * dear[9:].sum()
    used = EVERY.copy()
    used[4] = False
    assert spread_design(X, used, np.ones(9))[4] == 0.0


def test_whole_evaluations_are_as_many_as_wanted_and_span() -> None:
    wanted = np.array([5.2, 0.1, 0.0, 3.3, 0.0, 0.0, 0.0, 0.4, 0.0])
    assert abs(int(by_chance(wanted, RNG).sum()) - 9) <= 3
    assert by_chance(np.full(3, 1e-9), RNG).sum() >= 1
    pulls = rounded(X, wanted, few=2)
    assert np.linalg.matrix_rank(X[pulls > 0]) == 3
    assert set(pulls[pulls > 0]) >= {2}


def test_least_squares_by_blocks_are_those_with_a_level_for_each() -> None:
    arms, blocks = RNG.integers(0, 5, 40), RNG.integers(0, 6, 40)
    y, precision = RNG.normal(size=40), RNG.uniform(0.5, 2.0, 40)
    columns = np.hstack([np.eye(5)[arms], np.eye(6)[blocks]])
    fit = np.linalg.lstsq(
        columns * np.sqrt(precision)[:, None], y * np.sqrt(precision), rcond=None
    )[0]
    levels = np.bincount(blocks, precision * y, 6) / np.bincount(blocks, precision, 6)
    white, null = rooted(np.eye(5), laplacian(arms, blocks, precision, 5))
    means = white.T @ (white @ np.bincount(arms, precision * (y - levels[blocks]), 5))
    assert means - means[0] == pytest.approx(fit[:5] - fit[0])
    assert connected(null, np.array([0]), np.array([3])).all()


def test_arms_that_share_no_block_are_not_compared() -> None:
    matrix = laplacian(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.ones(4), 4)
    _, null = rooted(np.eye(4), matrix)
    same = connected(null, np.array([0, 0, 2]), np.array([1, 2, 3]))
    assert same.tolist() == [True, False, True]
    with pytest.raises(SingularDesign):
        whitened(np.ones((3, 2)), np.ones(3))


# Variances


def total(noise: float, pulls: int = 40) -> Totals:
    arms = np.repeat(np.arange(6), pulls)
    return Totals.none(6).plus(arms, MEANS[arms] + noise * RNG.normal(size=len(arms)))


@pytest.mark.parametrize("noise", NOISES)
def test_variances_come_near_to_the_truth(noise: str) -> None:
    some = total(SIGMA, 200)
    found = NOISES[noise].variances(some, some.averages, None, 2)
    assert (found > 0.5 * SIGMA**2).all()
    assert (found < 2.0 * SIGMA**2).all()


@pytest.mark.parametrize("noise", NOISES)
def test_with_few_results_variances_are_neither_zero_nor_infinite(noise: str) -> None:
    for some in (Totals.none(6), Totals.none(6).plus(np.arange(6), np.full(6, 0.5))):
        found = NOISES[noise].variances(some, some.averages, None, 2)
        assert (found > 0.0).all()
        assert np.isfinite(found).all()


def test_totals_are_those_of_all_results() -> None:
    some = Totals.none(2).plus(np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]))
    some = some.plus(np.array([1]), np.array([7.0]))
    assert some.averages.tolist() == [2.0, 6.0]
    assert some.misses(some.averages) == pytest.approx([2.0, 2.0])


# Guesses


def guess(shared: str, features: bool, relies: bool) -> Guess:
    asked = question("known", shared, features=FEATURES if features else None, relies=relies)
    found, measure = Guess(asked, Totals.none(6), Results.none()), measuring(5)
    arms, blocks = np.tile(np.arange(6), 30), np.repeat(np.arange(30), 6)
    found.add(arms, blocks, measure(arms, blocks))
    found.look()
    return found


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize(("features", "relies"), [(False, True), (True, True), (True, False)])
def test_a_guess_is_near_the_truth_and_its_errors_say_how_near(
    shared: str, features: bool, relies: bool
) -> None:
    found = guess(shared, features, relies)
    assert not found.unseen().any()
    b, c = np.repeat([0, 1], 4), np.tile([2, 3, 4, 5], 2)
    away = found.fit.means[b] - found.fit.means[c] - (MEANS[b] - MEANS[c])
    errors = np.sqrt(found.fit.variances(b, c))
    assert (np.abs(away) < 4.0 * errors).all()
    assert (errors < 0.06).all()
    votes = found.vote(MEANS >= 0.8, np.random.default_rng(0))
    assert votes[(MEANS >= 0.8).tobytes()] > 0.95
    assert sum(votes.values()) == pytest.approx(1.0)


def test_arms_without_a_result_are_unseen_unless_features_tell_of_them() -> None:
    for features, lacks in ((None, 1), (FEATURES, 0)):
        found = Guess(question(features=features), Totals.none(6), Results.none())
        assert found.unseen().all()
        arms = np.repeat(np.arange(5), 3)
        found.add(arms, np.zeros(15, np.int64), MEANS[arms])
        found.look()
        assert int(found.unseen().sum()) == lacks


def test_a_plan_gives_most_to_the_pair_that_lacks_most() -> None:
    found = guess("nothing", False, True)
    b, c = np.repeat([0, 1], 4), np.tile([2, 3, 4, 5], 2)
    gaps = np.where((b == 1) & (c == 2), 0.05, 0.6)
    pairs = OpenPairs(b, c, gaps, np.full(8, 0.001), np.full(8, 3.0))
    pulls = found.plan(pairs, found.total.pulls, 3.0, np.random.default_rng(0))
    assert pulls[[1, 2]].min() > 3 * pulls[[0, 3, 4, 5]].max()


# The order of evaluations


def test_every_part_of_a_plan_is_like_the_whole() -> None:
    pulls = np.array([12, 0, 6, 30])
    arms = Slots.in_turn(pulls).arms
    assert np.bincount(arms, minlength=4).tolist() == pulls.tolist()
    for end in range(8, 48, 8):
        part = np.bincount(arms[:end], minlength=4)
        assert np.abs(part - pulls * end / 48).max() <= 1.0


def test_plates_are_samples_of_the_plan_in_random_order() -> None:
    slots = Slots.samples(np.array([12, 0, 6, 30]), 8, np.random.default_rng(0))
    assert len(slots.arms) % 8 == 0
    for plate in slots.arms.reshape(-1, 8):
        assert np.abs(np.bincount(plate, minlength=4) - [2, 0, 1, 5]).max() <= 1
    other = Slots.samples(np.array([12, 0, 6, 30]), 8, np.random.default_rng(1))
    assert slots.arms.tolist() != other.arms.tolist()


def test_an_arm_is_once_on_each_of_its_blocks() -> None:
    turns = turns_of(np.array([4, 0, 2, 9]), 3, own=True, room=0)
    slots = Slots.on_blocks(turns, 7, np.random.default_rng(0), named=True)
    cells = list(zip(slots.arms.tolist(), slots.blocks.tolist(), strict=True))
    assert len(set(cells)) == len(cells) == turns.sum()
    assert min(slots.blocks) == 7
    assert turns_of(np.array([4, 1, 2, 9]), 1, own=True, room=2).tolist() == [4, 0, 0, 9]
