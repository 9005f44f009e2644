"""The dynamics of a Boolean network: walks, one or very many, to where nothing changes.

Many walks go in step, a column each of arrays genes × walks, so that a gene's function is a few
operations on rows; few walks go one after the other, over the genes that may have changed. Both take
the same draws, so a walk is the same either way.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.engine.seeds import Words, run_seeds, words
from shortlist.errors import InvalidSetting, unknown_name
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

MAX_STEPS = 10_000
TOGETHER = 8192  # walks in step: their arrays stay near the processor
_ONE, _HALF = np.uint64(1), np.uint64(32)
_EIGHT = 8  # genes numbered at a time

Bits = NDArray[np.bool_]
Counts = NDArray[np.unsignedinteger[Any]]
Ends = tuple[Bits, NDArray[np.int64], Bits]  # last states, steps, whether they are fixed points
# Takes a value for each gene, True or False or a row of them, and returns one.
Function = Callable[[Sequence[Any]], Any]


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


def function_of(expression: Expression, place: Mapping[str, int]) -> Function:
    """The function of an expression: of one value for each gene, or of a row of them.

    Examples
    --------
    >>> from shortlist.repurposing.networks.logic import parse
    >>> function = function_of(parse("A & !B"), {"A": 0, "B": 1})
    >>> function([True, False]), function(np.array([[True, True], [True, False]])).tolist()
    (True, [False, True])
    """
    if isinstance(expression, Constant):
        value = bool(expression.value)
        return lambda values: value
    if isinstance(expression, Gene):
        return operator.itemgetter(place[expression.name])
    if isinstance(expression, Not):
        part = function_of(expression.part, place)
        return lambda values: part(values) ^ True
    count, parts = expression.count, [function_of(part, place) for part in expression.parts]
    if 1 < count < len(parts):
        return lambda values: sum(part(values) for part in parts) >= count
    join = operator.or_ if count == 1 else operator.and_
    return reduce(lambda one, other: lambda values: join(one(values), other(values)), parts)


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
        place = {gene: i for i, gene in enumerate(network.genes)}
        self._functions = [function_of(each, place) for each in network.functions.values()]
        # The genes to look at again when one has moved: itself, and those whose functions name it.
        self._targets = [{i} for i in range(len(network))]
        for i, expression in enumerate(network.functions.values()):
            for name in genes_of(expression):
                self._targets[place[name]].add(i)

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
        walks = self.simulate(state[np.newaxis], seed=seed, max_steps=max_steps)
        return Walk(walks.states[0, 0], int(walks.steps[0, 0]), bool(walks.reached[0, 0]))

    def simulate(
        self,
        initials: Any,
        *,
        repeats: int = 1,
        seed: int = 0,
        max_steps: int = MAX_STEPS,
        clamps: Any = None,
    ) -> Walks:
        """Many walks.

        Parameters
        ----------
        initials : array cases × genes, or sequence of mappings or Series
            The initial state of each case; a gene that is missing, NaN or −1 is drawn by a fair
            coin, again in every walk.
        repeats : int
            Walks from each.
        seed : int
            A walk depends on it and on the walk's number, not on how many others there are.
        max_steps : int
            How long a walk goes on where it meets no fixed point.
        clamps : array cases × genes, or sequence of mappings or Series, optional
            For each case, genes that are held besides those of the dynamics.

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
        table = state_table(self.network, initials, "the initial state")
        clamped = np.tile(state_vector(self.network, self.clamps), (len(table), 1))
        if clamps is not None:
            own = state_table(self.network, clamps, "the clamps")
            if len(own) != len(table):
                raise InvalidSetting(
                    f"clamps must be given for each of the {len(table)} cases, got {len(own)}."
                )
            clamped = np.where(own == FREE, clamped, own)
        free = clamped == FREE
        fixed = np.where(free, table, clamped)
        runs = len(table) * repeats
        seeds = run_seeds(checked_seed(seed), runs)
        settle = self._in_step
        if self.update == "asynchronous" and runs <= len(self.network):
            settle = self._one_by_one
        ends = []
        for first in range(0, runs, TOGETHER):
            case = np.arange(first, min(first + TOGETHER, runs)) // repeats
            some = seeds[first : first + TOGETHER]
            ends.append(settle(_drawn(fixed[case], some), free[case], some, max_steps))
        states, steps, reached = (np.concatenate(part) for part in zip(*ends, strict=True))
        shape = (len(table), repeats)
        return Walks(
            states.view(np.uint8).reshape(*shape, -1), steps.reshape(shape), reached.reshape(shape)
        )

    def _one_by_one(self, states: Bits, free: Bits, seeds: Words, max_steps: int) -> Ends:
        ends = [
            self._alone(state.tolist(), movable.tolist(), seed, max_steps)
            for state, movable, seed in zip(states, free, seeds, strict=True)
        ]
        lasts, steps, reached = zip(*ends, strict=True)
        return np.array(lasts), np.array(steps), np.array(reached)

    def _alone(
        self, state: list[bool], free: list[bool], seed: np.uint64, max_steps: int
    ) -> tuple[list[bool], int, bool]:
        """Walk once: after a move, look only at the genes that it may concern."""
        functions, stream = self._functions, _stream(seed, _words_of(len(state)))
        changing = [g for g, f in enumerate(functions) if free[g] and f(state) != state[g]]
        steps = 0
        while changing and steps < max_steps:
            moved = changing[(next(stream) >> 32) * len(changing) >> 32]
            state[moved] = not state[moved]
            steps += 1
            for gene in self._targets[moved]:
                place = bisect_left(changing, gene)
                listed = place < len(changing) and changing[place] == gene
                if listed == (free[gene] and functions[gene](state) != state[gene]):
                    continue
                if listed:
                    del changing[place]
                else:
                    changing.insert(place, gene)
        return state, steps, not changing

    def _in_step(self, states: Bits, free: Bits, seeds: Words, max_steps: int) -> Ends:
        """Walk all at once, a column each; whenever half have ended, go on with the others."""
        genes, eights = len(self.network), -(-len(self.network) // _EIGHT)
        steps, reached = np.empty(len(states), np.int64), np.empty(len(states), np.bool_)
        step, walks, held = 0, np.arange(len(states)), not free.all()
        state = np.zeros((eights * _EIGHT, len(states)), np.bool_)
        state[:genes], free = states.T, free.T.copy()
        while True:
            taken, changing, chosen = np.full(len(walks), step), np.zeros_like(state), state.copy()
            rank = np.empty((eights, _EIGHT, len(walks)), np.min_scalar_type(2 * genes))
            last, sums = rank[:, -1], rank[:, -1].copy()
            rows, changes = list(state[:genes]), list(changing[:genes])
            while True:
                for function, row, change in zip(self._functions, rows, changes, strict=True):
                    np.not_equal(function(rows), row, out=change)
                if held:
                    changing[:genes] &= free
                _count(changing.view(np.uint8).reshape(rank.shape), rank, sums)
                going = sums[-1] > 0
                if step == max_steps or 2 * np.count_nonzero(going) <= len(walks):
                    break
                if self.update == "asynchronous":
                    # The gene of a number drawn for each walk, as it counts in its eight.
                    word = words(seeds, _words_of(genes) + step, 1)[0]
                    number = (((word >> _HALF) * sums[-1] >> _HALF) + _ONE).astype(rank.dtype)
                    number_in_eight = (number + last - sums)[:, np.newaxis]
                    np.equal(rank, number_in_eight, out=chosen.reshape(rank.shape))
                    changing &= chosen
                state ^= changing
                taken += going
                step += 1
            ended = ~going | (step == max_steps)
            there = walks[ended]
            states[there], steps[there] = state[:genes, ended].T, taken[ended]
            reached[there] = ~going[ended]
            if ended.all():
                return states, steps, reached
            on = np.flatnonzero(~ended)
            walks, seeds, state, free = walks[on], seeds[on], state.take(on, 1), free.take(on, 1)

    def images(self, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The values of all functions in each of many full states; held genes keep their values.

        Examples
        --------
        >>> dynamics = Dynamics(BooleanNetwork({"A": "B", "B": "!A"}))
        >>> dynamics.images(np.array([[0, 0], [1, 0]], dtype=np.uint8)).tolist()
        [[0, 1], [0, 0]]
        """
        rows = list(np.array(states, dtype=np.bool_).T.copy())
        images = np.empty((len(rows), len(states)), dtype=np.uint8)
        for image, gene, function in zip(images, self.network.genes, self._functions, strict=True):
            image[:] = self.clamps[gene] if gene in self.clamps else function(rows)
        return images.T.copy()


def _count(changing: Counts, rank: Counts, sums: Counts) -> None:
    """Number the genes that would change, within each eight of genes, and sum up the eights."""
    rank[:, 0] = changing[:, 0]
    for i in range(1, _EIGHT):
        np.add(rank[:, i - 1], changing[:, i], out=rank[:, i])
    sums[0] = rank[0, -1]
    for before, own, here in zip(sums, rank[1:, -1], sums[1:], strict=False):
        np.add(before, own, out=here)


def _words_of(genes: int) -> int:
    """How many words a walk's start takes: it has a bit for each gene."""
    return -(-genes // 64)


def _drawn(table: NDArray[np.int8], seeds: Words) -> Bits:
    """States with a fair coin's value for each free gene."""
    drawn = words(seeds, 0, _words_of(table.shape[1])).T.astype("<u8", order="C").view(np.uint8)
    bits = np.unpackbits(drawn, axis=1, count=table.shape[1], bitorder="little")
    return np.where(table == FREE, bits, table).astype(np.bool_)


def _stream(seed: np.uint64, first: int) -> Iterator[int]:
    """Yield a walk's words from ``first`` on."""
    for number in itertools.count(first, 64):
        yield from words(np.array([seed]), number, 64)[:, 0].tolist()


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
