"""GCT 1.2 and 1.3, the Broad Institute's text format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike

from shortlist.errors import InvalidExpression
from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.text import Rows, open_text

VERSIONS = {"#1.2": 2, "#1.3": 4}  # how many counts line 2 has


def read_gct(path: str | PathLike[str], *, symbols: str | None = None) -> Assay:
    """A GCT file: a version, the counts, the names, then the table, all separated by tabs.

    Parameters
    ----------
    path : path
        Text, or text compressed by gzip.
    symbols : str, optional
        The field that names the genes (in version 1.2 the only one is ``Description``); without
        it, their ids do.

    Returns
    -------
    Assay
    """
    with open_text(path) as file:
        lines = ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(file, 1))
        version = next(lines, (1, [""]))[1][0].strip()
        if version not in VERSIONS:
            raise InvalidExpression(
                f"{path}, line 1: expected the version, #1.2 or #1.3, found {version[:40]!r}."
            )
        n_genes, n_samples, n_fields, n_labels = _counts(path, version, next(lines, (2, []))[1])
        width = 1 + n_fields + n_samples
        header = _cells(path, lines, width, "names of the columns")[1]
        fields, names = header[1 : 1 + n_fields], header[1 + n_fields :]
        about = {}  # of the samples: version 1.3 puts it in the first rows
        for _ in range(n_labels):
            _, cells = _cells(path, lines, width, "a field of the samples")
            about[cells[0]] = cells[1 + n_fields :]
        rows, described = Rows(path, names), []
        for _ in range(n_genes):
            number, cells = _cells(path, lines, width, "a gene")
            rows.add(number, cells[0], cells[1 + n_fields :])
            described.append(cells[1 : 1 + n_fields])
        for number, cells in lines:
            if any(cells):
                raise InvalidExpression(
                    f"{path}, line {number}: line 2 says {n_genes} genes, and here is another."
                )
    columns = dict(zip(fields, zip(*described, strict=True), strict=False))
    genes = annotation(rows.genes, columns)
    return make_assay(rows.values(), genes, annotation(names, about), path, symbols)


def _counts(path: object, version: str, cells: list[str]) -> tuple[int, int, int, int]:
    """Genes, samples, fields of a gene, fields of a sample."""
    wanted = VERSIONS[version]
    words = [cell for cell in cells if cell.strip()]
    if len(words) != wanted or not all(re.fullmatch("[0-9]{1,15}", word.strip()) for word in words):
        raise InvalidExpression(
            f"{path}, line 2: expected {wanted} whole numbers (version {version}), found {words!r:.80}."
        )
    genes, samples, *more = (int(word) for word in words)
    fields, labels = more or (1, 0)  # version 1.2 has a Description of each gene and no more
    return genes, samples, fields, labels


def _cells(
    path: object, lines: Iterator[tuple[int, list[str]]], width: int, what: str
) -> tuple[int, list[str]]:
    number, cells = next(lines, (0, []))
    if not number:
        raise InvalidExpression(f"{path}: the file ends where {what} is expected; it is cut short.")
    if len(cells) != width:
        raise InvalidExpression(
            f"{path}, line {number}: expected {what} in {width} cells, as line 2 says, found "
            f"{len(cells)}."
        )
    return number, cells
