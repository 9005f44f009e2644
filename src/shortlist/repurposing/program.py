"""A network as flat arrays, for compiled code: one short program a gene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist.repurposing.logic import Constant, Expression, Gene, Not, genes_of
from shortlist.repurposing.network import BooleanNetwork

# Instructions are (what, two numbers); they work on a stack.
PUSH_CONSTANT = 0  # value, —
PUSH_GENE = 1  # gene, 1 if negated
NEGATE = 2  # —, —
AT_LEAST = 3  # count, how many are taken off the stack


@dataclass(frozen=True)
class Program:
    """Functions as postfix instructions, and whom each gene concerns.

    Attributes
    ----------
    start : array of int
        The instructions of gene g are those from ``start[g]`` to ``start[g + 1]``.
    code : array of int, instructions × 3
        See the constants of this module.
    first_target : array of int
        As ``start``, for ``targets``.
    targets : array of int
        The gene itself, then all others whose functions name it, in order: those to look at when
        it has moved.
    depth : int
        How much stack the functions need.
    """

    start: NDArray[np.int64]
    code: NDArray[np.int64]
    first_target: NDArray[np.int64]
    targets: NDArray[np.int64]
    depth: int


def compile_network(network: BooleanNetwork) -> Program:
    """Translate every function.

    Examples
    --------
    >>> program = compile_network(BooleanNetwork({"A": "A & !B", "B": "1"}))
    >>> program.code.tolist()
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
    return Program(
        np.array(start, dtype=np.int64),
        np.array(code, dtype=np.int64),
        np.cumsum([0, *map(len, targets.values())], dtype=np.int64),
        np.array([t for listed in targets.values() for t in listed], dtype=np.int64),
        depth,
    )


def _emit(expression: Expression, place: dict[str, int], code: list[tuple[int, int, int]]) -> int:
    """Append the instructions of an expression; how much stack they need."""
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
