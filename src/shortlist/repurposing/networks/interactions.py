"""Interactions from STRING, signed by correlation: the candidate networks of inference.

The paper takes unsigned, undirected interactions from STRING, gives each the sign of the Pearson
correlation of its two genes, and leaves the direction to inference.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd

from shortlist.errors import InvalidExpression, InvalidNetwork, InvalidSetting
from shortlist.printable import first_names
from shortlist.repurposing.expression.profiles import check_expression
from shortlist.repurposing.expression.text import open_text
from shortlist.repurposing.networks.abstract_network import AbstractNetwork, PossibleEdge
from shortlist.repurposing.networks.formats.text import at_line
from shortlist.repurposing.networks.network import gene_components

SCORE = "combined_score"
NO_CORRELATION = 1e-12  # a correlation this small has the sign of its rounding error
MEDIUM_CONFIDENCE = 400


class Interaction(NamedTuple):
    """Two genes whose proteins interact, and how sure STRING is: 0 to 1000."""

    first: str
    second: str
    score: int


def read_string(
    path: str | PathLike[str],
    *,
    genes: Iterable[str] | None = None,
    names: str | PathLike[str] | None = None,
    minimum: int = MEDIUM_CONFIDENCE,
) -> list[Interaction]:
    r"""Interactions from a flat file of STRING.

    Parameters
    ----------
    path : path
        ``protein.links`` (also ``detailed`` or ``full``), or a table exported from STRING's pages;
        compressed by gzip or not.
    genes : iterable of str, optional
        Keep interactions between these.
    names : path, optional
        ``protein.info``, which names the genes of the proteins: links files have identifiers such
        as ``9606.ENSP00000262238`` alone.
    minimum : int
        Keep combined scores of at least this, of 1000; by default STRING's medium confidence. The
        paper does not say which it took.

    Returns
    -------
    list of Interaction
        Each pair once, with its highest score, in the file's order.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "links.txt"
    ...     _ = path.write_text("protein1 protein2 combined_score\nA B 900\nB A 900\nA C 150\n")
    ...     read_string(path)
    [Interaction(first='A', second='B', score=900)]
    """
    if not isinstance(minimum, int) or not 0 <= minimum <= 1000:
        raise InvalidSetting(f"minimum must be a whole score from 0 to 1000, got {minimum}.")
    wanted = None if genes is None else set(genes)
    known: dict[str, str] = {}
    if names is not None:
        protein_info = _rows(
            names,
            "string_protein_id and preferred_name (protein.info of STRING)",
            # The second until version 11.0.
            [(key, "preferred_name") for key in ("string_protein_id", "protein_external_id")],
            spaces=False,
        )
        known = {protein: gene for _, (protein, gene) in protein_info}
    scores: dict[tuple[str, str], int] = {}
    rows = _rows(
        path,
        "protein1, protein2 and combined_score (a links file of STRING) or node1, node2 and "
        "combined_score (an export)",
        [("protein1", "protein2", SCORE), ("node1", "node2", SCORE)],
        spaces=True,
    )
    for number, (one, other, cell) in rows:
        one, other = known.get(one, one), known.get(other, other)
        if one == other or (wanted is not None and not (one in wanted and other in wanted)):
            continue
        score = _score(cell, str(path), number)
        if score >= minimum:
            pair = (other, one) if (other, one) in scores else (one, other)
            scores[pair] = max(score, scores.get(pair, 0))
    if not scores:
        raise InvalidNetwork(
            f"{path} has no interaction with a score of {minimum} or more"
            + (f" between two of the {len(wanted)} genes" if wanted is not None else "")
            + ": lower minimum, or check that both name genes the same way (links files need "
            "names=, the protein.info file, to have gene names)."
        )
    return [Interaction(*pair, score) for pair, score in scores.items()]


def _rows(
    path: str | PathLike[str], expected: str, choices: list[tuple[str, ...]], *, spaces: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line and its cells of the first choice of columns that is there."""
    with open_text(path) as file:
        header = file.readline()
        mark = None if spaces and "\t" not in header else "\t"
        titles = [title.strip() for title in header.lstrip("#").split(mark)]
        chosen = next((choice for choice in choices if set(choice) <= set(titles)), None)
        if chosen is None:
            first = ", ".join(titles)[:80]
            raise at_line(str(path), 1, f"expected the columns {expected}, found {first!r}.")
        places = [titles.index(title) for title in chosen]
        for number, line in enumerate(file, start=2):
            if not line.strip():
                continue
            cells = line.rstrip("\r\n").split(mark)
            if len(cells) != len(titles) and (spaces or len(cells) <= max(places)):
                wrong = f"expected {len(titles)} cells, found {len(cells)}."
                raise at_line(str(path), number, wrong)
            yield number, [cells[place].strip() for place in places]


def _score(cell: str, source: str, line: int) -> int:
    """A score from 0 to 1000; exports write it as a number up to 1, with a point."""
    try:
        score = float(cell) * (1000 if "." in cell else 1)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1000:
        raise at_line(source, line, f"expected a score from 0 to 1000, or to 1.0, found {cell!r}.")
    return round(score)


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
    standard = {}  # gene → its values with mean 0 and norm 1, unless they are all the same
    if len(used):
        check_expression(used)
        values = used.to_numpy(dtype=float)
        centred = values - values.mean(axis=1, keepdims=True)
        changing = np.flatnonzero(np.ptp(values, axis=1) > 0).tolist()
        standard = {used.index[i]: centred[i] / np.linalg.norm(centred[i]) for i in changing}
    signed = []
    for first, second, _ in listed:
        if first in standard and second in standard:
            correlation = float(np.clip(standard[first] @ standard[second], -1.0, 1.0))
            if abs(correlation) > NO_CORRELATION:
                signed.append(SignedInteraction(first, second, correlation))
    if listed and not signed:
        raise InvalidExpression(
            f"none of the {len(listed)} interactions gets a sign: their genes are not in the "
            "expression data, or do not vary there; check that both name genes the same way."
        )
    if len(signed) < len(listed):
        missing = [gene for gene in genes if gene not in standard]
        named = f" ({first_names(missing, 3)})" if missing else ""
        warnings.warn(
            f"{len(listed) - len(signed)} of {len(listed)} interactions get no sign and are left "
            f"out: {len(missing)} of their genes{named} are not in the expression data or do not "
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
    """The candidate that inference starts from: every interaction as an optional edge, either way.

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
    kept = set(itertools.chain(*gene_components(genes, edges, marks or None)))
    allowed = {gene: tuple(rules) for gene in genes if gene in kept}
    return AbstractNetwork(allowed, tuple(e for e in edges if e.source in allowed), marks)
