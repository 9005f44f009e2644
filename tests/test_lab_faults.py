"""The lab's command line where something is amiss: files, locks, encodings, pipes, second thoughts."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forks
import shortlist
from shortlist.study.storage import database
from test_cli import fails, run
from test_lab import (  # noqa: F401 - fixtures
    GOOD,
    asked,
    does,
    example,
    fill,
    fingerprint,
    folder,
    plated,
    screen,
    told,
    write,
)

pytestmark = pytest.mark.filterwarnings("error")


def program(*words: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The program itself, its output in bytes."""
    return subprocess.run(
        [*forks.program(), *map(str, words)],
        capture_output=True,
        env={**os.environ, **variables},
        timeout=120,
    )


# Decimal commas


def with_commas(file: str) -> None:
    """As a spreadsheet with decimal commas saves it."""
    text = Path(file).read_text()
    Path(file).write_text(text.replace(",", ";").replace(".", ","))


@pytest.mark.slow
def test_decimal_commas_in_features_and_pilot_make_the_same_study(folder: Path) -> None:  # noqa: F811
    outlook = asked("new", "screen.toml")["outlook"]
    with_commas("features.csv")
    with_commas("pilot.csv")
    assert "C01;1;-0,36;1,2;1,4" in Path("features.csv").read_text()
    again = asked("new", "screen.toml")
    assert again["made"] is False  # to the last digit, or it would be refused
    assert again["outlook"]["lower_bound"] == outlook["lower_bound"]
    does("status", "screen.toml")


BAD_DECIMALS = {
    "features.csv, line 1, column 2: '1,234' may be 1.234 or 1234. Write one of these.": (
        "a;1,234;1\nb;2,345;2\nc;3;4\n"
    ),
    "features.csv, line 2, column 2: '0,5' has a comma, and '1.5' (features.csv, line 1, column 3)": (
        "a;1;1.5\nb;0,5;2\nc;3;4\n"
    ),
    "features.csv, line 2, column 3: '1.234,5' is not a finite number": (
        "a;1,5;1\nb;2;1.234,5\nc;3;4\n"
    ),
    "features.csv, line 1, column 2: '1.234,5' is not a finite number": (  # no heading, and no arm lost
        "a;1.234,5;2.345,6\nb;2;1\nc;3;4\n"
    ),
    "features.csv, line 2, column 2: '1_0' is not a finite number": "a,1,1\nb,1_0,2\nc,3,4\n",
    "features.csv, line 2, column 3: 'inf' is not a finite number": "a,1,1\nb,1,inf\nc,3,4\n",
    "features.csv, line 1, column 2: 'nan' is not a finite number": "a,nan,nan\nb,1,2\nc,3,4\n",
    "features.csv, line 2 has 4 cells and line 1 has 3": "name,x,y\na,0,5,1\nb,1,2\nc,3,4\n",
    "A comma within a cell needs quotes": "name,x,y\na,0,5,1\nb,1,2\nc,3,4\n",
    "features.csv has commas between the cells of its first line and semicolons in all others": (
        "name,x\na;0,5\nb;1,5\nc;2,5\n"
    ),
}


@pytest.mark.parametrize("message", BAD_DECIMALS)
def test_half_a_number_and_an_unclear_one_are_refused(folder: Path, message: str) -> None:  # noqa: F811
    write(m=1)
    Path("features.csv").write_text(BAD_DECIMALS[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


def test_a_pilot_cut_within_its_numbers_is_refused(folder: Path) -> None:  # noqa: F811
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text("C01,0,34\nC04,0,59\n")
    fails(run("new", "screen.toml"), 2, "pilot.csv has 3 columns where 2 are", "A decimal comma")
    Path("pilot.csv").write_text("C01;1,234\nC04;2,345\n")
    fails(run("new", "screen.toml"), 2, "pilot.csv, line 1, column 2: '1,234' may be 1.234 or 1234")


# Locks


@pytest.fixture
def locked(plated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: F811
    """The example with a plate, while somebody else writes and nobody has patience."""
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    other = sqlite3.connect("screen.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield plated
    other.execute("ROLLBACK")
    other.close()


@pytest.mark.slow
def test_looking_waits_for_nobody_who_writes(locked: Path) -> None:
    fails(run("ask", "screen.toml"), 5, "locked by another process")  # so there is a lock
    for place in ("screen.toml", "screen.db"):
        does("status", place)
        does("why", place, 0)
        does("list", place)
        does("export", place)
        does("report", place)
    does("new", "screen.toml")


@pytest.mark.slow
def test_looking_changes_nothing(plated: Path) -> None:  # noqa: F811
    before = fingerprint(), Path("screen.db").read_bytes()
    for words in (["status"], ["list"], ["export"], ["report"], ["new"]):
        does(*words, "screen.toml")
    assert (fingerprint(), Path("screen.db").read_bytes()) == before


# What is told is final


def test_another_value_for_a_told_trial_says_what_to_do(plated: Path) -> None:  # noqa: F811
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    Path("plate.csv").write_text(GOOD.replace("0.25", "0.26"))
    result = run("tell", "screen.toml", "plate.csv")
    fails(result, 2, "told 0.25 before and is 0.26 here", "final", "0.25 stays stored: put it back")
    fails(result, 2, "--arm and --value", "begin another study")
    fails(run("fail", "screen.toml", 1), 2, "cannot be failed (0.25 is stored and final)")
    assert told()[:2] == [0.5, 0.25]


# Encodings


def test_no_sign_is_lost_in_another_encoding(folder: Path) -> None:  # noqa: F811
    names = ["β-carotene", "naïve", "水"]
    write(features=None, arms=names, m=1, sigma=1.0)
    does("new", "screen.toml")

    def said(encoding: str, *words: str) -> bytes:
        done = program(*words, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        return done.stdout

    report = said("ascii", "new", "screen.toml", "--json")
    assert report.isascii()
    assert "σ = 1" in json.loads(report)["guarantee"]
    rows = said("cp1252", "export", "screen.toml", "--table", "--json")
    assert rows.isascii()
    assert [row["name"] for row in json.loads(rows)["rows"]] == names
    does("export", "screen.toml", "--table", "--out", "arms.csv")
    assert "水" in Path("arms.csv").read_text(encoding="utf-8")
    assert said("cp1252", "export", "screen.toml", "--table") == Path("arms.csv").read_bytes()


# Reports


@pytest.mark.slow
def test_only_a_page_of_the_same_study_is_replaced(plated: Path) -> None:  # noqa: F811
    does("report", "screen.toml")
    first = Path("report.html").read_bytes()
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    does("report", "screen.toml")
    assert Path("report.html").read_bytes() != first
    does("report", "screen.db")
    Path("other").mkdir()
    for file in ("screen.toml", "features.csv", "pilot.csv"):
        Path("other", file).write_text(Path(file).read_text().replace("seed = 0", "seed = 1"))
    does("new", "other/screen.toml")  # of the same name, too
    kept = Path("report.html").read_bytes()
    fails(run("report", "other/screen.toml"), 2, "report.html is there already", "--force")
    assert Path("report.html").read_bytes() == kept
    does("report", "other/screen.toml", "--force")
    fails(run("report", "screen.toml"), 2, "report.html is there already")


def test_a_file_that_is_no_report_is_left_alone(plated: Path) -> None:  # noqa: F811
    Path("notes.html").write_text("precious")
    fails(run("report", "screen.toml", "--out", "notes.html"), 2, "notes.html is there already")
    assert Path("notes.html").read_text() == "precious"
    Path("folder.html").mkdir()
    fails(run("report", "screen.toml", "--out", "folder.html"), 2, "folder.html")
    said = " ".join(run("report", "--help").stdout.split())
    assert "An earlier page of the same study" in said


# Several trials at once


@pytest.mark.parametrize("command", ["fail", "cancel"])
def test_one_bad_number_among_many_changes_nothing(plated: Path, command: str) -> None:  # noqa: F811
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    for bad in (99, "x", "-1", "3.5", 1):
        assert run(command, "screen.toml", 2, 3, "--", bad).exit_code == 2
        assert fingerprint() == before, bad


@pytest.mark.parametrize("first", [True, False])
def test_a_trial_that_is_told_while_others_are_failed_is_named(
    plated: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    first: bool,
) -> None:
    fail, overtaken = shortlist.Study.fail, 2 if first else 3

    def too_late(study: shortlist.Study, trial: shortlist.Trial, reason: str) -> shortlist.Trial:
        if trial.number == overtaken:
            shortlist.Study.load("screen.db").tell(overtaken, 0.75)
        return fail(study, trial, reason)

    monkeypatch.setattr(shortlist.Study, "fail", too_late)
    before = "nothing was changed" if first else "only 2 could be failed before"
    fails(
        run("fail", "screen.toml", 2, 3, 4),
        2,
        f"trial {overtaken} (",
        "is told and cannot be failed (0.75 is stored and final)",
        before,
    )
    states = [trial.state for trial in shortlist.Study.load("screen.db").trials[2:]]
    assert states == (["told", *["pending"] * 2] if first else ["failed", "told", "pending"])


def test_a_trial_that_two_fail_at_once_is_failed(
    plated: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fail = shortlist.Study.fail

    def too_late(study: shortlist.Study, trial: shortlist.Trial, reason: str) -> shortlist.Trial:
        if trial.number == 2:
            fail(shortlist.Study.load("screen.db"), 2, "the other's")
        return fail(study, trial, reason)

    monkeypatch.setattr(shortlist.Study, "fail", too_late)
    assert asked("fail", "screen.toml", 2, 3)["failed"] == 2


# A damaged study among others


DAMAGES = {
    "fingerprint": "UPDATE shortlist_trials SET value = 9.0 WHERE study = 2 AND number = 0",
    "settings": "UPDATE shortlist_studies SET settings = '{' WHERE id = 2",
    "features": "UPDATE shortlist_studies SET features = x'00' WHERE id = 2",
    "stored arms": """UPDATE shortlist_studies SET arms = '["a"]' WHERE id = 2""",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_study_does_not_hide_the_others(folder: Path, damage: str) -> None:  # noqa: F811
    for name in ("first", "second", "third"):
        study = shortlist.Study(np.eye(3), m=1, sigma=1.0, storage="all.db", name=name)
        study.tell(arm=0, value=0.5)
        study.close()
    with sqlite3.connect("all.db") as other:
        assert other.execute(DAMAGES[damage]).rowcount == 1
    other.close()
    result = run("list", "all.db")
    assert result.exit_code == 5
    assert [line.split()[0] for line in result.stdout.splitlines() if line[0] != " "] == [
        *("first", "second", "third")
    ]
    assert result.stdout.count("1 evaluation") == 2
    assert result.stderr.startswith("shortlist: 1 of 3 studies cannot be read: second.")
    assert result.stderr.count("\n") == 1
    result = run("list", "all.db", "--json")
    assert result.exit_code == 5
    rows = json.loads(result.stdout)["studies"]
    assert [row.get("evaluations") for row in rows] == [1, None, 1]
    assert rows[1]["study"] == "second"
    does("status", "all.db", "--study", "third")


# Names


def test_of_a_thousand_names_only_the_nearest_are_printed(folder: Path) -> None:  # noqa: F811
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
    fails(result, 2, "no name is like it", "1,000 arms, such as 'CMP-0000'")
    assert len(result.stderr) < 250
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text("CMP-0001,1\nCMP-1001,2\n")
    result = run("new", "screen.toml")
    fails(result, 2, "pilot.csv: unknown arm 'CMP-1001'", "There are 1,000 arms.")
    assert result.stderr.count("'CMP-") == 4


# Where the output goes


# Words, and whether Python is told not to keep output back.
WAYS = [("status screen.toml", ""), ("export screen.toml --json", "1"), ("--help", "")]


def into(output: Any, words: str, unbuffered: str) -> subprocess.CompletedProcess[str]:
    # The help is quickly there from a true start too.
    start = (sys.executable, "-c", "from shortlist.cli.app import main; main()")
    return subprocess.run(
        [*(start if words == "--help" else forks.program()), *words.split()],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=120,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(("words", "unbuffered"), WAYS)
def test_a_full_disk_is_one_line_and_an_exit_code(
    plated: Path,  # noqa: F811
    words: str,
    unbuffered: str,
) -> None:
    with Path("/dev/full").open("w") as full:
        done = into(full, words, unbuffered)
    assert done.returncode == 6
    assert done.stderr.startswith("shortlist: the output cannot be written (No space left")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize(("words", "unbuffered"), WAYS)
def test_a_closed_pipe_is_silent(plated: Path, words: str, unbuffered: str) -> None:  # noqa: F811
    reader, writer = os.pipe()
    os.close(reader)
    done = into(writer, words, unbuffered)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


def test_the_exit_code_of_a_full_disk_is_in_the_help() -> None:
    assert "6 the output cannot be written" in " ".join(run("--help").stdout.split())


def test_a_failure_of_another_file_is_not_taken_for_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from shortlist.cli import app as program

    def broken(**_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere.txt")

    monkeypatch.setattr(program, "app", broken)
    with pytest.raises(OSError, match=r"somewhere\.txt"):
        program.main()


# Counting as a person does


def test_a_changed_feature_is_named_by_its_heading_or_counted_from_one(folder: Path) -> None:  # noqa: F811
    text = Path("features.csv").read_text()
    does("new", "screen.toml")
    Path("features.csv").write_text(text.replace("C03,1,-0.91", "C03,1,-0.92"))
    fails(
        run("status", "screen.toml"),
        2,
        "'lipophilicity' of arm 'C03' was -0.91 and is -0.92 in features.csv",
        "Put it back as it was",
    )
    bare = text.partition("\n")[2]
    Path("features.csv").write_text(bare)
    does("status", "screen.toml")
    Path("features.csv").write_text(bare.replace("C03,1,-0.91", "C03,1,-0.92"))
    for command in ("status", "new"):
        fails(run(command, "screen.toml"), 2, "feature 2 of arm 'C03' was -0.91 and is -0.92")


def test_features_that_differ_in_size_are_counted_from_one(folder: Path) -> None:  # noqa: F811
    write(m=1)
    Path("features.csv").write_text("a,1,5000\nb,1,-3000\nc,-0.5,4000\nd,1,1\n")
    [scaling] = [f for f in asked("new", "screen.toml")["findings"] if f["name"] == "scaling"]
    assert scaling["words"].startswith("Feature 2 is 3.92e+03 times as large as feature 1 (")
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "Feature 2 is 3.92e+03 times as large as feature 1 (" in said
    fails(run("new", "other.toml"), 2, "there is no file other.toml")


@pytest.mark.slow
def test_a_missing_number_in_parquet_is_named_by_its_column(folder: Path) -> None:  # noqa: F811
    table = pd.read_csv("features.csv", index_col=0)
    table.loc["C04", "charge"] = np.nan
    table.to_parquet("features.parquet")
    write(features="features.parquet")
    fails(run("new", "screen.toml"), 2, "features.parquet: 'charge' of arm 'C04' is missing")


def test_what_is_wrong_with_features_is_said_once(folder: Path) -> None:  # noqa: F811
    write(m=1)
    Path("features.csv").write_text("a,1,5\nb,2,3\nc,3,3\nd,3,3.0000000001\n")
    result = does("new", "screen.toml")
    assert result.stdout.count("nearly like another") == 1
    assert result.stderr == ""
