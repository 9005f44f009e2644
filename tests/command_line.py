"""Run commands of ``shortlist`` in the test's own process, and look at a lab's example."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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


GOOD = "trial,arm,value\n0,C10,0.5\n1,C14,0.25\n"


def finish() -> None:
    """Tell the example to its end."""
    study = shortlist.Study.load("screen.db")
    while not study.done:
        batch = study.ask(8)
        study.tell_many((trial, measure(trial.number, trial.name)) for trial in batch)


def tell_two() -> None:
    """Two results that nobody asked for: trials 0 and 1."""
    does("tell", "screen.toml", "--arm", "C10", "--value", 0.5)
    does("tell", "screen.toml", "--arm", "C14", "--value", 0.25)
