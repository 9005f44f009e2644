"""States of a network as vectors: 0, 1, and −1 for a gene that has no value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.network import BooleanNetwork

FREE = -1
UPDATES = ("asynchronous", "synchronous")


def state_vector(network: BooleanNetwork, values: Any, what: str = "the state") -> NDArray[np.int8]:
    """A vector in the order of the genes, free (−1) where nothing is said of one.

    ``values`` are gene → 0 or 1, where NaN, None or absence leaves a gene free; or one value a
    gene, in their order, where NaN or −1 does; or nothing, which leaves all free. An error calls
    them ``what``.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "0"})
    >>> state_vector(network, {"B": 1, "C": 0}).tolist()
    [-1, 1, 0]
    """
    vector = np.full(len(network), FREE, dtype=np.int8)
    if values is None:
        return vector
    if hasattr(values, "items"):
        by_gene = dict(values.items())
        network.require(by_gene, f"in {what}")
        place = {gene: i for i, gene in enumerate(network.genes)}
        for gene, value in by_gene.items():
            vector[place[gene]] = _bit(value, gene, what)
        return vector
    listed = np.asarray(values)
    if listed.shape != vector.shape:
        raise InvalidNetwork(
            f"{what} must have one value for each of the {len(network)} genes, got an array of "
            f"shape {listed.shape}."
        )
    for i, value in enumerate(listed.tolist()):
        vector[i] = FREE if value == FREE else _bit(value, network.genes[i], what)
    return vector


def state_table(network: BooleanNetwork, cases: Any, what: str = "the state") -> NDArray[np.int8]:
    """Many states, one per row: an array cases × genes, or several of what ``state_vector`` takes.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A"})
    >>> state_table(network, [{"A": 1}, {"B": 0}]).tolist()
    [[1, -1], [-1, 0]]
    """
    if isinstance(cases, np.ndarray) and cases.ndim == 2 and cases.dtype.kind in "iubf":
        known = np.where(np.isnan(cases), FREE, cases) if cases.dtype.kind == "f" else cases
        allowed = (known == FREE) | (known == 0) | (known == 1)  # faster than np.isin
        if known.size and known.shape[1] == len(network) and allowed.all():
            return np.array(known, dtype=np.int8, order="C")
    if hasattr(cases, "items") or not isinstance(cases, Iterable):
        raise InvalidNetwork(
            f"expected several cases of {what}, as an array of cases × {len(network)} genes or a "
            f"list of mappings, got {type(cases).__name__}."
        )
    rows = [state_vector(network, case, what) for case in cases]
    if not rows:
        raise InvalidNetwork(f"expected at least one case of {what}, got none.")
    return np.stack(rows)


def full_state(network: BooleanNetwork, values: Any, what: str = "the state") -> NDArray[np.int8]:
    """A vector in the order of the genes; raise if one of them has no value."""
    vector = state_vector(network, values, what)
    free = np.flatnonzero(vector == FREE)
    if free.size:
        raise InvalidNetwork(
            f"{what} leaves {free.size} genes free, {network.genes[free[0]]} among them: give each "
            "a value, or say how to draw them with predict_phenotype."
        )
    return vector


def known_values(network: BooleanNetwork, values: Any, what: str = "the state") -> dict[str, int]:
    """The genes to which ``state_vector`` gives a value, with that value."""
    vector = state_vector(network, values, what)
    return {gene: int(v) for gene, v in zip(network.genes, vector, strict=True) if v != FREE}


def _bit(value: Any, gene: str, what: str) -> int:
    return FREE if value is None or value != value else checked_bit(value, gene, what)  # NaN


def checked_bit(value: Any, gene: str, what: str) -> int:
    """The value of a gene as 0 or 1; raise if it is neither."""
    if isinstance(value, str) or value not in (0, 1):
        raise InvalidNetwork(
            f"gene {gene} must be 0, 1 or missing in {what}, got {value!r}: binarize it first."
        )
    return int(value)
