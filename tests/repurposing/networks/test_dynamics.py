"""Walks of Boolean networks: as by hand, fair, and repeatable."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from boolean import STEADY, networks, ruled_networks
from paths import needs_data
from shortlist.engine.seeds import run_seeds, words
from shortlist.errors import InvalidInput, InvalidNetwork, InvalidSetting, UnknownName
from shortlist.repurposing.networks import dynamics
from shortlist.repurposing.networks.dynamics import Dynamics, walk
from shortlist.repurposing.networks.fixed_points import reachable_fixed_points
from shortlist.repurposing.networks.logic import evaluate
from shortlist.repurposing.networks.network import BooleanNetwork
from walks import SWITCH, Bits, every_state, image, logged, paper_network, rows


def slow_walk(
    network: BooleanNetwork,
    initial: dict[str, int],
    clamps: dict[str, int],
    seed: int,
    max_steps: int,
) -> tuple[Bits, int, bool]:
    """The semantics in words: every function evaluated in every step, on the same words."""
    word = words(np.array([seed], np.uint64), 0, -(-len(network) // 64) + max_steps)[:, 0].tolist()
    state = {
        gene: clamps.get(gene, initial.get(gene, word[i // 64] >> (i % 64) & 1))
        for i, gene in enumerate(network.genes)
    }
    for step, drawn in enumerate([*word[-(-len(network) // 64) :], 0]):
        unstable = [
            gene
            for gene in network.genes
            if gene not in clamps and evaluate(network.functions[gene], state) != state[gene]
        ]
        if not unstable or step == max_steps:
            return tuple(state.values()), step, not unstable
        moved = unstable[(drawn >> 32) * len(unstable) >> 32]
        state[moved] = 1 - state[moved]
    raise AssertionError("a walk ends at max_steps")


# Walks


@settings(STEADY, max_examples=60)
@given(networks(5) | ruled_networks(), st.data(), st.integers(0, 2**64 - 1))
def test_a_walk_is_the_slow_one_alone_and_among_many(
    network: BooleanNetwork, data: st.DataObject, seed: int
) -> None:
    some = st.dictionaries(st.sampled_from(network.genes), st.integers(0, 1))
    initial, clamps = data.draw(some), data.draw(some)
    moves = Dynamics(network, clamps)
    one = moves.simulate([initial], seed=seed, max_steps=12)
    many = moves.simulate([initial], repeats=20, seed=seed, max_steps=12)
    for number, own in enumerate(run_seeds(seed, 20).tolist()):
        state, steps, reached = slow_walk(network, initial, clamps, own, 12)
        for walks in (one, many)[number > 0 :]:
            assert rows(walks.states[0])[number] == state
            assert (walks.steps[0, number], walks.reached[0, number]) == (steps, reached)


@pytest.mark.parametrize("genes", [150, 300])
def test_a_walk_over_more_genes_than_a_word_or_a_byte_counts(genes: int) -> None:
    ring = {f"g{i}": f"!g{i - 1}" if i else f"g{genes - 1}" for i in range(genes)}
    network, seed = BooleanNetwork(ring | {"up": "1"}), int(run_seeds(3, 1)[0])
    slow = slow_walk(network, {"g7": 1}, {}, seed, 60)[0]
    for repeats in (1, 400):
        walks = Dynamics(network).simulate([{"g7": 1}], repeats=repeats, seed=3, max_steps=60)
        assert rows(walks.states[0])[0] == slow


def test_a_walk_is_the_same_in_another_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [{"A": 1}, {}, {"B": 0}]
    one = Dynamics(SWITCH).simulate(cases, repeats=50, seed=5)
    monkeypatch.setattr(dynamics, "TOGETHER", 16)
    many = Dynamics(SWITCH).simulate(cases, repeats=50, seed=5)
    assert all((a == b).all() for a, b in zip(one, many, strict=True))
    other = Dynamics(SWITCH).simulate(cases, repeats=50, seed=6)
    assert (one.states != other.states).any()
    assert one.states.shape == (3, 50, 2)


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
def test_images_are_the_values_of_the_expressions(network: BooleanNetwork) -> None:
    states = every_state(network)
    found = Dynamics(network).images(np.array(states, dtype=np.uint8))
    assert rows(found) == [image(network, state) for state in states]


def test_who_moves_is_uniform_among_those_who_would() -> None:
    genes = {f"g{i}": str(int(i % 3 > 0)) for i in range(9)}  # from zeros, six of nine would move
    network = BooleanNetwork(genes)
    cases = np.zeros((1, 9), dtype=np.int8)
    first = Dynamics(network).simulate(cases, repeats=60_000, seed=1, max_steps=1)
    moves = first.states[0].sum(axis=0)
    assert moves.sum() == 60_000
    assert (moves[::3] == 0).all()
    assert stats.chisquare(moves[moves > 0]).pvalue > 1e-4
    # Also of the second movers, and of the pairs.
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


# The paper's network


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
