"""Corrections: a mistyped result is put right, and every process knows it."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from history import check_replay
from report_pages import undrawn
from shortlist.errors import DamagedStorage, InvalidInput, TrialClosed, UnknownTrial
from stored import NewStorage, assert_same, begin, result
from test_exceptions import Interruption

KINDS: dict[str, dict[str, Any]] = {
    "m-LinGapE": {"algorithm": "m-LinGapE"},
    "LUCB both arms": {"algorithm": "LUCB both arms"},
    "Guess-and-verify": {"algorithm": "Guess-and-verify"},
    "pairs-in-doubt": {"budget": 60},
    "sigma estimated": {"algorithm": "Guess-and-verify", "sigma": "estimate"},
    "minimize": {"algorithm": "m-LinGapE", "direction": "minimize"},
    "audited": {"algorithm": "m-LinGapE", "audit": True},
}


@pytest.mark.filterwarnings("ignore::shortlist.errors.LinearityRejected")
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_as_if_the_right_value_had_been_told(kind: str) -> None:
    """With the same arms evaluated in the same order, told as data that nobody asked for."""
    wrong, right = begin(**KINDS[kind]), begin(**KINDS[kind])
    noise = np.random.default_rng(1)
    for k in range(40):
        arm, value = k % 8, float(noise.normal())
        wrong.tell(arm=arm, value=value + (100.0 if k == 13 else 0.0))
        right.tell(arm=arm, value=value)
    value = right.trials[13].value
    assert wrong.fingerprint != right.fingerprint
    trial = wrong.correct(13, value, reason="decimal point")
    assert trial is wrong.trials[13]
    assert trial.value == value
    assert wrong.done == right.done
    assert wrong.history().frame["value"].tolist() == right.history().frame["value"].tolist()
    assert wrong.table()["mean"].equals(right.table()["mean"])
    if wrong.model.searches:  # what was decided stays
        return
    assert wrong.table().equals(right.table())
    assert wrong.statistic == right.statistic
    assert wrong.audit.rejection == right.audit.rejection


@pytest.mark.parametrize("sigma", [0.3, "estimate", "estimate per arm"])
def test_what_was_decided_stays_and_evidence_is_that_of_the_right_values(sigma: Any) -> None:
    """As if all plans and all named sets had been fixed before, and the right values told."""
    study = begin(algorithm="Guess-and-verify", sigma=sigma)
    study.run(result, progress=False)
    asked, before = [trial.arm for trial in study.trials], study.table()
    worst = study.shortlist.arms[-1]
    places = [trial.number for trial in study.taken if trial.arm == worst]
    values = [study.trials[number].value for number in places]
    for number in places:
        study.correct(number, -5.0, reason="wrong column")
    assert not study.done
    assert [trial.arm for trial in study.trials] == asked
    for number, value in zip(places, values, strict=True):
        study.correct(number, value, reason="right column")
    assert study.done
    assert study.claim.proven
    pd.testing.assert_frame_equal(study.table(), before)


def test_both_values_stay_in_the_log() -> None:
    study = begin()
    trial = study.tell(study.ask(), 7.0)
    study.correct(trial, 0.7, reason="decimal point forgotten")
    assert (trial.value, trial.corrections) == (7.0, ())  # as it was when it was told
    trial = study.correct(trial.number, 0.75, reason="read again")
    assert [(each.was, each.value, each.reason) for each in trial.corrections] == [
        (7.0, 0.7, "decimal point forgotten"),
        (0.7, 0.75, "read again"),
    ]
    assert trial.first_value == 7.0
    row = study.trials_dataframe().iloc[0]
    assert (row["value"], row["first_value"], row["correction"]) == (0.75, 7.0, "read again")
    before = study.fingerprint
    study.correct(trial, 0.75, reason="once more")  # it has this value: nothing is changed
    assert study.fingerprint == before
    assert len(study.trials[0].corrections) == 2


@pytest.mark.slow
def test_the_guarantee_says_how_many_results_were_corrected() -> None:
    study = begin()
    study.run(result, progress=False)
    assert "corrected" not in study.shortlist.guarantee.text
    for number in (3, 5):
        value = study.trials[number].value
        study.correct(number, value + 1e-9, reason="typo")
    assert study.done
    assert "Results corrected after they had been told: 2." in study.shortlist.guarantee.text
    with undrawn():
        assert "2 results were corrected after being told." in shortlist.report.html(study)


def test_a_study_that_stopped_on_a_typo_goes_on() -> None:
    study = begin(algorithm="m-LinGapE")
    trials = [study.ask() for _ in range(20)]
    for trial in trials:
        study.tell(trial, result(trial))
    while not study.done:
        trial = study.ask()
        study.tell(trial, 50.0)
    study.correct(trial, result(trial), reason="typo")
    for each in study.trials[20:]:
        study.correct(each, result(each), reason="typo")
    assert not study.done
    assert study.ask().number == len(study.trials) - 1


def test_stored_corrections_are_seen_by_others_and_loaded(new_storage: NewStorage) -> None:
    storage = new_storage()
    study = begin(storage)
    study.run(result, max_evaluations=25, progress=False)
    other = shortlist.Study.load(storage)
    open_trial = study.ask()
    other.refresh()
    study.tell(open_trial, 9.0)  # told and corrected while the other one does not look
    study.correct(open_trial, 0.9, reason="typo")
    study.correct(4, 0.25, reason="typo, too")
    other.refresh()
    assert_same(other, study)
    assert other.trials[4].corrections == study.trials[4].corrections
    other.correct(4, 0.5, reason="read again")
    study.tell(study.ask(), 0.3)
    loaded = shortlist.Study.load(storage)
    assert_same(loaded, study)
    assert loaded.trials[4].first_value == study.trials[4].first_value != 0.25
    assert [each.reason for each in loaded.trials[4].corrections] == ["typo, too", "read again"]
    assert loaded.trials[4].corrections[0].at == pytest.approx(study.trials[4].closed_at, abs=60)
    check_replay(loaded)


def test_a_result_that_waits_for_its_turn_can_be_corrected() -> None:
    study = begin()
    first, second = study._log.ask(2, in_turn=True, run=None) or []
    study.tell(second, 5.0)
    study.correct(second, 0.5, reason="typo")
    study.tell(first, 0.1)
    assert [trial.value for trial in study.taken] == [0.1, 0.5]


@pytest.mark.parametrize("stored", [False, True])
def test_a_correction_that_is_interrupted_is_made_wholly_or_not_at_all(
    stored: bool, tmp_path: Path
) -> None:
    study = begin(str(tmp_path / "study.db") if stored else None, algorithm="m-LinGapE")
    study.run(result, max_evaluations=12, progress=False)
    twin = begin(algorithm="m-LinGapE")
    twin.run(result, max_evaluations=12, progress=False)
    twin.correct(3, 0.125, reason="typo")
    with Interruption() as counted:
        begin_again = begin(algorithm="m-LinGapE")
        begin_again.tell(arm=0, value=1.0)
        begin_again.correct(0, 2.0, reason="typo")
    for at in range(1, counted.calls, max(1, counted.calls // 60)):
        before = study.fingerprint
        with suppress(KeyboardInterrupt), Interruption(at):
            study.correct(3, 0.125, reason="typo")
        if study.trials[3].value == 0.125:
            break
        assert study.fingerprint == before
        assert study.trials[3].corrections == ()
    study.correct(3, 0.125, reason="typo")
    assert len(study.trials[3].corrections) == 1
    assert study.fingerprint == twin.fingerprint
    assert study.table().equals(twin.table())
    if stored:
        assert_same(shortlist.Study.load(tmp_path / "study.db"), twin)


def test_a_result_told_again_by_its_key_is_known_before_and_after_its_correction() -> None:
    study = begin()
    trial = study.tell(arm=1, value=7.0, key="plate 3")
    study.correct(trial, 0.7, reason="typo")
    for value in (7.0, 0.7):
        assert study.tell(arm=1, value=value, key="plate 3") == study.trials[0]
    with pytest.raises(TrialClosed, match="was told before"):
        study.tell(arm=1, value=0.8, key="plate 3")
    assert study.evaluations == 1
    assert study.trials[trial.number].value == 0.7


TAMPERED = {
    "the value": "UPDATE shortlist_events SET value = 0.5 WHERE kind = 'corrected'",
    "no value": "UPDATE shortlist_events SET value = NULL WHERE kind = 'corrected'",
    "the trial": "UPDATE shortlist_events SET trial = 99 WHERE kind = 'corrected'",
    "no event": "DELETE FROM shortlist_events WHERE kind = 'corrected'",
    "the first value": "UPDATE shortlist_trials SET value = 0.5 WHERE number = 2",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_correction_cannot_be_altered_unnoticed(what: str, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(str(path))
    study.run(result, max_evaluations=10, progress=False)
    study.correct(2, 0.25, reason="typo")
    study.close()
    connection = sqlite3.connect(path)
    connection.execute(TAMPERED[what])
    connection.commit()
    connection.close()
    with pytest.raises(DamagedStorage):
        shortlist.Study.load(path)


def test_what_cannot_be_corrected_is_refused() -> None:
    study = begin()
    told = study.tell(study.ask(), 0.5)
    pending, failed = study.ask(), study.ask()
    study.fail(failed, "dropped")
    before = study.fingerprint
    with pytest.raises(TrialClosed, match=r"is pending: only a told result .* Tell it\."):
        study.correct(pending, 0.5, reason="typo")
    with pytest.raises(TrialClosed, match="is failed: only a told result"):
        study.correct(failed, 0.5, reason="typo")
    with pytest.raises(UnknownTrial):
        study.correct(99, 0.5, reason="typo")
    for value in (float("nan"), float("inf"), "0.5", None):
        with pytest.raises(InvalidInput):
            study.correct(told, value, reason="typo")  # type: ignore[arg-type]
    for reason in ("", "  ", None):
        with pytest.raises(InvalidInput, match="a correction needs a reason"):
            study.correct(told, 0.6, reason=reason)  # type: ignore[arg-type]
    assert study.fingerprint == before


def test_a_closed_trial_says_how_to_put_it_right() -> None:
    study = begin()
    trial = study.tell(study.ask(), 0.5)
    with pytest.raises(TrialClosed, match=r"study\.correct\(0, value, reason=…\)"):
        study.tell(trial, 0.6)
