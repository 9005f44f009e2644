"""The program: its help, its exit codes, what it loads, and a screen from start to end."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import forks
import shortlist
from command_line import asked, does, fails, fill, fingerprint, mean, run, write
from paths import DOCS
from shortlist.cli.app import app


def test_help_names_the_commands_and_shows_examples() -> None:
    for words in ([], ["--help"], ["-h"]):
        said = run(*words).output
        for word in ("algorithms", "data", "Examples", "$ shortlist repurpose"):
            assert word in said


@pytest.mark.parametrize(
    "words",
    [("algorithms",), ("data",)] + [("data", command) for command in ("fetch", "list", "path")],
)
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert f"Usage: shortlist {' '.join(words)}" in result.stdout


def test_version() -> None:
    assert run("--version").stdout == f"shortlist {shortlist.__version__}\n"


HEAVY = (
    "numba",
    "matplotlib",
    "pandas",
    "scipy",
    "numpy",
    "pooch",
    "requests",
    "sqlalchemy",
    "pyarrow",
)
HELP = ["--help", "algorithms --help", "--version", "data -h", "ask --help", "new -h"]


def test_help_loads_nothing_heavy() -> None:
    """One process asks for all of it: what any of them loads is there at the end."""
    code = (
        "import contextlib, sys\n"
        "from shortlist.cli.app import main\n"
        f"for words in {HELP}:\n"
        "    sys.argv[1:] = words.split()\n"
        "    with contextlib.suppress(SystemExit): main()\n"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.count("Usage: ") == len(HELP) - 1  # but --version
    assert done.stderr.strip() == "[]"


@pytest.mark.slow
def test_help_is_quick() -> None:
    def seconds(code: str) -> float:
        code += "; import time, atexit; atexit.register(lambda: print(time.process_time()))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        return float(done.stdout.splitlines()[-1])

    code = "import sys, atexit; sys.argv[1:] = ['--help']; from shortlist.cli.app import app"
    code += "; app(standalone_mode=False)"
    # A busy machine may be slow at times.
    assert any(seconds(code) - seconds("import typer") <= 0.5 for _ in range(3))


def test_the_console_script_is_installed() -> None:
    script = Path(sys.executable).parent / "shortlist"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"shortlist {shortlist.__version__}\n"


def test_algorithms_are_listed_with_a_line_each() -> None:
    lines = run("algorithms", "--all").stdout.splitlines()
    for name, about in shortlist.algorithms(all=True).items():
        [line] = [line for line in lines if line == name or line.startswith(f"{name}  ")]
        assert name.endswith("(as published)") or line.endswith(about)


COMMANDS = [each.name for each in app.registered_commands if each.rich_help_panel == "Lab"]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_complete_and_fits_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert len(COMMANDS) > 14
    said = run(command, "--help").stdout
    assert f"Usage: shortlist {command}" in said
    assert ("--json" in said) != (command in ("serve", "init"))
    assert max(len(line.rstrip()) for line in said.splitlines()) <= 80
    assert f"│ {command} " in run("--help").stdout


EVERY = [[each.name] for each in app.registered_commands] + [
    ["data", each] for each in ("fetch", "list", "path")
]


def at_width(columns: int, command: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The help on a terminal so wide, without the space around its lines."""
    for name in ("COLUMNS", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, str(columns))
    said = run(*command, "--help").stdout
    return "\n".join(line.strip() for line in said.splitlines())


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help_shows_an_example_and_flags_as_flags(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said, wide = (at_width(columns, command, monkeypatch) for columns in (80, 200))
    examples = [line for line in wide.splitlines() if line.startswith("$ ") or "# " in line]
    assert set(examples) <= set(said.splitlines())  # none is broken at 80 columns
    assert f"shortlist {' '.join(command)}" in said.partition("Examples")[2]
    assert "<bool>" not in said


def test_python_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shortlist", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"shortlist {shortlist.__version__}\n"


@pytest.mark.slow
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    program = tmp_path / "shortlist"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m shortlist "$@"\n')
    program.chmod(0o755)
    script = """
    eval "$(_SHORTLIST_COMPLETE=source_bash shortlist)"
    for words in "shortlist stat" "shortlist status --js"; do
        COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        _shortlist_completion shortlist
        echo "${COMPREPLY[@]}"
    done
    """
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["status", "--json"]


def test_exit_codes_are_in_the_help_and_in_the_docs() -> None:
    said = " ".join(run("--help").stdout.split())
    page = (DOCS / "command-line.md").read_text()
    for code, words in {4: "has stopped", 5: "storage cannot be used"}.items():
        assert f"{code} the " in said
        assert words in said
        assert f"\n| {code} | " in page


@pytest.mark.slow
def test_a_screen_from_its_description_to_its_answer(folder: Path) -> None:
    said = does("new", "screen.toml").stdout
    assert "Study 'screen' made, in screen.db." in said
    assert "17 pulls of the first plan, of 7 arms" in said
    plates = 0
    while True:
        plates += 1
        name = f"plate-{plates}.csv"
        result = run("ask", "screen.toml", "-n", 8, "--out", name)
        if result.exit_code == 4:
            break
        assert result.exit_code == 0, result.output
        fill(name, every=2)
        does("tell", "screen.toml", name)
        fill(name)
        does("tell", "screen.toml", name)
    fails(result, 4, "The study stopped after", "`shortlist status screen.toml` shows the answer")
    assert not Path(name).exists()
    report = asked("status", "screen.toml")
    assert report["done"] is True
    truth = sorted((mean(f"C{k:02}") for k in range(1, 21)), reverse=True)
    assert all(mean(arm) >= truth[2] - 0.05 for arm in report["shortlist"])
    # The same plates told to a study in memory give the very same answer.
    table = pd.read_csv("features.csv", index_col=0)
    study = shortlist.Study(table, m=3, sigma=0.1, epsilon=0.05, seed=0)
    for number in range(1, plates):
        study.ask(8)
        rows = pd.read_csv(f"plate-{number}.csv")
        early = rows["trial"] % 2 == 0
        for part in (rows[early], rows[~early]):
            study.tell_many(zip(part["trial"].tolist(), part["value"].tolist(), strict=True))
    assert list(study.shortlist.names) == report["shortlist"]
    assert study.shortlist.evaluations == int(result.stderr.split("stopped after ")[1].split()[0])
    assert study.statistic == report["statistic"]


@pytest.mark.slow
def test_every_command_twice(screen: Path) -> None:
    again = does("new", "screen.toml").stdout
    assert "already exists, in screen.db, with 0 evaluations. Nothing was changed." in again
    does("ask", "screen.toml", "-n", 4, "--out", "plate.csv")
    before = fingerprint()
    fails(run("ask", "screen.toml", "-n", 4, "--out", "plate.csv"), 2, "plate.csv already exists")
    assert fingerprint() == before
    assert does("tell", "screen.toml", "plate.csv").stdout.startswith(
        "0 results recorded, 4 left blank."
    )
    fill("plate.csv")
    assert does("tell", "screen.toml", "plate.csv").stdout.startswith("4 results recorded.")
    before = fingerprint()
    for _ in range(2):
        said = does("tell", "screen.toml", "plate.csv").stdout
        assert said.startswith("0 results recorded, 4 already known.")
    for command in ("status", "list", "export", "why"):
        words = ["why", "screen.toml", 0] if command == "why" else [command, "screen.toml"]
        assert does(*words).stdout == does(*words).stdout
    assert fingerprint() == before
    does("ask", "screen.toml", "-n", 3)
    assert "1 trial failed." in does("fail", "screen.toml", 4, "--reason", "dropped").stdout
    assert "0 trials failed, 1 before." in does("fail", "screen.toml", 4).stdout
    assert "1 trial cancelled." in does("cancel", "screen.toml", 5).stdout
    assert "1 trial cancelled, 1 before." in does("cancel", "screen.toml", 5, 6).stdout
    states = [trial.state for trial in shortlist.Study.load("screen.db").trials]
    assert states == ["told"] * 4 + ["failed", "cancelled", "cancelled"]


@pytest.mark.slow
def test_the_page_about_the_lab_is_true(folder: Path) -> None:
    """Every command of docs/lab.md is run, in order; what it is said to print, it prints."""
    page = (DOCS / "lab.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.M | re.S)
    [described] = [text for kind, text in blocks if kind == "toml"]
    assert tomllib.loads(described) == tomllib.loads(Path("screen.toml").read_text())
    said, ran = "", set()
    for kind, text in blocks:
        if kind == "console":
            for line in text.splitlines():
                program, command, *words = shlex.split(line)
                if program == "python":
                    assert command == "measure.py"
                    fill(*words)
                else:
                    said = does(command, *words).stdout
                    ran.add(command)
        elif kind == "text" and said:
            expected = text.replace("…", "...")
            assert doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS), said
            said = ""
        elif kind == "sh":
            [stop] = re.findall(r"screen on this page (stopped after \d+ evaluations)", page)
            assert f"The study {stop}" in script(text, folder / "programs")
    assert ran >= {*COMMANDS} - {
        *("reopen", "continue", "correct", "serve", "widen", "retire", "add", "readmit"),
    }


def script(text: str, programs: Path) -> str:
    """What the page's script prints, run by bash."""
    programs.mkdir()
    (programs / "shortlist").write_text(f'#!/bin/sh\nexec {shlex.join(forks.program())} "$@"\n')
    (programs / "shortlist").chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-u", "-c", text], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(*words: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The program itself, its output in bytes."""
    return subprocess.run(
        [*forks.program(), *map(str, words)],
        capture_output=True,
        env={**os.environ, **variables},
        timeout=120,
    )


@pytest.mark.slow
def test_no_sign_is_lost_in_another_encoding(folder: Path) -> None:
    names = ["β-carotene", "naïve", "水"]
    write(features=None, arms=names, m=1, sigma=1.0)
    does("new", "screen.toml")

    def said(encoding: str, *words: str) -> bytes:
        done = program(*words, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        return done.stdout

    report = said("ascii", "new", "screen.toml", "--json")
    assert report.isascii()
    assert "σ = 1" in json.loads(report)["guarantee"]
    rows = said("cp1252", "export", "screen.toml", "--table", "--json")
    assert rows.isascii()
    assert [row["name"] for row in json.loads(rows)["rows"]] == names
    does("export", "screen.toml", "--table", "--out", "arms.csv")
    assert "水" in Path("arms.csv").read_text(encoding="utf-8")
    assert said("cp1252", "export", "screen.toml", "--table") == Path("arms.csv").read_bytes()


# Words, and whether Python is told not to keep output back.
WAYS = [("status screen.toml", ""), ("export screen.toml --json", "1"), ("--help", "")]


def into(output: Any, words: str, unbuffered: str) -> subprocess.CompletedProcess[str]:
    # The help is quickly there from a true start too.
    start = (sys.executable, "-c", "from shortlist.cli.app import main; main()")
    return subprocess.run(
        [*(start if words == "--help" else forks.program()), *words.split()],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(("words", "unbuffered"), WAYS)
def test_a_full_disk_is_one_line_and_an_exit_code(
    plated: Path,
    words: str,
    unbuffered: str,
) -> None:
    with Path("/dev/full").open("w") as full:
        done = into(full, words, unbuffered)
    assert done.returncode == 6
    assert done.stderr.startswith("shortlist: the output cannot be written (No space left")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize(("words", "unbuffered"), WAYS)
def test_a_closed_pipe_is_silent(plated: Path, words: str, unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = into(writer, words, unbuffered)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


def test_the_exit_code_of_a_full_disk_is_in_the_help() -> None:
    assert "6 the output cannot be written" in " ".join(run("--help").stdout.split())


def test_a_failure_of_another_file_is_not_taken_for_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from shortlist.cli import app as program

    def broken(**_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere.txt")

    monkeypatch.setattr(program, "app", broken)
    with pytest.raises(OSError, match=r"somewhere\.txt"):
        program.main()
