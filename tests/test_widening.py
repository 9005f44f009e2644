"""A larger ε in view of the results: an event of the study like any other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import asked, does, fails, run
from served import client_of
from shortlist import Study, errors
from shortlist.storage import sql
from stored import assert_same

MEANS = np.array([0.9, 0.6, 0.6, 0.3])


def begin(**given: Any) -> Study:
    settings = {"m": 2, "sigma": 0.1, "seed": 3, "algorithm": "LUCB", **given}
    return Study(arms=["ash", "elm", "oak", "yew"], **settings)


def go_on(study: Study, more: int, sign: float = 1.0) -> Study:
    def measure(trial: shortlist.Trial) -> float:
        noise = np.random.default_rng(trial.seed).standard_normal()
        return sign * float(MEANS[trial.arm] + 0.1 * noise)

    study.run(measure, max_evaluations=study.evaluations + more, progress=False)
    return study


def ends(study: Study) -> float:
    """The least ε that ends it now."""
    now = study.shortlist.certain
    assert now is not None
    assert now.stops_at is not None
    return now.stops_at


def test_it_ends_a_study_that_stalls_on_a_tie_and_the_guarantee_says_so() -> None:
    study = go_on(begin(), 120)
    assert not study.done
    wider = ends(study)
    study.widen(epsilon=wider)
    answer = study.shortlist
    assert study.done
    assert answer.evaluations == 120
    assert answer.guarantee.status == "proven"
    assert f"minus ε = {wider:g}" in answer.guarantee.claim.statement
    assert [each.name for each in answer.guarantee.conditions] == ["Slack"]
    assert f"to {wider:g} after 120 evaluations" in answer.guarantee.text
    assert study.widenings == [(wider, 120)]


@pytest.mark.parametrize(
    "algorithm", ["LUCB", "Guess-and-verify", "Guess-and-verify (own results)"]
)
def test_a_slack_too_small_to_end_it_is_used_from_then_on(algorithm: str) -> None:
    study, plain = (go_on(begin(algorithm=algorithm), 100) for _ in range(2))
    study.widen(epsilon=0.02)
    assert not study.done
    assert study.problem.epsilon == study.procedure.engine.setup.epsilon == 0.02
    study.widen(epsilon=0.05)
    go_on(study, 20_000)
    assert study.done
    assert [trial.arm for trial in study.taken[:100]] == [trial.arm for trial in plain.taken]
    assert (MEANS[[study.problem.index(name) for name in study.shortlist.names]] >= 0.55).all()


def test_it_can_only_grow_and_twice_is_once() -> None:
    study = go_on(begin(epsilon=0.01), 60)
    for smaller in (0.0, 0.005):
        with pytest.raises(errors.InvalidSetting, match=r"can only be made larger.*continued\(ep"):
            study.widen(smaller)
    changes = study.changes
    study.widen(0.01)
    assert study.changes == changes
    for value in (-1.0, float("nan"), "much"):
        with pytest.raises(errors.InvalidSetting):
            study.widen(value)  # type: ignore[arg-type]
    wider = ends(study)
    study.widen(wider)
    study.widen(wider)
    assert study.changes == changes + 1
    with pytest.raises(errors.InvalidInput, match="the study has stopped"):
        study.widen(1.0)
    with pytest.raises(errors.InvalidInput, match="with a budget"):
        begin(budget=50, algorithm=None).widen(0.1)


def test_before_the_first_result_it_is_as_if_begun_with_it() -> None:
    study, other = begin(), begin(epsilon=0.15)
    study.widen(0.15)
    for each in (study, other):
        go_on(each, 5000)
    assert [trial.arm for trial in study.taken] == [trial.arm for trial in other.taken]


def test_with_an_estimated_sigma() -> None:
    study = begin(sigma="estimate", algorithm=None)
    go_on(study, 3)
    study.widen(0.2)
    assert study.problem.epsilon == 0.2
    go_on(study, 5000)
    assert study.done
    assert study.problem.epsilon == 0.2


def test_where_the_smallest_are_the_best() -> None:
    study = go_on(begin(direction="minimize"), 120, sign=-1.0)
    wider = ends(study)
    study.widen(wider)
    assert study.done
    assert f"plus ε = {wider:g}" in study.shortlist.guarantee.claim.statement


@pytest.mark.parametrize("algorithm", ["LUCB", "Guess-and-verify (own results)", "m-LinGapE"])
def test_a_stored_widening_is_replayed(algorithm: str, tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    stored, memory = begin(algorithm=algorithm, storage=place), begin(algorithm=algorithm)
    for study in (stored, memory):
        go_on(study, 60)
        study.widen(0.01)
        go_on(study, 20)
    again = Study.load(place)
    assert_same(again, stored)
    assert again.problem.epsilon == 0.01
    for study in (again, memory):
        study.widen(ends(study))
        assert study.done
    stored.refresh()
    assert_same(stored, again)
    assert_same(Study.load(place), again)
    assert [t.arm for t in memory.trials] == [t.arm for t in stored.trials]
    assert stored.shortlist.guarantee.text == memory.shortlist.guarantee.text
    assert stored.mark == Study.load(place).mark == begin(algorithm=algorithm).mark
    begin(algorithm=algorithm, storage=place)  # the settings that it began with still open it
    with pytest.raises(errors.StudyMismatch, match="epsilon"):
        begin(algorithm=algorithm, epsilon=0.01, storage=place)


def test_its_history_and_its_report_can_be_read() -> None:
    study = go_on(begin(algorithm="Guess-and-verify"), 80)
    study.widen(ends(study))
    past = study.history()
    assert past.frame["evaluation"].iloc[-1] == 80
    assert past.last is not None
    assert past.last.statistic == study.statistic
    page = shortlist.report.html(study)
    assert "the slack was widened to" in page


def test_a_correction_takes_all_results_in_again(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = go_on(begin(storage=place), 120)
    wider = ends(study)
    study.widen(wider)
    assert study.done
    study.correct(study.taken[-1], 2.0, reason="misread")  # now the tie is broken otherwise
    assert study.widenings == [(wider, 120)]
    assert study.problem.epsilon == wider
    assert_same(Study.load(place), study)


def test_reopened_it_keeps_its_slack_and_after_that_it_can_be_verified() -> None:
    features = np.column_stack([np.ones(4), [0.9, 0.61, 0.6, 0.3]])
    study = Study(features, m=2, sigma=0.1, seed=0, audit=False)
    go_on(study, 40)
    if not study.done:
        study.widen(ends(study))
    slack = study.problem.epsilon
    study.verify()
    assert study.stage == "verification"
    assert study.problem.epsilon == slack
    study.widen(slack + 0.3)
    go_on(study, 4000)
    assert study.done
    assert study.problem.epsilon == slack + 0.3
    study.reopen()
    assert study.problem.epsilon == slack + 0.3


def _widen_and_die(place: str, epsilon: float, monkey: bool) -> None:
    study = Study.load(place)
    if monkey:  # in the middle of the change, before it is committed
        sql._Transaction.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
    study.widen(epsilon)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("early", [True, False])
def test_killed_it_is_there_wholly_or_not_at_all(early: bool, tmp_path: Path) -> None:
    place = str(tmp_path / "study.db")
    study = go_on(begin(storage=place), 120)
    wider = ends(study)
    child = multiprocessing.get_context("fork").Process(
        target=_widen_and_die, args=(place, wider, early)
    )
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    study.refresh()
    assert study.done is not early
    assert_same(Study.load(place), study)
    if early:
        study.widen(wider)
    with sqlite3.connect(place) as rows:
        query = "SELECT count(*), max(value) FROM shortlist_events WHERE kind = 'widened'"
        assert rows.execute(query).fetchone() == (1, wider)


def _widen(study: Study, epsilon: float) -> None:
    study.widen(epsilon)


def test_a_forked_process_widens_the_same_study(tmp_path: Path) -> None:
    study = go_on(begin(storage=tmp_path / "study.db"), 120)
    wider = ends(study)
    child = multiprocessing.get_context("fork").Process(target=_widen, args=(study, wider))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert not study.done
    study.refresh()
    assert study.done
    study.widen(wider)  # which changes nothing
    assert len(study.widenings) == 1


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = go_on(begin(storage="study.db"), 120)
    wider = ends(study)
    status = asked("status", "study.db")
    assert status["certain"]["epsilon"] <= wider
    assert status["certain"]["open_inside"]
    fails(run("widen", "study.db", "--epsilon", "-1"), 2, "0 or more")
    assert "Proven already" in " ".join(does("status", "study.db").stdout.split())
    done = asked("widen", "study.db")
    assert done["done"]
    assert done["epsilon"] == wider
    fails(run("widen", "study.db"), 2, "the study has stopped")


def test_the_server(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = go_on(begin(storage=place), 120)
    wider = ends(study)
    with client_of(place) as client:
        assert f'value="{wider:g}"' in client.page().text
        assert client.api("widen", {"epsilon": 0.01}).json()["epsilon"] == 0.01
        refused = client.api("widen", {"epsilon": 0.001})
        assert refused.status_code == 400
        assert "can only be made larger" in refused.json()["error"]
        assert client.api("status").json()["certain"]["inside"] is not None
        answered = client.page("widen", data={"epsilon": f"{wider:g}"})
        assert "The study has stopped" in answered.text
        assert client.api("widen", {"epsilon": wider}).json()["done"]


def test_results_that_wait_for_an_earlier_one_are_a_condition() -> None:
    study = shortlist.Study(arms=list("abcdef"), m=2, sigma=0.5, seed=0)
    first, *others = study._log.ask(12, in_turn=True, run=None) or []
    study.tell_many([(trial, 0.1 * trial.arm) for trial in others])
    assert len(study.waiting) == 11  # known to whoever chooses the slack
    study.widen(epsilon=0.05)
    study.tell(first, 0.0)
    assert study.waiting == []
    assert len(study.open_at_changes) == 12
