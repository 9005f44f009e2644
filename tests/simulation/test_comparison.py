"""Runs that are cut off, and runs of another seed."""

from __future__ import annotations

import numpy as np

import shortlist


def test_unfinished_runs_are_counted() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=0.05)
    results = shortlist.compare("LUCB", instance, runs=4, max_samples=50, progress=False)
    assert results.summary().loc["LUCB", "unfinished"] == 4
    assert (results.frame["samples"] == 50).all()


def test_another_seed_gives_other_runs() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
    one, two = (
        shortlist.compare("LinGIFA", instance, runs=20, seed=s, progress=False).frame["samples"]
        for s in (1, 2)
    )
    assert one.tolist() != two.tolist()
