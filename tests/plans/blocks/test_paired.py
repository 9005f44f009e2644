"""Arms compared within blocks: right, exact at the end of a pool, and rarely wrong near ties."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import shortlist
from blocks import near_ties, prompts
from error_rates import shown_below
from shortlist.arrays import Mask, Reals
from shortlist.blocks import Cell
from shortlist.plans.blocks.paired import Bets, CommonBlocks
from shortlist.plans.blocks.seen import Order, Seen
from shortlist.plans.results import PlanResults

TABLE = prompts(arms=8, blocks=60, seed=3)


def play(table: Reals, **settings: object) -> shortlist.Study:
    given = {
        "m": 2,
        "sigma": "bounded",
        "reward_range": (0, 1),
        "blocks": table.shape[1],
        "seed": 1,
    }
    study = shortlist.Study(arms=range(len(table)), **{**given, **settings})
    study.run(lambda trial: table[trial.arm, int(trial.block)], progress=False)
    return study


def test_the_m_largest_row_means_are_found() -> None:
    study = play(TABLE)
    best = np.sort(TABLE.mean(axis=1))[-2:]
    assert sorted(TABLE.mean(axis=1)[[int(name) for name in study.shortlist.names]]) == list(best)
    assert study.evaluations <= TABLE.size
    cells = [(trial.arm, trial.block) for trial in study.trials]
    assert len(set(cells)) == len(cells)


def test_equal_rows_end_with_the_pool_and_are_exact() -> None:
    table = np.tile(np.linspace(0.0, 1.0, 20), (4, 1))
    study = play(table)
    assert study.evaluations <= table.size
    assert study.shortlist.guarantee.first_words == "Exact"
    with pytest.raises(shortlist.errors.InvalidInput, match="nothing to ask"):
        study.reopen() if study.evaluations == table.size else study.tell(arm=0, block=99, value=0)


def test_smallest_means_and_other_ranges() -> None:
    scaled = 10.0 - 5.0 * TABLE  # from 5 to 10, and small is good
    study = play(scaled, direction="minimize", reward_range=(5, 10))
    assert set(study.shortlist.names) == set(play(TABLE).shortlist.names)
    assert study.evaluations == play(TABLE).evaluations


def test_order_comes_from_the_seed_and_not_from_results() -> None:
    first = [[trial.block for trial in play(TABLE, seed=seed).trials[:32]] for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_a_larger_slack_stops_earlier() -> None:
    assert play(TABLE, epsilon=0.2).evaluations < play(TABLE).evaluations


@pytest.mark.parametrize("blocks", ["pool", "random"])
def test_errors_near_ties_are_below_delta(blocks: str) -> None:
    def errors_in(runs: int, seed: int) -> int:
        instance = shortlist.instances.table(near_ties("opposite"), m=2, blocks=blocks)
        given = {"delta": 0.3, "seed": seed, "max_samples": 600, "workers": 1, "progress": False}
        frame = shortlist.compare("auto", instance, runs=runs, **given).frame
        return int((frame["stopped"] & ~frame["correct"]).sum())

    shown_below(0.3, errors_in)


def test_bets_keep_their_peak() -> None:
    gains = np.zeros((2, 1, 2, 2))
    gains[:, 0, 0, 1] = 3.0, -2.0
    bets = Bets.none(np.zeros(1), 3).after(np.array([0, 2]), gains)
    assert (bets.now[0, 0, 2], bets.largest[0, 0, 2], bets.largest[0, 0, 1]) == (1.0, 3.0, -np.inf)


def test_a_pair_has_passed_at_a_slack_if_it_has_at_all_larger_ones() -> None:
    largest = np.array([9.0, 1.0, 5.0, 7.0])
    slacks = np.array([0.0, 0.1, 0.2, 0.5])
    bets = Bets(slacks, largest[:, None, None], largest[:, None, None])
    evidence = [bets.evidence(slack).item() for slack in (-0.01, 0.0, 0.1, 0.15, 0.2, 0.4, 0.9)]
    assert evidence == [-np.inf, 1.0, 1.0, 1.0, 5.0, 5.0, 7.0]
    assert [bets.bounds(level).item() for level in (1.0, 4.0, 6.0, 8.0)] == [0.0, 0.2, 0.5, np.inf]


def on(table: list[list[float | None]]) -> tuple[Reals, Mask]:
    """Results of every arm, and where there are any."""
    values = np.array(table, np.float64)
    return np.nan_to_num(values), ~np.isnan(values)


def test_what_is_seen_counts_pairs_on_common_blocks() -> None:
    seen = Seen.none(3).after(np.array([7]), *on([[1.0], [0.0], [1.0]]))
    seen = seen.after(np.array([2, 5]), *on([[1.0, 1.0], [None, None], [0.0, 1.0]]))
    assert seen.tally.both[0].tolist() == [3.0, 1.0, 3.0]
    assert seen.gaps[0].tolist() == pytest.approx([0.0, 1.0, 1.0 / 3.0])
    assert seen.tally.squares[0].tolist() == [0.0, 1.0, 1.0]
    # Later the second arm is evaluated on a block that others have seen, beside a new block.
    values, known = seen.on(np.array([5, 0]))
    assert (values[:, 0].tolist(), known[:, 0].tolist()) == ([1.0, 0.0, 1.0], [True, False, True])
    assert not known[:, 1].any()
    seen = seen.after(np.array([5, 0]), *on([[1.0, None], [0.5, 0.25], [1.0, None]]))
    assert (seen.pulls.tolist(), seen.tally.sums[1]) == ([3, 3, 3], 0.75)
    assert seen.tally.both[1].tolist() == [2.0, 3.0, 2.0]
    assert seen.gaps[0].tolist() == pytest.approx([0.0, 0.75, 1.0 / 3.0])
    assert seen.tally.squares[0].tolist() == pytest.approx([0.0, 1.25, 1.0])
    assert seen.numbers.tolist() == [7, 2, 5, 0]


def begun(table: Reals, **settings: object) -> CommonBlocks:
    """A strategy with its first plan."""
    given = {"m": 1, "sigma": "bounded", "reward_range": (0, 1), "blocks": table.shape[1]}
    study = shortlist.Study(arms=range(len(table)), seed=1, **{**given, **settings})
    strategy = study.round.copy().strategy
    strategy.begin(1)
    return strategy


def take(strategy: CommonBlocks, table: Reals) -> None:
    """Evaluate the plan, without making another."""
    arms, blocks = np.array(strategy.cells).T
    strategy._take(table[arms, blocks])


def test_a_pair_bets_on_the_blocks_that_either_arm_lacks() -> None:
    """What E is multiplied by, by hand: in a new order of four blocks, one of which both have seen."""
    table = np.array([[0.75, 0.5, 0.75, 0.25], [0.5, 0.5, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25]])
    strategy = begun(table)
    for arms in ([0, 1], [0, 2]):
        strategy._plan(np.array(arms), 1)
        take(strategy, table)
    seen = [int(block) for block in strategy._seen.numbers]
    strategy._draw(1)
    before = strategy._pairs.now[0, 0, 1]
    strategy._plan(np.array([0, 1]), 4)
    blocks = [int(block) for block in strategy._blocks]
    assert sorted(blocks) == [0, 1, 2, 3]
    assert Cell(0, seen[1]) not in strategy.cells  # it is known
    assert Cell(1, seen[1]) in strategy.cells
    gap = table[0, seen[0]] - table[1, seen[0]]
    spread, left, total = strategy._seen.variances[0, 1], 3.0, gap
    edge_at_least, expected = max(0.5 * np.sqrt(spread) - gap, 0.0), before
    for block in blocks:
        if block == seen[0]:
            continue  # both are known
        null = -total / left
        edge = max(gap - null + edge_at_least * 4.0 / left, 0.0)
        if -1.0 < null < 1.0:
            clip = 0.98 if spread < edge**2 else 0.9
            bet = min(edge / (spread + edge**2), clip / (1.0 + null))
            expected += np.log1p(bet * (table[0, block] - table[1, block] - null))
        total += table[0, block] - table[1, block]
        left -= 1.0
    take(strategy, table)
    assert strategy._pairs.now[0, 0, 1] == pytest.approx(expected, rel=1e-12)


def test_blocks_whose_turn_is_over_count_at_the_ends_of_their_range() -> None:
    """An arm that left out a block of the order bets against all that its results there may be."""
    table = np.array([[1.0, 0.5, 1.0, 0.25], [0.0, 0.5, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25]])
    strategy = begun(table)
    strategy._plan(np.array([0, 2]), 1)
    take(strategy, table)
    first = int(strategy._seen.numbers[0])
    strategy._plan(np.array([0, 1]), 1)
    block = int(strategy._blocks[0])
    null = -(table[0, first] - 1.0) / 3.0  # arm 1 has at most 1 there
    spread = strategy._seen.variances[0, 1]
    edge = max(-null + 0.5 * np.sqrt(spread) * 4.0 / 3.0, 0.0)
    bet = min(edge / (spread + edge**2), 0.9 / (1.0 + null))
    take(strategy, table)
    expected = np.log1p(bet * (table[0, block] - table[1, block] - null))
    assert strategy._pairs.now[0, 0, 1] == pytest.approx(expected, rel=1e-12)


def test_a_new_order_is_as_good_as_any() -> None:
    """Orders of a study are permutations that look independent of each other."""
    orders = np.array(
        [[Order.of(2, 6.0, seed, number).drawn for number in range(2)] for seed in range(3000)]
    )
    assert (np.sort(orders, axis=2) == np.arange(6)).all()
    for place in range(6):
        counts = np.histogram2d(orders[:, 0, 0], orders[:, 1, place], bins=6)[0]
        assert ((counts - 3000 / 36) ** 2 / (3000 / 36)).sum() < 70.0  # 35 degrees of freedom


def widened(epsilon: float, later: int) -> list[tuple[int, object]]:
    """The cells asked for in a study of fresh blocks, told of a later one before ε was made larger."""
    study = shortlist.Study(
        arms=range(8), m=2, sigma="bounded", reward_range=(0, 1), blocks="random", seed=1
    )
    measure = partial(value_of, TABLE)
    study.run(measure, max_evaluations=80, progress=False)
    study.tell(arm=0, block=later, value=0.0)
    study.widen(epsilon)
    study.run(measure, max_evaluations=400, progress=False)
    return [(trial.arm, trial.block) for trial in study.trials if trial.cause.origin != "unasked"]


def value_of(table: Reals, trial: shortlist.Trial) -> float:
    return float(table[trial.arm, int(trial.block) % 60])


def test_a_larger_slack_has_no_part_in_blocks_that_were_begun() -> None:
    """It may have been chosen by what was told of them, and with it their arms."""
    for later, is_same in ((999, True), (12, False)):
        fewer, more = sorted((widened(epsilon, later) for epsilon in (0.03, 0.15)), key=len)
        assert len(fewer) > 100
        assert (fewer == more[: len(fewer)]) == is_same


def pool(**settings: object) -> shortlist.Study:
    """A study of a pool, before its first result."""
    given = {"m": 2, "sigma": "bounded", "reward_range": (0, 1), "blocks": 60, "seed": 1}
    return shortlist.Study(arms=range(8), **{**given, **settings})


def test_whether_a_pool_begins_a_new_order_does_not_depend_on_a_larger_slack() -> None:
    """Who knows what comes could do without orders that are no good by making ε a little larger."""
    orders = []
    for epsilon in (None, 1e-9, 0.02):
        study = pool()
        measure = partial(value_of, TABLE)
        study.run(measure, max_evaluations=40, progress=False)
        later = int(study.round.strategy._order.drawn[-1])
        study.tell(arm=0, block=later, value=TABLE[0, later])
        if epsilon is not None:
            study.widen(epsilon)
        study.run(measure, max_evaluations=24, progress=False)
        strategy = study.round.strategy
        orders.append(strategy._order.drawn.tolist())
        assert strategy._slack == 0.0  # until the turn of that block is over, or a new order begins
    assert orders[0] == orders[1] == orders[2]


def test_a_new_order_goes_by_the_larger_slack_and_has_a_new_number() -> None:
    study = pool()
    study.run(partial(value_of, TABLE), max_evaluations=40, progress=False)
    strategy = study.round.strategy.copy()
    block = int(strategy._order.drawn[-1])
    strategy.leave_out([block])
    strategy.widen(0.02)
    assert strategy._widened == ((0.02, 60),)
    unwidened = Order.of(8, 60.0, 1, 0, strategy._drawn).drawn
    strategy._draw(1)
    assert strategy._slack == strategy._wanted == 0.02
    assert strategy._order.drawn.tolist() != unwidened.tolist()


@pytest.mark.parametrize("known", ["told", "failed"])
def test_who_chose_a_larger_slack_knew_results_of_an_arm_that_is_retired_later(known: str) -> None:
    """And of a trial that failed the place of its block: plans wait until the turn of both is over."""
    study = pool()
    measure = partial(value_of, TABLE)
    study.run(measure, max_evaluations=40, progress=False)
    if known == "told":
        later = int(study.round.strategy._order.drawn[-1])
        study.tell(arm=0, block=later, value=TABLE[0, later])
    else:
        trials = study.ask(100)
        later = int(trials[-1].block)
        for trial in trials:
            study.cancel(trial)
    study.widen(0.02)
    if known == "told":
        study.retire(0, reason="sold out", whatever_the_results=True)
    strategy = study.round.strategy
    [(_, turns)] = strategy._widened
    assert turns > strategy._order.past.blocks
    assert turns >= 1 + strategy._order.drawn.tolist().index(later)
    assert strategy._slack == 0.0


def test_a_second_larger_slack_does_not_put_off_the_first() -> None:
    strategy = pool(blocks="random").round.strategy.copy()
    strategy.begin(1)
    for block, epsilon in ((9, 0.1), (60, 0.2)):
        strategy.leave_out([block])
        strategy.widen(epsilon)
    slacks = []
    for _ in range(70):
        strategy._plan(np.arange(8), 1)
        strategy._take(np.zeros(8))
        strategy._widen_slack()
        slacks.append(strategy._slack)
    assert slacks == [0.0] * 9 + [0.1] * 51 + [0.2] * 10


def test_a_decision_that_is_interrupted_is_made_wholly_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = shortlist.Study(
        arms=range(8), m=2, sigma="bounded", reward_range=(0, 1), blocks=60, seed=1
    )
    now = study.round.copy()
    now.strategy.begin(1)
    now.told = {cell: TABLE[cell.arm, cell.block] for cell in [*now.strategy.cells, Cell(0, 59)]}
    cells, decide = now.strategy.cells, CommonBlocks.decide

    def interrupted(self: CommonBlocks, results: PlanResults, seed: int) -> None:
        decide(self, results, seed)
        raise KeyboardInterrupt

    monkeypatch.setattr(CommonBlocks, "decide", interrupted)
    with pytest.raises(KeyboardInterrupt):
        now.decide(1)
    assert now.strategy.cells is cells
    assert not now.missing
    monkeypatch.undo()
    held = now.strategy
    now.decide(1)
    assert now.strategy is held
    assert held.cells is not cells
    assert list(now.told) == [Cell(0, 59)] * (Cell(0, 59) not in cells)
