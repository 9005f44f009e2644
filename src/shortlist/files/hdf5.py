"""GCTX and AnnData files by their documented layouts; ``separate_process`` is who calls it.

Only what lies in the file itself is read: links to other places, parts kept in other files and
virtual datasets are refused.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.files.limits import CELL, NAME, Memory

MATRIX, ROW, COL = "0/DATA/0/matrix", "0/META/ROW", "0/META/COL"
NUMBERS = "iufb"
SPARSE = ("csr_matrix", "csc_matrix")


class Stored:
    """An HDF5 file that is open for reading, and how much memory its content may take."""

    def __init__(self, file: Any, memory: Memory) -> None:
        self.file, self.memory, self.source = file, memory, memory.source

    def find(self, path: str, start: Any = None) -> Any:
        """A group or dataset by its path, None if there is none."""
        import h5py  # type: ignore[import-untyped]

        node = self.file if start is None else start
        for part in path.split("/"):
            if not isinstance(node, h5py.Group):
                return None
            link = node.get(part, getlink=True)
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise self._outside(path)
            node = node[part]
        if isinstance(node, h5py.Dataset) and (node.external or node.is_virtual):
            raise self._outside(path)
        return node

    def _outside(self, path: str) -> InvalidExpression:
        return InvalidExpression(
            f"{self.source}: /{path} is a link, and may lead to another file; links are not "
            "followed. Write the file again with its content in it."
        )

    def whole(self, dataset: Any) -> NDArray[Any]:
        """All of a dataset, if it may take the memory."""
        count, kind = math.prod(map(int, dataset.shape or ())), dataset.dtype
        self.memory.need(count * ((CELL if kind.kind in NUMBERS else NAME) + kind.itemsize))
        return np.asarray(dataset[()])

    def texts(self, dataset: Any) -> list[str]:
        """The elements of a dataset as text; whole numbers without a decimal point."""
        return _texts(self._column(dataset))

    def values(self, dataset: Any) -> list[Any]:
        """The elements of a dataset, bytes as text."""
        column = self._column(dataset)
        return _texts(column) if column.dtype.kind in "SO" else column.tolist()

    def _column(self, dataset: Any) -> NDArray[Any]:
        if not hasattr(dataset, "shape") or len(dataset.shape or ()) != 1:
            raise InvalidExpression(
                f"{self.source}: {dataset.name} is not a list of values; the file is damaged."
            )
        return self.whole(dataset)


def _texts(column: NDArray[Any]) -> list[str]:
    if column.dtype.kind in "SO":
        return [
            item.decode("utf-8", "replace").strip() if isinstance(item, bytes) else str(item)
            for item in column.tolist()
        ]
    if (
        column.dtype.kind == "f"
        and (np.abs(column) < 2**53).all()
        and (np.mod(column, 1) == 0).all()
    ):
        column = column.astype(np.int64)
    return [str(item) for item in column.tolist()]


def read(
    path: Path, memory: Memory, samples: list[str] | None
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """What a GCTX or AnnData file says of its genes and samples, and its matrix, samples × genes.

    Of a GCTX file these samples alone, in this order, if they are given.
    """
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InvalidExpression(
            f"{memory.source}: this is not an HDF5 file, or it is damaged ({error}); unpack it if "
            "it is compressed, else fetch it again."
        ) from None
    with file:
        stored = Stored(file, memory)
        if samples is None and stored.find("0") is None:
            return _h5ad(stored)
        return _gctx(stored, samples)


def _gctx(stored: Stored, wanted: list[str] | None) -> tuple[dict[str, Any], NDArray[np.float64]]:
    needed = f"{ROW}/id", f"{COL}/id", MATRIX
    for path in reversed(needed):
        if stored.find(path) is None:
            what = "matrix" if path == MATRIX else "metadata"
            raise InvalidExpression(
                f"{stored.source}: there is no /{path}; the {what} is missing, and a GCTX file "
                "without it cannot be read."
            )
    genes, ids = (stored.texts(stored.find(path)) for path in needed[:2])
    at = None if wanted is None else _positions(stored.source, ids, wanted)
    about = {
        "genes": {"names": genes, "fields": _fields(stored, ROW, len(genes), None)},
        "samples": {
            "names": ids if at is None else [ids[i] for i in at],
            "fields": _fields(stored, COL, len(ids), at),
        },
    }
    matrix = stored.find(MATRIX)
    _check_shape(stored, matrix, len(ids), len(genes))
    return about, _dense(stored, matrix, at)


def _positions(source: object, ids: list[str], wanted: list[str]) -> list[int]:
    place = {name: position for position, name in enumerate(ids)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InvalidExpression(
            f"{source}: {len(missing)} of the {len(wanted)} samples asked for are not there, "
            f"{missing[0]!r} first; check that the metadata tables belong to this file."
        )
    return [place[name] for name in wanted]


def _fields(stored: Stored, path: str, size: int, at: list[int] | None) -> dict[str, list[Any]]:
    fields = {}
    group = stored.find(path)
    for name in group:
        if name == "id":
            continue
        field = stored.values(stored.find(name, group))
        if len(field) != size:
            raise InvalidExpression(
                f"{stored.source}: /{path}/{name} has {len(field)} entries, and there are {size} "
                "ids."
            )
        fields[name] = field if at is None else [field[i] for i in at]
    return fields


def _check_shape(stored: Stored, matrix: Any, samples: int, genes: int) -> None:
    shape = getattr(matrix, "shape", None)
    if shape != (samples, genes):
        shown = "no array" if shape is None else " × ".join(map(str, shape))
        raise InvalidExpression(
            f"{stored.source}: /{MATRIX} is {shown}; its metadata names {samples} samples "
            f"(/{COL}/id) × {genes} genes (/{ROW}/id)."
        )


def _h5ad(stored: Stored) -> tuple[dict[str, Any], NDArray[np.float64]]:
    for needed in ("X", "obs", "var"):
        if stored.find(needed) is None:
            raise InvalidExpression(
                f"{stored.source}: there is no /{needed}; expected an AnnData file with X, obs "
                "and var."
            )
    about = {"genes": _frame(stored, "var"), "samples": _frame(stored, "obs")}
    matrix = stored.find("X")
    return about, (_dense if hasattr(matrix, "shape") else _sparse)(stored, matrix)


def _dense(stored: Stored, matrix: Any, at: list[int] | None = None) -> NDArray[np.float64]:
    """A matrix of numbers, or these rows of it."""
    if matrix.dtype.kind not in NUMBERS:
        raise InvalidExpression(
            f"{stored.source}: {matrix.name} contains {matrix.dtype}, not numbers."
        )
    if len(matrix.shape or ()) != 2:
        raise InvalidExpression(
            f"{stored.source}: /X has {len(matrix.shape or ())} dimensions; expected 2."
        )
    stored.memory.need_table(len(matrix) if at is None else len(at), int(matrix.shape[1]))
    if at is None:
        return np.asarray(matrix.astype(np.float64)[()])
    # HDF5 reads rows in rising order and each once; one asked for twice is copied.
    rising, back = np.unique(np.asarray(at, dtype=np.int64), return_inverse=True)
    return np.asarray(matrix.astype(np.float64)[rising, :][back])


def _sparse(stored: Stored, group: Any) -> NDArray[np.float64]:
    """A sparse X, filled with zeros."""
    from scipy import sparse

    kind = group.attrs.get("encoding-type")
    if kind not in SPARSE:
        raise InvalidExpression(
            f"{stored.source}: /X is stored as {str(kind)[:60]!r}; expected an array, csr_matrix "
            "or csc_matrix."
        )
    try:
        parts = [stored.whole(stored.find(part, group)) for part in ("data", "indices", "indptr")]
        rows, columns = (int(extent) for extent in group.attrs["shape"])
        stored.memory.need_table(rows, columns)
        made = sparse.csr_matrix if kind == SPARSE[0] else sparse.csc_matrix
        matrix = made(tuple(parts), shape=(rows, columns), dtype=np.float64)
        # Else an index outside the shape would be written outside the memory.
        matrix.check_format(full_check=True)
        return np.asarray(matrix.toarray())
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidExpression):
            raise
        raise InvalidExpression(
            f"{stored.source}: /X is damaged ({error}); write it again."
        ) from None


def _frame(stored: Stored, path: str) -> dict[str, Any]:
    """A stored DataFrame: its index and its columns."""
    group = stored.find(path)
    if "_index" not in group.attrs:
        raise InvalidExpression(
            f"{stored.source}: /{path} is not stored as anndata 0.7 and later do; write the file "
            "again with a newer anndata."
        )
    index = str(group.attrs["_index"])
    if stored.find(index, group) is None:
        raise InvalidExpression(
            f"{stored.source}: /{path} names its index {index[:60]!r}, and has none."
        )
    names = [str(name) for name in _column(stored, stored.find(index, group))]
    columns = {name: _column(stored, stored.find(name, group)) for name in group if name != index}
    fields = {name: column for name, column in columns.items() if len(column) == len(names)}
    return {"names": names, "fields": fields}


def _column(stored: Stored, found: Any) -> list[Any]:
    """A column: an array, a categorical (codes, categories) or a nullable one (values, mask)."""
    if hasattr(found, "shape"):
        return stored.values(found) if len(found.shape or ()) == 1 else []
    codes, categories = stored.find("codes", found), stored.find("categories", found)
    if codes is not None and categories is not None:
        named = stored.values(categories)
        return [named[code] if 0 <= code < len(named) else None for code in stored.values(codes)]
    values, mask = stored.find("values", found), stored.find("mask", found)
    if values is not None and mask is not None:
        pairs = zip(stored.values(values), stored.values(mask), strict=True)
        return [None if hidden else value for value, hidden in pairs]
    return []  # some other kind: not needed to read the expression
