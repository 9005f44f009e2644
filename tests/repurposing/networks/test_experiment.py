"""Experiments, and the replay of trajectories against them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from paths import DATA, needs_data
from shortlist.errors import InvalidNetwork, UnknownName
from shortlist.repurposing import (
    AbstractNetwork,
    BooleanNetwork,
    Experiment,
    infer,
    read_abstract,
    read_experiments,
    replay,
)

# At the door


def test_profiles_with_missing_values_are_observations() -> None:
    profile = pd.Series({"A": 1.0, "B": float("nan"), "C": 0.0})
    assert Experiment("E", {0: profile}).observations == {0: {"A": 1, "C": 0}}  # type: ignore[dict-item]


# The replay


def test_the_replay_catches_each_kind_of_wrong_step() -> None:
    network = BooleanNetwork({"A": "A", "B": "A", "C": "B"})
    seen = Experiment("E", {0: {"B": 0}, 3: {"C": 1}}, {"A": 1}, fixed_points=(3,))
    right = [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 1)]
    assert replay(network, seen, right) == []
    for step, state, complaint in (
        (0, (1, 1, 0), "step 0: B is 1, but was observed as 0"),
        (1, (1, 1, 1), "B, C change, but only one gene may change at a time"),
        (1, (1, 0, 0), "step 0 to 1: B stays 0, its function says 1"),
        (1, (1, 0, 1), "step 0 to 1: C becomes 1, its function says 0"),
        (2, (0, 1, 0), "step 2: A is 0, but it is held at 1"),
        (3, (1, 1, 0), "step 3: C is 0, but was observed as 1"),
        (3, (1, 0, 1), "step 3 should be a fixed point, but B, C would change"),
    ):
        wrong = [*right[:step], state, *right[step + 1 :]]
        assert any(complaint in said for said in replay(network, seen, wrong)), complaint
    short = replay(network, seen, right[:3])
    assert short == [
        "step 3 is observed, but the trajectory ends at step 2",
        "step 3 should be a fixed point, but the trajectory ends before it",
    ]
    at_once = [(1, 0, 1), (1, 1, 0), (1, 1, 1), (1, 1, 1)]
    assert replay(network, seen, at_once, update="synchronous") == []
    lazy = replay(network, seen, [(1, 0, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1)], update="synchronous")
    assert lazy == ["step 0 to 1: C stays 1, its function says 0"]
    with pytest.raises(UnknownName, match="update"):
        replay(network, seen, right, update="both")
    with pytest.raises(InvalidNetwork, match="step 1"):
        replay(network, seen, [(1, 0, 0), (1, 1)])


def paper() -> tuple[AbstractNetwork, list[Experiment]]:
    folder = Path(str(DATA))
    return read_abstract(folder / "model1.net"), read_experiments(folder / "observations1.spec")


# The paper's experiments


@pytest.mark.slow
@needs_data
def test_the_published_network_explains_the_papers_experiments() -> None:
    _, experiments = paper()
    published = read_abstract(Path(str(DATA)) / "report_model1_solution.net")
    [found] = infer(published, experiments)
    assert len(found.edges) == 84
    for e in experiments:
        assert replay(found.network, e, found.trajectories[e.name]) == []
