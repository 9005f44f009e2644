"""Two certificates: proven if the means are linear, and then by each arm's own results."""

from __future__ import annotations

import json
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from by_plans import run_by_plans
from command_line import asked, does, fails, run
from error_rates import shown_below
from served import client_of
from shortlist import Study, errors
from shortlist.engine.follow import VERIFY
from shortlist.study.guarantee_parts import guarantee_of
from shortlist.study.log import Log
from shortlist.study.verification import cannot_verify, expected_evaluations, price_of_proof

RNG = np.random.default_rng(5)
FEATURES = np.column_stack([np.ones(16), RNG.normal(size=(16, 3))])
LINE = FEATURES @ [0.2, 1.0, -0.6, 0.4]
DOSES = np.linspace(0.0, 1.0, 24)
DOSE = np.column_stack([np.ones(24), DOSES])
BENT = 4.0 * (DOSES - 0.7 * DOSES**2)  # best at doses 15 to 18, not at the end
SIGMA, EPSILON = 0.4, 0.2


def begin(features: Any = FEATURES, **given: Any) -> Study:
    settings = {"m": 3, "sigma": SIGMA, "epsilon": EPSILON, "seed": 2, **given}
    return Study(features, **settings)


def result(trial: Any, means: Any = LINE, sigma: float = SIGMA) -> float:
    return float(means[trial.arm] + sigma * np.random.default_rng(trial.seed).standard_normal())


def stop(
    study: Study,
    means: Any = LINE,
    most: int = 20_000,
    sigma: float = SIGMA,
    *,
    by_plans: bool = True,
) -> shortlist.Shortlist:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.LinearityRejected)
        warnings.simplefilter("ignore", errors.GuaranteeInDoubt)
        measure = lambda trial: result(trial, means, sigma)  # noqa: E731
        if by_plans:
            return run_by_plans(study, measure, most)
        return study.run(measure, max_evaluations=most, progress=False)


def is_right(study: Study, means: Any, epsilon: float = EPSILON) -> bool:
    listed = [study.problem.index(name) for name in study.shortlist.names]
    return bool(means[listed].min() >= np.sort(means)[-len(listed)] - epsilon)


def test_the_first_word_says_what_is_assumed() -> None:
    study = begin()
    first = stop(study, by_plans=False)
    assert first.guarantee.text.startswith("Proven if the means are linear in the features: with")
    assert (guarantee_of(study).badge, guarantee_of(study).level) == ("Proven if linear", "plain")
    assert (
        "smaller or other departures, which can make the list wrong, were not excluded"
        in first.guarantee.text
    )
    assert price_of_proof(study) in first.guarantee.text
    study.verify()
    assert (study.done, study.stage, study.shortlist.final) == (False, "verification", False)
    assert study.shortlist.guarantee.text.startswith("No guarantee yet")
    second = stop(study, by_plans=False)
    assert second.final
    assert second.guarantee.text.startswith("Proven: with probability at least 0.95")
    assert "linear" not in second.guarantee.text
    assert "nothing is assumed about how the means depend on the features" in second.guarantee.text
    assert (guarantee_of(study).badge, guarantee_of(study).level) == ("Proven", "good")
    assert second.evaluations == study.evaluations > first.evaluations
    assert is_right(study, LINE)
    assert "study.verify()" not in second.guarantee.text


def test_the_audit_is_told_beside_the_span_and_the_gap() -> None:
    study = begin()
    answer = stop(study)
    means = study.table()["estimate"].sort_values(ascending=False).to_numpy()
    span, gap = means[0] - means[-1], means[2] - means[3]
    words = f"the estimated means span {span:.2g} and ranks 3 and 4 are {gap:.2g} apart"
    assert words in answer.guarantee.text


@pytest.mark.slow
def test_a_wrong_list_is_not_verified() -> None:
    """Most first lists are wrong here, none is called plainly proven, and few verified ones are wrong."""
    wrong_first = []

    def wrong(runs: int, seed: int) -> int:
        errors_found = 0
        for number in range(runs):
            study = begin(DOSE, seed=1000 * seed + number, sigma=0.25, delta=0.2, audit=False)
            stop(study, BENT, sigma=0.25)
            if study.done:
                wrong_first.append(not is_right(study, BENT))
                assert guarantee_of(study).badge != "Proven"
            study.verify()
            stop(study, BENT, sigma=0.25)
            assert study.done
            assert guarantee_of(study).badge == "Proven"
            errors_found += not is_right(study, BENT)
        return errors_found

    shown_below(0.2, wrong)
    assert np.mean(wrong_first) > 0.5


def test_after_a_rejection_it_goes_on() -> None:
    study = begin(DOSE)
    stop(study, 10.0 * BENT)
    assert study.audit.rejection is not None
    assert not study.done
    study.verify()
    assert study.audit.rejection is None
    stop(study, 10.0 * BENT)
    assert study.done
    assert study.shortlist.guarantee.text.startswith("Proven:")
    assert is_right(study, 10.0 * BENT)


@pytest.mark.parametrize(
    "given",
    [
        {"algorithm": "m-LinGapE"},
        {"algorithm": "LinGIFA"},
        {"algorithm": "Guess-and-verify"},
        {"threshold": "self_normalized"},
        {"algorithm": "LinGapE", "m": 1, "threshold": "heuristic"},
        {"direction": "minimize"},
        {"audit": False},
        {"sigma": np.linspace(0.4, 0.8, 16)},
        {"sigma": "estimate"},
        {"sigma": "estimate per arm"},
    ],
    ids=str,
)
def test_whatever_found_the_list_it_is_verified_without_features(given: dict[str, Any]) -> None:
    study = begin(**given)
    stop(study)
    assert study.done
    assert guarantee_of(study).badge != "Proven"
    study.verify()
    stop(study)
    assert study.done
    normal = " if normal" if "estimate" in str(given.get("sigma")) else ""
    assert guarantee_of(study).badge == f"Proven{normal}"
    best = -LINE if study.problem.minimizes else LINE
    assert is_right(study, best)


def test_bounded_results() -> None:
    means = 0.5 + 0.3 * LINE / np.abs(LINE).max()
    study = begin(sigma="bounded", reward_range=(0.0, 1.0))
    rng = np.random.default_rng(0)

    def coin(trial: Any) -> float:
        return float(rng.random() < means[trial.arm])

    study.run(coin, progress=False)
    study.verify()
    answer = study.run(coin, progress=False)
    assert answer.guarantee.text.startswith("Proven:")


@pytest.mark.parametrize(
    "given", [{"algorithm": "m-LinGapE"}, {}, {"direction": "minimize"}], ids=str
)
def test_a_stored_verification_is_replayed(given: dict[str, Any], tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    stored, memory = begin(storage=place, **given), begin(**given)
    for study in (stored, memory):
        stop(study)
        study.verify()
        for _ in range(17):
            trial = study.ask()
            study.tell(trial, result(trial))
    again = Study.load(place)
    for other in (stored, again):
        assert other.stage == "verification"
        assert [trial.arm for trial in other.trials] == [trial.arm for trial in memory.trials]
        assert other.statistic == memory.statistic
        np.testing.assert_array_equal(other.table()["mean"], memory.table()["mean"])
    for study in (again, memory):
        stop(study)
    stored.refresh()
    assert stored.done
    assert again.shortlist.names == stored.shortlist.names == memory.shortlist.names
    with sqlite3.connect(place) as rows:
        assert rows.execute(
            "SELECT count(*) FROM shortlist_events WHERE kind = 'verifying'"
        ).fetchone() == (1,)


def test_the_past_of_a_verified_study_can_be_read() -> None:
    study = begin(algorithm="m-LinGapE")
    stop(study)
    before = study.evaluations
    study.verify()
    stop(study)
    past = study.history()
    assert len(past.frame) == study.evaluations
    assert past.frame["statistic"].iloc[-1] == study.statistic
    assert (study.all_steps().kinds == VERIFY).sum() == 1
    assert study.model.verified_from == before
    assert all(study.why(trial).words for trial in study.trials)
    assert study.remaining().high == 0


def test_features_that_cannot_express_a_constant() -> None:
    """The results so far may span the features, but not a constant as well."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(12, 2))
    means = features @ [1.0, -0.5]
    for seed in range(6):
        study = begin(features, algorithm="m-LinGapE", m=1, audit=False, seed=seed)
        stop(study, means)
        study.verify()
        stop(study, means)
        assert study.shortlist.guarantee.text.startswith("Proven:")
        assert is_right(study, means)


def test_twice_is_once() -> None:
    study = begin()
    stop(study)
    study.verify()
    changes = study.changes
    study.verify()
    assert study.changes == changes


def test_open_trials_may_be_told_later() -> None:
    study = begin()
    for trial in study.ask(20):
        study.tell(trial, result(trial))
    late = study.ask(5)
    study.verify()
    for trial in late:
        study.tell(trial, result(trial))
    stop(study)
    assert study.done
    assert is_right(study, LINE)
    assert (
        "or when ε was made larger: 5. They had no part in that." in study.shortlist.guarantee.text
    )


def test_a_correction_takes_all_results_in_again() -> None:
    study = begin()
    stop(study)
    study.verify()
    trial = study.ask()
    study.tell(trial, 100.0)
    study.correct(trial, result(trial), reason="decimal point")
    study.correct(0, study.trials[0].value + 1e-3, reason="typo")
    assert study.stage == "verification"
    stop(study)
    assert study.done


def test_what_is_refused_and_why() -> None:
    budget = begin(budget=60)
    with pytest.raises(errors.InvalidInput, match="a budget stops when the budget is spent"):
        budget.verify()
    for free in (Study(arms=range(4), m=1, sigma=0.1), begin(trust="guide"), begin(np.eye(5))):
        with pytest.raises(errors.InvalidInput, match="assumes nothing about how the means depend"):
            free.verify()
    for given in ({}, {"sigma": "estimate"}):
        with pytest.raises(errors.InvalidInput, match="initial pulls are not all in"):
            begin(**given).verify()
    assert cannot_verify(begin()) != ""


def test_verifying_and_reopening_look_at_the_study_as_it_is_when_they_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begin(storage=tmp_path / "line.db")
    stop(study)
    other = Study.load(tmp_path / "line.db")
    step = Log.step

    def after_the_other(act: str) -> None:
        """Let somebody else do the same, between all checks that come before the change and it."""

        def late(log: Log, *given: Any) -> None:
            with monkeypatch.context() as changed:
                changed.setattr(Log, "step", step)
                getattr(other, act)()
            step(log, *given)

        monkeypatch.setattr(Log, "step", late)

    after_the_other("reopen")
    with pytest.raises(errors.InvalidInput, match="has not stopped: there is nothing to reopen"):
        study.reopen()
    after_the_other("verify")
    before = study.changes
    study.verify()
    assert study.changes == before + 1  # the other's
    assert study.model.verifies


@pytest.mark.slow
def test_the_price_is_about_what_it_takes() -> None:
    ratios = []
    for seed in range(11):
        study = begin(seed=seed)
        stop(study)
        expected, before = expected_evaluations(study), study.evaluations
        study.verify()
        stop(study)
        ratios.append((study.evaluations - before) / expected)
    assert 0.5 < np.median(ratios) < 2.0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = begin(storage="line.db", name="line")
    fails(run("verify", "line.db"), 2, "initial pulls are not all in")
    stop(study)
    assert "`shortlist verify line.db`" in does("status", "line.db").output.replace("\n", " ")
    said = json.loads(does("verify", "line.db", "--json").output)
    assert (said["stage"], said["done"]) == ("verification", False)
    assert asked("ask", "line.db", "-n", 3)["trials"]
    assert "The list is being verified" in does("status", "line.db").output


def test_the_server(tmp_path: Path) -> None:
    place = tmp_path / "line.db"
    study = begin(storage=place)
    stop(study)
    with client_of(place) as client:
        assert "Verify by results of their own" in client.page().text
        reply = client.api("verify", {})
        assert (reply.json()["stage"], reply.json()["done"]) == ("verification", False)
        assert client.api("verify", {}).status_code == 200
        assert client.api("verify", {"n": 3}).status_code == 400
        assert "Verify by results of their own" not in client.page().text
        assert client.page("verify", data={"x": ""}).status_code == 200
    study.refresh()
    assert study.stage == "verification"
