"""The m best on a pool: how often a list is wrong near ties, every event, and never above the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shortlist.arrays import Mask, Reals
from shortlist.plans.noises import InRange
from shortlist.plans.pools import Cells, PoolSearch
from shortlist.plans.question import Question, Shared

Event = Callable[[PoolSearch, Reals, np.random.Generator], None]


def question(arms: int, m: int, delta: float = 0.05, epsilon: float = 0.0) -> Question:
    return Question(
        arms=arms,
        m=m,
        noise=InRange(),
        delta=delta,
        epsilon=epsilon,
        costs=np.ones(arms),
        out=np.zeros(arms, np.bool_),
        shared=Shared(),
    )


def run(search: PoolSearch, table: Reals, each: Callable[[], None] = lambda: None) -> PoolSearch:
    """To the stop, with results of a table."""
    while not search.stopped:
        arms, blocks = search.slots.arms, search.slots.blocks
        assert len(arms)
        assert not search.known[arms, blocks].any()
        assert not search.question.out[arms].any()
        search.take(arms, blocks, table[arms, blocks])
        each()
    return search


def searched(
    table: Reals, m: int, *, delta: float = 0.05, epsilon: float = 0.0, seed: int = 0
) -> PoolSearch:
    return run(PoolSearch(question(len(table), m, delta, epsilon), table.shape[1], seed), table)


def is_right(search: PoolSearch, table: Reals) -> bool:
    means = np.where(search.question.out, -np.inf, table.mean(axis=1))
    enough = np.sort(means)[-search.question.m] - search.question.epsilon - 1e-9
    return bool(search.inside.sum() == search.question.m and means[search.inside].min() >= enough)


def easy(rng: np.random.Generator, arms: int = 8, size: int = 150) -> Reals:
    """Coins, the best first, on questions of which some are hard."""
    chance = np.linspace(0.9, 0.2, arms)[:, None] - 0.2 * rng.random(size)
    return (rng.random((arms, size)) < chance).astype(float)


def test_the_best_are_found_and_most_of_the_table_is_left() -> None:
    table = easy(np.random.default_rng(0), 30, 300)
    search = searched(table, 2, epsilon=0.02)
    assert is_right(search, table)
    assert search.known.mean() < 0.35
    assert search.slack(search.inside) <= 0.02
    assert not search.is_exact


def near_ties(kind: str, rng: np.random.Generator, arms: int, size: int, best: int) -> Reals:
    """The worst of the list is just wrong: one arm has one result more than the others."""
    hits = int({"coins": 0.5, "skewed": 0.93, "opposite": 0.5}[kind] * size)
    table = np.zeros((arms, size))
    for arm in range(arms):
        number = hits + 2 * (arm == best)
        table[arm, rng.permutation(size)[:number]] = 1.0
    if kind == "opposite":
        table[1::2] = 0.0
        table[1::2, int(hits) :] = 1.0
        table[::2] = 0.0
        table[::2, :hits] = 1.0
        table[best, -2:] = table[best, :2] = 1.0
    return table


@pytest.mark.parametrize("kind", ["coins", "skewed", "opposite"])
@pytest.mark.parametrize("best", [0, -1])
def test_near_ties(kind: str, best: int) -> None:
    arms, size, runs = 5, 40, 60
    rng = np.random.default_rng(1)
    for delta in (0.05, 0.3, 0.8):
        wrong = 0
        for seed in range(runs):
            table = near_ties(kind, rng, arms, size, best % arms)
            wrong += not is_right(searched(table, 1, delta=delta, seed=seed), table)
        assert wrong <= runs * delta + 2.5 * np.sqrt(runs * delta * (1 - delta))


class NamesAtOnce(PoolSearch):
    """Names the first m arms as soon as they are known, whatever seems best."""

    def explore(self) -> Cells:
        return []

    def contenders(self) -> Mask:
        return np.arange(len(self.known)) < self.question.m


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.8])
def test_a_wrong_list_that_is_named_at_once(delta: float) -> None:
    rng, runs, wrong = np.random.default_rng(2), 200, 0
    for seed in range(runs):
        table = near_ties("coins", rng, 4, 40, 3)
        search = NamesAtOnce(question(4, 1, delta), 40, seed)
        wrong += not is_right(run(search, table), table)
    assert wrong <= runs * delta


@pytest.mark.parametrize("tells", ["high", "low"])
def test_who_tells_chosen_results_early_gains_nothing(tells: str) -> None:
    """All values are known beforehand to who tells: after the naming the best, or the worst, are told."""
    delta, runs, wrong = 0.3, 150, 0
    rng = np.random.default_rng(3)
    for seed in range(runs):
        table = near_ties("coins", rng, 4, 40, 3)
        search = NamesAtOnce(question(4, 1, delta), 40, seed)

        def chosen(search: PoolSearch = search, table: Reals = table) -> None:
            if search.namings:
                some = ~search.known & (table == (tells == "high"))
                arms, blocks = (each[:3] for each in np.nonzero(some))
                search.advise(arms, blocks, table[arms, blocks])

        while not search.stopped:
            chosen()
            arms, blocks = search.slots.arms, search.slots.blocks
            search.take(arms, blocks, table[arms, blocks])
        wrong += not is_right(search, table)
    assert wrong <= runs * delta


def test_retiring_whatever_seems_best_gains_little() -> None:
    """Of those outside the best is retired whenever it might not be refuted; who is left may be wrong."""
    delta, runs, wrong = 0.8, 150, 0
    rng = np.random.default_rng(4)
    for seed in range(runs):
        table = near_ties("coins", rng, 6, 40, 3)
        table[2] = table[3]
        search = NamesAtOnce(question(6, 1, delta), 40, seed)
        while not search.stopped:
            arms, blocks = search.slots.arms, search.slots.blocks
            search.take(arms, blocks, table[arms, blocks])
            peaks = {a: e.peak for each in search.namings for a, e in each.of.items()}
            passed = [a for a in (2, 3) if peaks.get(a, 0.0) > -np.log(delta * 0.8)]
            if passed and not search.stopped and not search.question.out.any():
                search.retire(5 - passed[0])
        wrong += not is_right(search, table)
    assert wrong <= runs * delta


def test_exact_ties_end_with_what_is_certain() -> None:
    table = np.tile((np.arange(30) % 3 > 0).astype(float), (5, 1))
    search = searched(table, 2)
    assert search.is_exact
    assert is_right(search, table)
    assert search.slack(search.inside) == 0.0


def test_scores_that_sum_up_differently_can_tie() -> None:
    rng = np.random.default_rng(5)
    row = rng.random(40)
    table = np.array([rng.permutation(row) for _ in range(4)])
    assert searched(table, 1).is_exact


@pytest.mark.parametrize("shape", [(1, 5), (2, 1), (3, 2), (5, 3), (40, 4)])
def test_small_tables(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    for seed in range(10):
        table = rng.random(shape).round(1)
        for m in (1, min(3, shape[0])):
            assert is_right(searched(table, m, delta=0.01, seed=seed), table)


def retire_outside(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    search.retire(6)


def retire_inside(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    search.retire(0)


def readmit(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    search.retire(0)
    search.readmit(0)


def widen(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    search.widen(0.05)


def correct(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    plan = int(rng.integers(len(search.record)))
    told = search.record[plan]
    place = int(rng.integers(len(told.arms)))
    table[told.arms[place], told.blocks[place]] = 0.5
    search.correct(plan, place, 0.5)


def advise(search: PoolSearch, table: Reals, rng: np.random.Generator) -> None:
    arms, blocks = rng.integers(len(search.known), size=40), rng.integers(search.size, size=40)
    search.advise(arms, blocks, table[arms, blocks])
    search.take(arms[:0], blocks[:0], np.zeros(0))


EVENTS = [retire_outside, retire_inside, readmit, widen, correct, advise]


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("when", [1, 6, 14])
def test_events(event: Event, when: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = easy(rng)
        search, plans = PoolSearch(question(8, 2), 150, seed), 0

        def each(
            search: PoolSearch = search, table: Reals = table, rng: np.random.Generator = rng
        ) -> None:
            nonlocal plans
            plans += 1
            if plans == when:
                event(search, table, rng)

        assert is_right(run(search, table, each), table)
        if plans < when:  # after the stop
            event(search, table, rng)
            assert is_right(run(search, table), table)


@pytest.mark.parametrize("when", [1, 6, 14, 1000])
def test_arms_are_added(when: int) -> None:
    for seed in range(3):
        table = easy(np.random.default_rng(seed), 10)[::-1]  # the best come last
        search, plans = PoolSearch(question(8, 2), 150, seed), 0
        while not search.stopped and plans < when:
            plans += 1
            arms, blocks = search.slots.arms, search.slots.blocks
            search.take(arms, blocks, table[arms, blocks])
        search.add(question(len(search.known) + 2, search.question.m))
        assert not search.stopped
        assert is_right(run(search, table), table)
        assert search.inside[8:].all()


def test_a_larger_margin_asks_for_nothing_new() -> None:
    table = easy(np.random.default_rng(9))
    search = PoolSearch(question(8, 2), 150, 0)
    while not (search.namings and search.leaders.sum() == 2):
        arms, blocks = search.slots.arms, search.slots.blocks
        search.take(arms, blocks, table[arms, blocks])
    least = search.slack(search.inside)
    search.widen(least + 1e-5)
    assert search.stopped
    assert is_right(search, table)


def test_a_correction_to_the_same_value_changes_nothing() -> None:
    table = easy(np.random.default_rng(10))
    search = PoolSearch(question(8, 2), 150, 0)
    for _ in range(8):
        arms, blocks = search.slots.arms, search.slots.blocks
        search.take(arms, blocks, table[arms, blocks])
    before, twin = search.slots, search.copy()
    search.correct(3, 0, float(search.record[3].values[0]))
    assert search.slots.arms.tolist() == before.arms.tolist()
    assert search.slots.blocks.tolist() == before.blocks.tolist()
    search.take(before.arms, before.blocks, table[before.arms, before.blocks])
    assert twin.known.sum() < search.known.sum()
    assert len(twin.record) == 8


def test_a_cell_that_fails_is_asked_for_again_and_a_retired_arm_is_not() -> None:
    table = easy(np.random.default_rng(11))
    search, failed = PoolSearch(question(8, 2), 150, 0), 0
    while not search.stopped:
        arms, blocks = search.slots.arms, search.slots.blocks
        fails = (arms == 1) & (blocks == 7)
        failed += int(fails.sum())
        search.take(arms[~fails], blocks[~fails], table[arms, blocks][~fails])
        if failed > 3 and not search.question.out[1]:
            search.retire(1)
    assert failed
    assert is_right(search, table)


def test_what_is_shown() -> None:
    table = easy(np.random.default_rng(12))
    search = PoolSearch(question(8, 2, epsilon=0.01), 150, 0)
    means = table.mean(axis=1)
    while not search.stopped:
        low, high = search.intervals(0.05)
        assert (low <= means + 1e-9).all()
        assert (means <= high + 1e-9).all()
        pairs, inside, outside = search.passed(search.inside)
        assert pairs.shape == inside.shape == outside.shape == (2, 6)
        assert search.slack(search.inside) > 0.01
        lacking = search.remaining(5, np.random.default_rng(0))
        assert lacking is None or (lacking.shape == (5,) and (lacking >= 0.0).all())
        arms, blocks = search.slots.arms, search.slots.blocks
        search.take(arms, blocks, table[arms, blocks])
    b, c = np.repeat(np.arange(8), 8), np.tile(np.arange(8), 8)
    assert (search.bounds(b, c) >= means[c] - means[b] - 1e-9).all()
    assert search.passed(search.inside)[0].all()
    assert search.boundary.slack <= 0.01
