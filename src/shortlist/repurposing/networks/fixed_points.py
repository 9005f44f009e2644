"""Fixed points by answer-set programming, through clingo (the extra ``networks``).

Parts of a network that do not depend on each other are solved one by one; the fixed points of the
whole are all combinations of theirs. The answers are sets: none of them is "the" answer because a
solver came upon it first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidSetting
from shortlist.repurposing.networks.logic import Constant, Expression, Gene, Not
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import known_values

LIMIT = 1_000_000

Part = tuple[tuple[str, ...], NDArray[np.uint8]]  # genes, and the fixed points of their part


def all_fixed_points(
    network: BooleanNetwork, consistent_with: Any = None, *, limit: int = LIMIT
) -> NDArray[np.uint8]:
    """All states in which no gene would change.

    Parameters
    ----------
    network : BooleanNetwork
        For a knocked-down or over-expressed gene pass ``network.clamped(...)``.
    consistent_with : mapping, Series or array, optional
        Keep the fixed points with these values; missing or NaN asks for nothing.
    limit : int
        Raise if there are more.

    Returns
    -------
    array of 0 and 1, fixed points × genes
        In ascending order of the rows.

    Examples
    --------
    >>> all_fixed_points(BooleanNetwork({"A": "B", "B": "A", "C": "!A"})).tolist()
    [[0, 0, 1], [1, 1, 0]]
    """
    wanted = known_values(network, consistent_with, "the values to be consistent with")
    return _combined(network, _fixed_parts(network, wanted, limit), limit)


def count_fixed_points(
    network: BooleanNetwork, consistent_with: Any = None, *, limit: int = LIMIT
) -> int:
    """The number of fixed points, even if too many to list; ``limit`` holds for each part.

    Examples
    --------
    >>> count_fixed_points(BooleanNetwork({f"input_{i}": f"input_{i}" for i in range(100)}))
    1267650600228229401496703205376
    """
    wanted = known_values(network, consistent_with, "the values to be consistent with")
    return math.prod(len(states) for _, states in _fixed_parts(network, wanted, limit))


def reachable_fixed_points(
    network: BooleanNetwork, initial: Any, *, steps: int | None = None, limit: int = LIMIT
) -> NDArray[np.uint8]:
    """The fixed points that some asynchronous walk from ``initial`` ends in.

    Parameters
    ----------
    network : BooleanNetwork
        For a knocked-down or over-expressed gene pass ``network.clamped(...)``, and its value in
        ``initial``.
    initial : mapping, Series or array
        The initial state; a gene that is missing or NaN may start either way.
    steps : int, optional
        How many moves a walk may make within each part of the network that depends on no other;
        by default twice as many as the part has genes. Longer walks may reach more.
    limit : int
        Raise if there are more.

    Returns
    -------
    array of 0 and 1, fixed points × genes
        In ascending order of the rows.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "A | C"})
    >>> reachable_fixed_points(network, {"A": 0, "C": 1}).tolist()
    [[0, 0, 1], [1, 1, 1]]
    """
    if steps is not None and steps < 0:
        raise InvalidSetting(f"steps must be 0 or more, got {steps}.")
    known = known_values(network, initial, "the initial state")
    parts = [
        (part.genes, _walk_ends(part, known, 2 * len(part) if steps is None else steps, limit))
        for part in network.parts()
    ]
    return _combined(network, parts, limit)


def _combined(network: BooleanNetwork, parts: list[Part], limit: int) -> NDArray[np.uint8]:
    count = math.prod(len(states) for _, states in parts)
    if count > limit:
        raise InvalidSetting(
            f"there are {count:,} such fixed points, more than limit={limit:,}: give more genes a "
            "value, or raise limit."
        )
    points = np.empty((count, len(network)), dtype=np.uint8)
    place = {gene: i for i, gene in enumerate(network.genes)}
    choices = list(itertools.product(*(range(len(states)) for _, states in parts)))
    chosen = np.array(choices, dtype=np.int64).reshape(count, len(parts))
    for i, (genes, states) in enumerate(parts):
        points[:, [place[gene] for gene in genes]] = states[chosen[:, i]]
    return points[np.lexsort(points.T[::-1])]


def _fixed_parts(network: BooleanNetwork, wanted: Mapping[str, int], limit: int) -> list[Part]:
    """The fixed points of the constants, taken as one part, and of each module."""
    constants, modules = network.split()
    settled = np.array([list(constants.values())], dtype=np.uint8)
    agree = all(wanted.get(gene, value) == value for gene, value in constants.items())
    parts: list[Part] = [(tuple(constants), settled if agree else settled[:0])]
    for module in modules:
        control, backend = _open(limit)
        with backend:
            atoms = _free_state(backend, module, wanted)
            _forbid_change(backend, module, atoms)
        parts.append((module.genes, _solutions(control, atoms, limit)))
    return parts


def _walk_ends(
    part: BooleanNetwork, initial: Mapping[str, int], steps: int, limit: int
) -> NDArray[np.uint8]:
    """The fixed points at the end of at most ``steps`` moves."""
    control, backend = _open(limit, "--project=project")
    with backend:
        state = _free_state(backend, part, initial)
        moving_before = None
        for _ in range(steps):
            moves = _free_state(backend, part, {})
            after = {gene: backend.add_atom() for gene in part.genes}
            moving = backend.add_atom()
            backend.add_weight_rule([], 2, [(move, 1) for move in moves.values()])
            for gene, function in part.functions.items():
                value = _literal(backend, function, state)
                backend.add_rule([moving], [moves[gene]])
                backend.add_rule([after[gene]], [moves[gene], value])
                backend.add_rule([after[gene]], [-moves[gene], state[gene]])
            if moving_before is not None:  # a walk that stays put has arrived
                backend.add_rule([], [moving, -moving_before])
            moving_before, state = moving, after
        _forbid_change(backend, part, state)
        backend.add_project(list(state.values()))
    return _solutions(control, state, limit)


def _open(limit: int, *options: str) -> tuple[Any, Any]:
    control = import_clingo("fixed points need").Control([str(limit + 1), *options])
    return control, control.backend()


def import_clingo(who_needs: str) -> Any:
    """The module clingo, or an error that says how to install it."""
    try:
        import clingo
    except ImportError:
        raise ImportError(f"{who_needs} clingo: pip install 'shortlist[networks]'.") from None
    return clingo


def _free_state(backend: Any, network: BooleanNetwork, values: Mapping[str, int]) -> dict[str, int]:
    """An atom for each gene, true or false by choice unless ``values`` has the gene."""
    atoms = {gene: backend.add_atom() for gene in network.genes}
    backend.add_rule(list(atoms.values()), choice=True)
    for gene, atom in atoms.items():
        if gene in values:
            backend.add_rule([], [-atom if values[gene] else atom])
    return atoms


def _forbid_change(backend: Any, network: BooleanNetwork, atoms: Mapping[str, int]) -> None:
    for gene, function in network.functions.items():
        value = _literal(backend, function, atoms)
        backend.add_rule([], [atoms[gene], -value])
        backend.add_rule([], [-atoms[gene], value])


def _literal(backend: Any, expression: Expression, atoms: Mapping[str, int]) -> int:
    """A literal that holds exactly where the expression does; its parts get atoms of their own."""
    if isinstance(expression, Gene):
        return atoms[expression.name]
    if isinstance(expression, Not):
        return -_literal(backend, expression.part, atoms)
    head = int(backend.add_atom())
    if isinstance(expression, Constant):
        if expression.value:
            backend.add_rule([head])
        return head
    weighted = [(_literal(backend, part, atoms), 1) for part in expression.parts]
    backend.add_weight_rule([head], expression.count, weighted)
    return head


def _solutions(control: Any, atoms: Mapping[str, int], limit: int) -> NDArray[np.uint8]:
    with control.solve(yield_=True) as models:
        states = [[model.is_true(atom) for atom in atoms.values()] for model in models]
    if len(states) > limit:
        raise InvalidSetting(
            f"one part of the network, of {len(atoms)} genes, has more than limit={limit:,} such "
            "fixed points: give more genes a value, or raise limit."
        )
    return np.array(states, dtype=np.uint8).reshape(-1, len(atoms))
