"""``ask``, ``tell``, ``fail``, ``cancel`` and ``why``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forks
import shortlist
from command_line import GOOD, asked, does, fails, fill, fingerprint, run, tell_two, told, write
from shortlist.cli import trials as commands


def test_without_a_file_the_trials_are_printed(screen: Path) -> None:
    lines = does("ask", "screen.toml", "-n", 2).stdout.splitlines()
    assert lines[0].split() == ["trial", "arm", "asked", "due"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "1"]
    assert "in 7 days" in lines[1]


def test_a_file_is_overwritten_only_by_force(screen: Path) -> None:
    Path("plate.csv").write_text("precious")
    fails(run("ask", "screen.toml", "--out", "plate.csv"), 2, "--force")
    assert Path("plate.csv").read_text() == "precious"
    assert shortlist.Study.load("screen.db").trials == []
    does("ask", "screen.toml", "--out", "plate.csv", "--force")
    assert len(pd.read_csv("plate.csv")) == 1


@pytest.mark.parametrize("place", ["nowhere/plate.csv", "screen.toml/plate.csv", ".csv/x.csv"])
def test_where_no_file_can_be_nothing_is_asked(screen: Path, place: str) -> None:
    fails(run("ask", "screen.toml", "--out", place), 2, f"{place} cannot be written")
    assert shortlist.Study.load("screen.db").trials == []


def test_a_plate_is_never_written_over_a_database(screen: Path) -> None:
    fails(run("ask", "screen.toml", "--out", "screen.db", "--force"), 2, "ends in .csv")
    does("status", "screen.db")


def test_if_the_plate_cannot_be_written_after_all_its_trials_are_open(
    screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        result = run("ask", "screen.toml", "-n", 3, "--out", "plate.csv")
    fails(result, 2, "No space left", "The trials are open", "--again")
    assert sorted(path.name for path in screen.iterdir() if "plate" in path.name) == []
    does("ask", "screen.toml", "--again", "--out", "plate.csv")
    assert pd.read_csv("plate.csv")["trial"].tolist() == [0, 1, 2]
    assert len(shortlist.Study.load("screen.db").trials) == 3


@pytest.mark.slow
def test_an_interruption_between_asking_and_writing_loses_nothing(screen: Path) -> None:
    dies = (
        "import os, signal\n"
        "from shortlist.files import writing\n"
        "from shortlist.cli.app import main\n"
        "writing.os.fsync = lambda _: os.kill(os.getpid(), signal.{})\n"
        "main()"
    )
    ask = ["ask", "screen.toml", "-n", "3", "--out"]
    killed = subprocess.run([*forks.python(), "-c", dies.format("SIGKILL"), *ask, "killed.csv"])
    assert killed.returncode == -signal.SIGKILL
    interrupted = subprocess.run(
        [*forks.python(), "-c", dies.format("SIGINT"), *ask, "interrupted.csv"],
        capture_output=True,
        text=True,
    )
    assert interrupted.returncode == 130
    assert "interrupted" in interrupted.stderr
    assert not Path("interrupted.csv").exists()
    result = does("ask", "screen.toml", "-n", 2, "--out", "plate.csv")
    assert "6 earlier trials open: `shortlist ask screen.toml --again` lists all." in result.stderr
    assert not Path("killed.csv").exists()  # so the same name is free
    does("ask", "screen.toml", "--again", "--out", "killed.csv")
    assert pd.read_csv("killed.csv")["trial"].tolist() == list(range(8))


def test_again_asks_for_nothing_new(screen: Path) -> None:
    fails(run("ask", "screen.toml", "--again"), 2, "no trial is open")
    does("ask", "screen.toml", "-n", 2)
    before = fingerprint()
    assert len(asked("ask", "screen.toml", "--again")["trials"]) == 2
    assert fingerprint() == before


def test_a_trial_whose_lease_is_over_is_given_out_again(folder: Path) -> None:
    write(lease="0.05 s")
    does("new", "screen.toml")
    [first] = asked("ask", "screen.toml")["trials"]
    time.sleep(0.06)
    assert " over" in does("status", "screen.toml").stdout
    [again] = asked("ask", "screen.toml")["trials"]
    assert again["trial"] == first["trial"] == 0


def test_ask_wants_a_positive_number(screen: Path) -> None:
    assert run("ask", "screen.toml", "-n", 0).exit_code == 2


def test_two_who_tell_the_same_plate_at_once(plated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other was quicker, after the plate was looked at and before it was told."""
    Path("plate.csv").write_text(GOOD)
    looked = commands.match

    def overtaken(file: Path, rows: Any, study: Any, **settings: Any) -> Any:
        intake = looked(file, rows, study, **settings)
        if told()[0] is None:
            shortlist.Study.load("screen.db").tell(0, value)
        return intake

    monkeypatch.setattr(commands, "match", overtaken)
    value = 0.5
    report = asked("tell", "screen.toml", "plate.csv")
    assert (report["taken"], report["known"]) == ([1], [0])
    does("ask", "screen.toml", "-n", 1, "--out", "more.csv")


def test_one_who_tells_another_value_at_once_is_not_ignored(
    plated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("plate.csv").write_text(GOOD)
    looked = commands.match

    def overtaken(file: Path, rows: Any, study: Any, **settings: Any) -> Any:
        intake = looked(file, rows, study, **settings)
        if told()[0] is None:
            shortlist.Study.load("screen.db").tell(0, 0.9)
        return intake

    monkeypatch.setattr(commands, "match", overtaken)
    fails(run("tell", "screen.toml", "plate.csv"), 2, "is told and cannot be told (0.9 is stored")
    assert told() == [0.9, None, None, None, None]


def test_a_result_that_nobody_asked_for(screen: Path) -> None:
    report = asked("tell", "screen.toml", "--arm", "C07", "--value", "-0,5")
    assert report["taken"] == [0]
    assert told() == [-0.5]
    fails(run("tell", "screen.toml", "--arm", "C7", "--value", 1), 2, "unknown arm 'C7'", "C07")
    fails(run("tell", "screen.toml", "--arm", "C07", "--value", "x"), 2, "--value: the value 'x'")
    assert run("tell", "screen.toml", "--arm", "C07").exit_code == 2
    assert run("tell", "screen.toml", "p.csv", "--arm", "C07", "--value", 1).exit_code == 2
    assert told() == [-0.5]


def test_a_result_with_a_key_counts_once(screen: Path) -> None:
    result = ("tell", "screen.toml", "--arm", "C07", "--value", "0.5", "--key", "plate 3, well B7")
    assert asked(*result)["taken"] == [0]
    again = asked(*result)
    assert (again["taken"], again["known"]) == ([], [0])
    assert "0 results recorded, 1 already known." in does(*result).stdout
    assert asked(*result[:-1], "plate 3, well B8")["taken"] == [1]
    assert told() == [0.5, 0.5]
    changed = ("tell", "screen.toml", "--arm", "C07", "--value", "0.6", "--key", "plate 3, well B7")
    fails(run(*changed), 2, "was told before as trial 0", "nothing was told")
    fails(run(*result[:-1], "x" * 201), 2, "key must be a text of 1 to 200 characters")
    assert run("tell", "screen.toml", "plate.csv", "--key", "a").exit_code == 2
    assert told() == [0.5, 0.5]


def test_trials_that_cannot_be_closed_are_named_and_none_is(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    fails(run("fail", "screen.toml", 2, 0), 2, "trial 0 ('C09') is told and cannot be failed")
    fails(run("cancel", "screen.toml", 2, 9), 2, "there is no trial '9'", "asked for 5 so far")
    fails(run("fail", "screen.toml", "x"), 2, "there is no trial 'x'")
    fails(run("fail", "screen.toml"), 2, "name a trial by its number")
    assert fingerprint() == before
    does("cancel", "screen.toml", 2)
    fails(run("fail", "screen.toml", 2), 2, "is cancelled and cannot be failed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "first_words", "later_words"),
    [
        ("m-LinGapE", "is an initial pull", "was chosen to compare"),
        (
            "Guess-and-verify",
            "is part of the first plan",
            "is part of a plan to compare arms, above all",
        ),
    ],
)
def test_why_says_it_in_words_and_in_json(
    folder: Path, algorithm: str, first_words: str, later_words: str
) -> None:
    write(algorithm=algorithm, audit=False)
    does("new", "screen.toml")
    does("ask", "screen.toml", "-n", 60, "--out", "plate.csv")
    fill("plate.csv")
    does("tell", "screen.toml", "plate.csv")
    does("ask", "screen.toml")
    arms = [trial.name for trial in shortlist.Study.load("screen.db").trials]
    assert does("why", "screen.toml", 0).stdout == f"Trial 0: '{arms[0]}' {first_words}.\n"
    said = " ".join(does("why", "screen.toml", 60).stdout.split())
    assert f"'{arms[60]}' {later_words}" in said
    assert "with its challenger" in said
    assert "the study stops when" in said
    first, last = asked("why", "screen.toml", 0, 60)["trials"]
    assert (first["trial"], first["gap"]) == (0, None)
    assert last["gap"] == pytest.approx(last["statistic"])
    assert {last["b"], last["c"]} <= set(shortlist.Study.load("screen.db").problem.names)


@pytest.mark.parametrize("command", ["fail", "cancel"])
def test_one_bad_number_among_many_changes_nothing(plated: Path, command: str) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    for bad in (99, "x", "-1", "3.5", 1):
        assert run(command, "screen.toml", 2, 3, "--", bad).exit_code == 2
        assert fingerprint() == before, bad


def test_a_trial_that_is_told_while_others_are_failed_is_named(
    plated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = shortlist.Study.end

    def too_late(study: shortlist.Study, *given: Any) -> Any:
        shortlist.Study.load("screen.db").tell(3, 0.75)
        return end(study, *given)

    monkeypatch.setattr(shortlist.Study, "end", too_late)
    fails(
        run("fail", "screen.toml", 2, 3, 4),
        2,
        "trial 3 (",
        "is told and cannot be failed (0.75 is stored; `shortlist correct screen.toml "
        "3 --value=X --reason TEXT` corrects a wrong one)",
        "nothing was changed",
    )
    states = [trial.state for trial in shortlist.Study.load("screen.db").trials[2:]]
    assert states == ["pending", "told", "pending"]


def test_a_trial_that_two_fail_at_once_is_failed(
    plated: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = shortlist.Study.end

    def too_late(study: shortlist.Study, *given: Any) -> Any:
        shortlist.Study.load("screen.db").fail(2, "the other's")
        return end(study, *given)

    monkeypatch.setattr(shortlist.Study, "end", too_late)
    assert asked("fail", "screen.toml", 2, 3)["failed"] == 2


def test_of_a_thousand_names_only_the_nearest_are_printed(folder: Path) -> None:
    generator = np.random.default_rng(0)
    names = [f"CMP-{k:04}" for k in range(1000)]
    pd.DataFrame(generator.normal(size=(1000, 3)), index=names).to_csv("features.csv")
    write()
    does("new", "screen.toml")
    result = run("tell", "screen.toml", "--arm", "cmp-042", "--value", 1)
    fails(result, 2, "unknown arm 'cmp-042': did you mean 'CMP-", "There are 1,000 arms.")
    assert result.stderr.count("'CMP-") == 3
    assert "'CMP-0042'" in result.stderr
    result = run("tell", "screen.toml", "--arm", "aspirin", "--value", 1)
    fails(result, 2, "no similar name", "1,000 arms, such as 'CMP-0000'")
    assert len(result.stderr) < 250
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text("CMP-0001,1\nCMP-1001,2\n")
    result = run("new", "screen.toml")
    fails(result, 2, "pilot.csv: unknown arm 'CMP-1001'", "There are 1,000 arms.")
    assert result.stderr.count("'CMP-") == 4


def test_correct_says_both_values_and_is_safe_to_repeat(screen: Path) -> None:
    tell_two()
    words = ("correct", "screen.toml", 0, "--value", "-0,5", "--reason", "sign forgotten")
    assert "Trial 0 (C09): -0.5 in place of 0.5." in does(*words).stdout
    assert "Trial 0 (C09) is -0.5 already." in does(*words).stdout
    report = asked("export", "screen.toml")["rows"][0]
    assert (report["value"], report["first_value"]) == (-0.5, 0.5)
    assert report["correction"] == "sign forgotten"
    does("ask", "screen.toml")
    for given, message in (
        ((2, "--value", 1, "--reason", "x"), "is pending: only a told result can be corrected"),
        ((99, "--value", 1, "--reason", "x"), "there is no trial '99'"),
        ((0, "--value", "high", "--reason", "x"), "'high' is not a number"),
        ((0, "--value", 1, "--reason", " "), "a correction needs a reason"),
    ):
        fails(run("correct", "screen.toml", *given), 2, message)


def test_correct_takes_the_study_from_the_environment(
    screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_two()
    monkeypatch.setenv("SHORTLIST_STUDY", "screen.toml")
    assert asked("correct", 1, "--value", 0.3, "--reason", "typo")["was"] == 0.25
