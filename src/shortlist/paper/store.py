"""Finished runs on disk, so that a long reproduction goes on where it stopped."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.files.writing import PART, make_folder, new_file

if TYPE_CHECKING:
    import pandas as pd

KEY = b"shortlist key"
ROWS = b"shortlist rows"  # a digest of them: Parquet itself does not notice every flipped bit
FORGOTTEN = 600.0  # seconds after which nobody is writing a draft any more
# What a run depends on; an edit elsewhere leaves finished runs valid.
ROOMS = (
    *("arrays.py", "numerics", "features.py", "noise", "posterior", "rules", "problem.py"),
    *("allocations", "designs"),
    *("theory", "engine", "plans", "catalog", "simulation"),
)


class Store:
    """A folder of Parquet files of rows, each under a digest of all that its rows depend on.

    A file that cannot be read, or whose rows are others, is not used, with a message: the rows are
    made again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, key: str, valid: Callable[[pd.DataFrame], bool]) -> Any:
        """The rows kept under a name and a key, or None; ``valid`` says whether they fit."""
        from shortlist.files.arrow import read_table

        path = self._path(name, key)
        if not path.is_file():
            return None
        try:
            table = read_table(path, InvalidInput)
            metadata = table.schema.metadata or {}
            if metadata.get(ROWS) != _rows_digest(table):
                reason = "it is damaged"
            elif metadata.get(KEY) == key.encode() and valid(frame := table.to_pandas()):
                return frame
            else:
                reason = "its content belongs to something else"
        except InvalidInput:
            reason = "it is damaged"
        except Exception as error:  # whole, but with anything in it
            reason = next(iter(str(error).splitlines()), type(error).__name__)
        print(f"shortlist: {path} is not used ({reason}); its runs are made again", file=sys.stderr)
        return None

    def write(self, name: str, key: str, frame: pd.DataFrame) -> None:
        """Keep rows; an interruption leaves the old file or the new one, whole."""
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        # Without pandas' own metadata: what the digest covers is then all that is read back.
        metadata = {KEY: key.encode(), ROWS: _rows_digest(table)}
        with finished_runs_are_kept():
            make_folder(self._folder)
            with new_file(self._path(name, key), replace=True) as file:
                # The types are then read back under the names that they have in the digest.
                whole = table.replace_schema_metadata(metadata)
                parquet.write_table(whole, file, use_compliant_nested_type=False)

    def sweep(self) -> None:
        """Remove the drafts of processes that were killed long ago."""
        for draft in self._folder.glob(f"*{PART}"):
            with suppress(OSError):
                # A younger one may be another process's, which is writing it right now.
                if time.time() - draft.stat().st_mtime > FORGOTTEN:
                    draft.unlink()

    def _path(self, name: str, key: str) -> Path:
        return self._folder / f"{name}-{key[:12]}.parquet"


def _rows_digest(table: Any) -> bytes:
    types = [str(kind) for kind in table.schema.types]
    return digest(repr(types), repr(table.to_pydict())).encode()


@contextmanager
def finished_runs_are_kept() -> Iterator[None]:
    """Add to the error of a file that cannot be written that no finished run is lost.

    Examples
    --------
    >>> with finished_runs_are_kept():
    ...     raise InvalidSetting("results cannot be written (No space left on device).")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: results cannot be written (No space left on device). Finished runs are kept: run it again to continue.
    """
    try:
        yield
    except InvalidSetting as error:
        raise InvalidSetting(f"{error} Finished runs are kept: run it again to continue.") from None


def digest(*parts: object) -> str:
    """A digest of settings: numbers, words, arrays, rules, and dataclasses of them.

    Examples
    --------
    >>> digest("a", 1.0, np.zeros(2)) == digest("a", 1.0, np.zeros(2))
    True
    >>> digest("a", 1.0, np.zeros(2)) == digest("a", 1.0, np.zeros(3))
    False
    """
    state = hashlib.sha256()
    for part in parts:
        for piece in _bytes(part):
            state.update(len(piece).to_bytes(8, "little") + piece)
    return state.hexdigest()


def _bytes(part: object) -> Iterator[bytes]:
    from shortlist.rules.rule import Rule

    if isinstance(part, Rule):
        yield part.name.encode()
    elif isinstance(part, np.ndarray):
        yield f"{part.dtype} {part.shape}".encode()
        yield np.ascontiguousarray(part).tobytes()
    elif is_dataclass(part) and not isinstance(part, type):
        yield from _bytes({each.name: getattr(part, each.name) for each in fields(part)})
    elif isinstance(part, dict):
        for name, value in part.items():
            yield str(name).encode()
            yield from _bytes(value)
    elif isinstance(part, tuple | list):
        for value in part:
            yield from _bytes(value)
    elif callable(part):  # made from the rest: the function that solves for w*, say
        yield getattr(part, "__qualname__", type(part).__name__).encode()
    else:
        yield repr(part).encode()


@cache
def code() -> str:
    """A digest of the sources that a run depends on: other code, other runs."""
    root = Path(__file__).parents[1]
    state = hashlib.sha256()
    for room in ROOMS:
        files = [root / room] if room.endswith(".py") else sorted((root / room).rglob("*.py"))
        if not files:
            raise FileNotFoundError(f"{root / room} contains no sources.")
        for path in files:
            state.update(path.read_bytes())
    return state.hexdigest()
