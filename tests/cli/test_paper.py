"""``shortlist reproduce`` and ``shortlist data``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

import shortlist
from command_line import fails, run
from shortlist.errors import DataUnavailable, InvalidSetting

REAL = os.environ.get("SHORTLIST_DATA")


needs_data = pytest.mark.skipif(not REAL, reason="SHORTLIST_DATA does not name a folder of data")


def program(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from shortlist.cli.app import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=60,
    )


class Paper(ModuleType):
    """Stands in for ``shortlist.paper``, which takes its time."""

    EXPERIMENTS: ClassVar = {
        "figure-1a": SimpleNamespace(title="Figure 1a: the classic instance"),
        "error-table": SimpleNamespace(title="the errors"),
    }
    asked: dict[str, Any]
    failure: BaseException | None = None

    def reproduce(self, names: list[str], **settings: Any) -> Path:
        if self.failure is not None:
            raise self.failure
        self.asked = {"names": names, **settings}
        return Path(settings["out"]) / "index.html"


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Paper:
    stand_in = Paper("shortlist.paper")
    monkeypatch.setattr(shortlist, "paper", stand_in)  # first: it remembers the real one
    monkeypatch.setitem(sys.modules, "shortlist.paper", stand_in)
    monkeypatch.chdir(tmp_path)
    return stand_in


def test_reproduce_passes_its_words_on_and_says_where_the_page_is(paper: Paper) -> None:
    result = run("reproduce", "figure-1a", "--runs", 7, "--seed", 3, "--out", "a/b", "--workers", 2)
    assert result.exit_code == 0, result.output
    assert paper.asked == {
        "names": ["figure-1a"],
        "runs": 7,
        "seed": 3,
        "out": Path("a/b"),
        "workers": 2,
        "progress": True,
    }
    assert result.stdout == f"The page: {Path('a/b/index.html')}\n"


def test_reproduce_all_quietly(paper: Paper) -> None:
    result = run("reproduce", "all", "--quiet")
    assert paper.asked["names"] == ["all"]
    assert (paper.asked["runs"], paper.asked["seed"]) == (500, 0)
    assert paper.asked["progress"] is False
    assert result.stdout == f"{Path('results/index.html')}\n"


def test_reproduce_lists_the_experiments(paper: Paper) -> None:
    said = run("reproduce", "--list").stdout
    assert said.splitlines()[0] == "figure-1a    Figure 1a: the classic instance"
    assert "\nall " in said


def test_an_unknown_experiment_gets_the_near_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", "figure-1a", "figure1b")
    fails(result, 2, "unknown experiment 'figure1b': did you mean 'figure-1b'?", "all")
    assert list(tmp_path.iterdir()) == []


def test_reproduce_needs_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    assert run("reproduce", "all", "--out", "taken").exit_code == 2
    fails(run("reproduce", "all", "--out", "taken/inside"), 2, "taken/inside", "another folder")


def test_reproduce_needs_a_name_and_a_run(paper: Paper) -> None:
    nothing = run("reproduce")
    assert nothing.exit_code == 2
    assert "--list" in nothing.stderr
    assert run("reproduce", "all", "--runs", 0).exit_code == 2
    assert not hasattr(paper, "asked")


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (InvalidSetting("runs must\nbe more."), 2, "shortlist: runs must be more."),
        (DataUnavailable("no data: connect."), 3, "shortlist: no data: connect."),
        (
            ImportError("pictures need matplotlib: pip install 'shortlist[plot]'."),
            2,
            "pip install 'shortlist[plot]'",
        ),
        (KeyboardInterrupt(), 130, "run it again to continue"),
    ],
)
def test_failures_are_one_line_and_an_exit_code(
    paper: Paper, failure: BaseException, code: int, message: str
) -> None:
    paper.failure = failure
    fails(run("reproduce", "all"), code, message)


@pytest.mark.parametrize("bug", [ZeroDivisionError(), ImportError("No module named 'nump'")])
def test_a_bug_is_not_hidden(paper: Paper, bug: Exception) -> None:
    paper.failure = bug
    assert run("reproduce", "all").exception is bug


def test_the_real_experiments_have_the_names_of_the_issue() -> None:
    result = run("reproduce", "--list")
    assert result.exit_code == 0, result.output
    for name in (
        *("figure-1a", "figure-1b", "figure-1c", "error-table", "appendix-omega"),
        *("appendix-random", "complexity-table", "complexity-constants", "all"),
    ):
        [line] = [line for line in result.stdout.splitlines() if line.split()[0] == name]
        assert len(line.split()) > 1


@pytest.mark.slow
def test_data_offline_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    offline = {
        "SHORTLIST_DATA": "",
        "SHORTLIST_CACHE": str(tmp_path),
        **dict.fromkeys(("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), nobody),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), ""),
    }
    done = program("data", "fetch", **offline)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("shortlist: epilepsy_scores.csv is not in the cache")
    assert done.stderr.count("\n") == 1
    listed = program("data", "list", **offline)
    assert listed.returncode == 0
    assert listed.stdout.count(" missing ") == 13


def test_data_of_a_mirror_without_files(tmp_path: Path) -> None:
    done = program("data", "path", "model1.net", SHORTLIST_DATA=str(tmp_path))
    assert done.returncode == 3
    assert "GRN/model1.net" in done.stderr
    assert str(tmp_path) in done.stderr


def test_data_path_of_an_unknown_file() -> None:
    fails(run("data", "path", "model2.net"), 2, "did you mean 'model1.net'?")


@needs_data
def test_data_of_a_real_mirror() -> None:
    fetched = run("data", "fetch").stdout.splitlines()
    assert len(fetched) == 14
    assert fetched[-1] == f"13 of 13 files checked, in {REAL} (SHORTLIST_DATA)"
    assert run("data", "fetch", "-q", "model1.net").output == ""
    assert run("data", "list").stdout.count(" here ") == 13
    place = run("data", "path", "epilepsy_scores.csv").stdout.strip()
    assert Path(place).read_text().startswith(",drug_name,score")
