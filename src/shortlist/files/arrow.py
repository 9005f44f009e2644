"""Arrow tables and Parquet files: read into one table of numbers, a few columns at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import InvalidFeatures, InvalidInput
from shortlist.files.reader_process import (
    Send,
    check_size,
    read_in_process,
    read_matrix,
    send_shape,
)
from shortlist.printable import on_one_line

if TYPE_CHECKING:
    import pandas as pd


ROWS = 65_536  # of a batch
AT_ONCE = 1 << 20  # bytes of the columns read together; while they are decoded they take more
BUFFER = 1 << 20  # bytes read ahead of a column, which else is read whole


Read = tuple[Any, list[str] | None, list[str] | None]  # numbers, names of rows and of columns


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
    names = None if text is None else [str(name) for name in table.column(text).to_pylist()]
    lists = _rows_of_lists(table, columns)
    if lists is not None:
        return lists, names, None
    matrix = np.empty((table.num_rows, len(columns)))
    _fill(matrix, table, columns)
    return matrix, names, columns


def from_parquet(path: str) -> Read:
    """The numbers and names of a Parquet file; only a few of its columns are in memory besides."""
    try:
        require_pyarrow("features: to read a .parquet file pyarrow is needed")
    except ImportError as error:
        raise InvalidFeatures(str(error)) from None
    answer, matrix = read_matrix(
        "shortlist.files.arrow:send_numbers",
        {},
        source=f"features: {path!r}",
        error=InvalidFeatures,
        path=path,
    )
    columns = answer["columns"]
    return matrix, answer["names"], columns if len(columns) == matrix.shape[1] else None


def require_pyarrow(what: str) -> None:
    """Raise unless pyarrow is installed."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what}: pip install 'shortlist[parquet]'.")


def read_frame(path: str | PathLike[str], error: type[InvalidInput]) -> pd.DataFrame:
    """A Parquet file as a DataFrame, with the index that pandas gave it, or the error."""
    table = read_table(path, error)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except Exception as failure:  # what pandas noted in the file may be anything
        said = on_one_line(failure)[:200]
        raise error(f"{path}: this is not a Parquet file of a table ({said}).") from None
    return frame


def read_table(path: str | PathLike[str], error: type[InvalidInput]) -> Any:
    """A Parquet file as an Arrow table, read in a process of its own."""
    import pyarrow

    received: list[Any] = []
    read_in_process(
        "shortlist.files.arrow:send_table",
        {},
        source=path,
        error=error,
        path=path,
        take=lambda _, block: received.append(block),
    )
    with pyarrow.ipc.open_stream(pyarrow.py_buffer(received[0])) as stream:
        return stream.read_all()


# What follows runs in the process that reads files.


def send_numbers(request: dict[str, Any], most: int, send: Send) -> dict[str, Any]:
    """Send the columns of numbers of a Parquet file, some at a time; answer with the names."""
    with _opened(request["path"]) as file:
        schema = file.schema_arrow  # computed at every access
        columns, text = _columns(schema)
        _send_columns(file, columns, [schema.field(name).type for name in columns], most, send)
        names = None
        if text is not None:
            batches = _batches(file, [text], ROWS)
            names = [str(w) for _, batch in batches for w in batch.column(text).to_pylist()]
        return {"names": names, "columns": columns}


def send_table(request: dict[str, Any], most: int, send: Send) -> dict[str, Any]:
    """Send a Parquet file as one Arrow stream."""
    import pyarrow

    with _opened(request["path"]) as file:
        check_size(8 * file.metadata.num_rows * max(1, file.metadata.num_columns), most)
        table = file.read(use_threads=False)
    table.validate(full=True)
    check_size(table.nbytes, most)
    stream = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    send({}, np.frombuffer(stream.getvalue(), np.uint8))
    return {}


def _opened(path: str) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)


def _send_columns(file: Any, columns: list[str], kinds: list[Any], most: int, send: Send) -> None:
    """Send some columns at a time: a group of rows has each column in one piece.

    To read all columns a batch of rows at a time, all those pieces would be held, and decoded.
    """
    count = file.metadata.num_rows
    is_list = len(columns) == 1 and _is_list(kinds[0])
    width = kinds[0].list_size if is_list else len(columns)
    send_shape(count, width, most, send)
    if is_list:
        for part, batch in _batches(file, columns, max(1, AT_ONCE // (8 * width + 1))):
            rows = _rows_of_lists(batch, columns)
            send({"at": [part]}, np.asarray(rows, dtype=np.float64))
        return
    several = max(1, AT_ONCE // (8 * count + 1))
    for k in range(0, len(columns), several):
        some = columns[k : k + several]
        for part, batch in _batches(file, some, ROWS):
            block = np.empty((batch.num_rows, len(some)))
            _fill(block, batch, some)
            send({"at": [part, [k, k + len(some)]]}, block)


def _batches(file: Any, columns: list[str], rows: int) -> Iterator[tuple[list[int], Any]]:
    first = 0
    # For few columns, threads cost more in copies than they gain in speed.
    for batch in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
        yield [first, first + batch.num_rows], batch
        first += batch.num_rows


def _columns(schema: Any) -> tuple[list[str], str | None]:
    """The columns of numbers, and the one that names the arms."""
    from pyarrow import types

    try:  # the index that pandas had when it wrote the table; a mere count is not a column
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in about.get("index_columns", []) if isinstance(name, str)]
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise InvalidFeatures("features: pandas' description of the index is damaged.") from None
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
