"""What ``"auto"`` means, and that a study keeps to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import run as command
from shortlist.catalog import recommendation
from shortlist.catalog.registry import find_algorithm
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
    assert study.procedure.name == "Guess-and-verify"
    assert study.procedure.proven
    assert study.shortlist.names == [0]


def test_auto_of_a_threshold_is_named_in_the_guarantee() -> None:
    study = shortlist.Study(
        X, m=1, sigma=0.3, algorithm="m-LinGapE", threshold="auto", seed=0, audit=False
    )
    assert study.procedure.threshold.name == "self_normalized"
    assert "'self_normalized'" in study.shortlist.guarantee.text


def problem(K: int, N: int, m: int = 5, **given: Any) -> Problem:
    features = np.random.default_rng(0).normal(size=(K, N))
    return Problem.of(features, m=m, **{"sigma": 1.0, **given})


@pytest.mark.parametrize(
    ("K", "N", "m", "name"),
    [
        (60, 1, 5, "Guess-and-verify"),
        (60, 2, 5, "Guess-and-verify"),
        (60, 3, 5, "Guess-and-verify"),
        (3000, 2, 5, "Guess-and-verify"),
        (100_000, 4, 5, "Guess-and-verify"),
        (10, 5, 1, "Guess-and-verify"),
        (4, 3, 2, "Guess-and-verify (own results)"),
        (5, 2, 1, "Guess-and-verify"),
        (6, 2, 1, "Guess-and-verify"),
        (7, 2, 3, "Guess-and-verify"),
        (4, 4, 2, "Guess-and-verify (own results)"),
        (12, 12, 3, "Guess-and-verify (own results)"),
    ],
)
def test_what_is_expected_to_need_least(K: int, N: int, m: int, name: str) -> None:
    chosen = recommendation.recommended(problem(K, N, m))
    assert chosen.name == name
    assert chosen.bind(problem(K, N, m)).proven


def test_dimensions_are_those_that_the_features_span() -> None:
    """60 columns of rank 15: other arms tell of a pair. By the columns alone none would."""
    few = np.random.default_rng(0).normal(size=(60, 15))
    wide = np.hstack([few, few @ np.random.default_rng(1).normal(size=(15, 45))])
    assert recommendation.recommended(Problem.of(wide, m=5, sigma=1.0)).name == "Guess-and-verify"
    whole = np.random.default_rng(0).normal(size=(60, 60))
    chosen = recommendation.recommended(Problem.of(whole, m=5, sigma=1.0))
    assert chosen.name == "Guess-and-verify (own results)"


def test_where_no_strategy_can_work() -> None:
    """Tables of so many arms are kept for none."""
    many = problem(K=200_001, N=2)
    assert recommendation.recommended(many) is recommendation.MANY_ARMS
    chosen, threshold = recommendation.resolve_choice(None, None, many)
    assert threshold is None
    procedure = find_algorithm(chosen).bind(many)
    assert (
        procedure.threshold.name
        == recommendation.resolve_choice("m-LinGapE", "auto", many)[1]
        != "auto"
    )
    assert procedure.proven
    with pytest.raises(shortlist.errors.InvalidSetting, match="up to 200,000 arms"):
        find_algorithm(chosen).bind(problem(K=200_001, N=2, sigma="estimate"))


def test_where_sigma_differs_the_algorithm_uses_it() -> None:
    unequal = problem(4, 3, m=2, sigma=[1.0, 0.1, 0.1, 0.1])
    assert recommendation.recommended(unequal).name == "Guess-and-verify"


def test_arms_that_tell_nothing_of_others_are_judged_by_their_own_results() -> None:
    rng = np.random.default_rng(3)
    lengthless = rng.standard_normal((60, 50))
    lengthless /= np.linalg.norm(lengthless, axis=1, keepdims=True)
    own = find_algorithm("Guess-and-verify (own results)")
    for features in (lengthless, np.eye(12), None):
        names = [str(k) for k in range(12)] if features is None else None
        asked = Problem.of(features, m=3, sigma=1.0, arms=names)
        assert recommendation.recommended(asked) == own
    twins = np.vstack(
        [lengthless, lengthless[:1] + 0.01 * lengthless[1:2]]
    )  # two told apart by a third
    asked = Problem.of(twins, m=3, sigma=1.0)
    assert recommendation.recommended(asked).name == "Guess-and-verify"


def test_a_named_threshold_wants_rounds() -> None:
    for threshold in ("self_normalized", "heuristic"):
        study = shortlist.Study(X, m=1, sigma=0.3, threshold=threshold, audit=False)
        assert (study.procedure.name, study.procedure.threshold.name) == ("m-LinGapE", threshold)
    assert (
        shortlist.Study(X, m=1, sigma=0.3, threshold="auto", audit=False).procedure.name
        == "Guess-and-verify"
    )
    assert (
        shortlist.Study(X, m=1, sigma=0.3, budget=20, audit=False).procedure.name
        == "pairs-in-doubt"
    )


def test_what_is_named_is_taken() -> None:
    for name in ("m-LinGapE", "LinGIFA", "LUCB", "Guess-and-verify (own results)"):
        assert (
            shortlist.Study(X, m=1, sigma=0.3, algorithm=name, audit=False).procedure.name == name
        )
    assert (
        shortlist.Study(X, m=1, sigma=0.3, audit=False).procedure.name == "Guess-and-verify"
    )  # none is


def test_a_stored_study_keeps_what_auto_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"m": 1, "sigma": 0.3, "algorithm": "auto", "storage": tmp_path / "study.db"}
    begun = shortlist.Study(X, **settings, audit=False)
    for trial in begun.ask(3):
        begun.tell(trial, 0.5)
    monkeypatch.setattr(recommendation, "recommended", lambda problem: find_algorithm("m-LinGapE"))
    later = shortlist.Study(X, **settings, audit=False)
    assert later.procedure.name == "Guess-and-verify"
    assert later.evaluations == 3
    assert (
        shortlist.Study(X, m=1, sigma=0.3, algorithm="auto", audit=False).procedure.name
        == "m-LinGapE"
    )


@pytest.mark.parametrize("begun_with", ["m-LinGapE", "Guess-and-verify (own results)", None])
def test_a_stored_study_keeps_what_it_was_begun_with(
    tmp_path: Path, begun_with: str | None
) -> None:
    place = {"m": 1, "sigma": 0.3, "seed": 1, "storage": tmp_path / "study.db"}
    begun = shortlist.Study(X, **place, algorithm=begun_with, audit=False)
    for trial in begun.ask(3):
        begun.tell(trial, 0.5)
    for given in ({}, {"algorithm": "auto"}, {"threshold": "auto"}):
        opened = shortlist.Study(X, **place, **given, audit=False)
        assert opened.procedure.name == (begun_with or "Guess-and-verify")
        assert opened.fingerprint == begun.fingerprint
    with pytest.raises(shortlist.errors.StudyMismatch, match="algorithm"):
        shortlist.Study(X, **place, algorithm="LinGIFA", audit=False)


def test_a_named_threshold_is_not_overruled_by_what_is_stored(tmp_path: Path) -> None:
    place = {"m": 1, "sigma": 0.3, "seed": 1, "storage": tmp_path / "study.db"}
    shortlist.Study(X, **place, threshold="self_normalized", audit=False)
    assert shortlist.Study(X, **place, audit=False).procedure.threshold.name == "self_normalized"
    with pytest.raises(shortlist.errors.StudyMismatch, match="threshold = 'self_normalized'"):
        shortlist.Study(X, **place, threshold="heuristic", audit=False)
    screen = tmp_path / "screen.toml"
    described = 'arms = ["a", "b", "c"]\nm = 1\nsigma = 0.3\n'
    screen.write_text(described)
    assert command("new", screen).exit_code == 0
    screen.write_text(described + 'threshold = "heuristic"\n')
    said = command("ask", screen)
    assert said.exit_code == 2
    assert "m-LinGapE" in said.output


def test_a_screen_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "screen.toml"
    file.write_text('arms = ["a", "b", "c"]\nm = 1\nsigma = 0.3\nalgorithm = "auto"\n')
    for _ in range(2):
        assert command("new", file).exit_code == 0
        assert command("ask", file).exit_code == 0
        monkeypatch.setattr(recommendation, "recommended", lambda _: find_algorithm("LUCB"))


def test_a_comparison_takes_it() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    results = shortlist.compare(["auto", "m-LinGapE"], instance, runs=5, progress=False)
    assert set(results.frame["algorithm"]) == {"Guess-and-verify", "m-LinGapE"}


@pytest.mark.parametrize("word", ["estimate", "estimate per arm"])
def test_where_sigma_is_estimated_a_guess_is_verified(word: str) -> None:
    for features, m in ((np.eye(3), 1), (np.eye(30), 5)):
        own = recommendation.recommended(Problem.of(features, m, sigma=word))
        assert own.name == "Guess-and-verify (own results)"
    for arms, dimensions in ((3, 2), (60, 2), (60, 8)):
        features = np.random.default_rng(0).normal(size=(arms, dimensions))
        chosen = recommendation.recommended(Problem.of(features, 1, sigma=word))
        assert chosen.name == "Guess-and-verify"
        procedure = chosen.bind(Problem.of(features, 1, sigma=word))
        assert procedure.proven
