"""HDF5 files of expression data, read in a process of its own."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.files.guard import read_guarded
from shortlist.files.limits import most_bytes, size_of, too_large


class Matrix:
    """A matrix that comes a few rows at a time.

    Parameters
    ----------
    path : path
        The file it comes from.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path
        self.rows: NDArray[np.float64] = np.empty((0, 0))
        self.turned = False

    def take(self, words: dict[str, Any], block: NDArray[Any]) -> None:
        """Its shape first, then its rows."""
        if "shape" not in words:
            self.rows[words["first"] : words["first"] + len(block)] = block
            return
        self.turned = bool(words.get("turned", False))
        try:
            self.rows = np.empty(words["shape"])
        except (MemoryError, ValueError):
            needed = 8 * int(np.prod(words["shape"], dtype=object))
            most = most_bytes(size_of(self.path))
            raise too_large(self.path, needed, most, InvalidExpression) from None


def read_hdf5(
    path: str | PathLike[str], layout: str, **request: Any
) -> tuple[dict[str, Any], Matrix]:
    """What a function of ``shortlist.files.hdf5`` answers about a file, and the matrix it sends."""
    if find_spec("h5py") is None:
        raise ImportError(
            "reading GCTX and AnnData files needs h5py: pip install 'shortlist[expression]'."
        )
    matrix = Matrix(path)
    answer = read_guarded(
        f"shortlist.files.hdf5:{layout}",
        {"source": str(path), **request},
        source=path,
        error=InvalidExpression,
        path=path,
        take=matrix.take,
    )
    return answer, matrix
