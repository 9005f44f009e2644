"""What ``"auto"`` means, and that a study keeps to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import shortlist
from shortlist.catalog import recommendation
from shortlist.catalog.names import find_algorithm
from shortlist.cli.app import app
from shortlist.plans.algorithm import Planned
from shortlist.problem import Problem

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
MEANS = X @ [1.0, 0.3]


def run(study: shortlist.Study) -> shortlist.Study:
    noise = np.random.default_rng(0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, float(MEANS[trial.arm] + 0.3 * noise.standard_normal()))
    return study


def test_auto_is_proven_and_answers() -> None:
    study = run(shortlist.Study(X, m=1, sigma=0.3, algorithm="auto", seed=0, audit=False))
    assert study.bound.name == "Phased"
    assert study.bound.proven
    assert study.shortlist.names == ("0",)


def test_auto_of_a_threshold_is_named_in_the_guarantee() -> None:
    study = shortlist.Study(
        X, m=1, sigma=0.3, algorithm="m-LinGapE", threshold="auto", seed=0, audit=False
    )
    assert study.bound.threshold.name == "pilot"
    assert "'pilot'" in study.shortlist.guarantee


def problem(K: int, N: int, m: int = 5, **given: Any) -> Problem:
    features = np.random.default_rng(0).normal(size=(K, N))
    return Problem.of(features, m=m, **{"sigma": 1.0, **given})


@pytest.mark.parametrize(
    ("K", "N", "m", "delta", "few"),
    [
        (60, 3, 5, 0.05, True),
        (60, 6, 5, 0.05, True),
        (60, 7, 5, 0.05, False),  # 1.55 · 7 = 10.9, and 2 ln(5 · 55/2) = 9.8
        (60, 50, 5, 0.05, False),
        (60, 6, 5, 1e-9, True),  # δ costs both the same
        (10, 5, 1, 0.05, False),
        (1000, 8, 10, 0.05, True),  # more pairs make it worth while
        (4, 4, 2, 0.05, False),
        (3000, 3, 5, 0.05, False),  # bounds of so many arms are not all remembered
    ],
)
def test_few_dimensions_want_a_pilot_and_many_want_plans(
    K: int, N: int, m: int, delta: float, few: bool
) -> None:
    chosen = recommendation.recommended(problem(K, N, m, delta=delta))
    assert (chosen == recommendation.FEW_DIMENSIONS) == few
    assert isinstance(chosen, Planned) != few


def test_the_pilot_of_few_dimensions_is_a_proven_one_with_elimination() -> None:
    study = shortlist.Study(problem(60, 3).features, m=5, sigma=1.0, audit=False)
    assert study.bound.name == "m-LinGapE with a pilot and elimination"
    assert study.bound.threshold.name == "pilot"
    assert study.bound.proven
    assert recommendation.FEW_DIMENSIONS.elimination


def test_dimensions_are_those_that_the_features_span() -> None:
    three = np.random.default_rng(0).normal(size=(60, 3))
    wide = np.hstack([three, three @ np.random.default_rng(1).normal(size=(3, 20))])
    assert recommendation.recommended(Problem.of(wide, m=5, sigma=1.0)).name.startswith("m-LinGapE")


@pytest.mark.parametrize("given", [{"K": 4001}, {"K": 60, "sigma": "estimate"}])
def test_where_no_strategy_can_work(given: dict[str, Any]) -> None:
    """Tables of so many arms are kept for none, and none makes the replicates."""
    many = problem(N=30, **given)
    assert recommendation.recommended(many) is recommendation.MANY_ARMS
    chosen, threshold = recommendation.meant(None, None, many)
    assert threshold is None
    bound = find_algorithm(chosen).bind(many)
    assert bound.threshold.name == recommendation.meant("m-LinGapE", "auto", many)[1] != "auto"
    assert bound.proven
    assert isinstance(recommendation.recommended(problem(N=30, K=60)), Planned)


def test_sigma_by_arm_is_no_matter_for_plans_unless_it_is_very_unequal() -> None:
    """They take the largest σ for all."""
    alike = problem(60, 12, sigma=np.linspace(0.95, 1.0, 60))
    unequal = problem(60, 12, sigma=np.r_[1.0, np.full(59, 0.1)])
    assert recommendation.recommended(alike).name == "Phased"
    assert recommendation.recommended(unequal) is recommendation.FEW_DIMENSIONS


def test_arms_that_tell_nothing_of_others_race() -> None:
    rng = np.random.default_rng(3)
    lengthless = rng.standard_normal((60, 50))
    lengthless /= np.linalg.norm(lengthless, axis=1, keepdims=True)
    race = find_algorithm("Racing (paired)")
    for features in (lengthless, np.eye(12), None):
        names = [str(k) for k in range(12)] if features is None else None
        asked = Problem.of(features, m=3, sigma=1.0, arms=names)
        assert recommendation.recommended(asked) == race
    twins = np.vstack(
        [lengthless, lengthless[:1] + 0.01 * lengthless[1:2]]
    )  # two told apart by a third
    assert recommendation.recommended(Problem.of(twins, m=3, sigma=1.0)).name == "Phased"
    assert recommendation.recommended(Problem.of(np.eye(10), m=3, sigma=1.0)).name == "Phased"


def test_a_named_threshold_wants_rounds() -> None:
    for threshold in ("self_normalized", "heuristic", "pilot"):
        study = shortlist.Study(X, m=1, sigma=0.3, threshold=threshold, audit=False)
        assert (study.bound.name, study.bound.threshold.name) == ("m-LinGapE", threshold)
    assert shortlist.Study(X, m=1, sigma=0.3, threshold="auto", audit=False).bound.name == "Phased"
    assert shortlist.Study(X, m=1, sigma=0.3, budget=20, audit=False).bound.name == "top-two"


def test_what_is_named_is_taken() -> None:
    for name in ("m-LinGapE", "LinGIFA", "LUCB", "Uniform"):
        assert shortlist.Study(X, m=1, sigma=0.3, algorithm=name, audit=False).bound.name == name
    assert shortlist.Study(X, m=1, sigma=0.3, audit=False).bound.name == "Phased"  # none is


def test_a_stored_study_keeps_what_auto_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"m": 1, "sigma": 0.3, "algorithm": "auto", "storage": tmp_path / "study.db"}
    begun = shortlist.Study(X, **settings, audit=False)
    for trial in begun.ask(3):
        begun.tell(trial, 0.5)
    monkeypatch.setattr(recommendation, "recommended", lambda problem: find_algorithm("m-LinGapE"))
    later = shortlist.Study(X, **settings, audit=False)
    assert later.bound.name == "Phased"
    assert later.evaluations == 3
    assert (
        shortlist.Study(X, m=1, sigma=0.3, algorithm="auto", audit=False).bound.name == "m-LinGapE"
    )


@pytest.mark.parametrize("begun_with", ["m-LinGapE", "Uniform", "Phased", None])
def test_a_stored_study_keeps_what_it_was_begun_with(
    tmp_path: Path, begun_with: str | None
) -> None:
    place = {"m": 1, "sigma": 0.3, "seed": 1, "storage": tmp_path / "study.db"}
    begun = shortlist.Study(X, **place, algorithm=begun_with, audit=False)
    for trial in begun.ask(3):
        begun.tell(trial, 0.5)
    for given in ({}, {"algorithm": "auto"}, {"threshold": "auto"}):
        opened = shortlist.Study(X, **place, **given, audit=False)
        assert opened.bound.name == (begun_with or "Phased")
        assert opened.fingerprint == begun.fingerprint
    with pytest.raises(shortlist.errors.StudyMismatch, match="algorithm"):
        shortlist.Study(X, **place, algorithm="LinGIFA", audit=False)


def test_a_named_threshold_is_not_overruled_by_what_is_stored(tmp_path: Path) -> None:
    place = {"m": 1, "sigma": 0.3, "seed": 1, "storage": tmp_path / "study.db"}
    shortlist.Study(X, **place, threshold="self_normalized", audit=False)
    assert shortlist.Study(X, **place, audit=False).bound.threshold.name == "self_normalized"
    with pytest.raises(shortlist.errors.StudyMismatch, match="threshold = 'self_normalized'"):
        shortlist.Study(X, **place, threshold="heuristic", audit=False)
    screen = tmp_path / "screen.toml"
    described = 'arms = ["a", "b", "c"]\nm = 1\nsigma = 0.3\n'
    screen.write_text(described)
    assert CliRunner().invoke(app, ["new", str(screen)]).exit_code == 0
    screen.write_text(described + 'threshold = "heuristic"\n')
    said = CliRunner().invoke(app, ["ask", str(screen)])
    assert said.exit_code == 2
    assert "m-LinGapE" in said.output


def test_a_screen_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "screen.toml"
    file.write_text('arms = ["a", "b", "c"]\nm = 1\nsigma = 0.3\nalgorithm = "auto"\n')
    for _ in range(2):
        assert CliRunner().invoke(app, ["new", str(file)]).exit_code == 0
        assert CliRunner().invoke(app, ["ask", str(file)]).exit_code == 0
        monkeypatch.setattr(recommendation, "recommended", lambda _: find_algorithm("LUCB"))


def test_a_comparison_takes_it() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    results = shortlist.compare(["auto", "m-LinGapE"], instance, runs=5, progress=False)
    assert set(results.frame["algorithm"]) == {"Phased", "m-LinGapE"}
