"""Every experiment of the paper by one call."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.errors import DataUnavailable, InvalidSetting, unknown_name
from shortlist.files.cells import csv_of
from shortlist.files.writing import make_folder, new_file, write_file
from shortlist.paper.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from shortlist.paper.experiment import Experiment
    from shortlist.paper.outcome import Outcome
    from shortlist.paper.plan import Plan


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

    Finished runs are kept in ``out/runs``: an interrupted reproduction goes on where it stopped,
    and one with more runs makes only those that are missing.

    Parameters
    ----------
    names : str or several
        Of ``EXPERIMENTS``, or ``"all"``.
    runs : int
        Of each algorithm on each instance; the paper has 500.
    seed : int
        Same seed, same runs.
    out : path
        A folder, made if it is not there.
    workers : int, optional
        Threads; by default one a core.
    progress : bool
        Show bars on a terminal, or a line an experiment elsewhere.

    Returns
    -------
    Path
        The page, ``out/index.html``.

    Raises
    ------
    InvalidSetting
        When a number is not one, or the folder cannot be written to.
    DataUnavailable
        When Figure 1c was asked for and its data cannot be had; everything else is written first.

    Examples
    --------
    >>> reproduce("figure1a")
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown experiment 'figure1a': did you mean 'figure-1a'? Known: ...
    """
    experiments = _wanted(names)
    _check_extras()
    from shortlist.paper.page import write_page
    from shortlist.paper.pictures import draw
    from shortlist.paper.plan import Plan
    from shortlist.paper.progress import Progress
    from shortlist.paper.store import Store
    from shortlist.paper.writing import going_on
    from shortlist.problem import checked_seed, whole_number

    runs, seed = whole_number("runs", runs, 1), checked_seed(seed)
    workers = None if workers is None else whole_number("workers", workers, 1)
    if not isinstance(out, str | PathLike):
        raise InvalidSetting(f"out must be the path of a folder, got {out!r}.")
    out = make_folder(out)
    store = Store(out / "runs")
    store.sweep()
    plan = Plan(experiments, runs, seed, store)
    outcomes, files = [], {}
    with Progress(progress, plan.cost(), len(experiments)) as bars:
        for experiment in experiments:
            outcome = plan.run(experiment, workers, bars)
            with going_on():
                files[experiment.name] = [*draw(outcome, out), *_write_rows(outcome, plan, out)]
            outcomes.append(outcome)
            bars.end("in part, without its data" if outcome.unavailable else "done")
    with going_on():
        page = write_page(outcomes, files, out, runs=runs, seed=seed, workers=workers)
    for reason in plan.unavailable.values():
        raise DataUnavailable(f"{reason} What needs no such data is done: see {page}.")
    return page


def _check_extras() -> None:
    """Before the first run rather than after the last."""
    for package in ("matplotlib", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise ImportError(
                f"reproducing the paper needs {package}: pip install 'shortlist[paper]'."
            )


def _wanted(names: str | Iterable[str]) -> list[Experiment]:
    asked = [names] if isinstance(names, str) else list(names)
    if not asked:
        raise InvalidSetting(f"name at least one experiment: {', '.join(EXPERIMENTS)}, or 'all'.")
    for name in asked:
        if name != "all" and name not in EXPERIMENTS:
            raise unknown_name("experiment", name, [*EXPERIMENTS, "all"])
    return [each for name, each in EXPERIMENTS.items() if name in asked or "all" in asked]


def _write_rows(outcome: Outcome, plan: Plan, out: Path) -> list[Path]:
    """One row a run, an instance or a constant, as CSV and as Parquet; none if nothing was run."""
    import pandas as pd

    name = outcome.experiment.name
    if outcome.constants:
        frame = pd.DataFrame([{**asdict(row), "agrees": row.agrees} for row in outcome.constants])
    elif outcome.cells:
        frame = plan.instances_of(outcome.experiment)
    elif outcome.panels:
        frame = outcome.runs()
    else:
        return []
    paths = [out / f"{name}.csv", out / f"{name}.parquet"]
    with new_file(paths[1], replace=True) as file:
        frame.to_parquet(file, index=False)
    flat = frame.copy()
    for column in {"recommendation", "pulls"} & set(frame.columns):
        flat[column] = [";".join(map(str, values)) for values in flat[column]]
    write_file(paths[0], csv_of(flat, index=False))
    return paths
