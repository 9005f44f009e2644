"""How far a reproduction has come: two bars on a terminal, a line an experiment elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """The bars of one experiment and of the whole, weighted by what runs cost.

    Parameters
    ----------
    wanted : bool
        False: say nothing.
    total : float
        What all runs that are missing will cost.
    experiments : int
        How many there are.
    """

    def __init__(self, wanted: bool, total: float, experiments: int) -> None:
        self._wanted, self._total, self._experiments = wanted, total, experiments
        self._bars: Any = None
        self._number = 0

    def __enter__(self) -> Progress:
        if not self._wanted:
            return self
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        if console.is_terminal:
            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=console,
                # Chunks take seconds: the speed is taken over minutes, not over the last 30 s.
                speed_estimate_period=300.0,
            )
            self._bars.start()
            self._one = self._bars.add_task("", total=1.0, visible=False)
            self._all = self._bars.add_task("everything", total=self._total or 1.0)
        return self

    def begin(self, name: str, cost: float, missing: int, kept: int) -> None:
        """An experiment begins; ``missing`` runs are to be made and ``kept`` are there."""
        self._number += 1
        self._name, self._began = name, time.monotonic()
        if self._bars is not None:
            self._bars.reset(self._one, total=cost or 1.0, description=name, visible=True)
        elif self._wanted:
            self._say(f"{missing:,} runs to make, {kept:,} kept from before")

    def advance(self, cost: float) -> None:
        """Some runs are finished."""
        if self._bars is not None:
            self._bars.advance(self._one, cost)
            self._bars.advance(self._all, cost)

    def end(self, found: str) -> None:
        """The experiment is finished, or could not be run."""
        line = f"{found}, {time.monotonic() - self._began:.0f} s"
        if self._bars is not None:
            self._bars.console.print(f"{self._name}: {line}", markup=False, highlight=False)
        elif self._wanted:
            self._say(line)

    def _say(self, line: str) -> None:
        where = f"{self._name} ({self._number} of {self._experiments})"
        print(f"shortlist: {where}: {line}", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            if error[0] is None:
                self._bars.update(self._all, completed=self._total or 1.0)
            self._bars.stop()
