"""Controls: arms that every plate has, that help to know its shift, and that are never listed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import asked, does
from plate_results import SIGMA, PlateResults
from shortlist import Study, errors
from shortlist.plans.noises import Known
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
from shortlist.problem import NO_CONTROLS, Controls, Problem
from shortlist.serve.pages import live
from stored import assert_same

NAMES = [*(f"c{k}" for k in range(8)), "DMSO", "best known"]
MEANS = np.array([*np.linspace(0.0, 2.1, 8), 0.0, 9.0])
WELLS = {"DMSO": 2, "best known": 1}
value, measured = PlateResults(MEANS).value, PlateResults(MEANS).measured


def begin(storage: Path | None = None, **given: Any) -> Study:
    settings: dict[str, Any] = {"arms": NAMES, "m": 2, "sigma": SIGMA, "seed": 3, "blocks": "shift"}
    return Study(storage=storage, **{**settings, "controls": WELLS, **given})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["DMS0"], "controls: unknown arm 'DMS0': did you mean 'DMSO'"),
        (
            {"DMSO": 0},
            "a number of wells on every plate, must be a whole number, at least 1, got 0",
        ),
        ({"DMSO": 1.5}, "at least 1, got 1.5"),
        (["DMSO", "DMSO"], r"twice: for two wells on every plate write controls=\{'DMSO': 2\}"),
        ("DMSO", "controls must be a list of arms"),
        (7, "controls must be a list of arms"),
        (NAMES, "of 10 arms only 0 may be listed"),
        (NAMES[1:], "of 10 arms only 1 may be listed"),
        (NAMES[2:], r"below the number of arms that are not controls \(2\), got 2"),
    ],
)
def test_what_is_refused(given: Any, words: str) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        begin(controls=given)


@pytest.mark.parametrize("blocks", [None, "random", 20])
def test_they_are_for_plates(blocks: Any) -> None:
    settings = {"sigma": "bounded", "reward_range": (0, 1), "blocks": blocks}
    with pytest.raises(errors.InvalidSetting, match="controls are for blocks='shift'"):
        begin(**settings)
    assert not begin(**settings, controls=[]).problem.controls.exist


def test_names_that_are_numbers() -> None:
    problem = Problem.of(arms=[30, 10, 20], m=1, sigma=1.0, blocks="shift", controls=[10])
    assert problem.controls.wells == (0, 1, 0)
    assert problem.of_arms(np.array([0, 2])).controls == NO_CONTROLS
    assert problem.with_arms([40], None).controls == Controls((0, 1, 0, 0))


def test_every_plate_has_them_and_they_are_never_listed() -> None:
    study = begin()
    places = []
    for _ in range(60):
        if study.done:
            break
        plate = study.ask(12)
        counted = Counter(trial.name for trial in plate)
        assert {name: counted[name] for name in WELLS} == WELLS
        places.append([trial.name for trial in plate].index("best known"))
        assert "best known" not in study.shortlist.names
        study.tell_many((trial, value(trial)) for trial in plate)
    assert study.done
    assert len(set(places)) > 1  # in no fixed well
    answer = study.shortlist
    assert set(answer.names) == {"c6", "c7"}
    assert answer.guarantee.status == "proven"
    assert "among the 8 arms that are not controls" in answer.guarantee.text
    assert answer.guarantee.short.startswith("The 2 best of 8 that are not controls")
    assert "control" not in answer.table.columns
    table = study.table()
    assert table.index[table["control"]].tolist() == ["DMSO", "best known"]
    assert table.loc["best known", "estimate"] > table.loc["c7", "estimate"]
    assert not np.isfinite(table["lower"]).any()  # only differences have a meaning
    assert answer.certain is not None
    assert not {"DMSO", "best known"} & set(answer.certain.undecided)
    assert "is never listed" in study.why(next(t for t in study.trials if t.name == "DMSO")).words


def test_their_results_tell_of_the_shift() -> None:
    """Two arms on different plates are compared by a control that both plates have."""
    out, shared = np.array([False, False, True]), Shared(requested=True, controls=(0, 0, 1))
    noise = Known(np.full(3, 0.1))
    search = Search(Question(3, 1, noise, 0.05, 0.0, np.ones(3), out, shared=shared), 0)
    search.take(np.array([0, 2, 1, 2]), np.array([0, 0, 1, 1]), np.array([5.0, 4.0, 7.5, 7.0]))
    means = search.guess.fit.means
    assert means[0] - means[1] == pytest.approx(0.5)
    assert search.inside.tolist() == [True, False, False]
    assert 2 not in search.slots.arms


def test_open_pairs_forecasts_and_pages_leave_them_out() -> None:
    study = measured(begin(sigma=0.8), 8)
    assert not study.done
    now = study.shortlist.certain
    assert now is not None
    assert not {"DMSO", "best known"} & {*now.open_outside, *now.undecided}
    assert study.remaining().tie is None or "best known" not in study.remaining().tie.names
    page, shown = shortlist.report.html(study), live(shortlist.report.analysis.Analysis(study))
    assert "Of controls" in page
    assert page.count('<td class="words">control</td>') == 2
    assert "24 of them" in shown
    assert "best known" not in shown.split("The evaluations")[0].split("Of controls")[0]
    assert "of K = 8 arms" in page


def test_a_plate_needs_room_for_others() -> None:
    with pytest.raises(errors.InvalidSetting, match="beside the 3 for controls"):
        begin().ask(4)
    with pytest.raises(errors.InvalidSetting, match="beside the 3 for controls"):
        begin().run(value, batch=4)
    assert begin().run(value, batch=12, progress=False).names


def finish_without_a_control(study: Study) -> None:
    while not study.done:
        for trial in study.ask(12):
            if trial.name == "DMSO":
                study.fail(trial, "spilt")
            else:
                study.tell(trial, value(trial))
        assert study.remaining().words
        assert study.statistic is None or study.table()["mean"].notna().to_numpy()[:8].all()


def test_a_control_that_fails_keeps_nothing_waiting() -> None:
    study = begin()
    with pytest.warns(errors.ArmSetAside, match="DMSO"):
        finish_without_a_control(study)
    assert set(study.shortlist.names) == {"c6", "c7"}
    assert "DMSO" in shortlist.report.html(study)


def test_with_features_and_smallest_means() -> None:
    features = np.column_stack([np.ones(10), MEANS, MEANS**2])
    study = measured(begin(features=features, direction="minimize"), 80)
    assert study.done
    assert set(study.shortlist.names) == {"c0", "c1"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_stored_killed_and_continued(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    measured(begin(place), 2)
    child = os.fork()
    if child == 0:
        for trial in Study.load(place).ask(12)[:7]:
            Study.load(place).tell(trial, value(trial))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    study = Study.load(place)
    assert study.problem.controls == begin().problem.controls
    study.tell_many((trial, value(trial)) for trial in study.pending)
    assert_same(measured(begin(), 3), Study.load(place))
    with pytest.raises(errors.StudyMismatch, match=r"controls = row 8 \(2\), row 9 \(1\), but"):
        begin(place, controls=["DMSO"])
    later = study.continued(delta=0.01, storage=tmp_path / "other.db")
    assert later.problem.controls == study.problem.controls


def test_arms_retired_before_the_first_plate() -> None:
    study = begin(m=6)
    study.retire("DMSO", reason="none left")
    study.retire("c0", reason="none left")
    asked = Counter(trial.name for trial in study.ask(9))
    assert (asked["best known"], asked["DMSO"], asked["c0"]) == (1, 0, 0)
    assert "among the 7 arms that were not retired and are not controls" in study.claim.text
    with pytest.raises(errors.InvalidInput, match="only 6 arms would be left"):
        begin(m=6, controls=["DMSO", "best known", "c0"]).retire("c1", reason="none left")


def test_a_forecast_is_of_the_others() -> None:
    given = {"m": 2, "sigma": SIGMA, "arms": NAMES, "blocks": "shift"}
    means = dict(zip(NAMES, MEANS, strict=True))
    tied = {**means, "best known": 2.1, "DMSO": 2.1}  # with c7 they would be three
    found = shortlist.forecast(**given, controls=WELLS, means=tied)
    assert found.median < 1000


def test_by_command_and_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"arms = {NAMES}".replace("'", '"'), "m = 2", "sigma = 0.4", 'blocks = "shift"']
    Path("screen.toml").write_text("\n".join([*lines, 'controls = {DMSO = 2, "best known" = 1}']))
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "'DMSO' (2 on every block), 'best known' (1 on every block); they are never" in said
    does("ask", "screen.toml", "-n", "12", "--out", "plate.csv")
    heading, *rows = Path("plate.csv").read_text().splitlines()
    arm = heading.split(",").index("arm")
    assert Counter(row.split(",")[arm] for row in rows)["DMSO"] == 2
    filled = [f"{row}{number}" for number, row in enumerate(rows)]
    Path("plate.csv").write_text("\n".join([heading, *filled]))
    does("tell", "screen.toml", "plate.csv")
    status = asked("status", "screen.toml")
    assert status["evaluations"] == 12
    assert status["controls"] == WELLS
    Path("list.toml").write_text("\n".join([*lines, 'controls = ["DMSO"]']))
    assert asked("new", "list.toml")["controls"] == {"DMSO": 1}


REAL, NONE, ODD = (3.0, -2.0, 2.0), (0.0, 0.0, 0.0), (30.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("seed", "row"), [(0, REAL), (1, REAL), (2, REAL), (3, REAL), (0, NONE), (0, ODD)]
)
def test_a_control_says_nothing_of_what_is_linear(seed: int, row: tuple[float, ...]) -> None:
    """DMSO has descriptors like any compound, and its mean is far off the line of the others."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(24, 3))
    means = np.append(features @ [0.6, -0.4, 0.3], -4.0)
    arms = [*(f"c{k}" for k in range(24)), "DMSO"]
    settings = {"m": 3, "sigma": 0.3, "epsilon": 0.1, "blocks": "shift", "seed": seed}
    study = Study(np.vstack([features, row]), arms=arms, controls={"DMSO": 2}, **settings)
    while not study.done:
        plate, shift = study.ask(24), 5.0 * rng.normal()
        assert [trial.name for trial in plate].count("DMSO") == 2
        study.tell_many((t, means[t.arm] + shift + 0.3 * rng.normal()) for t in plate)
    third = np.sort(means)[-3]
    assert means[study.shortlist.arms].min() >= third - 0.1
    assert study.shortlist.guarantee.status == "proven"
    assert "mean of every arm that is not a control is linear" in str(
        study.shortlist.guarantee.rests_on
    )
    assert "24 arms" in next(each.words for each in study.health() if each.name == "rank")
    estimates = study.table()["estimate"]
    assert estimates["DMSO"] < estimates.drop("DMSO").min() - 1.0


def test_words_about_controls_name_what_is_meant() -> None:
    with pytest.raises(errors.UnknownName, match=r"controls: unknown arm 'zz'.*There are \d+ arms"):
        begin(controls=["zz"])
    with pytest.raises(errors.InvalidSetting, match=r"ask for more, such as study\.ask\(60\)"):
        begin(controls={"DMSO": 30}).ask(24)
