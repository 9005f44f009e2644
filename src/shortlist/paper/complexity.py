"""The complexity constants: in the table of random instances, and of the appendix's instance."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from shortlist.paper.experiment import Cell, Constant
from shortlist.paper.outcome import CellRow, ConstantRow
from shortlist.paper.panels import random_instance
from shortlist.paper.store import Store, code, digest
from shortlist.paper.task import Task
from shortlist.simulation import instances
from shortlist.simulation.results import clopper_pearson
from shortlist.theory import constants

CHUNK = 100  # instances between two looks at the disk
INSTANCES_A_RUN = 2  # 1,000 instances, as published, where 500 runs are asked for


class CellRuns(Task):
    """The random instances of one cell.

    Parameters
    ----------
    cell : Cell
        Which instances.
    runs, seed
        As asked for; an instance depends on the seed, on the cell and on its number.
    store : Store
        Where finished instances are kept.
    """

    def __init__(self, cell: Cell, runs: int, seed: int, store: Store) -> None:
        self._cell, self._seed = cell, seed
        super().__init__(
            f"constants-K{cell.K}-N{cell.N}-D{cell.D}",
            digest(cell.K, cell.N, cell.D, cell.m, seed, code("theory")),
            wanted=INSTANCES_A_RUN * runs,
            chunk=CHUNK,
            # With K ≤ N features in general position, w*(i, j) is e_i − e_j.
            cost=5e-4 + (1e-7 * cell.K**3 if cell.K > cell.N else 0.0),
            store=store,
        )

    def make(self, start: int, count: int, workers: int | None) -> pd.DataFrame:
        """Instances ``start`` to ``start + count − 1``."""
        with ThreadPoolExecutor(max_workers=workers) as pool:
            return pd.DataFrame(list(pool.map(self._constants, range(start, start + count))))

    def valid(self, frame: pd.DataFrame) -> bool:
        """Whether they are instances 0, 1, 2, … of this cell."""
        cell, ours = self._cell, frame["H(m-LinGapE(2))"] <= frame["H(UGapE)"]
        return bool(
            len(frame) > 0
            and frame["number"].tolist() == list(range(len(frame)))
            and (frame[["K", "N", "m"]] == [cell.K, cell.N, cell.m]).all(axis=None)
            and (ours == frame["holds"]).all()
        )

    def _constants(self, number: int) -> dict[str, Any]:
        cell = self._cell
        entropy = [self._seed, cell.K, cell.N, round(100 * cell.D), number]
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        instance = instances.random(K=cell.K, N=cell.N, m=cell.m, seed=seed)
        ours = constants(instance, sigma=1.0)
        optimized, ugape = float(ours["m-LinGapE(2)"]), float(ours["UGapE"])
        return {
            "K": cell.K,
            "N": cell.N,
            "D": cell.D,
            "m": cell.m,
            "number": number,
            "seed": seed,
            "H(m-LinGapE(2))": optimized,
            "H(UGapE)": ugape,
            "holds": optimized <= ugape,
        }


def cell_row(cell: Cell, frame: pd.DataFrame) -> CellRow:
    """Ours beside the published count, and whether chance explains the difference."""
    total, holds = len(frame), int(frame["holds"].sum())
    low, high = clopper_pearson(holds, total)
    table = np.array([[holds, total - holds], [cell.count, cell.of - cell.count]])
    return CellRow(cell, total, holds, low, high, p=float(fisher_exact(table)[1]))


def constant_rows(wanted: tuple[Constant, ...]) -> list[ConstantRow]:
    """The constants of the appendix's instance beside the printed ones, and the others with them."""
    rows = []
    for m in sorted({constant.m for constant in wanted}):
        instance = random_instance(m, sigma=1.0)()
        ordered = np.sort(instance.means)[::-1]
        ours = {f"H({name})": value for name, value in constants(instance, sigma=1.0).items()}
        ours["μ_m − μ_{m+1}"] = float(ordered[m - 1] - ordered[m])
        printed = {each.name: each.printed for each in wanted if each.m == m}
        rows += [ConstantRow(m, name, printed.get(name), float(ours[name])) for name in ours]
    return rows
