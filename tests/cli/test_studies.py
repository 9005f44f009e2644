"""``status``, ``list`` and ``reopen``."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import shortlist
from command_line import asked, does, fails, fill, finish, run


def test_a_stopped_study_can_be_reopened(screen: Path) -> None:
    finish()
    fails(run("ask", "screen.toml"), 4, "reopen")
    assert asked("reopen", "screen.toml")["done"] is False
    fails(run("reopen", "screen.toml"), 2, "nothing to reopen")
    does("ask", "screen.toml", "--out", "plate.csv")
    fill("plate.csv")
    does("tell", "screen.toml", "plate.csv")


@pytest.mark.slow
def test_widen_says_why_no_epsilon_would_do(folder: Path) -> None:
    study = shortlist.Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, storage="screen.db", seed=0)
    study.run(lambda trial: float(trial.arm == 0), progress=False)
    fails(run("widen", "screen.db"), 2, "the study has stopped", "make its answer worth less")


def test_status_at_every_stage_fits_80_columns(screen: Path) -> None:
    stages = []

    def look() -> str:
        said = does("status", "screen.toml").stdout
        assert max(map(len, said.splitlines())) <= 80
        stages.append(said)
        return said

    assert "0 evaluations. 0 of 40 initial pulls are told." in look()
    does("ask", "screen.toml", "-n", 20, "--out", "plate.csv")
    said = look()
    assert "Open trials (20)" in said
    assert "… and 8 more: `shortlist ask screen.toml --again`." in said
    fill("plate.csv")
    does("tell", "screen.toml", "plate.csv")
    does("ask", "screen.toml", "-n", 28, "--out", "more.csv")
    does("fail", "screen.toml", 20, "--reason", "dropped")
    fill("more.csv")
    text = Path("more.csv").read_text().splitlines()
    Path("more.csv").write_text("\n".join([text[0], *text[2:]]))
    does("tell", "screen.toml", "more.csv")
    said = look()
    assert "1 trial (20)" in said
    assert "The shortlist so far" in said
    assert "No guarantee yet" in said
    assert "about " in said
    finish()
    said = look()
    assert "The study stopped after" in said
    report = asked("status", "screen.toml")
    short, text = (report["guarantee"][k] for k in ("short", "text"))
    assert " ".join(short.split()) in " ".join(said.split())
    full = does("status", "screen.toml", "--guarantee").stdout
    assert " ".join(text.split()) in " ".join(full.split())
    assert text.startswith("Proven if the means are linear in the features")
    assert "No guarantee yet" not in said
    assert [row["name"] for row in report["table"]] == report["shortlist"]
    assert report["remaining"]["evaluations"] == 0


def test_health_that_is_not_fine_is_shown(screen: Path) -> None:
    """Results whose spread is ten times the σ that was declared."""
    study = shortlist.Study.load("screen.db")
    with pytest.warns(shortlist.errors.GuaranteeInDoubt):  # noqa: PT031
        for k in range(60):
            study.tell(arm=f"C{k % 20 + 1:02}", value=(-1.0) ** (k // 20))
    found = asked("status", "screen.toml")["health"]
    assert "fine" not in [finding["level"] for finding in found]
    said = " ".join(does("status", "screen.toml").stdout.split())
    assert [finding["name"] for finding in found if finding["level"] == "warning"] == ["noise"]
    assert "In doubt: the results contradict that the noise is no larger than σ." in said


def test_a_study_of_rules_of_ones_own_is_listed(folder: Path) -> None:
    @shortlist.rule("threshold")
    def mine(time: int, log_det: float, constants: np.ndarray) -> float:
        return 1.0

    shortlist.Study(np.eye(3), m=1, sigma=1.0, threshold=mine, storage="own.db", name="own")
    shortlist.Study(np.eye(3), m=1, sigma=1.0, storage="own.db", name="plain")
    first, second = asked("list", "own.db")["studies"]
    assert (first["study"], second["study"]) == ("own", "plain")
    assert "of your own" in first["words"]


DAMAGES = {
    "fingerprint": "UPDATE shortlist_trials SET value = 9.0 WHERE study = 2 AND number = 0",
    "settings": "UPDATE shortlist_studies SET settings = '{' WHERE id = 2",
    "features": "UPDATE shortlist_studies SET features = x'00' WHERE id = 2",
    "stored arms": """UPDATE shortlist_studies SET arms = '["a"]' WHERE id = 2""",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_study_does_not_hide_the_others(folder: Path, damage: str) -> None:
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


def continued_screen() -> str:
    """A screen with a failure whose results go on without features; the name of that study."""
    does("ask", "screen.toml", "-n", 6, "--out", "plate.csv")
    fill("plate.csv")
    lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([*lines[:3], *lines[4:]]))
    does("fail", "screen.toml", 2, "--reason", "empty")
    does("tell", "screen.toml", "plate.csv")
    said = does("continue", "screen.toml", "--without-features").stdout
    assert "5 results carried over and 1 failed trial, under the same numbers" in " ".join(
        said.split()
    )
    name = "screen, without features"
    assert f'  shortlist ask screen.toml --study "{name}" -n 8 --out plate.csv' in said
    return name


def test_a_continuation_and_its_study_name_each_other(screen: Path) -> None:
    name = continued_screen()
    line = f'`shortlist status screen.toml --study "{name}"`'
    assert line in " ".join(does("status", "screen.toml").stdout.split())
    assert asked("status", "screen.toml")["continuations"] == [name]
    said = " ".join(does("status", "screen.toml", "--study", name).stdout.split())
    assert "The study 'screen' (" in said
    fails(run("status", "screen.db"), 2, f"2 studies: 'screen', '{name}'", "--study")
    fails(run("tell", "screen.toml", "plate.csv", "--study", name), 2, "'screen', with --study")


def test_a_correction_says_how_to_correct_the_copy_and_that_line_works(screen: Path) -> None:
    name = continued_screen()
    arm = shortlist.Study.load("screen.db", "screen").trials[3].name
    corrected = run("correct", "screen.toml", 3, "--arm", arm, "--value", -2, "--reason", "a typo")
    assert corrected.exit_code == 0
    line = corrected.stderr.partition("To correct it there: ")[2].strip()
    assert "differs 1 result differs" in " ".join(
        does("status", "screen.toml", "--study", name).stdout.split()
    )
    words = shlex.split(line)
    assert words[:2] == ["shortlist", "correct"]
    assert "-2.0 in place of" in does(*words[1:]).stdout
    assert "differs" not in does("status", "screen.toml", "--study", name).stdout
    copy = shortlist.Study.load("screen.db", name).trials[3]
    assert (copy.name, copy.value, copy.corrections[0].reason) == (arm, -2.0, "a typo")


def test_a_later_correction_is_made_in_both_studies(screen: Path) -> None:
    name = continued_screen()
    result = does("correct", "screen.toml", 3, "--value", 2, "--reason", "a typo")
    assert "To correct it there" in " ".join(result.stderr.split())
    before = shortlist.Study.load("screen.db", name).trials[3].value
    assert before != 2.0
    does("correct", "screen.toml", 3, "--study", name, "--value", 2, "--reason", "a typo")
    said = " ".join(does("continue", "screen.toml", "--without-features").stdout.split())
    assert "5 results carried over (1 of them corrected)" in said


def test_a_correction_needs_the_right_arm_a_value_and_a_reason(screen: Path) -> None:
    continued_screen()
    before = shortlist.Study.load("screen.db", "screen").fingerprint
    fails(run("correct", "screen.toml", 3, "--value", 2), 2, "--reason")
    fails(run("correct", "screen.toml", 3, "--reason", "x"), 2, "--value")
    wrong = shortlist.Study.load("screen.db", "screen").trials[4].name
    result = run("correct", "screen.toml", 3, "--arm", wrong, "--value", 2, "--reason", "x")
    fails(result, 2, f"not of '{wrong}': nothing was changed")
    assert shortlist.Study.load("screen.db", "screen").fingerprint == before


def test_a_rejected_study_says_it_once_and_then_where_it_went_on(screen: Path) -> None:
    study = shortlist.Study.load("screen.db")
    with pytest.warns(shortlist.errors.LinearityRejected):  # noqa: PT031
        while study.audit.rejection is None:
            study.tell(trial := study.ask(), float((trial.arm - 9) ** 2))
    said = " ".join(does("status", "screen.toml").stdout.split())
    assert said.count("contradict means that are linear in the features") == 1
    assert "`shortlist verify screen.toml`" in said
    refused = run("ask", "screen.toml")
    assert refused.exit_code == 4
    assert "`shortlist verify screen.toml`" in refused.stderr
    does("continue", "screen.toml", "--without-features")
    line = '`shortlist ask screen.toml --study "screen, without features" -n 4`'
    fails(run("ask", "screen.toml", "-n", 4), 4, line)
