"""Plates: as they are written, and as they come back from the lab."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import shortlist
from command_line import GOOD, asked, does, fails, fill, fingerprint, run, tell_two, told, write


def test_a_plate_has_a_line_a_trial(screen: Path) -> None:
    report = asked("ask", "screen.toml", "-n", 3, "--out", "plate.csv")
    assert report["file"] == "plate.csv"
    rows = pd.read_csv("plate.csv")
    assert list(rows.columns) == ["study", "trial", "arm", "due", "value"]
    assert rows["trial"].tolist() == [trial["trial"] for trial in report["trials"]] == [0, 1, 2]
    assert rows["arm"].tolist() == [trial["arm"] for trial in report["trials"]]
    assert rows["value"].isna().all()
    study = shortlist.Study.load("screen.db")
    assert set(rows["study"]) == {study.mark}
    assert [trial.seed for trial in study.trials] == [trial["seed"] for trial in report["trials"]]


VALUES = [0.5, -0.25, 1234.0, 0.001]


# As people and spreadsheets save them; {mark} is the study's, and trial 4 is not measured yet.
PLATES = {
    "as it was written": (
        "study,trial,arm,due,value\n{mark},0,C09,,0.5\n{mark},1,C10,,-0.25\n{mark},2,C14,,1234\n"
        "{mark},3,C18,,1e-3\n{mark},4,C09,,\n"
    ),
    "a byte-order mark and Windows lines": (
        "\ufefftrial,arm,value\r\n0,C09,0.5\r\n1,C10,-0.25\r\n2,C14,1234\r\n3,C18,0.001\r\n4,C09,\r\n"
    ),
    "semicolons and decimal commas": (
        "trial;arm;value\n0;C09;0,5\n1;C10;-0,25\n2;C14;1234\n3;C18;0,001\n4;C09;\n"
    ),
    "a lone comma before three digits beside others": (
        "trial;arm;value\n0;C09;0,5\n1;C10;-0,25\n2;C14;1234,000\n3;C18;1,0E-3\n4;C09;\n"
    ),
    "tabs": "trial\tarm\tvalue\n0\tC09\t0.5\n1\tC10\t-0.25\n2\tC14\t1234\n3\tC18\t.001\n4\tC09\t\n",
    "quotes around everything": (
        '"trial","arm","value"\n"0","C09","0.5"\n"1","C10","-0.25"\n"2","C14","1234"\n'
        '"3","C18","0.001"\n"4","C09",""\n'
    ),
    "a decimal comma in quotes": (
        'trial,arm,value\n0,C09,"0,5"\n1,C10,"-0,25"\n2,C14,1234\n3,C18,"0,001"\n4,C09,\n'
    ),
    "empty lines and empty cells after the end": (
        "trial,arm,value,,\n0,C09,0.5,,\n\n1,C10,-0.25,,\n2,C14,1234,,\n3,C18,0.001,,\n,,,,\n,,,,\n"
    ),
    "other columns, another order, capitals and spaces": (
        " Value , Well, ARM ,Trial\n0.001,A4,C18,3\n1234 ,A3,C14, 2\n-0.25,A2,C10,1\n0.5,A1,C09,0\n"
    ),
    "numbers of trials as pandas writes them beside blanks": (
        "trial,arm,value\n0.0,C09,0.5\n1.0,C10,-0.25\n2.0,C14,1234.0\n3.0,C18,0.001\n"
    ),
    "a minus as word processors write it": (
        "trial,arm,value\n0,C09,+0.5\n1,C10,−0.25\n2,C14,1234.\n3,C18,0.001\n"
    ),
    "lines that end early": "trial,arm,value\n0,C09,0.5\n1,C10,-0.25\n2,C14,1234\n3,C18,0.001\n4,C09\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLATES)
def test_plates_of_many_kinds_are_read(plated: Path, kind: str) -> None:
    mark = shortlist.Study.load("screen.db").mark
    Path("plate.csv").write_bytes(PLATES[kind].replace("{mark}", mark).encode())
    report = asked("tell", "screen.toml", "plate.csv")
    assert report["taken"] == [0, 1, 2, 3]
    assert report["blank"] in ([4], [])
    assert told() == [*VALUES, None]
    assert asked("tell", "screen.toml", "plate.csv")["known"] == [0, 1, 2, 3]


BAD_PLATES = {
    "plate.csv, line 3: trial 7 is unknown; the study has asked for 5": GOOD.replace(
        "1,C10", "7,C10"
    ),
    "plate.csv, line 3: trial 1 is of 'C10' and the line says 'C14'": GOOD.replace("C10", "C14"),
    "plate.csv, line 3: trial 1 is of 'C10' and the line says ''": GOOD.replace("C10", ""),
    "plate.csv, line 3: the value 'high' is not a number": GOOD.replace("0.25", "high"),
    "plate.csv, line 3: the value '<0.25' is not a number": GOOD.replace("0.25", "<0.25"),
    "plate.csv, line 3: the value '25%' is not a number. Leave out the per cent sign": GOOD.replace(
        "0.25", "25%"
    ),
    "plate.csv, line 3: the value '1_0' is not a number": GOOD.replace("0.25", "1_0"),
    "plate.csv, line 3: the value 'NaN' is not finite": GOOD.replace("0.25", "NaN"),
    "plate.csv, line 3: the value '-inf' is not finite": GOOD.replace("0.25", "-inf"),
    "plate.csv, line 3: '1e999' is too large for a number": GOOD.replace("0.25", "1e999"),
    "plate.csv, line 3: '1,234' has a comma, and '0.5' (plate.csv, line 2) a decimal point": (
        GOOD.replace("0.25", '"1,234"')
    ),
    "plate.csv, line 2: '1,234' may be 1.234 or 1234. Write one of these.": (
        "trial;arm;value\n0;C09;1,234\n1;C10;\n"
    ),
    "plate.csv, line 2: the value '1.234,5' is not a number": "trial;arm;value\n0;C09;1.234,5\n",
    "plate.csv, line 3 has 4 cells and the heading has 3": GOOD.replace("0.25", "0,25"),
    "plate.csv, line 4: trial 1 is on line 3 too": GOOD + "1,C10,0.25\n",
    "plate.csv, line 3: '' is not a trial number": GOOD.replace("1,C10", ",C10"),
    "plate.csv, line 3: '1.5' is not a trial number": GOOD.replace("1,C10", "1.5,C10"),
    "plate.csv, line 3: '-1' is not a trial number": GOOD.replace("1,C10", "-1,C10"),
    "plate.csv, line 1 reads '0, C09, 0.5': a heading": GOOD.partition("\n")[2],
    "'value' is missing": GOOD.replace("value", "result"),
    "plate.csv, line 1 has two columns 'arm': keep one": GOOD.replace("value", "arm,value"),
    "add --semicolons": 'study,trial,arm,value;\n"s,0,C09,";0,5\n',
    "plate.csv is empty": "",
    "plate.csv is not text in UTF-8": b"PK\x03\x04\xff",
    "this plate belongs to the study 'other-12345678'": (
        "study,trial,arm,value\nother-12345678,0,C09,0.5\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("message", BAD_PLATES)
def test_a_bad_plate_is_named_by_line_and_nothing_of_it_is_taken(
    plated: Path, message: str
) -> None:
    content = BAD_PLATES[message]
    Path("plate.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = fingerprint()
    fails(run("tell", "screen.toml", "plate.csv"), 2, message)
    assert fingerprint() == before
    assert told() == [None] * 5


def test_another_value_for_a_told_trial_is_an_error_with_both(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    before = fingerprint()
    Path("plate.csv").write_text(GOOD.replace("0.25", "0.26") + "2,C14,0.1\n")
    fails(run("tell", "screen.toml", "plate.csv"), 2, "line 3", "told 0.25 before and is 0.26 here")
    assert fingerprint() == before


def test_a_value_for_a_failed_trial_is_an_error_and_a_blank_is_not(plated: Path) -> None:
    does("fail", "screen.toml", 1, "--reason", "dropped")
    Path("plate.csv").write_text(GOOD)
    result = run("tell", "screen.toml", "plate.csv")
    fails(result, 2, "line 3", "is failed (dropped) and has the value 0.25", "--arm")
    Path("plate.csv").write_text(GOOD.replace("0.25", ""))
    report = asked("tell", "screen.toml", "plate.csv")
    assert (report["taken"], report["blank"], report["failed"]) == ([0], [], 1)


def test_a_plate_of_the_same_screen_elsewhere_is_refused(plated: Path) -> None:
    fill("plate.csv")
    text = Path("screen.toml").read_text()
    Path("other.toml").write_text(text.replace("seed = 0", "seed = 1"))
    does("new", "other.toml")
    does("ask", "other.toml", "-n", 5)
    fails(run("tell", "other.toml", "plate.csv"), 2, "plate.csv, line 2: this plate belongs to")


def test_results_are_taken_in_the_order_of_asking_whatever_the_order_of_lines(
    plated: Path,
) -> None:
    fill("plate.csv")
    head, *lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([head, *reversed(lines)]))
    does("tell", "screen.toml", "plate.csv")
    assert [trial.number for trial in shortlist.Study.load("screen.db").taken] == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_names_that_a_spreadsheet_needs_help_with(folder: Path) -> None:
    names = ["β-carotene", "2,4-D", 'say "x"', "a b", " padded "]
    pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": [1.0, 0, 1, 0, 2]}, index=names).to_parquet(
        "f.parquet"
    )
    write(features="f.parquet", m=1)
    does("new", "screen.toml")
    for separator, words in ((",", []), (";", ["--semicolons"])):
        does("ask", "screen.toml", "-n", 8, "--out", "plate.csv", "--force", *words)
        content = Path("plate.csv").read_bytes()
        text = content.decode("utf-8-sig")
        assert content.startswith(b"\xef\xbb\xbf") == (not text.isascii())
        assert text.startswith(f"study{separator}trial{separator}arm{separator}")
        lines = text.splitlines()
        Path("plate.csv").write_text("\n".join([lines[0], *(line + "1" for line in lines[1:])]))
        assert asked("tell", "screen.toml", "plate.csv")["blank"] == []
    assert told() == [1.0] * 16


def test_a_plate_says_which_trials_the_next_look_needs(folder: Path) -> None:
    pd.DataFrame({"x": [1.0, 1, 1], "y": [1.0, 0, 2]}, index=["a", "b", "c"]).to_csv("f.csv")
    write(features="f.csv", m=1, algorithm="Guess-and-verify")
    does("new", "screen.toml")
    planned = len(shortlist.Study.load("screen.db").procedure.engine.setup.initial)
    result = does("ask", "screen.toml", "-n", planned + 2, "--out", "plate.csv")
    assert f"The first {planned} of these {planned + 2} trials" in result.stderr
    assert f"ask for {planned} to get no more than that." in result.stderr
    plate = pd.read_csv("plate.csv")
    assert list(plate["needed"]) == ["now"] * planned + ["if the study goes on"] * 2
    plate.assign(value=0.5).to_csv("plate.csv", index=False)
    does("tell", "screen.toml", "plate.csv")
    does("ask", "screen.toml", "--out", "next.csv")
    assert "needed" not in pd.read_csv("next.csv")


def test_another_value_for_a_told_trial_says_what_to_do(plated: Path) -> None:
    Path("plate.csv").write_text(GOOD)
    does("tell", "screen.toml", "plate.csv")
    Path("plate.csv").write_text(GOOD.replace("0.25", "0.26"))
    result = run("tell", "screen.toml", "plate.csv")
    fails(result, 2, "told 0.25 before and is 0.26 here", "--measured-again")
    fails(result, 2, "`shortlist correct screen.toml 1 --value=0.26 --reason TEXT` corrects it")
    fails(
        run("fail", "screen.toml", 1),
        2,
        "cannot be failed (0.25 is stored; `shortlist correct screen.toml 1 ",
    )
    assert told()[:2] == [0.5, 0.25]
    does("correct", "screen.toml", 1, "--value=0.26", "--reason", "typo")  # the advice works
    assert told()[:2] == [0.5, 0.26]
    assert asked("tell", "screen.toml", "plate.csv")["known"] == [0, 1]
    Path("plate.csv").write_text(GOOD)  # an old copy does not undo it
    assert asked("tell", "screen.toml", "plate.csv")["known"] == [0, 1]
    assert told()[:2] == [0.5, 0.26]


RESULTS = {
    "arm,value": "arm,value\nC09,0.5\nC10,-0.25\nC09,0.5\n",
    "name and notes": "note,name,value\nx,C09,0.5\ny,C10,-0.25\n,C09,0.5\n",
    "no heading": "C09,0.5\nC10,-0.25\nC09,0.5\n",
    "semicolons and decimal commas": "Arm;Value\nC09;0,5\nC10;-0,25\nC09;0,5\n",
    "keys": "key,arm,value\na,C09,0.5\nb,C10,-0.25\nc,C09,0.5\n",
    "a blank": "arm,value\nC09,0.5\nC10,-0.25\nC09,0.5\nC14,\n",
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_file_of_arms_and_values_is_told_once_by_row(screen: Path, kind: str) -> None:
    Path("results.csv").write_text(RESULTS[kind])
    report = asked("tell", "screen.toml", "results.csv")
    assert (report["taken"], report["known"], report["evaluations"]) == ([0, 1, 2], [], 3)
    before = fingerprint()
    report = asked("tell", "screen.toml", "results.csv")
    assert (report["taken"], report["known"], report["evaluations"]) == ([], [0, 1, 2], 3)
    assert fingerprint() == before
    trials = shortlist.Study.load("screen.db").trials
    assert [(trial.name, trial.value) for trial in trials] == [
        *(("C09", 0.5), ("C10", -0.25), ("C09", 0.5))
    ]
    with Path("results.csv").open("a") as file:
        file.write("d,C14,1\n" if kind == "keys" else ",C14,1\n" if "notes" in kind else
                   "C14;1\n" if ";" in RESULTS[kind] else "C14,1\n")  # fmt: skip
    assert asked("tell", "screen.toml", "results.csv")["taken"] == [3]


def test_a_changed_row_says_how_to_put_it_right(screen: Path) -> None:
    Path("results.csv").write_text("arm,value\nC09,5\nC10,0.2\n")
    does("tell", "screen.toml", "results.csv")
    Path("results.csv").write_text("arm,value\nC09,0.5\nC10,0.2\nC10,0.3\n")
    result = run("tell", "screen.toml", "results.csv")
    fails(result, 2, "results.csv, line 2: this row was told before, as trial 0 with 5.0")
    fails(result, 2, "`shortlist correct screen.toml 0 --value=0.5 --reason TEXT`")
    does("correct", "screen.toml", 0, "--value=0.5", "--reason", "decimal point")
    report = asked("tell", "screen.toml", "results.csv")
    assert (report["taken"], report["known"]) == ([2], [0, 1])


BAD_RESULTS = {
    "results.csv, line 3: unknown arm 'C99'": "arm,value\nC09,0.5\nC99,0.2\n",
    "results.csv, line 3: the value 'high' is not a number": "arm,value\nC09,0.5\nC10,high\n",
    "results.csv, line 3: the key 'a' is on line 2 too": ("key,arm,value\na,C09,0.5\na,C10,0.2\n"),
    "results.csv has two columns 'value': keep one": "arm,value,value\nC09,1,2\n",
    "or arm and value, for results that nobody asked for": "arm,result\nC09,0.5\n",
    "results.csv, line 2 has 3 cells and the heading has 2": "arm,value\nC09,0,5\n",
}


@pytest.mark.parametrize("message", BAD_RESULTS)
def test_a_bad_file_of_results_is_named_and_nothing_of_it_is_taken(
    screen: Path, message: str
) -> None:
    before = fingerprint()
    Path("results.csv").write_text(BAD_RESULTS[message])
    fails(run("tell", "screen.toml", "results.csv"), 2, message)
    assert fingerprint() == before


@pytest.mark.slow
def test_an_exported_file_is_known_to_its_own_study_and_new_to_another(screen: Path) -> None:
    tell_two()
    does("ask", "screen.toml")
    does("fail", "screen.toml", 2, "--reason", "dropped")
    does("export", "screen.toml", "--out", "trials.csv")
    before = fingerprint()
    report = asked("tell", "screen.toml", "trials.csv")
    assert (report["taken"], report["known"]) == ([], [0, 1])
    assert fingerprint() == before
    text = Path("screen.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("epsilon")]
    Path("other.toml").write_text("\n".join([*lines, "epsilon = 0.07", ""]))
    does("new", "other.toml")
    assert asked("tell", "other.toml", "trials.csv")["taken"] == [0, 1]
    assert asked("tell", "other.toml", "trials.csv")["known"] == [0, 1]
    # As somebody may have cut it: without the mark of its study.
    pd.read_csv("trials.csv").drop(columns="study").to_csv("cut.csv", index=False)
    fails(run("tell", "screen.toml", "cut.csv"), 2, "keep that column")
    # What the file of the one study has told, its results carried over do not tell again.
    report = asked("new", "other.toml", "--from", "screen.toml")
    assert (report["made"], report["carried"]) == (False, 0)


def test_a_file_told_before_a_continuation_is_known_after_it(screen: Path) -> None:
    Path("r.csv").write_text("arm,value\nC01,0.5\nC02,0.25\n")
    Path("copy.csv").write_text("arm,value\nC01,0.5\nC02,0.25\n")
    does("tell", "screen.toml", "r.csv")
    does("export", "screen.toml", "--out", "trials.csv")
    does("continue", "screen.toml", "--without-features", "--name", "free")
    does("continue", "screen.toml", "--without-features", "--name", "free")
    for file in ("r.csv", "trials.csv"):
        report = asked("tell", "screen.toml", file, "--study", "free")
        assert (report["taken"], report["known"]) == ([], [0, 1])
    fails(run("tell", "screen.toml", "copy.csv", "--study", "free"), 2, "those of 'r.csv'")
    assert shortlist.Study.load("screen.db", "free").evaluations == 2


def test_a_copy_of_a_file_under_another_name_is_refused(screen: Path) -> None:
    rows = "arm,value\nC01,0.5\nC02,0.25\nC03,0.75\n"
    Path("old.csv").write_text(rows)
    Path("old (1).csv").write_text(rows)
    Path("longer.csv").write_text(rows + "C04,0.1\n")
    Path("other.csv").write_text(rows.replace("0.75", "0.76"))
    Path("single.csv").write_text("arm,value\nC01,0.5\n")
    assert asked("tell", "screen.toml", "old.csv")["taken"] == [0, 1, 2]
    assert asked("tell", "screen.toml", "old.csv")["known"] == [0, 1, 2]
    for copy in ("old (1).csv", "longer.csv"):
        words = ["3 of its", "are those of 'old.csv', which was told before", "--measured-again"]
        fails(run("tell", "screen.toml", copy), 2, *words)
    assert asked("tell", "screen.toml", "other.csv")["taken"] == [3, 4, 5]
    assert asked("tell", "screen.toml", "single.csv")["taken"] == [6]
    assert asked("tell", "screen.toml", "old (1).csv", "--measured-again")["taken"] == [7, 8, 9]
    assert asked("tell", "screen.toml", "old (1).csv")["known"] == [7, 8, 9]
    Path("old.csv").write_text(rows + "C05,0.2\n")  # a file that grew
    assert asked("tell", "screen.toml", "old.csv")["taken"] == [10]


def test_a_second_file_of_the_same_name_and_values_counts(screen: Path) -> None:
    def write(day: str, rows: str) -> Path:
        Path(day).mkdir(exist_ok=True)
        lines = [f"{row},{day}" for row in rows.split()]
        (Path(day) / "results.csv").write_text("\n".join(["arm,value,date", *lines, ""]))
        return Path(day) / "results.csv"

    first, second = write("monday", "C01,1 C02,0"), write("tuesday", "C01,1 C02,0")
    assert asked("tell", "screen.toml", first)["taken"] == [0, 1]
    assert asked("tell", "screen.toml", second)["taken"] == [2, 3]
    for file, numbers in ((first, [0, 1]), (second, [2, 3])):  # and each of them once
        again = asked("tell", "screen.toml", file)
        assert (again["taken"], again["known"]) == ([], numbers)
    grown = write("tuesday", "C01,1 C02,0 C03,1")
    assert asked("tell", "screen.toml", grown)["taken"] == [4]
    assert asked("tell", "screen.toml", write("friday", "C01,0 C02,0"))["taken"] == [5, 6]


def test_a_file_that_was_edited_since_it_was_told_is_the_same_file(screen: Path) -> None:
    file = Path("results.csv")
    file.write_text("arm,value,note\nC01,0.5,first\nC02,,second\nC03,0.25,third\n")
    assert asked("tell", "screen.toml", file)["taken"] == [0, 1]
    file.write_text("arm,value,note\nC01,0.5,first one\nC02,0.75,second\nC03,0.25,third\n")
    report = asked("tell", "screen.toml", file)
    assert (report["taken"], report["known"]) == ([2], [0, 1])
    file.write_text("arm,value,note\nC01,5,first one\nC02,0.75,second\nC03,0.25,third\n")
    fails(run("tell", "screen.toml", file), 2, "line 2: this row was told before, as trial 0")


def test_a_file_that_says_nothing_new_says_what_to_do_if_it_is_another(screen: Path) -> None:
    Path("results.csv").write_text("arm,value\nC01,1\nC02,0\n")
    does("tell", "screen.toml", "results.csv")
    done = does("tell", "screen.toml", "results.csv")
    assert "0 results recorded, 2 already known" in done.stdout
    assert "its name and all that its rows say are the same" in " ".join(done.stderr.split())
    assert asked("tell", "screen.toml", "results.csv", "--measured-again")["taken"] == [2, 3]


@pytest.mark.parametrize("other", ["arm,value", "arm,value,question"])
def test_results_of_0_and_1_under_another_name_count(screen: Path, other: str) -> None:
    more = ",q18" if "question" in other else ""
    Path("q17.csv").write_text("arm,value\nC01,1\nC02,0\nC03,1\n")
    Path("q18.csv").write_text(f"{other}\nC01,1{more}\nC02,0{more}\nC03,1{more}\n")
    assert asked("tell", "screen.toml", "q17.csv")["taken"] == [0, 1, 2]
    assert asked("tell", "screen.toml", "q18.csv")["taken"] == [3, 4, 5]
    Path("long.csv").write_text("arm,value\n" + "C01,1\nC02,0\n" * 10)
    Path("copy.csv").write_text(Path("long.csv").read_text())
    assert len(asked("tell", "screen.toml", "long.csv")["taken"]) == 20
    fails(run("tell", "screen.toml", "copy.csv"), 2, "20 of its 20 rows are those of 'long.csv'")


def test_rows_with_keys_of_their_own_are_no_copy(screen: Path) -> None:
    Path("one.csv").write_text("arm,value,key\nC01,0.5,w1\nC02,0.25,w2\n")
    Path("two.csv").write_text("arm,value,key\nC01,0.5,w3\nC02,0.25,w4\n")
    for file, numbers in (("one.csv", [0, 1]), ("two.csv", [2, 3])):
        assert asked("tell", "screen.toml", file)["taken"] == numbers
