"""How fast a stored study is asked and told, by one process and by eight, and how fast it loads."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shortlist
from shortlist.study.ledger import ROW
from shortlist.study.schema import TRIALS

X = np.random.default_rng(0).normal(size=(10, 4))
MEANS = X @ [1.0, 0.5, -0.3, 0.2]
SIGMA = 50.0  # far from any stop
TOLD = 1_000_000
PAIRS = 1_000


def begin(storage: str | None) -> shortlist.Study:
    return shortlist.Study(X, m=3, sigma=SIGMA, seed=1, storage=storage)


def pairs(storage: str, count: int) -> None:
    study = begin(storage)
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, float(MEANS[trial.arm]))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def at_once(storage: str, processes: int) -> float:
    """Seconds that this many processes take for PAIRS pairs each, after all have started."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(processes + 1)

    def work() -> None:
        begin(storage)
        ready.wait()
        pairs(storage, PAIRS // processes)

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
    """A study of this many told trials, written at once: asking for them one by one takes hours."""
    study = begin(storage)
    journal, random = study._journal, np.random.default_rng(0)
    arms = np.concatenate([journal.model.bound.engine.initial, random.integers(0, 10, told)])[:told]
    values = (MEANS[arms] + SIGMA * random.normal(size=told)).tolist()
    rows = [
        (
            *(number, arm, "told", value, None, 0.0, 0.0, None, "benchmark", None, 0),
            *("round", 0, 1, 0.5, 0.5, -1, 2 * number + 1, 2 * number + 2, None),
        )
        for number, (arm, value) in enumerate(zip(arms.tolist(), values, strict=True))
    ]
    journal.ledger.take_over(rows, [], 2 * told)
    journal.model.take(journal.ledger.settle(), journal._at_stop)
    with journal.storage._connected(writing=True) as connection:
        for first in range(0, told, 50_000):
            part = [
                {"study": 1, "touched": row[-2], **dict(zip(ROW, row, strict=True))}
                for row in rows[first : first + 50_000]
            ]
            connection.execute(TRIALS.insert(), part)
    with journal.storage.transaction(writing=True) as transaction:
        transaction.seal(journal.standing)


def main() -> None:
    begin(None).ask()  # everything is compiled
    with tempfile.TemporaryDirectory() as folder:
        print(f"a write made durable    {syncs(folder):10,.0f} a second on this disk")
        one = timed(lambda: pairs(str(Path(folder) / "one.db"), PAIRS))
        print(f"ask and tell, 1 process {PAIRS / one:10,.0f} pairs a second (asked: 500)")
        eight = at_once(str(Path(folder) / "eight.db"), 8)
        print(f"ask and tell, 8 of them {PAIRS / eight:10,.0f} pairs a second (asked: 100)")
        if len(sys.argv) > 1:  # the address of an empty PostgreSQL database
            server = timed(lambda: pairs(sys.argv[1], PAIRS))
            print(f"PostgreSQL, 1 process   {PAIRS / server:10,.0f} pairs a second")
            crowd = at_once(sys.argv[1], 8)
            print(f"PostgreSQL, 8 of them   {PAIRS / crowd:10,.0f} pairs a second")
        path = Path(folder) / "million.db"
        fill(str(path), TOLD)
        times = [timed(lambda: shortlist.Study.load(path)) for _ in range(3)]
        print(
            f"load {TOLD:,} told trials {min(times):8.1f} s, least of 3 (asked: 10); "
            f"{path.stat().st_size / 2**20:,.0f} MiB"
        )


if __name__ == "__main__":
    main()
