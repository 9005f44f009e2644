"""Attractors by walks and by modules, against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from boolean import STEADY, networks
from shortlist.errors import InvalidSetting
from shortlist.repurposing.networks.attractors import attractors, module_attractors
from shortlist.repurposing.networks.network import BooleanNetwork, terminal_components
from walks import Bits, every_state, image, rows, successors


def brute_attractors(network: BooleanNetwork, *, synchronous: bool = False) -> set[frozenset[Bits]]:
    graph = {
        state: [image(network, state)] if synchronous else successors(network, state)
        for state in every_state(network)
    }
    return set(map(frozenset, terminal_components(graph)))


@settings(STEADY, max_examples=30)
@given(networks(4))
def test_attractors_against_brute_force(network: BooleanNetwork) -> None:
    for update in ("asynchronous", "synchronous"):
        exact = brute_attractors(network, synchronous=update == "synchronous")
        found = attractors(network, update=update, walks=500, max_steps=40)
        assert {frozenset(rows(a.states)) for a in found} == exact
        assert sum(a.share for a in found) == pytest.approx(1.0)
        assert all(a.kind == ("cyclic" if len(a.states) > 1 else "fixed point") for a in found)


@settings(STEADY, max_examples=30)
@given(networks(5))
def test_module_attractors_combine_to_all(network: BooleanNetwork) -> None:
    constants, _ = network.split()
    combined = set()
    found = module_attractors(network)
    for choice in itertools.product(*(states for _, states in found)):
        whole = set()
        for state in itertools.product(*map(rows, choice)):
            values = dict(constants)
            for (genes, _), part in zip(found, state, strict=True):
                values.update(zip(genes, part, strict=True))
            whole.add(tuple(values[gene] for gene in network.genes))
        combined.add(frozenset(whole))
    assert combined == brute_attractors(network)


def test_attractors_from_a_state_and_under_clamps() -> None:
    network = BooleanNetwork({"A": "B", "B": "A", "C": "!D & A", "D": "C"})
    found = attractors(network, {"A": 0, "B": 0})
    assert [(a.kind, a.share) for a in found] == [("fixed point", 1.0)]
    found = attractors(network, {"A": 1, "B": 1})
    assert [(a.kind, len(a.states)) for a in found] == [("cyclic", 4)]
    assert [a.kind for a in attractors(network, clamps={"B": 1, "D": 1})] == ["fixed point"]
    both = attractors(network, {"A": 1, "B": 0}, walks=2000)
    assert sorted(a.kind for a in both) == ["cyclic", "fixed point"]
    assert all(abs(a.share - 0.5) < 0.06 for a in both)
    # The same if every walk is cut at the start, with both attractors ahead.
    cut = attractors(network, {"A": 1, "B": 0, "C": 0, "D": 0}, walks=2000, max_steps=0)
    assert sorted(a.kind for a in cut) == ["cyclic", "fixed point"]
    assert all(abs(a.share - 0.5) < 0.06 for a in cut)


def test_attractors_too_large_to_explore_say_so() -> None:
    ring = BooleanNetwork({f"g{i}": f"g{i - 1}" if i else "!g15" for i in range(16)})
    found = attractors(ring, walks=3, max_steps=100, limit=20)
    assert [a.kind for a in found] == ["unresolved"]
    with pytest.raises(InvalidSetting, match="65,536 states"):
        module_attractors(ring)
