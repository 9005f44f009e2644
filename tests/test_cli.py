"""The command line: what it prints, how it fails, and what it does not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import shortlist
from shortlist.cli.app import app
from shortlist.errors import DataUnavailable, InvalidSetting

REAL = os.environ.get("SHORTLIST_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="SHORTLIST_DATA does not name a folder of data")


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], prog_name="shortlist")


def fails(result: Result, code: int, *words: str) -> None:
    """It failed as foreseen: nothing on stdout, one line on stderr, no traceback."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("shortlist: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def program(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from shortlist.cli.app import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=60,
    )


# Help


def test_help_names_the_commands_and_shows_examples() -> None:
    for words in ([], ["--help"], ["-h"]):
        said = run(*words).output
        for word in ("algorithms", "bound", "data", "reproduce", "Examples", "$ shortlist bound"):
            assert word in said


@pytest.mark.parametrize(
    "words",
    [("bound",), ("algorithms",), ("reproduce",), ("data",)]
    + [("data", command) for command in ("fetch", "list", "path")],
)
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert f"Usage: shortlist {' '.join(words)}" in result.stdout


def test_version() -> None:
    assert run("--version").stdout == f"shortlist {shortlist.__version__}\n"


HEAVY = ("numba", "matplotlib", "pandas", "scipy", "numpy", "pooch", "requests")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["bound", "--help"], ["--version"], ["data", "-h"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from shortlist.cli.app import main\n"
        f"sys.argv[1:] = {words!r}\n"
        "try: main()\n"
        f"finally: print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"


@pytest.mark.slow
def test_help_is_quick() -> None:
    def seconds(code: str) -> float:
        code += "; import time, atexit; atexit.register(lambda: print(time.process_time()))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        return float(done.stdout.splitlines()[-1])

    bare = min(seconds("import typer") for _ in range(3))
    code = "import sys, atexit; sys.argv[1:] = ['--help']; from shortlist.cli.app import app"
    code += "; app(standalone_mode=False)"
    assert min(seconds(code) for _ in range(3)) - bare <= 0.5


def test_the_console_script_is_installed() -> None:
    script = Path(sys.executable).parent / "shortlist"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"shortlist {shortlist.__version__}\n"


# Algorithms


def test_algorithms_are_listed_with_a_line_each() -> None:
    lines = run("algorithms").stdout.splitlines()
    for name, about in shortlist.algorithms().items():
        [line] = [line for line in lines if line == name or line.startswith(f"{name}  ")]
        assert name.endswith("(as published)") or line.endswith(about)


# Bound


@pytest.fixture
def classic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> shortlist.instances.Instance:
    """The classic instance with ω = π/6 as files in the current folder."""
    monkeypatch.chdir(tmp_path)
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    np.savetxt("X.csv", instance.features, delimiter=",")
    np.savetxt("theta.csv", [1.0, 0.0, 0.0])
    np.savetxt("means.csv", instance.means)
    return instance


def test_bound_prints_the_bound_and_the_allocation(classic: Any) -> None:
    result = run("bound", "--features", "X.csv", "--theta", "theta.csv", "-m", 2, "--sigma", 0.5)
    assert result.exit_code == 0, result.output
    assert "T*           118.4" in result.stdout
    assert "evaluations  313." in result.stdout
    assert "δ = 0.05" in result.stdout
    arms = result.stdout.splitlines()[-4:]
    assert [line.split()[:2] for line in arms[:2]] == [["0", "*"], ["1", "*"]]
    assert sum(float(line.split()[-1]) for line in arms) == pytest.approx(1.0, abs=2e-4)


def test_bound_in_json_by_theta_and_by_means_is_the_same(classic: Any) -> None:
    common = ["bound", "--features", "X.csv", "-m", 2, "--sigma", 0.5, "--json", "--delta", 0.1]
    by_theta = json.loads(run(*common, "--theta", "theta.csv").stdout)
    by_means = json.loads(run(*common, "--means", "means.csv").stdout)
    assert by_theta["t_star"] == pytest.approx(118.45, rel=1e-3)
    assert by_means["t_star"] == pytest.approx(by_theta["t_star"], rel=1e-6)
    low, high = by_theta["bracket"]
    assert low <= by_theta["t_star"] <= high
    kl = 0.8 * np.log(9.0)  # kl(δ, 1−δ) = (1 − 2δ) log((1 − δ)/δ)
    assert by_theta["samples"] == pytest.approx(kl * by_theta["t_star"], rel=1e-6)
    assert sum(by_theta["allocation"].values()) == pytest.approx(1.0)
    assert (by_theta["delta"], by_theta["sigma"], by_theta["m"]) == (0.1, 0.5, 2)
    assert by_theta["unit"] == "evaluations"


def test_without_sigma_the_bound_is_in_units_of_its_square(classic: Any) -> None:
    words = ["bound", "--features", "X.csv", "--theta", "theta.csv", "-m", 2]
    said = run(*words).stdout
    assert " σ²  (between" in said
    assert "σ was not given" in said
    report = json.loads(run(*words, "--json").stdout)
    assert report["t_star"] == pytest.approx(118.45 / 0.5**2, rel=1e-3)
    assert (report["sigma"], report["unit"]) == (None, "evaluations / sigma^2")


def test_names_in_the_files_are_used_and_matched(classic: Any) -> None:
    Path("X.csv").write_text(
        ";length;width;depth\ngold;1;0;0\nsilver;1;1;0\nbrass;0.8660254;0;0.5\ntin;0;0;1\n"
    )
    Path("means.csv").write_text("arm,mean\ntin,0\nbrass,0.8660254\nsilver,1\ngold,1\n")
    Path("theta.csv").write_text("depth,width,length\n0,0,1\n")
    common = ["bound", "--features", "X.csv", "-m", 2, "--sigma", 0.5, "--json"]
    for truth in (["--means", "means.csv"], ["--theta", "theta.csv"]):
        report = json.loads(run(*common, *truth).stdout)
        assert list(report["allocation"]) == ["gold", "silver", "brass", "tin"]
        assert report["t_star"] == pytest.approx(118.45, rel=1e-3)


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
    "theta.csv has 2 numbers where 3 are expected: one a feature": "1,0,0\n0,1,0\n1,1,1\n",
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


BAD_MEANS = {
    "means.csv has 2 numbers where 4 are expected: one an arm": "1\n2\n",
    "means.csv is a table of 2 × 3 numbers where one column or one line": "1,2,3\n4,5,6\n",
    "there is no file means.csv": None,
}


@pytest.mark.parametrize("message", BAD_MEANS)
def test_bad_means_are_named(classic: Any, message: str) -> None:
    Path("means.csv").unlink()
    if BAD_MEANS[message]:
        Path("means.csv").write_text(str(BAD_MEANS[message]))
    result = run("bound", "--features", "X.csv", "--means", "means.csv", "-m", 2, "--sigma", 1)
    fails(result, 2, message)


def test_names_that_do_not_match_are_named(classic: Any) -> None:
    Path("X.csv").write_text("a,1,0\nb,0,1\nc,1,1\n")
    Path("means.csv").write_text("a,1\nb,0\nd,2\n")
    result = run("bound", "--features", "X.csv", "--means", "means.csv", "-m", 1, "--sigma", 1)
    fails(result, 2, "means.csv names 'd' 1 times", "0 times")


def test_bad_settings_of_bound(classic: Any) -> None:
    common = ["bound", "--features", "X.csv", "--theta", "theta.csv"]
    fails(run(*common, "-m", 4, "--sigma", 1), 2, "m must be at least 1")
    fails(run(*common, "-m", 2, "--sigma", -1), 2, "sigma")
    fails(run(*common, "-m", 2, "--sigma", 1, "--delta", 1.5), 2, "delta")
    fails(run(*common, "-m", 1, "--sigma", 1), 2)  # means 1 and 1 at ranks 1 and 2
    both = run(*common, "--means", "means.csv", "-m", 2)
    neither = run("bound", "--features", "X.csv", "-m", 2)
    for result in (both, neither):
        assert result.exit_code == 2
        assert "either --theta or --means" in result.stderr
    assert run("bound", "--theta", "theta.csv", "-m", 2).exit_code == 2


# Reproduce


class Paper(ModuleType):
    """Stands in for ``shortlist.paper``, which takes its time."""

    EXPERIMENTS: ClassVar = {
        "figure-1a": SimpleNamespace(title="Figure 1a: the classic instance"),
        "error-table": SimpleNamespace(title="the errors"),
    }
    asked: dict[str, Any]
    failure: BaseException | None = None

    def reproduce(self, names: list[str], **settings: Any) -> Path:
        if self.failure is not None:
            raise self.failure
        self.asked = {"names": names, **settings}
        return Path(settings["out"]) / "index.html"


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Paper:
    stand_in = Paper("shortlist.paper")
    monkeypatch.setattr(shortlist, "paper", stand_in)  # first: it remembers the real one
    monkeypatch.setitem(sys.modules, "shortlist.paper", stand_in)
    monkeypatch.chdir(tmp_path)
    return stand_in


def test_reproduce_passes_its_words_on_and_says_where_the_page_is(paper: Paper) -> None:
    result = run("reproduce", "figure-1a", "--runs", 7, "--seed", 3, "--out", "a/b", "--workers", 2)
    assert result.exit_code == 0, result.output
    assert paper.asked == {
        "names": ["figure-1a"],
        "runs": 7,
        "seed": 3,
        "out": Path("a/b"),
        "workers": 2,
        "progress": True,
    }
    assert result.stdout == f"The page: {Path('a/b/index.html')}\n"


def test_reproduce_all_quietly(paper: Paper) -> None:
    result = run("reproduce", "all", "--quiet")
    assert paper.asked["names"] == ["all"]
    assert (paper.asked["runs"], paper.asked["seed"]) == (500, 0)
    assert paper.asked["progress"] is False
    assert result.stdout == f"{Path('results/index.html')}\n"


def test_reproduce_lists_the_experiments(paper: Paper) -> None:
    said = run("reproduce", "--list").stdout
    assert said.splitlines()[0] == "figure-1a    Figure 1a: the classic instance"
    assert "\nall " in said


def test_an_unknown_experiment_gets_the_near_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", "figure-1a", "figure1b")
    fails(result, 2, "unknown experiment 'figure1b': did you mean 'figure-1b'?", "all")
    assert list(tmp_path.iterdir()) == []


def test_reproduce_needs_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    assert run("reproduce", "all", "--out", "taken").exit_code == 2
    fails(run("reproduce", "all", "--out", "taken/inside"), 2, "taken/inside", "another folder")


def test_reproduce_needs_a_name_and_a_run(paper: Paper) -> None:
    nothing = run("reproduce")
    assert nothing.exit_code == 2
    assert "--list" in nothing.stderr
    assert run("reproduce", "all", "--runs", 0).exit_code == 2
    assert not hasattr(paper, "asked")


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (InvalidSetting("runs must\nbe more."), 2, "shortlist: runs must be more."),
        (DataUnavailable("no data: connect."), 3, "shortlist: no data: connect."),
        (
            ImportError("pictures need matplotlib: pip install 'shortlist[plot]'."),
            2,
            "pip install 'shortlist[plot]'",
        ),
        (KeyboardInterrupt(), 130, "run it again to go on"),
    ],
)
def test_failures_are_one_line_and_an_exit_code(
    paper: Paper, failure: BaseException, code: int, message: str
) -> None:
    paper.failure = failure
    fails(run("reproduce", "all"), code, message)


@pytest.mark.parametrize("bug", [ZeroDivisionError(), ImportError("No module named 'nump'")])
def test_a_bug_is_not_hidden(paper: Paper, bug: Exception) -> None:
    paper.failure = bug
    assert run("reproduce", "all").exception is bug


def test_the_real_experiments_have_the_names_of_the_issue() -> None:
    result = run("reproduce", "--list")
    assert result.exit_code == 0, result.output
    for name in (
        *("figure-1a", "figure-1b", "figure-1c", "error-table", "appendix-omega"),
        *("appendix-random", "complexity-table", "complexity-constants", "all"),
    ):
        [line] = [line for line in result.stdout.splitlines() if line.split()[0] == name]
        assert len(line.split()) > 1


# Data


@pytest.mark.slow
def test_data_offline_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    offline = {
        "SHORTLIST_DATA": "",
        "SHORTLIST_CACHE": str(tmp_path),
        **dict.fromkeys(("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), nobody),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), ""),
    }
    done = program("data", "fetch", **offline)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("shortlist: epilepsy_scores.csv is not in the cache")
    assert done.stderr.count("\n") == 1
    listed = program("data", "list", **offline)
    assert listed.returncode == 0
    assert listed.stdout.count(" missing ") == 13


def test_data_of_a_mirror_without_files(tmp_path: Path) -> None:
    done = program("data", "path", "model1.net", SHORTLIST_DATA=str(tmp_path))
    assert done.returncode == 3
    assert "GRN/model1.net" in done.stderr
    assert str(tmp_path) in done.stderr


def test_data_path_of_an_unknown_file() -> None:
    fails(run("data", "path", "model2.net"), 2, "did you mean 'model1.net'?")


@needs_data
def test_data_of_a_real_mirror() -> None:
    fetched = run("data", "fetch").stdout.splitlines()
    assert len(fetched) == 14
    assert fetched[-1] == f"13 of 13 files checked, in {REAL} (SHORTLIST_DATA)"
    assert run("data", "fetch", "-q", "model1.net").output == ""
    assert run("data", "list").stdout.count(" here ") == 13
    place = run("data", "path", "epilepsy_scores.csv").stdout.strip()
    assert Path(place).read_text().startswith(",drug_name,score")
