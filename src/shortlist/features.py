"""Features as they come: arrays, DataFrames, Arrow tables and files, copied only where needed.

A ``.npy`` file is mapped into memory.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidFeatures
from shortlist.files.reading import read_file
from shortlist.numerics.blockwise import first_not_finite

LOGGER = logging.getLogger(__name__)
KINDS = "biuf"
MOST_WITHOUT = 30_000  # arms without features: each is its own dimension, in a table of 7 GB


class Features(NamedTuple):
    """A table of numbers, with the names of its rows and of its columns where it has any."""

    numbers: Any
    names: Iterable[Any] | None = None
    columns: Sequence[str] | None = None


def features_and_names(
    features: Any, arms: Sequence[Any] | None, least: int = 2
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...] | None]:
    """The checked table of features, one row per arm, and the names of the arms and the columns.

    An array of float64 in C order, or a memory map of one, is taken as it is: nothing is copied.
    There must be ``least`` arms.

    Examples
    --------
    >>> table = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> matrix, names, columns = features_and_names(table, arms=["ash", "beech"])
    >>> np.shares_memory(matrix, table), names, columns
    (True, ('ash', 'beech'), None)
    """
    if features is None:
        if arms is not None:
            names = [str(name) for name in arms]
            if len(names) > MOST_WITHOUT:
                raise InvalidFeatures(
                    f"without features there may be at most {MOST_WITHOUT:,} arms, got "
                    f"{len(names):,}: every arm is its own dimension, and a table of arms × arms is "
                    "kept. Leave out arms that are known to be bad, or give features."
                )
            return np.eye(len(names)), _names(names, least), None
        raise InvalidFeatures(
            "neither features nor arms were given: pass features (one row per arm), or "
            "arms=[names] for arms about which nothing is known."
        )
    raw, named, titles = _read(features)
    if arms is not None:
        named = arms
    try:
        matrix = np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(
            f"features must be a table of numbers, one row per arm: {error}."
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidFeatures(
            f"features must be a table of K arms × N features, got shape {matrix.shape}: one row "
            "per arm, one column per feature."
        )
    names = [str(name) for name in (range(len(matrix)) if named is None else named)]
    if len(names) != len(matrix):
        raise InvalidFeatures(
            f"{len(names)} names were given for {len(matrix)} rows of features: one name per arm."
        )
    columns = None if titles is None else tuple(titles)
    bad = first_not_finite(matrix)
    if bad is not None:
        arm, column, count = bad
        raise InvalidFeatures(
            f"{column_name(columns, column)} of arm {names[arm]!r} is {matrix[arm, column]}: "
            "features must be "
            f"finite ({count} entries are not). Fill or drop them first."
        )
    # Names that are counted numbers are well formed and unique.
    counted = named is None and len(names) > 1
    return matrix, tuple(names) if counted else _names(names, least), columns


def column_name(columns: Sequence[str] | None, place: int) -> str:
    """A feature by the name of its column, or by its place where columns have no names.

    Examples
    --------
    >>> column_name(("lr", "depth"), 0), column_name(None, 0)
    ("'lr'", 'feature 0')
    """
    return f"feature {place}" if columns is None else repr(columns[place])


def _read(features: Any) -> Features:
    if isinstance(features, str | os.PathLike):
        return _read_file(os.fspath(features))
    if isinstance(features, pd.DataFrame):
        kinds = zip(features.columns, features.dtypes, strict=True)
        text = [str(c) for c, kind in kinds if not pd.api.types.is_numeric_dtype(kind)]
        counted = isinstance(features.columns, pd.RangeIndex)
        columns = None if counted else [str(c) for c in features.columns]
        if text:
            raise InvalidFeatures(
                f"features column {text[0]!r} is not numeric: encode it as numbers, or make it the "
                "index if it names the arms."
            )
        if len(set(features.dtypes)) == 1:
            numbers = features.to_numpy(dtype=np.float64, na_value=np.nan)
            return Features(numbers, features.index, columns)
        # For columns of several types, pandas would build a table in column order first.
        matrix = np.empty(features.shape)
        for place in range(features.shape[1]):
            column = features.iloc[:, place]
            matrix[:, place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return Features(matrix, features.index, columns)
    if type(features).__module__.partition(".")[0] == "pyarrow":
        from shortlist.files.arrow import from_arrow

        return Features(*from_arrow(features))
    return Features(features)


def _read_file(path: str) -> Features:
    if not os.path.exists(path):
        raise InvalidFeatures(f"features: there is no file {path!r}.")
    if path.endswith(".npy"):
        return Features(read_file(path, InvalidFeatures, map_npy, f"features: {path!r}"))
    if path.lower().endswith((".parquet", ".pq")):
        from shortlist.files.arrow import from_parquet

        return Features(*from_parquet(path))
    if path.lower().endswith((".csv", ".tsv", ".txt")):
        from shortlist.files.csv_files import read_table

        names, columns, rows = read_table(Path(path))
        if names is None:
            LOGGER.info("%s has no column of names: arms are named by their rows, from 0", path)
        return Features(rows, names, columns)
    raise InvalidFeatures(
        f"features: {path!r} is not a .csv, .tsv, .parquet or .npy file. Read it yourself, for "
        "instance with pandas, and pass the table."
    )


def _names(names: list[str], least: int) -> tuple[str, ...]:
    if len(names) < least:
        choose = " to choose among" if least > 1 else ""
        raise InvalidFeatures(f"at least {least} arms are needed{choose}, got {len(names)}.")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        broken = next(name for name in names if re.search("[\ud800-\udfff]", name))
        raise InvalidFeatures(
            f"the name {broken!r} is not text: it contains half of a surrogate pair. Rename it."
        ) from None
    if len(set(names)) < len(names):
        index = pd.Index(names, dtype=object)
        twice = index[index.duplicated()][0]
        raise InvalidFeatures(f"the name {twice!r} is given to more than one arm: rename one.")
    return tuple(names)


def map_npy(path: Path, _: object = None) -> NDArray[Any]:
    """The array of numbers in a ``.npy`` file as a memory map; raise if there is none."""
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")  # it unpickles nothing
    if array.dtype.kind not in KINDS or array.size == 0:
        raise ValueError(f"it contains {array.size} elements of {array.dtype}, not numbers")
    return array
