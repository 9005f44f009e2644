"""The dynamics of a Boolean network: walks, one or very many, to where nothing changes.

A network becomes flat arrays, a few instructions a gene, for compiled code that walks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from shortlist.errors import InvalidSetting, unknown_name
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import next_word, run_seed, seed_stream, uniform
from shortlist.numerics.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEY,
    KEYS,
    MASK,
    VOID,
    Grid,
    Integer,
    Integers,
    Keys,
    Record,
    record_type,
)
from shortlist.problem import checked_seed
from shortlist.repurposing.networks.logic import Constant, Expression, Gene, Not, genes_of
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import (
    FREE,
    UPDATES,
    full_state,
    known_values,
    state_table,
    state_vector,
)

# Operations on a stack, each with two numbers.
PUSH_CONSTANT = 0  # value, —
PUSH_GENE = 1  # gene, 1 if negated
NEGATE = 2  # —, —
AT_LEAST = 3  # count, how many are taken off the stack

BIT = types.uint8
BITS = types.Array(types.uint8, 1, "C")
BIT_TABLE = types.Array(types.uint8, 2, "C")
PARTIAL = types.Array(types.int8, 1, "C")
PARTIAL_TABLE = types.Array(types.int8, 2, "C")
END = types.Tuple((INTEGER, BOOLEAN))
_ONE = np.uint64(1)
SYNCHRONOUS = UPDATES.index("synchronous")
MAX_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Instructions(Record):
    """The functions of a network in postfix form, and which genes depend on which."""

    start: Integers  # the instructions of gene g are those from ``start[g]`` to ``start[g + 1]``
    code: Grid  # a row an instruction: an operation and its two numbers
    first_target: Integers  # as ``start``, for ``targets``
    # The gene itself, then all others whose functions name it, in order: the genes to check when it
    # has moved.
    targets: Integers
    depth: Integer  # how much stack the functions need


@dataclass(frozen=True, eq=False)
class Scratch(Record):
    """Memory that a walk works in, and its random numbers.

    ``unstable`` lists the genes that would change, ``place`` says where in it each stands.
    """

    unstable: Integers
    place: Integers
    stack: Integers
    stream: Keys


def compile_network(network: BooleanNetwork) -> Instructions:
    """The instructions of every function.

    Examples
    --------
    >>> compile_network(BooleanNetwork({"A": "A & !B", "B": "1"})).code.tolist()
    [[1, 0, 0], [1, 1, 1], [3, 2, 2], [0, 1, 0]]
    """
    place = {gene: i for i, gene in enumerate(network.genes)}
    code: list[tuple[int, int, int]] = []
    start = [0]
    targets: dict[str, list[int]] = {gene: [i] for gene, i in place.items()}
    depth = 1
    for gene, function in network.functions.items():
        depth = max(depth, _emit(function, place, code))
        start.append(len(code))
        for name in genes_of(function):
            if name != gene:
                targets[name].append(place[gene])
    return Instructions(
        np.array(start, dtype=np.int64),
        np.array(code, dtype=np.int64),
        np.cumsum([0, *map(len, targets.values())], dtype=np.int64),
        np.array([t for listed in targets.values() for t in listed], dtype=np.int64),
        depth,
    )


def _emit(expression: Expression, place: dict[str, int], code: list[tuple[int, int, int]]) -> int:
    """Append the instructions of an expression; return how much stack they need."""
    if isinstance(expression, Constant):
        code.append((PUSH_CONSTANT, expression.value, 0))
        return 1
    if isinstance(expression, Gene):
        code.append((PUSH_GENE, place[expression.name], 0))
        return 1
    if isinstance(expression, Not):
        if isinstance(expression.part, Gene):
            code.append((PUSH_GENE, place[expression.part.name], 1))
            return 1
        depth = _emit(expression.part, place, code)
        code.append((NEGATE, 0, 0))
        return depth
    depth = max(i + _emit(part, place, code) for i, part in enumerate(expression.parts))
    code.append((AT_LEAST, expression.count, len(expression.parts)))
    return depth


INSTRUCTIONS, SCRATCH = record_type(Instructions), record_type(Scratch)


@compiled(BIT(INTEGER, INSTRUCTIONS, BITS, INTEGERS))
def value_of(gene: int, network: Instructions, state: np.ndarray, stack: np.ndarray) -> int:
    """The value of the function of ``gene`` in ``state``."""
    code = network.code
    top = 0
    for i in range(network.start[gene], network.start[gene + 1]):
        what = code[i, 0]
        if what == PUSH_GENE:
            stack[top] = state[code[i, 1]] ^ code[i, 2]
            top += 1
        elif what == AT_LEAST:
            bottom = top - code[i, 2]
            on = 0
            for k in range(bottom, top):
                on += stack[k]
            stack[bottom] = 1 if on >= code[i, 1] else 0
            top = bottom + 1
        elif what == NEGATE:
            stack[top - 1] ^= 1
        else:
            stack[top] = code[i, 1]
            top += 1
    return stack[0]


@compiled(VOID(INSTRUCTIONS, BIT_TABLE, BIT_TABLE, INTEGERS))
def fill_images(
    network: Instructions, states: np.ndarray, images: np.ndarray, stack: np.ndarray
) -> None:
    """Fill ``images`` with the value of every function in each of many states."""
    for i in range(states.shape[0]):
        for gene in range(states.shape[1]):
            images[i, gene] = value_of(gene, network, states[i], stack)


@compiled(END(INSTRUCTIONS, PARTIAL, INTEGER, BITS, SCRATCH))
def walk_asynchronously(
    network: Instructions, clamps: np.ndarray, max_steps: int, state: np.ndarray, scratch: Scratch
) -> tuple[int, bool]:
    """Move one gene at a time, drawn uniformly among those that would change.

    Only the functions that name the gene that moved can have changed, so only these are evaluated.
    """
    unstable, place, stack = scratch.unstable, scratch.place, scratch.stack
    count = 0
    for gene in range(len(state)):
        place[gene] = -1
        if clamps[gene] == FREE and value_of(gene, network, state, stack) != state[gene]:
            place[gene] = count
            unstable[count] = gene
            count += 1
    steps = 0
    while count > 0 and steps < max_steps:
        moved = unstable[int(uniform(scratch.stream) * count)]
        state[moved] ^= 1
        steps += 1
        for i in range(network.first_target[moved], network.first_target[moved + 1]):
            gene = network.targets[i]
            if clamps[gene] != FREE:
                continue
            if value_of(gene, network, state, stack) != state[gene]:
                if place[gene] < 0:
                    place[gene] = count
                    unstable[count] = gene
                    count += 1
            elif place[gene] >= 0:
                count -= 1
                last = unstable[count]
                unstable[place[gene]] = last
                place[last] = place[gene]
                place[gene] = -1
    return steps, count == 0


@compiled(END(INSTRUCTIONS, PARTIAL, INTEGER, BITS, SCRATCH))
def walk_synchronously(
    network: Instructions, clamps: np.ndarray, max_steps: int, state: np.ndarray, scratch: Scratch
) -> tuple[int, bool]:
    """Move all genes that would change at once, until none would."""
    unstable, stack = scratch.unstable, scratch.stack
    steps = 0
    while True:
        count = 0
        for gene in range(len(state)):
            if clamps[gene] == FREE and value_of(gene, network, state, stack) != state[gene]:
                unstable[count] = gene
                count += 1
        if count == 0 or steps == max_steps:
            return steps, count == 0
        for i in range(count):
            state[unstable[i]] ^= 1
        steps += 1


@compiled(VOID(PARTIAL, PARTIAL, KEYS, BITS))
def draw_state(
    initial: np.ndarray, clamps: np.ndarray, stream: np.ndarray, state: np.ndarray
) -> None:
    """Fill the initial state: clamps first, then what is given, then a fair coin."""
    word = np.uint64(0)
    left = 0
    for gene in range(len(state)):
        value = clamps[gene] if clamps[gene] != FREE else initial[gene]
        if value == FREE:
            if left == 0:
                word = next_word(stream)
                left = 64
            value = 1 if word & _ONE else 0
            word >>= _ONE
            left -= 1
        state[gene] = value


@compiled(
    VOID(
        INTEGER, INSTRUCTIONS, PARTIAL_TABLE, PARTIAL_TABLE, INTEGER, INTEGER, KEY, INTEGER,
        INTEGER, BIT_TABLE, INTEGERS, MASK, SCRATCH,
    )
)  # fmt: skip
def walk_many(
    update: int,
    network: Instructions,
    initials: np.ndarray,
    clamps: np.ndarray,
    repeats: int,
    max_steps: int,
    seed: np.uint64,
    first: int,
    last: int,
    states: np.ndarray,
    steps: np.ndarray,
    reached: np.ndarray,
    scratch: Scratch,
) -> None:
    """Walk the runs ``first`` to ``last`` − 1, ``repeats`` a case, each with its own seed."""
    for run in range(first, last):
        clamped, state = clamps[run // repeats], states[run]
        seed_stream(run_seed(seed, run), scratch.stream)
        draw_state(initials[run // repeats], clamped, scratch.stream, state)
        if update == SYNCHRONOUS:
            steps[run], reached[run] = walk_synchronously(
                network, clamped, max_steps, state, scratch
            )
        else:
            steps[run], reached[run] = walk_asynchronously(
                network, clamped, max_steps, state, scratch
            )


class Walk(NamedTuple):
    """The end of a walk."""

    state: NDArray[np.uint8]  # the last state, in the order of the genes
    steps: int  # how many moves it took
    reached: bool  # whether the last state is a fixed point


class Walks(NamedTuple):
    """The ends of many walks: arrays cases × repeats (× genes)."""

    states: NDArray[np.uint8]
    steps: NDArray[np.int64]
    reached: NDArray[np.bool_]


class Dynamics:
    """A network, how it moves, and which of its genes cannot.

    Asynchronous: one of the genes that would change is drawn uniformly and moves to its
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
        self.clamps = known_values(network, clamps, "the clamps")
        self.instructions = compile_network(network)

    def walk(self, initial: Any, seed: int = 0, max_steps: int = MAX_STEPS) -> Walk:
        """One walk from a state in which every gene has a value.

        Parameters
        ----------
        initial : mapping, Series or array
            Gene → 0 or 1, or one value per gene, in their order.
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
            coin, again in every walk.
        repeats : int
            Walks from each.
        seed : int
            The walks depend on it and on nothing else: not on the number of workers.
        max_steps : int
            How long a walk goes on where it meets no fixed point.
        clamps : array cases × genes, or sequence of mappings or Series, optional
            For each case, genes that are held besides those of the dynamics.
        workers : int, optional
            Threads; by default one per core.

        Returns
        -------
        Walks
            One byte per gene and walk: 900,000 walks of 101 genes are 91 MB.

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
        clamped = np.tile(state_vector(self.network, self.clamps), (len(table), 1))
        if clamps is not None:
            own = state_table(self.network, clamps, "the clamps")
            if len(own) != len(table):
                raise InvalidSetting(
                    f"clamps must be given for each of the {len(table)} cases, got {len(own)}."
                )
            clamped = np.where(own == FREE, clamped, own)
        runs = len(table) * repeats
        states = np.empty((runs, len(self.network)), dtype=np.uint8)
        steps = np.empty(runs, dtype=np.int64)
        reached = np.empty(runs, dtype=np.bool_)
        key = np.uint64(checked_seed(seed))
        update = UPDATES.index(self.update)
        arguments = (update, self.instructions, table, clamped, repeats, max_steps, key)

        def part(first: int, last: int) -> None:
            unstable, place = np.empty((2, len(self.network)), dtype=np.int64)
            stack = np.empty(self.instructions.depth, dtype=np.int64)
            scratch = Scratch(unstable, place, stack, np.empty(4, dtype=np.uint64))
            walk_many(*arguments, first, last, states, steps, reached, scratch)

        threads = min(workers or os.cpu_count() or 1, runs)
        if threads == 1:
            part(0, runs)
        else:
            ends = np.linspace(0, runs, 1 + 4 * threads, dtype=np.int64).tolist()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(part, ends[:-1], ends[1:]))
        shape = (len(table), repeats)
        return Walks(states.reshape(*shape, -1), steps.reshape(shape), reached.reshape(shape))

    def images(self, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The values of all functions in each of many full states; held genes keep their values.

        Examples
        --------
        >>> dynamics = Dynamics(BooleanNetwork({"A": "B", "B": "!A"}))
        >>> dynamics.images(np.array([[0, 0], [1, 0]], dtype=np.uint8)).tolist()
        [[0, 1], [0, 0]]
        """
        states = np.array(states, dtype=np.uint8, order="C")
        images = np.empty_like(states)
        stack = np.empty(self.instructions.depth, dtype=np.int64)
        fill_images(self.instructions, states, images, stack)
        for gene, value in self.clamps.items():
            images[:, self.network.genes.index(gene)] = value
        return images


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
