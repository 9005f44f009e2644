"""Noise that nobody stated, as results have shown it: what tests that need a σ are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shortlist.noise.given import Each
from shortlist.plans.noises import Common, Totals, Unknown
from shortlist.problem import Problem
from shortlist.study.trial import Trial

SURE = 0.99  # confidence that σ is no larger, for normal noise
FEWEST = 10  # degrees of freedom in all, for a σ of every arm
SHARED = 4.0  # degrees of freedom of what is usual among arms, beside an arm's own


def measured(problem: Problem, taken: Sequence[Trial]) -> Problem | None:
    """The problem with a σ that is large enough, by replicates; as it is where a σ was stated.

    None where too few results are replicates.
    """
    if not problem.noise.needs_replicates:
        return problem
    from scipy.special import chdtri  # loads late

    arms = np.array([trial.arm for trial in taken], np.int64)
    values = np.array([trial.value for trial in taken], np.float64)
    total = Totals.none(problem.arms).plus(arms, values)
    degrees = np.maximum(total.pulls - 1.0, 0.0)
    if not degrees.any():
        return None
    one = problem.noise.suited(False, False, own_sigma=False, one_sigma=True)
    if not one and degrees.sum() < FEWEST:  # what is usual would be known no better than that
        return None
    kind, free = (Common(), degrees.sum()) if one else (Unknown(), degrees + SHARED)
    variances = kind.variances(total, total.averages, 1, problem.m)
    sizes = np.sqrt(variances * free / chdtri(free, SURE))
    least = 1e-9 * max(float(np.abs(values).max()), 1e-100)
    return replace(problem, noise=Each(*np.maximum(sizes, least).tolist()))
