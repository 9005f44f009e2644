"""Excel workbooks are read as CSV is, and written so that nothing in them is changed or run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

import shortlist
from command_line import asked, does, fails, run
from served import client_of
from shortlist.errors import InvalidFeatures, InvalidInput, InvalidSetting
from shortlist.files.csv_files import read_lines, read_table
from shortlist.files.excel import read_cells, workbook

ARMS = ["007", "=1+2", "Aspirin", "a, b"]
FEATURES = [[1.0, 0.25], [1.0, -0.5], [1.0, 1e-7], [1.0, 3.0]]


def put(path: Path, rows: list[list[Any]]) -> Path:
    """A workbook as another program writes it."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def features(path: Path) -> Path:
    rows = [["name", "one", "x"], *([name, *x] for name, x in zip(ARMS, FEATURES, strict=True))]
    path.write_bytes(workbook(rows))
    return path


def rezipped(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The workbook with its parts changed."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as whole, zipfile.ZipFile(made, "w", 8) as other:
        for name in whole.namelist():
            other.writestr(name, change(name, whole.read(name)))
    return made.getvalue()


def test_features_are_those_of_the_same_table_in_csv(tmp_path: Path) -> None:
    problem = shortlist.Study(features(tmp_path / "arms.xlsx"), m=1, sigma=0.1).problem
    assert problem.names == tuple(ARMS)
    assert problem.columns == ("one", "x")
    assert np.array_equal(problem.features, FEATURES)
    frame = pd.DataFrame(FEATURES, index=[7, 12, 30, 1003])
    frame.to_excel(tmp_path / "pandas.xlsx")
    assert shortlist.Study(tmp_path / "pandas.xlsx", m=1, sigma=0.1).problem.names == (
        7,
        12,
        30,
        1003,
    )


def test_what_is_no_number_is_refused_as_in_csv(tmp_path: Path) -> None:
    for value in ("NA", "#N/A", None, "nan", "1,234", True):
        path = put(tmp_path / "arms.xlsx", [["name", "x"], ["a", 0.5], ["b", value], ["c", "1"]])
        with pytest.raises(InvalidFeatures, match=r"arms\.xlsx.*(line 3|decimal point|text)"):
            read_table(path)


def test_a_formula_whose_value_was_not_saved_is_no_blank(tmp_path: Path) -> None:
    path = put(tmp_path / "plate.xlsx", [["arm", "value"], ["a", 0.5], ["b", "=A2+1"]])
    with pytest.raises(InvalidFeatures, match="line 3, column 2 has a formula"):
        read_lines(path)


def test_one_table_is_expected(tmp_path: Path) -> None:
    path = put(tmp_path / "plate.xlsx", [["arm", "value"], ["a", 0.5]])
    book = openpyxl.load_workbook(path)
    book.create_sheet("empty")
    book.save(path)
    assert read_lines(path) == [(1, ["arm", "value"]), (2, ["a", "0.5"])]
    book.create_sheet("notes").append(["measured by Ann"])
    book.save(path)
    with pytest.raises(InvalidFeatures, match=r"2 sheets that are not empty .*'notes'"):
        read_lines(path)
    with pytest.raises(InvalidFeatures, match="is empty"):
        read_lines(put(tmp_path / "empty.xlsx", []))


def test_a_plate_goes_out_and_comes_back(folder: Path) -> None:
    features(folder / "arms.xlsx")
    (folder / "screen.toml").write_text('features = "arms.xlsx"\nm = 1\nsigma = 0.1\n')
    does("new", "screen.toml")
    does("ask", "screen.toml", "-n", 3, "--out", "plate.xlsx")
    book = openpyxl.load_workbook("plate.xlsx")
    rows = list(book.active.iter_rows())
    assert [cell.value for cell in rows[0]][-1] == "value"
    assert all(cell.data_type != "f" for row in rows for cell in row)
    for k, row in enumerate(rows[1:]):
        assert row[2].value in ARMS
        row[-1].value = 0.25 * k
    book.save("plate.xlsx")
    assert asked("tell", "screen.toml", "plate.xlsx")["taken"] == [0, 1, 2]
    assert asked("tell", "screen.toml", "plate.xlsx")["known"] == [0, 1, 2]
    does("export", "screen.toml", "--out", "trials.xlsx")
    assert asked("tell", "screen.toml", "trials.xlsx")["known"] == [0, 1, 2]
    does("export", "screen.toml", "--table", "--out", "table.xlsx")
    assert set(pd.read_excel("table.xlsx", dtype={"name": str})["name"]) == set(ARMS)
    fails(run("ask", "screen.toml", "--out", "plate.xls"), 2, ".csv or .xlsx")


def test_a_plate_can_be_sent_to_the_server(folder: Path) -> None:
    shortlist.Study(arms=ARMS, m=1, sigma=0.1, storage="screen.db", seed=0)
    sent = workbook([["arm", "value"], *([name, 0.5] for name in ARMS)])
    with client_of("screen.db") as client:
        page = client.page("preview", files={"plate": ("plate.xlsx", sent)}).text
        assert "007" in page
        assert "4 results" in page


def test_what_a_workbook_cannot_hold_is_refused() -> None:
    for name in ("a\x07b", "a" * 40_000):
        with pytest.raises(InvalidSetting, match=r"Name a \.csv file"):
            workbook([[name]])


# Files that are made to do harm


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "50M")
    bomb = rezipped(
        workbook([["a", 1]]), lambda name, part: part + b" " * 10_000_000 * name.endswith("1.xml")
    )
    (tmp_path / "bomb.xlsx").write_bytes(bomb)
    with pytest.raises(InvalidFeatures, match="SHORTLIST_MAX_BYTES"):
        read_cells(tmp_path / "bomb.xlsx")


def test_entities_are_refused(tmp_path: Path) -> None:
    definition = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'

    def change(name: str, part: bytes) -> bytes:
        start, mark, rest = part.partition(b"?>")
        return (start + mark + definition + rest) if mark else definition + part

    for only in ("sheet1.xml", "workbook.xml", "_rels/.rels"):
        made = rezipped(
            workbook([["a", 1]]),
            lambda name, part, only=only: change(name, part) if name.endswith(only) else part,
        )
        (tmp_path / "x.xlsx").write_bytes(made)
        with pytest.raises(InvalidFeatures, match="has a document type"):
            read_cells(tmp_path / "x.xlsx")


def test_rows_far_away_take_no_time(tmp_path: Path) -> None:
    made = rezipped(
        workbook([["a", 1]]), lambda _, part: part.replace(b'r="1"', b'r="99999999999"')
    )
    (tmp_path / "x.xlsx").write_bytes(made)
    with pytest.raises(InvalidFeatures):
        read_cells(tmp_path / "x.xlsx")


def test_whatever_is_damaged_is_an_error_of_ours(tmp_path: Path) -> None:
    whole = workbook([["arm", "value"], *([name, 0.5] for name in ARMS)])
    draws = np.random.default_rng(0)
    path = tmp_path / "x.xlsx"

    def mutated(part: bytes) -> bytes:
        bent = bytearray(part)
        for place in draws.integers(0, len(bent), draws.integers(1, 6)):
            bent[place] = draws.integers(0, 256)
        return bytes(bent[: draws.integers(1, len(bent) + 1)] if draws.random() < 0.3 else bent)

    for k in range(150):
        chosen = draws.choice(
            ["sheet1.xml", "workbook.xml", "sharedStrings.xml", ".rels", "styles.xml"]
        )
        path.write_bytes(
            mutated(whole)
            if k % 3 == 0
            else rezipped(whole, lambda n, p, c=chosen: mutated(p) if n.endswith(c) else p)
        )
        with suppress(InvalidInput):
            read_cells(path)
