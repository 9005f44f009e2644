"""screen.toml and the files that it names: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from command_line import asked, does, fails, run, write

BAD_SCREENS: dict[str, dict[str, Any]] = {
    "screen.toml: unknown key 'sgima': did you mean 'sigma'?": {"sgima": 0.1},
    "screen.toml: sigma is missing": {"sigma": None},
    "screen.toml: sigma must be above 0": {"sigma": -1.0},
    "screen.toml: unknown sigma 'big'": {"sigma": "big"},
    "screen.toml: sigma must be a number, got '6' (str). Write 6, without quotes": {"sigma": "6"},
    "got '0,5' (str). Write 0.5: a decimal point, no quotes": {"sigma": "0,5"},
    "got '0.5' (str). Write 0.5, without quotes": {"sigma": "0.5"},
    "there is no key confidence: write the risk of a wrong answer, delta = 0.05": {
        "confidence": 0.95
    },
    "there is no key confidence: write the risk of a wrong answer, delta = 0.1.": {
        "confidence": 90
    },
    "screen.toml: m, the number of arms to find, is missing": {"m": None},
    "screen.toml: m must be a whole number, got 2.5": {"m": 2.5},
    "screen.toml: m must be at least 1 and below the number of arms (20), got 20": {"m": 20},
    "screen.toml: delta, the risk of a wrong answer, must lie between 0 and 1": {"delta": 5},
    "screen.toml: epsilon": {"epsilon": -0.1},
    "screen.toml: unknown algorithm 'm-LinGape': did you mean 'm-LinGapE'?": {
        "algorithm": "m-LinGape"
    },
    "screen.toml: unknown threshold 'self_normalised': did you mean 'self_normalized'?": {
        "threshold": "self_normalised"
    },
    "screen.toml: unknown trust 'guid': did you mean 'guide'?": {"trust": "guid"},
    "screen.toml: unknown trust 3": {"trust": 3},
    "screen.toml: trust = 'guide' needs features": {
        **{"features": None, "arms": ["a", "b", "c", "d"], "m": 1, "trust": "guide"}
    },
    "screen.toml: trust = 'guide' selects its own algorithm, but algorithm = 'LUCB'": {
        **{"trust": "guide", "algorithm": "LUCB"}
    },
    "screen.toml: algorithm must be text in quotes, got 3": {"algorithm": 3},
    "screen.toml: seed must be a whole number": {"seed": -1},
    "screen.toml: lease must be a number and a unit (s, min, h or days)": {"lease": "7"},
    "screen.toml: lease must be text in quotes, got 7": {"lease": 7},
    "screen.toml: give exactly one of features": {"features": None},
    "screen.toml: give exactly one of features (a file": {"arms": ["a", "b"]},
    "screen.toml: arms must be a list of names or the name of a file": {
        **{"features": None, "arms": 3}
    },
    "screen.toml: the name 'a' is given to more than one arm": {
        **{"features": None, "arms": ["a", "a", "b", "c"], "m": 1}
    },
    "there is no file nothing.csv": {"features": "nothing.csv"},
    "features.csv, line 1 has 5 cells: one name per line is expected": {
        **{"features": None, "arms": "features.csv"}
    },
    "there is no file nothing.csv: check the path.": {"pilot": "nothing.csv"},
    "features.csv has 5 columns where 2 are expected": {"pilot": "features.csv"},
}


@pytest.mark.slow
@pytest.mark.parametrize("message", BAD_SCREENS)
def test_a_bad_description_is_named_and_nothing_is_written(folder: Path, message: str) -> None:
    write(**BAD_SCREENS[message])
    before = sorted(folder.iterdir())
    fails(run("new", "screen.toml"), 2, message)
    assert sorted(folder.iterdir()) == before


def test_toml_that_is_none(folder: Path) -> None:
    Path("screen.toml").write_text("m = 3\nsigma == 0.1\n")
    fails(run("new", "screen.toml"), 2, "screen.toml: ", "line 2", 'key = "text" in quotes')
    Path("screen.toml").write_bytes(b"name = '\xe9'\n")
    fails(run("new", "screen.toml"), 2, "screen.toml is not text in UTF-8")
    fails(run("new", "other.toml"), 2, "there is no file other.toml")


BAD_FEATURES = {
    "features.csv, line 3, column 2: 'x' is not a finite number": "a,1\nb,2\nc,x\nd,4\n",
    "features.csv, line 2 has 3 cells and line 1 has 2": "a,1\nb,2,3\nc,3\nd,4\n",
    "features.csv: the name 'a' is given to more than one arm": "a,1\na,2\nc,3\nd,4\n",
    "features.csv: arms 'a' and 'b' have the same features": "a,1,1\nb,1,1\nc,3,0\nd,4,0\n",
    "features.csv: the arm in row 2 has no name in the first column": "a,1\n,2\nc,3\nd,4\n",
    "features.csv, line 1 has a single cell: a name is expected, then numbers": "a 1\nb 2\nc 3\n",
    "features.csv is empty": "\n",
}


@pytest.mark.parametrize("message", BAD_FEATURES)
def test_bad_features_are_named_by_their_file(folder: Path, message: str) -> None:
    write()
    Path("features.csv").write_text(BAD_FEATURES[message])
    fails(run("new", "screen.toml"), 2, message)
    assert not Path("screen.db").exists()


def test_arms_alone_make_a_classical_study(folder: Path) -> None:
    write(features=None, arms=["red ash", "beech", "elm, wych"], m=1, algorithm="LUCB")
    report = asked("new", "screen.toml")
    assert (report["arms"], report["algorithm"]) == (3, "LUCB")
    assert "features" not in does("new", "screen.toml").stdout.split("answer")[0]
    Path("arms.txt").write_text('red ash\nbeech\n\n"elm, wych"\n')
    write(features=None, arms="arms.txt", m=1, algorithm="LUCB")
    assert asked("new", "screen.toml")["made"] is False  # the very same study


@pytest.mark.slow
@pytest.mark.parametrize("indexed", [True, False])
def test_features_from_parquet_are_those_from_csv(folder: Path, indexed: bool) -> None:
    does("new", "screen.toml")
    table = pd.read_csv("features.csv", index_col=0)
    (table if indexed else table.reset_index()).to_parquet("features.parquet")
    text = Path("screen.toml").read_text()
    Path("screen.toml").write_text(text.replace("features.csv", "features.parquet"))
    assert asked("new", "screen.toml")["made"] is False
    Path("features.parquet").write_bytes(b"PAR1")
    fails(run("new", "screen.toml"), 2, "features.parquet", "cannot be read: it is damaged")
    Path("features.parquet").unlink()
    fails(run("new", "screen.toml"), 2, "there is no file features.parquet")


def test_the_first_column_names_the_arms_even_if_it_holds_numbers(folder: Path) -> None:
    Path("features.tsv").write_text("id\tsize\tcharge\n101\t1\t0\n102\t0\t1\n103\t1\t1\n")
    write(features="features.tsv", m=1)
    does("new", "screen.toml")
    assert shortlist.Study.load("screen.db").problem.names == (101, 102, 103)


def test_arms_that_are_numbered_are_found_by_files_and_commands(folder: Path) -> None:
    """As a DataFrame with such an index has them, however the table comes."""
    table = pd.DataFrame({"size": [1.0, 0.0, 1.0], "charge": [0.0, 1.0, 1.0]}, [12, 7, 0])
    table.to_csv("features.csv", index_label="id")
    table.to_parquet("features.parquet")
    for file in ("features.csv", "features.parquet"):
        assert shortlist.Study(file, m=1, sigma=0.1).problem.names == (12, 7, 0)
    write(features="features.csv", m=1)
    does("new", "screen.toml")
    does("ask", "screen.toml", "-n", 4, "--out", "plate.csv")
    plate = pd.read_csv("plate.csv")
    plate["value"] = [float(table.loc[arm].sum()) for arm in plate["arm"]]
    plate.to_csv("plate.csv", index=False)
    does("tell", "screen.toml", "plate.csv")
    does("tell", "screen.toml", "--arm", 7, "--value", 1.0)
    Path("more.csv").write_text("arm,value\n12,1.0\n0,2.0\n")
    does("tell", "screen.toml", "more.csv")
    told = asked("export", "screen.toml")["rows"]
    assert [row["arm"] for row in told][-3:] == [7, 12, 0]
    assert set(asked("status", "screen.toml")["shortlist"]) <= {12, 7, 0}
    study = shortlist.Study.load("screen.db")
    assert study.tell(arm=0, value=2.0).features["charge"] == 1.0
    assert study.table().loc[7, "pulls"] >= 1


@pytest.mark.slow
def test_name_storage_and_lease_of_a_screen(folder: Path) -> None:
    Path("kept").mkdir()
    for name in ("first", "second"):
        write(name=name, storage="kept/all.db", lease="1.5 h")
        assert asked("new", "screen.toml")["storage"] == str(Path("kept/all.db"))
    [trial] = asked("ask", "screen.toml")["trials"]
    span = pd.Timestamp(trial["due"]) - pd.Timestamp(trial["asked"])
    assert abs(span.total_seconds() - 5400) <= 1
    fails(run("status", "kept/all.db"), 2, "holds 2 studies", "'first', 'second'")
    assert asked("status", "kept/all.db", "--study", "first")["pending"] == 0
    assert asked("status", "kept/all.db", "--study", "second")["pending"] == 1
    assert asked("status", "screen.toml", "--study", "first")["study"] == "first"
    fails(run("status", "kept/all.db", "--study", "secnd"), 2, "did you mean 'second'?")
    rows = asked("list", "screen.toml")["studies"]
    assert [row["study"] for row in rows] == ["first", "second"]
    assert [line.split()[0] for line in does("list", "kept/all.db").stdout.splitlines()] == [
        *("first", "second")
    ]


@pytest.mark.slow
def test_a_missing_number_in_parquet_is_named_by_its_column(folder: Path) -> None:
    table = pd.read_csv("features.csv", index_col=0)
    table.loc["C04", "charge"] = np.nan
    table.to_parquet("features.parquet")
    write(features="features.parquet")
    fails(run("new", "screen.toml"), 2, "features.parquet: 'charge' of arm 'C04' is missing")


def test_what_is_wrong_with_features_is_said_once(folder: Path) -> None:
    write(m=1)
    Path("features.csv").write_text("a,1,5\nb,2,3\nc,3,3\nd,3,3.0000000001\n")
    result = does("new", "screen.toml")
    assert result.stdout.count("nearly like another") == 1
    assert result.stderr == ""


NAMELESS = "lr,depth\n1.25,3\n0.5,4\n0.75,9\n0.25,1\n"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_features_without_names_are_named_by_their_rows_and_new_says_so(
    folder: Path, ending: str
) -> None:
    Path("features.csv").write_text(NAMELESS)
    pd.read_csv("features.csv").to_parquet("features.parquet")
    write(features=f"features.{ending}", m=1)
    said = " ".join(does("new", "screen.toml").stdout.split())
    assert "4, each with 2 features and an intercept: 0, 1, 2, 3" in said
    assert "has no names, so the arms are named by their rows" in said
    study = shortlist.Study.load("screen.db")
    assert study.problem.given.numbers[0].tolist() == [1.25, 3.0]
    assert asked("ask", "screen.toml")["trials"]


@pytest.mark.parametrize("heading", ["name", "", "Compound"])
def test_numbers_under_a_heading_of_names_are_names(folder: Path, heading: str) -> None:
    Path("features.csv").write_text(f"{heading},x,y\n1.5,1,0\n2.5,0,1\n3.5,2,1\n")
    write(m=1)
    does("new", "screen.toml")
    assert shortlist.Study.load("screen.db").problem.names == ("1.5", "2.5", "3.5")


def test_direction_is_a_key(folder: Path) -> None:
    write(direction="minimize", features=None, arms=["a", "b"], m=1)
    report = asked("new", "screen.toml")
    assert report["direction"] == "minimize"
    assert "above the true mean of rank 1 (the smallest first)" in report["guarantee"]
    assert "1 of smallest mean" in does("new", "screen.toml").stdout
    asked("ask", "screen.toml")
    write(features=None, arms=["a", "b"], m=1)
    fails(run("ask", "screen.toml"), 2, "direction = 'minimize'")
    write(direction="down", features=None, arms=["a", "b"], m=1, name="other")
    fails(run("new", "screen.toml"), 2, "direction must be 'maximize' or 'minimize'")


def test_a_sqlite_url_is_a_path_beside_the_screen_file(folder: Path) -> None:
    write(storage="sqlite:///kept.db")
    does("new", "screen.toml")
    assert (folder / "kept.db").exists()
    assert asked("status", "sqlite:///kept.db")["study"] == "screen"
    write(storage="sqlite://")
    fails(run("new", "screen.toml"), 5, "names no file")


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


def test_features_guide_a_screen_that_says_so(folder: Path) -> None:
    write(trust="guide")
    printed = does("new", "screen.toml").stdout
    assert "Guess-and-verify (guided)" in printed
    assert "nothing is assumed about how the means depend on the features" in " ".join(
        printed.split()
    )
    assert "already exists" in does("new", "screen.toml").stdout
    assert shortlist.Study.load("screen.db").procedure.relation.guide == "least squares"
