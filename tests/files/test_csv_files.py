"""Tables as people and spreadsheets save them; decimal commas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shortlist.errors import InvalidFeatures
from shortlist.files.csv_files import read_table

TABLES = {
    "commas, no names": "1,0\n0,1\n1,1\n",
    "tabs and a heading": "length\twidth\n1\t0\n0\t1\n1\t1\n",
    "an index as pandas writes it": ",0,1\n0,1,0\n1,0,1\n2,1,1\n",
    "a byte-order mark, empty lines, spaces": "\ufeff1, 0\n\n0, 1\n1, 1\n\n",
    "names only": "a,1,0\nb,0,1\nc,1,1\n",
    "names and a heading": "arm,length,width\na,1,0\nb,0,1\nc,1,1\n",
    "names and a heading that counts": "arm,0,1\na,1,0\nb,0,1\nc,1,1\n",
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_many_kinds_are_read(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "X.csv"
    file.write_text(TABLES[kind], encoding="utf-8")
    table = read_table(file)
    assert table.values == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    index = [0, 1, 2] if "pandas" in kind else None
    assert table.rows == (["a", "b", "c"] if kind.startswith("names") else index)
    if "heading" in kind:
        assert table.columns == (["0", "1"] if "counts" in kind else ["length", "width"])


BAD_TABLES = {
    "there is no file X.csv": None,
    "X.csv is empty": "\n\n",
    "X.csv, line 1, column 2: '' is not a finite number": "1,,0\n0,1,1\n1,1,1\n",
    "X.csv, line 2, column 2: 'NA' is not a finite number": "0,1\n0.3,NA\n1,1\n",
    "X.csv, line 1 has a single cell": "1 0\n0 1\n1 1\n",
    "X.csv has a heading but no numbers": "length,width\n",
    "X.csv, line 3, column 2: 'wide' is not a finite number": "1,0\n0,1\n1,wide\n",
    "X.csv, line 2, column 2: 'nan' is not a finite number": "1,0\n0,nan\n1,1\n",
    "X.csv, line 2, column 3: '' is not a finite number": "a,1,0\nb,0,\nc,1,1\n",
    "X.csv, line 3 has 3 cells and line 1 has 2": "1,0\n0,1\n1,1,1\n",
    "X.csv, line 1, column 3: 'y' is not a finite number": "x,1,y\na,1,0\nb,0,1\n",
    "X.csv is not text in UTF-8": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("message", BAD_TABLES)
def test_a_bad_table_is_named_with_its_line(
    message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = BAD_TABLES[message]
    if isinstance(content, bytes):
        Path("X.csv").write_bytes(content)
    elif content is not None:
        Path("X.csv").write_text(content)
    with pytest.raises(InvalidFeatures, match=re.escape(message)):
        read_table(Path("X.csv"))


def test_a_column_of_words_is_named_with_a_way_to_make_it_numbers(tmp_path: Path) -> None:
    file = tmp_path / "X.csv"
    file.write_text("arm,size,oven\na,1,fan\nb,0,dry\nc,2,fan\n")
    with pytest.raises(InvalidFeatures, match=r"'oven' is text.* columns=\['oven'\]"):
        read_table(file)
    file.write_text("arm,size,oven\na,1,1\nb,0,dry\nc,2,3\n")
    with pytest.raises(InvalidFeatures, match="line 3, column 3: 'dry' is not a finite"):
        read_table(file)


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        ("lr,depth\n1.25,3\n0.5,4\n", None, 1.25),
        ("1.25,3\n0.5,4\n", None, 1.25),
        ("depth;lr\n3;0,5\n3;0,25\n", None, 3.0),
        ("1003,3\n1004,4\n", [1003, 1004], 3.0),
        ("0103,3\n1004,4\n", ["0103", "1004"], 3.0),
        ("1003,3\nC4,4\n", ["1003", "C4"], 3.0),
        ("id,x\n1.25,3\n0.5,4\n", ["1.25", "0.5"], 3.0),
        ("a,3\n0.5,4\n", ["a", "0.5"], 3.0),
    ],
)
def test_a_first_column_that_cannot_be_names_is_a_feature(
    text: str, names: list[int | str] | None, first: float, tmp_path: Path
) -> None:
    file = tmp_path / "X.csv"
    file.write_text(text)
    table = read_table(file)
    assert table.rows == names
    assert table.values[0][0] == first
