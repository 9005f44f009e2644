"""What ``"auto"`` means, and that a study keeps to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shortlist
from shortlist.algorithms import recommendation
from shortlist.algorithms.catalog import find_algorithm
from shortlist.cli.app import app
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
    study = run(shortlist.Study(X, m=1, sigma=0.3, algorithm="auto", seed=0))
    assert study.bound.name == "Phased"
    assert study.bound.proven
    assert study.shortlist.names == ("0",)


def test_auto_of_a_threshold_is_named_in_the_guarantee() -> None:
    study = shortlist.Study(X, m=1, sigma=0.3, algorithm="m-LinGapE", threshold="auto", seed=0)
    assert study.bound.threshold.name == "pilot"
    assert "'pilot'" in study.shortlist.guarantee


def test_with_more_arms_than_tables_are_kept_for() -> None:
    rng = np.random.default_rng(0)
    many = Problem.of(rng.normal(size=(4001, 3)), m=2, sigma=1.0)
    chosen, threshold = recommendation.meant("auto", None, many)
    assert threshold is None
    assert find_algorithm(chosen).bind(many).threshold.name == "pilot"


def test_a_stored_study_keeps_what_auto_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"m": 1, "sigma": 0.3, "algorithm": "auto", "storage": tmp_path / "study.db"}
    begun = shortlist.Study(X, **settings)
    for trial in begun.ask(3):
        begun.tell(trial, 0.5)
    monkeypatch.setattr(recommendation, "recommended", lambda problem: find_algorithm("m-LinGapE"))
    later = shortlist.Study(X, **settings)
    assert later.bound.name == "Phased"
    assert later.evaluations == 3
    assert shortlist.Study(X, m=1, sigma=0.3, algorithm="auto").bound.name == "m-LinGapE"


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
