"""HDF5 files: opening them, and reading text and numbers out of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.errors import InvalidExpression


@contextmanager
def open_hdf5(path: str | PathLike[str]) -> Iterator[Any]:
    """The file, for reading; needs the extra ``expression``."""
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "reading GCTX and AnnData files needs h5py: pip install 'shortlist[expression]'."
        ) from None
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InvalidExpression(
            f"{path}: this is not an HDF5 file, or it is damaged ({error}); unpack it if it is "
            "compressed, else fetch it again."
        ) from None
    with file:
        yield file


def texts(values: Any) -> list[str]:
    """The elements of a dataset as text; whole numbers without a decimal point."""
    found = np.asarray(values[()] if hasattr(values, "shape") else values)
    if found.dtype.kind in "SO":
        return [
            item.decode("utf-8", "replace").strip() if isinstance(item, bytes) else str(item)
            for item in found.tolist()
        ]
    if found.dtype.kind == "f" and np.equal(np.mod(found, 1), 0).all():
        found = found.astype(np.int64)
    return [str(item) for item in found.tolist()]


def values(dataset: Any) -> list[Any]:
    """The elements of a dataset, bytes as text."""
    found = np.asarray(dataset[()])
    return texts(found) if found.dtype.kind in "SO" else found.tolist()
