"""σ that is estimated within plates: how often the bound holds, when it is known, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from command_line import asked, does
from plate_results import SIGMA, PlateResults
from samples import improbability
from shortlist import Study
from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.noise import Noise
from shortlist.noise.estimated import DEGREES, FEWEST
from shortlist.noise.replicates import FirstResults
from shortlist.plans.blocks.shifted import BlockEquations, by_rounds
from shortlist.plans.results import PlanResults
from shortlist.report import html
from stored import assert_same

MEANS = np.linspace(0.0, 3.0, 10)
NAMES = [f"c{k}" for k in range(10)]
value, measured = PlateResults(MEANS).value, PlateResults(MEANS).measured
FEATURES = np.column_stack([np.ones(10), MEANS, MEANS**2])
PLATES = 7  # of twelve wells: the first plan has 70 pulls


def begin(storage: str | Path | None = None, **given: object) -> Study:
    given = {"arms": NAMES, "m": 2, "sigma": "estimate", "seed": 3, "blocks": "shift", **given}
    return Study(storage=storage, **given)  # type: ignore[arg-type]


def first(arms: list[int], blocks: list[int], values: object = 0.0) -> FirstResults:
    """Results after the last of which the first plan is in."""
    count, cells = len(arms), (np.array(arms), np.array(blocks))
    last = np.arange(count) == count - 1
    return FirstResults(*cells, np.zeros(count) + values, last, np.bincount(arms))


def drawn(rng: np.random.Generator) -> FirstResults:
    """A first plan on plates of six, of which wells failed, with shifts by the results before them."""
    arms, blocks = np.array([rng.permutation(8) for _ in range(9)]).ravel(), np.arange(72) // 6
    stays = rng.random(72) > 0.1
    arms, blocks = arms[stays], blocks[stays]
    values = SIGMA * rng.standard_normal(len(arms)) + 3.0 * arms
    for block in range(1, 12):
        values[blocks == block] += 100.0 * SIGMA * np.sign(values[blocks == block - 1].sum())
    return first(arms.tolist(), blocks.tolist(), values)


def held_too_rarely(draws: int, risk: float) -> float:
    """How improbable it would be that the bound fails so often."""
    rng, noise = np.random.default_rng(7), Noise.of("estimate").within_blocks()
    found = (noise.known_by(drawn(rng), risk / 0.2) for _ in range(draws))
    return improbability(sum(each.sigma < SIGMA for each in found if each), draws, risk)


def test_the_bound_holds_as_often_as_promised_whatever_the_shifts():
    assert held_too_rarely(1000, 0.16) > 0.001


def test_degrees_of_freedom_that_shifts_took_are_missed(monkeypatch):
    honest = FirstResults.spread_within.fget
    assert honest is not None

    def generous(self: FirstResults) -> tuple[float, int]:
        squares, degrees = honest(self)
        return squares, degrees + len(set(self.blocks.tolist()))

    monkeypatch.setattr(FirstResults, "spread_within", property(generous))
    assert held_too_rarely(1000, 0.16) < 1e-6


def test_squares_and_degrees_are_those_of_levels_and_means():
    rng = np.random.default_rng(0)
    for blocks_of in (2, 3, 8):  # of two: not all arms are connected
        arms, blocks = rng.integers(0, 9, 24), np.arange(24) // blocks_of
        table = np.hstack([np.eye(9)[arms], np.eye(24)[blocks]])
        noise = rng.standard_normal(24)
        left = noise - table @ np.linalg.lstsq(table, noise, rcond=None)[0]
        values = noise + 5.0 * arms + 1000.0 * np.sin(blocks)
        squares, degrees = first(arms.tolist(), blocks.tolist(), values).spread_within
        assert degrees == 24 - np.linalg.matrix_rank(table)
        assert squares == pytest.approx(float(left @ left), rel=1e-9)


def test_the_sums_that_estimate_means_say_nothing_of_the_spread():
    """Their correlation with the squares is that of independent numbers."""
    rng, found, each = np.random.default_rng(1), [], drawn(np.random.default_rng(5))
    for _ in range(400):
        noise = SIGMA * rng.standard_normal(len(each.arms))
        each = each._replace(values=noise)
        results = PlanResults.of(8, each.arms, noise, each.blocks)
        sums = BlockEquations.of(results, np.ones(8)).sums
        found.append([each.spread_within[0], float(np.abs(sums).max())])
    assert abs(np.corrcoef(np.array(found).T)[0, 1]) < 4.0 / np.sqrt(400)


def test_sigma_is_known_when_the_first_plan_is_in_and_stays():
    study = begin()
    initial = study.procedure.engine.setup.initial.tolist()
    assert len(initial) == 70
    assert "to be estimated from the first plan" in study.claim.text
    measured(study, 5)
    assert "10 more (pulls of the first plan)" in str(study.remaining())
    assert {each.name: each.level for each in study.health()}["noise"] == "untested"
    trials = study.ask(12)
    for trial in trials[:-1]:
        study.tell(trial, value(trial))
        assert study.problem.noise.awaits_estimate  # others of its plate are under way
    study.fail(trials[-1], "the well was empty")
    found = study.problem.noise.found
    assert found.degrees == 71 - 10 - 6 + 1
    arms, blocks = ([t.arm for t in study.taken], [t.block_index for t in study.taken])
    squares, degrees = first(arms, blocks, [t.value for t in study.taken]).spread_within
    assert degrees == found.degrees
    assert found.spread**2 == pytest.approx(squares / degrees)
    assert SIGMA < found.sigma < 2 * SIGMA
    assert study.procedure.engine.setup.initial.tolist() == initial
    assert study.round.strategy._results.pulls.tolist() == np.bincount(arms).tolist()
    assert study.round.strategy._problem.delta == pytest.approx(0.8 * study.problem.delta)
    measured(study, 60)
    assert study.problem.noise.found == found
    assert study.shortlist.names == ["c9", "c8"]
    assert study.shortlist.guarantee.status == "proven"
    assert f"σ ≤ {found.sigma:.4g} by 56 degrees of freedom within blocks" in study.claim.text
    assert all(each.level != "warning" for each in study.health())
    assert "within blocks of the first plan" in html(study)
    assert study.history().checkpoints["evaluation"].min() >= 71


@pytest.mark.parametrize("seed", range(4))
def test_sigma_is_from_the_very_results_of_the_first_plan(seed):
    """Whatever is under way, fails and is told first: on two plates at once, of any size."""
    rng, study = np.random.default_rng(seed), begin(seed=seed)
    while study.problem.noise.awaits_estimate:
        trials = [t for _ in range(2) for t in study.ask(int(rng.integers(2, 15)))]
        for place in rng.permutation(len(trials)).tolist():
            trial = trials[place]
            if rng.random() < 0.05:
                study.fail(trial, "empty")
            else:
                study.tell(trial, value(trial))
            if not study.problem.noise.awaits_estimate:
                break
    known, taken = study.round.strategy._results.pulls, study.taken
    assert known.tolist() == np.bincount([t.arm for t in taken], minlength=10).tolist()
    cells = [t.arm for t in taken], [t.block_index for t in taken]
    squares, degrees = first(*cells, [t.value for t in taken]).spread_within
    found = study.problem.noise.found
    assert found.degrees == degrees
    assert found.spread == pytest.approx(np.sqrt(squares / degrees))


def test_a_stored_study_is_the_same_before_and_after_sigma_is_known(tmp_path):
    storage, whole = tmp_path / "study.db", measured(begin(), 5)
    measured(begin(storage), 5)
    trials, same = whole.ask(12), Study.load(storage).ask(12)
    for trial, other in zip(reversed(trials), reversed(same), strict=True):
        whole.tell(trial, value(trial))
        Study.load(storage).tell(other, value(other))
        if other.number in (60, 61, 71):
            assert Study.load(storage).problem.noise.found == whole.problem.noise.found
    again = Study.load(storage)
    assert not again.problem.noise.awaits_estimate
    assert_same(whole, again)
    assert [t.cell for t in measured(whole, 2).ask(12)] == [
        t.cell for t in measured(again, 2).ask(12)
    ]
    again.correct(3, again.trials[3].value + 1.0, reason="typo")
    assert_same(again, Study.load(storage))
    assert again.problem.sigma != whole.problem.sigma
    assert not again.claim.proven


def test_plates_of_two_have_more_of_them(tmp_path):
    study = begin(tmp_path / "small.db", arms=NAMES[:6])
    for plates, initial, left in ((32, 66, 2), (1, 132, 66), (32, 132, 2)):
        measured(study, plates, 2)
        assert len(study.procedure.engine.setup.initial) == initial
        assert f"{left} more (pulls of the first plan)" in str(study.remaining())
    measured(study, 1, 2)
    assert FEWEST * DEGREES <= study.problem.noise.found.degrees == 132 - 66 - 6 + 1
    assert_same(study, Study.load(tmp_path / "small.db"))
    assert study.round.strategy._results.pulls.tolist() == [22] * 6
    assert study.claim.proven


def test_arms_meet_others_in_every_round():
    arms, earlier = by_rounds(np.full(24, 4), seed=1)
    rounds = arms.reshape(4, 24)
    assert (np.sort(rounds) == np.arange(24)).all()
    assert (earlier.reshape(4, 24) == np.arange(4)[:, None]).all()
    assert len({tuple(each) for each in rounds.tolist()}) == 4
    study = begin(arms=range(24), m=2)
    for _ in range(12):  # on plates of twelve every arm would always meet the same eleven
        study.tell_many((t, 0.1 * t.arm + np.sin(t.number)) for t in study.ask(12))
    assert study.round.strategy._whole.compares_all
    assert study.problem.noise.found.degrees == 96 - 24 - 8 + 1


def test_what_is_refused_and_what_works_instead():
    with pytest.raises(InvalidSetting, match="write sigma='estimate', for normal noise with one σ"):
        begin(sigma="estimate per arm")
    unblocked = begin(blocks=None)
    unblocked.tell_many((t, MEANS[t.arm] + np.sin(t.number)) for t in unblocked.ask(12))
    assert unblocked.continued(blocks="shift").problem.noise.awaits_estimate
    per_arm = begin(blocks=None, sigma="estimate per arm")
    with pytest.raises(InvalidSetting, match="write sigma='estimate'"):
        per_arm.continued(blocks="shift")
    assert per_arm.continued(blocks="shift", sigma="estimate").claim.proven


def test_results_of_two_values_and_results_without_noise():
    coins = begin()
    for _ in range(5):
        coins.tell_many((t, float(t.seed % 3 > 0)) for t in coins.ask(12))
    trials = coins.ask(12)
    with pytest.raises(InvalidInput, match="all replicates are 0 or 1"):
        coins.tell_many((t, float(t.seed % 3 > 0)) for t in trials)
    other = coins.continued(sigma="bounded", reward_range=(0, 1))
    assert other.evaluations == coins.evaluations == 60
    exact = begin()
    for _ in range(6):
        exact.tell_many((t, float(t.arm) + 100.0 * t.block_index) for t in exact.ask(12))
    assert not exact.claim.proven
    assert "no σ can be estimated" in exact.claim.text


def test_results_that_are_mostly_equal_are_not_normal():
    study, rng = begin(), np.random.default_rng(2)
    while study.problem.noise.awaits_estimate:  # most are below what can be measured
        study.tell_many((t, max(0.0, rng.normal() - 0.5)) for t in study.ask(12))
    assert study.problem.noise.found.spread > 0.0
    assert not study.claim.proven
    assert "more than half of the first results are equal" in study.claim.text


def test_features_controls_and_smallest_means():
    linear = measured(begin(arms=None, features=FEATURES), 60)
    assert linear.shortlist.names == [9, 8]
    assert linear.claim.proven
    assert {each.name: each.level for each in linear.health()}["fit"] == "fine"
    bent = begin(arms=None, features=FEATURES[:, :2] + [[0, 5.0 * (k == 4)] for k in range(10)])
    measured(bent, 12)  # its means are not linear: σ does not depend on that
    assert bent.problem.sigma < 2 * SIGMA
    assert {each.name: each.level for each in bent.health()}["fit"] == "warning"
    least = measured(begin(direction="minimize", controls=["c0"]), 60)
    assert set(least.shortlist.names) == {"c1", "c2"}
    counts = np.bincount([t.arm for t in least.taken if t.block_index < 7], minlength=10)
    assert counts[0] == 7
    fewer = begin()
    fewer.retire("c3", reason="x", whatever_the_results=True)
    assert measured(fewer, 7).claim.proven
    assert fewer.problem.sigma < 2 * SIGMA


def test_arms_with_other_noise_are_found_and_the_advice_can_be_followed():
    study = begin(epsilon=0.01)
    for _ in range(14):
        study.tell_many(
            (t, value(t) + 3.0 * (t.arm == 2) * np.sin(10.0 * t.number)) for t in study.ask(12)
        )
    noise = next(each for each in study.health() if each.name == "noise")
    assert noise.level == "warning"
    assert "per arm" not in noise.meaning
    study.continued(sigma=3.0)
    carried = study.continued(delta=0.1)  # σ is estimated there too, from the same results
    assert carried.problem.noise.found.spread == study.problem.noise.found.spread
    assert not carried.claim.proven


def test_without_blocks_only_the_first_plan_counts():
    study = begin(blocks=None, algorithm="Guess-and-verify (plates)")
    for k in range(12):
        study.tell(arm="c4", value=np.sin(k))
    assert study.problem.noise.awaits_estimate
    while study.problem.noise.awaits_estimate:
        study.tell_many((t, MEANS[t.arm] + np.sin(t.number)) for t in study.ask(12))
    assert study.problem.noise.found.degrees == 70 - 10
    assert study.round.strategy._results.pulls.tolist() == [7] * 10


def test_by_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"arms = {NAMES}".replace("'", '"'), "m = 2", 'sigma = "estimate"', 'blocks = "shift"']
    Path("screen.toml").write_text("\n".join(lines))
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "σ within blocks to be estimated from the first plan" in said
    assert "70 pulls of the first plan" in said
    measured(Study.load("screen.db"), 7)
    status = asked("status", "screen.toml")
    assert status["evaluations"] == 84
    assert "within blocks of the first plan" in str(status["guarantee"])
    does("report", "screen.toml")
