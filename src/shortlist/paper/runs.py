"""The runs of rows and the random instances of cells: made a chunk at a time, each chunk kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortlist.errors import DataUnavailable
from shortlist.numerics.random import run_seeds
from shortlist.paper.agreement import Reproduced, cell_row, constant_rows
from shortlist.paper.errata import algorithm_of
from shortlist.paper.experiment import DELTA, Cell, Panel, PaperExperiment, PaperRow
from shortlist.paper.store import Store, code, digest
from shortlist.simulation import instances
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import Instance
from shortlist.theory import constants

# Samples between two looks at the disk: 2 to 5 s on one core, which is what an interruption loses.
# Where a single run takes eleven million, it is one run a worker.
CHUNK_SAMPLES = 20_000_000
CHUNK_INSTANCES = 100  # random instances between two looks at the disk
INSTANCES_A_RUN = 2  # 1,000 instances, as published, where 500 runs are asked for


@dataclass
class Repetitions:
    """Numbered runs or random instances, a row each: those kept, and how to make the rest."""

    name: str  # this and the key are those of the file in the store
    key: str
    wanted: int  # how many are asked for
    chunk: int  # how many are made between two looks at the disk; at least one a worker
    cost: float  # about how many seconds one takes on one core, for the time left only
    make: Callable[[int, int, int | None], pd.DataFrame]  # from a number on, how many, workers
    valid: Callable[[pd.DataFrame], bool]  # whether rows from the disk can be these
    store: Store

    def __post_init__(self) -> None:
        self._frame: pd.DataFrame | None = self.store.read(self.name, self.key, self.valid)

    @property
    def kept(self) -> int:
        """How many are kept."""
        return 0 if self._frame is None else len(self._frame)

    @property
    def missing(self) -> int:
        """How many are still to be made."""
        return max(0, self.wanted - self.kept)

    def finish(self, workers: int | None, advance: Callable[[float], None]) -> None:
        """Make what is missing, a chunk at a time; each chunk is kept, and its cost reported."""
        chunk = max(self.chunk, workers or os.cpu_count() or 1)
        while self.missing:
            new = self.make(self.kept, min(chunk, self.missing), workers)
            both = new if self._frame is None else pd.concat([self._frame, new], ignore_index=True)
            self.store.write(self.name, self.key, both)
            self._frame = both
            advance(self.cost * len(new))

    def finished(self) -> pd.DataFrame:
        """As many as were asked for, even where more are kept."""
        assert self._frame is not None
        return self._frame.head(self.wanted)


def row_runs(
    panel: Panel, row: PaperRow, instance: Instance, runs: int, seed: int, store: Store
) -> Repetitions:
    """The runs of a row on its panel's instance: ``row.share`` of those asked for."""
    algorithm = algorithm_of(row)

    def make(start: int, count: int, workers: int | None) -> pd.DataFrame:
        settings: dict[str, Any] = {"delta": DELTA, "seed": seed, "start": start}
        settings |= {"workers": workers, "progress": False}
        return compare(algorithm, instance, count, **settings).frame.drop(columns="algorithm")

    def valid(frame: pd.DataFrame) -> bool:
        """Whether they are runs 0, 1, 2, … of this seed on an instance of this size."""
        pulls = np.array(frame["pulls"].tolist())
        return bool(
            len(frame) > 0
            and frame["run"].tolist() == list(range(len(frame)))
            and np.array_equal(frame["seed"].to_numpy(), run_seeds(seed, len(frame)))
            and pulls.shape == (len(frame), len(instance.means))
            and (pulls.sum(axis=1) == frame["samples"].to_numpy()).all()
            and frame["correct"].dtype == bool
            and frame["stopped"].dtype == bool
            and "recommendation" in frame
        )

    engine = algorithm.bind(instance.problem(DELTA, 0.0)).engine
    return Repetitions(
        re.sub(r"[^\w.-]+", "-", f"{panel.name}-{row.title}"),
        digest(engine, instance, DELTA, seed, code()),
        wanted=row.runs(runs),
        chunk=int(CHUNK_SAMPLES / row.samples),
        cost=row.samples * (60.0 + 20.0 * len(instance.means)) * 1e-9,
        make=make,
        valid=valid,
        store=store,
    )


def cell_instances(cell: Cell, runs: int, seed: int, store: Store) -> Repetitions:
    """The random instances of a cell; each depends on the seed, the cell and its number."""

    def of_instance(number: int) -> dict[str, Any]:
        entropy = [seed, cell.K, cell.N, round(100 * cell.D), number]
        own = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        found = constants(instances.random(K=cell.K, N=cell.N, m=cell.m, seed=own), sigma=1.0)
        optimized, ugape = float(found["m-LinGapE(2)"]), float(found["UGapE"])
        size = {"K": cell.K, "N": cell.N, "D": cell.D, "m": cell.m, "number": number, "seed": own}
        H = {"H(m-LinGapE(2))": optimized, "H(UGapE)": ugape}
        return {**size, **H, "holds": optimized <= ugape}

    def make(start: int, count: int, workers: int | None) -> pd.DataFrame:
        with ThreadPoolExecutor(max_workers=workers) as pool:
            return pd.DataFrame(list(pool.map(of_instance, range(start, start + count))))

    def valid(frame: pd.DataFrame) -> bool:
        """Whether they are instances 0, 1, 2, … of this cell."""
        holds = frame["H(m-LinGapE(2))"] <= frame["H(UGapE)"]
        return bool(
            len(frame) > 0
            and frame["number"].tolist() == list(range(len(frame)))
            and (frame[["K", "N", "m"]] == [cell.K, cell.N, cell.m]).all(axis=None)
            and (holds == frame["holds"]).all()
        )

    return Repetitions(
        f"constants-K{cell.K}-N{cell.N}-D{cell.D}",
        digest(cell.K, cell.N, cell.D, cell.m, seed, code()),
        wanted=INSTANCES_A_RUN * runs,
        chunk=CHUNK_INSTANCES,
        # With K ≤ N features in general position, w*(i, j) is e_i − e_j.
        cost=5e-4 + (1e-7 * cell.K**3 if cell.K > cell.N else 0.0),
        make=make,
        valid=valid,
        store=store,
    )


class AllRuns:
    """The runs of some experiments, each made once, however many experiments show it."""

    def __init__(
        self, experiments: Sequence[PaperExperiment], runs: int, seed: int, store: Store
    ) -> None:
        self.unavailable: dict[str, DataUnavailable] = {}  # by panel, why it cannot be run
        self._instances: dict[str, Instance] = {}
        self._rows: dict[tuple[str, str], Repetitions] = {}
        for panel in {panel.name: panel for each in experiments for panel in each.panels}.values():
            try:
                instance = self._instances[panel.name] = panel.instance()
            except DataUnavailable as error:
                self.unavailable[panel.name] = error
                continue
            for row in panel.rows:
                self._rows[panel.name, row.title] = row_runs(
                    panel, row, instance, runs, seed, store
                )
        cells = dict.fromkeys(cell for each in experiments for cell in each.cells)
        self._cells = {cell: cell_instances(cell, runs, seed, store) for cell in cells}
        self.cost = _cost([*self._rows.values(), *self._cells.values()])

    def ahead(self, experiment: PaperExperiment) -> tuple[float, int, int]:
        """What the missing runs of an experiment cost, how many they are, and how many are kept."""
        parts = self._of(experiment)
        missing = sum(part.missing for part in parts)
        return _cost(parts), missing, sum(part.wanted for part in parts) - missing

    def finish(
        self, experiment: PaperExperiment, workers: int | None, advance: Callable[[float], None]
    ) -> Reproduced:
        """Make what is missing of an experiment, and return all of it."""
        for part in self._of(experiment):
            part.finish(workers, advance)
        reproduced = Reproduced(experiment)
        for panel in experiment.panels:
            if panel.name in self.unavailable:
                reproduced.unavailable[panel.name] = str(self.unavailable[panel.name])
            else:
                frames = {r.title: self._rows[panel.name, r.title].finished() for r in panel.rows}
                reproduced.add(panel, self._instances[panel.name], frames)
        for cell in experiment.cells:
            reproduced.cells.append(cell_row(cell, self._cells[cell].finished()))
        reproduced.constants = constant_rows(experiment.constants)
        return reproduced

    def instances_of(self, experiment: PaperExperiment) -> pd.DataFrame:
        """One row a random instance of the experiment's cells."""
        return pd.concat([self._cells[cell].finished() for cell in experiment.cells])

    def _of(self, experiment: PaperExperiment) -> list[Repetitions]:
        panels = [panel for panel in experiment.panels if panel.name in self._instances]
        rows = [self._rows[panel.name, row.title] for panel in panels for row in panel.rows]
        return rows + [self._cells[cell] for cell in experiment.cells]


def _cost(parts: Iterable[Repetitions]) -> float:
    return sum(part.missing * part.cost for part in parts)
