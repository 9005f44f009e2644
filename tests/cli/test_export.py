"""``export`` and ``report``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import shortlist
from command_line import GOOD, asked, does, fails, finish, run
from report_pages import undrawn


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
    columns = ["name", "pulls", "mean", "estimate", "lower", "upper", "in_shortlist"]
    assert list(table.columns) == columns
    assert len(table) == 20
    assert asked("export", "screen.toml", "--table")["rows"][0]["mean"] is None


def test_export_before_the_first_trial(screen: Path) -> None:
    assert does("export", "screen.toml").stdout.startswith("trial,arm,block,state,value")
    does("export", "screen.toml", "--out", "none.parquet")


def test_export_refuses_to_overwrite_and_unknown_formats(plated: Path) -> None:
    before = Path("plate.csv").read_text()
    fails(run("export", "screen.toml", "--out", "plate.csv"), 2, "plate.csv already exists")
    fails(run("export", "screen.toml", "--out", "trials.ods"), 2, "unknown format '.ods'", ".csv")
    assert Path("plate.csv").read_text() == before
    does("export", "screen.toml", "--out", "plate.csv", "--force")
    assert Path("plate.csv").read_text() != before


@pytest.mark.slow
def test_report_writes_a_page(screen: Path) -> None:
    finish()
    assert does("report", "screen.toml", "--out", "page.html").stdout == "The page: page.html\n"
    assert Path("page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    with undrawn():
        assert asked("report", "screen.toml") == {"study": "screen", "file": "report.html"}
    fails(run("report", "screen.toml", "--out", "screen.db"), 2, "ends in .html")
    fails(run("report", "screen.toml", "--out", "no/page.html"), 2, "no/page.html")


@undrawn()
def test_only_a_page_of_the_same_study_is_replaced(plated: Path) -> None:
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
    fails(run("report", "other/screen.toml"), 2, "report.html already exists", "--force")
    assert Path("report.html").read_bytes() == kept
    does("report", "other/screen.toml", "--force")
    fails(run("report", "screen.toml"), 2, "report.html already exists")


def test_a_file_that_is_no_report_is_left_alone(plated: Path) -> None:
    Path("notes.html").write_text("precious")
    fails(run("report", "screen.toml", "--out", "notes.html"), 2, "notes.html already exists")
    assert Path("notes.html").read_text() == "precious"
    Path("folder.html").mkdir()
    fails(run("report", "screen.toml", "--out", "folder.html"), 2, "folder.html")
    said = " ".join(run("report", "--help").stdout.split())
    assert "An earlier page of the same study" in said


def test_an_export_examines_the_study_once(plated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shortlist.study import study

    calls: list[str] = []
    for module, name in ((study, "doubts"), (study, "beyond_first_plan")):
        asked = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, a=asked, n=name: [calls.append(n), a(*given)][1]
        )
    does("export", "screen.toml", "--out", "trials.csv")
    assert sorted(calls) == ["beyond_first_plan", "doubts"]
