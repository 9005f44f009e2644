"""Experiments that a network must explain, and whether a trajectory explains one.

A trajectory is replayed step by step in plain Python. The replay reads the network's functions and
knows nothing of the solver, so it checks what the solver says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shortlist.errors import InvalidNetwork, unknown_name
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import UPDATES, checked_bit, full_state, known_values


@dataclass(frozen=True)
class Experiment:
    """One experiment: a trajectory of which some values are known.

    Parameters
    ----------
    name : str
        What to call it.
    observations : mapping of int to mapping or Series
        Step → gene → 0 or 1; a gene that is missing or NaN (the paper's ⊥) may have either value.
        Step 0 is the initial condition.
    clamps : mapping of str to int
        Genes knocked down (0) or over-expressed (1): held so from step 0 and for good.
    fixed_points : tuple of int
        Steps at which no gene may want to change.

    Examples
    --------
    >>> knocked = Experiment("A down", {0: {"B": 1}, 9: {"B": 0}}, {"A": 0}, fixed_points=(9,))
    >>> knocked.last_step
    9
    """

    name: str
    observations: Mapping[int, Mapping[str, int]]
    clamps: Mapping[str, int] = field(default_factory=dict)
    fixed_points: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        known = {
            _step(step, self.name): _values(values, f"step {step} of {self.name}")
            for step, values in self.observations.items()
        }
        object.__setattr__(self, "observations", known)
        object.__setattr__(self, "clamps", _values(self.clamps, f"the clamps of {self.name}"))
        fixed = tuple(_step(step, self.name) for step in self.fixed_points)
        object.__setattr__(self, "fixed_points", fixed)

    @property
    def last_step(self) -> int:
        """The last step about which something is known."""
        return max([0, *self.observations, *self.fixed_points])

    @property
    def genes(self) -> tuple[str, ...]:
        """The genes that are held or observed."""
        observed = (gene for values in self.observations.values() for gene in values)
        return tuple(dict.fromkeys([*self.clamps, *observed]))

    def contradiction(self, update: str = "asynchronous") -> str | None:
        """The reason why no network at all could explain it, in words, or None if none is obvious.

        Examples
        --------
        >>> Experiment("A down", {4: {"A": 1}}, {"A": 0}).contradiction()
        'gene A is held at 0 and is 1 at step 4'
        >>> Experiment("quick", {0: {"A": 0, "B": 0}, 1: {"A": 1, "B": 1}}).contradiction()
        '2 genes change from step 0 to step 1, but only one may change per step'
        """
        for step, values in self.observations.items():
            for gene, value in values.items():
                if self.clamps.get(gene, value) != value:
                    held = self.clamps[gene]
                    return f"gene {gene} is held at {held} and is {value} at step {step}"
        if update == "asynchronous":
            for first, last in itertools.combinations(sorted(self.observations), 2):
                begin, end = self.observations[first], self.observations[last]
                changed = sum(value != end.get(gene, value) for gene, value in begin.items())
                if changed > last - first:
                    return (
                        f"{changed} genes change from step {first} to step {last}, but only "
                        "one may change per step"
                    )
        return None


def _step(step: Any, name: str) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise InvalidNetwork(
            f"experiment {name}: a step must be a whole number from 0 on, got {step!r}."
        )
    return step


def _values(values: Any, where: str) -> dict[str, int]:
    known = {str(gene): v for gene, v in values.items() if v is not None and v == v}  # not NaN
    return {gene: checked_bit(value, gene, where) for gene, value in known.items()}


def replay(
    network: BooleanNetwork,
    experiment: Experiment,
    trajectory: Iterable[Any],
    *,
    update: str = "asynchronous",
) -> list[str]:
    """The faults of a trajectory as an account of an experiment.

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
    ['step 0 to 1: A, B change, but only one gene may change at a time', 'step 0 to 1: A becomes 0, its function says 1', 'step 1 should be a fixed point, but B would change']
    """
    if update not in UPDATES:
        raise unknown_name("update", update, UPDATES)
    states = [
        known_values(network, full_state(network, state, f"step {step}"))
        for step, state in enumerate(trajectory)
    ]
    # A held gene's function is the constant that it is held at.
    held = network.clamped(experiment.clamps)
    return list(_mismatches(held, experiment, states, update))


def _mismatches(
    network: BooleanNetwork,
    experiment: Experiment,
    states: Sequence[Mapping[str, int]],
    update: str,
) -> Iterator[str]:
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
    for step, (before, after) in enumerate(itertools.pairwise(states)):
        where = f"step {step} to {step + 1}"
        image = network.image(before)
        moved = [gene for gene in network.genes if after[gene] != before[gene]]
        if update == "asynchronous" and len(moved) > 1:
            yield f"{where}: {', '.join(moved)} change, but only one gene may change at a time"
        for gene in moved:
            if image[gene] != after[gene]:
                yield f"{where}: {gene} becomes {after[gene]}, its function says {image[gene]}"
        waiting = [gene for gene in network.genes if image[gene] != before[gene]]
        if update == "asynchronous":
            waiting = [] if moved else waiting[:1]
        for gene in waiting:
            if after[gene] == before[gene]:
                yield f"{where}: {gene} stays {before[gene]}, its function says {image[gene]}"
    for step in experiment.fixed_points:
        if step >= len(states):
            yield f"step {step} should be a fixed point, but the trajectory ends before it"
            continue
        image = network.image(states[step])
        restless = [gene for gene in network.genes if image[gene] != states[step][gene]]
        if restless:
            yield f"step {step} should be a fixed point, but {', '.join(restless)} would change"
