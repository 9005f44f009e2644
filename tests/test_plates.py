"""A study whose requests are plates: each with a shift, told in any way, killed, stored, gone on with."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shortlist
from command_line import does
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
    level = float(table["estimate"].mean())
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
    bent = begin(arms=None, features=FEATURES)
    means = 5.0 * np.random.default_rng(0).normal(size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while bent.audit.rejection is None:
            bent.tell_many((t, means[t.arm] + 9.0 * t.block_index) for t in bent.ask(12))
    assert {finding.name: finding for finding in bent.health()}["fit"].level == "warning"
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


def test_what_happens_on_the_way_leaves_a_proof_a_proof():
    asked = measured(begin(), 60)
    asked.correct(0, asked.trials[0].value + 0.01, reason="typo")
    unasked, retired = begin(), measured(begin(), 3)
    unasked.tell(arm="c1", value=0.0, block=0)
    retired.retire("c3", reason="it did badly")
    for study in (asked, asked.continued(delta=0.2), unasked, retired):
        measured(study, 80)
        assert study.done
        assert study.shortlist.guarantee.status == "proven"
        assert set(study.shortlist.names) == {"c8", "c9"}


@pytest.mark.parametrize(("features", "failing"), [(None, "c3"), (FEATURES, "c4")])
def test_a_failing_arm_is_retired(features, failing):
    def measure(trial):
        if trial.name == failing:
            raise RuntimeError("it never works")
        return value(trial)

    given = {} if features is None else {"features": FEATURES}
    study = begin(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmSetAside)
        found = study.run(measure, batch=12, max_failures=100, progress=False)
    assert [each.name for each in study.retired] == [failing]
    assert study.done
    assert study.claim.proven
    assert set(found.names) == {"c8", "c9"}


def test_what_remains_is_whole_plates_and_holds_what_a_study_then_takes():
    """It said "about 1 more" for most of a study, whatever it took."""
    projections, held = [], 0
    for seed in range(4):
        study, said = begin(seed=seed, sigma=1.0), []
        rng = np.random.default_rng(seed)
        while not study.done:
            shift = 50.0 * rng.normal()
            study.tell_many(
                (t, MEANS[t.arm] + shift + rng.standard_normal()) for t in study.ask(12)
            )
            said.append((study.evaluations, study.remaining()))
        for told, ahead in said:
            if ahead.evaluations is None or told == study.evaluations:
                continue
            most = np.inf if ahead.high is None else ahead.high
            left = study.evaluations - told
            projections.append(ahead.evaluations / left)
            held += ahead.low <= left <= most
            assert ahead.evaluations % 12 == ahead.low % 12 == 0
            assert "of 12" in ahead.words
    assert len(projections) > 20
    assert 0.5 < np.median(projections) < 3.0
    assert held / len(projections) > 0.7


def test_what_remains_counts_wells_that_are_open_and_those_of_controls():
    results = PlateResults(np.append(MEANS, 0.0))
    study = begin(arms=[*NAMES, "DMSO"], controls={"DMSO": 2}, sigma=1.0)
    before = results.measured(study, 4).remaining().evaluations
    plate = study.ask(12)
    assert study.remaining().evaluations == before
    for trial in plate[:5]:
        study.tell(trial, results.value(trial))
    assert study.remaining().evaluations == before - 5


def test_tell_repeats_a_doubt_that_stands_and_the_last_line_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Results of an arm are five times as noisy as was said."""
    monkeypatch.chdir(tmp_path)
    line = np.linspace(-1.0, 1.0, 12)
    rows = [f"{name},{x}" for name, x in zip("abcdefghijkl", line, strict=True)]
    Path("f.csv").write_text("\n".join(["name,x", *rows]))
    Path("screen.toml").write_text(
        'features = "f.csv"\nm = 1\nsigma = 0.2\nepsilon = 0.01\nblocks = "shift"\nseed = 1\naudit = false\n'
    )
    does("new", "screen.toml")
    for plate in range(3):
        does("ask", "screen.toml", "-n", "12", "--out", f"{plate}.csv")
        heading, *wells = Path(f"{plate}.csv").read_text().splitlines()
        arm = heading.split(",").index("arm")
        means = [0.02 * line[ord(well.split(",")[arm]) - ord("a")] for well in wells]
        noise = np.random.default_rng(plate).normal(plate, 1.0, len(wells))
        filled = [f"{well}{float(v)}" for well, v in zip(wells, means + noise, strict=True)]
        Path(f"{plate}.csv").write_text("\n".join([heading, *filled]))
        told = does("tell", "screen.toml", f"{plate}.csv")
        if plate >= 1:
            assert "σ is too small" in told.stderr
            state = " ".join(told.stdout.split())
            assert state.endswith("the results contradict that the noise is no larger than σ.")


# Where σ is not known


@pytest.mark.parametrize("sigma", ["estimate", "estimate per arm"])
def test_features_controls_and_smallest_means_where_sigma_is_not_known(sigma, tmp_path):
    linear = measured(begin(arms=None, features=FEATURES, sigma=sigma), 60)
    assert linear.shortlist.names == [9, 8]
    assert linear.claim.proven
    given = {"direction": "minimize", "controls": ["c0"], "sigma": sigma}
    least = measured(begin(tmp_path / "study.db", **given), 80)
    assert set(least.shortlist.names) == {"c1", "c2"}
    assert least.claim.proven
    least.correct(3, least.trials[3].value + 0.1, reason="typo")
    assert_same(least, Study.load(tmp_path / "study.db"))
    assert "the noise" in least.shortlist.guarantee.text
    assert "normal" in html(least)


def test_arms_with_other_noise_are_found_and_the_advice_can_be_followed():
    study = begin(sigma="estimate", epsilon=0.01)
    for _ in range(14):
        study.tell_many(
            (t, value(t) + 3.0 * (t.arm == 2) * np.sin(10.0 * t.number)) for t in study.ask(12)
        )
    noise = next(each for each in study.health() if each.name == "noise")
    assert noise.level == "warning"
    assert study.continued(sigma="estimate per arm").claim.proven


# The table of docs/plates.md: each row is tried, by its first cell, and so is what it says to do instead.


def stopped(study: Study, status: str = "proven") -> Study:
    """The study at its stop, which has the right list and this status."""
    known = dict(zip(NAMES, MEANS, strict=True))
    for _ in range(80):
        if study.done:
            break
        shift = 50.0 * np.random.default_rng(len(study.trials)).normal()
        study.tell_many(
            (t, known.get(t.name, 0.0) + shift + SIGMA * np.random.default_rng(t.seed).normal())
            for t in study.ask(12)
        )
    assert study.done
    assert set(study.shortlist.names) == {"c8", "c9"}
    assert study.shortlist.guarantee.status == status
    return study


def refused(call: Callable[[], object], words: str = "") -> None:
    with pytest.raises(InvalidInput, match=words):
        call()


def try_requests() -> None:
    stopped(begin())
    assert set(begin().run(value, batch=12, progress=False).names) == {"c8", "c9"}


def try_features() -> None:
    study = stopped(begin(features=FEATURES))
    assert "fit" in {finding.name for finding in study.health()}
    assert study.audit.wanted


def try_controls() -> None:
    study = stopped(begin(arms=[*NAMES, "DMSO"], controls={"DMSO": 2}))
    assert [trial.name for trial in study.trials[:12]].count("DMSO") == 2


def try_direction() -> None:
    least = measured(begin(direction="minimize", epsilon=0.1), 80)
    assert set(least.shortlist.names) == {"c0", "c1"}


def try_bounded() -> None:
    rng, study = np.random.default_rng(0), begin(sigma="bounded", reward_range=(0, 1))
    while not study.done:
        study.tell_many((t, float(rng.random() < MEANS[t.arm] / 3)) for t in study.ask(24))
    assert study.shortlist.guarantee.status == "proven"
    assert "named_sets" in study.shortlist.guarantee.text


def try_costs() -> None:
    costs = np.where(MEANS < 1.5, 20.0, 1.0)
    dear, same = (
        [stopped(begin(costs=each, sigma=1.2, seed=seed)) for seed in range(4)]
        for each in (costs, None)
    )
    bad = [sum(t.arm < 5 for study in each for t in study.trials) for each in (dear, same)]
    assert bad[0] < bad[1]
    assert dear[0].cost > same[0].cost == same[0].evaluations


def try_budget() -> None:
    study = begin(budget=120)
    study.run(value, batch=12, progress=False)
    assert study.evaluations <= 120
    assert study.shortlist.certain is not None


def try_guide() -> None:
    guided = stopped(begin(features=FEATURES, trust="guide"))
    assert "linear" not in guided.shortlist.guarantee.text


def try_failures() -> None:
    study = begin()
    first, second, *others = study.ask(12)
    study.fail(first, "spilt")
    study.cancel(second)
    study.tell_many((trial, value(trial)) for trial in others)
    stopped(study)


def try_widen() -> None:
    study = measured(begin(), 4)
    assert not study.done
    study.widen(epsilon=study.shortlist.certain.epsilon)  # type: ignore[union-attr]
    assert study.done
    assert study.shortlist.guarantee.status == "proven"


def try_reopen() -> None:
    study = stopped(begin())
    study.reopen()
    stopped(measured(study, 1))


def try_verify() -> None:
    study = stopped(begin(features=FEATURES))
    assert "linear in the features" in study.shortlist.guarantee.text
    study.verify()
    stopped(study)
    assert "linear" not in study.shortlist.guarantee.text


def try_add() -> None:
    for plates in (0, 2):
        study = measured(begin(), plates)
        study.add(arms=["new"])
        stopped(study)


def try_retire() -> None:
    for plates in (0, 3):
        study = measured(begin(), plates)
        study.retire("c0", reason="none left")
        stopped(study)


def try_correct() -> None:
    study = measured(begin(), 2)
    study.correct(0, study.trials[0].value + 0.01, reason="misread")
    stopped(study)
    study.correct(1, study.trials[1].value + 0.01, reason="misread")
    stopped(study)


def try_unasked() -> None:
    study = measured(begin(), 2)
    study.tell(arm=study.trials[0].name, value=value(study.trials[0]), block=0)
    stopped(study)


def try_carried() -> None:
    source = measured(begin(), 2)
    new = begin(seed=9)
    new.carry_over(source)
    stopped(new)
    stopped(source.continued(delta=0.01))


def try_forecasts() -> None:
    given = {"arms": NAMES, "m": 2, "sigma": SIGMA, "blocks": "shift"}
    assert shortlist.forecast(**given, means=dict(zip(NAMES, MEANS, strict=True))).median > 0
    assert "blocks of 12" in measured(begin(), 4).remaining().words


TRIED: dict[str, Callable[[], object]] = {
    "`ask(24)`, `run(batch=24)`": try_requests,
    "`ask()`": lambda: refused(begin().ask, r"study\.ask\(24\)"),
    "`features=`": try_features,
    "`controls=`": try_controls,
    "`direction=`, `epsilon=`": try_direction,
    "a σ for each arm": lambda: stopped(begin(sigma=dict.fromkeys(NAMES, SIGMA))),
    '`sigma="estimate"`': lambda: stopped(begin(sigma="estimate")),
    '`sigma="estimate per arm"`': lambda: stopped(begin(sigma="estimate per arm")),
    '`sigma="bounded"`': try_bounded,
    "`costs=`": try_costs,
    "`budget=`": try_budget,
    '`trust="guide"`': try_guide,
    "`algorithm=`": lambda: refused(lambda: begin(algorithm="LUCB"), "leave out algorithm="),
    "`fail`, `cancel`": try_failures,
    "`widen`": try_widen,
    "`reopen`": try_reopen,
    "`verify`": try_verify,
    "`add`": try_add,
    "`retire`": try_retire,
    "`correct`": try_correct,
    "`tell(arm=…, block=…)`": try_unasked,
    "`carry_over`, `continued`": try_carried,
    "`forecast`, `remaining`": try_forecasts,
}
PAGE = Path(__file__).parent.parent / "docs" / "plates.md"


def rows_of_the_table() -> dict[str, list[str]]:
    """The rows by their first cell."""
    section = PAGE.read_text().split("## What works on plates")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {first: others for first, *others in rows}


def test_every_row_of_the_table_is_tried_and_says_what_to_do_instead():
    rows = rows_of_the_table()
    assert list(rows) == list(TRIED)
    assert all(instead for works, instead in rows.values() if works.startswith("no"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", TRIED)
def test_what_works_on_plates(what: str):
    TRIED[what]()
