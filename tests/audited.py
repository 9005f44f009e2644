"""Means on a line and on a bell, for the tests of linearity and of the audit."""

from __future__ import annotations

import numpy as np

import shortlist

DOSE = np.linspace(0.0, 10.0, 60)
FEATURES = np.column_stack([np.ones(60), DOSE])
BELL = np.exp(-((DOSE - 4.0) ** 2))
LINE = 0.1 * DOSE


def study_of(means, *, sigma=0.2, epsilon=0.02, seed=0, features=FEATURES, m=5, **settings):
    noise = np.random.default_rng(seed)
    study = shortlist.Study(features, m=m, sigma=sigma, epsilon=epsilon, seed=seed, **settings)
    return study, lambda trial: float(means[trial.arm] + sigma * noise.normal())
