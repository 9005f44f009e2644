"""Fixed points by answer-set programming, against brute force."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolean import STEADY, networks, ruled_networks
from paths import needs_data
from shortlist.errors import InvalidSetting
from shortlist.repurposing.networks.attractors import module_attractors
from shortlist.repurposing.networks.dynamics import Dynamics
from shortlist.repurposing.networks.fixed_points import (
    all_fixed_points,
    count_fixed_points,
    reachable_fixed_points,
)
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import known_values
from walks import SWITCH, every_state, image, logged, paper_network, rows, successors

# Fixed points


@settings(STEADY, max_examples=40)
@given(networks(6) | ruled_networks(), st.data())
def test_fixed_points_against_brute_force(network: BooleanNetwork, data: st.DataObject) -> None:
    wanted = data.draw(st.dictionaries(st.sampled_from(network.genes), st.integers(0, 1)))
    every = [s for s in every_state(network) if image(network, s) == s]
    assert rows(all_fixed_points(network)) == every
    some = [s for s in every if wanted.items() <= known_values(network, s).items()]
    assert rows(all_fixed_points(network, wanted)) == some
    assert count_fixed_points(network, wanted) == len(some)


def test_fixed_points_of_twelve_genes_against_brute_force() -> None:
    rng = np.random.default_rng(0)
    names = [f"g{i}" for i in range(12)]
    functions = {
        gene: " | ".join(
            " & ".join(rng.choice(["", "!"]) + name for name in rng.choice(names, 2, replace=False))
            for _ in range(2)
        )
        for gene in names
    }
    network = BooleanNetwork(functions)
    states = np.array(every_state(network), dtype=np.uint8)
    still = states[(Dynamics(network).images(states) == states).all(axis=1)]
    assert len(still) > 0
    assert (all_fixed_points(network) == still).all()


@settings(STEADY, max_examples=25)
@given(networks(4), st.data())
def test_reachable_fixed_points_against_a_search(
    network: BooleanNetwork, data: st.DataObject
) -> None:
    given_values = data.draw(st.dictionaries(st.sampled_from(network.genes), st.integers(0, 1)))
    steps = data.draw(st.integers(0, 16))
    # The bound is one a part; with one part it is the length of the walk.
    front = {
        s for s in every_state(network) if given_values.items() <= known_values(network, s).items()
    }
    reached = set(front)
    for _ in range(16 if len(network.parts()) > 1 else steps):
        front = {n for s in front for n in successors(network, s)} - reached
        reached |= front
    ends = sorted(s for s in reached if image(network, s) == s)
    bound = 16 if len(network.parts()) > 1 else steps
    assert rows(reachable_fixed_points(network, given_values, steps=bound)) == ends


def test_too_many_fixed_points_say_so() -> None:
    inputs = BooleanNetwork({f"g{i}": f"g{i}" for i in range(30)})
    assert count_fixed_points(inputs) == 2**30
    with pytest.raises(InvalidSetting, match="1,073,741,824 such fixed points"):
        all_fixed_points(inputs)
    wide = {f"g{i}": f"g{i} & (hub | !hub)" for i in range(8)} | {"hub": "hub"}
    joined = BooleanNetwork({**wide, "end": " | ".join(wide)})
    with pytest.raises(InvalidSetting, match="more than limit=10"):
        all_fixed_points(joined, limit=10)
    with pytest.raises(InvalidSetting, match="more than limit=10"):
        count_fixed_points(joined, limit=10)
    with pytest.raises(InvalidSetting, match="steps"):
        reachable_fixed_points(SWITCH, {}, steps=-1)


def test_clingo_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clingo", None)
    with pytest.raises(ImportError, match=r"need clingo: pip install 'shortlist\[networks\]'"):
        all_fixed_points(SWITCH)


# The paper's network


@needs_data
def test_every_logged_state_is_a_fixed_point() -> None:
    states = np.array([list(map(int, row)) for row in logged("state")], dtype=np.uint8)
    assert states.shape == (180, 101)
    assert (Dynamics(paper_network()).images(states) == states).all()
    assert all(
        paper_network().is_fixed_point(known_values(paper_network(), state)) for state in states
    )
    every = set(rows(all_fixed_points(paper_network())))
    assert set(rows(states)) <= every


@needs_data
def test_the_paper_s_network_has_16384_fixed_points_and_no_cycle() -> None:
    network = paper_network()
    points = all_fixed_points(network)
    assert points.shape == (16_384, 101)
    assert len(np.unique(points, axis=0)) == 16_384
    assert (Dynamics(network).images(points) == points).all()
    found = module_attractors(network)
    assert len(found) == 13
    assert all(len(states) == 1 for _, listed in found for states in listed)
    assert np.prod([len(listed) for _, listed in found]) == 16_384
