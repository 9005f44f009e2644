"""How fast a stored study is asked and told, by one process and by eight, and how fast it loads.

    python benchmarks/storage.py                       this version
    python benchmarks/storage.py --beside e7942e7      beside another, measured in turns
    python benchmarks/storage.py --beside ../checkout --quick

The other version is a commit of this repository, or the folder of a checkout. PostgreSQL is measured
where it is installed: a server is started for it. Every measurement is a process of its own, old and new in turns, and the best of
three counts for each. Beside the rate stands the CPU time that a pair takes in the processes that
ask and tell (not in the server): other work on the machine and the disk do not change it much.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import numpy as np

import shortlist
from beside import (
    ROOT,
    Measured,
    cpu,
    in_a_process,
    options_of,
    print_heading,
    print_rates,
    print_row,
    timed,
    versions,
)

sys.path.insert(0, str(ROOT / "tests"))

X = np.random.default_rng(0).normal(size=(10, 4))
MEANS = X @ [1.0, 0.5, -0.3, 0.2]
SIGMA = 50.0  # far from any stop
TOLD = 200_000
PAIRS = 1_000
FIRST = 50  # pairs of every process that are not counted: it loads what it needs, and plans
TRIES = 3


def begin(storage: str | None) -> shortlist.Study:
    return shortlist.Study(X, m=3, sigma=SIGMA, seed=1, storage=storage)


def pairs(study: shortlist.Study, count: int) -> None:
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, float(MEANS[trial.arm]))


def at_once(storage: str, processes: int) -> float:
    """Seconds that this many processes take for PAIRS pairs in all, after all have started."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(processes + 1)

    def work() -> None:
        study = begin(storage)
        pairs(study, FIRST)
        ready.wait()
        pairs(study, PAIRS // processes)

    children = [fork.Process(target=work) for _ in range(processes)]
    for child in children:
        child.start()
    ready.wait()
    taken = timed(lambda: [child.join() for child in children])
    if any(child.exitcode for child in children):
        raise SystemExit("a process failed")
    return taken


def syncs(folder: str) -> float:
    """How many small writes a second this disk makes durable."""
    with (Path(folder) / "sync").open("wb") as file:

        def write() -> None:
            for _ in range(300):
                file.write(b"x" * 4096)
                file.flush()
                os.fsync(file.fileno())

        return 300 / timed(write)


def fill(storage: str, told: int) -> None:
    """A study of this many told trials, told many at a time: one by one takes much longer."""
    study, random = begin(storage), np.random.default_rng(0)
    arms = random.integers(0, 10, told)
    values = MEANS[arms] + SIGMA * random.normal(size=told)
    rows = [(arm, value, None) for arm, value in zip(arms.tolist(), values.tolist(), strict=True)]
    for first in range(0, told, 20_000):
        study.tell_unasked(rows[first : first + 20_000])


def measure(what: str, storage: str) -> tuple[float, float]:
    """What one process of this benchmark measures: the figure, and the CPU time of a pair in µs."""
    if what == "load":
        fill(storage, TOLD)
        return min(timed(lambda: shortlist.Study.load(storage)) for _ in range(TRIES)), 0.0
    if what == "eight":
        return PAIRS / at_once(storage, 8), 1e6 * cpu() / (PAIRS + 8 * FIRST)
    study = begin(None if what == "memory" else storage)
    pairs(study, FIRST)
    before = cpu()
    rate = PAIRS / timed(lambda: pairs(study, PAIRS))
    return rate, 1e6 * (cpu() - before) / PAIRS


MEASURES = [
    ("ask and tell, in memory", "memory", None),
    ("ask and tell, SQLite, 1 process", "one", "file"),
    ("the same, 8 processes on one study", "eight", "file"),
    ("ask and tell, PostgreSQL, 1 process", "one", "server"),
    ("the same, 8 processes on one study", "eight", "server"),
    (f"load {TOLD:,} told trials, SQLite", "load", "file"),
]


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--quick", action="store_true", help="without the large study")
    options.add_argument("--measure", help=argparse.SUPPRESS)
    options.add_argument("--storage", default="", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        begin(None).ask()  # loads what it needs
        print(*measure(given.measure, given.storage))
        return
    from server import running_server, server_programs

    numbers = count()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        programs = server_programs()
        server = stack.enter_context(running_server(programs)) if programs else None
        sources = stack.enter_context(versions(given.beside))
        print(f"{syncs(folder):,.0f} small writes a second are made durable on this disk")
        print_heading(given.beside)
        for title, what, where in MEASURES:
            if (what == "load" and given.quick) or (where == "server" and server is None):
                continue
            measured: list[list[Measured]] = [[] for _ in sources]
            for _ in range(1 if what == "load" else TRIES):
                for source, figures in zip(sources, measured, strict=True):
                    storage = f"{folder}/{next(numbers)}.db" if where == "file" else ""
                    if where == "server":
                        assert server is not None
                        storage = server.new_database()
                    asked = ["--measure", what, "--storage", storage]
                    figures.append(in_a_process(source, __file__, *asked))
            if what == "load":
                print_row(title, [each[0][0] for each in measured], "s", more_is_better=False)
            else:
                print_rates(title, measured)


if __name__ == "__main__":
    main()
