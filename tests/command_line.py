"""Run commands of ``shortlist`` in the test's own process, and look at a lab's example."""

from __future__ import annotations

import json
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any

import typer
import typer.testing
from typer.testing import CliRunner, Result

import shortlist
from paths import ROOT
from shortlist.cli.app import app

SCREEN = ROOT / "examples" / "screen"


sys.path.insert(0, str(SCREEN))
from measure import EFFECTS as EFFECTS  # noqa: E402
from measure import fill as fill  # noqa: E402
from measure import mean as mean  # noqa: E402
from measure import measure as measure  # noqa: E402

# To make all commands anew for every call, as Typer does, takes longer than most of them do.
vars(typer.testing)["_get_command"] = cache(typer.main.get_command)


def run(*words: object) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="shortlist")
    if words[:1] != ("completion",):  # a script for a shell
        check_advice(result.output)
    return result


# study.ask, Study.load(…), GIFA(…), reopen(), name=…, threshold='auto'; file names are none of them.
PYTHON = re.compile(
    r"\b(?:study|shortlist)\.(?!(?:db|toml|csv|html|fish|py)\b)[a-z]\w*|\bStudy[.(]|\b[A-Za-z_]\w*\(\)|"
    r"\b[A-Za-z_]\w*\([^()\s]*(?:…|=)|(?<!-)\b[a-z_]+=(?:['…,;. ]|True|False|$)|\bin Python\b"
)
COMMAND = re.compile(r"`(shortlist [^`]*)`")
USAGE: Any = typer.BadParameter.__base__  # what the parser raises
NUMBERS = {"C": "0.1", "X": "0.1"}  # in the place of numbers


def check_advice(said: str) -> None:
    """What is said in a shell names commands only, and every one of them can be given."""
    words = " ".join(said.split())
    assert not (found := PYTHON.search(words)), (found and found[0], words)
    for line in COMMAND.findall(words):
        if line.startswith("shortlist COMMAND"):
            continue
        name, *rest = shlex.split(line)[1:]
        known: Any = vars(typer.testing)["_get_command"](app)
        while hasattr(known, "commands"):
            assert name in known.commands, line
            known = known.commands[name]
            if hasattr(known, "commands"):
                name, *rest = rest
        try:
            known.make_context(name, [NUMBERS.get(word, word) for word in rest])
        except USAGE as error:
            raise AssertionError(f"`{line}`: {error}") from error


def fails(result: Result, code: int, *words: str) -> None:
    """It failed as foreseen: nothing on stdout, one line on stderr, no traceback."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("shortlist: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def does(*words: object) -> Result:
    """It worked."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def asked(*words: object) -> dict[str, Any]:
    """What a command says in JSON, and nothing else on stdout."""
    report = json.loads(does(*words, "--json").stdout)
    assert isinstance(report, dict)
    return report


def write(**changes: Any) -> None:
    """A screen.toml with other keys; None takes one out."""
    keys = {
        **{"features": "features.csv", "m": 3, "sigma": 0.1, "seed": 0},
        **changes,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if value is not None]
    Path("screen.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def fingerprint() -> str:
    return shortlist.Study.load("screen.db").fingerprint


def told() -> list[float | None]:
    return [trial.value for trial in shortlist.Study.load("screen.db").trials]


GOOD = "trial,arm,value\n0,C09,0.5\n1,C10,0.25\n"


def finish() -> None:
    """Tell the example to its end."""
    study = shortlist.Study.load("screen.db")
    while not study.done:
        batch = study.ask(8)
        study.tell_many((trial, measure(trial.number, trial.name)) for trial in batch)


def tell_two() -> None:
    """Two results that nobody asked for: trials 0 and 1."""
    does("tell", "screen.toml", "--arm", "C09", "--value", 0.5)
    does("tell", "screen.toml", "--arm", "C14", "--value", 0.25)
