"""The benchmarks load, and every command in the documentation that measures something starts."""

from __future__ import annotations

import importlib
import math
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import forks
import shortlist
from paths import BENCHMARKS, DOCS, ROOT

NAMES = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
# CPU seconds of a command and of each process that it forks: a third of one where nothing is said,
# and never cut short where it serves.
SECONDS: dict[str, float] = {"endurance.py": 60, "million.py": 60, "serve.py": 60}
LOADING = 1  # what a program that it starts has in addition
# What makes a command small: the last one given counts. Options go to all programs that have them.
OPTIONS = ("--runs=2", "--count=1", "--problems=1", "--tries=1")
OPTIONS += ("--pages=1", "--clients=1", "--seconds=1")
ARGUMENTS = {
    "intake.py": ["Arrow table", "(no file)"],
    "million.py": ["--results=500", "--others=1"],
    "report.py": ["300", "5", "2", "30"],
    "storage.py": ["--measure=memory"],
    "study.py": ["300"],
}
STARTED = """
import os, resource, runpy, signal, sys
folder, own, started = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_CPU, (started, started + 60))
signal.setitimer(signal.ITIMER_PROF, own)
os.register_at_fork(after_in_child=lambda: signal.setitimer(signal.ITIMER_PROF, own))
del sys.argv[:4]
sys.path.insert(0, folder)
runpy.run_path(os.path.join(folder, sys.argv[0]), run_name="__main__")
"""
# How a program ends one of whose processes has spent its time.
SPENT = re.compile(r"died with <Signals\.(SIGXCPU|SIGPROF)|BrokenProcessPool")


def commands_of(text: str) -> list[tuple[str, ...]]:
    """The words of each ``python benchmarks/…`` in a page, from the name of the program on."""
    joined = re.sub(r"\\\n\s*", "", text)
    found = re.findall(r"python benchmarks/(\w+\.py[^`#\n]*)", joined)
    return [tuple(shlex.split(each)) for each in found]


COMMANDS = sorted({each for page in PAGES for each in commands_of(page.read_text())})


@pytest.fixture(autouse=True)
def first_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # before tests/report and its like


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_loads(name: str) -> None:
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize(("stored", "files", "calls"), [(False, 15, 126), (True, 20, 261)])
def test_a_study_begins_in_few_steps(stored: bool, files: int, calls: int, tmp_path: Path) -> None:
    """What only ``ask`` needs is made by the first ``ask``."""
    house, passed = importlib.import_module("house"), []
    for name in ("first", "second"):  # the first loads what it needs
        place = {"storage": tmp_path / "studies.db", "name": name} if stored else {}
        x = np.random.default_rng(0).standard_normal((20, 5))
        passed, _ = house.files_passed(shortlist.Study, x, m=5, sigma=0.5, seed=0, **place)
    assert len(set(passed)) <= files
    assert len(passed) <= calls


def test_a_tell_is_short() -> None:
    """A study in memory goes the way of a stored one."""
    house = importlib.import_module("house")
    x = np.random.default_rng(0).standard_normal((20, 5))
    study = shortlist.Study(x, m=5, sigma=50.0, seed=1, algorithm="m-LinGapE")
    for _ in range(300):  # and no look of the audit is due
        trial = study.ask()
        study.tell(trial, x[trial.arm].sum())
    assert study.stage == "rounds"
    passed, _ = house.files_passed(study.tell, study.ask(), 0.0)
    rounds = [file for file in passed if file.startswith(("/gifa/", "/engine/"))]  # calls of NumPy
    assert len(rounds) <= 71
    assert len(passed) - len(rounds) <= 42
    assert len(set(passed) - set(rounds)) <= 6


def test_the_loop_beside_which_speed_is_measured_pulls_as_often_as_asked() -> None:
    loop = importlib.import_module("numpy_loop")
    instance = importlib.import_module("speed").instance_of(4, 3, 2)
    for name in ("m-LinGapE", "LinGIFA"):
        rounds, _ = loop.run(
            *(instance.features, instance.means, instance.m, instance.sigma),
            algorithm=name,
            rounds=30,
        )
        assert rounds == 30


def test_the_parts_of_the_speed_table_measure() -> None:
    speed = importlib.import_module("speed")
    for measure in (speed.in_a_study, speed.in_a_comparison, speed.in_a_loop):
        assert min(measure("m-LinGapE", 4, 3, 2)) > 0.0


def test_commands_are_found_wherever_they_stand() -> None:
    page = (
        "| 3 s | `.venv/bin/python benchmarks/a.py --beside e7942e7` |\n"
        'Twice (`python benchmarks/b.py small --model "two words"`), and `benchmarks/c.py`.\n'
        "```console\npython benchmarks/d.py --only x \\\n    --only y\n"
        "python benchmarks/e.py    # seven minutes\n```\n"
    )
    assert commands_of(page) == [
        ("a.py", "--beside", "e7942e7"),
        ("b.py", "small", "--model", "two words"),
        ("d.py", "--only", "x", "--only", "y"),
        ("e.py",),
    ]
    assert ("budget.py", "--runs", "500") in COMMANDS


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of CPU time can be set there")
@pytest.mark.parametrize("command", COMMANDS, ids=shlex.join)
def test_a_command_of_the_documentation_starts(command: tuple[str, ...], tmp_path: Path) -> None:
    """With few runs. It ends well, or is still at work when its CPU time is spent."""
    program, *words = command
    for other in ("--beside", "--published"):  # another version, others' code: not at hand
        if other in words:
            place = words.index(other)
            del words[place : place + 2]
    taken = (BENCHMARKS / program).read_text()
    words += [each for each in OPTIONS if f'"{each.partition("=")[0]}"' in taken]
    words += ARGUMENTS.get(program, [])
    seconds = SECONDS.get(program, 0.35)
    limits = str(seconds), str(math.ceil(seconds + LOADING))
    start = [*forks.python(), "-c", STARTED, str(BENCHMARKS), *limits, program, *words]
    # A file, not a pipe: processes that it started may outlive it, and would hold a pipe open.
    with (tmp_path / "said").open("w") as said:
        ended = subprocess.run(start, cwd=tmp_path, stdout=said, stderr=said)
    printed = (tmp_path / "said").read_text()
    assert ended.returncode in (0, -signal.SIGPROF) or SPENT.search(printed), printed
