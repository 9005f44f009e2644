"""Attractors: the states that walks end in, how often, and whether they form a cycle."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidSetting
from shortlist.repurposing.networks.dynamics import Dynamics
from shortlist.repurposing.networks.network import BooleanNetwork, terminal_components
from shortlist.repurposing.networks.states import state_vector

FURTHER_STEPS = 1000
EXPLORATIONS = 20  # of full length; more shorter ones


@dataclass(frozen=True, eq=False)
class Attractor:
    """A set of states that no walk leaves and in which every state can be reached from any other.

    Attributes
    ----------
    states : array of 0 and 1, states × genes
        In ascending order of the rows.
    share : float
        The share of the walks that ended in it.
    resolved : bool
        Whether it is known to be one. If not, too many states lay ahead to look at them all, and
        ``states`` has only those where walks were cut.
    """

    states: NDArray[np.uint8]
    share: float
    resolved: bool = True

    @property
    def kind(self) -> str:
        """``"fixed point"``, ``"cyclic"`` or ``"unresolved"``."""
        if not self.resolved:
            return "unresolved"
        return "fixed point" if len(self.states) == 1 else "cyclic"

    def __repr__(self) -> str:
        return f"Attractor({self.kind}, {len(self.states)} states, share={self.share:.3g})"


def attractors(
    network: BooleanNetwork,
    initial: Any = None,
    *,
    update: str = "asynchronous",
    clamps: Mapping[str, int] | None = None,
    walks: int = 1000,
    seed: int = 0,
    max_steps: int = 1000,
    limit: int = 10_000,
) -> list[Attractor]:
    """The attractors that walks end in, the most frequent first.

    Where a walk meets no fixed point within ``max_steps``, all states that lie ahead are explored.
    If they contain one attractor, the walk is on its way to it; if several, it walks on. Attractors
    that no walk came to are not found: ``module_attractors`` finds all of them in networks that
    percolate to small modules.

    Parameters
    ----------
    network : BooleanNetwork
        Genes and functions.
    initial : mapping, Series or array, optional
        The initial state; missing genes are drawn by a fair coin in every walk, all of them by
        default.
    update : str
        ``"asynchronous"`` or ``"synchronous"``.
    clamps : mapping of str to int, optional
        Genes held at 0 or 1.
    walks : int
        How many.
    seed : int
        The result depends on it and on nothing else.
    max_steps : int
        How long a walk goes on.
    limit : int
        How many states to explore ahead of a walk.

    Examples
    --------
    >>> ring = BooleanNetwork({"A": "!B", "B": "A", "C": "C"})
    >>> attractors(ring, {"C": 0})
    [Attractor(cyclic, 4 states, share=1)]
    """
    dynamics = Dynamics(network, clamps, update)
    start = state_vector(network, initial, "the initial state")[np.newaxis]
    ended = dynamics.simulate(start, repeats=walks, seed=seed, max_steps=max_steps)
    counts: Counter[tuple[bytes, ...]] = Counter(
        (key,) for key in _keys(ended.states[0][ended.reached[0]])
    )
    cut = Counter(_keys(ended.states[0][~ended.reached[0]]))
    unresolved: Counter[bytes] = Counter()
    budget = EXPLORATIONS * limit
    while cut:
        state, times = cut.popitem()
        ahead = _explore(dynamics, state, limit) if budget > 0 else None
        budget -= limit if ahead is None else len(ahead)
        if ahead is None:
            unresolved[state] += times
            continue
        ends = [tuple(sorted(end)) for end in terminal_components(ahead)]
        here = [end for end in ends if len(ends) == 1 or state in end]
        if here:
            counts[here[0]] += times
            for other in ahead:  # this attractor is the only one ahead of each
                counts[here[0]] += cut.pop(other, 0)
            continue
        # Several attractors lie ahead: each walk goes on by itself, to one of them.
        seed = (seed + 1) % 2**64
        on = dynamics.simulate(_rows([state]), repeats=times, seed=seed, max_steps=FURTHER_STEPS)
        cut.update(_keys(on.states[0]))
    found = [Attractor(_table(home), times / walks) for home, times in counts.most_common()]
    if unresolved:
        found.append(Attractor(_table(unresolved), unresolved.total() / walks, resolved=False))
    return found


def module_attractors(
    network: BooleanNetwork, *, limit: int = 2**14
) -> list[tuple[tuple[str, ...], list[NDArray[np.uint8]]]]:
    """All asynchronous attractors, module by module, by looking at every state of each.

    Every attractor of the network gives the percolated genes their constants, and combines one
    attractor of each module; every such combination is one.

    Parameters
    ----------
    network : BooleanNetwork
        For a knocked-down or over-expressed gene pass ``network.clamped(...)``.
    limit : int
        Raise if a module has more states.

    Returns
    -------
    list of (genes, attractors)
        An attractor is an array of states × genes of the module.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "!D", "D": "C"})
    >>> [(genes, [len(states) for states in found]) for genes, found in module_attractors(network)]
    [(('A', 'B'), [1, 1]), (('C', 'D'), [4])]
    """
    found = []
    for module in network.split()[1]:
        if 2 ** len(module) > limit:
            raise InvalidSetting(
                f"the module of {module.genes[0]} has {len(module)} genes and so "
                f"{2 ** len(module):,} states, more than limit={limit:,}: raise limit, or sample "
                "with attractors()."
            )
        states = itertools.product((0, 1), repeat=len(module))
        every = np.array(list(states), dtype=np.uint8)
        ways = dict(zip(_keys(every), _successors(Dynamics(module), every), strict=True))
        tables = map(_table, terminal_components(ways))
        found.append((module.genes, sorted(tables, key=lambda states: states[0].tobytes())))
    return found


def _explore(dynamics: Dynamics, state: bytes, limit: int) -> dict[bytes, list[bytes]] | None:
    """All states that can be reached and the successors of each; None if more than ``limit``."""
    ways: dict[bytes, list[bytes]] = {}
    front = [state]
    while front:
        if len(ways) + len(front) > limit:
            return None
        ways.update(zip(front, _successors(dynamics, _rows(front)), strict=True))
        ahead = dict.fromkeys(way for known in front for way in ways[known])
        front = [way for way in ahead if way not in ways]
    return ways


def _successors(dynamics: Dynamics, states: NDArray[np.uint8]) -> list[list[bytes]]:
    images = dynamics.images(states)
    if dynamics.update == "synchronous":
        return [[image] for image in _keys(images)]
    found: list[list[bytes]] = []
    for state, image in zip(states, images, strict=True):
        moves = np.flatnonzero(state != image)
        moved = np.repeat(state[np.newaxis], len(moves), axis=0)
        moved[np.arange(len(moves)), moves] ^= 1
        found.append(_keys(moved))
    return found


def _keys(states: NDArray[np.uint8]) -> list[bytes]:
    return [state.tobytes() for state in states]


def _rows(keys: Collection[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)


def _table(keys: Iterable[bytes]) -> NDArray[np.uint8]:
    return _rows(sorted(keys))
