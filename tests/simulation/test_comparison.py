"""Runs that are cut off, runs of another seed, and several instances."""

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


def test_several_instances_give_what_each_gives_alone() -> None:
    easy = shortlist.instances.classic(K=4, m=2, omega=1.0)
    hard = shortlist.instances.classic(K=4, m=2, omega=0.6)
    both = shortlist.compare(["LUCB", "LinGIFA"], [easy, hard, easy], runs=6, progress=False)
    labels = [easy.label, hard.label, f"{easy.label} (2)"]
    assert both.frame["instance"].unique().tolist() == labels
    summary = both.summary()
    assert summary.index.tolist() == [(at, name) for at in labels for name in ("LUCB", "LinGIFA")]
    alone = shortlist.compare(["LUCB", "LinGIFA"], hard, runs=6, progress=False)
    assert alone.frame["samples"].tolist() == both.each[1].frame["samples"].tolist()
    assert summary.loc[hard.label].equals(alone.summary())
    assert alone.each == (alone,)
    assert all(label in repr(both) and label in both._repr_html_() for label in labels)
    with pytest.raises(InvalidSetting, match=r"3 instances: results\.each"):
        both.lower_bound  # noqa: B018


def test_what_is_no_instance_is_refused() -> None:
    with pytest.raises(
        InvalidSetting, match="an instance is needed, or a list of them, got ndarray"
    ):
        shortlist.compare("LUCB", np.eye(3), runs=1, progress=False)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="no instance was given"):
        shortlist.compare("LUCB", [], runs=1, progress=False)
