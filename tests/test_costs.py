"""What an evaluation of each arm costs: plans minimise it, and everything counts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from command_line import asked, does, run
from shortlist import Study, errors
from shortlist.catalog.recommendation import recommended
from shortlist.problem import EQUAL, Costs, Problem
from stored import assert_same

NAMES = ["ash", "elm", "fir", "oak", "pine", "yew"]
MEANS = np.array([0.9, 0.75, 0.6, 0.5, 0.4, 0.2])
PAID = [1.0, 10.0, 1.0, 10.0, 1.0, 10.0]


def begin(costs: Any = PAID, **given: Any) -> Study:
    settings = {"m": 2, "sigma": 0.2, "seed": 3, **given}
    return Study(arms=NAMES, costs=costs, **settings)


def finish(study: Study, most: int = 10_000) -> Study:
    def measure(trial: shortlist.Trial) -> float:
        noise = np.random.default_rng(trial.seed).standard_normal()
        return float(MEANS[trial.arm] + 0.2 * noise)

    study.run(measure, max_evaluations=most, progress=False)
    return study


@pytest.mark.parametrize(
    "given",
    [PAID, np.array(PAID), dict(zip(NAMES, PAID, strict=True)), pd.Series(PAID, NAMES)],
    ids=["list", "array", "dict", "Series"],
)
def test_costs_come_in_order_or_by_name(given: Any) -> None:
    assert begin(given).problem.costs == Costs(tuple(PAID))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1.0], "one number for each of the 6 arms, got 1"),
        ([1.0, 0.0, 1.0, 1.0, 1.0, 1.0], "cost of arm 'elm' must be above 0"),
        ({"ash": 1.0}, "costs has no number for arm 'elm'"),
        ({**dict.fromkeys(NAMES, 1.0), "lime": 2.0}, "lime"),
        (3.0, "one number for each of the 6 arms, got 3.0"),
        ("cheap", "one number for each of the 6 arms, got 'cheap'"),
    ],
)
def test_what_is_refused(given: Any, words: str) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        begin(given)


def test_equal_costs_change_nothing_pull_by_pull() -> None:
    plain, equal, dear = (finish(begin(costs)) for costs in (None, [1.0] * 6, [7.0] * 6))
    arms = [trial.arm for trial in plain.taken]
    assert [trial.arm for trial in equal.taken] == arms
    assert dear.shortlist.names == plain.shortlist.names
    assert plain.problem.costs is EQUAL
    assert plain.cost == len(arms)
    assert dear.cost == 7.0 * dear.evaluations


@pytest.mark.parametrize(
    "given",
    [
        {"algorithm": "Guess-and-verify (own results)"},
        {"algorithm": "Guess-and-verify (own results)", "bounded": True},
        {"algorithm": "Guess-and-verify", "features": True},
        {"algorithm": shortlist.Guided(), "features": True},
    ],
    ids=["own", "bets", "linear", "guide"],
)
def test_the_cost_falls_where_it_is_stated(given: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    features = rng.standard_normal((10, 3)) if given.get("features") else np.eye(10)
    means = features @ [0.5, -0.4, 0.3] if given.get("features") else np.linspace(0.9, 0.3, 10)
    costs = np.resize([1.0, 100.0], 10)
    more = {"noise": "bernoulli"} if given.get("bounded") else {}
    told = {"sigma": "bounded", "reward_range": (0.0, 1.0)} if given.get("bounded") else {}
    described = {"features": features, "means": means, "m": 3, "sigma": 0.5, **more}
    settings = {
        "runs": 8,
        "epsilon": 0.2 if given.get("bounded") else 0.1,
        "workers": 1,
        "progress": False,
        **told,
    }
    stated = shortlist.instances.from_arrays(**described, costs=costs)
    plain = shortlist.instances.from_arrays(**described)
    found = shortlist.compare(given["algorithm"], stated, **settings)
    without = shortlist.compare(given["algorithm"], plain, **settings).frame
    frame = found.frame
    np.testing.assert_allclose(frame["cost"], np.array(frame["pulls"].tolist()) @ costs)
    assert "cost" not in without
    assert found.summary(lower_bound=False)["cost"].iloc[0] == pytest.approx(frame["cost"].mean())
    assert frame["cost"].mean() < 0.95 * np.mean(np.array(without["pulls"].tolist()) @ costs)


def test_an_algorithm_without_costs_ignores_them_and_says_so() -> None:
    study, plain = finish(begin(algorithm="LUCB")), finish(begin(None, algorithm="LUCB"))
    assert [trial.arm for trial in study.taken] == [trial.arm for trial in plain.taken]
    assert "LUCB does not use them" in study.procedure.cost_words
    assert "LUCB does not use them" in shortlist.report.html(study)
    assert plain.procedure.cost_words == ""
    assert study.cost == Costs(tuple(PAID)).total(study.posterior.pulls)


def test_few_arms_with_costs_are_not_left_to_phased() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    stated = Problem.of(features, m=1, sigma=1.0, costs=[1.0, 2.0, 3.0])
    assert recommended(stated).name.startswith("Guess-and-verify")
    assert "the plans minimise the cost" in recommended(stated).bind(stated).cost_words


def test_what_remains_and_what_was_spent_are_counted() -> None:
    study = finish(begin(sigma=0.5), most=40)
    assert not study.done
    left = study.remaining()
    assert left.evaluations is not None
    assert left.cost == pytest.approx(left.evaluations * study.cost / 40)
    assert "at the mean cost so far: cost" in left.words
    assert begin(None).remaining().cost is None
    assert "What they cost" in shortlist.report.html(study)


def test_stored_and_continued(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = finish(begin(storage=place), most=60)
    assert_same(Study.load(place), study)
    assert Study.load(place).problem.costs == study.problem.costs
    with pytest.raises(errors.StudyMismatch, match="costs = 1 to 10"):
        begin(None, storage=place)
    assert study.continued(delta=0.01, storage=tmp_path / "other.db").problem.costs.stated


def test_by_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{name},{paid}" for name, paid in zip(NAMES, PAID, strict=True)]
    Path("costs.csv").write_text("\n".join(["name,cost", *rows]))
    Path("pilot.csv").write_text("name,mean\nash,0.9\nelm,0.7\nfir,0.2\noak,0.1\npine,0\nyew,0.1\n")
    lines = [f"arms = {NAMES}".replace("'", '"'), "m = 2", "sigma = 0.2", 'costs = "costs.csv"']
    Path("screen.toml").write_text("\n".join([*lines, 'pilot = "pilot.csv"']))
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "1 to 10 for an evaluation; the plans minimise the cost" in said
    assert "at a cost of about" in said
    assert asked("status", "screen.toml")["cost"] == 0.0
    does("tell", "screen.toml", "--arm", "elm", "--value", "0.7")
    assert asked("status", "screen.toml")["cost"] == 10.0
    assert "cost 10" in " ".join(does("status", "screen.toml").stdout.split())
    Path("others.csv").write_text("\n".join(["name,cost", *(f"{name},2" for name in NAMES)]))
    assert run("continue", "screen.toml", "--costs", "others.csv", "--name", "b").exit_code == 0
    assert asked("status", "screen.toml", "--study", "b")["cost"] == 2.0
