"""Plain tables: CSV, TSV and Parquet."""

from __future__ import annotations

import csv
from os import PathLike

import pandas as pd

from shortlist.errors import InvalidExpression
from shortlist.files.arrow import read_frame, require_pyarrow
from shortlist.repurposing.expression import to_numbers
from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.text import Rows, open_text


def read_csv(path: str | PathLike[str]) -> Assay:
    """A text table: gene names in the first column, then one column a sample, named by line 1.

    Cells are separated by tabs, commas or semicolons, whichever of these line 1 has. The file may
    be compressed by gzip.
    """
    with open_text(path) as file:
        header = file.readline()
        delimiter = next((mark for mark in "\t,;" if mark in header), None)
        if delimiter is None:
            raise InvalidExpression(
                f"{path}, line 1: expected names of samples, separated by commas or tabs, found "
                f"{header.strip()[:60]!r}."
            )
        names = next(csv.reader([header], delimiter=delimiter))
        if len(names) > 1 and names[0] and all(_is_decimal(name) for name in names[1:]):
            raise InvalidExpression(
                f"{path}, line 1 reads {header.strip()[:60]!r}, a gene and its values, where the "
                "names of samples are expected: put them above it."
            )
        rows: Rows | None = None
        reader = csv.reader(file, delimiter=delimiter)
        try:
            for cells in reader:
                if not any(cells):
                    continue
                if rows is None:
                    # R writes no cell above the gene names: line 1 is one shorter then.
                    rows = Rows(path, names if len(cells) == len(names) + 1 else names[1:])
                rows.add(reader.line_num + 1, cells[0], cells[1:])
        except csv.Error as error:
            raise InvalidExpression(
                f"{path}, line {reader.line_num + 1}: this is not a table of text ({error})."
            ) from None
    if rows is None:
        raise InvalidExpression(f"{path}: there is no line after line 1, and so no gene.")
    return make_assay(rows.values(), annotation(rows.genes), annotation(rows.samples), path)


def _is_decimal(cell: str) -> bool:
    """Whether a cell is a measured value: samples may well be numbered 1, 2, 3."""
    try:
        return not float(cell).is_integer()
    except ValueError:
        return False


def read_parquet(path: str | PathLike[str]) -> Assay:
    """A Parquet table whose index, or first column of text, names the genes."""
    require_pyarrow("reading Parquet needs pyarrow")
    table = read_frame(path, InvalidExpression)
    if isinstance(table.index, pd.RangeIndex) and table.shape[1]:
        first = table.columns[0]
        if pd.api.types.is_numeric_dtype(table[first]):
            raise InvalidExpression(
                f"{path}: expected gene names in the index or in the first column; {first!r} holds "
                "numbers."
            )
        table = table.set_index(first)
    genes = annotation([str(name).strip() for name in table.index])
    samples = annotation([str(name) for name in table.columns])
    return make_assay(to_numbers(table, str(path)), genes, samples, path)
