"""Expression as text, compressed by gzip or not: CSV and TSV, GCT, GEO series matrices.

GCT 1.2 and 1.3 are the Broad Institute's text format.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.files.limits import Memory
from shortlist.files.paths import regular_file
from shortlist.repurposing.expression.assay import Assay, annotation, make_assay

LINES = 16  # at least, of the longest text that may be read
ROW = 160  # bytes that a row takes beside its numbers: the gene's name, and the index
MISSING = {"", "na", "n/a", "nan", "null"}
VERSIONS = {"#1.2": 2, "#1.3": 4}  # how many counts line 2 has
BEGIN, END = "!series_matrix_table_begin", "!series_matrix_table_end"


def first_bytes(path: str | PathLike[str]) -> bytes:
    """The beginning of a file, after decompression if it is compressed by gzip."""
    with _damage(path), _open(path) as file:
        return file.read(512)


@contextmanager
def open_text(path: str | PathLike[str], errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    """The file as text (UTF-8); raise if it is a web page."""
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
    place = regular_file(path, InvalidExpression)
    with place.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    whole: Any = gzip.GzipFile(place) if compressed else place.open("rb")
    memory = Memory(path, InvalidExpression, place.stat().st_size)
    return io.BufferedReader(_Limited(whole, memory), 1 << 16)


class _Limited(io.RawIOBase):
    """The bytes of a file, up to as many as it may have: a compressed one can grow a thousandfold.

    No line may be longer than a sixteenth of that, since lines are held whole.
    """

    def __init__(self, inside: Any, memory: Memory) -> None:
        self._inside, self._memory = inside, memory
        self._line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inside.read(len(buffer))
        buffer[: len(data)] = data
        self._memory.need(len(data))
        end = data.rfind(b"\n")
        self._line = self._line + len(data) if end < 0 else len(data) - end - 1
        if self._line > self._memory.most // LINES:
            raise self._memory.exceeded()
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
    """The rows of a table of numbers, collected one by one; an error names a wrong cell."""

    def __init__(self, source: str | PathLike[str], samples: Sequence[str]) -> None:
        self.source = source
        self.samples = list(samples)
        self.genes: list[str] = []
        self._values = array("d")
        self._memory = Memory(source, InvalidExpression, Path(source).stat().st_size)

    def add(self, line: int, gene: str, cells: Sequence[str]) -> None:
        """Add the row of a gene."""
        gene = gene.strip()
        if not gene:
            raise InvalidExpression(
                f"{self.source}, line {line}: expected a gene's name first, found an empty cell."
            )
        if len(cells) != len(self.samples):
            raise InvalidExpression(
                f"{self.source}, line {line} (gene {gene!r}): expected {len(self.samples)} values, "
                f"one per sample, found {len(cells)}."
            )
        self._memory.need(ROW + 16 * len(cells))
        self.genes.append(gene)
        self._values.frombytes(self._numbers(line, gene, cells).tobytes())

    def values(self) -> NDArray[np.float64]:
        """All rows, genes × samples."""
        return np.frombuffer(self._values).reshape(len(self.genes), len(self.samples))

    def _numbers(self, line: int, gene: str, cells: Sequence[str]) -> NDArray[np.float64]:
        with suppress(ValueError):
            row = np.array([float(cell) for cell in cells])
            if np.isfinite(row).all() and not any("_" in cell for cell in cells):
                return row
        # Something is missing, infinite or no number: find out what, cell by cell.
        row = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            if cell.strip().lower() in MISSING:
                continue
            with suppress(ValueError):
                row[i] = float(cell)
            if not np.isfinite(row[i]) or "_" in cell:  # Python reads 1_000 as a number
                raise InvalidExpression(
                    f"{self.source}, line {line}: gene {gene!r}, sample {self.samples[i]!r}: "
                    f"expected a number, or nothing where it is missing, found {cell.strip()!r}."
                )
        return row


def read_csv(path: str | PathLike[str]) -> Assay:
    """A text table: gene names in the first column, then one column per sample, named by line 1.

    Cells are separated by tabs, commas or semicolons, whichever of these line 1 has.
    """
    with open_text(path) as file:
        header = file.readline()
        delimiter = next((mark for mark in "\t,;" if mark in header), None)
        if delimiter is None:
            raise InvalidExpression(
                f"{path}, line 1: expected names of samples, separated by commas or tabs, found "
                f"{header.strip()[:60]!r}."
            )
        names = next(csv.reader([header], delimiter=delimiter))
        # Samples may well be numbered 1, 2, 3; measured values have decimals.
        if len(names) > 1 and names[0] and all(map(_is_decimal, names[1:])):
            raise InvalidExpression(
                f"{path}, line 1 reads {header.strip()[:60]!r}, a gene and its values, where the "
                "names of samples are expected: put them above it."
            )
        rows: Rows | None = None
        reader = csv.reader(file, delimiter=delimiter)
        try:
            for cells in reader:
                if not any(cells):
                    continue
                if rows is None:
                    # R writes no cell above the gene names: line 1 is one shorter then.
                    rows = Rows(path, names if len(cells) == len(names) + 1 else names[1:])
                rows.add(reader.line_num + 1, cells[0], cells[1:])
        except csv.Error as error:
            raise InvalidExpression(
                f"{path}, line {reader.line_num + 1}: this is not a table of text ({error})."
            ) from None
    if rows is None:
        raise InvalidExpression(f"{path}: there is no line after line 1, so there is no gene.")
    return make_assay(rows.values(), annotation(rows.genes), annotation(rows.samples), path)


def read_gct(path: str | PathLike[str], *, symbols: str | None = None) -> Assay:
    """A GCT file: a version, the counts, the names, then the table, all separated by tabs.

    The only field that may name the genes (``symbols``) is ``Description`` in version 1.2.
    """
    with open_text(path) as file:
        lines = ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(file, 1))
        version = next(lines, (1, [""]))[1][0].strip()
        if version not in VERSIONS:
            raise InvalidExpression(
                f"{path}, line 1: expected the version, #1.2 or #1.3, found {version[:40]!r}."
            )
        wanted, counts = VERSIONS[version], next(lines, (2, []))[1]
        words = [word for word in counts if word.strip()]
        if len(words) != wanted or not all(re.fullmatch("[0-9]{1,15}", w.strip()) for w in words):
            raise InvalidExpression(
                f"{path}, line 2: expected {wanted} whole numbers (version {version}), found "
                f"{words!r:.80}."
            )
        n_genes, n_samples, *more = map(int, words)
        n_fields, n_labels = more or (1, 0)  # version 1.2 has one Description a gene and no more
        width = 1 + n_fields + n_samples
        header = _cells(path, lines, width, "names of the columns")[1]
        fields, names = header[1 : 1 + n_fields], header[1 + n_fields :]
        about = {}  # of the samples: version 1.3 puts it in the first rows
        for _ in range(n_labels):
            _, cells = _cells(path, lines, width, "a field of the samples")
            about[cells[0]] = cells[1 + n_fields :]
        rows, described = Rows(path, names), []
        for _ in range(n_genes):
            number, cells = _cells(path, lines, width, "a gene")
            rows.add(number, cells[0], cells[1 + n_fields :])
            described.append(cells[1 : 1 + n_fields])
        for number, cells in lines:
            if any(cells):
                raise InvalidExpression(
                    f"{path}, line {number}: line 2 says {n_genes} genes, and here is another."
                )
    columns = dict(zip(fields, zip(*described, strict=True), strict=False))
    genes = annotation(rows.genes, columns)
    return make_assay(rows.values(), genes, annotation(names, about), path, symbols)


def _cells(
    path: object, lines: Iterator[tuple[int, list[str]]], width: int, what: str
) -> tuple[int, list[str]]:
    number, cells = next(lines, (0, []))
    if not number:
        raise InvalidExpression(f"{path}: the file ends where {what} is expected; it is cut short.")
    if len(cells) != width:
        raise InvalidExpression(
            f"{path}, line {number}: expected {what} in {width} cells, as line 2 says, found "
            f"{len(cells)}."
        )
    return number, cells


def read_series_matrix(path: str | PathLike[str]) -> Assay:
    """A ``GSE…_series_matrix.txt`` file, compressed or not.

    Genes are named as the platform names them, often by probe; ``rename_genes`` takes the
    platform's table of symbols. The annotation of the samples has one column a ``!Sample_`` line;
    a name that repeats gets a number.
    """
    about: dict[str, list[str]] = {}
    rows: Rows | None = None
    in_table = ended = False
    # Descriptions may contain letters in any encoding; they must not cost us the numbers.
    with open_text(path, errors="replace") as file:
        for number, line in enumerate(file, 1):
            cells = [cell.strip().strip('"') for cell in line.rstrip("\r\n").split("\t")]
            if cells[0] == BEGIN:
                in_table = True
            elif cells[0] == END:
                in_table, ended = False, True
            elif in_table and rows is None:
                rows = Rows(path, cells[1:])
            elif in_table and rows is not None:
                if any(cells):
                    rows.add(number, cells[0], cells[1:])
            elif cells[0].startswith("!Sample_"):
                field = cells[0].removeprefix("!Sample_")
                again = sum(known == field or known.startswith(f"{field}.") for known in about)
                about[f"{field}.{again}" if again else field] = cells[1:]
            elif number == 1 and not cells[0].startswith("!"):
                raise InvalidExpression(
                    f"{path}, line 1: expected a line of a GEO series matrix (!Series_…), found "
                    f"{line.strip()[:60]!r}."
                )
    if not ended:
        problem = (
            f"there is no {BEGIN} line; this is not a whole GEO series matrix."
            if rows is None
            else f"the table has no {END} line; the file is cut short, fetch it again."
        )
        raise InvalidExpression(f"{path}: {problem}")
    if rows is None or not rows.genes:
        raise InvalidExpression(
            f"{path}: its table has no row. Sequencing series keep their counts in supplementary "
            "files; read those instead."
        )
    per_sample = {name: cells for name, cells in about.items() if len(cells) == len(rows.samples)}
    samples = annotation(rows.samples, per_sample)
    return make_assay(rows.values(), annotation(rows.genes), samples, path)


def _is_decimal(cell: str) -> bool:
    try:
        return not float(cell).is_integer()
    except ValueError:
        return False
