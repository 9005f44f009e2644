"""AnnData files (.h5ad), read by their documented layout.

The package anndata is not needed. Its releases for Python 3.11 hold pandas below 3.
"""

from __future__ import annotations

from os import PathLike

from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.hdf5 import read_hdf5


def read_h5ad(path: str | PathLike[str], *, symbols: str | None = None) -> Assay:
    """An AnnData file: its ``X``, turned so that genes are rows; needs the extra ``expression``.

    Files of anndata 0.7 or later are read. For an AnnData object in memory, ``adata.to_df().T`` is
    the expression.

    Parameters
    ----------
    path : path
        HDF5.
    symbols : str, optional
        The column of ``var`` that names the genes; without it, ``var_names`` do.

    Returns
    -------
    Assay
    """
    answer, matrix = read_hdf5(path, "h5ad")
    genes, samples = (
        annotation(answer[part]["names"], answer[part]["fields"]) for part in ("genes", "samples")
    )
    values = matrix.rows if matrix.turned else matrix.rows.T
    return make_assay(values, genes, samples, path, symbols)
