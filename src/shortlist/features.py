"""Features as they come, and in a basis of their row space.

They are arrays, DataFrames, Arrow tables or files, copied only where needed; a ``.npy`` file is mapped
into memory.
"""

from __future__ import annotations

import logging
import numbers
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.arrays import Label, Reals
from shortlist.errors import InvalidFeatures, warn_caller
from shortlist.files.reading import read_file
from shortlist.linalg import (
    blocks,
    deviations,
    even,
    exponents,
    first_not_finite,
    gram,
    share_left_of_ones,
    triangle_of,
)

LOGGER = logging.getLogger(__name__)
IDENTIFIER = re.compile(r"(^|[_\s.])([iI][dD]|[iI]ndex|[kK]ey)$|[a-z]I[dD]$")
KINDS = "biuf"
MOST_WITHOUT = 30_000  # arms without features: each is its own dimension, in a table of 7 GB
INTERCEPT = "intercept"  # what the column that is added is called
# What may be left of a constant that the features express. A column of ones beside features that
# nearly express one would be refused, as nearly a combination of the others.
EXPRESSED = 2e-6
# Condition numbers: with more, columns are brought to the same size; with still more after that, the
# square leaves too few digits.
UNEVEN, WORST = 1e5, 1e6
LARGEST = 500  # powers of two: the squares of larger numbers are out of range
TWINS = 1e-6  # of the usual distance between two arms: nearer ones nearly coincide
UNSEEN = 1e-6  # of an arm's features, that a basis of lower rank may leave out


class Features(NamedTuple):
    """A table of numbers, with the names of its rows and of its columns where it has any."""

    numbers: Any
    names: Iterable[Any] | None = None
    columns: Sequence[str] | None = None


def features_and_names(
    features: Any, arms: Sequence[Any] | None, least: int = 2
) -> tuple[NDArray[np.float64], tuple[Label, ...], tuple[str, ...] | None]:
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
    given = None if arms is None else _listed(arms)
    if features is None:
        if given is not None:
            names = _labels(given, least)
            if len(names) > MOST_WITHOUT:
                raise InvalidFeatures(
                    f"without features there may be at most {MOST_WITHOUT:,} arms, got "
                    f"{len(names):,}: every arm is its own dimension, and a table of arms × arms is "
                    "kept. Leave out arms that are known to be bad, or give features."
                )
            return np.eye(len(names)), names, None
        raise InvalidFeatures(
            "neither features nor arms were given: pass features (one row per arm), or "
            "arms=[names] for arms about which nothing is known."
        )
    raw, named, titles = _read(features)
    if given is not None:
        named = given
    if given is None and _are_names(raw):
        raise InvalidFeatures(
            "the first argument is a table of features, one row of numbers per arm, and this is a list "
            "of texts: if these are the names of the arms, write arms=[…]."
        )
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
    names = _labels(range(len(matrix)) if named is None else named, least)
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
    return matrix, names, columns


def _are_names(raw: Any) -> bool:
    """Whether what was given as features is a list of texts that are no numbers.

    Examples
    --------
    >>> _are_names(["ash", "elm"]), _are_names(["1.5", "2"]), _are_names([[1.0], [2.0]])
    (True, False, False)
    """
    if isinstance(raw, np.ndarray):
        raw = raw.tolist() if raw.ndim == 1 and raw.dtype.kind in "OU" else ()
    if not isinstance(raw, list | tuple) or not raw or not all(isinstance(e, str) for e in raw):
        return False
    try:
        [float(each) for each in raw]
    except ValueError:
        return True
    return False


def with_intercept(
    matrix: NDArray[np.float64], columns: tuple[str, ...] | None
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """The table and the names of its columns, with a column of ones unless it can express one.

    Examples
    --------
    >>> table, columns = with_intercept(np.array([[1.0], [2.0]]), ("dose",))
    >>> table.tolist(), columns
    ([[1.0, 1.0], [2.0, 1.0]], ('dose', 'intercept'))
    >>> with_intercept(np.eye(2), None)[0].shape
    (2, 2)
    """
    if not matrix.any() or share_left_of_ones(matrix) < EXPRESSED:
        return matrix, columns
    table = np.ones((len(matrix), matrix.shape[1] + 1))
    for rows in blocks(matrix):
        table[rows, :-1] = matrix[rows]
    return table, None if columns is None else (*columns, INTERCEPT)


def column_name(columns: Sequence[str] | None, place: int) -> str:
    """A feature by the name of its column, or by its place where columns have no names.

    Examples
    --------
    >>> column_name(("lr", "depth"), 0), column_name(None, 0)
    ("'lr'", 'feature 0')
    """
    return f"feature {place}" if columns is None else repr(columns[place])


def _read(features: Any) -> Features:
    if isinstance(features, Features):
        return features
    if isinstance(features, str | os.PathLike):
        return _read_file(os.fspath(features))
    if isinstance(features, pd.DataFrame):
        _check_numeric(features)
        counted = isinstance(features.columns, pd.RangeIndex)
        columns = None if counted else [str(c) for c in features.columns]
        if isinstance(features.index, pd.RangeIndex):
            _warn_of_identifier(features)
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


def _check_numeric(table: pd.DataFrame) -> None:
    """Raise if a column is not of numbers, with the way to make it an index or numbers."""
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        way = (
            "Make a column of 0 and 1 of each of its words: pd.get_dummies(table, "
            f"columns=[{name!r}])."
        )
        if column.is_unique:
            way = f"If it names the arms: Study(table.set_index({name!r}), …). Else drop it."
        raise InvalidFeatures(f"features column {str(name)!r} is not numeric. {way}")


def _warn_of_identifier(table: pd.DataFrame) -> None:
    """Warn of a column of distinct whole numbers that is called as one that names the rows is."""
    for column, kind in zip(table.columns, table.dtypes, strict=True):
        if (
            IDENTIFIER.search(str(column))
            and pd.api.types.is_integer_dtype(kind)
            and table[column].is_unique
        ):
            warn_caller(
                UserWarning(
                    f"column {column!r} seems to name the arms, but it is used as a feature. If it "
                    f"names them: Study(table.set_index({column!r}), …). If it is one, rename it."
                )
            )
            return


def _read_file(path: str) -> Features:
    if not os.path.exists(path):
        raise InvalidFeatures(f"features: there is no file {path!r}.")
    if path.endswith(".npy"):
        return Features(read_file(path, InvalidFeatures, map_npy, f"features: {path!r}"))
    if path.lower().endswith((".parquet", ".pq")):
        from shortlist.files.arrow import from_parquet

        return Features(*from_parquet(path))
    if path.lower().endswith((".csv", ".tsv", ".txt", ".xlsx")):
        from shortlist.files.csv_files import read_table

        names, columns, rows = read_table(Path(path))
        if names is None:
            LOGGER.info("%s has no column of names: arms are named by their rows, from 0", path)
        return Features(rows, names, columns)
    raise InvalidFeatures(
        f"features: {path!r} is not a .csv, .tsv, .xlsx, .parquet or .npy file. Read it yourself, for "
        "instance with pandas, and pass the table."
    )


def _listed(arms: Any) -> list[Any]:
    """The names that ``arms=`` was given; raise for what is no list of names."""
    if isinstance(arms, pd.DataFrame):
        raise InvalidFeatures(
            "arms= is a list of names, got a DataFrame. If its columns are features, it goes first: "
            "Study(table, m=…, sigma=…), and its index names the arms. If nothing but the names is "
            "to be used: arms=table.index."
        )
    if isinstance(arms, str | bytes):
        raise InvalidFeatures(
            f"arms= is a list of names, got the text {str(arms)[:40]!r}: write arms=[…]. A file of "
            "features goes first: Study('features.csv', m=…, sigma=…)."
        )
    if isinstance(arms, Mapping | Set):
        kind = type(arms).__name__
        raise InvalidFeatures(
            f"arms= is a list of names, in an order that does not change, got a {kind}: write "
            f"arms=sorted({kind[0]}) for its names, where {kind[0]} is the {kind}."
        )
    if not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) != 1:
        what = f"an array of shape {arms.shape}" if hasattr(arms, "shape") else repr(arms)
        raise InvalidFeatures(
            f"arms= is a list of names, got {what}: write arms=range({arms}) to number them."
            if isinstance(arms, int | np.integer)
            else f"arms= is a list of names, got {what}. A table of features goes first."
        )
    return list(arms)


def _labels(given: Iterable[Any], least: int) -> tuple[Label, ...]:
    """The names of arms as they were given: whole numbers and text; others as text.

    Examples
    --------
    >>> _labels([np.int64(7), "C07"], least=2)
    (7, 'C07')
    """
    if isinstance(given, range) and len(given) > 1:  # well formed and unique
        return tuple(given)
    listed = list(given)
    found = tuple(map(_label, listed))
    if len(found) < least:
        choose = " to choose among" if least > 1 else ""
        raise InvalidFeatures(f"at least {least} arms are needed{choose}, got {len(found)}.")
    texts = list(map(str, found))
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        broken = next(name for name in texts if re.search("[\ud800-\udfff]", name))
        raise InvalidFeatures(
            f"the name {broken!r} is not text: it contains half of a surrogate pair. Rename it."
        ) from None
    if len(set(texts)) < len(texts):
        index = pd.Index(texts, dtype=object)
        twice = found[int(np.argmax(index.duplicated()))]
        raise InvalidFeatures(f"the name {twice!r} is given to more than one arm: rename one.")
    other = next((a for a in listed if not isinstance(a, str | numbers.Integral)), None)
    if other is not None:
        warn_caller(
            UserWarning(
                f"names of arms are whole numbers or text; others, such as {other!r}, are kept as "
                f"text: {str(other)!r}. To choose rows of your table by them, make its index text: "
                "table.index = table.index.map(str)."
            )
        )
    return found


def _label(name: Any) -> Label:
    is_number = isinstance(name, numbers.Integral) and not isinstance(name, bool | np.bool_)
    return int(name) if is_number else str(name)


def map_npy(path: Path, _: object = None) -> NDArray[Any]:
    """The array of numbers in a ``.npy`` file as a memory map; raise if there is none."""
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")  # it unpickles nothing
    if array.dtype.kind not in KINDS or array.size == 0:
        raise ValueError(f"it contains {array.size} elements of {array.dtype}, not numbers")
    return array


def reduce_to_rank(features: Reals) -> Reals:
    """The features in a basis of their row space: K × rank.

    The basis is orthonormal, so that inner products are unchanged, and features of full column rank
    are returned as they are, in the same memory. Where the columns differ too much in size for that
    (see ``fits_own_units``), they are brought to the same size first: every mean and variance is the
    same in any basis.

    Examples
    --------
    >>> reduce_to_rank(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])).shape
    (3, 1)
    >>> reduce_to_rank(np.array([[1.0, 0.0], [1.0, 1e-20], [0.0, 1e-20]])).shape
    (3, 2)
    """
    table = features if fits_own_units(features) else even(features)
    table = np.ascontiguousarray(table, dtype=np.float64)
    if gram(table) is not None:
        return table
    values, right = _singular(triangle_of(table), features.shape)
    if values[0] > WORST * values[-1]:
        raise nearly_redundant(float(values[0] / values[-1]))
    if len(right) == features.shape[1]:
        return table
    _check_kept(table, right)
    return np.ascontiguousarray(table @ right.T)


def fits_own_units(features: Reals) -> bool:
    """Whether the columns can be used as they are: none is lost beside a larger one.

    Examples
    --------
    >>> fits_own_units(np.diag([1.0, 1e3])), fits_own_units(np.diag([1.0, 1e9]))
    (True, False)
    """
    if gram(features) is not None:
        return True
    powers = exponents(features)
    if np.abs(powers).max() > LARGEST:
        return False
    # A Gram matrix would square the condition number; R has the singular values of the features.
    values, _ = _singular(triangle_of(features), features.shape)
    scaled, _ = _singular(triangle_of(features, powers), features.shape)
    return len(values) == len(scaled) and bool(values[0] <= UNEVEN * values[-1])


def look_doubtful(features: Reals) -> bool:
    """Whether columns differ extremely in size, or two arms may nearly coincide.

    Arms that nearly coincide are neighbours along any line; along one, so may others be.

    Examples
    --------
    >>> look_doubtful(np.array([[1.0], [2.0], [3.0]])), look_doubtful(np.array([[1.0], [2.0], [2.0000001]]))
    (False, True)
    """
    if np.abs(exponents(features)).max() > LARGEST:
        return True
    spread = deviations(features)
    varies = spread > 0.0
    line = np.cos(np.arange(1.0, len(spread) + 1.0))  # any direction would do
    line[varies] /= spread[varies] * np.linalg.norm(line)
    line[~varies] = 0.0
    apart = np.diff(np.sort(features @ line))
    return bool(apart.min(initial=np.inf) < TWINS * np.sqrt(2.0 * varies.sum()))


def _singular(triangle: Reals, shape: tuple[int, ...]) -> tuple[Reals, Reals]:
    """The singular values that exceed rounding errors, and a basis of the row space, a row each."""
    _, values, right = np.linalg.svd(triangle, full_matrices=False)
    rank = int(np.sum(values > values[0] * max(shape) * np.finfo(float).eps))
    return values[:rank], right[:rank]


def nearly_redundant(condition: float) -> InvalidFeatures:
    """What to raise where columns nearly determine each other."""
    return InvalidFeatures(
        f"some columns of the features are nearly combinations of others (condition number "
        f"{condition:.2g}, once all have the same size; at most {WORST:g} can be used): too few "
        "digits would be left of their differences. Leave out a column that others nearly determine."
    )


def _check_kept(table: Reals, right: Reals) -> None:
    """Raise where an arm is so small beside others that the row space does not contain it."""
    for rows in blocks(table):
        part = table[rows]
        rest = np.abs(part - (part @ right.T) @ right).max(axis=1)
        lost = rest > UNSEEN * np.abs(part).max(axis=1)
        if lost.any():
            raise InvalidFeatures(
                f"the features in row {rows.start + int(np.argmax(lost))} are too small beside those "
                "of other arms for the precision of the numbers: leave the arm out, or bring its "
                "features to the size of the others'."
            )
