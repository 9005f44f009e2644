"""Readers of expression data: one file a format, and ``read_expression`` for all of them."""

from __future__ import annotations

from os import PathLike

import pandas as pd

from shortlist.errors import InvalidExpression
from shortlist.repurposing.readers.assay import Assay, DuplicatedGenes, rename_genes
from shortlist.repurposing.readers.gct import read_gct
from shortlist.repurposing.readers.gctx import gctx_annotation, read_gctx
from shortlist.repurposing.readers.geo import read_series_matrix
from shortlist.repurposing.readers.h5ad import read_h5ad
from shortlist.repurposing.readers.hdf5 import read_hdf5
from shortlist.repurposing.readers.tables import read_csv, read_parquet
from shortlist.repurposing.readers.text import first_bytes

__all__ = [
    "Assay",
    "DuplicatedGenes",
    "gctx_annotation",
    "read_assay",
    "read_csv",
    "read_expression",
    "read_gct",
    "read_gctx",
    "read_h5ad",
    "read_parquet",
    "read_series_matrix",
    "rename_genes",
]


def read_expression(path: str | PathLike[str], *, symbols: str | None = None) -> pd.DataFrame:
    r"""Expression from a file, genes × samples.

    The format is told by what the file holds, not by its name: CSV or TSV, Parquet, GCT 1.2 and
    1.3, GCTX, a GEO series matrix, AnnData (.h5ad). Text may be compressed by gzip.

    Of rows that name the same gene the first is kept, as in the paper, and a ``DuplicatedGenes``
    warning says how many were left out.

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
        is_gctx = read_hdf5(path, "kind")[0]["gctx"]
        return read_gctx(path, symbols=symbols) if is_gctx else read_h5ad(path, symbols=symbols)
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
