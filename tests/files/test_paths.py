"""Paths that no file can have, and homes of nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import repurposing
from shortlist.cli.screen_toml import read_screen_file
from shortlist.errors import DataUnavailable, InvalidSetting, ShortlistError
from shortlist.repurposing.expression.readers import read_expression, read_gctx
from shortlist.study.plate import read_plate


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_nobodys_home_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "s.toml", 'features = "~nosuch/x.csv"\nm = 1\nsigma = 1\n')
    with pytest.raises(InvalidSetting, match="~nosuch"):
        read_screen_file(path).settings()
    path.write_text('storage = "~nosuch/x.db"\n')
    with pytest.raises(InvalidSetting, match="~nosuch"):
        _ = read_screen_file(path).storage
    for variable in ("SHORTLIST_DATA", "SHORTLIST_CACHE"):
        with monkeypatch.context() as environment:
            environment.delenv("SHORTLIST_DATA", raising=False)
            environment.setenv(variable, "~nosuch/x")
            with pytest.raises(DataUnavailable, match="~nosuch"):
                shortlist.data.path("epilepsy_scores.csv")


@pytest.mark.parametrize("read", [
    read_expression, read_gctx, repurposing.read_experiments, repurposing.read_abstract,
    repurposing.read_string, read_plate, read_screen_file,
    lambda path: repurposing.read(f"{path}.bnet"), lambda path: repurposing.read(f"{path}.sbml"),
    lambda path: shortlist.Study(f"{path}.npy", m=1, sigma=1),
    lambda path: shortlist.Study(f"{path}.parquet", m=1, sigma=1),
    lambda path: shortlist.Study.load(path),
])  # fmt: skip
def test_a_path_with_nul_is_an_error_of_ours(read: Any, tmp_path: Path) -> None:
    with pytest.raises(ShortlistError):
        read(tmp_path / "a\0b")
