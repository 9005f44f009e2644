"""What there is to do: the runs of every row, each once, however many experiments show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from shortlist.errors import DataUnavailable
from shortlist.paper.complexity import CellRuns, cell_row, constant_rows
from shortlist.paper.experiment import Cell, Experiment, Panel
from shortlist.paper.outcome import Outcome, PanelOutcome
from shortlist.paper.progress import Progress
from shortlist.paper.running import RowRuns
from shortlist.paper.store import Store
from shortlist.paper.task import Task
from shortlist.simulation.instances import Instance


class Plan:
    """The tasks of some experiments, with the runs that are kept already.

    Parameters
    ----------
    experiments : sequence of Experiment
        What is wanted.
    runs, seed
        Of each row.
    store : Store
        Where finished runs are kept.
    """

    def __init__(
        self, experiments: Sequence[Experiment], runs: int, seed: int, store: Store
    ) -> None:
        self.unavailable: dict[str, DataUnavailable] = {}
        self._instances: dict[str, Instance] = {}
        self._rows: dict[tuple[str, str], RowRuns] = {}
        panels = {panel.name: panel for each in experiments for panel in each.panels}
        for panel in panels.values():
            try:
                instance = panel.instance()
            except DataUnavailable as error:
                self.unavailable[panel.name] = error
                continue
            self._instances[panel.name] = instance
            for row in panel.rows:
                task = RowRuns(panel, row, instance, runs, seed, store)
                self._rows[panel.name, row.title] = task
        cells = dict.fromkeys(cell for each in experiments for cell in each.cells)
        self._cells: dict[Cell, CellRuns] = {
            cell: CellRuns(cell, runs, seed, store) for cell in cells
        }

    def cost(self) -> float:
        """Of all that is missing."""
        return _cost([*self._rows.values(), *self._cells.values()])

    def run(self, experiment: Experiment, workers: int | None, progress: Progress) -> Outcome:
        """Make what is missing of an experiment, and give all of it."""
        panels = [panel for panel in experiment.panels if panel.name in self._instances]
        rows = [self._rows[panel.name, row.title] for panel in panels for row in panel.rows]
        tasks: list[Task] = [*rows, *(self._cells[cell] for cell in experiment.cells)]
        missing = sum(task.missing for task in tasks)
        kept = sum(task.wanted for task in tasks) - missing
        progress.begin(experiment.name, _cost(tasks), missing, kept)
        for task in tasks:
            task.finish(workers, progress.advance)
        outcome = Outcome(experiment)
        for panel in panels:
            outcome.add(self._panel(panel))
        for panel in experiment.panels:
            if panel.name in self.unavailable:
                outcome.unavailable[panel.name] = str(self.unavailable[panel.name])
        for cell in experiment.cells:
            outcome.cells.append(cell_row(cell, self._cells[cell].finished()))
        outcome.constants = constant_rows(experiment.constants)
        return outcome

    def instances_of(self, experiment: Experiment) -> pd.DataFrame:
        """One row a random instance of the experiment's cells."""
        return pd.concat([self._cells[cell].finished() for cell in experiment.cells])

    def _panel(self, panel: Panel) -> PanelOutcome:
        frames = {row.title: self._rows[panel.name, row.title].finished() for row in panel.rows}
        return PanelOutcome.of(panel, self._instances[panel.name], frames)


def _cost(tasks: Iterable[Task]) -> float:
    return sum(task.missing * task.cost for task in tasks)
