"""How often studies in which nothing is wrong say that something is.

``python benchmarks/quiet.py 400`` runs 400 such studies of several kinds, tells every result by itself,
as a person does, and counts the warnings; and as many with two equal arms at the boundary, of which it
counts how many say so, and when.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import shortlist

MOST = 3000  # evaluations of a study


def clean(seed: int) -> tuple[shortlist.Study, np.ndarray, float]:
    """A study, its true means, and its σ."""
    draw = np.random.default_rng(seed)
    sigma = float(draw.uniform(0.2, 1.0))
    arms = int(draw.integers(4, 30))
    settings = {"m": int(draw.integers(1, 4)), "epsilon": 0.2, "sigma": sigma, "seed": seed}
    if seed % 2:
        return shortlist.Study(arms=range(arms), **settings), draw.normal(size=arms), sigma
    features = draw.normal(size=(arms, 3))
    means = features @ draw.normal(size=3) + draw.normal()
    return shortlist.Study(features, **settings), means, sigma


def tied(seed: int) -> tuple[shortlist.Study, np.ndarray, float]:
    """A study of which the arms of ranks m and m + 1 are equal."""
    draw = np.random.default_rng(seed)
    means = np.sort(draw.normal(size=int(draw.integers(4, 12))))[::-1].copy()
    means[1] = means[0]
    return shortlist.Study(arms=range(len(means)), m=1, sigma=0.3, seed=seed), means, 0.3


def said(study: shortlist.Study, means: np.ndarray, sigma: float, seed: int) -> dict[str, int]:
    """The kinds of warnings, each with the number of results at which it was first said."""
    noise = np.random.default_rng([seed, 1])
    found: dict[str, int] = {}
    while not study.done and study.audit.rejection is None and study.evaluations < MOST:
        trial = study.ask()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.tell(trial, means[trial.arm] + sigma * noise.standard_normal())
        for each in caught:
            found.setdefault(type(each.message).__name__, study.evaluations)
    return found


def main(runs: int) -> None:
    """Print the tables."""
    for what, make in (("nothing wrong", clean), ("two equal arms", tied)):
        everything = [said(*make(seed), seed) for seed in range(runs)]
        print(f"{what}: {runs} studies, {sum(not each for each in everything)} silent")
        for kind in sorted({kind for each in everything for kind in each}):
            when = [each[kind] for each in everything if kind in each]
            print(f"  {kind}: {len(when)}, first said at {np.median(when):.0f} results (median)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
