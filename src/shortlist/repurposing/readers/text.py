"""Text files, compressed or not: opening them, and turning their cells into numbers."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.files.limits import most_bytes, size_of, too_large
from shortlist.files.paths import checked_path

LINES = 16  # at least, of the longest text that may be read
MISSING = {"", "na", "n/a", "nan", "null"}


def first_bytes(path: str | PathLike[str], count: int = 512) -> bytes:
    """How a file begins, after decompression if it is compressed by gzip."""
    with _damage(path), _open(path) as file:
        return file.read(count)


@contextmanager
def open_text(path: str | PathLike[str], errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    """The file as text (UTF-8); a web page is turned away."""
    begin = first_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith(b"<"):
        raise InvalidExpression(
            f"{path}: line 1 begins with {begin[:15].decode(errors='replace')!r}: this is a web "
            "page (HTML), not expression data. The download went wrong; fetch the file again."
        )
    with (
        _damage(path),
        _open(path) as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors, newline="") as text,
    ):
        yield text


def _open(path: str | PathLike[str]) -> io.BufferedReader:
    place = checked_path(path, InvalidExpression)
    with place.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    whole: Any = gzip.GzipFile(place) if compressed else place.open("rb")
    return io.BufferedReader(_Limited(whole, path), 1 << 16)


class _Limited(io.RawIOBase):
    """The bytes of a file, up to as many as it may have: a compressed one can grow a thousandfold.

    No line may be longer than a sixteenth of that, since lines are held whole.
    """

    def __init__(self, inside: Any, path: str | PathLike[str]) -> None:
        self._inside, self._path = inside, path
        self._most = most_bytes(size_of(path))
        self._read = self._line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inside.read(len(buffer))
        buffer[: len(data)] = data
        self._read += len(data)
        end = data.rfind(b"\n")
        self._line = self._line + len(data) if end < 0 else len(data) - end - 1
        if self._read > self._most or self._line > self._most // LINES:
            raise too_large(self._path, None, self._most, InvalidExpression)
        return len(data)

    def close(self) -> None:
        self._inside.close()
        super().close()


@contextmanager
def _damage(path: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidExpression(
            f"{path}: the compressed file is cut short or damaged ({error}); fetch it again."
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidExpression(
            f"{path}: byte {error.start} of a block is not UTF-8 text; save the file as UTF-8, or "
            "check that it is text at all."
        ) from None


class Rows:
    """Collects the rows of a table of numbers, and says where a cell is not one.

    Parameters
    ----------
    source : path
        The file, for messages.
    samples : sequence of str
        What its columns are called.
    """

    def __init__(self, source: object, samples: Sequence[str]) -> None:
        self.source = source
        self.samples = list(samples)
        self.genes: list[str] = []
        self._values: list[NDArray[np.float64]] = []
        self._most = most_bytes(size_of(str(source)))

    def add(self, line: int, gene: str, cells: Sequence[str]) -> None:
        """One gene's row."""
        gene = gene.strip()
        if not gene:
            raise InvalidExpression(
                f"{self.source}, line {line}: expected a gene's name first, found an empty cell."
            )
        if len(cells) != len(self.samples):
            raise InvalidExpression(
                f"{self.source}, line {line} (gene {gene!r}): expected {len(self.samples)} values, "
                f"one a sample, found {len(cells)}."
            )
        if 8 * len(cells) * (len(self.genes) + 1) > self._most:
            raise too_large(self.source, None, self._most, InvalidExpression)
        self.genes.append(gene)
        self._values.append(self._numbers(line, gene, cells))

    def values(self) -> NDArray[np.float64]:
        """All rows, genes × samples."""
        return np.array(self._values).reshape(len(self.genes), len(self.samples))

    def _numbers(self, line: int, gene: str, cells: Sequence[str]) -> NDArray[np.float64]:
        try:
            row = np.array([float(cell) for cell in cells])
            plain = bool(np.isfinite(row).all()) and not any("_" in cell for cell in cells)
        except ValueError:
            plain = False
        if plain:
            return row
        # Something is missing, infinite or no number: find out what, cell by cell.
        pairs = zip(self.samples, cells, strict=True)
        return np.array([self._number(line, gene, sample, cell) for sample, cell in pairs])

    def _number(self, line: int, gene: str, sample: str, cell: str) -> float:
        if cell.strip().lower() in MISSING:
            return np.nan
        try:
            number = float(cell)
        except ValueError:
            number = np.inf
        if not np.isfinite(number) or "_" in cell:  # Python reads 1_000 as a number
            raise InvalidExpression(
                f"{self.source}, line {line}: gene {gene!r}, sample {sample!r}: expected a number, "
                f"or nothing where it is missing, found {cell.strip()!r}."
            )
        return number
