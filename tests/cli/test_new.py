"""``shortlist new``: what a screen will take, and what its features are like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shortlist
from command_line import EFFECTS, asked, does, fails, mean, run, tell_two, write
from shortlist.simulation import outlook

THETA = list(EFFECTS.values())


def linear_pilot(*names: str) -> None:
    lines = [f"{name},{mean(name)!r}" for name in names]
    Path("pilot.csv").write_text("name,mean\n" + "\n".join(lines) + "\n")


@pytest.mark.slow
def test_the_lower_bound_is_that_of_the_theory(folder: Path) -> None:
    write(pilot="pilot.csv")
    linear_pilot("C09", "C10", "C14", "C18", "C01")
    report = asked("new", "screen.toml")["outlook"]
    table = pd.read_csv("features.csv", index_col=0)
    means = [mean(name) for name in table.index]
    instance = shortlist.instances.from_arrays(table, means=means, m=3, sigma=0.1)
    bound = shortlist.theory.lower_bound(instance, 0.05).samples
    assert report["lower_bound"] == pytest.approx(bound, rel=2e-3)
    assert report["misfit"] == pytest.approx(0.0, abs=1e-12)
    assert (report["initial"], report["initial_arms"]) == (17, 7)
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert f"{bound:,.0f} evaluations on average: the minimum that any" in said
    assert "It is a bound, not a forecast." in said


@pytest.mark.parametrize("algorithm", [None, "m-LinGapE"])
def test_the_forecast_is_that_of_compare(folder: Path, algorithm: str | None) -> None:
    write(pilot="pilot.csv", epsilon=0.05, algorithm=algorithm)
    linear_pilot("C09", "C10", "C14", "C18")
    forecast = asked("new", "screen.toml")["outlook"]["forecast"]
    table = pd.read_csv("features.csv", index_col=0)
    instance = shortlist.instances.from_arrays(table, theta=THETA, m=3, sigma=0.1)
    names = [algorithm or "auto"]
    runs = shortlist.compare(names, instance, runs=20, epsilon=0.05, progress=False).frame
    assert forecast["runs"] == 20
    assert forecast["median"] == pytest.approx(runs["samples"].median(), abs=2)
    assert forecast["unfinished"] == 0


def test_a_screen_too_long_to_simulate_is_cut_off_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlook, "MOST", 50)
    monkeypatch.setattr(outlook, "PROBE", 10)
    write(pilot="pilot.csv", algorithm="m-LinGapE")
    linear_pilot("C09", "C10", "C14", "C18")
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "more than 50 evaluations: 20 of the 20 were cut off at 50" in said


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (None, "17 pulls of the first plan, of 7 arms"),
        ("m-LinGapE", "40 initial pulls, of 4 arms"),
    ],
)
def test_without_a_pilot_only_the_initial_pulls_are_known(
    folder: Path, algorithm: str | None, words: str
) -> None:
    write(algorithm=algorithm)
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert f"first {words}, whatever the results; there is no answer before that." in said
    assert "how far apart the means of ranks 3 and 4 are" in said
    assert asked("new", "screen.toml")["outlook"]["lower_bound"] is None


BAD_PILOTS = {
    "pilot.csv: unknown arm 'D1'": "C01,1\nC02,2\nC03,3\nC04,4\nD1,5\n",
    "pilot.csv: means of 3 arms are given, which tell 3 of the 4 dimensions": "C01,1\nC02,2\nC03,3\n",
    "pilot.csv names the arm 'C01' twice": "C01,1\nC01,2\n",
    "pilot.csv, line 2, column 2: 'high' is not a finite number": "C01,1\nC02,high\n",
}


@pytest.mark.parametrize("message", BAD_PILOTS)
def test_a_bad_pilot_is_named_and_nothing_is_written(folder: Path, message: str) -> None:
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text(BAD_PILOTS[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


def test_a_pilot_with_equal_means_gives_no_bound_and_says_why(folder: Path) -> None:
    names = ["a", "b", "c"]
    write(features=None, arms=names, m=1, pilot="pilot.csv")
    Path("pilot.csv").write_text("a,1\nb,1\nc,0\n")
    report = asked("new", "screen.toml")["outlook"]
    assert report["lower_bound"] is None
    assert report["forecast"] is None
    assert "equal" in report["why_no_bound"]
    assert "no bound: the means of ranks 1 and 2 are equal" in " ".join(
        does("new", "screen.toml").stdout.split()
    )


def test_features_that_are_not_fine_are_told_at_the_start(folder: Path) -> None:
    table = pd.read_csv("features.csv", index_col=0)
    table["again"] = 2.0 * table["size"]
    table.to_csv("features.csv")
    write()
    report = asked("new", "screen.toml")
    assert "redundant columns" in [finding["name"] for finding in report["findings"]]
    said = " ".join(does("new", "screen.toml").stdout.split())
    for finding in report["findings"]:
        assert f"{finding['level']} {finding['words']} {finding['meaning']}" in said


def test_features_that_differ_in_size_are_counted_from_one(folder: Path) -> None:
    write(m=1)
    Path("features.csv").write_text("a,1,5000\nb,1,-3000\nc,-0.5,4000\nd,1,1\n")
    assert not asked("new", "screen.toml")["findings"]  # without S units do not matter
    write(m=1, S=1.0, name="with S")
    [scaling] = [f for f in asked("new", "screen.toml")["findings"] if f["name"] == "scaling"]
    assert scaling["words"].startswith("Feature 2 is 3.92e+03 times as large as feature 1 (")
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "Feature 2 is 3.92e+03 times as large as feature 1 (" in said
    fails(run("new", "other.toml"), 2, "there is no file other.toml")


def test_a_study_may_begin_with_the_results_of_another(screen: Path) -> None:
    tell_two()
    text = Path("screen.toml").read_text()
    Path("wider.toml").write_text(text.replace("seed = 0", "seed = 1"))
    report = asked("new", "wider.toml", "--from", "screen.db")
    assert (report["made"], report["carried"], report["evaluations"]) == (True, 2, 2)
    again = does("new", "wider.toml", "--from", "screen.toml", "--from-study", "screen").stdout
    assert "with 2 evaluations. Nothing was changed." in again
    study, old = shortlist.Study.load("wider.db"), shortlist.Study.load("screen.db")
    assert [(t.name, t.value) for t in study.taken] == [(t.name, t.value) for t in old.taken]
    assert {trial.cause.origin for trial in study.trials} == {"carried"}
    old.tell(old.ask(), 0.3)
    assert (
        "1 result of 'screen' taken over" in does("new", "wider.toml", "--from", "screen.db").stdout
    )


def test_results_of_no_arm_that_is_there_are_refused_and_nothing_is_written(
    screen: Path,
) -> None:
    tell_two()
    Path("other.toml").write_text('arms = ["D10", "D11"]\nm = 1\nsigma = 0.1\n')
    result = run("new", "other.toml", "--from", "screen.toml")
    fails(result, 2, "and of no arm of this study: nothing was told")
    assert not Path("other.db").exists()
    fails(run("new", "other.toml", "--from", "nothing.db"), 2, "nothing.db")


def test_a_pilot_far_from_linear_is_said_and_nothing_is_forecast_by_it(folder: Path) -> None:
    write(pilot="pilot.csv")
    lines = [f"C{k:02},{float(k % 7)}" for k in range(1, 21)]
    Path("pilot.csv").write_text("name,mean\n" + "\n".join(lines) + "\n")
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "warning your pilot is not linear in the features: " in said
    assert "σ = 0.1" in said
    assert 'Use trust = "guide"' in said
    assert "at least" not in said.partition("What it will take")[2]
    assert "forecast about" not in said
    report = asked("new", "screen.toml")["outlook"]
    assert report["lower_bound"] is report["forecast"] is None
    assert "not linear" in report["why_no_bound"]


@pytest.mark.parametrize("settings", [{"trust": "guide"}, {"algorithm": "LUCB"}])
def test_where_nothing_is_linear_the_pilots_own_means_are_taken(
    folder: Path, settings: dict[str, str]
) -> None:
    write(pilot="pilot.csv", **settings)
    means = {f"C{k:02}": float(k % 7 + k / 20) for k in range(1, 19)}
    lines = [f"{name},{value}" for name, value in means.items()]
    Path("pilot.csv").write_text("name,mean\n" + "\n".join(lines) + "\n")
    report = asked("new", "screen.toml")["outlook"]
    assert (report["misfit"], report["filled"]) == (0.0, 2)
    average = sum(means.values()) / len(means)
    every = [*means.values(), average, average]
    instance = shortlist.instances.from_arrays(np.eye(20), means=every, m=3, sigma=0.1)
    bound = shortlist.theory.lower_bound(instance, 0.05).samples
    assert report["lower_bound"] == pytest.approx(bound, rel=2e-3)
    assert report["forecast"]["unfinished"] == 0
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "were true, and the 2 arms without one had the average of the others" in said


def test_a_pilot_of_some_arms_without_features_is_accepted(folder: Path) -> None:
    write(pilot="pilot.csv", features=None, arms=["a", "b", "c", "d", "e"], m=1)
    Path("pilot.csv").write_text("name,mean\na,3\nb,1\nc,2\nd,0\n")
    report = asked("new", "screen.toml")["outlook"]
    assert report["filled"] == 1
    assert report["forecast"]["median"] >= report["lower_bound"]


def test_a_risk_that_looks_like_a_confidence_is_refused(folder: Path) -> None:
    write(delta=0.95)
    fails(run("new", "screen.toml"), 2, "for 95 % confidence write delta=0.05, got 0.95")
