"""Replaying a trajectory: whether a network could have walked it, step by step, in plain Python.

It reads the network's functions and knows nothing of the solver, so it checks what the solver says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shortlist.errors import unknown_name
from shortlist.repurposing.experiments import Experiment
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.states import as_mapping, full_state

UPDATES = ("asynchronous", "synchronous")


def replay(
    network: BooleanNetwork,
    experiment: Experiment,
    trajectory: Iterable[Any],
    *,
    update: str = "asynchronous",
) -> list[str]:
    """What is wrong with a trajectory as an account of an experiment.

    Parameters
    ----------
    network : BooleanNetwork
        Whose functions are to be followed.
    experiment : Experiment
        What was held, and what was seen.
    trajectory : iterable of states
        One full state a step, from step 0 on: mappings, or vectors in the order of the genes.
    update : str
        ``"asynchronous"``: one gene that would change does, and nothing stays put but at a fixed
        point. ``"synchronous"``: all that would change do.

    Returns
    -------
    list of str
        In words; empty if nothing is wrong.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "A", "B": "A"})
    >>> seen = Experiment("E", {0: {"A": 1, "B": 0}, 1: {"B": 1}}, fixed_points=(1,))
    >>> replay(network, seen, [{"A": 1, "B": 0}, {"A": 1, "B": 1}])
    []
    >>> replay(network, seen, [{"A": 1, "B": 0}, {"A": 0, "B": 1}])
    ['step 0 to 1: A, B change; one gene at a time may', 'step 0 to 1: A becomes 0, its function says 1', 'step 1 should be a fixed point, but B would change']
    """
    if update not in UPDATES:
        raise unknown_name("update", update, UPDATES)
    states = [
        as_mapping(network, full_state(network, state, f"step {step}").tolist())
        for step, state in enumerate(trajectory)
    ]
    # A held gene's function is the constant that it is held at.
    held = network.clamped(experiment.clamps)
    return [
        *_wrong_values(experiment, states),
        *_wrong_moves(held, states, update),
        *_wrong_rests(held, experiment, states),
    ]


def _wrong_values(experiment: Experiment, states: Sequence[Mapping[str, int]]) -> Iterator[str]:
    for step, state in enumerate(states):
        for gene, value in experiment.clamps.items():
            if state[gene] != value:
                yield f"step {step}: {gene} is {state[gene]}, but it is held at {value}"
    for step, values in sorted(experiment.observations.items()):
        if step >= len(states):
            yield f"step {step} is observed, but the trajectory ends at step {len(states) - 1}"
            continue
        for gene, value in values.items():
            if states[step][gene] != value:
                yield f"step {step}: {gene} is {states[step][gene]}, but was observed as {value}"


def _wrong_moves(
    network: BooleanNetwork, states: Sequence[Mapping[str, int]], update: str
) -> Iterator[str]:
    for step, (before, after) in enumerate(itertools.pairwise(states)):
        where = f"step {step} to {step + 1}"
        image = network.image(before)
        moved = [gene for gene in network.genes if after[gene] != before[gene]]
        if update == "asynchronous" and len(moved) > 1:
            yield f"{where}: {', '.join(moved)} change; one gene at a time may"
        for gene in moved:
            if image[gene] != after[gene]:
                yield f"{where}: {gene} becomes {after[gene]}, its function says {image[gene]}"
        waiting = [gene for gene in network.genes if image[gene] != before[gene]]
        if update == "asynchronous":
            waiting = [] if moved else waiting[:1]
        for gene in waiting:
            if after[gene] == before[gene]:
                yield f"{where}: {gene} stays {before[gene]}, its function says {image[gene]}"


def _wrong_rests(
    network: BooleanNetwork, experiment: Experiment, states: Sequence[Mapping[str, int]]
) -> Iterator[str]:
    for step in experiment.fixed_points:
        if step >= len(states):
            yield f"step {step} should be a fixed point, but the trajectory ends before it"
            continue
        image = network.image(states[step])
        restless = [gene for gene in network.genes if image[gene] != states[step][gene]]
        if restless:
            yield f"step {step} should be a fixed point, but {', '.join(restless)} would change"
