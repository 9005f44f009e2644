"""Every experiment of the paper by one call."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataUnavailable, InvalidSetting, unknown_name
from shortlist.files.cells import csv_of
from shortlist.files.writing import make_folder, new_file, write_file
from shortlist.paper.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from shortlist.paper.agreement import Reproduced
    from shortlist.paper.experiment import PaperExperiment
    from shortlist.paper.runs import AllRuns


def reproduce(
    names: str | Iterable[str],
    *,
    runs: int = 500,
    seed: int = 0,
    out: str | PathLike[str] = "results",
    workers: int | None = None,
    progress: bool = True,
) -> Path:
    """Run experiments of the paper, and write their runs, pictures and a page.

    Finished runs are kept in ``out/runs``: an interrupted reproduction continues where it stopped,
    and one with more runs makes only the missing ones.

    Parameters
    ----------
    names : str or several
        Names from ``EXPERIMENTS``, or ``"all"``.
    runs : int
        Runs of each algorithm on each instance; the paper has 500.
    seed : int
        Same seed, same runs.
    out : path
        A folder, created if necessary.
    workers : int, optional
        Threads; by default one per core.
    progress : bool
        Show bars on a terminal, or one line per experiment elsewhere.

    Returns
    -------
    Path
        The page, ``out/index.html``.

    Raises
    ------
    InvalidSetting
        If a setting is not a valid number, or the folder cannot be written to.
    DataUnavailable
        If Figure 1c was asked for and its data is neither cached nor downloadable; everything else
        is written first.

    Examples
    --------
    >>> reproduce("figure1a")
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown experiment 'figure1a': did you mean 'figure-1a'? Known: ...
    """
    experiments = _wanted(names)
    for package in ("matplotlib", "pyarrow"):  # before the first run rather than after the last
        if importlib.util.find_spec(package) is None:
            raise ImportError(
                f"reproducing the paper needs {package}: pip install 'shortlist[paper]'."
            )
    from shortlist.paper.figures import draw
    from shortlist.paper.page import write_page
    from shortlist.paper.runs import AllRuns
    from shortlist.paper.store import Store, finished_runs_are_kept
    from shortlist.problem import checked_seed, whole_number

    runs, seed = whole_number("runs", runs, 1), checked_seed(seed)
    workers = None if workers is None else whole_number("workers", workers, 1)
    if not isinstance(out, str | PathLike):
        raise InvalidSetting(f"out must be the path of a folder, got {out!r}.")
    out = make_folder(out)
    store = Store(out / "runs")
    store.sweep()
    all_runs = AllRuns(experiments, runs, seed, store)
    found, files = [], {}
    with _Bars(progress, all_runs.cost, len(experiments)) as bars:
        for experiment in experiments:
            bars.begin(experiment.name, *all_runs.ahead(experiment))
            reproduced = all_runs.finish(experiment, workers, bars.advance)
            with finished_runs_are_kept():
                pictures = draw(reproduced, out)
                files[experiment.name] = pictures + _write_rows(reproduced, all_runs, out)
            found.append(reproduced)
            bars.end("in part, without its data" if reproduced.unavailable else "done")
    with finished_runs_are_kept():
        page = write_page(found, files, out, runs=runs, seed=seed, workers=workers)
    for reason in all_runs.unavailable.values():
        raise DataUnavailable(f"{reason} What needs no such data is done: see {page}.")
    return page


def _wanted(names: str | Iterable[str]) -> list[PaperExperiment]:
    asked = [names] if isinstance(names, str) else list(names)
    if not asked:
        raise InvalidSetting(f"name at least one experiment: {', '.join(EXPERIMENTS)}, or 'all'.")
    for name in asked:
        if name != "all" and name not in EXPERIMENTS:
            raise unknown_name("experiment", name, [*EXPERIMENTS, "all"])
    return [each for name, each in EXPERIMENTS.items() if name in asked or "all" in asked]


def _write_rows(reproduced: Reproduced, all_runs: AllRuns, out: Path) -> list[Path]:
    """One row per run, instance or constant, as CSV and as Parquet; none if nothing was run."""
    import pandas as pd

    experiment = reproduced.experiment
    if reproduced.constants:
        rows = [{**asdict(row), "agrees": row.agrees} for row in reproduced.constants]
        frame = pd.DataFrame(rows)
    elif reproduced.cells:
        frame = all_runs.instances_of(experiment)
    elif reproduced.panels:
        frame = reproduced.runs()
    else:
        return []
    paths = [out / f"{experiment.name}.csv", out / f"{experiment.name}.parquet"]
    with new_file(paths[1], replace=True) as file:
        frame.to_parquet(file, index=False)
    flat = frame.copy()
    for column in {"recommendation", "pulls"} & set(frame.columns):
        flat[column] = [";".join(map(str, values)) for values in flat[column]]
    write_file(paths[0], csv_of(flat, index=False))
    return paths


class _Bars:
    """Two bars on a terminal, of an experiment and of all, or one line per experiment elsewhere.

    ``total`` is what all missing runs will cost, in seconds. Nothing is said if it is not wanted.
    """

    def __init__(self, wanted: bool, total: float, experiments: int) -> None:
        self._wanted, self._total, self._experiments = wanted, total, experiments
        self._bars: Any = None
        self._number = 0

    def __enter__(self) -> _Bars:
        if not self._wanted:
            return self
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        if console.is_terminal:
            self._bars = Progress(
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
        else:
            self._say(f"{missing:,} runs to make, {kept:,} kept from before")

    def advance(self, cost: float) -> None:
        """Some runs are finished."""
        if self._bars is not None:
            self._bars.advance(self._one, cost)
            self._bars.advance(self._all, cost)

    def end(self, found: str) -> None:
        """The experiment is finished, or could not be run."""
        self._say(f"{found}, {time.monotonic() - self._began:.0f} s")

    def _say(self, line: str) -> None:
        if self._bars is not None:
            self._bars.console.print(f"{self._name}: {line}", markup=False, highlight=False)
        elif self._wanted:
            where = f"{self._name} ({self._number} of {self._experiments})"
            print(f"shortlist: {where}: {line}", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            if error[0] is None:
                self._bars.update(self._all, completed=self._total or 1.0)
            self._bars.stop()
