"""``shortlist init``: a commented screen.toml that ``shortlist new`` takes as it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import shortlist
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


def test_it_explains_m_and_plates(folder: Path) -> None:
    does("init", "features.csv", "--out", "plates.toml")
    text = Path("plates.toml").read_text(encoding="utf-8")
    assert "the answer is the m arms" in text
    text = text.replace("# blocks =", "blocks =").replace("# controls =", "controls =")
    Path("plates.toml").write_text(text.replace("DMSO", "C01"), encoding="utf-8")
    does("new", "plates.toml")
    assert shortlist.Study.load("plates.db").problem.controls.wells[0] == 1


@pytest.mark.parametrize(
    ("controls", "blocks"),
    [("'C01'", "shift"), ("['C01', 'C01']", "shift"), ("['C01']", "random")],
)
def test_what_is_advised_for_controls_is_toml(folder: Path, controls: str, blocks: str) -> None:
    begin = "features = 'features.csv'\nm = 1\nsigma = 0.1\n"
    Path("screen.toml").write_text(f"{begin}controls = {controls}\nblocks = '{blocks}'\n")
    said = run("new", "screen.toml").stderr
    for advised in re.findall(r"((?:controls|blocks) = (?:\{.*?\}|\S+\"))", said):
        assert tomllib.loads(advised)
    assert 'blocks = "shift"' in said or "= 2}" in said
