"""Dynamics of Boolean networks: walks, fixed points, attractors, predictions."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shortlist.errors import InvalidInput, InvalidNetwork, InvalidSetting, UnknownName
from shortlist.numerics.random import next_word, run_seed, seed_stream, uniform
from shortlist.repurposing.networks.attractors import attractors, module_attractors
from shortlist.repurposing.networks.dynamics import Dynamics, walk
from shortlist.repurposing.networks.fixed_points import (
    all_fixed_points,
    count_fixed_points,
    reachable_fixed_points,
)
from shortlist.repurposing.networks.formats import read
from shortlist.repurposing.networks.logic import evaluate
from shortlist.repurposing.networks.network import BooleanNetwork, terminal_components
from shortlist.repurposing.networks.states import known_values
from shortlist.repurposing.phenotype import Semantics, predict_phenotype
from test_networks import STEADY, needs_data, networks, ruled_networks

DATA = os.environ.get("SHORTLIST_DATA")

SWITCH = BooleanNetwork({"A": "B", "B": "A"})
RING = BooleanNetwork({"A": "!B", "B": "A"})

Bits = tuple[int, ...]


def image(network: BooleanNetwork, state: Bits) -> Bits:
    return tuple(network.image(known_values(network, state)).values())


def successors(network: BooleanNetwork, state: Bits) -> list[Bits]:
    target = image(network, state)
    movable = [i for i in range(len(state)) if state[i] != target[i]]
    return [(*state[:i], target[i], *state[i + 1 :]) for i in movable]


def every_state(network: BooleanNetwork) -> list[Bits]:
    return list(itertools.product((0, 1), repeat=len(network)))


def rows(states: np.ndarray) -> list[Bits]:
    return [tuple(row) for row in states.tolist()]


# Walks


def slow_walk(
    network: BooleanNetwork,
    initial: dict[str, int],
    clamps: dict[str, int],
    seed: int,
    max_steps: int,
) -> tuple[Bits, int, bool]:
    """The semantics in words, every function evaluated in every step, on the same stream."""
    stream = np.empty(4, dtype=np.uint64)
    seed_stream(run_seed(np.uint64(seed), 0), stream)
    state = {**initial, **clamps}
    free = [gene for gene in network.genes if gene not in state]
    words = [int(next_word(stream)) for _ in range(-(-len(free) // 64))]
    for i, gene in enumerate(free):
        state[gene] = words[i // 64] >> (i % 64) & 1
    order = network.genes
    state = {gene: state[gene] for gene in order}

    def would_change(gene: str) -> bool:
        return gene not in clamps and evaluate(network.functions[gene], state) != state[gene]

    unstable = [gene for gene in order if would_change(gene)]
    steps = 0
    while unstable and steps < max_steps:
        moved = unstable[int(uniform(stream) * len(unstable))]
        state[moved] = 1 - state[moved]
        steps += 1
        # The list loses a gene by putting its last one there, and gains at its end.
        for gene in (moved, *(other for other in order if other != moved)):
            if would_change(gene) and gene not in unstable:
                unstable.append(gene)
            elif not would_change(gene) and gene in unstable:
                place = unstable.index(gene)
                unstable[place] = unstable[-1]
                unstable.pop()
    return tuple(state.values()), steps, not unstable


@settings(STEADY, max_examples=60)
@given(networks(5) | ruled_networks(), st.data(), st.integers(0, 2**64 - 1))
def test_the_compiled_walk_is_the_slow_one(
    network: BooleanNetwork, data: st.DataObject, seed: int
) -> None:
    some = st.dictionaries(st.sampled_from(network.genes), st.integers(0, 1))
    initial, clamps = data.draw(some), data.draw(some)
    walks = Dynamics(network, clamps).simulate([initial], seed=seed, max_steps=12)
    state, steps, reached = slow_walk(network, initial, clamps, seed, 12)
    assert rows(walks.states[0]) == [state]
    assert (walks.steps[0, 0], walks.reached[0, 0]) == (steps, reached)


def test_a_walk_over_more_genes_than_a_word_has_bits() -> None:
    ring = {f"g{i}": f"!g{i - 1}" if i else "g149" for i in range(150)}
    network = BooleanNetwork(ring)
    walks = Dynamics(network).simulate([{"g7": 1}], seed=3, max_steps=60)
    assert rows(walks.states[0])[0] == slow_walk(network, {"g7": 1}, {}, 3, 60)[0]


@settings(STEADY, max_examples=40)
@given(networks(4), st.integers(0, 15))
def test_synchronous_walks(network: BooleanNetwork, start: int) -> None:
    state = every_state(network)[start]
    found = walk(network, state, update="synchronous", max_steps=9)
    for steps in range(10):
        if image(network, state) == state or steps == 9:
            assert (rows(found.state[np.newaxis])[0], found.steps) == (state, steps)
            assert found.reached == (image(network, state) == state)
            return
        state = image(network, state)


@settings(STEADY, max_examples=30)
@given(networks(4) | ruled_networks())
def test_compiled_functions_are_the_expressions(network: BooleanNetwork) -> None:
    states = every_state(network)
    found = Dynamics(network).images(np.array(states, dtype=np.uint8))
    assert rows(found) == [image(network, state) for state in states]


def test_a_simulation_repeats_whatever_the_workers() -> None:
    dynamics = Dynamics(SWITCH)
    cases = [{"A": 1}, {}, {"B": 0}]
    one = dynamics.simulate(cases, repeats=50, seed=5, workers=1)
    many = dynamics.simulate(cases, repeats=50, seed=5, workers=3)
    other = dynamics.simulate(cases, repeats=50, seed=6)
    assert all((a == b).all() for a, b in zip(one, many, strict=True))
    assert (one.states != other.states).any()
    assert one.states.shape == (3, 50, 2)


def test_who_moves_is_uniform_among_those_who_would() -> None:
    genes = {f"g{i}": str(int(i % 3 > 0)) for i in range(9)}  # from zeros, six of nine would move
    network = BooleanNetwork(genes)
    cases = np.zeros((1, 9), dtype=np.int8)
    first = Dynamics(network).simulate(cases, repeats=60_000, seed=1, max_steps=1)
    moves = first.states[0].sum(axis=0)
    assert moves.sum() == 60_000
    assert (moves[::3] == 0).all()
    assert stats.chisquare(moves[moves > 0]).pvalue > 1e-4
    # Also of the second movers, and of the pairs: the list of the unstable is shuffled by then.
    second = Dynamics(network).simulate(cases, repeats=60_000, seed=2, max_steps=2)
    pairs = Counter(map(tuple, second.states[0].tolist()))
    assert len(pairs) == 15
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-4


def test_free_genes_are_fair_and_independent() -> None:
    network = BooleanNetwork({f"g{i}": f"g{i}" for i in range(70)})
    walks = Dynamics(network).simulate([{"g1": 1}], repeats=20_000, seed=4)
    states = walks.states[0]
    assert (states[:, 1] == 1).all()
    assert (walks.steps == 0).all()
    assert walks.reached.all()
    triples = Counter(map(tuple, states[:, [0, 63, 69]].tolist()))
    assert len(triples) == 8
    assert stats.chisquare(list(triples.values())).pvalue > 1e-4


def test_an_exact_probability() -> None:
    # From (1, 0) of the switch either gene may move first: half of the walks end in each corner.
    ends = Dynamics(SWITCH).simulate([{"A": 1, "B": 0}], repeats=40_000, seed=7)
    ones = int(ends.states[0, :, 0].sum())
    assert stats.binomtest(ones, 40_000, 0.5).pvalue > 1e-4


def test_clamps_hold_and_masks_do_not() -> None:
    network = BooleanNetwork({"A": "0", "B": "A", "C": "!B"})
    state = {"A": 1, "B": 0, "C": 0}
    assert walk(network, state).state.tolist() == [0, 0, 1]
    assert walk(network, state, clamps={"A": 1}).state.tolist() == [1, 1, 0]
    assert walk(network, {**state, "A": 0}, clamps={"A": 1}).state.tolist() == [1, 1, 0]
    rowwise = Dynamics(network, {"B": 0}).simulate([state] * 2, clamps=[{"A": 1}, {"C": 0}])
    assert rows(rowwise.states[:, 0]) == [(1, 0, 1), (0, 0, 0)]
    assert rowwise.reached.all()
    images = Dynamics(network, {"A": 1}).images(np.zeros((1, 3), dtype=np.uint8))
    assert images.tolist() == [[1, 0, 1]]


def test_states_come_in_many_forms() -> None:
    dynamics = Dynamics(SWITCH)
    nan = float("nan")
    forms: list[Any] = [
        [{"A": 1, "B": None}],
        [pd.Series({"A": 1.0, "B": nan})],
        np.array([[1.0, nan]]),
        np.array([[1, -1]]),
        [[1, -1]],
    ]
    expected = dynamics.simulate(forms[0], repeats=20).states
    for form in forms[1:]:
        assert (dynamics.simulate(form, repeats=20).states == expected).all()
    frozen = np.array([[1, 0]], dtype=np.int8)
    frozen.flags.writeable = False
    assert dynamics.simulate(frozen, max_steps=0).states.tolist() == [[[1, 0]]]


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: walk(SWITCH, {"A": 1}), InvalidNetwork, "leaves 1 genes free, B among them"),
        (lambda: walk(SWITCH, {"A": 1, "X": 1}), InvalidNetwork, "unknown gene 'X' in the initial"),
        (
            lambda: walk(SWITCH, {"A": 0.3, "B": 1}),
            InvalidNetwork,
            "gene A must be 0, 1 or missing",
        ),
        (
            lambda: walk(SWITCH, {"A": "1", "B": 1}),
            InvalidNetwork,
            "gene A must be 0, 1 or missing",
        ),
        (lambda: walk(SWITCH, [1, 0, 1]), InvalidNetwork, "each of the 2 genes"),
        (lambda: walk(SWITCH, [1, 7]), InvalidNetwork, "gene B must be 0, 1"),
        (lambda: walk(SWITCH, [1, 1], clamps={"X": 1}), InvalidNetwork, "unknown gene 'X'"),
        (lambda: walk(SWITCH, [1, 1], clamps={"A": 2}), InvalidNetwork, "gene A must be 0, 1"),
        (lambda: walk(SWITCH, [1, 1], update="random"), UnknownName, "asynchronous"),
        (lambda: walk(SWITCH, [1, 1], seed=-1), InvalidSetting, "seed"),
        (lambda: walk(SWITCH, [1, 1], max_steps=-1), InvalidSetting, "max_steps"),
        (lambda: Dynamics(SWITCH).simulate([{}], repeats=0), InvalidSetting, "repeats"),
        (lambda: Dynamics(SWITCH).simulate([{}], workers=0), InvalidSetting, "workers"),
        (lambda: Dynamics(SWITCH).simulate([]), InvalidNetwork, "at least one case"),
        (lambda: Dynamics(SWITCH).simulate({"A": 1}), InvalidNetwork, "several cases"),
        (lambda: Dynamics(SWITCH).simulate(np.ones((2, 3))), InvalidNetwork, "each of the 2 genes"),
        (
            lambda: Dynamics(SWITCH).simulate([{}], clamps=[{}, {}]),
            InvalidSetting,
            "1 cases, got 2",
        ),
    ],
)
def test_bad_input(action: Any, error: type[InvalidInput], message: str) -> None:
    with pytest.raises(error, match=message):
        action()


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


# Attractors


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


# Predictions


def test_semantics_of_free_genes() -> None:
    network = BooleanNetwork({"A": "A", "B": "B", "C": "A & B"})
    zero = predict_phenotype(network, {"A": 1}, semantics=Semantics(free="zero"))
    assert zero.to_dict() == {"A": 1, "B": 0, "C": 0}
    given_values = Semantics(free={"B": 1, "C": 0, "A": 0})
    assert predict_phenotype(network, {"A": 1}, semantics=given_values).to_dict() == {
        "A": 1,
        "B": 1,
        "C": 1,
    }
    draws = Counter(tuple(predict_phenotype(network, {"A": 1}, seed=seed)) for seed in range(200))
    assert set(draws) == {(1, 0, 0), (1, 1, 1)}
    assert 60 < draws[(1, 1, 1)] < 140
    with pytest.raises(InvalidNetwork, match="1 genes are free and have no value, C among"):
        predict_phenotype(network, {"A": 1}, semantics=Semantics(free={"B": 1}))


def test_a_mask_sets_or_holds() -> None:
    network = BooleanNetwork({"A": "0", "B": "A | B", "C": "A"})
    patient = pd.Series({"A": 0.0, "B": 0.0, "C": float("nan")})
    drug = pd.Series({"A": 1.0, "B": float("nan")})
    held = predict_phenotype(network, patient, mask=drug, semantics=Semantics(mask="clamp"))
    assert held.to_dict() == {"A": 1, "B": 1, "C": 1}
    seen = {tuple(predict_phenotype(network, patient, mask=drug, seed=s)) for s in range(50)}
    assert seen == {(0, 0, 0), (0, 1, 0)}  # A falls before or after it has switched B on
    both = predict_phenotype(
        network, patient, mask=drug, clamps={"A": 0}, semantics=Semantics(mask="clamp")
    )
    assert both["A"] == 0  # a knock-down stays


def test_walks_that_never_settle() -> None:
    start = {"A": 0, "B": 0}
    with pytest.raises(InvalidSetting, match="no fixed point in 50 steps"):
        predict_phenotype(RING, start, semantics=Semantics(max_steps=50))
    last = predict_phenotype(RING, start, semantics=Semantics(max_steps=50, unsettled="last"))
    assert set(last) <= {0, 1}
    for name, value in (
        ("free", "ones"),
        ("attractor", "first"),
        ("mask", "hold"),
        ("update", "both"),
        ("unsettled", "ignore"),
    ):
        with pytest.raises(UnknownName, match=value):
            Semantics(**{name: value})


# The paper's network


@cache
def paper_network() -> BooleanNetwork:
    return read(Path(str(DATA)) / "report_model1_solution.net")


def logged(what: str) -> list[str]:
    lines = (Path(str(DATA)) / "rewards_cosine_10drugs_18samples.txt").read_text().splitlines()
    return [line.split("\t")[0] for line in lines if line.endswith("\t" + what)]


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


@pytest.mark.slow
@needs_data
def test_walks_end_in_reachable_fixed_points() -> None:
    network = paper_network()
    alphabetical = sorted(network.genes)
    masked = [
        {gene: int(c) for gene, c in zip(alphabetical, row, strict=True) if c != "|"}
        for row in logged("masked")
    ]
    ends = Dynamics(network).simulate(masked, repeats=20, seed=1)
    assert ends.reached.all()
    for case in range(0, 180, 30):
        reachable = set(rows(reachable_fixed_points(network, masked[case])))
        assert len(reachable) in (2048, 4096, 8192, 16_384)
        assert set(rows(ends.states[case])) <= reachable
        state = tuple(map(int, logged("state")[case]))
        assert state in reachable  # what the published code returned could have come out


@needs_data
def test_a_prediction_is_a_fixed_point_and_repeats() -> None:
    network = paper_network()
    one = predict_phenotype(network, {"SNAP25": 1}, seed=3)
    assert network.is_fixed_point(one.to_dict())
    assert one.equals(predict_phenotype(network, {"SNAP25": 1}, seed=3))
    assert not one.equals(predict_phenotype(network, {"SNAP25": 1}, seed=4))
    assert tuple(one.index) == network.genes
