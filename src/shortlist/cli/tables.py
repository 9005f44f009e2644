"""Tables of numbers from CSV files; what is wrong with one is said with its file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shortlist.cli.decimals import read_numbers, resembles_number
from shortlist.errors import InvalidFeatures, InvalidInput
from shortlist.files.paths import checked_path

Line = tuple[int, list[str]]  # its number in the file, and its cells


class Table(NamedTuple):
    """A table of numbers, with names where the file has them."""

    rows: list[str] | None
    columns: list[str] | None
    values: list[list[float]]


def read_table(file: Path, *, named: bool = False) -> Table:
    """Read a CSV file; comma, semicolon, tab or spaces between the numbers.

    The first line names the columns if it is text. The first column names the rows if it is text,
    if its heading is empty (as pandas writes an index), or if ``named`` says so. If it does, spaces
    do not separate: names may hold them, and decimal commas are read as in plates.
    """
    lines = read_lines(file, spaced=not named)
    width = len(lines[0][1])
    for number, cells in lines:
        if len(cells) != width:
            raise InvalidFeatures(
                f"{file}, line {number} has {len(cells)} cells and line {lines[0][0]} has {width}: "
                "every line must have the same number of them. A comma within a cell needs quotes "
                "around it, or semicolons between the cells."
            )
    heading = lines[0][1]
    index = named or heading[0] == ""
    if named and width == 1:
        raise InvalidFeatures(
            f"{file}, line {lines[0][0]} has a single cell: a name is expected, then numbers, with "
            "commas, semicolons or tabs in between."
        )
    titled = heading[0] == "" or _is_heading(heading, lines[1:], named)
    body = lines[1:] if titled else lines
    if not body:
        raise InvalidFeatures(f"{file} has a heading and no numbers: add a line for each row.")
    first = 1 if index or _is_named(file, body) else 0
    values = _numbers(file, body, first, commas=named)
    rows = [cells[0] for _, cells in body] if first else None
    return Table(rows, heading[first:] if titled else None, values)


def read_vector(file: Path, names: list[str] | None, expected: int, what: str) -> list[float]:
    """Read one number for each of ``names``, in their order where the file names them too."""
    table = read_table(file)
    if len(table.values[0]) == 1 and (len(table.values) > 1 or table.rows):
        numbers, own = [row[0] for row in table.values], table.rows
    elif len(table.values) == 1:
        numbers, own = table.values[0], table.columns
    else:
        raise InvalidFeatures(
            f"{file} is a table of {len(table.values)} × {len(table.values[0])} numbers where one "
            f"column or one line is expected: one number {what}."
        )
    if len(numbers) != expected:
        raise InvalidFeatures(
            f"{file} has {len(numbers)} numbers where {expected} are expected: one {what}."
        )
    if own is None or names is None:
        return numbers
    for name in own:
        if own.count(name) != names.count(name):
            raise InvalidFeatures(
                f"{file} names {name!r} {own.count(name)} times, the features' file "
                f"{names.count(name)} times: use the same names in both, or none here."
            )
    return [numbers[own.index(name)] for name in names]


def read_lines(
    file: Path,
    *,
    spaced: bool = False,
    is_cut_right: Callable[[list[str], list[str]], bool] | None = None,
) -> list[Line]:
    """The lines that hold something, cut into cells at commas, semicolons or tabs.

    Spaces separate too where there is none of these and ``spaced`` says so: names may have spaces.
    ``is_cut_right`` is given the heading and a line, and may know that commas do separate.
    """
    file = checked_path(file, InvalidFeatures)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidFeatures(f"there is no file {file}: check the path.") from None
    except OSError as error:
        raise InvalidFeatures(
            f"{file} cannot be read ({error.strerror}): name a CSV file that can."
        ) from None
    except UnicodeDecodeError:
        raise InvalidFeatures(f"{file} is not text in UTF-8: save it as CSV in UTF-8.") from None
    start = next((line for line in text.splitlines() if line.strip()), "")
    mark = next((mark for mark in ";\t," if mark in start), None)
    if mark is None and spaced:
        lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    else:
        reader = csv.reader(io.StringIO(text), delimiter=mark or ",", strict=True)
        try:
            lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
        except csv.Error as error:
            raise InvalidFeatures(
                f"{file}, line {reader.line_num} cannot be read as CSV ({error}): is there a quote that is not "
                "closed? Correct it."
            ) from None
    lines = [(number, cells) for number, cells in lines if any(cells)]
    if not lines:
        raise InvalidFeatures(f"{file} is empty: write a line for each row, commas in between.")
    heading, rest = lines[0][1], [cells for _, cells in lines[1:]]
    if is_cut_right is None or not all(is_cut_right(heading, cells) for cells in rest):
        _check_one_separator(file, text, start, mark)
    return lines


def _check_one_separator(file: Path, text: str, start: str, mark: str | None) -> None:
    """Below a heading with commas, ``a;0,5`` would be cut within its number."""
    below = [line for line in text.splitlines() if line.strip() and line != start]
    if mark == "," and below and all(";" in line for line in below):
        raise InvalidFeatures(
            f"{file} has commas between the cells of its first line and semicolons in all others: "
            "use one of them throughout."
        )


def _is_heading(first: list[str], rest: list[Line], named: bool) -> bool:
    """A line of text; or a name over the names, and numbers that only count the columns."""
    if not any(resembles_number(cell) for cell in first[1 if named else 0 :]):
        return True
    counted = [[str(k + start) for k in range(len(first) - 1)] for start in (0, 1)]
    named = named or (bool(rest) and not any(resembles_number(cells[0]) for _, cells in rest))
    # With a single column "a,1" is more likely an arm and its number.
    return len(first) > 2 and not resembles_number(first[0]) and first[1:] in counted and named


def _is_named(file: Path, body: list[Line]) -> bool:
    numeric = [resembles_number(cells[0]) for _, cells in body]
    if any(numeric) and not all(numeric) and len(body[0][1]) > 1:
        number, cells = body[numeric.index(False)]
        raise InvalidFeatures(
            f"{file}, line {number}: the first column holds {cells[0]!r} here and a number "
            "elsewhere. Make it all numbers, or, if it names the rows, all text or with an empty "
            "heading."
        )
    return not any(numeric) and len(body[0][1]) > 1


def _numbers(file: Path, body: list[Line], first: int, *, commas: bool) -> list[list[float]]:
    width = len(body[0][1]) - first

    def where(k: int) -> str:
        return f"{file}, line {body[k // width][0]}, column {k % width + first + 1}"

    cells = [cell for _, line in body for cell in line[first:]]
    pointless = None if commas else next((k for k, cell in enumerate(cells) if "," in cell), None)
    if pointless is not None:
        raise InvalidFeatures(f"{where(pointless)}: {_no_number(cells[pointless])}")
    try:
        values = read_numbers(cells, where, _no_number)
    except InvalidInput as error:
        raise InvalidFeatures(str(error)) from None
    return [values[start : start + width] for start in range(0, len(values), width)]


def _no_number(cell: str) -> str:
    return f"{cell!r} is not a finite number. Correct it, or drop its row or its column."
