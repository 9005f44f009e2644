"""Excel workbooks (.xlsx), through openpyxl: the cells of one sheet as texts, and tables as a sheet.

What is read is checked as a CSV file is, since cells become the texts that CSV would have. A workbook is
a zip of XML: what it would take is known before it is unpacked, and definitions of entities are refused.
"""

from __future__ import annotations

import io
import math
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.parsers import expat

from shortlist.errors import InvalidFeatures, InvalidSetting
from shortlist.files.limits import CELL, Memory
from shortlist.files.paths import regular_file
from shortlist.files.reading import damaged
from shortlist.printable import printable, quoted

SUFFIX = ".xlsx"
TIMES = 8  # the size of the XML, which Python's objects for its cells may take
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767  # of a sheet, and of a cell
NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # what a workbook cannot contain
INSTALL = "pip install 'shortlist[excel]'"


def is_workbook(file: Path) -> bool:
    """Whether a file is called as a workbook is."""
    return file.suffix.lower() == SUFFIX


def read_cells(file: Path, data: bytes | None = None) -> list[tuple[int, list[str]]]:
    """The rows of the one sheet that is not empty: their numbers, and their cells as CSV has them.

    ``data`` is the file's content, where it was sent and is not on the disk.
    """
    if find_spec("openpyxl") is None:
        raise InvalidFeatures(
            f"{file}: openpyxl is needed to read a workbook: {INSTALL}, or save it as CSV in UTF-8."
        )
    content = regular_file(file, InvalidFeatures).read_bytes() if data is None else data
    memory = Memory(file, InvalidFeatures, len(content))
    try:
        _check(io.BytesIO(content), memory)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions, which are not read
            sheets = _sheets(content, memory)
    except InvalidFeatures:
        raise
    except MemoryError:
        raise memory.exceeded() from None
    except Exception as failure:
        raise damaged(file, failure, InvalidFeatures) from None
    if len(sheets) > 1:
        raise InvalidFeatures(
            f"{file} has {len(sheets)} sheets that are not empty ({quoted(sheets, 5)}): one table is "
            "expected. Keep the one that is meant, or save it as a file of its own."
        )
    return next(iter(sheets.values()), [])


def _check(content: io.BytesIO, memory: Memory) -> None:
    """Raise for content that is too large unpacked, or that defines entities."""
    try:
        whole = zipfile.ZipFile(content)
    except zipfile.BadZipFile:
        raise InvalidFeatures(
            f"{memory.source} is not an Excel workbook (.xlsx): it is damaged, or a file of another kind. "
            "Save it as .xlsx, or as CSV in UTF-8."
        ) from None
    with whole:
        for member in whole.infolist():
            memory.need(TIMES * member.file_size)
        for member in whole.infolist():
            if member.filename.lower().endswith((".xml", ".rels")):
                with whole.open(member) as part:
                    if _defines(part):
                        raise InvalidFeatures(
                            f"{memory.source}: {printable(member.filename)} has a document type, which "
                            "no workbook has: the file was not read. Save it again as .xlsx, or as CSV."
                        )


def _defines(part: Any) -> bool:
    """Whether XML has a document type, where entities would be defined; looks no further."""
    found: list[bool] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: found.append(True)
    parser.StartElementHandler = lambda *_: found.append(False)
    while not found and (chunk := part.read(1 << 12)):
        parser.Parse(chunk)
    return bool(found) and found[0]


def _sheets(content: bytes, memory: Memory) -> dict[str, list[tuple[int, list[str]]]]:
    """The rows that are not blank of all sheets that have some, by the sheets' names."""
    import openpyxl

    found = {}
    options: dict[str, Any] = {"read_only": True, "keep_links": False}
    values = openpyxl.load_workbook(io.BytesIO(content), data_only=True, **options)
    written = openpyxl.load_workbook(io.BytesIO(content), data_only=False, **options)
    try:
        for sheet, other in zip(values.worksheets, written.worksheets, strict=True):
            rows = list(_rows(sheet, other, memory))
            if rows:
                width = max(len(cells) for _, cells in rows)
                memory.need(64 * width * len(rows))
                padded = ((number, cells + [""] * (width - len(cells))) for number, cells in rows)
                found[str(sheet.title)] = list(padded)
    finally:
        values.close()
        written.close()
    return found


def _rows(sheet: Any, written: Any, memory: Memory) -> Iterator[tuple[int, list[str]]]:
    for each in (sheet, written):
        each.reset_dimensions()  # what it says of its own size may be wrong
    both = zip(sheet.iter_rows(), written.iter_rows(), strict=True)
    for number, (row, formulas) in enumerate(both, 1):
        cells: list[str] = []
        memory.need(CELL * len(row))
        if number > MOST_ROWS:
            raise InvalidFeatures(
                f"{memory.source} has more than {MOST_ROWS:,} rows: it is damaged."
            )
        for cell, formula in zip(row, formulas, strict=True):
            if cell.value is None and formula.value is not None:
                raise InvalidFeatures(
                    f"{memory.source}, line {number}, column {len(cells) + 1} has a formula whose value was not "
                    "saved: open the file in a spreadsheet program and save it, or write the value."
                )
            text = cell_text(cell.value)
            memory.need(len(text))
            cells.append(text.strip())
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def cell_text(value: object) -> str:
    """The value of a cell as CSV has it: whole numbers without a point, texts as they are.

    Examples
    --------
    >>> cell_text("007"), cell_text(7.0), cell_text(0.5), cell_text(None), cell_text(True)
    ('007', '7', '0.5', '', 'TRUE')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
        return str(int(value)) if whole else repr(value)
    return str(value)


def require_openpyxl(what: str) -> None:
    """Raise unless openpyxl is installed."""
    if find_spec("openpyxl") is None:
        raise ImportError(f"{what} needs openpyxl: {INSTALL}, or name a .csv file.")


def workbook(rows: Iterable[Sequence[object]]) -> bytes:
    """A workbook with these rows on its one sheet; texts stay texts, and none becomes a formula.

    Examples
    --------
    >>> read_cells(Path("a.xlsx"), workbook([["arm", "value"], ["007", 0.5], ["=1+2", None]]))
    [(1, ['arm', 'value']), (2, ['007', '0.5']), (3, ['=1+2', ''])]
    """
    require_openpyxl("writing a workbook")
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("shortlist")
    for number, row in enumerate(rows, 1):
        if number > MOST_ROWS or len(row) > MOST_COLUMNS:
            raise InvalidSetting(
                f"a sheet has {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns at most: name a .csv "
                "file."
            )
        sheet.append([_cell(sheet, value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(sheet: Any, value: Any) -> Any:
    """A cell with a number, nothing, or text that no spreadsheet takes for anything else."""
    from openpyxl.cell import WriteOnlyCell

    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    text = str(value)
    if NO_TEXT.search(text) or len(text) > MOST_LETTERS:
        raise InvalidSetting(
            f"a cell of a workbook cannot have {printable(text)[:40]!r}: it has a control character, "
            f"or more than {MOST_LETTERS:,} letters. Name a .csv file."
        )
    cell = WriteOnlyCell(sheet, text)
    cell.data_type, cell.number_format = "s", "@"
    return cell
