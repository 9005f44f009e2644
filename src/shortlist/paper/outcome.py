"""What an experiment gave, set beside what was published."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from shortlist.paper.experiment import AS_PUBLISHED, DELTA, Cell, Experiment, Panel, Row
from shortlist.paper.settings import errata
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import Results

TOO_FAR = 3.0  # |z| above this is a difference
AGREES = 0.0027  # its probability, where no z can be had
FEW = 30  # with fewer runs their own standard deviation is too uncertain to be trusted alone


@dataclass(frozen=True, eq=False)
class Line:
    """A row of a panel: ours and the published."""

    row: Row
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
        handful of runs that happen to lie close together is no sign of a difference.
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
        """How ours and the published errors go together: p of Fisher's exact test."""
        published = self.row.published
        if published is None:
            return math.nan
        ours, theirs = round(self.errors * self.runs), round(published.error * published.runs)
        table = [[ours, self.runs - ours], [theirs, published.runs - theirs]]
        return float(fisher_exact(np.array(table))[1])

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


@dataclass(frozen=True, eq=False)
class PanelOutcome:
    """The runs of a panel; ``results`` has a row's title in the place of the algorithm."""

    panel: Panel
    results: Results

    @staticmethod
    def of(panel: Panel, instance: Instance, frames: dict[str, pd.DataFrame]) -> PanelOutcome:
        """From the runs of each row, by its title."""
        frame = pd.concat(
            [frames[row.title].assign(algorithm=row.title) for row in panel.rows],
            ignore_index=True,
        )
        return PanelOutcome(panel, Results(frame, instance, DELTA, 0.0))

    def lines(self) -> list[Line]:
        """One a row of the panel."""
        summary = self.results.summary().to_dict(orient="index")
        lines = []
        for row in self.panel.rows:
            ours = summary[row.title]
            lines.append(
                Line(
                    row,
                    runs=int(ours["runs"]),
                    mean=ours["mean"],
                    std=ours["std"],
                    errors=ours["error_rate"],
                    error_low=ours["error_low"],
                    error_high=ours["error_high"],
                    lower_bound=ours["lower_bound"],
                    ratio=ours["ratio"],
                    unfinished=int(ours["unfinished"]),
                )
            )
        return lines


@dataclass(frozen=True)
class CellRow:
    """A cell of the table of random instances: ours, its interval, and how ours and the published
    count go together (p of Fisher's exact test).
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
class Outcome:
    """What an experiment gave.

    Attributes
    ----------
    experiment : Experiment
        Which one.
    panels, lines : dict
        By the panel's name: its runs, and each row beside the published one.
    unavailable : dict
        By the panel's name, why it was not run.
    cells : list of CellRow
        Of the table of random instances.
    constants : list of ConstantRow
        Of the table of constants.
    """

    experiment: Experiment
    panels: dict[str, PanelOutcome] = field(default_factory=dict)
    lines: dict[str, list[Line]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    cells: list[CellRow] = field(default_factory=list)
    constants: list[ConstantRow] = field(default_factory=list)

    def add(self, outcome: PanelOutcome) -> None:
        """A panel is finished."""
        self.panels[outcome.panel.name] = outcome
        self.lines[outcome.panel.name] = outcome.lines()

    def runs(self) -> pd.DataFrame:
        """One row a run, of all panels."""
        frames = []
        for name, outcome in self.panels.items():
            rows = {row.title: row for row in outcome.panel.rows}
            titles = outcome.results.frame["algorithm"]
            frame = outcome.results.frame.assign(
                experiment=self.experiment.name,
                instance=name,
                algorithm=[rows[title].label for title in titles],
                kind=[rows[title].kind for title in titles],
                threshold=[rows[title].threshold for title in titles],
            )
            frames.append(frame[COLUMNS])
        return pd.concat(frames, ignore_index=True)


COLUMNS = [
    "experiment",
    "instance",
    "algorithm",
    "kind",
    "threshold",
    "run",
    "seed",
    "samples",
    "stopped",
    "correct",
    "recommendation",
    "pulls",
]
