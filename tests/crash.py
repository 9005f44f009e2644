"""Runs a study in processes that are killed at random moments; run by test_crash.py."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import shortlist

SEED, M, SIGMA, EPSILON = 11, 3, 0.6, 0.05
X = np.random.default_rng(2).normal(size=(8, 3))
MEANS = X @ [0.8, -0.4, 0.3]


def objective(trial: object) -> float:
    return float(MEANS[trial.arm] + SIGMA * np.random.default_rng(trial.seed).normal())  # type: ignore[attr-defined]


def begin(storage: str | None) -> shortlist.Study:
    settings = {"m": M, "sigma": SIGMA, "epsilon": EPSILON, "seed": SEED, "algorithm": "m-LinGapE"}
    return shortlist.Study(X, storage=storage, **settings)  # type: ignore[arg-type]


def work(storage: str, acknowledged: str) -> None:
    """Evaluate one by one; each result that was told is written down before the next evaluation."""
    evaluated: list[int] = []
    out = os.open(acknowledged, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    study = begin(storage)

    def note() -> None:
        for number in evaluated:
            trial = study.trials[number]
            if trial.state == "told":
                os.write(out, f"{number} {trial.value!r}\n".encode())
        evaluated.clear()

    def noted(trial: object) -> float:
        note()
        evaluated.append(trial.number)  # type: ignore[attr-defined]
        return objective(trial)

    while not study.done:
        study.run(noted, progress=False)
        note()


def noted_so_far(acknowledged: str) -> int:
    path = Path(acknowledged)
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main(storage: str, acknowledged: str, kills: int, workers: int, longest: float) -> None:
    """Keep ``workers`` processes at work, kill one of them ``kills`` times, let the rest finish."""
    # All is loaded before the fork, or most would be killed at that.
    with tempfile.TemporaryDirectory() as folder:
        begin(str(Path(folder) / "try.db")).run(objective, max_evaluations=90, progress=False)
    fork = multiprocessing.get_context("fork")
    random = np.random.default_rng(int(time.time()))
    processes: list[multiprocessing.process.BaseProcess] = []
    killed = 0
    moments: list[int] = []
    ends: list[int] = []
    while killed < kills or processes:
        processes = [
            process for process in processes if process.is_alive() or ends.append(process.exitcode)
        ]  # type: ignore[func-returns-value]
        while len(processes) < workers and killed < kills:
            process = fork.Process(target=work, args=(storage, acknowledged))
            process.start()
            processes.append(process)
        time.sleep(random.uniform(0.0, longest))
        if killed < kills:
            victim = processes[random.integers(len(processes))]
            victim.kill()
            victim.join()
            if victim.exitcode == -signal.SIGKILL:
                killed += 1
                moments.append(noted_so_far(acknowledged))
            elif victim.exitcode == 0:
                kills = killed  # the study is done: nobody is left to be killed at work
        elif not processes:
            break
    finisher = fork.Process(target=work, args=(storage, acknowledged))
    finisher.start()
    finisher.join()
    ended = {"killed": killed, "ends": ends, "last": finisher.exitcode, "moments": moments}
    print(json.dumps({**ended, "noted": noted_so_far(acknowledged)}))


if __name__ == "__main__":
    place, noted_in, count, crew, pause = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).parent))
    main(place, noted_in, int(count), int(crew), float(pause))
