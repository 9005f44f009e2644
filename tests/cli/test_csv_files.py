"""Tables as people and spreadsheets save them; decimal commas."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import asked, does, fails, run, write

TABLES = {
    "commas, no names": "1,0\n0,1\n1,1\n",
    "spaces, no names": "1 0\n0 1\n1 1\n",
    "tabs and a heading": "length\twidth\n1\t0\n0\t1\n1\t1\n",
    "an index as pandas writes it": ",0,1\n0,1,0\n1,0,1\n2,1,1\n",
    "a byte-order mark, empty lines, spaces": "\ufeff1, 0\n\n0, 1\n1, 1\n\n",
    "names only": "a,1,0\nb,0,1\nc,1,1\n",
    "names and a heading": "arm,length,width\na,1,0\nb,0,1\nc,1,1\n",
    "names and a heading that counts": "arm,0,1\na,1,0\nb,0,1\nc,1,1\n",
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_many_kinds_are_read(kind: str, tmp_path: Path) -> None:
    from shortlist.cli.csv_files import read_table

    file = tmp_path / "X.csv"
    file.write_text(TABLES[kind], encoding="utf-8")
    table = read_table(file)
    assert table.values == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    index = ["0", "1", "2"] if "pandas" in kind else None
    assert table.rows == (["a", "b", "c"] if kind.startswith("names") else index)
    if "heading" in kind:
        assert table.columns == (["0", "1"] if "counts" in kind else ["length", "width"])


BAD_TABLES = {
    "there is no file X.csv": None,
    "X.csv is empty": "\n\n",
    "X.csv, line 1, column 2: '' is not a finite number": "1,\n0,1\n1,1\n",
    "X.csv, line 1, column 2: 'NA' is not a finite number": "0.3,NA\n0,1\n1,1\n",
    "X.csv, line 1, column 2: '0,5' is not a finite number": "1;0,5\n0;1\n1;1\n",
    "X.csv has a heading and no numbers": "length,width\n",
    "X.csv, line 3, column 2: 'wide' is not a finite number": "1,0\n0,1\n1,wide\n",
    "X.csv, line 2, column 1: 'nan' is not a finite number": "1,0\nnan,1\n1,1\n",
    "X.csv, line 2, column 3: '' is not a finite number": "a,1,0\nb,0,\nc,1,1\n",
    "X.csv, line 3 has 3 cells and line 1 has 2": "1,0\n0,1\n1,1,1\n",
    "X.csv, line 2: the first column holds '0x' here": "1,0\n0x,1\n1,1\n",
    "X.csv, line 1, column 3: 'y' is not a finite number": "x,1,y\na,1,0\nb,0,1\n",
    "X.csv is not text in UTF-8": b"\xff\xfe\x00",
    "theta.csv has 2 numbers where 3 are expected: one per feature": "1,0,0\n0,1,0\n1,1,1\n",
    "the name 'a' is given to more than one arm": "a,1,0\na,0,1\nc,1,1\n",
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
    Path("theta.csv").write_text("1\n0.5\n")
    result = run("bound", "--features", "X.csv", "--theta", "theta.csv", "-m", 1, "--sigma", 1)
    fails(result, 2, message)


def with_commas(file: str) -> None:
    """As a spreadsheet with decimal commas saves it."""
    text = Path(file).read_text()
    Path(file).write_text(text.replace(",", ";").replace(".", ","))


@pytest.mark.slow
def test_decimal_commas_in_features_and_pilot_make_the_same_study(folder: Path) -> None:
    outlook = asked("new", "screen.toml")["outlook"]
    with_commas("features.csv")
    with_commas("pilot.csv")
    assert "C01;1;-0,36;1,2;1,4" in Path("features.csv").read_text()
    again = asked("new", "screen.toml")
    assert again["made"] is False  # to the last digit, or it would be refused
    assert again["outlook"]["lower_bound"] == outlook["lower_bound"]
    does("status", "screen.toml")


BAD_DECIMALS = {
    "features.csv, line 1, column 2: '1,234' may be 1.234 or 1234. Write one of these.": (
        "a;1,234;1\nb;2,345;2\nc;3;4\n"
    ),
    "features.csv, line 2, column 2: '0,5' has a comma, and '1.5' (features.csv, line 1, column 3)": (
        "a;1;1.5\nb;0,5;2\nc;3;4\n"
    ),
    "features.csv, line 2, column 3: '1.234,5' is not a finite number": (
        "a;1,5;1\nb;2;1.234,5\nc;3;4\n"
    ),
    "features.csv, line 1, column 2: '1.234,5' is not a finite number": (  # no heading, and no arm lost
        "a;1.234,5;2.345,6\nb;2;1\nc;3;4\n"
    ),
    "features.csv, line 2, column 2: '1_0' is not a finite number": "a,1,1\nb,1_0,2\nc,3,4\n",
    "features.csv, line 2, column 3: 'inf' is not a finite number": "a,1,1\nb,1,inf\nc,3,4\n",
    "features.csv, line 1, column 2: 'nan' is not a finite number": "a,nan,nan\nb,1,2\nc,3,4\n",
    "features.csv, line 2 has 4 cells and line 1 has 3": "name,x,y\na,0,5,1\nb,1,2\nc,3,4\n",
    "A comma within a cell needs quotes": "name,x,y\na,0,5,1\nb,1,2\nc,3,4\n",
    "features.csv has commas between the cells of its first line and semicolons in all others": (
        "name,x\na;0,5\nb;1,5\nc;2,5\n"
    ),
}


@pytest.mark.parametrize("message", BAD_DECIMALS)
def test_half_a_number_and_an_unclear_one_are_refused(folder: Path, message: str) -> None:
    write(m=1)
    Path("features.csv").write_text(BAD_DECIMALS[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


def test_a_pilot_cut_within_its_numbers_is_refused(folder: Path) -> None:
    write(pilot="pilot.csv")
    Path("pilot.csv").write_text("C01,0,34\nC04,0,59\n")
    fails(run("new", "screen.toml"), 2, "pilot.csv has 3 columns where 2 are", "A decimal comma")
    Path("pilot.csv").write_text("C01;1,234\nC04;2,345\n")
    fails(run("new", "screen.toml"), 2, "pilot.csv, line 1, column 2: '1,234' may be 1.234 or 1234")
