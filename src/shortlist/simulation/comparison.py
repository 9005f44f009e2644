"""Many runs of several algorithms, on one instance or on several."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pickle import PicklingError
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from shortlist.catalog.recommendation import is_auto, resolve_choice
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.algorithm import Algorithm, Procedure
from shortlist.engine.contract import AnyEngine, Runs
from shortlist.engine.rewards import Rewards, drawer
from shortlist.engine.seeds import Words, run_seeds
from shortlist.errors import InvalidSetting, ShortlistError, warn_caller
from shortlist.problem import Problem, checked_seed, suspicious_delta, whole_number
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import Results
from shortlist.study.insight.audit import is_audited, verdict_on

FEW = 200  # runs in all, which are made before another process has started
# Runs at least that go through their rounds together, as fewer take nearly as long: so many, or so many
# arms in all of them.
WIDE, ARMS = 100, 5000
PLANS, SHARES = 5, 16  # runs that make plans, one after another: of a share, and shares of a worker
SALT = 0x61756469  # the audit's rewards are others than the run's


class Share(NamedTuple):
    """Runs of one algorithm on one instance that are made together."""

    name: str
    procedure: Procedure
    instance: Instance
    first: int  # the number of its first run
    seeds: Words


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
    threshold: Any = None,
    S: float | None = None,
    sigma: Any = None,
    reward_range: tuple[float, float] | None = None,
    audit: bool = False,
    progress: bool = True,
) -> Results:
    """Run each algorithm ``runs`` times, on all cores or on a cluster.

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
        Processes; by default one per core, or this one alone for fewer than 200 runs in all. They are
        joblib's, whose settings say where else to run: in threads, or on a Dask cluster
        (``with joblib.parallel_config(backend="dask"):``).
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
    chosen = [algorithms] if isinstance(algorithms, str | Algorithm) else list(algorithms)
    whole_number("runs", runs, 1)
    whole_number("max_samples", max_samples, 1)
    whole_number("start", start, 0)
    if workers is not None:
        whole_number("workers", workers, 1)
    each = _labelled(instance)
    problems = [
        one.problem(delta, epsilon, S, sigma=sigma, reward_range=reward_range) for one in each
    ]
    if suspicious_delta(delta):
        warn_caller(UserWarning(suspicious_delta(delta)))
    pairs = [
        (one, name, procedure)
        for one, problem in zip(each, problems, strict=True)
        for name, procedure in _procedures(chosen, problem, threshold, one).items()
    ]
    most = max(len(procedure.engine.setup.initial) for _, _, procedure in pairs)
    if max_samples < most:
        raise InvalidSetting(
            f"max_samples={max_samples} is below the {most} initial pulls of an algorithm."
        )
    seeds = run_seeds(checked_seed(seed), runs, start)
    jobs = workers or (1 if runs * len(pairs) < FEW else -1)
    at_once = int(effective_n_jobs(jobs))  # on a cluster, as many as that makes
    shares = [
        Share(name, procedure, one, start + int(numbers[0]), seeds[numbers])
        for one, name, procedure in pairs
        for numbers in _split(runs, procedure, at_once)
    ]
    made = _run_all(shares, max_samples, audit, min(jobs, len(shares)), progress)
    frames = [_rows(share, of_share, audit) for share, of_share in zip(shares, made, strict=True)]
    frame = pd.concat(frames, ignore_index=True)
    return Results(frame=frame, instances=each, delta=delta, epsilon=epsilon)


def _labelled(given: Instance | Iterable[Instance]) -> tuple[Instance, ...]:
    """The instances, those whose label another has already numbered."""
    by_label: dict[str, Instance] = {}
    for one in list(given) if isinstance(given, Iterable) else [given]:
        if not isinstance(one, Instance):
            raise InvalidSetting(
                f"an instance is needed, or a list of them, got {type(one).__name__}: make one, such as "
                "shortlist.instances.from_arrays(features, means=means, m=3, sigma=0.5)."
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
    if instance.rewards.limits is None:
        return
    (low, high), (least, most) = procedure.noise.limits, instance.rewards.limits
    own = procedure.noise.takes_range and not procedure.noise.uses_sigma
    if own and (least < low or most > high):
        raise InvalidSetting(
            f"{procedure.name} is for rewards from {low:g} to {high:g}, and those of the instance "
            f"{instance.label!r} go from {least:g} to {most:g}: take noise='bernoulli', or an "
            "algorithm that uses σ (LUCB)."
        )


# Making runs


def _split(runs: int, procedure: Procedure, workers: int) -> list[np.ndarray]:
    """The runs of each share: one share for each worker, or more where runs are made one by one."""
    if procedure.engine.setup.pace.makes_plans:
        shares = min(runs // PLANS, SHARES * workers)
    else:
        least = max(1, min(WIDE, ARMS // procedure.problem.arms))
        shares = min(runs // least, workers)
    return np.array_split(np.arange(runs), max(shares, 1))


def _run_all(shares: list[Share], most: int, audit: bool, jobs: int, progress: bool) -> list[Runs]:
    """The runs of every share."""

    def task(share: Share) -> Any:
        audited = share.procedure.problem if audit and is_audited(share.procedure) else None
        given = share.procedure.engine, share.instance.rewards, share.seeds, most, audited
        return delayed(make_runs)(*given)

    made, console = list[Runs](), Console(stderr=True)
    columns = (*Progress.get_default_columns()[:3], TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not (progress and console.is_terminal)) as bar:
        row = bar.add_task("runs", total=sum(len(share.seeds) for share in shares))
        try:
            parts = Parallel(n_jobs=jobs, return_as="generator")(map(task, shares))
            for share, part in zip(shares, parts, strict=True):
                made.append(part)
                bar.update(row, advance=len(share.seeds), description=share.name)
        except BrokenExecutor as error:
            raise ShortlistError(
                "a process of the comparison was killed before its runs ended, most often for want of "
                "memory: compare with fewer workers, or workers=1 for this process alone."
            ) from error
        except PicklingError as error:
            why = str(error.__cause__ or error).strip(' \n"').rsplit("\n", 1)[-1]
            raise InvalidSetting(
                f"an algorithm or an instance cannot be sent to other processes ({why}): make all "
                "runs in this one by workers=1."
            ) from error
    return made


def make_runs(
    engine: AnyEngine, rewards: Rewards, seeds: Words, most: int, audited: Problem | None
) -> Runs:
    """One run for each seed; where a problem is given, with the audit of every answer."""
    runs = engine.replicate(rewards, seeds, most)
    return runs if audited is None else _audited(runs, rewards, audited)


def _audited(runs: Runs, rewards: Rewards, problem: Problem) -> Runs:
    """Runs, and the audits of their answers; a run that did not stop is not audited."""
    made, rejected = np.zeros(len(runs.seeds), np.int64), np.zeros(len(runs.seeds), np.bool_)
    for run in np.flatnonzero(runs.stopped).tolist():
        draw = drawer(rewards, int(run_seeds(int(runs.seeds[run]), 1, SALT)[0]))
        made[run], verdict = verdict_on(problem, int(runs.samples[run]), draw)
        rejected[run] = verdict.rejected
    return replace(runs, samples=runs.samples + made, audited=made, rejected=rejected)


def _rows(share: Share, runs: Runs, audit: bool) -> pd.DataFrame:
    instance, procedure = share.instance, share.procedure
    names = np.array(instance.names, dtype=object)
    acceptable = instance.acceptable(procedure.problem.epsilon)
    columns = {
        "instance": instance.label,
        "algorithm": share.name,
        "run": np.arange(share.first, share.first + len(runs.pulls)),
        "seed": runs.seeds,
        "samples": runs.samples,
        "stopped": runs.stopped,
        "correct": ~(runs.recommended & ~acceptable).any(axis=1),
        "recommendation": [names[row].tolist() for row in runs.recommended],
        "pulls": runs.pulls.tolist(),
        "threshold": procedure.threshold.name,
        "proven": procedure.proven,
        "by": runs.by,
    }
    if instance.costs.stated:
        columns["cost"] = runs.pulls @ instance.costs.of_arms(len(names))
    if audit:
        none = np.zeros(len(runs.pulls), np.int64)
        columns["audited"] = none if runs.audited is None else runs.audited
        columns["rejected"] = none > 0 if runs.rejected is None else runs.rejected
    return pd.DataFrame(columns)
