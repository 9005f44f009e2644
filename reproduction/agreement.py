"""What an experiment that was run again gave, beside what was published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, fisher_exact

import shortlist
from reproduction.errata import errata
from reproduction.experiment import AS_PUBLISHED, Cell, Panel, PaperExperiment, PaperRow
from reproduction.panels import random_instance

TOO_FAR = 3.0  # |z| above this is a difference
AGREES = 0.0027  # the probability of that, for tests without a z
FEW = 30  # with fewer runs their own standard deviation is too uncertain to be trusted alone
COLUMNS = [
    *("experiment", "instance", "algorithm", "kind", "threshold", "run", "seed", "samples"),
    *("stopped", "correct", "recommendation", "pulls"),
]


@dataclass(frozen=True, eq=False)
class Line:
    """A row of a panel: ours and the published."""

    row: PaperRow
    runs: int
    mean: float
    std: float
    errors: float
    error_low: float
    error_high: float
    lower_bound: float
    ratio: float
    unfinished: int

    @property
    def z(self) -> float:
        """The difference of the means over its standard error; NaN where there is none.

        With fewer than 30 runs the larger of the two standard deviations stands for ours: a
        handful of runs that happen to lie close together is not a sign of a difference.
        """
        published = self.row.published
        if published is None:
            return math.nan
        std = self.std
        if self.runs < FEW:
            std = published.std if math.isnan(std) else max(std, published.std)  # NaN: a single run
        noise = math.sqrt(std**2 / self.runs + published.std**2 / published.runs)
        return (self.mean - published.mean) / noise

    @property
    def too_far(self) -> bool:
        """Whether the means differ by more than chance explains."""
        return abs(self.z) > TOO_FAR

    @property
    def error_p(self) -> float:
        """The p-value of Fisher's exact test that our error rate and the published one agree."""
        published = self.row.published
        if published is None:
            return math.nan
        errors, published_errors = self.errors * self.runs, published.error * published.runs
        return fisher(round(errors), self.runs, round(published_errors), published.runs)

    def remark(self) -> str:
        """Where the row departs from the published one, and why, in a few words."""
        published, words = self.row.published, []
        why = ", ".join(erratum.short for erratum in errata(self.row))
        if published is None:
            return "The heuristic threshold, as LinGame has it."
        if self.row.kind == AS_PUBLISHED:
            if self.too_far:
                words.append(f"Not matched, |z| = {abs(self.z):.1f}.")
            if why:
                words.append(f"As coded: {why}.")
            if self.error_p < AGREES:
                words.append(
                    f"The error rates differ (Fisher's exact test, p = {self.error_p:.1g})."
                )
        else:
            times = f"{self.mean / published.mean:.2f} times the published mean."
            words.append(f"{times} The published runs: {why}.")
        if self.unfinished:
            words.append(f"{self.unfinished} runs were cut.")
        return " ".join(words)


@dataclass(frozen=True)
class CellRow:
    """A cell of the table of random instances: ours, its interval, and the p-value of Fisher's
    exact test that our count and the published one agree.
    """

    cell: Cell
    instances: int
    holds: int
    low: float
    high: float
    p: float

    @property
    def agrees(self) -> bool:
        """Whether chance explains the difference."""
        return self.p >= AGREES


@dataclass(frozen=True)
class ConstantRow:
    """A constant of the appendix's instance: as printed, if it is printed, and ours."""

    m: int
    name: str
    printed: str | None
    ours: float

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the printed number, rounded or cut; None where none is printed.

        Examples
        --------
        >>> ConstantRow(3, "H(UGapE)", "5047.76", 5047.7656).agrees
        True
        """
        if self.printed is None:
            return None
        places = len(self.printed.partition(".")[2])
        cut = math.floor(self.ours * 10**places) / 10**places
        return self.printed in (f"{self.ours:.{places}f}", f"{cut:.{places}f}")


@dataclass(eq=False)
class Reproduced:
    """What an experiment gave."""

    experiment: PaperExperiment
    # By the panel's name: its runs, with a row's title in the place of the algorithm; each row
    # beside the published one; and why a panel was not run.
    panels: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, list[Line]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    cells: list[CellRow] = field(default_factory=list)
    instances: list[pd.DataFrame] = field(default_factory=list)  # of each cell
    constants: list[ConstantRow] = field(default_factory=list)

    def runs(self) -> pd.DataFrame:
        """One row per run, of all panels."""
        frames = []
        for panel in self.experiment.panels:
            if panel.name in self.panels:
                rows = {row.title: row for row in panel.rows}
                frame = self.panels[panel.name].frame
                found = [rows[title] for title in frame["algorithm"]]
                frame = frame.assign(
                    experiment=self.experiment.name,
                    instance=panel.name,
                    algorithm=[row.label for row in found],
                    kind=[row.kind for row in found],
                    threshold=[row.threshold for row in found],
                )
                frames.append(frame[COLUMNS])
        return pd.concat(frames, ignore_index=True)


def compared(panel: Panel, results: Any) -> list[Line]:
    """The rows of a panel beside the published ones."""
    known = not results.why_no_lower_bound
    summary = (
        results.summary(lower_bound=known)
        .rename(columns={"error_rate": "errors"})
        .to_dict(orient="index")
    )
    figures = ("mean", "std", "errors", "error_low", "error_high", "lower_bound", "ratio")
    lines = []
    for row in panel.rows:
        ours = summary[row.title]
        counts = {"runs": int(ours["runs"]), "unfinished": int(ours["unfinished"])}
        lines.append(Line(row, **counts, **{name: ours[name] for name in figures}))
    return lines


def cell_row(cell: Cell, frame: pd.DataFrame) -> CellRow:
    """Our count beside the published one, and whether chance explains the difference."""
    total, holds = len(frame), int(frame["holds"].sum())
    interval = binomtest(holds, total).proportion_ci(method="exact")
    return CellRow(
        cell, total, holds, interval.low, interval.high, fisher(holds, total, cell.count, cell.of)
    )


def constant_rows(printed: Mapping[tuple[int, str], str]) -> list[ConstantRow]:
    """The constants of the appendix's instance, beside the printed ones where there are any."""
    rows = []
    for m in sorted({m for m, _ in printed}):
        instance = random_instance(m, sigma=1.0)
        ordered = np.sort(instance.means)[::-1]
        found = shortlist.theory.constants(instance, sigma=1.0)
        ours = {f"H({name})": value for name, value in found.items()}
        ours["μ_m − μ_{m+1}"] = float(ordered[m - 1] - ordered[m])
        rows += [ConstantRow(m, name, printed.get((m, name)), float(ours[name])) for name in ours]
    return rows


def fisher(count: int, of: int, other: int, of_other: int) -> float:
    """The p-value of Fisher's exact test that two counts come from the same probability."""
    return float(fisher_exact(np.array([[count, of - count], [other, of_other - other]]))[1])
