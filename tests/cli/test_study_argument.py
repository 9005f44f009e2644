"""Which study is opened, and whether it is as its screen.toml says."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shortlist
from command_line import asked, does, fails, fill, fingerprint, run, write
from shortlist.storage import sql


def test_a_changed_setting_or_features_file_is_refused_with_what_differs(screen: Path) -> None:
    text = Path("screen.toml").read_text()
    Path("screen.toml").write_text(text.replace("delta = 0.05", "delta = 0.01"))
    for words in (["new"], ["ask"], ["status"]):
        fails(run(*words, "screen.toml"), 2, "delta = 0.05", "delta = 0.01", "Put it back")
    does("status", "screen.db")
    Path("screen.toml").write_text(text)
    features = Path("features.csv").read_text()
    Path("features.csv").write_text(features.replace("C03,1,-0.91", "C03,1,-0.92"))
    fails(run("new", "screen.toml"), 2, "'C03'", "-0.91", "-0.92")
    Path("features.csv").write_text(features)
    does("new", "screen.toml")


def test_a_drawn_seed_is_kept(folder: Path) -> None:
    write(seed=None)
    does("new", "screen.toml")
    seed = shortlist.Study.load("screen.db").seed
    does("new", "screen.toml")
    does("ask", "screen.toml")
    assert shortlist.Study.load("screen.db").seed == seed


@pytest.mark.slow
def test_the_environment_may_name_the_study(plated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(run("status"), 2, "no study was named", "SHORTLIST_STUDY")
    fails(run("tell", "plate.csv"), 2, "name the study and the plate")
    fails(run("why", 0), 2, "no study was named")
    monkeypatch.setenv("SHORTLIST_STUDY", "screen.toml")
    fill("plate.csv")
    assert asked("tell", "plate.csv")["taken"] == [0, 1, 2, 3, 4]
    assert asked("tell", "screen.db", "plate.csv")["known"] == [0, 1, 2, 3, 4]
    assert len(asked("ask", "-n", 3)["trials"]) == 3
    does("fail", 5, 6)
    does("cancel", "screen.db", 7)
    report = asked("status")
    assert (report["evaluations"], report["failed"], report["cancelled"]) == (5, 2, 1)
    does("why", 0)
    does("list")
    does("tell", "--arm", "C01", "--value", 1)


def test_the_environment_names_the_study_of_arms(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first word is the arm, unless it is a study; what is advised is about the study."""
    for name in ("one", "two"):
        shortlist.Study(arms=["ash", "elm", "oak", "7"], m=1, sigma=0.1, storage=f"{name}.db")
    Path("plate.csv").write_text("arm,value\nbeech,0.5\n")
    monkeypatch.setenv("SHORTLIST_STUDY", "one.db")
    does("retire", "oak", "--reason", "no stock")
    does("retire", "two.db", "elm", "--reason", "no stock")
    does("add", "yew")
    does("add", "fig", "plum")
    does("add", "two.db", "fig")
    one, two = (shortlist.Study.load(f"{name}.db") for name in ("one", "two"))
    assert [each.name for each in one.retired] == ["oak"]
    assert [each.name for each in two.retired] == ["elm"]
    assert one.problem.names == ("ash", "elm", "oak", "7", "yew", "fig", "plum")
    assert two.problem.names == ("ash", "elm", "oak", "7", "fig")
    fails(run("tell", "plate.csv"), 2, "`shortlist export one.db --table`")
    fails(run("why", 3), 2, "`shortlist status one.db`")
    fails(run("retire", "oak"), 2, "With SHORTLIST_STUDY set, the arm alone will do")


def test_a_study_that_was_not_begun(folder: Path) -> None:
    before = sorted(folder.iterdir())
    for command in ("ask", "status", "export", "report", "reopen"):
        fails(run(command, "screen.toml"), 2, "run `shortlist new screen.toml`")
        fails(run(command, "screen.db"), 2, "there is no file", "screen.db")
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_storage_that_cannot_be_used_is_exit_code_5(screen: Path) -> None:
    fails(run("status", "features.csv"), 5, "features.csv is not a database")
    content = Path("screen.db").read_bytes()
    Path("screen.db").write_bytes(content[:60])
    fails(run("status", "screen.db"), 5, "screen.db")
    fails(run("ask", "screen.toml"), 5, "screen.db")
    Path("screen.db").write_bytes(content)
    with sqlite3.connect("screen.db") as database:
        database.execute("UPDATE shortlist_meta SET value = '99' WHERE key = 'tables'")
    database.close()
    fails(run("status", "screen.db"), 5, "another version")
    fails(run("status", "postgresql://nobody:secret@127.0.0.1:9/none"), 5, "127.0.0.1")


def test_a_password_is_not_shown(screen: Path) -> None:
    result = run("status", "postgresql://nobody:secret@127.0.0.1:9/none")
    assert "secret" not in result.output


@pytest.mark.slow
def test_a_screen_is_kept_in_either_kind_of_database(
    folder: Path, new_storage: Callable[[], str]
) -> None:
    place = new_storage().replace("tester@", "tester:secret@")
    write(storage=place, name="kept")
    missing = run("status", "screen.toml")
    assert missing.exit_code == 2
    said = does("new", "screen.toml").output
    does("ask", "screen.toml", "-n", 3, "--out", "plate.csv")
    fill("plate.csv")
    does("tell", place, "plate.csv")
    report = asked("status", "screen.toml")
    assert (report["study"], report["evaluations"]) == ("kept", 3)
    write(storage=place, name="kept", delta=0.01)
    changed = run("ask", "screen.toml")
    assert changed.exit_code == 2
    listed = does("list", place, "--json").output
    for words in (said, missing.output, changed.output, json.dumps(report), listed):
        assert "secret" not in words


def test_a_screen_is_worked_on_from_another_folder(folder: Path) -> None:
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    place = os.path.join("..", "screen.toml")
    does("new", place)
    does("ask", place, "-n", 2, "--out", "plate.csv")
    assert (folder / "screen.db").exists()
    assert Path("plate.csv").exists()
    fill("plate.csv")
    assert asked("tell", place, "plate.csv")["taken"] == [0, 1]


@pytest.fixture
def locked(plated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example with a plate, while somebody else writes and nobody has patience."""
    monkeypatch.setattr(sql, "PATIENCE", 0.2)
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
def test_looking_changes_nothing(plated: Path) -> None:
    before = fingerprint(), Path("screen.db").read_bytes()
    for words in (["status"], ["list"], ["export"], ["report"], ["new"]):
        does(*words, "screen.toml")
    assert (fingerprint(), Path("screen.db").read_bytes()) == before


def test_a_changed_feature_is_named_by_its_heading_or_counted_from_one(folder: Path) -> None:
    text = Path("features.csv").read_text()
    does("new", "screen.toml")
    Path("features.csv").write_text(text.replace("C03,1,-0.91", "C03,1,-0.92"))
    fails(
        run("status", "screen.toml"),
        2,
        "'lipophilicity' of arm 'C03' was -0.91 and is -0.92",
        "Put it back as it was, with features.csv",
    )
    bare = text.partition("\n")[2]
    Path("features.csv").write_text(bare)
    does("status", "screen.toml")
    Path("features.csv").write_text(bare.replace("C03,1,-0.91", "C03,1,-0.92"))
    for command in ("status", "new"):
        fails(run(command, "screen.toml"), 2, "feature 2 of arm 'C03' was -0.91 and is -0.92")
