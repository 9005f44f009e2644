"""Features as they come: arrays, DataFrames, Arrow tables and files, copied only where needed.

A ``.npy`` file is mapped into memory once its header is known to be true.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidFeatures
from shortlist.numerics.blockwise import first_not_finite

LOGGER = logging.getLogger(__name__)
MAGIC = b"\x93NUMPY"
LONGEST = 65_536  # bytes of a header
KINDS = "biuf"
MOST = 32  # dimensions
MOST_WITHOUT = 30_000  # arms without features: each is its own dimension, in a table of 7 GB
_TYPE = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?[a-zA-Z]\d{0,3})['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,L]{0,400})\)""")


class Features(NamedTuple):
    """A table of numbers, with the names of its rows and of its columns where it has any."""

    numbers: Any
    names: Iterable[Any] | None = None
    columns: Sequence[str] | None = None


def features_and_names(
    features: Any, arms: Sequence[Any] | None
) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...] | None]:
    """The checked table of features, one row per arm, and the names of the arms and the columns.

    An array of float64 in C order, or a memory map of one, is taken as it is: nothing is copied.

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
            return np.eye(len(names)), _names(names), None
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
    return matrix, tuple(names) if counted else _names(names), columns


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
        try:
            return Features(map_npy(path))
        except (OSError, ValueError) as error:
            raise InvalidFeatures(f"features: {path!r} cannot be read: {error}.") from None
    if path.lower().endswith((".parquet", ".pq")):
        from shortlist.files.arrow import from_parquet

        return Features(*from_parquet(path))
    if path.lower().endswith((".csv", ".tsv", ".txt")):
        from shortlist.files.csv_files import read_table

        names, columns, rows = read_table(Path(path), named=None)
        if names is None:
            LOGGER.info("%s has no column of names: arms are named by their rows, from 0", path)
        return Features(rows, names, columns)
    raise InvalidFeatures(
        f"features: {path!r} is not a .csv, .tsv, .parquet or .npy file. Read it yourself, for "
        "instance with pandas, and pass the table."
    )


def _names(names: list[str]) -> tuple[str, ...]:
    if len(names) < 2:
        raise InvalidFeatures(f"at least 2 arms are needed to choose among, got {len(names)}.")
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


def map_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of a ``.npy`` file as a memory map.

    The header is not evaluated: it has to name a type of numbers, an order and a shape that the
    file is long enough for.

    Raises
    ------
    ValueError
        If it is not such a file; with the reason.
    OSError
        If it cannot be opened.
    """
    with open(path, "rb") as file:
        begin = file.read(8)
        if len(begin) < 8 or not begin.startswith(MAGIC):
            raise ValueError("it does not begin as a .npy file does")
        width = 2 if begin[6] == 1 else 4
        length = int.from_bytes(file.read(width), "little")
        if begin[6] not in (1, 2, 3) or length > LONGEST:
            raise ValueError("its header is damaged")
        header = file.read(length).decode("utf-8", "replace")
        offset, size = file.tell(), os.fstat(file.fileno()).st_size
    kind, order, shape = _TYPE.search(header), _ORDER.search(header), _SHAPE.search(header)
    if kind is None or order is None or shape is None:
        raise ValueError("its header does not name a type of numbers, an order and a shape")
    try:
        dtype = np.dtype(kind[1])
    except (TypeError, ValueError):
        raise ValueError(f"{kind[1]!r} is not a type of numbers") from None
    if dtype.kind not in KINDS:
        raise ValueError(f"it contains {dtype}, not numbers")
    extents = tuple(int(extent) for extent in re.findall(r"\d+", shape[1]))
    if len(extents) > MOST:
        raise ValueError(f"it has {len(extents)} dimensions")
    needed = dtype.itemsize * math.prod(extents)
    if needed == 0:
        raise ValueError(f"it is empty, of shape {extents}")
    if offset + needed > size:
        raise ValueError(
            f"its header declares {needed:,} bytes, and {max(0, size - offset):,} are there"
        )
    return np.memmap(path, dtype, "r", offset, extents or (1,), "F" if order[1] == "True" else "C")
