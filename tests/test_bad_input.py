"""Every wrong input: an error that names the value and the remedy, and nothing half-changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from shortlist import errors
from stored import arrays_of

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])


def study(features: Any = X, m: Any = 1, **settings: Any) -> shortlist.Study:
    return shortlist.Study(features, m, **{"sigma": 0.5, "seed": 0, **settings})


def with_entry(value: float) -> np.ndarray:
    features = X.copy()
    features[2, 1] = value
    return features


CREATION: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("NaN", lambda: study(with_entry(np.nan)), errors.InvalidFeatures,
     r"feature 1 of arm 2 is nan: features must be finite \(1 entries are not\)\. Fill or drop"),
    ("inf", lambda: study(with_entry(np.inf)), errors.InvalidFeatures, "feature 1 of arm 2 is inf"),
    ("a vector", lambda: study(X[:, 0]), errors.InvalidFeatures, r"got shape \(4,\): one row per arm"),
    ("no columns", lambda: study(X[:, :0]), errors.InvalidFeatures, r"got shape \(4, 0\)"),
    ("ragged", lambda: study([[1.0, 2.0], [3.0]]), errors.InvalidFeatures, "table of numbers"),
    ("text", lambda: study([["a", "b"], ["c", "d"]]), errors.InvalidFeatures, "table of numbers"),
    ("text column", lambda: study(pd.DataFrame({"x": [1.0, 2.0], "drug": ["a", "b"]})),
     errors.InvalidFeatures, r"column 'drug' is not numeric.* Study\(table.set_index\('drug'\)"),
    ("words", lambda: study(pd.DataFrame({"x": [1.0, 2.0, 4.0], "oven": ["fan", "dry", "fan"]})),
     errors.InvalidFeatures, r"'oven' is not numeric.* pd.get_dummies\(table, columns=\['oven'\]\)"),
    ("pandas NA", lambda: study(pd.DataFrame(
        {"x": pd.array([1.0, None, 3.0], dtype="Float64")}, index=["a", "b", "c"])),
     errors.InvalidFeatures, "'x' of arm 'b' is nan"),
    ("one arm", lambda: study(X[:1]), errors.InvalidFeatures, "at least 2 arms .* got 1"),
    ("duplicate names", lambda: study(arms=["a", "b", "c", "b"]), errors.InvalidFeatures,
     "the name 'b' is given to more than one arm: rename"),
    ("too few names", lambda: study(arms=["a", "b"]), errors.InvalidFeatures,
     "2 names were given for 4 rows"),
    ("nothing", lambda: study(None), errors.InvalidFeatures, "neither features nor arms"),
    ("m = 0", lambda: study(m=0), errors.InvalidSetting, r"m must be .* below .* \(4\), got 0"),
    ("m = K", lambda: study(m=4), errors.InvalidSetting, r"m must be .* below .* \(4\), got 4"),
    ("m fractional", lambda: study(m=1.5), errors.InvalidSetting, "whole number, got 1.5"),
    ("delta = 0", lambda: study(delta=0.0), errors.InvalidSetting, "delta, .* got 0.0"),
    ("delta = 1", lambda: study(delta=1.0), errors.InvalidSetting, "delta, .* got 1.0"),
    ("delta text", lambda: study(delta="5%"), errors.InvalidSetting, "delta must be a number, got '5%'"),
    ("epsilon < 0", lambda: study(epsilon=-0.1), errors.InvalidSetting, "epsilon, .* got -0.1"),
    ("epsilon nan", lambda: study(epsilon=np.nan), errors.InvalidSetting, "epsilon, .* got nan"),
    ("sigma = 0", lambda: study(sigma=0.0), errors.InvalidSetting, "sigma must be above 0 .* got 0.0"),
    ("sigma < 0", lambda: study(sigma=-1), errors.InvalidSetting, "sigma must be above 0 .* got -1"),
    ("sigma missing", lambda: shortlist.Study(X, 1), errors.InvalidSetting,
     "sigma is missing: it has no default"),
    ("S < 0", lambda: study(S=-1.0), errors.InvalidSetting, "S, a bound on the norm .* got -1"),
    ("seed", lambda: shortlist.Study(X, 1, sigma=1.0, seed=-1), errors.InvalidSetting, "seed .* got -1"),
    ("algorithm", lambda: study(algorithm="m-LinGape"), errors.UnknownName,
     "unknown algorithm 'm-LinGape': did you mean 'm-LinGapE'"),
    ("algorithm type", lambda: study(algorithm=3), errors.InvalidSetting,
     r"must be a name or an algorithm object .*PairsInDoubt\), got int"),
    ("threshold", lambda: study(threshold="frequentis"), errors.UnknownName,
     "unknown threshold 'frequentis': did you mean 'frequentist'"),
    ("rule", lambda: shortlist.GIFA(candidates="top_mean"), errors.UnknownName,
     "unknown candidates rule 'top_mean': did you mean 'top_means'"),
    ("rule of another kind", lambda: shortlist.GIFA(candidates=shortlist.GIFA().selection),
     errors.InvalidSetting, "'greedy' is a rule of kind 'selection' where one of kind 'candidates'"),
    ("kind of rule", lambda: shortlist.rule("selektion"), errors.UnknownName, "did you mean 'selection'"),
    ("initialization", lambda: shortlist.GIFA(initialization="eech"), errors.UnknownName,
     "unknown initialization 'eech': did you mean 'each'"),
    ("lambda = 0 without spanning pulls",
     lambda: study(algorithm=shortlist.GIFA(
         threshold="heuristic", regularization=0.0, initialization=None)),
     errors.InvalidSetting, "regularization=0.0 without spanning initial pulls .* use GIFA\\(…, initialization="),
    ("self_normalized without spanning pulls",
     lambda: study(algorithm=shortlist.GIFA(initialization=None)), errors.InvalidSetting,
     "'self_normalized' needs initial pulls that span .* or threshold='frequentist'"),
    ("S missing", lambda: study(threshold="frequentist"), errors.InvalidSetting,
     "'frequentist' needs S, a bound on ‖θ‖, but none was given: give S="),
    ("regularization 0 for frequentist",
     lambda: study(algorithm=shortlist.GIFA(threshold="frequentist", regularization=0.0), S=1.0),
     errors.InvalidSetting, "needs a regularization above 0, got 0.0"),
    ("LinGapE with m = 2", lambda: study(m=2, algorithm="LinGapE"), errors.InvalidSetting,
     "LinGapE is defined for m = 1, got m = 2: use m-LinGapE"),
    ("zero features", lambda: study(np.vstack([X, np.zeros(2)]), intercept=False),
     errors.IndistinguishableArms, "arm 4 has only zeros as features: .* Remove it"),
    ("identical arms", lambda: study(np.vstack([X, X[1]]), arms=list("abcde")),
     errors.IndistinguishableArms, "arms 'b' and 'e' have the same features: .* set epsilon > 0"),
    ("compare: runs", lambda: shortlist.compare("LUCB", instance(), runs=0), errors.InvalidSetting,
     "runs must be a whole number, at least 1, got 0"),
    ("compare: workers", lambda: shortlist.compare("LUCB", instance(), runs=1, workers=0),
     errors.InvalidSetting, "workers must be a whole number, at least 1, got 0"),
    ("compare: half a run", lambda: shortlist.compare("LUCB", instance(), runs=2.5),
     errors.InvalidSetting, "runs must be a whole number, at least 1, got 2.5"),
    ("compare: nobody", lambda: shortlist.compare([], instance()),
     errors.InvalidSetting, "no algorithm was given"),
    ("compare: start", lambda: shortlist.compare("LUCB", instance(), start=-1),
     errors.InvalidSetting, "start must be a whole number, at least 0, got -1"),
    ("theta too short",
     lambda: shortlist.instances.from_arrays(np.eye(3), theta=[1.0], m=1, sigma=1.0),
     errors.InvalidFeatures, "theta must be 3 finite numbers, one per feature"),
    ("means in words",
     lambda: shortlist.instances.from_arrays(np.eye(2), means=["a", "b"], m=1, sigma=1.0),
     errors.InvalidFeatures, "means must be numbers"),
    ("compare: seed", lambda: shortlist.compare("LUCB", instance(), runs=1, seed=-3),
     errors.InvalidSetting, "seed .* got -3"),
    ("compare: twice", lambda: shortlist.compare(["LUCB", "LUCB"], instance(), runs=1),
     errors.InvalidSetting, "'LUCB' is listed twice"),
    ("compare: max_samples", lambda: shortlist.compare("LUCB", instance(), runs=1, max_samples=2),
     errors.InvalidSetting, "max_samples=2 is below the 4 initial pulls"),
    ("instance: means and theta", lambda: shortlist.instances.from_arrays(
        X, m=1, sigma=1.0, means=[1, 2, 3, 4], theta=[1, 2]), errors.InvalidSetting, "exactly one of means and theta"),
    ("instance: number of means", lambda: shortlist.instances.from_arrays(
        X, m=1, sigma=1.0, means=[1, 2]), errors.InvalidFeatures, r"4 finite numbers.* got shape \(2,\)"),
    ("instance: Bernoulli range", lambda: shortlist.instances.from_arrays(
        X, m=1, sigma=0.5, means=[0, 0.5, 1, 1.5], noise="bernoulli"), errors.InvalidSetting, "got 0 … 1.5"),
    ("instance: noise", lambda: shortlist.instances.from_arrays(
        X, m=1, sigma=0.5, means=[0, 0, 0, 1], noise="gausian"), errors.UnknownName, "'gaussian'"),
    ("instance: recorded shape", lambda: shortlist.instances.recorded(
        X, np.ones((3, 2)), m=1, sigma=1.0), errors.InvalidFeatures, r"one column per arm \(4\)"),
    ("instance: recorded NaN", lambda: shortlist.instances.recorded(
        X, np.full((3, 4), np.nan), m=1, sigma=1.0), errors.InvalidFeatures, "must be finite"),
    ("instance: tied means", lambda: shortlist.compare("LUCB", shortlist.instances.from_arrays(
        X, m=1, sigma=1.0, means=[1, 1, 0, 0]), runs=1), errors.InvalidSetting,
     r"equal means \(1\) at ranks 1 and 2"),
    ("instance: classic", lambda: shortlist.instances.classic(K=3, m=2, omega=0.1),
     errors.InvalidSetting, "K=3, m=2"),
]  # fmt: skip


def instance() -> Any:
    return shortlist.instances.classic(K=4, m=2, omega=1.0)


@pytest.mark.parametrize(
    ("make", "error", "words"), [c[1:] for c in CREATION], ids=[c[0] for c in CREATION]
)
def test_creation(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert isinstance(caught.value, errors.ShortlistError)


def snapshot(s: shortlist.Study) -> tuple[Any, ...]:
    state = [array.tolist() for array in arrays_of(s)]
    return (state, [asdict(trial) for trial in s.trials], s.done, s.evaluations)


TELLING: list[tuple[str, Callable[[shortlist.Study], Any], type[Exception], str]] = [
    ("NaN", lambda s: s.tell(3, np.nan), errors.InvalidInput, "finite, got nan: .* Use fail"),
    ("inf", lambda s: s.tell(3, -np.inf), errors.InvalidInput, "finite, got -inf"),
    ("text", lambda s: s.tell(3, "1.0"), errors.InvalidInput, r"must be a number, got '1.0' \(str\)"),
    ("None", lambda s: s.tell(3, None), errors.InvalidInput, "must be a number, got None"),
    ("unknown trial", lambda s: s.tell(17, 1.0), errors.UnknownTrial, "trial 17 is unknown: .* asked for 4"),
    ("negative trial", lambda s: s.tell(-1, 1.0), errors.UnknownTrial, "trial -1 is unknown"),
    ("not a trial", lambda s: s.tell("three", 1.0), errors.UnknownTrial, "got 'three'"),
    ("another study's trial", lambda s: s.tell(study(seed=99).ask(), 1.0), errors.UnknownTrial, "another study"),
    ("told", lambda s: s.tell(0, 1.0), errors.TrialClosed, "trial 0 .* is told and cannot be told .*study.correct"),
    ("failed", lambda s: s.tell(1, 1.0), errors.TrialClosed, "trial 1 .* is failed and cannot be told"),
    ("cancelled", lambda s: s.tell(2, 1.0), errors.TrialClosed, "trial 2 .* is cancelled"),
    ("failing a told one", lambda s: s.fail(0), errors.TrialClosed, "trial 0 .* is told"),
    ("cancelling a failed one", lambda s: s.cancel(1), errors.TrialClosed, "trial 1 .* is failed"),
    ("neither trial nor arm", lambda s: s.tell(value=1.0), errors.InvalidSetting, "exactly one of trial and arm"),
    ("both trial and arm", lambda s: s.tell(3, 1.0, arm=0), errors.InvalidSetting, "exactly one of trial and arm"),
    ("unknown arm", lambda s: s.tell(arm="arn", value=1.0), errors.UnknownName, "unknown arm 'arn'"),
    ("arm out of range", lambda s: s.tell(arm=9, value=1.0), errors.InvalidInput, "such as 0 or 3, got 9"),
    ("if_told", lambda s: s.tell(3, 1.0, if_told="ignor"), errors.UnknownName, "did you mean 'ignore'"),
    ("ask(0)", lambda s: s.ask(0), errors.InvalidSetting, "n must be .* got 0"),
    ("ask('2')", lambda s: s.ask("2"), errors.InvalidSetting, "n must be .* got '2'"),
    ("reopening a running study", lambda s: s.reopen(), errors.InvalidInput, "nothing to reopen"),
    ("max_evaluations", lambda s: s.run(float, max_evaluations=0), errors.InvalidSetting, "got 0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("act", "error", "words"), [c[1:] for c in TELLING], ids=[c[0] for c in TELLING]
)
def test_telling_changes_nothing(
    act: Callable[[shortlist.Study], Any], error: type[Exception], words: str
) -> None:
    s = study()
    s.ask(4)
    s.tell(0, 0.5)
    s.fail(1, "pipette")
    s.cancel(2)
    before = snapshot(s)
    with pytest.raises(error, match=words):
        act(s)
    assert snapshot(s) == before


def test_asking_after_the_stop() -> None:
    s = study(sigma=0.01)
    s.run(lambda trial: X[trial.arm, 0], progress=False)
    with pytest.raises(errors.StudyStopped, match=r"its answer is final: .* study.reopen\(\)"):
        s.ask()
    assert s.trials == [t for t in s.trials if t.state == "told"]


def test_errors_are_value_errors_where_a_value_is_wrong() -> None:
    with pytest.raises(ValueError, match="delta"):
        study(delta=2.0)


def test_identical_arms_are_allowed_with_slack() -> None:
    twins = np.vstack([X, X[0]])
    s = shortlist.Study(twins, 1, sigma=0.05, epsilon=0.05, seed=0)
    answer = s.run(lambda trial: float(twins[trial.arm, 0]), progress=False)
    assert set(answer.names) <= {0, 4}


@pytest.mark.parametrize("algorithm", ["auto", "m-LinGapE", "LUCB"])
def test_a_result_that_cannot_be_squared_is_refused(algorithm: str) -> None:
    s = study(algorithm=algorithm)
    trial = s.ask()
    for value in (1.7e308, -1e200):
        with pytest.raises(errors.InvalidInput, match=r"within ±1e\+150.*nothing was told"):
            s.tell(trial, value)
        with pytest.raises(errors.InvalidInput, match=r"within ±1e\+150"):
            s.tell(arm=0, value=value)
    assert s.evaluations == 0


def test_numbers_as_text_are_refused_with_how_to_write_them() -> None:
    s = study()
    with pytest.raises(errors.InvalidInput, match=r"got '0,93' .*Write 0\.93: a decimal point"):
        s.tell(s.ask(), "0,93")  # type: ignore[arg-type]
    for sigma, words in (("0,5", r"Write 0\.5: a decimal point"), ("6", "Write 6, without quotes")):
        with pytest.raises(errors.InvalidSetting, match=words):
            study(sigma=sigma)
    with pytest.raises(
        errors.InvalidSetting, match=r"delta must be a number.*Write 0\.05, without"
    ):
        study(delta="0.05")


def test_a_risk_above_one_half_is_refused() -> None:
    words = r"delta is the risk of a wrong answer: for 95 % confidence write delta=0\.05"
    with pytest.raises(errors.InvalidSetting, match=words):
        study(delta=0.95)
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    with pytest.warns(UserWarning, match=r"write delta=0\.1"):
        shortlist.compare("LUCB", instance, runs=1, delta=0.9, progress=False)
    study(delta=0.5)
    study(delta=0.95, budget=50)
