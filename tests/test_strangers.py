"""What strangers see and send: passwords, escape sequences, formulas, names that come back changed."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shortlist
from command_line import run
from shortlist.cli.screen_toml import read_screen_file
from shortlist.errors import ShortlistError
from shortlist.files.cells import csv_of
from shortlist.printable import CONTROL, on_one_line, printable
from shortlist.storage.address import check_address, shown, without_secrets
from shortlist.storage.opening import study_names
from shortlist.study.plate import match, read_plate, write_plate
from shortlist.study.running.progress import describe

SECRET = "s3cret"

TITLE = "\x1b]0;owned\x07"  # sets the title of a terminal's window

FORMULA = "=cmd|' /C calc'!A0"


ADDRESSES = [
    "postgresql:/u:{}@h/db",
    "postgresql:u:{}@h/db",
    "postgresql:///u:{}@h/db",
    "postgresql:////u:{}@h/db",
    " postgresql://u:{}@h:x/db",
    "postgres://u:{}@h:port/db",
    "postgresql://u:{}@h:port/db",
    "postgresql://u:{}@h:99999999999999999999/db",
    "postgresql://u:{}@ss@h/db",
    "postgresql://u:p@{}@127.0.0.1:1/db",
    "postgresql://u:{}@127.0.0.1:1/db",
    "postgresql://u@127.0.0.1:1/db?password={}",
    "postgresql://u@127.0.0.1:1/db?sslpassword={}",
    "postgresql://u@127.0.0.1:1/db?oauth_client_secret={}",
    "postgresql://u:{}@[::1/db",
    "postgresql+psycopg2://u:{}@127.0.0.1:1/db",
    "mysql://u:{}@h/db",
    "host=h user=u password={}",
    "host=h user=u password = '{} x'",
    "host=h dbname=x sslpassword={}",
    "PASSWORD={} host=h",
]


def leaves_no_trace(error: BaseException) -> None:
    chain = "".join(traceback.format_exception(error))
    values = "".join(
        str(each) + repr(each) for each in (error, error.__cause__) if each is not None
    )
    # The lines of this file are in the chain too, and hold no password.
    assert SECRET not in chain + values


# Passwords


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "password", [SECRET, f"a/{SECRET}/b", f"a@{SECRET}", f"#{SECRET}?x=[", f"%{SECRET}"]
)
def test_no_error_holds_a_password(address: str, password: str, tmp_path: Path) -> None:
    place = address.format(password)
    for use in (
        lambda: shortlist.Study.load(place),
        lambda: shortlist.Study(arms=["a", "b"], m=1, sigma=1, storage=place),
        lambda: study_names(place),
    ):
        with pytest.raises(ShortlistError) as caught:
            use()
        leaves_no_trace(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_command_prints_a_password(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = address.format(SECRET)
    screen = f"arms = ['a', 'b']\nm = 1\nsigma = 1\nstorage = {json.dumps(place)}\n"
    Path("screen.toml").write_text(screen)
    for words in (["status", place], ["list", place], ["new", "screen.toml"]):
        result = run(*words)
        assert result.exit_code in (2, 5), result.output
        assert SECRET not in result.output
        assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["screen.toml"]


def test_a_storage_of_another_type_is_not_repeated(tmp_path: Path) -> None:
    address = f"postgresql://u:{SECRET}@h/db"
    for place in (address.encode(), [address], {"url": address}, Path(address)):
        with pytest.raises(ShortlistError) as caught:
            shortlist.Study.load(place)  # type: ignore[arg-type]
        leaves_no_trace(caught.value)
    toml = tmp_path / "s.toml"
    toml.write_text(f'storage = ["{address}"]\n')
    with pytest.raises(ShortlistError) as caught:
        read_screen_file(toml)
    leaves_no_trace(caught.value)


def test_what_a_server_says_is_searched_for_the_password() -> None:
    address = f"postgresql://u:{SECRET}@h/db?sslpassword={SECRET}2"
    assert SECRET not in without_secrets(f"no user {SECRET}, no key {SECRET}2", address)
    assert SECRET not in shown(address)


@pytest.mark.parametrize(
    "place", ["a.db", "./a:/b.db", "/x/y z.db", "C:\\x.db", "C:/x.db", "a=b.db"]
)
def test_a_path_is_a_path(place: str) -> None:
    check_address(place)
    assert shown(place) == place


@pytest.fixture
def escaping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A study whose every name is an escape sequence."""
    monkeypatch.chdir(tmp_path)
    names = [f"{TITLE}a", "\x9b31mb", "c\u202ed", "e\rf"]
    study = shortlist.Study(
        np.eye(4), arms=names, m=1, sigma=0.1, seed=0, storage="a.db", name=f"{TITLE}s"
    )
    for _ in range(30):
        if study.done:
            break
        trial = study.ask()
        study.tell(trial, float(trial.arm))
    if not study.done:
        study.ask(2)
    yield tmp_path
    study.close()


# Terminals


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["status", "a.db"],
        ["list", "a.db"],
        ["why", "a.db", "0"],
        ["ask", "a.db", "--again"],
        ["fail", "a.db", "0"],
        ["tell", "a.db", "--arm", "nobody", "--value", "1"],
        ["tell", "a.db", f"{TITLE}.csv"],
        ["status", "a.db", "--study", f"{TITLE}x"],
        ["status", f"{TITLE}.db"],
        ["ask", "a.db", "--again", "--out", f"{TITLE}/x.csv"],
        ["export", "a.db", "--out", f"{TITLE}.csv"],
    ],
)
def test_no_escape_sequence_reaches_the_terminal(words: list[str], escaping: Path) -> None:
    result = run(*words)
    assert result.exit_code in (0, 2, 4), result.output
    assert result.output.strip()
    assert not CONTROL.search(result.output), ascii(result.output)


def test_what_python_prints_of_a_study_is_printable(escaping: Path) -> None:
    study = shortlist.Study.load("a.db")
    for text in (str(study.shortlist), describe(study), str(study.why(study.trials[0]))):
        assert not CONTROL.search(text), ascii(text)


def test_an_export_is_shown_on_a_terminal_and_exact_elsewhere(
    escaping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TITLE.encode() in run("export", "a.db").stdout_bytes
    monkeypatch.setattr(
        "shortlist.cli.export.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    )
    shown_there = run("export", "a.db").stdout
    assert not CONTROL.search(shown_there)
    assert r"\x1b]0;owned" in shown_there


def test_the_command_line_prints_in_one_place() -> None:
    folder = Path(shortlist.__file__).parent / "cli"
    calls = {
        path.name: path.read_text().count("typer.echo(")
        + path.read_text().count("print(")
        - path.read_text().count("_print(")
        - path.read_text().count(">>> print(")
        for path in folder.glob("*.py")
    }
    # Elsewhere: a table as bytes, and the last words when nothing else can be printed.
    assert {name: count for name, count in calls.items() if count} == {
        "output.py": 2,
        "export.py": 1,
    }


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert not CONTROL.search(printable(text))
    assert len(on_one_line(text).splitlines()) <= 1
    if text.isascii() and text.isprintable():
        assert printable(text) == on_one_line(text) == text


# Spreadsheets


def test_exports_hold_no_formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = shortlist.Study(arms=[FORMULA, "b"], m=1, sigma=1, seed=0, storage="a.db", name="=s")
    trial = study.ask()
    study.fail(trial, "@reason")
    study.ask(3)
    study.close()
    for words in (["export"], ["export", "--table"], ["ask", "--again"]):
        out = tmp_path / f"{'-'.join(words).strip('-')}.csv"
        assert run(words[0], "a.db", *words[1:], "--out", out).exit_code == 0
        for cell in pd.read_csv(out, dtype=str, keep_default_na=False).to_numpy().ravel():
            assert not cell.startswith(tuple("=+@\t")), cell
    table = pd.DataFrame({"=t": ["=a", None], "n": [-1.5, 2.0]}, index=["@i", "j"])
    assert csv_of(table).decode() == ",'=t,n\n'@i,'=a,-1.5\nj,,2.0\n"


NASTY = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r;,'\"=+-@\x1b\x85\u2028\u00a0\ufeff0a"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.lists(NASTY, min_size=2, max_size=4, unique=True),
    title=NASTY.filter(lambda text: text.strip() != ""),
    mark=st.sampled_from(",;"),
)
def test_a_plate_comes_back_whatever_the_names_are(
    names: list[str], title: str, mark: str, tmp_path: Path
) -> None:
    study = shortlist.Study(arms=names, m=1, sigma=1, seed=0)
    study.name = title
    trials = study.ask(3)
    path = tmp_path / "plate.csv"
    text = write_plate(study, trials, mark)
    path.write_bytes(text.encode())
    assert match(path, read_plate(path), study).blank == [trial.number for trial in trials]
    if "\r" in "".join([*names, title]):
        return  # pandas leaves it without quotes
    # As a spreadsheet saves it: no quotes that are not needed, Windows' line ends.
    frame = pd.read_csv(path, sep=mark, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    frame["value"] = "0.5"
    saved = frame.to_csv(index=False, sep=mark, lineterminator="\r\n")
    path.write_bytes(saved.encode())
    told = match(path, read_plate(path), study)
    assert told.results == [(trial.number, 0.5) for trial in trials]


def test_a_name_with_a_leading_blank_has_a_plate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shortlist.Study(arms=[" a", "b;c"], m=1, sigma=1, storage="a.db", name=" screen").close()
    assert run("ask", "a.db", "-n", 2, "--out", "p.csv").exit_code == 0
    plate = Path("p.csv")
    plate.write_text(plate.read_text().replace(",\n", ",0.5\n"))
    result = run("tell", "a.db", "p.csv")
    assert result.exit_code == 0, result.output
