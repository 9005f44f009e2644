"""Arms are retired and added while a study runs: what is asked, what is said, and what is proven."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import near_ties as attack
from by_plans import run_by_plans
from command_line import asked, does, fails, run
from error_rates import shown_below
from report_pages import undrawn
from served import client_of
from shortlist import Study, errors, report
from shortlist.study.guarantee_parts import conditions

NAMES = [f"C{k:02}" for k in range(8)]
X = np.random.default_rng(5).standard_normal((8, 3))
MEANS = X @ [1.0, 0.5, -0.3]
BEST = NAMES[int(np.argmax(MEANS))]
KINDS: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto with features": {"features": X},
    "guide": {"features": X, "trust": "guide"},
    "LUCB both arms": {"algorithm": "LUCB both arms"},
    "m-LinGapE": {"features": X, "algorithm": "m-LinGapE"},
    "bounded": {"sigma": "bounded", "reward_range": (0.0, 1.0)},
    "sigma estimated": {"sigma": "estimate"},
    "a σ for every arm": {"sigma": [0.3, 0.2, 0.3, 0.25, 0.3, 0.35, 0.2, 0.3]},
    "smallest": {"direction": "minimize"},
}
GOES_ON = ["auto", "auto with features", "guide", "bounded", "sigma estimated", "smallest"]


def begin(kind: str = "auto", **others: Any) -> Study:
    return Study(**{"m": 2, "sigma": 0.3, "seed": 1, "arms": NAMES, **KINDS[kind], **others})


def result(trial: Any, means: Any = MEANS) -> float:
    noise = 0.3 * np.random.default_rng(trial.seed).standard_normal()
    return float(means[trial.arm] + noise)


def within(value: float) -> float:
    """A result as one in [0, 1]."""
    return float(np.clip(0.5 + 0.2 * value, 0.0, 1.0))


def go(study: Study, most: int | None = None, means: Any = MEANS) -> None:
    """Evaluate up to a number of results, or to the stop."""
    shown = within if study.problem.noise.word == "bounded" else float
    left = math.inf if most is None else most - study.evaluations
    run_by_plans(study, lambda trial: shown(result(trial, means)), left)


def same(one: Study, other: Study) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.model.digest() == other.model.digest()
    pd.testing.assert_frame_equal(one.table(), other.table())
    assert (one.done, one.shortlist.names) == (other.done, other.shortlist.names)


@pytest.mark.parametrize("kind", GOES_ON)
def test_a_retired_arm_is_never_asked_for_again_and_the_claim_says_so(
    kind: str, tmp_path: Path
) -> None:
    study = begin(kind, storage=tmp_path / "a.db")
    go(study, 25)
    gone = (*study.shortlist.names, BEST)[0]
    before = len(study.trials)
    opened = [] if study.done else study.ask(3)
    found = study.retire(gone, reason="out of stock")
    assert (found.name, found.reason) == (gone, "out of stock")
    assert all(t.state == "cancelled" for t in study.trials[before:] if t.name == gone)
    for trial in opened:
        if study.trials[trial.number].state == "pending":
            study.cancel(trial)
    since = len(study.trials)
    go(study)
    assert study.done
    assert not [trial for trial in study.trials[since:] if trial.name == gone]
    assert gone not in study.shortlist.names
    assert len(study.shortlist.names) == 2
    text = study.shortlist.guarantee.text
    assert f"{gone!r} (out of stock)" in text
    assert " nan" not in text
    assert "of 7 that were not retired" in study.shortlist.guarantee.short
    assert study.procedure.claim.statement.startswith("among the 7 arms that were not retired, ")
    row = study.table().loc[gone]
    assert np.isnan(row["mean"])
    assert not row["in_shortlist"]
    assert len(study.history().checkpoints) > 0
    with undrawn():
        assert "out of stock" in report.html(study)
    same(study, Study.load(tmp_path / "a.db"))


@pytest.mark.parametrize("kind", GOES_ON)
def test_one_of_the_list_may_retire_because_of_results(kind: str, tmp_path: Path) -> None:
    study = begin(kind, storage=tmp_path / "a.db")
    go(study)
    first, made = study.shortlist.names, study.evaluations
    study.retire(first[0], reason="toxic")
    assert not study.done
    assert study.evaluations == made
    go(study)
    assert study.done
    assert study.evaluations > made
    assert first[0] not in study.shortlist.names
    found = dict(conditions(study))["Retired"]
    assert f"{first[0]!r} (toxic). Results may have had a part in that." in found
    assert "any answer of this study is wrong, the first or a later one, is at most δ." in found
    same(study, Study.load(tmp_path / "a.db"))


@pytest.mark.parametrize("kind", ["LUCB both arms", "m-LinGapE"])
def test_an_algorithm_whose_proof_does_not_cover_that_refuses(kind: str) -> None:
    study = begin(kind)
    go(study, 25)
    changes = study.changes
    with pytest.raises(errors.InvalidInput, match="cannot go on without an arm") as raised:
        study.retire(BEST, reason="toxic")
    assert study.changes == changes
    assert "study.continued(algorithm='auto')" in str(raised.value)
    continued = study.continued(algorithm="Guess-and-verify")
    go(continued, continued.evaluations + 20)
    assert continued.retire(BEST, reason="toxic").name == BEST


def test_what_cannot_be_retired_is_refused_and_nothing_is_changed() -> None:
    study = begin()
    with pytest.raises(errors.UnknownName, match="C99"):
        study.retire("C99", reason="x")
    with pytest.raises(errors.InvalidInput, match="reason"):
        study.retire("C01", reason=" ")
    with pytest.raises(errors.InvalidInput, match="with a budget"):
        begin(budget=60).retire("C01", reason="x")
    for name in NAMES[:5]:
        study.retire(name, reason="x")
    changes = study.changes
    with pytest.raises(errors.InvalidInput, match="only 2 arms would be left, and m = 2"):
        study.retire(NAMES[5], reason="x")
    study.retire(NAMES[0], reason="another")  # once is enough
    assert (study.changes, study.retired[0].reason) == (changes, "x")
    go(study)
    assert set(study.shortlist.names) < set(NAMES[5:])


def test_an_arm_outside_may_be_retired_after_the_stop_and_one_inside() -> None:
    study = begin()
    go(study)
    kept = set(study.shortlist.names)
    outside = [name for name in NAMES if name not in kept]
    study.retire(outside[0], reason="out of stock")
    study.retire(outside[1], reason="toxic")
    assert study.done  # what was right is so among fewer arms
    assert set(study.shortlist.names) == kept
    assert study.shortlist.certain is not None
    assert study.shortlist.certain.epsilon == 0.0
    study.reopen()
    assert not study.done
    study.tell(
        arm=outside[0], value=float(MEANS[NAMES.index(outside[0])])
    )  # counted, and no part of anything
    go(study)
    assert set(study.shortlist.names) == kept
    study.retire(study.shortlist.names[0], reason="x")
    assert not study.done
    go(study)
    assert study.done
    assert len(kept & set(study.shortlist.names)) == 1


@pytest.mark.parametrize("name", ["Guess-and-verify", "Guess-and-verify (own results)"])
def test_a_crashing_arm_is_left_out(name: str) -> None:
    """Whatever the algorithm: three failures, and then the answer among the others."""
    m = 1 if "LinGapE" in name and not name.startswith("m-") else 2
    study = begin("auto with features", algorithm=name, m=m, audit=False)
    made = 0

    def crashes(trial: Any) -> float:
        nonlocal made
        if trial.name == BEST:
            made += 1
            raise RuntimeError("clogged")
        return result(trial)

    with pytest.warns(errors.ArmSetAside, match=BEST):
        study.run(crashes, max_failures=99, progress=False, max_evaluations=60_000)
    assert made == 3
    assert [each.name for each in study.retired] == [BEST]
    assert not study.set_aside
    assert study.done
    assert BEST not in study.shortlist.names


def test_after_a_verification_arms_are_added_and_retired_too() -> None:
    study = begin("m-LinGapE", audit=False)
    go(study)
    study.verify()
    go(study, study.evaluations + 5)
    row = X.mean(axis=0)
    study.add([row], arms=["new"])
    study.retire(BEST, reason="x")
    go(study, means=np.append(MEANS, row @ [1.0, 0.5, -0.3]))
    assert study.done
    assert study.stage == "verification"
    assert BEST not in study.shortlist.names


# Added arms


@pytest.mark.parametrize("kind", ["auto", "auto with features", "guide", "bounded", "smallest"])
def test_arms_are_added_while_a_study_runs(kind: str, tmp_path: Path) -> None:
    storage = tmp_path / "a.db"
    settings: dict[str, Any] = {"epsilon": 0.04 if kind == "bounded" else 0.1, "storage": storage}
    study = begin(kind, **settings)
    go(study)
    sign = -1.0 if kind == "smallest" else 1.0
    new = sign * 3.0 * np.array([0.9, 0.45, -0.27])
    more = None if study.problem.is_classical else [new, -new]
    study.add(more, arms=["N1", "N2"])
    assert not study.done
    means = np.append(MEANS, np.array([new, -new]) @ [1.0, 0.5, -0.3])
    go(study, means=means)
    assert study.done
    assert "N1" in study.shortlist.names
    assert "'N1', 'N2'" in dict(conditions(study))["Added"]
    assert len(study.history().checkpoints) % 10 == 0  # rows for all ten arms at all times
    same(study, Study.load(storage))
    changes = study.changes
    study.add(more, arms=["N1", "N2"])  # once is enough
    assert study.changes == changes
    # The table it began with continues it, and so does the longer one.
    same(study, begin(kind, **settings))
    longer: dict[str, Any] = {"arms": [*NAMES, "N1", "N2"]}
    if more is not None:
        longer["features"] = np.vstack([X, *more])
    same(study, begin(kind, **settings, **longer))
    with pytest.raises(errors.StudyMismatch):
        begin(kind, **settings, **{**longer, "arms": [*NAMES, "N1", "N3"]})


def test_arms_added_in_the_middle_of_a_plan_wait_for_its_end() -> None:
    """Whether the results of a plan count must not depend on them."""
    study = begin()
    go(study, 25)
    before = study.round.copy()
    assert before.results
    study.add(arms=["N1"])
    study.add(arms=["N2"])
    after = study.round
    assert (after.order, after.results) == (before.order, before.results)
    go(study, means=np.append(MEANS, [3.0, -3.0]))
    assert "N1" in study.shortlist.names


def test_what_cannot_be_added_is_refused() -> None:
    study = begin()
    study.add(arms=["early"])  # before the first trial there is nothing to be wrong
    assert study.problem.names[-1] == "early"
    with pytest.raises(errors.InvalidInput, match="'C01' is in the study already"):
        study.add(arms=["C01"])
    with pytest.raises(errors.InvalidInput, match="no features"):
        study.add([[1.0]], arms=["x"])
    with_features = begin("auto with features")
    with pytest.raises(errors.InvalidInput, match="3 features, and the new ones 2"):
        with_features.add([[1.0, 2.0]], arms=["x"])
    with pytest.raises(errors.InvalidInput, match="no names"):
        with_features.add([[1.0, 2.0, 3.0]])
    with pytest.raises(errors.InvalidInput, match="a σ of its own"):
        begin("a σ for every arm").add(arms=["x"])
    with pytest.raises(errors.InvalidInput, match="a cost of its own"):
        begin(costs=[1.0] * 8).add(arms=["x"])
    others = begin("LUCB both arms")
    go(others, 20)
    with pytest.raises(errors.InvalidInput, match="fixed before the first result"):
        others.add(arms=["x"])


@pytest.mark.parametrize("kind", GOES_ON)
def test_arms_retire_and_are_added_and_the_slack_grows_in_any_order(kind: str) -> None:
    """One δ for all of it: nothing is refused, and the end is a proof."""
    study = begin(kind)
    go(study, 15)
    study.retire("C01", reason="x")
    study.widen(0.01)
    new = None if study.problem.is_classical else [X.mean(axis=0)]
    study.add(new, arms=["N1"])
    study.retire("C02", reason="x")
    study.widen(0.04)
    study.correct(3, study.trials[3].value, reason="read again")
    go(study, means=np.append(MEANS, X.mean(axis=0) @ [1.0, 0.5, -0.3]))
    assert study.done
    assert study.claim.proven
    assert study.shortlist.certain is not None
    assert study.shortlist.certain.epsilon <= 0.04
    assert {"Retired", "Added", "Slack"} <= set(dict(conditions(study)))


def test_an_answer_after_one_that_was_not_verified_has_a_delta_of_its_own() -> None:
    study = begin("m-LinGapE", audit=False)
    go(study)
    study.verify()
    study.retire(BEST, reason="toxic")
    assert "a later one, is at most 2δ." in dict(conditions(study))["Retired"]


# Storage


def test_two_processes_see_each_others_changes_of_the_arms(tmp_path: Path) -> None:
    one = begin("auto", storage=tmp_path / "a.db")
    other = Study.load(tmp_path / "a.db")
    go(one, 20)
    one.add(arms=["new"])
    one.retire(BEST, reason="x")
    other.refresh()
    same(one, other)
    trial = other.ask()
    other.tell(trial, 0.5)
    one.refresh()
    same(one, other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_goes_on_with_the_arms_as_they_are(tmp_path: Path) -> None:
    study = begin("auto", storage=tmp_path / "a.db")
    go(study, 20)
    child = os.fork()
    if child == 0:
        study.add(arms=["new"])
        os._exit(0 if study.problem.arms == 9 else 1)
    assert os.waitpid(child, 0)[1] == 0
    study.refresh()
    study.retire(BEST, reason="x")
    assert study.problem.names[-1] == "new"
    same(study, Study.load(tmp_path / "a.db"))


def test_a_change_of_the_arms_is_made_wholly_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process were killed while it bound the algorithm again, before it was kept."""
    study = begin("auto", storage=tmp_path / "a.db")
    go(study, 20)
    open_trials, before = study.ask(3), study.fingerprint
    asked_now = study.fingerprint
    from shortlist.study.model import Model

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Model, "_decide_again", killed)
        for act in (
            lambda: study.retire(open_trials[0].name, reason="x"),
            lambda: study.add(arms=["new"]),
        ):
            with pytest.raises(KeyboardInterrupt):
                act()
    assert before == asked_now == study.fingerprint == Study.load(tmp_path / "a.db").fingerprint
    assert len(study.pending) == 3
    assert not study.retired
    study.retire(open_trials[0].name, reason="x")
    same(study, Study.load(tmp_path / "a.db"))


def test_an_altered_retirement_is_noticed(tmp_path: Path) -> None:
    study = begin("auto", storage=tmp_path / "a.db")
    go(study, 20)
    study.retire("C01", reason="x")
    study.close()
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("UPDATE shortlist_events SET reason = replace(reason, 'C01', 'C02')")
    with pytest.raises(errors.DamagedStorage, match="altered"):
        Study.load(tmp_path / "a.db")


# Results of fewer arms


def test_results_of_arms_that_are_not_there_are_left_out_and_counted() -> None:
    old = begin()
    go(old, 30)
    fewer = Study(arms=NAMES[2:], m=2, sigma=0.3, seed=3)
    told = fewer.carry_over(old)
    assert {trial.name for trial in told} == set(NAMES[2:])
    lost = sum(trial.name in NAMES[:2] for trial in old.taken)
    assert len(told) == old.evaluations - lost
    text = dict(conditions(fewer))["Carried over"]
    assert f"Left out were {lost} results of 'C00', 'C01'" in text
    assert "had no part in the choice of the arms, m, δ, ε, σ, the algorithm and the seed" in text
    assert fewer.carry_over(old) == told  # each counts once
    with pytest.raises(errors.InvalidInput, match="of no arm of this study"):
        Study(arms=["a", "b"], m=1, sigma=0.3).carry_over(old)


def test_a_continuation_lacks_the_retired_arms() -> None:
    old = begin()
    go(old, 30)
    old.retire(BEST, reason="x")
    assert BEST not in old.continued(delta=0.01).problem.names


# Commands and HTTP


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    names = ", ".join(f'"{name}"' for name in NAMES)
    Path("screen.toml").write_text(f"arms = [{names}]\nm = 2\nsigma = 0.3\nseed = 1\n")
    does("new", "screen.toml")
    study = Study.load("screen.db")
    go(study, 20)
    study.close()
    return tmp_path


def test_commands_retire_and_add(screen: Path) -> None:
    assert asked("add", "screen.toml", "C20")["added"] == ["C20"]
    fails(run("retire", "screen.toml", "C01"), 2, "say why it is retired")
    said = does(*("retire", "screen.toml", "C01", "--reason", "out of stock")).stdout
    assert "C01 was retired." in said
    assert "'C01' (out of stock)" in does("status", "screen.toml").stdout
    assert "retired before" in does("retire", "screen.toml", "C01", "--reason", "x").stdout
    assert asked("add", "screen.toml", "C21")["added"] == ["C20", "C21"]
    does("widen", "screen.toml", "--epsilon", "0.01")
    report = asked("status", "screen.toml")
    assert (report["added"], [each["arm"] for each in report["retired"]]) == (
        ["C20", "C21"],
        ["C01"],
    )
    fails(run("add", "screen.toml"), 2, "name the study, and the new arms")
    names = ", ".join(f'"{name}"' for name in [*NAMES, "C20", "C21"])
    Path("screen.toml").write_text(f"arms = [{names}]\nm = 2\nsigma = 0.3\nseed = 1\n")
    assert asked("status", "screen.toml")["added"] == ["C20", "C21"]
    fewer = ", ".join(f'"{name}"' for name in NAMES[2:])
    Path("fewer.toml").write_text(f"arms = [{fewer}]\nm = 2\nsigma = 0.3\n")
    assert (
        "of arms that are not in it left out."
        in does("new", "fewer.toml", "--from", "screen.db").stdout
    )


def test_clients_retire_and_add(screen: Path) -> None:
    with client_of("screen.db") as client:
        given = {"arm": "C01", "reason": "x"}
        for _ in range(2):
            assert client.api("add", {"arms": ["new"]}).json()["arms"] == 9
        for _ in range(2):
            assert client.api("retire", given).json()["retired"] == ["C01"]
        assert client.api("add", {"arms": ["x"]}).json()["arms"] == 10
        wrong = client.api("retire", {"arm": 3, "reason": "x"})
        assert wrong.status_code == 400
        assert "must be the name of an arm" in wrong.json()["error"]


# Errors


@pytest.mark.parametrize("kind", ["retired", "blindly", "added"])
def test_nobody_can_make_the_answer_wrong_by_retiring_or_adding(kind: str) -> None:
    """Near ties, by one who knows the means and sees the results; benchmarks/near_ties.py has all δ."""
    shown_below(0.3, lambda runs, seed: attack.errors_in(kind, 0.3, runs, seed))
