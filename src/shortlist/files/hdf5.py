"""GCTX and AnnData files, read in the process that reads files; see ``reader_process``.

Only what lies in the file itself is read: links to other places, parts kept in other files and
virtual datasets are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.files.reader_process import Send, check_size, send_shape

MATRIX, ROW, COL = "0/DATA/0/matrix", "0/META/ROW", "0/META/COL"
SPARSE = ("csr_matrix", "csc_matrix")
AT_ONCE = 8 << 20  # bytes of a part that is sent


class Stored:
    """An HDF5 file that is open for reading, and how much memory its content may take."""

    def __init__(self, file: Any, source: str, most: int) -> None:
        self.file, self.source, self.most = file, source, most

    def find(self, path: str, start: Any = None) -> Any:
        """A group or dataset by its path, None if there is none."""
        import h5py  # type: ignore[import-untyped]

        found = self.file if start is None else start
        for part in path.split("/"):
            if not isinstance(found, h5py.Group):
                return None
            link = found.get(part, getlink=True)
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise self._outside(path)
            found = found[part]
        if isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
            raise self._outside(path)
        return found

    def _outside(self, path: str) -> InvalidExpression:
        return InvalidExpression(
            f"{self.source}: /{path} is a link, and may lead to another file; links are not "
            "followed. Write the file again with its content in it."
        )

    def whole(self, dataset: Any) -> NDArray[Any]:
        """All of a dataset, if it may take the memory."""
        count = math.prod(map(int, dataset.shape or ()))
        check_size(max(8, dataset.dtype.itemsize) * count, self.most)
        return np.asarray(dataset[()])

    def texts(self, dataset: Any) -> list[str]:
        """The elements of a dataset as text; whole numbers without a decimal point."""
        return _texts(self._column(dataset))

    def values(self, dataset: Any) -> list[Any]:
        """The elements of a dataset, bytes as text."""
        found = self._column(dataset)
        return _texts(found) if found.dtype.kind in "SO" else found.tolist()

    def _column(self, dataset: Any) -> NDArray[Any]:
        if not hasattr(dataset, "shape") or len(dataset.shape or ()) != 1:
            raise InvalidExpression(
                f"{self.source}: {dataset.name} is not a list of values; the file is damaged."
            )
        return self.whole(dataset)


def _texts(found: NDArray[Any]) -> list[str]:
    if found.dtype.kind in "SO":
        return [
            item.decode("utf-8", "replace").strip() if isinstance(item, bytes) else str(item)
            for item in found.tolist()
        ]
    if found.dtype.kind == "f" and (np.abs(found) < 2**53).all() and (np.mod(found, 1) == 0).all():
        found = found.astype(np.int64)
    return [str(item) for item in found.tolist()]


@contextmanager
def open_hdf5(request: dict[str, Any], most: int) -> Iterator[Stored]:
    """The file of a request, for reading."""
    import h5py

    source = request["source"]
    try:
        file = h5py.File(request["path"], "r")
    except OSError as error:
        raise InvalidExpression(
            f"{source}: this is not an HDF5 file, or it is damaged ({error}); unpack it if it is "
            "compressed, else fetch it again."
        ) from None
    with file:
        yield Stored(file, source, most)


def kind(request: dict[str, Any], most: int, _: Send) -> dict[str, Any]:
    """Tell whether a file is laid out as GCTX is."""
    with open_hdf5(request, most) as stored:
        return {"gctx": stored.find("0") is not None}


def gctx(request: dict[str, Any], most: int, send: Send) -> dict[str, Any]:
    """Answer with the annotation of a GCTX file; send its matrix, samples × genes, by rows."""
    with open_hdf5(request, most) as stored:
        source = stored.source
        needed = f"{ROW}/id", f"{COL}/id", MATRIX
        for path in reversed(needed):
            if stored.find(path) is None:
                what = "matrix" if path == MATRIX else "metadata"
                raise InvalidExpression(
                    f"{source}: there is no /{path}; the {what} is missing, and a GCTX file "
                    "without it cannot be read."
                )
        genes, ids = (stored.texts(stored.find(path)) for path in needed[:2])
        wanted = request["samples"]
        at = None if wanted is None else _positions(source, ids, wanted)
        answer = {
            "genes": {"names": genes, "fields": _fields(stored, ROW, len(genes), None)},
            "samples": {
                "names": ids if at is None else [ids[i] for i in at],
                "fields": _fields(stored, COL, len(ids), at),
            },
        }
        matrix = stored.find(MATRIX)
        _check_shape(stored, matrix, len(ids), len(genes))
        _send_dense(stored, matrix, send, at)
    return answer


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
    found = {}
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
        found[name] = field if at is None else [field[i] for i in at]
    return found


def _check_shape(stored: Stored, matrix: Any, samples: int, genes: int) -> None:
    shape = getattr(matrix, "shape", None)
    if shape != (samples, genes):
        shown = "no array" if shape is None else " × ".join(map(str, shape))
        raise InvalidExpression(
            f"{stored.source}: /{MATRIX} is {shown}; its metadata names {samples} samples "
            f"(/{COL}/id) × {genes} genes (/{ROW}/id)."
        )


def h5ad(request: dict[str, Any], most: int, send: Send) -> dict[str, Any]:
    """Answer with the obs and var of an AnnData file; send its X by rows."""
    with open_hdf5(request, most) as stored:
        for needed in ("X", "obs", "var"):
            if stored.find(needed) is None:
                raise InvalidExpression(
                    f"{stored.source}: there is no /{needed}; expected an AnnData file with X, obs "
                    "and var."
                )
        answer = {"genes": _frame(stored, "var"), "samples": _frame(stored, "obs")}
        matrix = stored.find("X")
        send_matrix: Any = _send_dense if hasattr(matrix, "shape") else _send_sparse
        return {**answer, "turned": send_matrix(stored, matrix, send)}


def _send_dense(stored: Stored, matrix: Any, send: Send, at: list[int] | None = None) -> bool:
    """Send a matrix, or these rows of it, some at a time; return that it is not turned."""
    if matrix.dtype.kind not in "iufb":
        raise InvalidExpression(
            f"{stored.source}: {matrix.name} contains {matrix.dtype}, not numbers."
        )
    if len(matrix.shape or ()) != 2:
        raise InvalidExpression(
            f"{stored.source}: /X has {len(matrix.shape or ())} dimensions; expected 2."
        )
    rows, width = len(matrix) if at is None else len(at), int(matrix.shape[1])
    send_shape(rows, width, stored.most, send)
    # As many rows at once as fit a part, and whole chunks of the file.
    step = max(1, AT_ONCE // (8 * width + 1))
    chunk = matrix.chunks[0] if matrix.chunks else 1
    if chunk * width * 8 <= 16 * AT_ONCE:
        step = max(1, step // chunk) * chunk
    for first in range(0, rows, step):
        last = min(first + step, rows)
        if at is None:
            block = matrix[first:last]
        else:  # HDF5 reads rows in rising order and each once; one asked for twice is sent twice
            rising, back = np.unique(at[first:last], return_inverse=True)
            block = matrix[rising, :][back]
        send({"at": [[first, last]]}, np.asarray(block, dtype=np.float64))
    return False


def _send_sparse(stored: Stored, group: Any, send: Send) -> bool:
    """Send a sparse X by rows, or by columns if it is stored so; return whether it is turned."""
    kind = group.attrs.get("encoding-type")
    if kind not in SPARSE:
        raise InvalidExpression(
            f"{stored.source}: /X is stored as {str(kind)[:60]!r}; expected an array, csr_matrix "
            "or csc_matrix."
        )
    try:
        parts = [stored.whole(stored.find(part, group)) for part in ("data", "indices", "indptr")]
        shape = [int(extent) for extent in group.attrs["shape"]]
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"its shape is {shape}")
        turned = kind == SPARSE[1]
        rows, width = reversed(shape) if turned else shape
        data, columns, starts = _checked_parts(parts, rows, width)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidExpression(
            f"{stored.source}: /X is damaged ({error}); write it again."
        ) from None
    send_shape(rows, width, stored.most, send)
    step = max(1, AT_ONCE // (8 * width + 1))
    for first in range(0, rows, step):
        last = min(first + step, rows)
        block = np.zeros((last - first, width))
        inside = slice(starts[first], starts[last])
        of_row = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        np.add.at(block, (of_row, columns[inside]), data[inside])  # what stands twice is added
        send({"at": [[first, last]]}, block)
    return turned


def _checked_parts(
    parts: list[NDArray[Any]], rows: int, width: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The parts of a sparse matrix; an index outside its shape would be read outside the memory."""
    data, columns, starts = parts
    if data.dtype.kind not in "iufb" or {columns.dtype.kind, starts.dtype.kind} - {"i", "u"}:
        raise ValueError("data, indices or indptr contain no numbers")
    starts, columns = starts.astype(np.int64), columns.astype(np.int64)
    if starts.shape != (rows + 1,) or data.shape != columns.shape or data.ndim != 1:
        raise ValueError("the lengths of data, indices and indptr do not fit its shape")
    if starts[0] != 0 or starts[-1] > len(data) or (np.diff(starts) < 0).any():
        raise ValueError("indptr does not rise from 0")
    if len(columns) and not (columns.min() >= 0 and columns.max() < width):
        raise ValueError("an index is outside its shape")
    return data.astype(np.float64), columns, starts


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
