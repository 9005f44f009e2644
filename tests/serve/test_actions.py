"""Asking, telling and failing, once and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shortlist
from served import begun
from shortlist.errors import InvalidInput, TrialClosed, UnknownTrial
from shortlist.serve import actions


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
    with pytest.raises(TrialClosed, match=r"0\.5 is stored\).*`shortlist correct` puts"):
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


def test_what_is_told_by_another_process_in_between_is_looked_at_again(
    study: shortlist.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.ask(2)
    other = shortlist.Study.load(tmp_path / "study.db")
    tell_many = study.tell_many

    def late(results: Any) -> Any:
        if other.trials[0].state == "pending":
            other.tell(0, 0.5)
        return tell_many(results)

    monkeypatch.setattr(study, "tell_many", late)
    told = actions.tell(study, {"results": [{"trial": k, "value": 0.5} for k in (0, 1)]})
    assert (told["taken"], told["known"]) == ([1], [0])


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
    ("tell", {"arm": 0, "value": 1, "key": "a"}, "must be texts"),
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
    ):
        with pytest.raises(UnknownTrial, match="no trial 3: the study has asked for 0"):
            action(study, given)


def test_no_trials_told_are_none(study: shortlist.Study) -> None:
    assert actions.tell(study, {"results": []})["taken"] == []
