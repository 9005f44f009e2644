"""Normal differences within blocks: exact where they can be checked, and rarely wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import shortlist
from shortlist import Study, errors
from shortlist.noise.estimated import DEGREES_WITHIN
from shortlist.plans.bets.normal import Moments, price
from shortlist.plans.blocks.normal import Differences, moments_of
from shortlist.plans.blocks.paired import FIRST
from stored import assert_same

MEANS = np.array([1.0, 0.8, 0.2, 0.0, -0.5])


def begin(**given: Any) -> Study:
    settings: dict[str, Any] = {"arms": list("abcde"), "m": 2, "sigma": "estimate per arm"}
    return Study(**{**settings, "blocks": "random", "seed": 0, **given})


def value(trial: shortlist.Trial, shared: float = 5.0) -> float:
    """Noise that all arms of a block share, and a little of the arm's own."""
    common = np.random.default_rng(trial.seed).standard_normal()
    own = np.random.default_rng([trial.seed, trial.arm]).standard_normal()
    return float(MEANS[trial.arm] + shared * common + 0.2 * own)


def test_moments_are_those_of_the_differences() -> None:
    table = np.random.default_rng(0).normal(size=(3, 6))
    found = moments_of(5, np.array([0, 2, 4]), table)
    d = table[0] - table[2]
    assert found.means[0, 4] == pytest.approx(d.mean())
    assert found.squares[0, 4] == pytest.approx(6 * d.var())
    assert found.pulls[0].tolist() == [6.0, 0.0, 6.0, 0.0, 6.0]
    shared = 1e6 + 1e-6 * table  # what arms differ by is not lost in what they share
    assert moments_of(3, np.arange(3), shared).squares[0, 2] == pytest.approx(
        1e-12 * 6 * d.var(), rel=1e-2
    )


def test_evidence_is_below_that_of_who_knows_the_truth() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        n, scale = int(rng.integers(2, 40)), float(np.exp(rng.normal()))
        y = scale * rng.standard_normal(n)
        prior = Moments(*(np.array([[each]]) for each in (4.0, 0.1 * scale, 3.0 * scale**2)))
        more = Moments(*(np.array([[each]]) for each in (float(n), y.mean(), n * y.var())))
        found = Differences.after_blocks(prior, np.zeros(1)).with_blocks(more, 0.0)
        paid = float(price(prior, more)[0, 0])
        predicted = -0.5 * n * math.log(2.0 * math.pi * math.e * y.var()) - paid
        assert found.log_evidence(0.0)[0, 0] <= predicted - norm.logpdf(y, 0.0, scale).sum() + 1e-9
        level = float(found.log_evidence(0.0)[0, 0])
        if y.mean() > 0.0 and level > 0.0:
            assert found.bounds(level)[0, 0] == pytest.approx(0.0, abs=1e-8 * scale)


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.8])
def test_a_tie_passes_as_rarely_as_promised(delta: float) -> None:
    rng, paths = np.random.default_rng(2), 4000

    def drawn(blocks: int) -> Moments:
        squares = rng.chisquare(blocks - 1, paths)
        return Moments(np.full(paths, float(blocks)), rng.normal(size=paths) / blocks**0.5, squares)

    found = Differences.after_blocks(drawn(4), np.zeros(1))
    for look in range(60):
        found = found.with_blocks(drawn(2 + look // 4), 0.0)
    assert (found.largest >= -math.log(delta)).mean() <= delta


def test_blocks_take_away_what_they_share() -> None:
    study = begin()
    assert FIRST == DEGREES_WITHIN + 1
    assert study.run(value, progress=False).names == ["a", "b"]
    alone = begin(blocks=None)
    alone.run(value, max_evaluations=2 * study.evaluations, progress=False)
    assert not alone.done
    guarantee = study.shortlist.guarantee
    assert guarantee.status == "proven"
    assert "differences of two arms within a block are normal" in guarantee.text
    assert "every block is drawn afresh" in guarantee.text
    by_block = {trial.block: trial.seed for trial in study.trials}
    assert all(by_block[trial.block] == trial.seed for trial in study.trials)
    assert shortlist.report.html(study)
    assert all(finding.level != "warning" for finding in study.health())


def test_smallest_means_batches_and_a_wider_slack() -> None:
    study = begin(direction="minimize")
    study.run(lambda trial: -value(trial), batch=8, progress=False)
    assert study.shortlist.names == ["a", "b"]
    tied = begin(arms=list("abcde"), seed=1)
    tied.run(lambda trial: value(trial) - MEANS[trial.arm], max_evaluations=100, progress=False)
    assert not tied.done
    assert math.isfinite(tied.statistic or math.inf)
    assert tied.shortlist.certain is not None
    least = tied.shortlist.certain.epsilon
    assert least is not None
    assert 0.0 < least < 1.0
    tied.widen(0.9 * least)
    assert not tied.done
    tied.widen(least)
    assert tied.done


def test_stored(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = begin(storage=place)
    study.run(value, max_evaluations=33, progress=False)
    assert_same(Study.load(place), study)
    assert Study.load(place).run(value, progress=False).names == ["a", "b"]


def test_what_is_refused() -> None:
    with pytest.raises(errors.InvalidSetting, match="a pool are fixed numbers"):
        begin(blocks=50)
    for sigma in (1.0, "estimate"):
        with pytest.raises(errors.InvalidSetting, match="sigma='estimate per arm' for the seeds"):
            begin(sigma=sigma)
    with pytest.raises(errors.InvalidInput, match="all replicates are 0 or 1"):
        begin().run(lambda trial: float(trial.seed % 5 > trial.arm), progress=False)


@pytest.mark.parametrize(
    "noise", [{"sigma": "estimate per arm"}, {"sigma": "bounded", "reward_range": (0.0, 1.0)}]
)
def test_of_two_results_of_a_cell_the_first_counts(noise: dict[str, Any]) -> None:
    once, twice = (Study(arms=["a", "b"], m=1, blocks="random", seed=0, **noise) for _ in "ab")
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.random(2).tolist()
        for study in (once, twice):
            for trial, value in zip(study.ask(2), values, strict=True):
                if study is twice and trial.arm == 0:
                    study.tell(trial, value)
                    study.tell_unasked([("a", 0.99, None, trial.block)])
                else:
                    study.tell(trial, value)
    assert twice.round.strategy.inside.tolist() == once.round.strategy.inside.tolist()
    first, second = (each.round.strategy._seen.tally.sums for each in (once, twice))
    assert first.tolist() == second.tolist()


def test_the_unit_is_that_of_the_first_blocks() -> None:
    strategies = []
    for scale in (1.0, 1000.0):
        study = Study(arms=["a", "b"], m=1, blocks="random", sigma="estimate per arm", seed=0)
        rng = np.random.default_rng(0)
        ahead = study.ask(48)
        value = {trial.number: rng.normal() for trial in ahead}
        for trial in ahead[40:]:
            study.tell(trial, scale * value[trial.number])
        for trial in ahead[:8]:
            study.tell(trial, value[trial.number])
        strategies.append(study.round.strategy)
    assert strategies[0]._width == strategies[1]._width
    assert strategies[0].plan.tolist() == strategies[1].plan.tolist()
