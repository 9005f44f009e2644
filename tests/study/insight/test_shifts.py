"""Whether results that came together share a shift: found where they do, and hardly ever elsewhere."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from shortlist import Study
from shortlist.errors import LinearityRejected
from shortlist.noise import Noise
from shortlist.noise.spread import Spread
from shortlist.study.insight.linearity_words import spread
from shortlist.study.insight.shifts import Levels, Shifts, together

NAMES = [f"c{k}" for k in range(8)]
MEANS = np.linspace(0.0, 1.0, 8)


def on_plates(size: float, *, one_by_one: bool = False, sigma: float = 0.2) -> Study:
    rng = np.random.default_rng(4)
    study = Study(arms=NAMES, m=2, sigma=sigma, seed=1)
    for _ in range(6):
        shift = size * rng.standard_normal()
        if study.done:
            study.reopen()
        trials = study.ask(12)
        told = [(t, MEANS[t.arm] + shift + 0.2 * rng.standard_normal()) for t in trials]
        if one_by_one:
            for trial, value in told:
                study.tell(trial, value)
        else:
            study.tell_many(told)
    return study


def findings(study: Study) -> dict[str, object]:
    return {finding.name: finding for finding in study.health()}


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_plate_effect_is_found_and_sigma_is_not_blamed(one_by_one):
    found = findings(on_plates(0.5, one_by_one=one_by_one))
    assert found["shift"].level == "warning"
    assert "plate or day effect" in found["shift"].words
    assert ("asked for" if one_by_one else "told") in found["shift"].words
    assert found["shift"].badge == "plate or day effect"
    assert found["noise"].level == "note"
    assert "need not be larger" in found["noise"].meaning


def test_neither_sigma_nor_the_features_are_blamed_where_the_study_cannot_stop():
    features = np.random.default_rng(0).normal(size=(20, 3))
    study = Study(features, m=3, sigma=0.3, seed=0)
    noise = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last of them is what is tested
        while study.audit.rejection is None:
            shift = 2.0 * noise.standard_normal()
            study.tell_many(
                (t, features[t.arm, 0] + shift + 0.3 * noise.standard_normal())
                for t in study.ask(16)
            )
    with pytest.raises(LinearityRejected, match=r"share a shift .* a plate or day effect"):
        study.ask()
    made = study.shortlist.guarantee
    assert made.badge == "Not certified: plate or day effect"
    assert made.short.endswith(
        "No result is lost: study.continued(blocks='shift') goes on with all of them, and the shifts "
        "cancel; there it guides, and later results prove."
    )
    levels = {finding.name: finding.level for finding in study.health()}
    assert (levels["shift"], levels["noise"], levels["fit"]) == ("warning", "note", "untested")
    assert study.continued(blocks="shift").audit.rejection is None


def test_both_are_named_where_the_noise_within_plates_is_too_large_as_well():
    found = findings(on_plates(0.5, sigma=0.1))
    assert found["shift"].level == "warning"
    assert found["noise"].level == "warning"
    assert "both are wrong" in found["noise"].meaning


def test_nothing_is_found_without_shifts_and_nothing_is_tested_one_by_one():
    assert findings(on_plates(0.0))["shift"].level == "fine"
    study = Study(arms=NAMES, m=2, sigma=0.2, seed=1)
    for _ in range(40):
        trial = study.ask()
        study.tell(trial, MEANS[trial.arm])
    assert together(study) is None
    assert "shift" not in findings(study)


def test_the_guarantee_is_in_doubt_and_the_remedy_works_as_written():
    study = on_plates(0.5)
    assert "study.continued(blocks='shift')" in findings(study)["shift"].meaning
    after = study.continued(blocks="shift")
    assert after.evaluations == study.evaluations
    assert "shift" not in findings(after)
    assert findings(after)["noise"].level in ("fine", "note")
    rng = np.random.default_rng(5)
    while not after.done:
        shift = rng.standard_normal()
        after.tell_many(
            (t, MEANS[t.arm] + shift + 0.2 * rng.standard_normal()) for t in after.ask(24)
        )
    assert set(after.shortlist.names) == {"c6", "c7"}
    assert after.shortlist.guarantee.status == "proven"
    went = dict(after.shortlist.guarantee.conditions)["Carried over"]
    assert went.startswith(
        f"Results carried over from an earlier study: {study.evaluations}. They guided"
    )


@pytest.mark.parametrize("kind", ["normal", "coins", "skewed"])
def test_the_level_is_as_stated(kind):
    """Below 0.01 in about one of 100; more than 22 of 1,000 are improbable (p < 0.001)."""
    rng, below = np.random.default_rng(6), 0
    for _ in range(1000):
        arms, groups = rng.integers(0, 10, 96), np.repeat(np.arange(8), 12)
        chance = np.linspace(0.1, 0.9, 10)[arms]
        values = {
            "normal": rng.standard_normal(96),
            "coins": (rng.random(96) < chance).astype(float),
            "skewed": rng.standard_exponential(96),
        }[kind]
        found = Shifts.of(arms, groups, values, np.ones(10))
        assert found is not None
        below += found.p < 0.01
    assert below <= 22


def test_results_without_noise_and_groups_that_share_no_arm():
    arms, groups = np.tile(np.arange(4), 3), np.repeat(np.arange(3), 4)
    exact = Shifts.of(arms, groups, arms + 5.0 * groups, np.ones(4))
    assert exact is not None
    assert exact.is_found
    assert Shifts.of(arms, groups, arms * 1.0, np.ones(4)).p > 0.1
    assert Shifts.of(np.arange(12), groups, np.arange(12.0), np.ones(12)) is None


def advised(study: Study, name: str) -> Study:
    """The study continued as this finding says."""
    said = next(each.meaning for each in study.health() if each.name == name)
    [settings] = re.findall(r"study\.continued\((.*?)\) goes on", said)
    return study.continued(**eval(f"dict({settings})"))


@pytest.mark.parametrize("sigma", ["estimate per arm", "estimate", 0.3, [0.3] * 8])
def test_what_is_advised_for_a_plate_effect_can_be_done(sigma):
    study, rng = Study(arms=NAMES, m=2, sigma=sigma, seed=1), np.random.default_rng(2)
    for _ in range(11):
        shift = 5.0 * rng.standard_normal()
        study.tell_many((t, shift + 0.2 * rng.standard_normal()) for t in study.ask(24))
    assert advised(study, "shift").problem.blocks.shifts


@pytest.mark.parametrize("wells", [2, 5, 12])
def test_noise_within_plates_has_the_degrees_of_freedom_that_shifts_leave(wells):
    study, rng = Study(arms=NAMES, m=2, sigma=0.2, blocks="shift", seed=1), np.random.default_rng(3)
    for _ in range(60 // wells):
        study.tell_many((t, 9.0 * t.block + rng.standard_normal()) for t in study.ask(wells))
    arms, blocks = np.array([(t.arm, t.block_index) for t in study.taken]).T
    values = np.array([t.value for t in study.taken])
    levels = np.column_stack([np.eye(8)[arms], np.eye(blocks.max() + 1)[blocks]])
    fitted, _, rank, _ = np.linalg.lstsq(levels, values, rcond=None)
    squares, degrees = ((values - levels @ fitted) ** 2).sum(), len(values) - int(rank)
    assert spread(study).replicates == degrees
    assert spread(study).total == pytest.approx(squares)
    assert f"({degrees} degrees of freedom)" in findings(study)["noise"].words


@pytest.mark.parametrize("wells", [2, 3, 12])
def test_sigma_is_not_doubted_more_often_within_plates(wells):
    rng, noise, doubted = np.random.default_rng(5), Noise.of(0.4), 0
    blocks = np.arange(84) // wells
    for _ in range(300):
        arms = np.concatenate([rng.permutation(7) for _ in range(12)])
        values = rng.normal(0.0, 0.4, 84)
        levels = Levels.of(arms, blocks, values, np.ones(7))
        results = Spread.of(arms, values - levels.each, np.ones(7), levels.taken)
        level, *_ = noise.finding(results, range(7))
        doubted += level in ("note", "warning")
    assert doubted <= 30  # 5 % at the level of a note, and some for σ that is too large


def test_plates_that_leave_an_arm_next_to_nothing_are_weighed():
    study = Study(arms=range(12), m=2, sigma=0.1, blocks="shift", seed=1)
    for block in range(12):
        for arm in (block, (block + 1) % 12):
            study.tell(arm=arm, value=float(np.sin(arm)), block=block)
    assert "(1 degree of freedom)" in findings(study)["noise"].words
    assert findings(study)["noise"].level != "warning"


@pytest.mark.parametrize("noisy", [range(8), [7]])
def test_a_larger_sigma_is_advised_that_plates_take(noisy):
    sigma = np.where(np.isin(np.arange(8), list(noisy)), 0.6, 0.1)
    study, rng = (
        Study(arms=NAMES, m=2, sigma=[0.1] * 8, blocks="shift", seed=1),
        np.random.default_rng(4),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is tested
        for _ in range(8):
            study.tell_many((t, sigma[t.arm] * rng.standard_normal()) for t in study.ask(12))
        larger = advised(study, "noise")
        assert larger.problem.noise.word == "estimate per arm"
        assert findings(larger)["noise"].level != "warning"
