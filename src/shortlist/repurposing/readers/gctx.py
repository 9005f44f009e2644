"""GCTX, the binary form of GCT in which L1000 is published."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from shortlist.errors import InvalidExpression
from shortlist.repurposing.readers.assay import Assay, annotation, make_assay
from shortlist.repurposing.readers.hdf5 import open_hdf5, texts, values

MATRIX, ROW, COL = "0/DATA/0/matrix", "0/META/ROW", "0/META/COL"


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
    with open_hdf5(path) as file:
        for needed in (MATRIX, f"{ROW}/id", f"{COL}/id"):
            if needed not in file:
                what = "the matrix" if needed == MATRIX else "the ids of its rows or columns"
                raise InvalidExpression(
                    f"{path}: there is no /{needed}; a GCTX file without {what} cannot be read."
                )
        genes, ids = texts(file[f"{ROW}/id"]), texts(file[f"{COL}/id"])
        matrix = file[MATRIX]
        if matrix.shape != (len(ids), len(genes)):
            raise InvalidExpression(
                f"{path}: /{MATRIX} is {' × '.join(map(str, matrix.shape))}; its metadata names "
                f"{len(ids)} samples (/{COL}/id) × {len(genes)} genes (/{ROW}/id)."
            )
        at = None if samples is None else _positions(path, ids, list(samples))
        chosen = ids if at is None else [ids[i] for i in at]
        about_genes = _fields(path, file[ROW], len(genes), None)
        about_samples = _fields(path, file[COL], len(ids), at)
        numbers = _matrix(matrix, at)
    return make_assay(
        numbers, annotation(genes, about_genes), annotation(chosen, about_samples), path, symbols
    )


def _positions(path: object, ids: list[str], wanted: list[str]) -> list[int]:
    place = {name: position for position, name in enumerate(ids)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InvalidExpression(
            f"{path}: {len(missing)} of the {len(wanted)} samples asked for are not there, "
            f"{missing[0]!r} first; check that the metadata tables belong to this file."
        )
    return [place[name] for name in wanted]


def _fields(path: object, group: Any, size: int, at: list[int] | None) -> dict[str, list[Any]]:
    found = {}
    for name in group:
        if name == "id":
            continue
        field = values(group[name])
        if len(field) != size:
            raise InvalidExpression(
                f"{path}: {group.name}/{name} has {len(field)} entries, and there are {size} ids."
            )
        found[name] = field if at is None else [field[i] for i in at]
    return found


def _matrix(matrix: Any, at: list[int] | None) -> np.ndarray[Any, np.dtype[np.float64]]:
    if at is None:
        return np.asarray(matrix[()], dtype=float).T
    # HDF5 reads rows in rising order and each once; a sample asked for twice is copied.
    rising, back = np.unique(np.asarray(at, dtype=int), return_inverse=True)
    return np.asarray(matrix[rising, :], dtype=float)[back].T


def gctx_annotation(path: str | PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a GCTX file says of its genes and of its samples, without reading the matrix."""
    with open_hdf5(path) as file:
        tables = []
        for group in (ROW, COL):
            if f"{group}/id" not in file:
                raise InvalidExpression(
                    f"{path}: there is no /{group}/id; its metadata is missing."
                )
            ids = texts(file[f"{group}/id"])
            tables.append(annotation(ids, _fields(path, file[group], len(ids), None)))
    return tables[0], tables[1]
