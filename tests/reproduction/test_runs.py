"""Runs are made in chunks and kept; random instances agree with the published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reproduction import runs as reproduction_runs
from reproduction.agreement import cell_row
from reproduction.experiments import EXPERIMENTS
from reproduction.panels import RANDOM_3
from reproduction.runs import Runs


@pytest.mark.slow
def test_the_cells_agree_with_the_published_counts(tmp_path: Path) -> None:
    few = [cell for cell in EXPERIMENTS["complexity-table"].cells if cell.K <= 20]
    for cell in few:
        instances = Runs(tmp_path, 10, 0, 1).of_cell(cell)
        row = cell_row(cell, instances)
        assert row.instances == len(instances) == 20
        assert row.agrees, cell
        assert not cell_row(replace(cell, count=900), instances).agrees


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Chunks of as many runs as there are cores, and (start, runs) of every call of compare."""
    calls: list[tuple[int, int]] = []
    compare = reproduction_runs.shortlist.compare

    def counting(algorithm: Any, instance: Any, runs: int, **settings: Any) -> Any:
        calls.append((settings["start"], runs))
        return compare(algorithm, instance, runs, **settings)

    monkeypatch.setattr("shortlist.compare", counting)
    monkeypatch.setattr(reproduction_runs, "CHUNK_SAMPLES", 0)
    monkeypatch.setattr(reproduction_runs, "CHUNK_RUNS", 2)
    return calls


ONE_ROW = replace(RANDOM_3, rows=RANDOM_3.rows[:1])


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    flat = [
        frame.assign(**{name: frame[name].map(tuple) for name in ("pulls", "recommendation")})
        for frame in (one, other)
    ]
    return flat[0].equals(flat[1])


def test_what_is_kept_is_not_made_again(counted: list[tuple[int, int]], tmp_path: Path) -> None:
    few = Runs(tmp_path, 4, 0, None).of_panel(ONE_ROW).frame
    assert counted == [(0, 2), (2, 2)]
    more = Runs(tmp_path, 6, 0, None).of_panel(ONE_ROW).frame
    assert counted == [(0, 2), (2, 2), (4, 2)]
    assert same(few, more.head(4))
    assert more["run"].tolist() == list(range(6))
    assert set(more["algorithm"]) == {ONE_ROW.rows[0].title}
    counted.clear()
    other = Runs(tmp_path, 4, 1, None).of_panel(ONE_ROW).frame
    assert counted == [(0, 2), (2, 2)]
    assert not set(few["seed"]) & set(other["seed"])


def test_an_interrupted_reproduction_goes_on(
    counted: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    counting = reproduction_runs.shortlist.compare

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        if len(counted) == 1:
            raise KeyboardInterrupt
        return counting(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr("shortlist.compare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Runs(tmp_path, 4, 0, None).of_panel(ONE_ROW)
    assert counted == [(0, 2)]
    resumed = Runs(tmp_path, 4, 0, None).of_panel(ONE_ROW).frame
    assert counted == [(0, 2), (2, 2)]
    assert same(resumed, Runs(tmp_path / "whole", 4, 0, None).of_panel(ONE_ROW).frame)


def test_other_sources_and_other_settings_are_other_runs(
    counted: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Runs(tmp_path, 2, 0, None).of_panel(ONE_ROW)
    changed = replace(ONE_ROW.rows[0], threshold="frequentist")
    Runs(tmp_path, 2, 0, None).of_panel(replace(ONE_ROW, rows=(changed,)))
    assert counted == [(0, 2)] * 2
    monkeypatch.setattr(reproduction_runs, "sources", lambda: "edited")
    Runs(tmp_path, 2, 0, None).of_panel(ONE_ROW)
    assert counted == [(0, 2)] * 3
