"""Runs a study in processes that are killed at random moments; run by test_crash.py."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from shortlist.study.running import run

LEASE = 0.3  # seconds after which the trials of a killed process are given out again
SEED, M, SIGMA, EPSILON = 11, 3, 0.3, 0.12
# Below σ, so that the study takes much the same number of results in whatever order they come: from
# 351 to 659 in 30 runs.
NOISE = 0.1
# Between two kills, and each process may add the result that is under way. So 25 kills of eight
# processes are over after at most 300 results: before the study is.
MOST_RESULTS = 4
LINE = 32  # bytes of what is written down of a result, so that the size of the file counts them
X = np.random.default_rng(2).normal(size=(8, 3))
MEANS = X @ [0.8, -0.4, 0.3]


def objective(trial: object) -> float:
    return float(MEANS[trial.arm] + NOISE * np.random.default_rng(trial.seed).normal())  # type: ignore[attr-defined]


def begin(storage: str | None) -> shortlist.Study:
    settings = {"m": M, "sigma": SIGMA, "epsilon": EPSILON, "seed": SEED, "algorithm": "m-LinGapE"}
    return shortlist.Study(X, storage=storage, **settings)  # type: ignore[arg-type]


def work(storage: str, acknowledged: str, allowed: Any, alone: bool) -> None:
    """Evaluate one by one; each result that was told is written down before the next evaluation.

    Once ``allowed`` results are written down, evaluations wait: however seldom the process that
    kills gets its turn, the study is not done before it has.
    """
    evaluated: list[int] = []
    out = os.open(acknowledged, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    time.sleep(LEASE if alone else 0.0)  # one that is killed alone leaves its trial until then
    study = begin(storage)

    def note() -> None:
        for number in evaluated:
            trial = study.trials[number]
            if trial.state == "told":
                os.write(out, f"{number} {trial.value!r}".ljust(LINE - 1).encode() + b"\n")
        evaluated.clear()

    def noted(trial: object) -> float:
        note()
        while noted_so_far(acknowledged) >= allowed.value:
            time.sleep(0.005)
        evaluated.append(trial.number)  # type: ignore[attr-defined]
        return objective(trial)

    while not study.done:
        study.run(noted, progress=False)
        note()


def noted_so_far(acknowledged: str) -> int:
    path = Path(acknowledged)
    return path.stat().st_size // LINE if path.exists() else 0


def main(storage: str, acknowledged: str, kills: int, workers: int, longest: float) -> None:
    """Keep ``workers`` processes at work, kill one of them ``kills`` times, let the rest finish.

    Half of the kills wait for some more results, so that they are spread over the study at any speed
    of the machine; then all wait for a random time, so that they hit any step of an evaluation.
    """
    run.RUN_LEASE = LEASE
    # All is loaded before the fork, or most would be killed at that.
    with tempfile.TemporaryDirectory() as folder:
        begin(str(Path(folder) / "try.db")).run(objective, max_evaluations=90, progress=False)
    fork = multiprocessing.get_context("fork")
    allowed = fork.Value("d", MOST_RESULTS, lock=False)
    random = np.random.default_rng(int(time.time()))
    processes: list[multiprocessing.process.BaseProcess] = []
    moments: list[int] = []
    ends: list[int] = []

    def start() -> multiprocessing.process.BaseProcess:
        process = fork.Process(target=work, args=(storage, acknowledged, allowed, workers == 1))
        process.start()
        return process

    def end(process: multiprocessing.process.BaseProcess) -> bool:
        """Note how a process has ended; say whether it was done."""
        process.join()
        ends.append(process.exitcode)  # type: ignore[arg-type]
        return process.exitcode == 0

    while len(moments) < kills:
        processes += [start() for _ in range(workers - len(processes))]
        before = noted_so_far(acknowledged)
        allowed.value = before + MOST_RESULTS
        wanted = before + random.integers(-MOST_RESULTS, MOST_RESULTS + 1)
        while noted_so_far(acknowledged) < wanted and all(one.is_alive() for one in processes):
            time.sleep(0.001)
        time.sleep(random.uniform(0.0, longest))
        victim = processes.pop(random.integers(len(processes)))
        victim.kill()
        if end(victim):
            break  # the study is done: nobody is left to be killed at work
        moments.append(noted_so_far(acknowledged))
    allowed.value = np.inf
    for process in processes:
        end(process)
    last = start()
    last.join()
    ended = {"killed": len(moments), "ends": ends, "last": last.exitcode, "moments": moments}
    print(json.dumps({**ended, "noted": noted_so_far(acknowledged)}))


if __name__ == "__main__":
    place, noted_in, count, crew, pause = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).parent))
    main(place, noted_in, int(count), int(crew), float(pause))
