"""The lab's command line: a screen from its description to its answer, and all that may go wrong."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import forks
import shortlist
from shortlist.cli import plate
from shortlist.cli import trials as commands
from shortlist.cli.app import app
from shortlist.simulation import outlook
from test_cli import fails, run

ROOT = Path(__file__).parents[1]
SCREEN = ROOT / "examples" / "screen"
sys.path.insert(0, str(SCREEN))
from measure import EFFECTS, fill, mean, measure  # noqa: E402

THETA = list(EFFECTS.values())
COMMANDS = [each.name for each in app.registered_commands if each.rich_help_panel == "Lab"]


def does(*words: object) -> Result:
    """It worked."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def asked(*words: object) -> dict[str, Any]:
    """What a command says in JSON, and nothing else on stdout."""
    report = json.loads(does(*words, "--json").stdout)
    assert isinstance(report, dict)
    return report


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The example as it is, begun, or with a plate of five; made once, to be copied."""
    home = tmp_path_factory.mktemp("example")
    shutil.copytree(SCREEN, home / "described", ignore=shutil.ignore_patterns("*.db*"))
    shutil.copytree(home / "described", home / "begun")
    does("new", home / "begun" / "screen.toml")
    shutil.copytree(home / "begun", home / "plated")
    plate = home / "plated" / "plate.csv"
    does("ask", home / "plated" / "screen.toml", "-n", 5, "--out", plate)
    return lambda stage: home / stage


def settle(place: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(place, here, dirs_exist_ok=True)
    monkeypatch.chdir(here)
    monkeypatch.delenv("SHORTLIST_STUDY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return here


@pytest.fixture
def folder(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, in the current folder."""
    return settle(example("described"), tmp_path, monkeypatch)


@pytest.fixture
def screen(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, begun."""
    return settle(example("begun"), tmp_path, monkeypatch)


@pytest.fixture
def plated(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example with five open trials and an empty plate."""
    return settle(example("plated"), tmp_path, monkeypatch)


def fingerprint() -> str:
    return shortlist.Study.load("screen.db").fingerprint


# A whole screen


@pytest.mark.slow
def test_a_screen_from_its_description_to_its_answer(folder: Path) -> None:
    said = does("new", "screen.toml").stdout
    assert "Study 'screen' made, in screen.db." in said
    assert "20 initial pulls of 4 arms" in said
    plates = 0
    while True:
        plates += 1
        name = f"plate-{plates}.csv"
        result = run("ask", "screen.toml", "-n", 8, "--out", name)
        if result.exit_code == 4:
            break
        assert result.exit_code == 0, result.output
        fill(name, every=2)
        does("tell", "screen.toml", name)
        fill(name)
        does("tell", "screen.toml", name)
    fails(result, 4, "The study stopped after", "`shortlist status` shows the answer")
    assert not Path(name).exists()
    report = asked("status", "screen.toml")
    assert report["done"] is True
    truth = sorted((mean(f"C{k:02}") for k in range(1, 21)), reverse=True)
    assert all(mean(arm) >= truth[2] - 0.05 for arm in report["shortlist"])
    # The same plates told to a study in memory give the very same answer.
    table = pd.read_csv("features.csv", index_col=0)
    study = shortlist.Study(table, m=3, sigma=0.1, epsilon=0.05, seed=0)
    for number in range(1, plates):
        study.ask(8)
        rows = pd.read_csv(f"plate-{number}.csv")
        early = rows["trial"] % 2 == 0
        for part in (rows[early], rows[~early]):
            study.tell_many(zip(part["trial"].tolist(), part["value"].tolist(), strict=True))
    assert list(study.shortlist.names) == report["shortlist"]
    assert study.shortlist.evaluations == int(result.stderr.split("stopped after ")[1].split()[0])
    assert study.statistic == report["statistic"]


@pytest.mark.slow
def test_every_command_twice(screen: Path) -> None:
    again = does("new", "screen.toml").stdout
    assert "is there already, in screen.db, with 0 evaluations. Nothing was changed." in again
    does("ask", "screen.toml", "-n", 4, "--out", "plate.csv")
    before = fingerprint()
    fails(run("ask", "screen.toml", "-n", 4, "--out", "plate.csv"), 2, "plate.csv is there already")
    assert fingerprint() == before
    assert does("tell", "screen.toml", "plate.csv").stdout.startswith(
        "0 results taken, 4 left blank."
    )
    fill("plate.csv")
    assert does("tell", "screen.toml", "plate.csv").stdout.startswith("4 results taken.")
    before = fingerprint()
    for _ in range(2):
        said = does("tell", "screen.toml", "plate.csv").stdout
        assert said.startswith("0 results taken, 4 known already.")
    for command in ("status", "list", "export", "why"):
        words = ["why", "screen.toml", 0] if command == "why" else [command, "screen.toml"]
        assert does(*words).stdout == does(*words).stdout
    assert fingerprint() == before
    does("ask", "screen.toml", "-n", 3)
    assert "1 trial failed." in does("fail", "screen.toml", 4, "--reason", "dropped").stdout
    assert "0 trials failed, 1 before." in does("fail", "screen.toml", 4).stdout
    assert "1 trial cancelled." in does("cancel", "screen.toml", 5).stdout
    assert "1 trial cancelled, 1 before." in does("cancel", "screen.toml", 5, 6).stdout
    states = [trial.state for trial in shortlist.Study.load("screen.db").trials]
    assert states == ["told"] * 4 + ["failed", "cancelled", "cancelled"]


@pytest.mark.slow
def test_the_page_about_the_lab_is_true(folder: Path) -> None:
    """Every command of docs/lab.md is run, in order; what it is said to print, it prints."""
    page = (ROOT / "docs" / "lab.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.M | re.S)
    [described] = [text for kind, text in blocks if kind == "toml"]
    assert tomllib.loads(described) == tomllib.loads(Path("screen.toml").read_text())
    said, ran = "", set()
    for kind, text in blocks:
        if kind == "console":
            for line in text.splitlines():
                program, command, *words = shlex.split(line)
                if program == "python":
                    assert command == "measure.py"
                    fill(*words)
                else:
                    said = does(command, *words).stdout
                    ran.add(command)
        elif kind == "text" and said:
            expected = text.replace("…", "...")
            assert doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS), said
            said = ""
        elif kind == "sh":
            assert "The study stopped after" in script(text, folder / "programs")
    assert ran >= {*COMMANDS} - {"reopen", "without-features", "with-misspecification"}


def script(text: str, programs: Path) -> str:
    """What the page's script prints, run by bash."""
    programs.mkdir()
    (programs / "shortlist").write_text(f'#!/bin/sh\nexec {shlex.join(forks.program())} "$@"\n')
    (programs / "shortlist").chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-u", "-c", text], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# New


def write(**changes: Any) -> None:
    """A screen.toml with other keys; None takes one out."""
    keys = {
        **{"features": "features.csv", "m": 3, "sigma": 0.1, "seed": 0},
        **changes,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if value is not None]
    Path("screen.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


BAD_SCREENS: dict[str, dict[str, Any]] = {
    "screen.toml: unknown key 'sgima': did you mean 'sigma'?": {"sgima": 0.1},
    "screen.toml: sigma is missing": {"sigma": None},
    "screen.toml: sigma must be above 0": {"sigma": -1.0},
    "screen.toml: unknown sigma 'big'": {"sigma": "big"},
    "screen.toml: m is missing": {"m": None},
    "screen.toml: m must be a whole number, got 2.5": {"m": 2.5},
    "screen.toml: m must be at least 1 and below the number of arms (20), got 20": {"m": 20},
    "screen.toml: delta, the risk of a wrong answer, must lie between 0 and 1": {"delta": 5},
    "screen.toml: epsilon": {"epsilon": -0.1},
    "screen.toml: unknown algorithm 'm-LinGape': did you mean 'm-LinGapE'?": {
        "algorithm": "m-LinGape"
    },
    "screen.toml: unknown threshold 'self_normalised': did you mean 'self_normalized'?": {
        "threshold": "self_normalised"
    },
    "screen.toml: algorithm must be text in quotes, got 3": {"algorithm": 3},
    "screen.toml: seed must be a whole number": {"seed": -1},
    "screen.toml: lease must be a number and a unit (s, min, h or days)": {"lease": "7"},
    "screen.toml: lease must be text in quotes, got 7": {"lease": 7},
    "screen.toml: give either features": {"features": None},
    "screen.toml: give either features (a file": {"arms": ["a", "b"]},
    "screen.toml: arms must be a list of names or the name of a file": {
        **{"features": None, "arms": 3}
    },
    "screen.toml: the name 'a' is given to more than one arm": {
        **{"features": None, "arms": ["a", "a", "b", "c"], "m": 1}
    },
    "there is no file nothing.csv": {"features": "nothing.csv"},
    "features.csv, line 1 has 5 cells: one name a line is expected": {
        **{"features": None, "arms": "features.csv"}
    },
    "there is no file nothing.csv: check the path.": {"pilot": "nothing.csv"},
    "features.csv has 5 columns where 2 are expected": {"pilot": "features.csv"},
}


@pytest.mark.parametrize("message", BAD_SCREENS)
def test_a_bad_description_is_named_and_nothing_is_written(folder: Path, message: str) -> None:
    write(**BAD_SCREENS[message])
    before = sorted(folder.iterdir())
    fails(run("new", "screen.toml"), 2, message)
    assert sorted(folder.iterdir()) == before


def test_toml_that_is_none(folder: Path) -> None:
    Path("screen.toml").write_text("m = 3\nsigma == 0.1\n")
    fails(run("new", "screen.toml"), 2, "screen.toml: ", "line 2", 'key = "text" in quotes')
    Path("screen.toml").write_bytes(b"name = '\xe9'\n")
    fails(run("new", "screen.toml"), 2, "screen.toml is not text in UTF-8")
    fails(run("new", "other.toml"), 2, "there is no file other.toml")


BAD_FEATURES = {
    "features.csv, line 3, column 2: 'x' is not a finite number": "a,1\nb,2\nc,x\nd,4\n",
    "features.csv, line 2 has 3 cells and line 1 has 2": "a,1\nb,2,3\nc,3\nd,4\n",
    "features.csv: the name 'a' is given to more than one arm": "a,1\na,2\nc,3\nd,4\n",
    "features.csv: arms 'a' and 'b' have the same features": "a,1,1\nb,1,1\nc,3,0\nd,4,0\n",
    "features.csv: the arm in row 2 has no name in the first column": "a,1\n,2\nc,3\nd,4\n",
    "features.csv, line 1 has a single cell: a name is expected, then numbers": "a 1\nb 2\nc 3\n",
    "features.csv is empty": "\n",
    "features.csv: arm 'b' has only zeros as features": "a,1\nb,0\nc,3\nd,4\n",
}


@pytest.mark.parametrize("message", BAD_FEATURES)
def test_bad_features_are_named_by_their_file(folder: Path, message: str) -> None:
    write()
    Path("features.csv").write_text(BAD_FEATURES[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


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


def test_arms_alone_make_a_classical_study(folder: Path) -> None:
    write(features=None, arms=["red ash", "beech", "elm, wych"], m=1, algorithm="LUCB")
    report = asked("new", "screen.toml")
    assert (report["arms"], report["algorithm"]) == (3, "LUCB")
    assert "features" not in does("new", "screen.toml").stdout.split("answer")[0]
    Path("arms.txt").write_text('red ash\nbeech\n\n"elm, wych"\n')
    write(features=None, arms="arms.txt", m=1, algorithm="LUCB")
    assert asked("new", "screen.toml")["made"] is False  # the very same study


@pytest.mark.slow
@pytest.mark.parametrize("indexed", [True, False])
def test_features_from_parquet_are_those_from_csv(folder: Path, indexed: bool) -> None:
    does("new", "screen.toml")
    table = pd.read_csv("features.csv", index_col=0)
    (table if indexed else table.reset_index()).to_parquet("features.parquet")
    text = Path("screen.toml").read_text()
    Path("screen.toml").write_text(text.replace("features.csv", "features.parquet"))
    assert asked("new", "screen.toml")["made"] is False
    Path("features.parquet").write_bytes(b"PAR1")
    fails(run("new", "screen.toml"), 2, "features.parquet", "cannot be read: it is damaged")
    Path("features.parquet").unlink()
    fails(run("new", "screen.toml"), 2, "there is no file features.parquet")


def test_the_first_column_names_the_arms_even_if_it_holds_numbers(folder: Path) -> None:
    Path("features.tsv").write_text("id\tsize\tcharge\n101\t1\t0\n102\t0\t1\n103\t1\t1\n")
    write(features="features.tsv", m=1)
    does("new", "screen.toml")
    assert shortlist.Study.load("screen.db").problem.names == ("101", "102", "103")


@pytest.mark.slow
def test_name_storage_and_lease_of_a_screen(folder: Path) -> None:
    Path("kept").mkdir()
    for name in ("first", "second"):
        write(name=name, storage="kept/all.db", lease="1.5 h")
        assert asked("new", "screen.toml")["storage"] == str(Path("kept/all.db"))
    [trial] = asked("ask", "screen.toml")["trials"]
    span = pd.Timestamp(trial["due"]) - pd.Timestamp(trial["asked"])
    assert abs(span.total_seconds() - 5400) <= 1
    fails(run("status", "kept/all.db"), 2, "holds 2 studies", "first, second")
    assert asked("status", "kept/all.db", "--study", "first")["pending"] == 0
    assert asked("status", "kept/all.db", "--study", "second")["pending"] == 1
    assert asked("status", "screen.toml", "--study", "first")["study"] == "first"
    fails(run("status", "kept/all.db", "--study", "secnd"), 2, "did you mean 'second'?")
    rows = asked("list", "screen.toml")["studies"]
    assert [row["study"] for row in rows] == ["first", "second"]
    assert [line.split()[0] for line in does("list", "kept/all.db").stdout.splitlines()] == [
        *("first", "second")
    ]


# What it will take


def linear_pilot(*names: str) -> None:
    lines = [f"{name},{mean(name)!r}" for name in names]
    Path("pilot.csv").write_text("name,mean\n" + "\n".join(lines) + "\n")


def test_the_bound_is_that_of_shortlist_bound(folder: Path) -> None:
    write(pilot="pilot.csv")
    linear_pilot("C09", "C10", "C14", "C18", "C01")
    report = asked("new", "screen.toml")["outlook"]
    every = "\n".join(f"C{k:02},{mean(f'C{k:02}')!r}" for k in range(1, 21))
    Path("means.csv").write_text(every)
    words = ["bound", "--features", "features.csv", "--means", "means.csv", "-m", 3]
    bound = asked(*words, "--sigma", 0.1)
    assert report["lower_bound"] == pytest.approx(bound["samples"], rel=2e-3)
    assert report["misfit"] == pytest.approx(0.0, abs=1e-12)
    assert (report["initial"], report["initial_arms"]) == (20, 4)
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert f"{bound['samples']:,.0f} evaluations on average: no algorithm that is as" in said
    assert "It is a bound, not a forecast." in said


@pytest.mark.parametrize("algorithm", [None, "m-LinGapE", "Phased"])
def test_the_forecast_is_that_of_compare(folder: Path, algorithm: str | None) -> None:
    write(pilot="pilot.csv", epsilon=0.05, algorithm=algorithm)
    linear_pilot("C09", "C10", "C14", "C18")
    forecast = asked("new", "screen.toml")["outlook"]["forecast"]
    table = pd.read_csv("features.csv", index_col=0)
    instance = shortlist.instances.from_arrays(table, theta=THETA, m=3, sigma=0.1)
    names = [algorithm or "auto"]
    runs = shortlist.compare(names, instance, runs=20, epsilon=0.05, progress=False).frame
    assert forecast["runs"] == 20
    assert forecast["median"] == pytest.approx(runs["samples"].median(), abs=2)
    assert forecast["unfinished"] == 0


def test_a_screen_too_long_to_simulate_is_cut_off_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlook, "MOST", 50)
    monkeypatch.setattr(outlook, "PROBE", 10)
    write(pilot="pilot.csv", algorithm="m-LinGapE")
    linear_pilot("C09", "C10", "C14", "C18")
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "more than 50 evaluations: 20 of 20 simulated screens were cut off at 50" in said


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (None, "20 initial pulls of 4 arms"),
        ("m-LinGapE", "40 initial pulls of 4 arms"),
        ("Phased", "a plan of 17 pulls of 7 arms"),
    ],
)
def test_without_a_pilot_only_the_initial_pulls_are_known(
    folder: Path, algorithm: str | None, words: str
) -> None:
    write(algorithm=algorithm)
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert f"first {words}, whatever comes out; there is no answer before that." in said
    assert "how far apart the means of ranks 3 and 4 are" in said
    assert asked("new", "screen.toml")["outlook"]["lower_bound"] is None


BAD_PILOTS = {
    "pilot.csv: unknown arm 'D1'": "C01,1\nC02,2\nC03,3\nC04,4\nD1,5\n",
    "pilot.csv: means of 3 arms are given, which tell 3 of the 4 dimensions": "C01,1\nC02,2\nC03,3\n",
    "pilot.csv names the arm 'C01' twice": "C01,1\nC01,2\n",
    "pilot.csv, line 2, column 2: 'high' is not a finite number": "C01,1\nC02,high\n",
}


@pytest.mark.parametrize("message", BAD_PILOTS)
def test_a_bad_pilot_is_named_and_nothing_is_written(folder: Path, message: str) -> None:
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text(BAD_PILOTS[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


def test_a_pilot_with_equal_means_gives_no_bound_and_says_why(folder: Path) -> None:
    names = ["a", "b", "c"]
    write(features=None, arms=names, m=1, pilot="pilot.csv")
    Path("pilot.csv").write_text("a,1\nb,1\nc,0\n")
    report = asked("new", "screen.toml")["outlook"]
    assert report["lower_bound"] is None
    assert report["forecast"] is None
    assert "equal" in report["why_no_bound"]
    assert "no bound: the means of ranks 1 and 2 are equal" in " ".join(
        does("new", "screen.toml").stdout.split()
    )


# Ask


def test_a_plate_has_a_line_a_trial(screen: Path) -> None:
    report = asked("ask", "screen.toml", "-n", 3, "--out", "plate.csv")
    assert report["file"] == "plate.csv"
    rows = pd.read_csv("plate.csv")
    assert list(rows.columns) == ["study", "trial", "arm", "due", "value"]
    assert rows["trial"].tolist() == [trial["trial"] for trial in report["trials"]] == [0, 1, 2]
    assert rows["arm"].tolist() == [trial["arm"] for trial in report["trials"]]
    assert rows["value"].isna().all()
    study = shortlist.Study.load("screen.db")
    assert set(rows["study"]) == {plate.study_mark(study)}
    assert [trial.seed for trial in study.trials] == [trial["seed"] for trial in report["trials"]]


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
    killed = subprocess.run([sys.executable, "-c", dies.format("SIGKILL"), *ask, "killed.csv"])
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
    assert "6 earlier trials open: `shortlist ask --again` lists all." in result.stderr
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


# Tell


def told() -> list[float | None]:
    return [trial.value for trial in shortlist.Study.load("screen.db").trials]


VALUES = [0.5, -0.25, 1234.0, 0.001]

# As people and spreadsheets save them; {mark} is the study's, and trial 4 is not measured yet.
PLATES = {
    "as it was written": (
        "study,trial,arm,due,value\n{mark},0,C10,,0.5\n{mark},1,C14,,-0.25\n{mark},2,C15,,1234\n"
        "{mark},3,C18,,1e-3\n{mark},4,C10,,\n"
    ),
    "a byte-order mark and Windows lines": (
        "\ufefftrial,arm,value\r\n0,C10,0.5\r\n1,C14,-0.25\r\n2,C15,1234\r\n3,C18,0.001\r\n4,C10,\r\n"
    ),
    "semicolons and decimal commas": (
        "trial;arm;value\n0;C10;0,5\n1;C14;-0,25\n2;C15;1234\n3;C18;0,001\n4;C10;\n"
    ),
    "a lone comma before three digits beside others": (
        "trial;arm;value\n0;C10;0,5\n1;C14;-0,25\n2;C15;1234,000\n3;C18;1,0E-3\n4;C10;\n"
    ),
    "tabs": "trial\tarm\tvalue\n0\tC10\t0.5\n1\tC14\t-0.25\n2\tC15\t1234\n3\tC18\t.001\n4\tC10\t\n",
    "quotes around everything": (
        '"trial","arm","value"\n"0","C10","0.5"\n"1","C14","-0.25"\n"2","C15","1234"\n'
        '"3","C18","0.001"\n"4","C10",""\n'
    ),
    "a decimal comma in quotes": (
        'trial,arm,value\n0,C10,"0,5"\n1,C14,"-0,25"\n2,C15,1234\n3,C18,"0,001"\n4,C10,\n'
    ),
    "empty lines and empty cells after the end": (
        "trial,arm,value,,\n0,C10,0.5,,\n\n1,C14,-0.25,,\n2,C15,1234,,\n3,C18,0.001,,\n,,,,\n,,,,\n"
    ),
    "other columns, another order, capitals and spaces": (
        " Value , Well, ARM ,Trial\n0.001,A4,C18,3\n1234 ,A3,C15, 2\n-0.25,A2,C14,1\n0.5,A1,C10,0\n"
    ),
    "numbers of trials as pandas writes them beside blanks": (
        "trial,arm,value\n0.0,C10,0.5\n1.0,C14,-0.25\n2.0,C15,1234.0\n3.0,C18,0.001\n"
    ),
    "a minus as word processors write it": (
        "trial,arm,value\n0,C10,+0.5\n1,C14,−0.25\n2,C15,1234.\n3,C18,0.001\n"
    ),
    "lines that end early": "trial,arm,value\n0,C10,0.5\n1,C14,-0.25\n2,C15,1234\n3,C18,0.001\n4,C10\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLATES)
def test_plates_of_many_kinds_are_read(plated: Path, kind: str) -> None:
    mark = plate.study_mark(shortlist.Study.load("screen.db"))
    Path("plate.csv").write_bytes(PLATES[kind].replace("{mark}", mark).encode())
    report = asked("tell", "screen.toml", "plate.csv")
    assert report["taken"] == [0, 1, 2, 3]
    assert report["blank"] in ([4], [])
    assert told() == [*VALUES, None]
    assert asked("tell", "screen.toml", "plate.csv")["known"] == [0, 1, 2, 3]


GOOD = "trial,arm,value\n0,C10,0.5\n1,C14,0.25\n"

BAD_PLATES = {
    "plate.csv, line 3: trial 7 is unknown; the study has asked for 5": GOOD.replace(
        "1,C14", "7,C14"
    ),
    "plate.csv, line 3: trial 1 is of 'C14' and the line says 'C15'": GOOD.replace("C14", "C15"),
    "plate.csv, line 3: trial 1 is of 'C14' and the line says ''": GOOD.replace("C14", ""),
    "plate.csv, line 3: the value 'high' is not a number": GOOD.replace("0.25", "high"),
    "plate.csv, line 3: the value '<0.25' is not a number": GOOD.replace("0.25", "<0.25"),
    "plate.csv, line 3: the value '25%' is not a number": GOOD.replace("0.25", "25%"),
    "plate.csv, line 3: the value '1_0' is not a number": GOOD.replace("0.25", "1_0"),
    "plate.csv, line 3: the value 'NaN' is not finite": GOOD.replace("0.25", "NaN"),
    "plate.csv, line 3: the value '-inf' is not finite": GOOD.replace("0.25", "-inf"),
    "plate.csv, line 3: '1e999' is too large for a number": GOOD.replace("0.25", "1e999"),
    "plate.csv, line 3: '1,234' has a comma, and '0.5' (plate.csv, line 2) a decimal point": (
        GOOD.replace("0.25", '"1,234"')
    ),
    "plate.csv, line 2: '1,234' may be 1.234 or 1234. Write one of these.": (
        "trial;arm;value\n0;C10;1,234\n1;C14;\n"
    ),
    "plate.csv, line 2: the value '1.234,5' is not a number": "trial;arm;value\n0;C10;1.234,5\n",
    "plate.csv, line 3 has 4 cells and the heading has 3": GOOD.replace("0.25", "0,25"),
    "plate.csv, line 4: trial 1 stands on line 3 too": GOOD + "1,C14,0.25\n",
    "plate.csv, line 3: '' is not the number of a trial": GOOD.replace("1,C14", ",C14"),
    "plate.csv, line 3: '1.5' is not the number of a trial": GOOD.replace("1,C14", "1.5,C14"),
    "plate.csv, line 3: '-1' is not the number of a trial": GOOD.replace("1,C14", "-1,C14"),
    "plate.csv, line 1 reads '0, C10, 0.5': a heading": GOOD.partition("\n")[2],
    "'value' is missing": GOOD.replace("value", "result"),
    "plate.csv, line 1 has two columns 'arm': keep one": GOOD.replace("value", "arm,value"),
    "add --semicolons": 'study,trial,arm,value;\n"s,0,C10,";0,5\n',
    "plate.csv is empty": "",
    "plate.csv is not text in UTF-8": b"PK\x03\x04\xff",
    "this plate belongs to the study 'other-12345678'": (
        "study,trial,arm,value\nother-12345678,0,C10,0.5\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("message", BAD_PLATES)
def test_a_bad_plate_is_named_by_line_and_nothing_of_it_is_taken(
    plated: Path, message: str
) -> None:
    content = BAD_PLATES[message]
    Path("plate.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = fingerprint()
    fails(run("tell", "screen.toml", "plate.csv"), 2, message)
    assert fingerprint() == before
    assert told() == [None] * 5


def test_another_value_for_a_told_trial_is_an_error_with_both(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    Path("plate.csv").write_text(GOOD.replace("0.25", "0.26") + "2,C15,0.1\n")
    fails(run("tell", "screen.toml", "plate.csv"), 2, "line 3", "told 0.25 before and is 0.26 here")
    assert fingerprint() == before


def test_a_value_for_a_failed_trial_is_an_error_and_a_blank_is_not(plated: Path) -> None:
    does("fail", "screen.toml", 1, "--reason", "dropped")
    Path("plate.csv").write_text(GOOD)
    result = run("tell", "screen.toml", "plate.csv")
    fails(result, 2, "line 3", "is failed (dropped) and has the value 0.25", "--arm")
    Path("plate.csv").write_text(GOOD.replace("0.25", ""))
    report = asked("tell", "screen.toml", "plate.csv")
    assert (report["taken"], report["blank"], report["failed"]) == ([0], [], 1)


def test_a_plate_of_the_same_screen_elsewhere_is_refused(plated: Path) -> None:
    fill("plate.csv")
    text = Path("screen.toml").read_text()
    Path("other.toml").write_text(text.replace("seed = 0", "seed = 1"))
    does("new", "other.toml")
    does("ask", "other.toml", "-n", 5)
    fails(run("tell", "other.toml", "plate.csv"), 2, "plate.csv, line 2: this plate belongs to")


def test_results_are_taken_in_the_order_of_asking_whatever_the_order_of_lines(
    plated: Path,
) -> None:
    fill("plate.csv")
    head, *lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([head, *reversed(lines)]))
    does("tell", "screen.toml", "plate.csv")
    assert [trial.number for trial in shortlist.Study.load("screen.db").taken] == [0, 1, 2, 3, 4]


def test_two_who_tell_the_same_plate_at_once(plated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other was quicker, after the plate was looked at and before it was told."""
    Path("plate.csv").write_text(GOOD)
    looked = commands.match

    def overtaken(file: Path, rows: Any, study: Any) -> Any:
        intake = looked(file, rows, study)
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

    def overtaken(file: Path, rows: Any, study: Any) -> Any:
        intake = looked(file, rows, study)
        if told()[0] is None:
            shortlist.Study.load("screen.db").tell(0, 0.9)
        return intake

    monkeypatch.setattr(commands, "match", overtaken)
    fails(run("tell", "screen.toml", "plate.csv"), 2, "told 0.9 before and is 0.5 here")
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
    assert "0 results taken, 1 known already." in does(*result).stdout
    assert asked(*result[:-1], "plate 3, well B8")["taken"] == [1]
    assert told() == [0.5, 0.5]
    changed = ("tell", "screen.toml", "--arm", "C07", "--value", "0.6", "--key", "plate 3, well B7")
    fails(run(*changed), 2, "was told before as trial 0", "nothing was told")
    fails(run(*result[:-1], "x" * 201), 2, "key must be a text of 1 to 200 characters")
    assert run("tell", "screen.toml", "plate.csv", "--key", "a").exit_code == 2
    assert told() == [0.5, 0.5]


@pytest.mark.slow
def test_names_that_a_spreadsheet_needs_help_with(folder: Path) -> None:
    names = ["β-carotene", "2,4-D", 'say "x"', "a b", " padded "]
    pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": [1.0, 0, 1, 0, 2]}, index=names).to_parquet(
        "f.parquet"
    )
    write(features="f.parquet", m=1)
    does("new", "screen.toml")
    for separator, words in ((",", []), (";", ["--semicolons"])):
        does("ask", "screen.toml", "-n", 8, "--out", "plate.csv", "--force", *words)
        content = Path("plate.csv").read_bytes()
        text = content.decode("utf-8-sig")
        assert content.startswith(b"\xef\xbb\xbf") == (not text.isascii())
        assert text.startswith(f"study{separator}trial{separator}arm{separator}value\n")
        lines = text.splitlines()
        Path("plate.csv").write_text("\n".join([lines[0], *(line + "1" for line in lines[1:])]))
        assert asked("tell", "screen.toml", "plate.csv")["blank"] == []
    assert told() == [1.0] * 16


# Fail, cancel, why, reopen


def test_trials_that_cannot_be_closed_are_named_and_none_is(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    fails(run("fail", "screen.toml", 2, 0), 2, "trial 0 ('C10') is told and cannot be failed")
    fails(run("cancel", "screen.toml", 2, 9), 2, "there is no trial '9'", "asked for 5 so far")
    fails(run("fail", "screen.toml", "x"), 2, "there is no trial 'x'")
    fails(run("fail", "screen.toml"), 2, "name a trial by its number")
    assert fingerprint() == before
    does("cancel", "screen.toml", 2)
    fails(run("fail", "screen.toml", 2), 2, "is cancelled and cannot be failed")


@pytest.mark.parametrize(
    ("algorithm", "first_words", "later_words"),
    [
        ("m-LinGapE", "is an initial pull", "was asked for to tell"),
        ("Phased", "is part of the first plan", "is part of a plan to tell arms apart, above all"),
    ],
)
def test_why_says_it_in_words_and_in_json(
    folder: Path, algorithm: str, first_words: str, later_words: str
) -> None:
    write(algorithm=algorithm)
    does("new", "screen.toml")
    does("ask", "screen.toml", "-n", 60, "--out", "plate.csv")
    fill("plate.csv")
    does("tell", "screen.toml", "plate.csv")
    does("ask", "screen.toml")
    arms = [trial.name for trial in shortlist.Study.load("screen.db").trials]
    assert does("why", "screen.toml", 0).stdout == f"Trial 0: '{arms[0]}' {first_words}.\n"
    said = " ".join(does("why", "screen.toml", 60).stdout.split())
    assert f"'{arms[60]}' {later_words}" in said
    assert "from its challenger" in said
    assert "the study stops when" in said
    first, last = asked("why", "screen.toml", 0, 60)["trials"]
    assert (first["trial"], first["gap"]) == (0, None)
    assert last["gap"] == pytest.approx(last["statistic"])
    assert {last["b"], last["c"]} <= set(shortlist.Study.load("screen.db").problem.names)


def finish() -> None:
    """Tell the example to its end."""
    study = shortlist.Study.load("screen.db")
    while not study.done:
        batch = study.ask(8)
        study.tell_many((trial, measure(trial.number, trial.name)) for trial in batch)


def test_a_stopped_study_can_be_reopened(screen: Path) -> None:
    finish()
    fails(run("ask", "screen.toml"), 4, "reopen")
    assert asked("reopen", "screen.toml")["done"] is False
    fails(run("reopen", "screen.toml"), 2, "nothing to reopen")
    does("ask", "screen.toml", "--out", "plate.csv")
    fill("plate.csv")
    does("tell", "screen.toml", "plate.csv")


# Which study


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
        database.execute("UPDATE shortlist_meta SET value = '99' WHERE key = 'version'")
    database.close()
    fails(run("status", "screen.db"), 5, "newer version")
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


# Status, list


@pytest.mark.slow
def test_status_at_every_stage_fits_80_columns(screen: Path) -> None:
    stages = []

    def look() -> str:
        said = does("status", "screen.toml").stdout
        assert max(map(len, said.splitlines())) <= 80
        stages.append(said)
        return said

    assert "0 evaluations. 0 of 20 initial pulls are told." in look()
    does("ask", "screen.toml", "-n", 20, "--out", "plate.csv")
    said = look()
    assert "Open trials (20)" in said
    assert "… and 8 more: `shortlist ask --again`." in said
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
    assert "Proven: with probability at least 0.95" in said
    assert "No guarantee yet" not in said
    report = asked("status", "screen.toml")
    assert [row["name"] for row in report["table"]] == report["shortlist"]
    assert report["remaining"]["evaluations"] == 0


def test_health_that_is_not_fine_is_shown(screen: Path) -> None:
    """Results whose spread is ten times the σ that was declared."""
    study = shortlist.Study.load("screen.db")
    with pytest.warns(shortlist.errors.LinearityRejected):  # noqa: PT031
        for k in range(60):
            study.tell(arm=f"C{k % 20 + 1:02}", value=(-1.0) ** (k // 20))
    found = asked("status", "screen.toml")["health"]
    assert "fine" not in [finding["level"] for finding in found]
    said = " ".join(does("status", "screen.toml").stdout.split())
    warnings = [finding["words"] for finding in found if finding["level"] == "warning"]
    assert warnings
    for words in warnings:
        assert f"warning {words}" in said


def test_features_that_are_not_fine_are_told_at_the_start(folder: Path) -> None:
    table = pd.read_csv("features.csv", index_col=0)
    table["again"] = 2.0 * table["size"]
    table.to_csv("features.csv")
    write()
    report = asked("new", "screen.toml")
    assert "redundant columns" in [finding["name"] for finding in report["findings"]]
    said = " ".join(does("new", "screen.toml").stdout.split())
    for finding in report["findings"]:
        assert f"{finding['level']} {finding['words']} {finding['meaning']}" in said


def test_a_study_of_rules_of_ones_own_is_listed(folder: Path) -> None:
    @shortlist.rule("threshold")
    def mine(time: int, log_det: float, constants: np.ndarray) -> float:
        return 1.0

    shortlist.Study(np.eye(3), m=1, sigma=1.0, threshold=mine, storage="own.db", name="own")
    shortlist.Study(np.eye(3), m=1, sigma=1.0, storage="own.db", name="plain")
    first, second = asked("list", "own.db")["studies"]
    assert (first["study"], second["study"]) == ("own", "plain")
    assert "of your own" in first["words"]


# Export, report


def test_export_of_every_trial(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    does("fail", "screen.toml", 2, "--reason", "dropped, sadly")
    does("export", "screen.toml", "--out", "trials.csv")
    table = pd.read_csv("trials.csv")
    assert does("export", "screen.toml").stdout == Path("trials.csv").read_text()
    assert table["state"].tolist() == ["told", "told", "failed", "pending", "pending"]
    assert table["value"].tolist()[:2] == [0.5, 0.25]
    assert table["reason"][2] == "dropped, sadly"
    for column in ("asked", "closed", "due"):
        moments = pd.to_datetime(table[column].dropna(), format="ISO8601")
        assert str(moments.dt.tz) == "UTC"
    does("export", "screen.toml", "--out", "trials.json")
    rows = json.loads(Path("trials.json").read_text())
    assert rows == asked("export", "screen.toml")["rows"]
    assert rows[3]["value"] is None
    does("export", "screen.toml", "--out", "trials.parquet")
    back = pd.read_parquet("trials.parquet")
    assert back["seed"].tolist() == [t.seed for t in shortlist.Study.load("screen.db").trials]
    assert asked("export", "screen.toml", "--out", "t.csv") == {
        **{"study": "screen", "file": "t.csv", "rows": 5}
    }


def test_export_of_the_arms(plated: Path) -> None:
    does("export", "screen.toml", "--table", "--out", "arms.csv")
    table = pd.read_csv("arms.csv")
    assert list(table.columns) == ["name", "pulls", "mean", "lower", "upper", "in_shortlist"]
    assert len(table) == 20
    assert asked("export", "screen.toml", "--table")["rows"][0]["mean"] is None


def test_export_before_the_first_trial(screen: Path) -> None:
    assert does("export", "screen.toml").stdout.startswith("trial,arm,state,value")
    does("export", "screen.toml", "--out", "none.parquet")


def test_export_refuses_to_overwrite_and_unknown_formats(plated: Path) -> None:
    before = Path("plate.csv").read_text()
    fails(run("export", "screen.toml", "--out", "plate.csv"), 2, "plate.csv is there already")
    fails(run("export", "screen.toml", "--out", "trials.xlsx"), 2, "unknown format '.xlsx'", ".csv")
    assert Path("plate.csv").read_text() == before
    does("export", "screen.toml", "--out", "plate.csv", "--force")
    assert Path("plate.csv").read_text() != before


@pytest.mark.slow
def test_report_writes_a_page(screen: Path) -> None:
    finish()
    assert does("report", "screen.toml", "--out", "page.html").stdout == "The page: page.html\n"
    assert Path("page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert asked("report", "screen.toml") == {"study": "screen", "file": "report.html"}
    fails(run("report", "screen.toml", "--out", "screen.db"), 2, "ends in .html")
    fails(run("report", "screen.toml", "--out", "no/page.html"), 2, "no/page.html")


# JSON


def test_json_has_the_same_keys_of_the_state_everywhere(plated: Path) -> None:
    keys = set(asked("tell", "screen.toml", "plate.csv")) - {"taken", "known", "blank"}
    assert keys == {
        *(
            "study",
            "storage",
            "done",
            "stage",
            "linearity",
            "evaluations",
            "pending",
            "waiting",
            "failed",
            "cancelled",
        ),
        *("budget", "estimated_error", "statistic", "epsilon", "remaining", "shortlist"),
    }
    assert keys <= set(asked("status", "screen.toml"))
    assert keys <= set(asked("fail", "screen.toml", 0))
    [listed] = asked("list", "screen.toml")["studies"]
    assert keys <= set(listed)
    page = (ROOT / "docs" / "command-line.md").read_text()
    for key in keys:
        assert f"`{key}`" in page, key


def test_what_is_not_finite_is_null(folder: Path) -> None:
    from shortlist.cli.output import plain

    assert plain({"a": [np.float64("nan"), np.int64(3), float("inf")], "b": (np.bool_(True),)}) == {
        **{"a": [None, 3, None], "b": [True]}
    }


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_complete_and_fits_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert len(COMMANDS) == 13
    said = run(command, "--help").stdout
    assert f"Usage: shortlist {command}" in said
    assert "--json" in said
    assert max(len(line.rstrip()) for line in said.splitlines()) <= 80
    assert f"│ {command} " in run("--help").stdout


def test_exit_codes_are_in_the_help_and_in_the_docs() -> None:
    said = " ".join(run("--help").stdout.split())
    page = (ROOT / "docs" / "command-line.md").read_text()
    for code, words in {4: "has stopped", 5: "storage cannot be used"}.items():
        assert f"{code} the " in said
        assert words in said
        assert f"\n| {code} | " in page


@pytest.mark.parametrize("words", [["--help"], ["ask", "--help"], ["new", "-h"]])
def test_help_of_the_lab_loads_nothing_heavy(words: list[str]) -> None:
    heavy = ("numba", "pandas", "numpy", "scipy", "sqlalchemy", "matplotlib", "pyarrow")
    code = (
        "import sys\n"
        "from shortlist.cli.app import main\n"
        f"sys.argv[1:] = {words!r}\n"
        "try: main()\n"
        f"finally: print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
