"""The command ``shortlist repurpose``, from files to a shortlist."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

import shortlist
from command_line import run
from paths import ROOT
from screens import small
from shortlist.repurposing.synthetic_data import DataSet


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small(networks=2)


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """The words of a quick screen."""
    return words_for(tmp_path, tmp_path / "out")


def words_for(folder: Path, out: Path) -> list[object]:
    paths = {path.stem: path for path in small().write(folder / "data")}
    words: list[object] = ["repurpose", "--network", paths.pop("network1")]
    for name, path in paths.items():
        words += [f"--{name.replace('_', '-')}", path]
    return [*words, "-m", 2, "--epsilon", 0.3, "--out", out, "--repeats", 3]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What that screen says, and the folder that it writes."""
    out = tmp_path_factory.mktemp("answered") / "out"
    first = run(*words_for(out.parent, out))
    assert first.exit_code == 0, first.output
    return first.stdout, out


# The outcome and the command


@pytest.mark.slow
def test_the_command_from_files_to_shortlist(
    files: list[object], answered: tuple[str, Path], tmp_path: Path
) -> None:
    said, out = answered[0], Path(shutil.copytree(answered[1], tmp_path / "out"))
    for word in (
        "8 drugs, 5 patients",
        "reverser 1",
        "means linear in the features (tested: ",
        "baseline's",
        "HR@2",
        "AUC",
        "Means",
    ):
        assert word in said
    assert sorted(path.name for path in out.iterdir()) == [
        "drugs.csv",
        "pulls.csv",
        "rewards.png",
        "rewards.svg",
    ]
    table = pd.read_csv(out / "drugs.csv", index_col=0)
    assert len(table) == 8
    assert set(table.index[table["in_shortlist"]]) == {"reverser 1", "reverser 2"}
    pulls = (out / "pulls.csv").read_text()
    again = run(*files, "--json")
    report = json.loads(again.stdout)
    assert (out / "pulls.csv").read_text() == pulls  # nothing new had to be simulated
    assert report["final"]
    assert set(report["shortlist"]) == {"reverser 1", "reverser 2"}
    assert report["evaluations"] == len(pulls.splitlines()) - 2
    assert report["evaluations"] == table["pulls"].sum()
    assert report["measures"]["study"]["HR@2"] == 1.0
    assert report["drugs"][0]["name"] in report["shortlist"]


@pytest.mark.slow
def test_the_command_overwrites_another_answer_only_by_force(
    files: list[object], answered: tuple[str, Path], tmp_path: Path
) -> None:
    out = Path(shutil.copytree(answered[1], tmp_path / "out"))
    assert run(*files).exit_code == 0  # the same answer once more
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    other = run(*files, "--epsilon", 0.4)
    assert other.exit_code == 2
    assert "drugs.csv already exists" in other.stderr
    assert "--force" in other.stderr
    assert before.items() >= {(p.name, p.read_bytes()) for p in out.iterdir() if p.suffix != ".csv"}
    assert (out / "drugs.csv").read_bytes() == before["drugs.csv"]
    assert run(*files, "--epsilon", 0.4, "--force").exit_code == 0
    assert (out / "drugs.csv").read_bytes() != before["drugs.csv"]


def test_the_command_leaves_files_alone_that_are_not_of_a_screen(
    files: list[object], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    mine = tmp_path / "out" / "drugs.csv"
    mine.write_text("precious")
    refused = run(*files)
    assert refused.exit_code == 2
    assert "drugs.csv already exists" in refused.stderr
    assert [path.name for path in mine.parent.iterdir()] == ["drugs.csv"]
    assert mine.read_text() == "precious"


def test_the_command_without_matplotlib(
    files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    result = run(*files)
    assert result.exit_code == 0, result.output
    assert "note: no picture: pictures need matplotlib" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["drugs.csv", "pulls.csv"]


@pytest.mark.slow
def test_the_command_stops_early_and_without_features(files: list[object]) -> None:
    result = run(*files, "--classical", "--max-evaluations", 50)
    assert result.exit_code == 0, result.output
    assert "the study has not stopped (50 evaluations)" in result.stdout
    assert "No guarantee yet" in result.stdout
    assert "nothing is assumed about them" in result.stdout


@pytest.mark.slow
def test_a_label_above_the_heading_and_a_dollar_in_a_name(
    files: list[object], tmp_path: Path
) -> None:
    labels = tmp_path / "data" / "labels.csv"
    whole = labels.read_text()
    labels.write_text("\n".join(whole.splitlines()[1:]) + "\n")
    result = run(*files, "--max-evaluations", 5)
    assert result.exit_code == 2
    assert "where a heading is expected" in result.stderr
    labels.write_text("")
    assert run(*files, "--max-evaluations", 5).exit_code == 2
    odd = r"bad $\foo$ x"
    for file in tmp_path.joinpath("data").glob("*.csv"):
        file.write_text(file.read_text().replace("decoy 1", odd))
    labels.write_text(whole.replace("decoy 1", odd))
    result = run(*files, "--max-evaluations", 5)
    assert result.exit_code == 0, result.output
    assert "rewards.png" in result.stdout


@pytest.mark.slow
def test_the_command_with_names_and_some_drugs(files: list[object], tmp_path: Path) -> None:
    labels = tmp_path / "data" / "labels.csv"
    table = pd.read_csv(labels, index_col=0)
    table.insert(0, "drug_name", [name.upper() for name in table.index])
    table.to_csv(labels)
    result = run(*files, "--drugs", "REVERSER 1, REVERSER 2,DECOY 1", "--max-evaluations", 20)
    assert result.exit_code == 0, result.output
    assert "3 drugs, 5 patients" in result.stdout
    # Nothing is known before the initial pulls are done, and the simulated means are not the study's.
    assert "No shortlist yet: the initial pulls are not done." in result.stdout
    assert "DECOY 1" in (tmp_path / "out" / "drugs.csv").read_text()
    wrong = run(*files, "--drugs", "REVERSER 1,DECOI 1")
    assert wrong.exit_code == 2
    assert "did you mean 'DECOY 1'" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["repurpose"], "--network is missing"),
        (["repurpose", "--synthetic", "--labels", __file__], "takes the place of files"),
        (["repurpose", "--network", "nowhere.bnet"], "does not exist"),
        (["repurpose", "--synthetic", "--algorithm", "m-LinGape", "--out", "X"], "did you mean"),
        (["repurpose", "--synthetic", "-m", "20", "--out", "X"], "m must be at least 1 and below"),
        (["repurpose", "--synthetic", "--out", f"{__file__}/x"], "x cannot be made"),
    ],
)
def test_the_command_fails_in_words(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drug,label\nreverser 1,1\nnothing,1\n", "unknown drug in the labels 'nothing'"),
        ("drug,label\nreverser 1,good\n", "the drug 'reverser 1' has 'good'"),
        ("drug,label\nreverser 1,7\n", "'reverser 1' has 7"),
    ],
)
def test_bad_labels_in_a_file(files: list[object], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "data" / "labels.csv").write_text(text)
    result = run(*files)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_advice_is_what_the_command_can_do(tmp_path: Path) -> None:
    """No study is stored that another command could go on with."""
    words = ["repurpose", "--synthetic", "--epsilon", 0.2, "--repeats", 2, "--out", tmp_path]
    said = run(*words, "--json").stdout
    assert "STUDY" not in said
    assert "study.verify" not in said


# The paper's data


@pytest.mark.slow
def test_the_demo_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one run of each algorithm in the place of ten."""
    compare = shortlist.compare
    monkeypatch.setattr("shortlist.compare", lambda *a, **k: compare(*a, **{**k, "runs": 1}))
    monkeypatch.setattr("sys.argv", ["demo.py", str(tmp_path / "demo.png")])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    said = capsys.readouterr().out
    for words in ("reverser 1", "with 95 % confidence", "baseline", "LUCB"):
        assert words in said
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"
