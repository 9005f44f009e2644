"""The dynamics of a Boolean network: walks, one or very many, to where nothing changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidSetting, unknown_name
from shortlist.problem import checked_seed
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.program import compile_network
from shortlist.repurposing.states import FREE, clamp_values, full_state, state_table, state_vector
from shortlist.repurposing.walking import ASYNCHRONOUS, SYNCHRONOUS, fill_images, walk_many

UPDATES = {"asynchronous": ASYNCHRONOUS, "synchronous": SYNCHRONOUS}
MAX_STEPS = 10_000


class Walk(NamedTuple):
    """Where a walk ended."""

    state: NDArray[np.uint8]
    """The last state, in the order of the genes."""
    steps: int
    """How many moves it took."""
    reached: bool
    """Whether the last state is a fixed point."""


class Walks(NamedTuple):
    """Where many walks ended: arrays cases × repeats (× genes)."""

    states: NDArray[np.uint8]
    steps: NDArray[np.int64]
    reached: NDArray[np.bool_]


class Dynamics:
    """A network, how it moves, and which of its genes cannot.

    Asynchronous: of the genes that would change, one is drawn uniformly and moves to its
    function's value. Synchronous: all of them move at once. Either way a walk ends at a fixed
    point, where no gene would change.

    Parameters
    ----------
    network : BooleanNetwork
        Genes and functions.
    clamps : mapping of str to int, optional
        Genes that are held at 0 (knocked down) or 1 (over-expressed) from the start and for good.
    update : str
        ``"asynchronous"`` or ``"synchronous"``.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "A & B"})
    >>> dynamics = Dynamics(network, clamps={"A": 1})
    >>> dynamics.walk({"A": 0, "B": 0, "C": 0}, seed=0)
    Walk(state=array([1, 1, 1], dtype=uint8), steps=2, reached=True)
    """

    def __init__(
        self,
        network: BooleanNetwork,
        clamps: Mapping[str, int] | None = None,
        update: str = "asynchronous",
    ) -> None:
        if update not in UPDATES:
            raise unknown_name("update", update, UPDATES)
        self.network = network
        self.update = update
        self.clamps = clamp_values(network, clamps)
        self.program = compile_network(network)

    def walk(self, initial: Any, seed: int = 0, max_steps: int = MAX_STEPS) -> Walk:
        """One walk from a state in which every gene has a value.

        Parameters
        ----------
        initial : mapping, Series or array
            Gene → 0 or 1, or one value a gene, in their order.
        seed : int
            Who moves depends on it and on nothing else.
        max_steps : int
            How long to go on where no fixed point is met.
        """
        state = full_state(self.network, initial, "the initial state")
        walks = self.simulate(state[np.newaxis], seed=seed, max_steps=max_steps, workers=1)
        return Walk(walks.states[0, 0], int(walks.steps[0, 0]), bool(walks.reached[0, 0]))

    def simulate(
        self,
        initials: Any,
        *,
        repeats: int = 1,
        seed: int = 0,
        max_steps: int = MAX_STEPS,
        clamps: Any = None,
        workers: int | None = None,
    ) -> Walks:
        """Many walks, in compiled code and on all cores.

        Parameters
        ----------
        initials : array cases × genes, or sequence of mappings or Series
            The initial state of each case; a gene that is missing, NaN or −1 is drawn by a fair
            coin, anew in every walk.
        repeats : int
            Walks from each.
        seed : int
            The walks depend on it and on nothing else: not on the number of workers.
        max_steps : int
            How long a walk goes on where it meets no fixed point.
        clamps : array cases × genes, or sequence of mappings or Series, optional
            For each case, genes that are held besides those of the dynamics.
        workers : int, optional
            Threads; by default one a core.

        Returns
        -------
        Walks
            One byte a gene and walk: 900,000 walks of 101 genes are 91 MB.

        Examples
        --------
        >>> dynamics = Dynamics(BooleanNetwork({"A": "B", "B": "A"}))
        >>> walks = dynamics.simulate([{"A": 1}, {"A": 1, "B": 0}], repeats=1000)
        >>> walks.states.shape, walks.states[:, :, 0].mean(axis=1).round(1).tolist()
        ((2, 1000, 2), [0.7, 0.5])
        """
        if repeats < 1:
            raise InvalidSetting(f"repeats must be at least 1, got {repeats}.")
        if max_steps < 0:
            raise InvalidSetting(f"max_steps must be 0 or more, got {max_steps}.")
        if workers is not None and workers < 1:
            raise InvalidSetting(f"workers must be at least 1, got {workers}.")
        table = state_table(self.network, initials, "the initial state")
        held = self._held(clamps, len(table))
        runs = len(table) * repeats
        states = np.empty((runs, len(self.network)), dtype=np.uint8)
        steps = np.empty(runs, dtype=np.int64)
        reached = np.empty(runs, dtype=np.bool_)
        key = np.uint64(checked_seed(seed))
        program = self.program

        def part(first: int, last: int) -> None:
            walk_many(
                UPDATES[self.update],
                program.start,
                program.code,
                program.first_target,
                program.targets,
                table,
                held,
                repeats,
                max_steps,
                key,
                first,
                last,
                states,
                steps,
                reached,
                np.empty(len(self.network), dtype=np.int64),
                np.empty(len(self.network), dtype=np.int64),
                np.empty(program.depth, dtype=np.uint8),
                np.empty(4, dtype=np.uint64),
            )

        threads = min(workers or os.cpu_count() or 1, runs)
        ends = np.linspace(0, runs, 1 + (1 if threads == 1 else 4 * threads), dtype=np.int64)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, ends[:-1].tolist(), ends[1:].tolist()))
        shape = (len(table), repeats)
        return Walks(states.reshape(*shape, -1), steps.reshape(shape), reached.reshape(shape))

    def images(self, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """What every function says in each of many full states; held genes keep their values.

        Examples
        --------
        >>> dynamics = Dynamics(BooleanNetwork({"A": "B", "B": "!A"}))
        >>> dynamics.images(np.array([[0, 0], [1, 0]], dtype=np.uint8)).tolist()
        [[0, 1], [0, 0]]
        """
        states = np.array(states, dtype=np.uint8, order="C")
        images = np.empty_like(states)
        stack = np.empty(self.program.depth, dtype=np.uint8)
        fill_images(self.program.start, self.program.code, states, images, stack)
        for gene, value in self.clamps.items():
            images[:, self.network.genes.index(gene)] = value
        return images

    def _held(self, clamps: Any, cases: int) -> NDArray[np.int8]:
        own = state_vector(self.network, self.clamps, "the clamps")
        if clamps is None:
            return np.tile(own, (cases, 1))
        table = state_table(self.network, clamps, "the clamps")
        if len(table) != cases:
            raise InvalidSetting(
                f"clamps must be given for each of the {cases} cases, got {len(table)}."
            )
        return np.where(table == FREE, own, table)


def walk(
    network: BooleanNetwork,
    initial: Any,
    seed: int = 0,
    *,
    update: str = "asynchronous",
    clamps: Mapping[str, int] | None = None,
    max_steps: int = MAX_STEPS,
) -> Walk:
    """One walk; see ``Dynamics``, which serves many better.

    Examples
    --------
    >>> ring = BooleanNetwork({"A": "!B", "B": "A"})
    >>> walk(ring, {"A": 0, "B": 0}, max_steps=100).reached
    False
    """
    return Dynamics(network, clamps, update).walk(initial, seed, max_steps)
