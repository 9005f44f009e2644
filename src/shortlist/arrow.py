"""Features from Arrow tables and Parquet files: read into one table, a few columns at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from shortlist.errors import InvalidFeatures

ROWS = 65_536  # of a batch
AT_ONCE = 1 << 20  # bytes of the columns read together; while they are decoded they take more
BUFFER = 1 << 20  # bytes read ahead of a column, which else is read whole


def from_arrow(table: Any) -> tuple[Any, list[str] | None]:
    """The numbers of a Table or RecordBatch, and the arms' names if a column of text has them.

    Columns lie apart in memory and rows are wanted, so they are copied, once. A single column of
    lists of fixed length in float64 is in rows already, and is not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix, names = from_arrow(pa.table({"name": ["a", "b"], "x": [1.0, 2.0], "y": [3, 4]}))
    >>> matrix.tolist(), names
    ([[1.0, 3.0], [2.0, 4.0]], ['a', 'b'])
    """
    if not hasattr(table, "schema") or not hasattr(table, "column"):
        raise InvalidFeatures(
            f"features: of pyarrow a Table or a RecordBatch is understood, got "
            f"{type(table).__name__}."
        )
    columns, text = _columns(table.schema)
    names = None if text is None else [str(name) for name in table.column(text).to_pylist()]
    lists = _rows_of_lists(table, columns)
    if lists is not None:
        return lists, names
    matrix = np.empty((table.num_rows, len(columns)))
    _fill(matrix, table, columns)
    return matrix, names


def from_parquet(path: str) -> tuple[Any, list[str] | None]:
    """The same of a Parquet file, of which a few columns at most are in memory besides."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InvalidFeatures(
            "features: to read a .parquet file pyarrow is needed: pip install 'shortlist[parquet]'."
        ) from None
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            schema = file.schema_arrow  # made anew by every look
            columns, text = _columns(schema)
            matrix = _numbers(file, columns, [schema.field(name).type for name in columns])
            names = None if text is None else _text(file, text)
    except (ArrowException, OSError) as error:
        raise InvalidFeatures(f"features: {path!r} cannot be read: {error}.") from None
    return matrix, names


def _numbers(file: Any, columns: list[str], kinds: list[Any]) -> np.ndarray:
    """The table, filled column by column: of a group of rows a file has each column in one piece.

    To read all of them a batch of rows at a time, all those pieces would be held, and decoded.
    """
    rows = file.metadata.num_rows
    if len(columns) == 1 and _is_list(kinds[0]):
        matrix = np.empty((rows, kinds[0].list_size))
        for part, batch in _batches(file, columns, max(1, AT_ONCE // (8 * matrix.shape[1] + 1))):
            matrix[part] = _rows_of_lists(batch, columns)
        return matrix
    matrix = np.empty((rows, len(columns)))
    several = max(1, AT_ONCE // (8 * rows + 1))
    for k in range(0, len(columns), several):
        some = columns[k : k + several]
        for part, batch in _batches(file, some, ROWS):
            _fill(matrix[part, k : k + several], batch, some)
    return matrix


def _text(file: Any, name: str) -> list[str]:
    batches = _batches(file, [name], ROWS)
    return [str(word) for _, batch in batches for word in batch.column(name).to_pylist()]


def _batches(file: Any, columns: list[str], rows: int) -> Iterator[tuple[slice, Any]]:
    first = 0
    # Of few columns threads make more copies than haste.
    for batch in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
        yield slice(first, first + batch.num_rows), batch
        first += batch.num_rows


def _columns(schema: Any) -> tuple[list[str], str | None]:
    """The columns of numbers, and the one that names the arms."""
    from pyarrow import types

    index = _index_of_pandas(schema)
    text, numbers = [], []
    for field in schema:
        if field.name in index or types.is_string(field.type) or types.is_large_string(field.type):
            text.append(field.name)
        elif _is_number(field.type) or _is_list(field.type):
            numbers.append(field.name)
        else:
            raise InvalidFeatures(
                f"features column {field.name!r} is {field.type}, not numeric: encode it as "
                "numbers, or leave it out."
            )
    if len(text) > 1:
        raise InvalidFeatures(
            f"features columns {text[0]!r} and {text[1]!r} are both text or an index: one at most "
            "names the arms. Leave out the others, or encode them as numbers."
        )
    if len(set(numbers)) < len(numbers):
        raise InvalidFeatures("features: two columns have the same name. Rename one.")
    return numbers, text[0] if text else None


def _index_of_pandas(schema: Any) -> list[str]:
    """What pandas had as an index when it wrote the table; a mere count is no column."""
    about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    return [name for name in about.get("index_columns", []) if isinstance(name, str)]


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_list(kind) and _is_number(kind.value_type))


def _fill(matrix: np.ndarray, table: Any, columns: list[str]) -> None:
    for place, name in enumerate(columns):
        column = table.column(name)
        if _is_list(column.type):
            raise InvalidFeatures(
                f"features column {name!r} holds lists, and there are other columns of numbers: "
                "keep either."
            )
        matrix[:, place] = column.to_numpy(zero_copy_only=False) if _is_batch(table) else column


def _is_batch(table: Any) -> bool:
    return type(table).__name__ == "RecordBatch"


def _rows_of_lists(table: Any, columns: list[str]) -> np.ndarray | None:
    """The only column of numbers, if it holds lists: they are rows."""
    if len(columns) != 1 or not _is_list(table.column(columns[0]).type):
        return None
    column = table.column(columns[0])
    if not _is_batch(table):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if column.null_count:
        raise InvalidFeatures(f"features column {columns[0]!r} has rows that are missing.")
    flat = column.flatten()  # unlike .values it minds an offset
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
