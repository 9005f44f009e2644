"""Arms compared within blocks: right, exact at the end of a pool, and rarely wrong near ties."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import shortlist
from blocks import near_ties, prompts
from error_rates import shown_below
from shortlist.arrays import Reals
from shortlist.blocks import Cell
from shortlist.plans.blocks.paired import Bets, CommonBlocks, Seen
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
    assert "The answer is exact" in study.shortlist.guarantee.text
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
    gains = np.zeros((2, 2, 2))
    gains[:, 0, 1] = 3.0, -2.0
    bets = Bets.none(3).after(np.array([0, 2]), gains)
    assert (bets.now[0, 2], bets.largest[0, 2], bets.largest[0, 1]) == (1.0, 3.0, -np.inf)


def test_what_is_seen_counts_pairs_on_common_blocks() -> None:
    seen = Seen.none(3).after(np.arange(3), np.array([[1.0], [0.0], [1.0]]))
    seen = seen.after(np.array([0, 2]), np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert seen.both[0].tolist() == [3.0, 1.0, 3.0]
    assert seen.gaps[0].tolist() == pytest.approx([0.0, 1.0, 1.0 / 3.0])
    filled = seen.filled(np.array([1]), np.array([2]), np.array([0.5]))
    assert (filled.pulls.tolist(), filled.sums[1]) == ([3, 2, 3], 0.5)
    assert filled.both[0, 1] == 1.0  # it was known before the pair could bet on it


def widened(epsilon: float, *, last: bool) -> list[tuple[int, object]]:
    """The cells asked for in a study whose ε is made larger, after it was told of the last block or not."""
    begun = {"m": 2, "sigma": "bounded", "reward_range": (0, 1), "blocks": 60, "seed": 1}
    study = shortlist.Study(arms=range(8), **begun)
    measure = partial(value_of, TABLE)
    study.run(measure, max_evaluations=80, progress=False)
    if last:
        place = int(study.round.strategy._order[-1])
        study.tell(arm=0, block=place, value=TABLE[0, place])
    study.widen(epsilon)
    study.run(measure, progress=False)
    assert study.done
    return [(trial.arm, trial.block) for trial in study.trials if trial.cause.origin != "unasked"]


def value_of(table: Reals, trial: shortlist.Trial) -> float:
    return float(table[trial.arm, int(trial.block)])


def test_a_larger_slack_has_no_part_in_blocks_that_were_begun() -> None:
    """It may have been chosen by what was told of them, and with it their arms."""
    for last in (False, True):
        fewer, more = sorted((widened(epsilon, last=last) for epsilon in (0.03, 0.1)), key=len)
        assert len(fewer) > 100
        assert (fewer == more[: len(fewer)]) == last


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
