"""Tables of numbers from CSV files and workbooks as people and spreadsheets write them.

A decimal comma is read where it can mean nothing else. Errors name the file and the line.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.advice import advise
from shortlist.errors import InvalidFeatures, InvalidInput
from shortlist.files.cells import NUMBER
from shortlist.files.excel import is_workbook, read_cells
from shortlist.files.paths import checked_path, regular_file

if TYPE_CHECKING:
    from shortlist.arrays import Label

Line = tuple[int, list[str]]  # its number in the file, and its cells

COMMA = re.compile(r"[+-]?(\d+,\d+|,\d+)([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
MINUS = "−"  # as word processors write it


class CsvTable(NamedTuple):
    """A table of numbers, with names where the file has them."""

    rows: list[Label] | None
    columns: list[str] | None
    values: list[list[float]]


def read_lines(
    file: Path,
    *,
    data: bytes | None = None,
    is_cut_right: Callable[[list[str], list[str]], bool] | None = None,
) -> list[Line]:
    """The lines that are not blank, split into cells at commas, semicolons or tabs.

    Of an Excel workbook it is the rows of its sheet.

    ``is_cut_right`` is given the heading and a line, and may know that commas do separate. ``data``
    is the file's content, where it was sent and is not on the disk.
    """
    file = checked_path(file, InvalidFeatures)
    try:
        if is_workbook(file):
            return _not_empty(file, read_cells(file, data))
        raw = io.BytesIO(regular_file(file, InvalidFeatures).read_bytes() if data is None else data)
        text = io.TextIOWrapper(raw, encoding="utf-8-sig").read()  # any line ends become \n
    except FileNotFoundError:
        raise InvalidFeatures(f"there is no file {file}: check the path.") from None
    except OSError as error:
        raise InvalidFeatures(
            f"{file} cannot be read ({error.strerror}): name a CSV file that can."
        ) from None
    except UnicodeDecodeError:
        raise InvalidFeatures(f"{file} is not text in UTF-8: save it as CSV in UTF-8.") from None
    start = next((line for line in text.splitlines() if line.strip()), "")
    mark = next((mark for mark in ";\t," if mark in start), ",")
    reader = csv.reader(io.StringIO(text), delimiter=mark, strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise InvalidFeatures(
            f"{file}, line {reader.line_num} cannot be read as CSV ({error}): is there a quote "
            "that is not closed? Correct it."
        ) from None
    lines = _not_empty(file, [(number, cells) for number, cells in lines if any(cells)])
    heading, rest = lines[0][1], [cells for _, cells in lines[1:]]
    if is_cut_right is None or not all(is_cut_right(heading, cells) for cells in rest):
        # Below a heading with commas, a;0,5 would be split within its number.
        below = [line for line in text.splitlines() if line.strip() and line != start]
        if mark == "," and below and all(";" in line for line in below):
            raise InvalidFeatures(
                f"{file} has commas between the cells of its first line and semicolons in all "
                "others: use one of them throughout."
            )
    return lines


def _not_empty(file: Path, lines: list[Line]) -> list[Line]:
    if not lines:
        raise InvalidFeatures(f"{file} is empty: write a line for each row, commas in between.")
    return lines


def read_table(file: Path, *, named: bool = False) -> CsvTable:
    """Read a table with commas, semicolons or tabs between its cells.

    The first line names the columns if it is text. The first column names the rows if the caller
    knows that it does (``named``), or if it can (``may_be_names``).
    """
    lines = read_lines(file)
    start, heading = lines[0]
    width = len(heading)
    for number, cells in lines:
        if len(cells) != width:
            raise InvalidFeatures(
                f"{file}, line {number} has {len(cells)} cells and line {start} has {width}: "
                "every line must have the same number of them. A comma within a cell needs quotes "
                "around it, or semicolons between the cells."
            )
    if width == 1:
        raise InvalidFeatures(
            f"{file}, line {start} has a single cell: a name is expected, then numbers, with "
            "commas, semicolons or tabs in between."
        )
    titled = heading[0] == "" or _is_heading(heading)
    body = lines[1:] if titled else lines
    if not body:
        raise InvalidFeatures(f"{file} has a heading but no numbers: add a line for each row.")
    title = heading[0] if titled else None
    first = 1 if named or may_be_names(title, [cells[0] for _, cells in body]) else 0
    for place in range(first, 0 if named else width):
        words = sorted({line[place] for _, line in body} - {""})
        if words and not any(map(resembles_number, words)):
            what = repr(heading[place]) if titled else f"{place + 1}"
            raise InvalidFeatures(
                f"{file}: column {what} is text, such as {words[0]!r}. Features are numbers: put a "
                "column of 0 and 1 for each of its words in its place (in pandas: "
                f"pd.get_dummies(table, columns=[{what}])), or drop it."
            )
    cells = [cell for _, line in body for cell in line[first:]]
    width -= first

    def where(k: int) -> str:
        return f"{file}, line {body[k // width][0]}, column {k % width + first + 1}"

    def no_number(cell: str) -> str:
        return f"{cell!r} is not a finite number. Correct it, or drop its row or its column."

    numbers = read_numbers(cells, where, no_number, InvalidFeatures)
    values = [numbers[k : k + width] for k in range(0, len(numbers), width)]
    rows = labels([cells[0] for _, cells in body]) if first else None
    return CsvTable(rows, heading[first:] if titled else None, values)


def _is_heading(first: list[str]) -> bool:
    """Whether the first line is text, or a name and then 0, 1, 2, … or 1, 2, 3, …."""
    if not any(map(resembles_number, first[1:])):
        return True
    counted = [[str(k + start) for k in range(len(first) - 1)] for start in (0, 1)]
    # With a single column "a,1" is more likely an arm and its number.
    return len(first) > 2 and not resembles_number(first[0]) and first[1:] in counted


NAMING = ("", "name", "names", "arm", "arms", "id", "index", "candidate", "compound", "drug")


def may_be_names(title: str | None, cells: Sequence[str]) -> bool:
    """Whether a first column, of this heading, can name arms: text, or whole numbers that differ.

    Examples
    --------
    >>> may_be_names("lr", ["0.1", "0.01"]), may_be_names("depth", ["3", "3"])
    (False, False)
    >>> may_be_names("compound", ["1.25", "0.5"]), may_be_names(None, ["1003", "1004"])
    (True, True)
    """
    if title is not None and title.casefold() in NAMING:
        return True
    if not all(map(resembles_number, cells)):
        return True
    return all(re.fullmatch(r"\d+", cell, re.ASCII) for cell in cells) and len(set(cells)) == len(
        cells
    )


def labels(cells: Sequence[str]) -> list[Label]:
    """Names as a DataFrame would have them: whole numbers if all are, written without zeros in front.

    Examples
    --------
    >>> labels(["7", "12"]), labels(["007", "012"]), labels(["7", "C12"])
    ([7, 12], ['007', '012'], ['7', 'C12'])
    """
    numbered = all(re.fullmatch(r"0|[1-9]\d{0,17}", cell, re.ASCII) for cell in cells)
    return [int(cell) for cell in cells] if numbered else list(cells)


def _no_result(text: str) -> str:
    if text.endswith("%"):
        return f"the value {text!r} is not a number. Leave out the per cent sign; σ is then in per cent."
    what = "is not finite" if text.lstrip("+-").lower() in ("nan", "inf") else "is not a number"
    return (
        f"the value {text!r} {what}. Leave it blank until the result arrives; if there will be "
        f"none, leave it blank, and {advise('fail')} closes it."
    )


def read_numbers(
    cells: Sequence[str],
    where: Callable[[int], str],
    no_number: Callable[[str], str] = _no_result,
    error: type[InvalidInput] = InvalidInput,
) -> list[float]:
    """The numbers of one file, which together tell what a comma means in it.

    ``where`` names the place of the k-th cell, ``no_number`` what to say about a cell that contains
    something else (by default that a result is not a number), ``error`` what to raise.

    Examples
    --------
    >>> read_numbers(["0,5", "1,234"], lambda k: f"line {k + 2}")
    [0.5, 1.234]
    >>> read_numbers(["1,234"], lambda k: f"line {k + 2}")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: line 2: '1,234' may be 1.234 or 1234. Write one of these.
    """
    texts = [cell.replace(MINUS, "-") for cell in cells]
    for k, text in enumerate(texts):
        if not (NUMBER.fullmatch(text) or COMMA.fullmatch(text)):
            raise error(f"{where(k)}: {no_number(text)}")
    commas = [k for k, text in enumerate(texts) if "," in text]
    point = next((k for k, text in enumerate(texts) if "." in text), None)
    if commas and point is not None:
        raise error(
            f"{where(commas[0])}: {texts[commas[0]]!r} has a comma, and {texts[point]!r} "
            f"({where(point)}) a decimal point. Use one of them throughout."
        )
    # One number such as 0,5 or 12,75 settles that commas are decimal in this file.
    if commas and all(THOUSANDS.fullmatch(texts[k]) for k in commas):
        text = texts[commas[0]]
        readings = f"{text.replace(',', '.')} or {text.replace(',', '')}"
        raise error(f"{where(commas[0])}: {text!r} may be {readings}. Write one of these.")
    values = [float(text.replace(",", ".")) for text in texts]
    for k, value in enumerate(values):
        if not math.isfinite(value):
            raise error(f"{where(k)}: {texts[k]!r} is too large for a number.")
    return values


def resembles_number(cell: str) -> bool:
    """Whether a cell is meant for a number, even one that is refused later.

    Examples
    --------
    >>> [resembles_number(cell) for cell in ("0,5", "1.234,5", "nan", "24h", "")]
    [True, True, True, False, False]
    """
    text = cell.replace(MINUS, "-")
    if COMMA.fullmatch(text) or re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*", text, re.ASCII):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
