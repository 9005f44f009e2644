"""Expression from files, distinguished by their content: ``read_expression`` reads them all.

The package anndata is not needed: its releases for Python 3.11 hold pandas below 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from os import PathLike

import pandas as pd

from shortlist.errors import InvalidExpression
from shortlist.files.arrow import read_frame, require_pyarrow
from shortlist.files.separate_process import read_hdf5
from shortlist.repurposing.expression.assay import Assay, annotation, make_assay
from shortlist.repurposing.expression.profiles import to_numbers
from shortlist.repurposing.expression.text import (
    first_bytes,
    read_csv,
    read_gct,
    read_series_matrix,
)


def read_expression(path: str | PathLike[str], *, symbols: str | None = None) -> pd.DataFrame:
    r"""Expression from a file, genes × samples.

    The format is recognized by the file's content, not by its name: CSV or TSV, Parquet, GCT 1.2
    and 1.3, GCTX, a GEO series matrix, AnnData (.h5ad). Text may be compressed by gzip.

    If several rows name the same gene, the first is kept, as in the paper, and a
    ``DuplicatedGenes`` warning says how many were left out.

    Parameters
    ----------
    path : path
        The file.
    symbols : str, optional
        The field of the file's annotation of genes that names them (GCT, GCTX, AnnData); without
        it their ids do.

    Returns
    -------
    DataFrame
        Numbers; NaN where the file has none.

    Raises
    ------
    InvalidExpression
        Naming the file and the line, or the gene and the sample.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     _ = path.write_text("gene,rep1,rep2\nSCN1A,7.5,7.1\nGABRA1,9.0,\n")
    ...     read_expression(path)
            rep1  rep2
    SCN1A    7.5   7.1
    GABRA1   9.0   NaN
    """
    return read_assay(path, symbols=symbols).expression


def read_assay(path: str | PathLike[str], *, symbols: str | None = None) -> Assay:
    """Expression from a file with what the file says of genes and samples; see read_expression."""
    begin = first_bytes(path)
    if begin.startswith(b"\x89HDF"):
        return _read_hdf5(path, None, symbols)
    if begin.removeprefix(b"\xef\xbb\xbf").startswith(b"#1."):
        return read_gct(path, symbols=symbols)
    if symbols is not None:
        raise InvalidExpression(
            f"{path}: this kind of file names genes by id alone and has no field {symbols!r}; read "
            "it without `symbols`, and use rename_genes with a table of the platform."
        )
    if begin.startswith(b"PAR1"):
        return read_parquet(path)
    if begin.removeprefix(b"\xef\xbb\xbf").startswith(b"!"):
        return read_series_matrix(path)
    return read_csv(path)


def _read_hdf5(path: str | PathLike[str], samples: list[str] | None, symbols: str | None) -> Assay:
    if find_spec("h5py") is None:
        raise ImportError(
            "reading GCTX and AnnData files needs h5py: pip install 'shortlist[expression]'."
        )
    about, matrix = read_hdf5(path, samples)
    genes, columns = (annotation(**about[part]) for part in ("genes", "samples"))
    return make_assay(matrix.T, genes, columns, path, symbols)


def read_gctx(
    path: str | PathLike[str], *, samples: Iterable[str] | None = None, symbols: str | None = None
) -> Assay:
    """A GCTX file, or some samples of it by their ids, in that order.

    Level 3 of L1000 has more than a million samples: choose some. ``symbols`` is a field of
    ``/0/META/ROW``; the L1000 files have ids alone: see ``rename_genes``.
    """
    wanted = None if samples is None else [str(sample) for sample in samples]
    return _read_hdf5(path, wanted, symbols)


def read_parquet(path: str | PathLike[str]) -> Assay:
    """A Parquet table whose index, or first column of text, names the genes."""
    require_pyarrow("reading Parquet needs pyarrow")
    table = read_frame(path, InvalidExpression)
    if isinstance(table.index, pd.RangeIndex) and table.shape[1]:
        first = table.columns[0]
        if pd.api.types.is_numeric_dtype(table[first]):
            raise InvalidExpression(
                f"{path}: expected gene names in the index or in the first column; {first!r} "
                "contains numbers."
            )
        table = table.set_index(first)
    genes = annotation([str(name).strip() for name in table.index])
    samples = annotation([str(name) for name in table.columns])
    return make_assay(to_numbers(table, str(path)), genes, samples, path)
