"""AnnData files (.h5ad), read by their documented layout.

The package anndata is not needed. Its releases for Python 3.11 hold pandas below 3.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.repurposing.readers.assay import Assay, make_assay
from shortlist.repurposing.readers.hdf5 import open_hdf5, values

SPARSE = ("csr_matrix", "csc_matrix")


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
    with open_hdf5(path) as file:
        for needed in ("X", "obs", "var"):
            if needed not in file:
                raise InvalidExpression(
                    f"{path}: there is no /{needed}; expected an AnnData file with X, obs and var."
                )
        genes, samples = _frame(path, file["var"]), _frame(path, file["obs"])
        return make_assay(_matrix(path, file["X"]).T, genes, samples, path, symbols)


def _matrix(path: object, stored: Any) -> NDArray[np.float64]:
    """X, samples × genes."""
    if hasattr(stored, "shape"):
        if stored.dtype.kind not in "iufb":
            raise InvalidExpression(f"{path}: /X holds {stored.dtype}, and not numbers.")
        return np.asarray(stored[()], dtype=float)
    kind = stored.attrs.get("encoding-type")
    if kind not in SPARSE:
        raise InvalidExpression(
            f"{path}: /X is stored as {kind!r}; expected an array, csr_matrix or csc_matrix."
        )
    from scipy import sparse

    try:
        parts = (stored["data"][()], stored["indices"][()], stored["indptr"][()])
        shape = tuple(int(n) for n in stored.attrs["shape"])
        matrix = getattr(sparse, kind)(parts, shape=shape)
        matrix.check_format(full_check=True)  # indices outside would be read outside the memory
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidExpression(f"{path}: /X is damaged ({error}); write it again.") from None
    return np.asarray(matrix.toarray(), dtype=float)


def _frame(path: object, group: Any) -> pd.DataFrame:
    """A stored DataFrame under its index."""
    if "_index" not in group.attrs:
        raise InvalidExpression(
            f"{path}: {group.name} is not stored as anndata 0.7 and later do; write the file again "
            "with a newer anndata."
        )
    index = str(group.attrs["_index"])
    if index not in group:
        raise InvalidExpression(f"{path}: {group.name} names its index {index!r}, and has none.")
    names = [str(name) for name in _column(group[index])]
    columns = {name: _column(group[name]) for name in group if name != index}
    whole = {name: column for name, column in columns.items() if len(column) == len(names)}
    return pd.DataFrame(whole, index=pd.Index(names, dtype=object))


def _column(stored: Any) -> list[Any]:
    """A column: an array, a categorical (codes, categories) or a nullable one (values, mask)."""
    if hasattr(stored, "shape"):
        return values(stored)
    if "codes" in stored:
        categories = values(stored["categories"])
        return [
            categories[code] if 0 <= code < len(categories) else None
            for code in stored["codes"][()].tolist()
        ]
    if "values" in stored and "mask" in stored:
        masked = stored["mask"][()].tolist()
        found = zip(values(stored["values"]), masked, strict=True)
        return [None if hidden else value for value, hidden in found]
    return []  # some other kind: not needed to read the expression
