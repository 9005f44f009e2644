"""The runs of a row."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from shortlist.numerics.random import run_seeds
from shortlist.paper.experiment import DELTA, Panel, Row
from shortlist.paper.settings import algorithm_of
from shortlist.paper.store import Store, code, digest
from shortlist.paper.task import Task
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import Instance

# About what is drawn between two looks at the disk: 2 to 5 s on one core, and that is what an
# interruption loses. Where a single run takes eleven million, it is one run a worker.
CHUNK_SAMPLES = 20_000_000


class RowRuns(Task):
    """The runs of one row on its panel's instance.

    Parameters
    ----------
    panel, row
        What is run.
    instance : Instance
        The panel's, built.
    runs, seed
        As asked for; ``row.share`` of the runs are made.
    store : Store
        Where finished runs are kept.
    """

    def __init__(
        self, panel: Panel, row: Row, instance: Instance, runs: int, seed: int, store: Store
    ) -> None:
        self._instance, self._seed = instance, seed
        self._algorithm = algorithm_of(row)
        engine = self._algorithm.bind(instance.problem(DELTA, 0.0)).engine
        super().__init__(
            re.sub(r"[^\w.-]+", "-", f"{panel.name}-{row.title}"),
            digest(engine, instance, DELTA, seed, code()),
            wanted=row.runs(runs),
            chunk=int(CHUNK_SAMPLES / row.samples),
            cost=row.samples * (60.0 + 20.0 * len(instance.means)) * 1e-9,
            store=store,
        )

    def make(self, start: int, count: int, workers: int | None) -> pd.DataFrame:
        """Runs ``start`` to ``start + count − 1``."""
        results = compare(
            self._algorithm,
            self._instance,
            count,
            delta=DELTA,
            seed=self._seed,
            start=start,
            workers=workers,
            progress=False,
        )
        return results.frame.drop(columns="algorithm")

    def valid(self, frame: pd.DataFrame) -> bool:
        """Whether they are runs 0, 1, 2, … of this seed on an instance of this size."""
        arms = len(self._instance.means)
        pulls = np.array(frame["pulls"].tolist())
        return bool(
            len(frame) > 0
            and frame["run"].tolist() == list(range(len(frame)))
            and np.array_equal(frame["seed"].to_numpy(), run_seeds(self._seed, len(frame)))
            and pulls.shape == (len(frame), arms)
            and (pulls.sum(axis=1) == frame["samples"].to_numpy()).all()
            and frame["correct"].dtype == bool
            and frame["stopped"].dtype == bool
            and "recommendation" in frame
        )
