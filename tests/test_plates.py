"""A study whose requests are plates: each with a shift, told in any way, killed, stored, gone on with."""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from command_line import asked, does
from plate_results import SIGMA, PlateResults
from shortlist import Study
from shortlist.errors import ArmSetAside, InvalidInput, InvalidSetting
from shortlist.report import html
from shortlist.study.plate import match, read_plate, write_plate
from stored import assert_same, later

MEANS = np.linspace(0.0, 3.0, 10)
NAMES = [f"c{k}" for k in range(10)]
value, measured = PlateResults(MEANS).value, PlateResults(MEANS).measured
FEATURES = np.column_stack([np.ones(10), MEANS, MEANS**2])


def begin(storage: str | Path | None = None, **given: object) -> Study:
    given = {"arms": NAMES, "m": 2, "sigma": SIGMA, "seed": 3, "blocks": "shift", **given}
    return Study(storage=storage, **given)  # type: ignore[arg-type]


def test_every_request_is_a_block_and_shifts_do_not_matter():
    study = measured(begin(), 60)
    assert study.done
    assert set(study.shortlist.names) == {"c8", "c9"}
    for block, first in enumerate(range(0, len(study.trials), 12)):
        plate = study.trials[first : first + 12]
        assert {trial.block for trial in plate} == {block}
        assert len({trial.seed for trial in plate}) == 12
    assert study.shortlist.guarantee.status == "proven"
    assert "shifts are shared by all results of a block" in study.shortlist.guarantee.text
    assert all(finding.level != "warning" for finding in study.health())
    assert study.trials_dataframe()["block"].tolist() == [trial.block for trial in study.trials]


def test_means_are_at_the_level_of_the_average_block():
    study = measured(begin(), 60)
    levels = [value(trial) - MEANS[trial.arm] for trial in study.taken]
    table = study.table().sort_values("name")
    assert (np.abs(table["estimate"] - MEANS - np.mean(levels)) < 1.0).all()
    relative = MEANS - MEANS.mean()
    level = float(table["mean"].mean())
    assert (table["lower"] < relative + level).all()
    assert (table["upper"] > relative + level).all()


def test_a_single_trial_says_nothing():
    with pytest.raises(InvalidSetting, match=r"study\.ask\(24\)"):
        begin().ask()
    with pytest.raises(InvalidSetting, match="batch=24"):
        begin().run(value, progress=False)


def test_the_first_plate_is_in_random_order_by_the_seed():
    orders = {tuple(trial.arm for trial in begin(seed=seed).ask(10)) for seed in range(5)}
    assert len(orders) == 5
    assert tuple(range(10)) not in orders
    assert all(sorted(order) == list(range(10)) for order in orders)


def test_told_by_the_well_by_the_plate_or_from_a_file_it_is_the_same(tmp_path):
    whole, single, by_file = begin(), begin(), begin()
    for _ in range(4):
        whole.tell_many((trial, value(trial)) for trial in whole.ask(12))
        for trial in single.ask(12):
            single.tell(trial, value(trial))
        trials = by_file.ask(12)
        lines = write_plate(by_file, trials).splitlines()
        assert lines[0].split(",")[:4] == ["study", "trial", "arm", "block"]
        filled = [lines[0]] + [
            f"{line}{value(trial)!r}" for line, trial in zip(lines[1:], trials, strict=True)
        ]
        file = tmp_path / "plate.csv"
        file.write_text("\n".join(filled))
        by_file.tell_many(match(file, read_plate(file), by_file).results)
    assert_same(whole, single)
    assert_same(whole, by_file)


def test_a_stored_study_goes_on_as_if_it_had_never_been_closed(tmp_path):
    storage = tmp_path / "study.db"
    begin(storage)
    for _ in range(6):
        measured(Study.load(storage), 1)
    memory, again = measured(begin(), 6), Study.load(storage)
    assert_same(memory, again)
    assert [t.cell for t in memory.ask(12)] == [t.cell for t in again.ask(12)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_within_a_plate_loses_nothing(tmp_path):
    storage = tmp_path / "study.db"
    study = measured(begin(storage), 2)
    for told in (5, 0, 11):
        child = os.fork()
        if child == 0:
            own = Study.load(storage)
            for trial in own.ask(12)[:told]:
                own.tell(trial, value(trial))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        study.refresh()
        assert len(study.pending) == 12 - told
        assert {trial.block for trial in study.pending} == {study.trials[-1].block}
        study.tell_many((trial, value(trial)) for trial in study.pending)
    assert_same(measured(begin(), 5), Study.load(storage))


def test_failed_wells_are_asked_for_again_on_a_later_plate():
    study = begin()
    first = study.ask(10)
    study.tell_many((trial, value(trial)) for trial in first[3:])
    for trial in first[:3]:
        study.fail(trial, "the well was empty")
    second = study.ask(10)
    assert {trial.arm for trial in first[:3]} <= {trial.arm for trial in second}
    assert {trial.block for trial in second} == {1}


def test_a_well_that_was_not_told_in_time_is_on_another_plate_then(monkeypatch):
    study = begin(lease=3600.0)
    first = study.ask(10)
    study.tell_many((trial, value(trial)) for trial in first[2:])
    later(monkeypatch, 7200.0)
    second = study.ask(10)
    assert [study.trials[trial.number].state for trial in first[:2]] == ["cancelled", "cancelled"]
    assert len(second) == 10
    assert {trial.block for trial in second} == {1}
    assert {trial.arm for trial in first[:2]} <= {trial.arm for trial in second}


def test_its_history_and_its_report_are_made():
    study = measured(begin(), 4)
    past = study.history()
    assert past.checkpoints["evaluation"].min() >= 12
    assert len(past.frame) == study.evaluations
    assert "shifts are shared by all results of a block" in html(study)


def test_a_run_evaluates_whole_plates():
    study = begin()
    study.run(value, batch=12, progress=False, max_evaluations=60)
    sizes = np.bincount([trial.block_index for trial in study.trials])
    assert sizes.tolist() == [12] * 5


def test_features_are_used_within_blocks_and_their_fit_is_tested():
    given = {"arms": None, "features": FEATURES}
    study = measured(begin(**given), 60)
    assert study.done
    assert study.shortlist.names == [9, 8]
    fit = {finding.name: finding for finding in study.health()}
    assert fit["fit"].level == "fine"
    assert "linear in the features" in study.shortlist.guarantee.text
    bent = begin(arms=None, features=FEATURES[:, :2] + [[0, 5.0 * (k == 4)] for k in range(10)])
    found = {finding.name: finding for finding in measured(bent, 20).health()}
    assert found["fit"].level == "warning"
    free = bent.continued(features=None)
    assert free.problem.blocks.shifts
    assert [t.block for t in free.taken] == [t.block for t in bent.taken]


def test_smallest_means_and_bounded_results():
    study = begin(direction="minimize")
    assert set(measured(study, 60).shortlist.names) == {"c0", "c1"}
    bounded = begin(sigma="bounded", reward_range=(-1000.0, 1000.0))
    assert bounded.procedure.proven


def test_results_that_came_together_become_blocks_of_a_continuation():
    study = begin(blocks=None)
    for plate in range(4):
        shift = 10.0 * plate
        study.tell_many((t, MEANS[t.arm] + shift + 0.1 * (t.number % 3)) for t in study.ask(10))
    on_plates = study.continued(blocks="shift")
    blocks = [trial.block_index for trial in on_plates.taken]
    assert blocks == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10
    study.tell_unasked([(k, 60.0 + MEANS[k], None) for k in range(3)])
    on_plates.carry_over(study)
    assert [trial.block_index for trial in on_plates.taken][40:] == [4] * 3


def test_results_that_no_plan_asked_for_are_not_covered_by_the_proof():
    asked = measured(begin(), 60)
    assert asked.shortlist.guarantee.status == "proven"
    with pytest.raises(InvalidInput, match=r"cannot be retired.*carry_over"):
        asked.retire("c3", reason="x", whatever_the_results=True)
    asked.correct(0, asked.trials[0].value + 0.01, reason="typo")
    unasked = begin()
    unasked.tell(arm="c1", value=0.0, block=0)
    for study in (asked, unasked, begin().continued(delta=0.2), measured(begin(), 20)):
        heuristic = study in (asked, unasked)
        assert study.claim.proven != heuristic
        assert ("blocks that share a shift excludes" in study.claim.text) == heuristic
    continued = asked.continued(delta=0.2)
    assert not continued.claim.proven
    for study in (asked, continued):
        assert "no proven level" in study.shortlist.coverage
        assert "no proven level" in html(study)
        assert "with probability at least" not in study.shortlist.coverage
    fewer = begin()
    fewer.retire("c3", reason="x", whatever_the_results=True)  # before any result
    assert measured(fewer, 20).claim.proven


@pytest.mark.parametrize("features", [None, "linear"])
def test_a_failing_arm_is_retired_during_the_first_plan(features):
    """Nothing that was asked for so far depends on a value."""

    def measure(trial):
        if trial.name == "c3":
            raise RuntimeError("it never works")
        return value(trial)

    given = {} if features is None else {"features": FEATURES}
    study = begin(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmSetAside)
        found = study.run(measure, batch=12, max_failures=100, retire_failing=True, progress=False)
    assert [each.name for each in study.retired] == ["c3"]
    assert study.done
    assert study.claim.proven
    assert sorted(found.names) == sorted(measured(begin(**given), 60).shortlist.names)


def test_the_command_that_takes_results_over_does_not_call_them_proven(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured(begin(tmp_path / "a.db", name="a"), 4)
    names = ", ".join(f'"{name}"' for name in NAMES)
    settings = f'm = 2\nsigma = {SIGMA}\nseed = 4\nblocks = "shift"\narms = [{names}]\n'
    Path("b.toml").write_text(settings)
    assert asked("new", "b.toml")["proven"]
    Path("c.toml").write_text(settings)
    made = does("new", "c.toml", "--from", "a.db").stdout
    assert "by a heuristic that no proof covers" in " ".join(made.split())
    report = asked("new", "c.toml", "--from", "a.db")
    assert not report["proven"]
    assert report["guarantee"].startswith("Heuristic")
    assert report["carried"] == 0  # all of them were there
    assert "Proven" not in does("status", "c.toml").stdout


def test_what_is_asked_for_in_the_first_plan_depends_on_no_value():
    """So an arm may be retired until then: results may be divided between plans at will."""
    asked = []
    for scale in (1.0, -7.0):
        study = begin()
        while not study.model.initialized and len(study.trials) < 60:
            study.tell_many((t, scale * value(t)) for t in study.ask(4) if t.name != "c3")
        asked.append([trial.arm for trial in study.trials])
    assert asked[0] == asked[1]
    assert len(asked[0]) == 60
