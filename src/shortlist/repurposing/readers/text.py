"""Text files, compressed or not: opening them, and turning their cells into numbers."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression

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


def _open(path: str | PathLike[str]) -> io.BufferedReader | gzip.GzipFile:
    with Path(path).open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if compressed else Path(path).open("rb")


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
