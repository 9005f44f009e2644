"""GEO series-matrix files."""

from __future__ import annotations

from os import PathLike

from shortlist.errors import InvalidExpression
from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.text import Rows, open_text

BEGIN, END = "!series_matrix_table_begin", "!series_matrix_table_end"


def read_series_matrix(path: str | PathLike[str]) -> Assay:
    """A ``GSE…_series_matrix.txt`` file, compressed or not.

    Genes are named as the platform names them, often by probe; ``rename_genes`` takes the
    platform's table of symbols. The annotation of the samples has one column a ``!Sample_`` line;
    a name that repeats gets a number.
    """
    about: dict[str, list[str]] = {}
    rows: Rows | None = None
    in_table = ended = False
    # Descriptions may hold letters in any encoding; they must not cost us the numbers.
    with open_text(path, errors="replace") as file:
        for number, line in enumerate(file, 1):
            cells = [cell.strip().strip('"') for cell in line.rstrip("\r\n").split("\t")]
            if cells[0] == BEGIN:
                in_table = True
            elif cells[0] == END:
                in_table, ended = False, True
            elif in_table and rows is None:
                rows = Rows(path, cells[1:])
            elif in_table and rows is not None:
                if any(cells):
                    rows.add(number, cells[0], cells[1:])
            elif cells[0].startswith("!Sample_"):
                about[_free(cells[0].removeprefix("!Sample_"), about)] = cells[1:]
            elif number == 1 and not cells[0].startswith("!"):
                raise InvalidExpression(
                    f"{path}, line 1: expected a line of a GEO series matrix (!Series_…), found "
                    f"{line.strip()[:60]!r}."
                )
    _check(path, rows, ended)
    assert rows is not None
    per_sample = {name: cells for name, cells in about.items() if len(cells) == len(rows.samples)}
    samples = annotation(rows.samples, per_sample)
    return make_assay(rows.values(), annotation(rows.genes), samples, path)


def _free(name: str, taken: dict[str, list[str]]) -> str:
    count = sum(1 for known in taken if known == name or known.startswith(f"{name}."))
    return f"{name}.{count}" if count else name


def _check(path: object, rows: Rows | None, ended: bool) -> None:
    if rows is None and not ended:
        raise InvalidExpression(
            f"{path}: there is no {BEGIN} line; this is not a whole GEO series matrix."
        )
    if not ended:
        raise InvalidExpression(
            f"{path}: the table has no {END} line; the file is cut short, fetch it again."
        )
    if rows is None or not rows.genes:
        raise InvalidExpression(
            f"{path}: its table has no row. Sequencing series keep their counts in supplementary "
            "files; read those instead."
        )
