"""``shortlist init``: a commented screen.toml that ``shortlist new`` takes as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

from command_line import does, fails, run


def test_what_it_writes_can_be_used_as_it_is(folder: Path) -> None:
    Path("screen.toml").unlink()
    said = does("init", "features.csv", "-m", "4").stdout
    assert "`shortlist new screen.toml`" in said
    text = Path("screen.toml").read_text()
    keys = tomllib.loads(text)
    assert (keys["features"], keys["m"], keys["sigma"]) == ("features.csv", 4, "estimate")
    assert keys["epsilon"] == 0.0
    assert "20 arms" in text
    assert "made" in does("new", "screen.toml").stdout


def test_it_overwrites_nothing_and_names_files_from_where_it_writes(folder: Path) -> None:
    before = Path("screen.toml").read_text()
    fails(run("init", "features.csv"), 2, "screen.toml")
    assert Path("screen.toml").read_text() == before
    Path("spring").mkdir()
    does("init", "features.csv", "--out", "spring/one.toml")
    keys = tomllib.loads(Path("spring/one.toml").read_text())
    assert keys["features"] == "../features.csv"
    fails(run("init", "features.csv", "--out", "screen.txt"), 2, "ends in .toml")
