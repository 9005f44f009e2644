"""A stored study of a million results: time and memory of all that is done with it.

    python benchmarks/million.py                   a million
    python benchmarks/million.py --results 100000

Other processes, which have the study open, tell a result each while one result is corrected. All of
them must process every result again; each keeps all of them in memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

import shortlist

X = np.random.default_rng(0).normal(size=(100, 8))
MEANS = X @ np.random.default_rng(1).normal(size=8)
SIGMA = 300.0  # far from any stop
TOKEN = "token-of-the-benchmark"  # noqa: S105 - for this machine only


def fill(storage: str, results: int) -> None:
    """Tell results, many at a time: one by one takes much longer."""
    study = shortlist.Study(X, m=5, sigma=SIGMA, seed=1, storage=storage)
    random = np.random.default_rng(0)
    arms = random.integers(0, len(X), results)
    values = MEANS[arms] + SIGMA * random.normal(size=results)
    rows = [(arm, value, None) for arm, value in zip(arms.tolist(), values.tolist(), strict=True)]
    for first in range(0, results, 50_000):
        study.tell_unasked(rows[first : first + 50_000])


def memory() -> float:
    """The most memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(what: str, act: Callable[[], Any]) -> Any:
    """Do something, and print its time, the CPU time of this process, and the most memory so far."""
    begun, used = time.perf_counter(), time.process_time()
    result = act()
    took, used = time.perf_counter() - begun, time.process_time() - used
    print(f"{what:44} {took:8.2f} s {used:8.2f} s {memory():8,.0f} MB", flush=True)
    return result


def use(storage: str) -> None:
    """Open the study, ask and tell."""
    study = report("open", lambda: shortlist.Study.load(storage))
    trial = report("ask", study.ask)
    report("tell", lambda: study.tell(trial, 0.5))
    report("ask for 1,536", lambda: study.ask(1536, key="plate"))


def tell_one(storage: str, ready: Any, corrected: Any) -> None:
    """Another process: it has the study open, and tells a result once another is being corrected."""
    study = shortlist.Study.load(storage)
    trial = study.ask()
    ready.wait()
    corrected.wait()
    time.sleep(0.2)
    begun = time.perf_counter()
    try:
        study.tell(trial, 0.5)
        words = "told"
    except shortlist.errors.StorageError as error:
        words = str(error)
    print(f"  another process, meanwhile: tell {time.perf_counter() - begun:20.2f} s  {words}")


def correct_beside_others(storage: str, count: int) -> None:
    """Correct a result while others tell theirs."""
    fork = multiprocessing.get_context("fork")
    ready, corrected = fork.Barrier(count + 1), fork.Event()
    others = [fork.Process(target=tell_one, args=(storage, ready, corrected)) for _ in range(count)]
    for other in others:
        other.start()
    study = shortlist.Study.load(storage)
    ready.wait()
    corrected.set()
    report("correct", lambda: study.correct(7, 1.0, reason="read from the wrong line"))
    for other in others:
        other.join()
    report("see what the others told", study.refresh)


def serve(storage: str) -> None:
    """Serve the study, and do with the server what its clients do."""
    command = [sys.executable, "-m", "shortlist", "serve", storage, "--port", "0"]
    with subprocess.Popen(
        command, env={**os.environ, "SHORTLIST_TOKEN": TOKEN}, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        page = report("serve: until it answers", server.stdout.readline).split()[1]
        api = page.replace(f"{TOKEN}/", "api")
        client = httpx.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=600)
        with client as http:
            report("  page, the first time", lambda: http.get(page).raise_for_status())
            asked = report(
                "  ask", lambda: http.post(f"{api}/ask", json={"key": "a"}).raise_for_status()
            )
            result = {"trial": asked.json()["trials"][0]["trial"], "value": 0.5}
            report("  tell", lambda: http.post(f"{api}/tell", json=result).raise_for_status())
            report("  page, after a result", lambda: http.get(page).raise_for_status())
            report("  status", lambda: http.get(f"{api}/status").raise_for_status())
        lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
        print(f"{'  most memory of the server':44} {peak:19,.0f} MB")
        server.terminate()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--results", type=int, default=1_000_000)
    options.add_argument(
        "--others", type=int, default=2, help="processes beside the one that corrects"
    )
    options.add_argument("--file", help="a study that an earlier run has left, or the place for it")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storage = given.file or str(Path(folder) / "study.db")
        fork = multiprocessing.get_context("fork")
        if not Path(storage).exists():
            filling = fork.Process(target=fill, args=(storage, given.results))
            filling.start()
            report("fill", filling.join)
        print(f"{'the file':44} {Path(storage).stat().st_size / 2**20:19,.0f} MB")
        for target, given_to in (
            (use, (storage,)),
            (correct_beside_others, (storage, given.others)),
        ):
            process = fork.Process(target=target, args=given_to)
            process.start()
            process.join()
        serve(storage)


if __name__ == "__main__":
    main()
