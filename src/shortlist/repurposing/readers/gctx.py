"""GCTX, the binary form of GCT in which L1000 is published."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import pandas as pd

from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.hdf5 import read_hdf5


def read_gctx(
    path: str | PathLike[str],
    *,
    samples: Iterable[str] | None = None,
    symbols: str | None = None,
) -> Assay:
    """A GCTX file, or some samples of it; needs the extra ``expression``.

    Parameters
    ----------
    path : path
        HDF5. Level 3 of L1000 has more than a million samples: choose some.
    samples : iterable of str, optional
        Ids of samples; the result has their order. By default all.
    symbols : str, optional
        The field of ``/0/META/ROW`` that names the genes; without it, their ids do. The L1000
        files have ids alone: see ``rename_genes``.

    Returns
    -------
    Assay
    """
    wanted = None if samples is None else [str(sample) for sample in samples]
    answer, matrix = read_hdf5(path, "gctx", samples=wanted, matrix=True)
    genes, about = _tables(answer)
    return make_assay(matrix.rows.T, genes, about, path, symbols)


def gctx_annotation(path: str | PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a GCTX file says of its genes and of its samples, without reading the matrix."""
    return _tables(read_hdf5(path, "gctx", samples=None, matrix=False)[0])


def _tables(answer: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return (
        annotation(answer["genes"], answer["about_genes"]),
        annotation(answer["samples"], answer["about_samples"]),
    )
