"""Interactions signed by correlation: the candidate networks that inference starts from.

The paper takes unsigned, undirected interactions from STRING, gives each the sign of the Pearson
correlation of its two genes, and leaves the direction to inference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression, InvalidNetwork
from shortlist.repurposing.abstract_network import AbstractNetwork, PossibleEdge
from shortlist.repurposing.expression import check_expression
from shortlist.repurposing.string_database import Interaction

ROUNDING = 1e-12  # a correlation this small has the sign of its rounding error


class UnsignedInteractions(UserWarning):
    """Interactions were left out because no correlation gives them a sign."""


class SignedInteraction(NamedTuple):
    """Two genes and the correlation of their expression, which is not zero."""

    first: str
    second: str
    correlation: float


def sign_interactions(
    interactions: Iterable[Interaction], expression: pd.DataFrame
) -> list[SignedInteraction]:
    """Interactions with the Pearson correlation of their genes, whose sign they take.

    Parameters
    ----------
    interactions : iterable of Interaction
        As ``read_string`` gives them.
    expression : DataFrame
        Genes × samples, at least three samples; in the paper, the hippocampus in GSE46706.

    Returns
    -------
    list of SignedInteraction
        Without those that get no sign, because a gene is not in the data or never changes there;
        an ``UnsignedInteractions`` warning says how many.

    Examples
    --------
    >>> data = pd.DataFrame({"A": [1, 2, 3], "B": [2, 4, 7], "C": [3, 2, 1]}, dtype=float).T
    >>> pairs = [Interaction("A", "B", 900), Interaction("A", "C", 900)]
    >>> [(first, second, round(r, 2)) for first, second, r in sign_interactions(pairs, data)]
    [('A', 'B', 0.99), ('A', 'C', -1.0)]
    """
    listed = list(interactions)
    if expression.shape[1] < 3:
        raise InvalidExpression(
            f"a correlation needs at least 3 samples, got {expression.shape[1]}: with 2 it is "
            "always 1 or -1."
        )
    genes = dict.fromkeys(gene for pair in listed for gene in pair[:2])
    used = expression.loc[[gene for gene in expression.index if gene in genes]]
    standard = _standard_profiles(used)
    signed = []
    for first, second, _ in listed:
        if first in standard and second in standard:
            correlation = float(np.clip(standard[first] @ standard[second], -1.0, 1.0))
            if abs(correlation) > ROUNDING:
                signed.append(SignedInteraction(first, second, correlation))
    if listed and not signed:
        raise InvalidExpression(
            f"none of the {len(listed)} interactions gets a sign: their genes are not in the "
            "expression data, or do not vary there; check that both name genes the same way."
        )
    if len(signed) < len(listed):
        missing = [gene for gene in genes if gene not in standard]
        few = f" ({', '.join(missing[:3])}{' …' if len(missing) > 3 else ''})" if missing else ""
        warnings.warn(
            f"{len(listed) - len(signed)} of {len(listed)} interactions get no sign and are left "
            f"out: {len(missing)} of their genes{few} are not in the expression data or do not "
            "vary there, or the correlation is zero.",
            UnsignedInteractions,
            stacklevel=2,
        )
    return signed


def candidate_network(
    interactions: Iterable[SignedInteraction],
    *,
    perturbations: Mapping[str, str] | None = None,
    rules: Sequence[int] = range(18),
) -> AbstractNetwork:
    """What inference starts from: every interaction as an optional edge, either way.

    Parameters
    ----------
    interactions : iterable of SignedInteraction
        As ``sign_interactions`` gives them.
    perturbations : mapping of str to str, optional
        Perturbed gene → ``-`` (knocked down), ``+`` (over-expressed) or both. The components with
        none of these are left out, since no experiment says anything of them.
    rules : sequence of int
        The regulation rules that every gene may have.

    Examples
    --------
    >>> pairs = [SignedInteraction("A", "B", 0.8), SignedInteraction("C", "D", -0.3)]
    >>> candidate = candidate_network(pairs, perturbations={"C": "-"})
    >>> [edge[:3] for edge in candidate.edges]
    [('C', 'D', -1), ('D', 'C', -1)]
    """
    edges = [
        PossibleEdge(source, target, 1 if correlation > 0 else -1, True)
        for first, second, correlation in interactions
        for source, target in ((first, second), (second, first))
    ]
    genes = dict.fromkeys(gene for edge in edges for gene in edge[:2])
    marks = dict(perturbations or {})
    for gene in marks:
        if gene not in genes:
            raise InvalidNetwork(
                f"the perturbed gene {gene!r} has no interaction with a sign, so nothing can be "
                "learnt from its experiment: leave it out, or lower the minimum score."
            )
    candidate = AbstractNetwork({gene: tuple(rules) for gene in genes}, tuple(edges), marks)
    if not marks:
        return candidate
    kept = {gene for component in candidate.components(marks) for gene in component}
    return AbstractNetwork(
        {gene: own for gene, own in candidate.rules.items() if gene in kept},
        tuple(edge for edge in edges if edge.source in kept),
        marks,
    )


def _standard_profiles(expression: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Gene → its values with mean 0 and norm 1; genes that never change have none."""
    if not len(expression):
        return {}
    check_expression(expression)
    values = expression.to_numpy(dtype=float)
    centred = values - values.mean(axis=1, keepdims=True)
    return {
        gene: row / np.linalg.norm(row)
        for gene, row, changes in zip(
            expression.index, centred, np.ptp(values, axis=1) > 0, strict=True
        )
        if changes
    }
