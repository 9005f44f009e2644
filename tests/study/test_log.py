"""The log of a study: the order in which results are taken in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shortlist
from shortlist.storage.sql import SQLStorage
from shortlist.study import log
from stored import begin, result


# The order in which results are taken in
@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    in_turn=st.lists(st.booleans(), min_size=1, max_size=12),
    data=st.data(),
)
def test_results_in_turn_wait_for_those_before_them(
    in_turn: list[bool], data: st.DataObject
) -> None:
    """One by one, or all at once from a file: the same results are taken in, in the same order."""
    study = begin()
    log = study._log
    for turn in in_turn:
        log.ask(1, in_turn=turn, run=None)
    order = data.draw(st.permutations(range(len(in_turn))))
    closed: set[int] = set()
    expected: list[int] = []
    states = data.draw(
        st.lists(st.sampled_from(["told", "told", "failed"]), min_size=12, max_size=12)
    )
    for number in order:
        if states[number] == "told":
            study.tell(number, float(number))
        else:
            study.fail(number)
        closed.add(number)
        for candidate in range(len(in_turn)):
            earlier = [k for k in range(candidate) if in_turn[k] and k not in closed]
            free = not in_turn[candidate] or not earlier
            if (
                candidate in closed
                and states[candidate] == "told"
                and free
                and candidate not in expected
            ):
                expected.append(candidate)
        assert [t.number for t in study.taken] == expected
        assert {t.number for t in study.waiting} == {
            k for k in closed if states[k] == "told"
        } - set(expected)
    from shortlist.study.ledger import Ledger

    book = Ledger(study.problem.names, study.seed, log._definition.digest)
    book.take_over([t.row for t in study.trials], [], log.ledger.changes)
    steps = book.settle()
    assert [t.number for t in book.taken] == expected
    assert book.fingerprint == study.fingerprint
    assert [v for v, k in zip(steps.values, steps.kinds, strict=True) if k == 0] == [
        float(k) for k in expected
    ]


def test_results_that_wait_count_as_under_way() -> None:
    """What is asked for next may not depend on results that are not taken in yet."""
    waiting, pending = (begin(algorithm="m-LinGapE") for _ in range(2))
    for study in (waiting, pending):
        study.run(result, max_evaluations=90, progress=False)
        assert study._log.ask(4, in_turn=True, run=None)
    for number in (91, 92, 93):
        waiting.tell(number, 50.0)
    assert [t.number for t in waiting.waiting] == [91, 92, 93]
    assert waiting.evaluations == 90
    alone = begin(algorithm="m-LinGapE")
    alone.run(result, max_evaluations=90, progress=False)
    following = [t.arm for t in waiting.ask(6)]
    assert following == [t.arm for t in pending.ask(6)]
    assert following != [t.arm for t in alone.ask(6)]  # so that it matters
    assert waiting.ask().number == 100


def test_much_that_others_did_is_processed_while_others_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "study.db")
    study = begin(place, sigma=1e6, algorithm="m-LinGapE")
    study.run(result, max_evaluations=30, progress=False)
    other = shortlist.Study.load(place)
    monkeypatch.setattr(log, "MUCH", 20)
    begun: list[bool] = []
    transaction = SQLStorage.transaction

    def counted(storage: SQLStorage, *, writing: bool) -> Any:
        begun.append(writing)
        return transaction(storage, writing=writing)

    study.correct(3, 7.0, reason="a slip")
    monkeypatch.setattr(SQLStorage, "transaction", counted)
    trial = other.ask()
    assert begun == [True, False, True]  # the correction is processed in the second
    study.tell(trial, 1.0)
    study.tell_unasked([(0, float(k), None) for k in range(15)])
    begun.clear()
    other.tell(arm=1, value=2.0)
    assert begun == [True, False, True]  # 31 changes
    again = shortlist.Study.load(place)
    for each in (study, other):
        each.refresh()
        assert each.fingerprint == again.fingerprint
        assert each.posterior.means.tolist() == again.posterior.means.tolist()


def test_all_steps_are_those_that_were_taken(tmp_path: Path) -> None:
    study = begin(str(tmp_path / "study.db"), algorithm="LUCB")
    for number in range(40):
        trials = study.ask(3)
        study.tell(trials[2], result(trials[2]))
        study.tell(trials[0], result(trials[0]))
        if number % 5:
            study.tell(trials[1], result(trials[1]))
        else:
            study.cancel(trials[1])
        if number == 20:
            study.correct(trials[0], 0.25, reason="a slip")
        if study.done:
            study.reopen()
    kept, loaded = study.all_steps(), shortlist.Study.load(study.storage or "").all_steps()
    for one, other in zip(kept.arrays(), loaded.arrays(), strict=True):
        assert one.tolist() == other.tolist()
