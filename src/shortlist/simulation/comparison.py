"""Many runs of several algorithms, on one instance or on several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    wait,
)
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shortlist.catalog.recommendation import is_auto, resolve_choice
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.algorithm import Algorithm, Procedure
from shortlist.engine.contract import Runs, joined
from shortlist.errors import InvalidSetting, warn_caller
from shortlist.seeds import run_seeds
from shortlist.problem import Problem, checked_seed, suspicious_delta, whole_number
from shortlist.simulation.chunk import Chunk, Sender, ThreadSender, chunks_of
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import Results
from shortlist.study.insight.audit import is_audited
from shortlist.study.running.executors import check_sendable, find_executor, is_dask_client, is_lost

LEAST_CHUNKS, MOST_CHUNKS = 4, 16  # of a worker, so that all end at about the same time
RUNS_A_CHUNK = 8  # or more, where that leaves every worker enough chunks
ATTEMPTS = 3  # to send a lost chunk again; Dask itself has tried as often before it says so


def compare(
    algorithms: str | Algorithm | Iterable[str | Algorithm],
    instance: Instance | Iterable[Instance],
    runs: int = 100,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    seed: int = 0,
    start: int = 0,
    max_samples: int = 10**8,
    workers: int | None = None,
    executor: Any = None,
    threshold: Any = None,
    S: float | None = None,
    sigma: Any = None,
    reward_range: tuple[float, float] | None = None,
    audit: bool = False,
    progress: bool = True,
) -> Results:
    """Run each algorithm ``runs`` times, on all cores or on a cluster, in compiled code.

    Parameters
    ----------
    algorithms : str, GIFA, Planned or several of them
        By name (see ``shortlist.algorithms``) or composed. The same rules with two thresholds:
        ``GIFA(threshold="heuristic", name="m-LinGapE, heuristic")`` and so on.
    instance : Instance, or several of them
        The bandit they are run on. With several, the table of runs and the summary name the instance
        too, and ``plot.samples`` draws a panel for each.
    runs : int
        Replicates of each on every instance; replicate k has the same seed for every algorithm.
    delta : float
        Risk of a wrong answer.
    epsilon : float
        Slack in the means.
    seed : int
        The results depend only on it, not on the number or the place of the workers.
    start : int
        The number of the first run: runs ``start`` to ``start + runs − 1`` of a longer comparison.
    max_samples : int
        A run that has not stopped by then is cut off, and counted as unfinished.
    workers : int, optional
        Threads; by default one per core. Algorithms that make plans are written in Python: with few
        arms, or a budget, more threads would make them slower, and one is used. Processes use
        all cores: ``executor=ProcessPoolExecutor()``. With an ``executor``: for how many workers to
        split the runs; by default as many as a Dask client has, or one per core.
    executor : concurrent.futures.Executor or Dask client, optional
        Where to run, instead of in new threads. Runs that it loses are sent again.
    threshold : optional
        One for all algorithms, in place of their own.
    S : float, optional
        The bound on ‖θ‖ for thresholds that need one; by default the instance's own ‖θ‖.
    sigma, reward_range : optional
        What the algorithms are told about the noise, as for ``Study``; by default the instance's
        own σ. The simulated noise stays the same and is not checked against it.
    audit : bool
        Audit every answer that assumes means linear in the features, as ``Study`` does at its stop:
        the evaluations count, and the columns ``audited`` and ``rejected`` are added. It is
        off by default, since the true means are known here. The audit evaluations that a study
        would make before its stop are made at the stop.
    progress : bool
        Show a bar.

    Examples
    --------
    >>> from shortlist.simulation import instances
    >>> instance = instances.classic(K=4, m=2, omega=np.pi / 3)
    >>> results = compare(["LUCB", "m-LinGapE"], instance, runs=20, progress=False)
    >>> results.frame.groupby("algorithm").samples.mean().idxmin()
    'm-LinGapE'
    >>> wide, narrow = (instances.classic(K=4, m=2, omega=omega) for omega in (1.0, 0.5))
    >>> both = compare(["LUCB", "m-LinGapE"], [wide, narrow], runs=5, progress=False)
    >>> both.summary()["runs"].unstack()  # doctest: +NORMALIZE_WHITESPACE
    algorithm                  LUCB  m-LinGapE
    instance
    classic K=4 m=2 omega=1       5          5
    classic K=4 m=2 omega=0.5     5          5
    """
    if isinstance(algorithms, str | Algorithm):
        algorithms = [algorithms]
    whole_number("runs", runs, 1)
    whole_number("start", start, 0)
    if workers is not None:
        whole_number("workers", workers, 1)
    choices, each = list(algorithms), _labelled(instance)
    problems = [
        one.problem(delta, epsilon, S, sigma=sigma, reward_range=reward_range) for one in each
    ]
    if suspicious_delta(delta):
        warn_caller(UserWarning(suspicious_delta(delta)))
    by_name = [
        _procedures(choices, problem, threshold, one)
        for one, problem in zip(each, problems, strict=True)
    ]
    shortest = max(
        len(procedure.engine.setup.initial)
        for procedures in by_name
        for procedure in procedures.values()
    )
    if max_samples < shortest:
        raise InvalidSetting(
            f"max_samples={max_samples} is below the {shortest} initial pulls of an algorithm."
        )
    seeds = run_seeds(checked_seed(seed), start + runs)[start:]
    cores = workers or _workers(executor)
    where = None if executor is None else find_executor(executor)
    shares = np.array_split(seeds, _chunk_count(runs, cores))
    tables = []
    for one, procedures in zip(each, by_name, strict=True):
        chunks = {
            name: chunks_of(
                procedure,
                one.reward,
                one.parameters,
                shares,
                max_samples,
                audit=audit and is_audited(procedure),
            )
            for name, procedure in procedures.items()
        }
        if where is not None:
            for name, (first, *_) in chunks.items():
                check_sendable(where, first, f"the algorithm {name!r} or the instance")
        with ThreadSender(cores) if where is None else Sender.to(where) as sender:
            outcomes = _run_all(chunks, sender, progress)
        tables += [
            _rows(name, procedure, one, start, outcomes[name], audit)
            for name, procedure in procedures.items()
        ]
    frame = pd.concat(tables, ignore_index=True)
    return Results(frame=frame, instances=each, delta=delta, epsilon=epsilon)


def _labelled(given: Instance | Iterable[Instance]) -> tuple[Instance, ...]:
    """The instances, those whose label another has already numbered."""
    by_label: dict[str, Instance] = {}
    for one in list(given) if isinstance(given, Iterable) else [given]:
        if not isinstance(one, Instance):
            raise InvalidSetting(
                f"an instance is needed, or a list of them, got {type(one).__name__}: make one, such as "
                "shortlist.instances.from_arrays(features, means, m=3, sigma=0.5)."
            )
        label, number = one.label, 2
        while label in by_label:
            label, number = f"{one.label} ({number})", number + 1
        by_label[label] = one if label == one.label else replace(one, label=label)
    if not by_label:
        raise InvalidSetting("no instance was given: give one, or a list of them.")
    return tuple(by_label.values())


def _procedures(
    choices: list[str | Algorithm], problem: Problem, threshold: Any, instance: Instance
) -> dict[str, Procedure]:
    """The algorithms on a problem, by the names they have in the results."""
    procedures: dict[str, Procedure] = {}
    listed = {find_algorithm(choice).name for choice in choices if not is_auto(choice)}
    for choice in choices:
        algorithm, threshold_chosen = resolve_choice(choice, threshold, problem)
        name = algorithm.name
        if is_auto(choice) and name in listed:
            name = f"auto ({name})"
        if name in procedures:
            raise InvalidSetting(
                f"algorithm {name!r} is listed twice: leave out one of them. To compare settings of "
                "one algorithm, compose it under two names, such as "
                "shortlist.GIFA(threshold='heuristic', name='m-LinGapE, heuristic')."
            )
        procedures[name] = algorithm.bind(problem, threshold_chosen)
        _check_range(procedures[name], instance)
    if not procedures:
        raise InvalidSetting(
            "no algorithm was given: name one (shortlist.algorithms() lists them)."
        )
    return procedures


def _check_range(procedure: Procedure, instance: Instance) -> None:
    """Raise where the instance's rewards leave the range that an algorithm is for."""
    if instance.reward_range is None:
        return
    (low, high), (least, most) = procedure.noise.limits, instance.reward_range
    own = procedure.noise.takes_range and not procedure.noise.uses_sigma
    if own and (least < low or most > high):
        raise InvalidSetting(
            f"{procedure.name} is for rewards from {low:g} to {high:g}, and those of the instance "
            f"{instance.label!r} go from {least:g} to {most:g}: take noise='bernoulli', or an "
            "algorithm that uses σ (LUCB)."
        )


def _workers(executor: Any) -> int:
    """How many workers there are: a Dask client says, else one per core."""
    threads = sum(executor.nthreads().values()) if is_dask_client(executor) else 0
    return threads or os.cpu_count() or 1


def _chunk_count(runs: int, workers: int) -> int:
    """Into how many chunks runs are cut: sending one may take as long as several short runs."""
    wanted = min(runs // RUNS_A_CHUNK, MOST_CHUNKS * workers)
    return min(runs, max(wanted, LEAST_CHUNKS * workers))


def _run_all(
    chunks: dict[str, list[Chunk]], sender: Sender, progress: bool
) -> dict[str, list[Runs]]:
    """The runs of every chunk, by algorithm; a chunk that is lost is sent again."""
    outcomes: dict[str, list[Any]] = {name: [None] * len(each) for name, each in chunks.items()}
    waiting: dict[Future[Runs], tuple[str, int, int]] = {}
    total = sum(len(chunk.seeds) for each in chunks.values() for chunk in each)
    with _progress_bar(progress, total) as advance:
        try:
            for name, each in chunks.items():
                for k, chunk in enumerate(each):
                    waiting[sender.submit(chunk)] = (name, k, 0)
            while waiting:
                for task in wait(waiting, return_when=FIRST_COMPLETED).done:
                    name, k, attempt = waiting.pop(task)
                    lost = _loss(task)
                    if lost is None:
                        outcomes[name][k] = task.result()
                        advance(name, len(chunks[name][k].seeds))
                    elif attempt == ATTEMPTS:
                        raise lost
                    else:
                        again = sender.submit(chunks[name][k], attempt + 1)
                        waiting[again] = (name, k, attempt + 1)
        except BaseException:
            for task in waiting:
                task.cancel()
            raise
    return outcomes


def _loss(task: Future[Runs]) -> BaseException | None:
    """Why the executor lost a chunk, if it did."""
    if task.cancelled():
        return CancelledError("the executor cancelled a piece of the comparison again and again.")
    error = task.exception()
    return error if error is not None and is_lost(error) else None


@contextmanager
def _progress_bar(wanted: bool, total: int) -> Iterator[Callable[[str, int], None]]:
    """A function to call with an algorithm and the runs it has made; draws only on a terminal."""
    if wanted:
        from rich.console import Console
        from rich.progress import Progress, TimeRemainingColumn

        console = Console(stderr=True)
        if console.is_terminal:
            columns = (*Progress.get_default_columns()[:3], TimeRemainingColumn())
            with Progress(*columns, console=console) as progress:
                task = progress.add_task("runs", total=total)
                yield lambda name, runs: progress.update(task, advance=runs, description=name)
            return
    yield lambda name, runs: None


def _rows(
    name: str,
    procedure: Procedure,
    instance: Instance,
    start: int,
    parts: list[Runs],
    audit: bool,
) -> pd.DataFrame:
    runs = joined(parts)
    names = np.array(instance.names, dtype=object)
    columns = {
        "instance": instance.label,
        "algorithm": name,
        "run": np.arange(start, start + len(runs.pulls)),
        "seed": runs.seeds,
        "samples": runs.samples,
        "stopped": runs.stopped,
        "correct": ~(runs.recommended & ~instance.acceptable(procedure.problem.epsilon)).any(
            axis=1
        ),
        "recommendation": [names[row].tolist() for row in runs.recommended],
        "pulls": runs.pulls.tolist(),
        "threshold": procedure.threshold.name,
        "proven": procedure.proven,
    }
    if instance.costs.stated:
        columns["cost"] = runs.pulls @ instance.costs.of_arms(len(names))
    if audit:
        none = np.zeros(len(runs.pulls), np.int64)
        columns["audited"] = none if runs.audited is None else runs.audited
        columns["rejected"] = none > 0 if runs.rejected is None else runs.rejected
    return pd.DataFrame(columns)
