"""Runs that are cut off, and runs of another seed."""

from __future__ import annotations

import numpy as np
import pytest

import shortlist
from shortlist.errors import InvalidSetting


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


def test_auto_beside_the_algorithm_it_takes_has_a_name_of_its_own() -> None:
    instance = shortlist.instances.random(K=6, N=3, m=2, seed=1, sigma=0.3)
    both = shortlist.compare(["auto", "Guess-and-verify"], instance, runs=3, progress=False)
    by_name = both.frame.groupby("algorithm")["samples"].apply(list)
    assert list(by_name.index) == ["Guess-and-verify", "auto (Guess-and-verify)"]
    assert by_name.iloc[0] == by_name.iloc[1]
    alone = shortlist.compare("auto", instance, runs=3, progress=False)
    assert set(alone.frame["algorithm"]) == {"Guess-and-verify"}
    with pytest.raises(InvalidSetting, match="listed twice: leave out one"):
        shortlist.compare(["LUCB", "LUCB"], instance, runs=1, progress=False)
