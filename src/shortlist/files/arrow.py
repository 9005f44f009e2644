"""Arrow tables and Parquet files, through pyarrow: as a table of numbers or as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import InvalidFeatures, InvalidInput
from shortlist.files.limits import CELL, Memory
from shortlist.files.reading import read_file

if TYPE_CHECKING:
    import pandas as pd


PARTS = 16  # in which columns are read: fewer calls than one a column, less memory than all at once
ROWS = 4096  # of lists that are read at once
BUFFER = 1 << 20  # bytes read ahead of a column, which else is read whole


Read = tuple[Any, list[Any] | None, list[str] | None]  # numbers, names of rows and of columns


def from_arrow(table: Any) -> Read:
    """The numbers of a Table or RecordBatch, and the arms' names if a column of text has them.

    Columns lie apart in memory and rows are wanted, so they are copied, once. A single column of
    lists of fixed length in float64 is in rows already, and is not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"name": ["a", "b"], "x": [1.0, 2.0], "y": [3, 4]})
    >>> matrix, names, columns = from_arrow(table)
    >>> matrix.tolist(), names, columns
    ([[1.0, 3.0], [2.0, 4.0]], ['a', 'b'], ['x', 'y'])
    """
    if not hasattr(table, "schema") or not hasattr(table, "column"):
        raise InvalidFeatures(
            f"features: of pyarrow a Table or a RecordBatch is understood, got "
            f"{type(table).__name__}."
        )
    columns, text = _columns(table.schema)
    names = None if text is None else table.column(text).to_pylist()
    lists = _rows_of_lists(table, columns)
    if lists is not None:
        return lists, names, None
    matrix = np.empty((table.num_rows, len(columns)))
    _fill(matrix, table, columns)
    return matrix, names, columns


def from_parquet(path: str) -> Read:
    """The numbers and names of a Parquet file; a sixteenth of its columns is in memory besides."""
    try:
        require_pyarrow("features: to read a .parquet file pyarrow is needed")
    except ImportError as error:
        raise InvalidFeatures(str(error)) from None
    return read_file(path, InvalidFeatures, _numbers, source=f"features: {path!r}")


def _numbers(path: Path, memory: Memory) -> Read:
    import pyarrow

    with _opened(path, memory) as (file, schema):

        def part(some: list[str]) -> Any:
            # A column whose name has a dot comes with all that begin so.
            return _expanded(
                _rows(file, some).select(some),
                pyarrow.schema([schema.field(name) for name in some]),
                memory,
            )

        columns, text = _columns(schema)
        names = None if text is None else part([text])[0].to_pylist()
        if len(columns) == 1 and _is_list(schema.field(columns[0]).type):
            matrix = np.empty((file.metadata.num_rows, schema.field(columns[0]).type.list_size))
            rest = matrix
            for batch in file.iter_batches(ROWS, columns=columns, use_threads=False):
                rest[: len(batch)] = _rows_of_lists(batch, columns)
                rest = rest[len(batch) :]
            if len(rest):
                raise ValueError(f"{len(rest)} rows are missing")
            return matrix, names, None
        matrix = np.empty((file.metadata.num_rows, len(columns)))
        step = -(-len(columns) // PARTS) or 1
        for first in range(0, len(columns), step):
            some = columns[first : first + step]
            _fill(matrix[:, first:], part(some), some)
        return matrix, names, columns


def require_pyarrow(what: str) -> None:
    """Raise unless pyarrow is installed."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what}: pip install 'shortlist[parquet]'.")


def read_frame(path: str | PathLike[str], error: type[InvalidInput]) -> pd.DataFrame:
    """A Parquet file as a DataFrame, with the index that pandas gave it, or the error."""
    return read_file(path, error, _frame)


def _frame(path: Path, memory: Memory) -> pd.DataFrame:
    with _opened(path, memory) as (file, schema):
        frame: pd.DataFrame = _expanded(_rows(file, None), schema, memory).to_pandas()
    return frame


@contextmanager
def _opened(path: Path, memory: Memory) -> Iterator[tuple[Any, Any]]:
    """A Parquet file whose content may take the memory that it declares, and its schema.

    Text is read as a dictionary, which is how it is stored: what repeats is there once.
    """
    from pyarrow import parquet

    options: dict[str, Any] = {"buffer_size": BUFFER, "pre_buffer": False}
    with parquet.ParquetFile(path, **options) as file:
        metadata, schema = file.metadata, file.schema_arrow
    for field in schema:
        if not _is_flat(field.type):
            raise memory.error(
                f"{memory.source}: column {field.name!r} is {field.type}; numbers, text and lists "
                "of one length are read. Leave it out, or encode it as numbers."
            )
        if _is_list(field.type):  # of an empty list every element takes memory
            memory.need(CELL * metadata.num_rows * field.type.list_size)
    memory.need_table(metadata.num_rows, metadata.num_columns)
    leaves = [metadata.schema.column(k) for k in range(metadata.num_columns)]
    text = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    with parquet.ParquetFile(path, metadata=metadata, read_dictionary=text, **options) as file:
        yield file, schema


def _rows(file: Any, columns: list[str] | None) -> Any:
    """The columns as a table: no more rows than the file declares, whatever its columns contain."""
    import pyarrow

    most, batches = file.metadata.num_rows, []
    if most == 0:
        return file.schema_arrow.empty_table()
    for batch in file.iter_batches(most, columns=columns, use_threads=False):
        batches.append(batch)
        if sum(map(len, batches)) > most:
            raise ValueError(f"it declares {most:,} rows and has more")
    return pyarrow.Table.from_batches(batches)


def _expanded(table: Any, schema: Any, memory: Memory) -> Any:
    """The table with text in place of dictionaries, if that may take the memory."""
    from pyarrow import compute, types

    table.validate(full=True)
    for column in table.columns:
        if types.is_dictionary(column.type):
            for chunk in column.chunks:
                lengths = compute.binary_length(chunk.dictionary)
                memory.need(compute.sum(compute.take(lengths, chunk.indices)).as_py() or 0)
    return table if table.schema.equals(schema) else table.cast(schema)


def _is_flat(kind: Any) -> bool:
    """Whether a column contains numbers, text, times or lists of numbers of one length."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    others = types.is_temporal(kind) or types.is_decimal(kind) or types.is_null(kind)
    return _is_number(kind) or _is_text(kind) or _is_list(kind) or bool(others)


def _columns(schema: Any) -> tuple[list[str], str | None]:
    """The columns of numbers, and the one that names the arms."""
    try:  # the index that pandas had when it wrote the table; a mere count is not a column
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in about.get("index_columns", []) if isinstance(name, str)]
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise InvalidFeatures("features: pandas' description of the index is damaged.") from None
    text, numbers = [], []
    for field in schema:
        if field.name in index or _is_text(field.type):
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


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_list(kind) and _is_number(kind.value_type))


def _fill(matrix: np.ndarray, table: Any, columns: list[str]) -> None:
    for place, name in enumerate(columns):
        column = table.column(name)
        if _is_list(column.type):
            raise InvalidFeatures(
                f"features column {name!r} contains lists, but there are other columns of numbers: "
                "keep either."
            )
        matrix[:, place] = column.to_numpy(zero_copy_only=False) if _is_batch(table) else column


def _is_batch(table: Any) -> bool:
    return type(table).__name__ == "RecordBatch"


def _rows_of_lists(table: Any, columns: list[str]) -> np.ndarray | None:
    """The rows of the only column of numbers if it contains lists, else None."""
    if len(columns) != 1 or not _is_list(table.column(columns[0]).type):
        return None
    column = table.column(columns[0])
    if not _is_batch(table):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if column.null_count:
        raise InvalidFeatures(f"features column {columns[0]!r} has rows that are missing.")
    flat = column.flatten()  # unlike .values it respects an offset
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
