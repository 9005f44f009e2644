"""The audit of linearity at the end of a simulated run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.any_engine import AnyEngine
from shortlist.algorithms.runs import Runs
from shortlist.core.random import run_seeds, seed_stream
from shortlist.core.rule import Rule
from shortlist.problem import Problem
from shortlist.study.audit import chosen_arms, judge, sample_of

SALT = 0x61756469  # the audit's rewards are others than the run's


def audited_run(
    engine: AnyEngine,
    problem: Problem,
    reward: Rule,
    parameters: NDArray[np.float64],
    seed: np.uint64,
    max_samples: int,
) -> Runs:
    """One run, and the audit of its answer; a run that did not stop is not audited."""
    run, sums = engine.run_once(reward, parameters, seed, max_samples)
    none = np.zeros(1, np.int64)
    if not run.stopped[0]:
        return replace(run, audited=none, rejected=none > 0)
    pulls = run.pulls[0]
    past = sample_of(problem, pulls, sums)
    means = problem.orthonormal @ np.linalg.lstsq(past.features, past.means)[0]
    means[past.arms] = (
        past.means
    )  # where it was evaluated, what was measured will do for the choice
    plan = chosen_arms(problem, pulls, means, run.recommended[0])
    stream = np.zeros(4, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(run_seeds(int(seed), 1, SALT)[0], stream)
        values = np.array([reward(int(arm), parameters, stream) for arm in plan])
    fresh_sums = np.bincount(plan, values, problem.arms).astype(np.float64)
    fresh = sample_of(problem, np.bincount(plan, minlength=problem.arms), fresh_sums)
    verdict = judge(problem, past, fresh, power=False)
    made = np.array([len(plan)], np.int64)
    return replace(
        run, samples=run.samples + made, audited=made, rejected=np.array([verdict.rejected])
    )
