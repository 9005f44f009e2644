"""Runs are made in chunks, under a key of their own; random instances agree with the published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shortlist.paper import EXPERIMENTS
from shortlist.paper.agreement import cell_row
from shortlist.paper.panels import OMEGA_01
from shortlist.paper.runs import cell_instances, row_runs
from shortlist.paper.store import Store
from shortlist.simulation import instances


@pytest.mark.slow
def test_the_cells_agree_with_the_published_counts(tmp_path: Path) -> None:
    cells = EXPERIMENTS["complexity-table"].cells
    for cell in cells:
        runs = cell_instances(cell, 20, 0, Store(tmp_path))
        runs.finish(2, lambda cost: None)
        row = cell_row(cell, runs.finished())
        assert row.instances == 40
        assert row.agrees, cell
        assert not cell_row(replace(cell, count=900), runs.finished()).agrees


def test_runs_that_take_long_are_kept_one_a_worker(tmp_path: Path) -> None:
    def chunk(row: Any) -> int:
        task = row_runs(OMEGA_01, row, OMEGA_01.instance(), 500, 0, Store(tmp_path))
        sizes = []

        def make(start: int, count: int, workers: int | None) -> pd.DataFrame:
            sizes.append(count)
            raise KeyboardInterrupt

        task.make = make
        with pytest.raises(KeyboardInterrupt):
            task.finish(3, lambda cost: None)
        return sizes[0]

    sizes = {row.title: chunk(row) for row in OMEGA_01.rows}
    assert sizes["LUCB both, as Algorithm 1 says"] == 3
    assert sizes["LUCB both"] == 81  # 20 million samples
    assert sizes["LinGame"] == 500


def test_the_store_tells_settings_apart() -> None:
    rows = [row for panel in (OMEGA_01,) for row in panel.rows]
    instance = OMEGA_01.instance()
    store = Store(Path("nowhere"))
    tasks = [row_runs(OMEGA_01, row, instance, 5, 0, store) for row in rows]
    keys = [task.key for task in tasks]
    assert len(set(keys)) == len(rows)
    harder = instances.classic(K=3, m=1, omega=0.2)
    assert row_runs(OMEGA_01, rows[0], harder, 5, 0, store).key not in keys
