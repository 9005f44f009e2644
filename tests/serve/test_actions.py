"""Asking, telling and failing, once and again."""

from __future__ import annotations

import cProfile
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import shortlist
from served import begun
from shortlist.errors import InvalidInput, StorageError, ToldBefore, TrialClosed, UnknownTrial
from shortlist.serve import actions
from shortlist.storage import sql


@pytest.fixture
def study(tmp_path: Path) -> shortlist.Study:
    return begun(tmp_path / "study.db")


def test_each_can_be_repeated(study: shortlist.Study) -> None:
    asked = actions.ask(study, {"key": "plate 1", "n": 3})
    assert [trial["trial"] for trial in asked["trials"]] == [0, 1, 2]
    assert actions.ask(study, {"key": "plate 1", "n": 3}) == asked
    results = {"results": [{"trial": 0, "value": 0.5}, {"trial": 1, "value": 1}]}
    first, again = (actions.tell(study, results) for _ in range(2))
    assert (first["taken"], first["known"]) == ([0, 1], [])
    assert (again["taken"], again["known"]) == ([], [0, 1])
    failed = {"trials": [2, 2], "reason": "dropped"}
    first, again = (actions.fail(study, failed) for _ in range(2))
    assert (first["closed"], first["known"]) == ([2], [])
    assert (again["closed"], again["known"]) == ([], [2])
    free = {"arm": "oak", "value": 0.9, "key": "well B7"}
    first, again = (actions.tell(study, free) for _ in range(2))
    assert (first["taken"], again["taken"], again["known"]) == ([3], [], [3])
    assert (again["evaluations"], again["pending"], len(study.trials)) == (3, 0, 4)


def test_a_result_that_contradicts_is_refused_with_all_others(study: shortlist.Study) -> None:
    actions.ask(study, {"key": "plate 1", "n": 3})
    actions.tell(study, {"trial": 0, "value": 0.5})
    actions.fail(study, {"trials": [2]})
    before = study.fingerprint
    for trial, value in ((0, 0.25), (2, 0.5)):
        results = [{"trial": 1, "value": 0.5}, {"trial": trial, "value": value}]
        with pytest.raises(TrialClosed, match=f"trial {trial} .* nothing was changed"):
            actions.tell(study, {"results": results})
    with pytest.raises(
        TrialClosed,
        match=r"0\.5 is stored; study\.correct\(0, value, reason=…\) corrects",
    ):
        actions.fail(study, {"trials": [1, 0]})
    assert study.fingerprint == before
    actions.tell(study, {"arm": "oak", "value": 1.0, "key": "a"})
    with pytest.raises(TrialClosed, match="was told before"):
        actions.tell(study, {"arm": "oak", "value": 2.0, "key": "a"})
    assert study.evaluations == 2


def test_what_another_process_told_is_known(study: shortlist.Study, tmp_path: Path) -> None:
    other = shortlist.Study.load(tmp_path / "study.db")
    other.ask(3)
    other.tell(0, 0.5)
    other.fail(1, "dropped")
    told = actions.tell(study, {"results": [{"trial": k, "value": 0.5} for k in (0, 2)]})
    assert (told["taken"], told["known"]) == ([2], [0])
    assert actions.fail(study, {"trials": [1]})["known"] == [1]


def test_what_another_process_did_is_known_in_the_same_transaction(
    study: shortlist.Study, tmp_path: Path
) -> None:
    study.ask(4)
    other = shortlist.Study.load(tmp_path / "study.db")
    other.tell(0, 0.5)
    other.fail(2)
    told = actions.tell(study, {"results": [{"trial": k, "value": 0.5} for k in (0, 1)]})
    assert (told["taken"], told["known"]) == ([1], [0])
    other.tell(3, 0.75)
    with pytest.raises(TrialClosed, match=r"trial 3 .*0\.75 is stored.*nothing was changed"):
        actions.fail(study, {"trials": [2, 3]})
    assert actions.fail(study, {"trials": [2]})["known"] == [2]


@pytest.mark.parametrize(
    ("act", "given"),
    [
        (actions.tell, {"trial": 0, "value": 0.5}),
        (actions.tell, {"arm": "oak", "value": 0.5, "key": "a"}),
        (actions.fail, {"trials": [0, 1]}),
    ],
)
def test_a_request_is_one_transaction(
    study: shortlist.Study, monkeypatch: pytest.MonkeyPatch, act: Any, given: Any
) -> None:
    study.ask(2)
    storage, begun = study._log.storage, []
    transaction = storage.transaction

    def counted(*, writing: bool) -> Any:
        begun.append(writing)
        return transaction(writing=writing)

    monkeypatch.setattr(storage, "transaction", counted)
    for _ in range(2):
        act(study, given)
    assert begun == [True, True]


BAD: list[tuple[str, Any, str]] = [
    ("ask", {}, "'key' is missing"),
    ("ask", [], "expected an object"),
    ("ask", {"key": 7}, "key must be a text"),
    ("ask", {"key": ""}, "1 to 200 characters"),
    ("ask", {"key": "a\x00"}, "1 to 200 characters"),
    ("ask", {"key": "a", "n": 0}, "at least 1"),
    ("ask", {"key": "a", "n": 1e9}, "whole number"),
    ("ask", {"key": "a", "n": 10**6}, "at most 1,536"),
    ("ask", {"key": "a", "m": 1}, "'m' is not known"),
    ("tell", {}, "'trial' is missing"),
    ("tell", {"trial": 0}, "'value' is missing"),
    ("tell", {"trial": "0", "value": 1}, "whole number"),
    ("tell", {"trial": True, "value": 1}, "whole number"),
    ("tell", {"trial": 0, "value": "1"}, "must be a number"),
    ("tell", {"trial": 0, "value": None}, "must be a number"),
    ("tell", {"trial": 0, "value": float("inf")}, "must be finite"),
    ("tell", {"results": 3}, "must be a list"),
    ("tell", {"results": [3]}, "must be a list"),
    ("tell", {"results": [], "key": "a"}, "'key' is not known"),
    ("tell", {"results": [{"trial": 0, "value": 1}] * 2}, "twice"),
    ("tell", {"arm": "oak", "value": 1}, "'key' is missing"),
    ("tell", {"arm": "pine", "value": 1, "key": "a"}, "pine"),
    ("tell", {"arm": 0, "value": 1, "key": "a"}, "arm must be a name, and key a text"),
    (
        "tell",
        {"results": [{"arm": "oak", "value": 1, "key": "a"}, {"trial": 0}]},
        "'arm' is missing",
    ),
    ("tell", {"file": "a.csv"}, "'text' is missing"),
    ("tell", {"file": 1, "text": "a"}, "must be texts"),
    ("tell", {"file": "a.csv", "text": 1}, "must be texts"),
    (
        "tell",
        {"file": "a.csv", "text": "arm,value\noak,1\n", "measured_again": "no"},
        "true or false",
    ),
    ("tell", {"file": "a.csv", "text": "arm,value\npine,1\n"}, "unknown arm 'pine'"),
    ("tell", {"file": "a.csv", "text": "\ud800"}, "not text in UTF-8"),
    ("cancel", {}, "'trials' is missing"),
    ("cancel", {"trials": 0}, "list of numbers"),
    ("cancel", {"trials": [0], "reason": "x"}, "'reason' is not known"),
    ("fail", {"trials": 0}, "list of numbers"),
    ("fail", {"trials": ["x"]}, "whole number"),
    ("fail", {"trials": [0], "reason": 1}, "reason a text"),
]


@pytest.mark.parametrize(("action", "given", "words"), BAD)
def test_wrong_input_is_named_and_changes_nothing(
    study: shortlist.Study, action: str, given: Any, words: str
) -> None:
    study.ask()
    before = study.fingerprint
    with pytest.raises(InvalidInput, match=words):
        getattr(actions, action)(study, given)
    assert study.fingerprint == before


def test_an_unknown_trial_is_named(study: shortlist.Study) -> None:
    for action, given in (
        (actions.tell, {"trial": 3, "value": 1}),
        (actions.fail, {"trials": [3]}),
        (actions.cancel, {"trials": [3]}),
    ):
        with pytest.raises(UnknownTrial, match="trial 3 is unknown: this study has asked for 0"):
            action(study, given)


def test_no_trials_told_are_none(study: shortlist.Study) -> None:
    assert actions.tell(study, {"results": []})["taken"] == []


def test_cancelling_can_be_repeated(study: shortlist.Study) -> None:
    actions.ask(study, {"key": "plate 1", "n": 3})
    actions.tell(study, {"trial": 0, "value": 0.5})
    first, again = (actions.cancel(study, {"trials": [1, 1]}) for _ in range(2))
    assert (first["closed"], first["known"], first["pending"]) == ([1], [], 1)
    assert (again["closed"], again["known"]) == ([], [1])
    before = study.fingerprint
    for trials in ([2, 0], [0]):
        with pytest.raises(TrialClosed, match=r"trial 0 .* is told and cannot be cancelled"):
            actions.cancel(study, {"trials": trials})
    with pytest.raises(TrialClosed, match=r"is cancelled and cannot be failed"):
        actions.fail(study, {"trials": [1]})
    assert study.fingerprint == before
    assert [trial.state for trial in study.trials] == ["told", "cancelled", "pending"]


def test_results_that_nobody_asked_for_are_told_together(study: shortlist.Study) -> None:
    rows = [{"arm": arm, "value": 0.5, "key": f"well {arm}"} for arm in ("ash", "oak")]
    first, again = (actions.tell(study, {"results": rows}) for _ in range(2))
    assert (first["taken"], first["known"]) == ([0, 1], [])
    assert (again["taken"], again["known"]) == ([], [0, 1])
    more = [{"arm": "elm", "value": 0.5, "key": "well elm"}, {**rows[0], "value": 0.75}]
    with pytest.raises(TrialClosed, match="well ash"):
        actions.tell(study, {"results": more})
    assert study.evaluations == 2  # all or none


def test_a_file_is_told_as_by_the_command_line(study: shortlist.Study) -> None:
    actions.ask(study, {"key": "plate 1", "n": 2})
    plate = "trial,arm,value\n0,ash,0.5\n1,elm,\n"
    sent = {"file": "folder/plate.csv", "text": plate}
    first, again = (actions.tell(study, sent) for _ in range(2))
    assert (first["taken"], first["known"], first["blank"]) == ([0], [], [1])
    assert (again["taken"], again["known"], again["blank"]) == ([], [0], [1])


def test_what_was_measured_again_is_told_once_more_and_counts_once(study: shortlist.Study) -> None:
    rows = {"file": "old.csv", "text": "arm,value\nash,0.5\noak,0.75\n"}
    assert actions.tell(study, rows)["taken"] == [0, 1]
    copy = {**rows, "file": "old (1).csv"}
    with pytest.raises(ToldBefore, match=r"2 of its 2 rows are those of 'old\.csv'"):
        actions.tell(study, copy)
    changed = {**rows, "text": rows["text"].replace("0.75", "0.8")}
    with pytest.raises(ToldBefore, match=r"told before, as trial 1 with 0\.75 .* is 0\.8"):
        actions.tell(study, changed)
    taken = 2
    for sent in (copy, rows):
        first, again = (actions.tell(study, {**sent, "measured_again": True}) for _ in range(2))
        assert (first["taken"], first["known"]) == ([taken, taken + 1], [])
        assert (again["taken"], again["known"]) == ([], [taken, taken + 1])
        taken += 2
    for sent in (copy, rows):  # and without saying it, all is known
        assert actions.tell(study, sent)["taken"] == []
    with pytest.raises(ToldBefore, match=r"as trial 5 with 0\.75 .* is 0\.8"):
        actions.tell(study, {**changed, "measured_again": True})
    assert study.evaluations == 6


@pytest.mark.parametrize("length", [183, 184, 200])
def test_results_with_long_keys_can_be_measured_again(study: shortlist.Study, length: int) -> None:
    rows = {"file": "old.csv", "text": f"arm,value,key\nash,0.5,{'k' * length}\n"}
    assert actions.tell(study, rows)["taken"] == [0]
    first, again = (actions.tell(study, {**rows, "measured_again": True}) for _ in range(2))
    assert (first["taken"], again["known"]) == ([1], [1])
    with pytest.raises(InvalidInput, match="1 to 200 characters"):
        actions.tell(study, {**rows, "text": f"arm,value,key\nash,0.5,{'k' * 201}\n"})


@pytest.mark.parametrize(
    ("columns", "key", "again", "moved"),
    [
        ("", "", "Another result belongs on a new row", "known by its place in the file"),
        (",key", ",w7", "Another result needs a key", "key of its own"),
    ],
)
def test_advice_fits_how_a_row_is_known(
    study: shortlist.Study, columns: str, key: str, again: str, moved: str
) -> None:
    def told(arm: str, value: float, is_again: bool) -> object:
        text = f"arm,value{columns}\n{arm},{value}{key}\n"
        given = {"file": "old.csv", "text": text, "measured_again": is_again}
        return actions.tell(study, given)["taken"]

    assert told("ash", 0.5, False) == [0]
    assert told("ash", 0.6, True) == [1]
    with pytest.raises(ToldBefore, match=again):
        told("ash", 0.7, True)
    with pytest.raises(ToldBefore, match=moved):
        told("elm", 0.5, False)


def test_rows_of_an_export_measured_a_third_time_are_told_by_their_arms(
    study: shortlist.Study,
) -> None:
    rows = {"file": "a.csv", "text": "study,trial,arm,value,state\nother-1,0,ash,0.5,told\n"}
    assert actions.tell(study, rows)["taken"] == [0]
    for value in ("0.6", "0.7"):
        again = {**rows, "text": rows["text"].replace("0.5", value), "measured_again": True}
        if value == "0.6":
            assert actions.tell(study, again)["taken"] == [1]
            continue
        with pytest.raises(ToldBefore, match=r"study\.tell\(arm='ash', value=0\.7\)"):
            actions.tell(study, again)


def test_rows_are_no_copy_of_the_trials_of_a_study(study: shortlist.Study) -> None:
    heading, lines = "study,trial,arm,value,state\n", ["1,ash,0.5,told\n", "2,oak,0.75,told\n"]
    text = heading + "".join(f"other-1,{line}" for line in lines)
    assert actions.tell(study, {"file": "a.csv", "text": text})["taken"] == [0, 1]
    rows = {"file": "new.csv", "text": "arm,value\nash,0.5\noak,0.75\n"}
    assert actions.tell(study, rows)["taken"] == [2, 3]


def test_a_result_is_reported_once_however_often_it_is_sent(study: shortlist.Study) -> None:
    row = {"arm": "ash", "value": 0.5, "key": "a"}
    for taken, known in (([0], []), ([], [0])):
        told = actions.tell(study, {"results": [row, row]})
        assert (told["taken"], told["known"]) == (taken, known)


def test_a_result_sent_again_after_its_correction_is_known(study: shortlist.Study) -> None:
    actions.ask(study, {"key": "a"})
    actions.tell(study, {"trial": 0, "value": 5.0})
    study.correct(0, 0.5, reason="decimal point forgotten")
    for value in (5.0, 0.5):
        assert actions.tell(study, {"trial": 0, "value": value})["known"] == [0]
    assert study.trials[0].value == 0.5


def test_trials_of_a_plate_that_were_measured_again(study: shortlist.Study) -> None:
    actions.ask(study, {"key": "plate 1", "n": 3})
    actions.tell(study, {"trial": 0, "value": 0.5})
    actions.fail(study, {"trials": [1]})
    plate = {"file": "plate.csv", "text": "trial,arm,value\n0,ash,0.25\n1,elm,0.5\n2,oak,1\n"}
    with pytest.raises(ToldBefore, match=r"trial 0 \('ash'\) was told 0\.5 before and is 0\.25"):
        actions.tell(study, plate)
    again = {**plate, "measured_again": True}
    told, repeated = (actions.tell(study, again) for _ in range(2))
    assert (told["taken"], told["known"], told["left"]) == ([3, 4], [], [2])
    assert (repeated["taken"], repeated["known"], repeated["left"]) == ([], [3, 4], [2])
    assert [(t.name, t.value) for t in study.trials[3:]] == [("ash", 0.25), ("elm", 0.5)]
    rest = actions.tell(study, plate)  # now nothing in it contradicts what is known
    assert (rest["taken"], rest["known"]) == ([2], [3, 4])
    assert study.trials[0].value == 0.5


def test_all_of_a_file_told_before_is_measured_again(study: shortlist.Study) -> None:
    rows = {"file": "old.csv", "text": "arm,value\nash,0.5\noak,0.75\n"}
    actions.tell(study, rows)
    changed = {**rows, "text": rows["text"].replace("0.75", "0.8"), "measured_again": True}
    told, repeated = (actions.tell(study, changed) for _ in range(2))
    assert (told["taken"], told["known"]) == ([2, 3], [])
    assert (repeated["taken"], repeated["known"]) == ([], [2, 3])
    moved = {**rows, "text": "arm,value\noak,0.9\nash,0.5\noak,0.75\n"}
    for sent in (moved, {**moved, "measured_again": True}):
        with pytest.raises(ToldBefore, match=r"for 'ash', as trial 0, but is for 'oak' here"):
            actions.tell(study, sent)
    assert study.evaluations == 4


def test_all_of_a_plate_told_before_is_measured_again(
    study: shortlist.Study,
) -> None:
    actions.ask(study, {"key": "plate 1", "n": 2})
    plate = {"file": "plate.csv", "text": "trial,arm,value\n0,ash,0.25\n1,elm,0.5\n"}
    plate["text"] = plate["text"].replace("ash", study.trials[0].name)
    plate["text"] = plate["text"].replace("elm", study.trials[1].name)
    actions.tell(study, plate)
    changed = {**plate, "text": plate["text"].replace("0.25", "0.3"), "measured_again": True}
    told, repeated = (actions.tell(study, changed) for _ in range(2))
    assert (told["taken"], told["known"]) == ([2, 3], [])
    assert (repeated["taken"], repeated["known"]) == ([], [2, 3])


@pytest.mark.parametrize("body", [1, None, True, 1.5])
def test_what_is_no_object_is_refused(study: shortlist.Study, body: object) -> None:
    with pytest.raises(InvalidInput, match="expected an object such as"):
        actions.tell(study, body)  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", [None, "LUCB"])
def test_an_ask_costs_no_more_where_many_trials_are_open(algorithm: str | None) -> None:
    """Counted in calls, since times depend on the machine."""
    study = shortlist.Study(arms=list(range(30)), m=3, sigma=1.0, seed=0, algorithm=algorithm)

    def calls(key: str) -> int:
        counted = cProfile.Profile()
        counted.runcall(actions.ask, study, {"key": key, "n": 100})
        return sum(entry.callcount for entry in counted.getstats())

    few, again = calls("first"), calls("first")
    study.ask(10_000)
    many, repeated = calls("second"), calls("second")
    assert max(many - few, repeated - again) < 60_000  # 6 for an open trial: quadratic would be 100
    assert few > again


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@pytest.mark.parametrize("action", [actions.fail, actions.cancel, actions.tell])
def test_many_trials_end_together_or_not_at_all(
    action: Any, study: shortlist.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [trial.number for trial in study.ask(50)]
    given: dict[str, Any] = {"trials": numbers}
    if action is actions.tell:
        given = {"results": [{"trial": number, "value": 0.5} for number in numbers]}
    with monkeypatch.context() as locked:
        locked.setattr(sql, "PATIENCE", 0.1)
        other = sqlite3.connect(str(study.storage), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked by another process"):
            action(study, given)
        other.close()
    study.refresh()
    assert len(study.pending) == 50
    done, again = action(study, given), action(study, given)
    assert (again["pending"], again["known"]) == (0, numbers)
    assert numbers == done.get("closed", done.get("taken"))
