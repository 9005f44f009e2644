"""Two versions of the package measured in turns, each measurement in a process of its own."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Measured = tuple[float, ...]  # what one process printed


def options_of(words: str) -> argparse.ArgumentParser:
    """The options that all these programs take; ``words`` is the docstring of one."""
    options = argparse.ArgumentParser(description=words.partition("\n")[0])
    options.add_argument("--beside", help="a commit, or the folder of a checkout, to measure too")
    return options


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu() -> float:
    """Seconds of CPU time so far; of the children that have ended where there were any."""
    own, children = (
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return children or own


@contextmanager
def versions(beside: str | None) -> Iterator[list[Path]]:
    """The sources to measure: those of another version first, if one is given, then these.

    The other version is the folder of a checkout, or a commit that is checked out for the time.
    """
    own = ROOT / "src"
    if beside is None:
        yield [own]
        return
    if (Path(beside) / "src").is_dir():
        yield [(Path(beside) / "src").resolve(), own]
        return
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--force", f"{folder}/other", beside], check=True)
        try:
            yield [Path(folder) / "other/src", own]
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/other"], check=True)


def in_a_process(source: Path, program: str, *arguments: str) -> Measured:
    """The numbers that a program prints when it imports the package from ``source``.

    It is run by the Python of that checkout, where there is one.
    """
    own = source.parent / ".venv/bin/python"
    command = [str(own) if own.exists() else sys.executable, program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return tuple(map(float, out.stdout.split()))


def print_heading(beside: str | None) -> None:
    names = ["now"] if beside is None else [beside, "now", "ratio"]
    print(f"{'':38}" + "".join(f"{name[-12:]:>14}" for name in names))


def print_row(title: str, figures: Sequence[float], unit: str, *, more_is_better: bool) -> None:
    """A figure a version, and how many times better the last one is."""
    shown = "".join(f"{figure:14.1f}" if unit == "s" else f"{figure:14,.0f}" for figure in figures)
    if len(figures) == 2:
        old, new = figures
        shown += f"{new / old if more_is_better else old / new:13.2f}×"
    print(f"{title:38}{shown}  {unit}", flush=True)


def print_rates(title: str, measured: Sequence[Sequence[Measured]]) -> None:
    """The best rate of each version, and the least CPU time of a pair."""
    rates = [max(each[0] for each in tries) for tries in measured]
    print_row(title, rates, "pairs/s", more_is_better=True)
    used = [min(each[1] for each in tries) for tries in measured]
    print_row("  CPU time of a pair", used, "µs", more_is_better=False)
