"""The runs of rows and the random instances of cells: made a chunk at a time, each chunk cached."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory, Parallel, delayed

import shortlist
from reproduction.agreement import Reproduced, cell_row, compared, constant_rows
from reproduction.errata import algorithm_of
from reproduction.experiment import DELTA, Cell, Panel, PaperExperiment, PaperRow
from reproduction.panels import PANELS
from shortlist import errors

# Samples between two looks at the disk: 2 to 5 s on one core, which is what an interruption loses.
# Runs that go through their rounds together share work, so a few are made at once where they are long.
CHUNK_SAMPLES, CHUNK_RUNS = 20_000_000, 10
CHUNK_INSTANCES = 100  # random instances between two looks at the disk
INSTANCES_A_RUN = 2  # 1,000 instances, as published, where 500 runs are asked for


@cache
def sources() -> str:
    """A digest of the sources of the package and of this folder: other code, other runs."""
    state = hashlib.sha256()
    for folder in (Path(shortlist.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            state.update(path.read_bytes())
    return state.hexdigest()


@cache
def instance_of(panel: str) -> Any:
    """The instance of a panel, by the panel's name."""
    return next(each for each in PANELS if each.name == panel).instance()


def made_runs(
    panel: str, row: PaperRow, seed: int, start: int, count: int, code: str, workers: int | None
) -> Any:
    """Runs of a row on its panel's instance, from run ``start`` on."""
    algorithm, threshold = algorithm_of(row)
    settings: dict[str, Any] = {"delta": DELTA, "seed": seed, "start": start}
    settings |= {"threshold": threshold, "workers": workers or os.cpu_count(), "progress": False}
    return shortlist.compare(algorithm, instance_of(panel), count, **settings)


def made_instances(
    cell: Cell, seed: int, start: int, count: int, code: str, workers: int | None
) -> pd.DataFrame:
    """Random instances of a cell, one a row, each depending on the seed, the cell and its number."""
    numbers = range(start, start + count)
    rows = Parallel(n_jobs=workers or -1)(delayed(made_instance)(cell, seed, n) for n in numbers)
    return pd.DataFrame(rows)


def made_instance(cell: Cell, seed: int, number: int) -> dict[str, Any]:
    """The two constants of one random instance."""
    entropy = [seed, cell.K, cell.N, round(100 * cell.D), number]
    own = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
    instance = shortlist.instances.random(K=cell.K, N=cell.N, m=cell.m, seed=own)
    rows = ["m-LinGapE(2)", "UGapE"]
    found = shortlist.theory.constants(instance, sigma=1.0, algorithms=rows)
    optimized, ugape = (float(found[name]) for name in rows)
    size = {"K": cell.K, "N": cell.N, "D": cell.D, "m": cell.m, "number": number, "seed": own}
    H = {"H(m-LinGapE(2))": optimized, "H(UGapE)": ugape}
    return {**size, **H, "holds": optimized <= ugape}


class Runs:
    """Runs and random instances with one seed, kept in a folder: what is kept is not made again."""

    def __init__(self, folder: Path, runs: int, seed: int, workers: int | None) -> None:
        self._runs, self._seed, self._workers = runs, seed, workers
        memory = Memory(folder, verbose=0)
        self._rows = memory.cache(made_runs, ignore=["workers"])
        self._instances = memory.cache(made_instances, ignore=["workers"])

    def of_panel(self, panel: Panel) -> Any:
        """The runs of all rows of a panel as one ``Results``, the rows called by their titles."""
        frames = []
        for row in panel.rows:
            size = max(int(CHUNK_SAMPLES / row.samples), CHUNK_RUNS)
            for start, count in chunks(row.runs(self._runs), size):
                given = self._seed, start, count, sources(), self._workers
                results = self._rows(panel.name, row, *given)
                frames.append(results.frame.assign(algorithm=row.title))
        return replace(results, frame=pd.concat(frames, ignore_index=True))

    def of_cell(self, cell: Cell) -> pd.DataFrame:
        """The random instances of a cell."""
        return pd.concat(
            [
                self._instances(cell, self._seed, start, count, sources(), self._workers)
                for start, count in chunks(INSTANCES_A_RUN * self._runs, CHUNK_INSTANCES)
            ],
            ignore_index=True,
        )

    def of_experiment(self, experiment: PaperExperiment) -> Reproduced:
        """All that an experiment shows; what lacks its data is left out, with the reason."""
        reproduced = Reproduced(experiment)
        for panel in experiment.panels:
            try:
                results = self.of_panel(panel)
            except (errors.DataUnavailable, ImportError) as error:
                reproduced.unavailable[panel.name] = str(error)
                continue
            reproduced.panels[panel.name] = results
            reproduced.lines[panel.name] = compared(panel, results)
        for cell in experiment.cells:
            instances = self.of_cell(cell)
            reproduced.instances.append(instances)
            reproduced.cells.append(cell_row(cell, instances))
        reproduced.constants = constant_rows(experiment.constants)
        return reproduced


def chunks(total: int, size: int) -> list[tuple[int, int]]:
    """The start and the length of each chunk.

    Examples
    --------
    >>> chunks(5, 2)
    [(0, 2), (2, 2), (4, 1)]
    """
    return [(start, min(size, total - start)) for start in range(0, total, size)]
