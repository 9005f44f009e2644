"""Protein–protein interactions from the flat files of STRING."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import NamedTuple

from shortlist.errors import InvalidNetwork, InvalidSetting
from shortlist.repurposing.formats.text import at_line
from shortlist.repurposing.readers.text import open_text

PAIRS = (("protein1", "protein2"), ("node1", "node2"))
SCORE = "combined_score"
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
    known = None if names is None else _read_names(names)
    found: dict[tuple[str, str], int] = {}
    with open_text(path) as file:
        header = file.readline()
        mark = "\t" if "\t" in header else None  # links files have single spaces
        titles = [title.strip() for title in header.lstrip("#").split(mark)]
        first, second, last = _columns(titles, str(path))
        for number, line in enumerate(file, start=2):
            cells = line.rstrip("\r\n").split(mark)
            if not line.strip():
                continue
            if len(cells) != len(titles):
                raise at_line(
                    str(path), number, f"expected {len(titles)} cells, found {len(cells)}."
                )
            one, other = cells[first].strip(), cells[second].strip()
            if known is not None:
                one, other = known.get(one, one), known.get(other, other)
            if one == other or (wanted is not None and not (one in wanted and other in wanted)):
                continue
            score = _score(cells[last], str(path), number)
            if score >= minimum:
                pair = (other, one) if (other, one) in found else (one, other)
                found[pair] = max(score, found.get(pair, 0))
    if not found:
        raise InvalidNetwork(
            f"{path} has no interaction with a score of {minimum} or more"
            + (f" between two of the {len(wanted)} genes" if wanted is not None else "")
            + ": lower minimum, or check that both name genes the same way (links files need "
            "names=, the protein.info file, to have gene names)."
        )
    return [Interaction(*pair, score) for pair, score in found.items()]


def _columns(titles: Sequence[str], source: str) -> tuple[int, int, int]:
    pair = next((p for p in PAIRS if p[0] in titles and p[1] in titles), None)
    if pair is None or SCORE not in titles:
        raise at_line(
            source,
            1,
            "expected the columns protein1, protein2 and combined_score (a links file of STRING) "
            f"or node1, node2 and combined_score (an export), found {', '.join(titles)[:80]!r}.",
        )
    return titles.index(pair[0]), titles.index(pair[1]), titles.index(SCORE)


def _score(cell: str, source: str, line: int) -> int:
    """Links files have whole numbers up to 1000, exports have numbers up to 1 with a point."""
    try:
        score = float(cell) * (1000 if "." in cell else 1)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1000:
        raise at_line(
            source, line, f"expected a score from 0 to 1000, or to 1.0, found {cell.strip()!r}."
        )
    return round(score)


def _read_names(path: str | PathLike[str]) -> dict[str, str]:
    """Protein → gene, from a ``protein.info`` file."""
    with open_text(path) as file:
        titles = [title.strip() for title in file.readline().lstrip("#").split("\t")]
        keys = ("string_protein_id", "protein_external_id")  # the second until version 11.0
        key = next((title for title in keys if title in titles), None)
        if key is None or "preferred_name" not in titles:
            raise at_line(
                str(path),
                1,
                "expected the columns string_protein_id and preferred_name (protein.info of "
                f"STRING), found {', '.join(titles)[:80]!r}.",
            )
        one, other = titles.index(key), titles.index("preferred_name")
        names = {}
        for number, line in enumerate(file, start=2):
            cells = line.rstrip("\r\n").split("\t")
            if not line.strip():
                continue
            if len(cells) <= max(one, other):
                raise at_line(
                    str(path), number, f"expected {len(titles)} cells, found {len(cells)}."
                )
            names[cells[one].strip()] = cells[other].strip()
    return names
