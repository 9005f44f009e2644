"""Four workers, a server and two followers on one study: what grows while they are at work.

Each worker is a process that asks and tells, two on the storage itself and two by JSON; each
follower does what an open page does. Memory and file handles are those of the server and of a
worker, after the first tenth of the time and at the end; how long asking and telling takes is that
of the first and of the last fifth.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

import shortlist

X = np.random.default_rng(0).normal(size=(50, 5))
SIGMA = 1e4  # far from any stop
WORKERS, FOLLOWERS = 4, 2
TOKEN = "token-of-the-benchmark"  # noqa: S105 - for this machine only
BEARER = {"Authorization": f"Bearer {TOKEN}"}
Times = list[tuple[str, float, float]]  # what, when, and the seconds it took


def work(storage: str, address: str, number: int, seconds: float, ready: Any, noted: str) -> None:
    """A worker: on the storage, or by JSON; it notes what it did, from its second turn on."""
    draw, turn = np.random.default_rng(number), 0
    times: Times = []
    begun = until = math.inf
    study = shortlist.Study.load(storage) if number % 2 else None
    with httpx.Client(base_url=address, headers=BEARER, timeout=60) as http:
        while time.monotonic() < until:
            turn += 1
            value, moments = float(draw.normal()), [time.monotonic()]
            if study is not None:
                trial = study.ask().number
                moments.append(time.monotonic())
                study.tell(trial, value)
            else:
                asked = http.post("/api/ask", json={"key": f"{number}, {turn}"}).raise_for_status()
                trial = asked.json()["trials"][0]["trial"]
                moments.append(time.monotonic())
                http.post("/api/tell", json={"trial": trial, "value": value}).raise_for_status()
            moments.append(time.monotonic())
            kind = "storage" if study is not None else "JSON"
            times.append((f"ask, {kind}", moments[0] - begun, moments[1] - moments[0]))
            times.append((f"tell, {kind}", moments[1] - begun, moments[2] - moments[1]))
            if turn == 1:
                ready.wait(300)
                begun = time.monotonic()
                until = begun + seconds
    Path(noted).write_text(json.dumps(times))


def follow(address: str, until: float) -> None:
    """A follower: an open page."""
    seen = ""
    with httpx.Client(base_url=f"{address}/{TOKEN}", timeout=60) as http:
        http.get("/").raise_for_status()
        while time.monotonic() < until:
            seen = http.get(f"/live?seen={seen}").headers.get("study-changes", seen)
            time.sleep(1.0)


def used(process: int) -> tuple[int, int]:
    """MB of memory, and open file handles."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    memory = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) >> 10
    return memory, len(os.listdir(f"/proc/{process}/fd"))


def print_times(times: Times, seconds: float) -> None:
    """Percentiles at the start and at the end; the first turn of a worker does not count."""
    print(f"{'':16}{'requests':>9}   {'50 %, 95 %, 99 % at the start':>32}{'at the end':>28}")
    for what in sorted({each[0] for each in times}):
        row = f"{what:16}{sum(each[0] == what for each in times):9,}   "
        for low, high in ((0.0, 0.2), (0.8, 1.1)):
            taken = [t for kind, at, t in times if kind == what and low <= at / seconds < high]
            found = 1000.0 * np.quantile(taken or [np.nan], [0.5, 0.95, 0.99])
            row += "{:>11,.0f} {:>7,.0f} {:>7,.0f} ms".format(*found)
        print(row)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600.0)
    seconds = options.parse_args().seconds
    fork = multiprocessing.get_context("fork")
    warm = shortlist.Study(X, m=5, sigma=SIGMA, seed=0)  # loads what it needs
    warm.run(lambda trial: 0.0, max_evaluations=400, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        storage = f"{folder}/study.db"
        shortlist.Study(X, m=5, sigma=SIGMA, seed=0, storage=storage).close()
        command = [sys.executable, "-m", "shortlist", "serve", storage, "--port", "0"]
        environment = {**os.environ, "SHORTLIST_TOKEN": TOKEN}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1].removesuffix(f"/{TOKEN}/")
            ready = fork.Barrier(WORKERS + 1)
            noted = [f"{folder}/{number}" for number in range(WORKERS)]
            workers = [
                fork.Process(target=work, args=(storage, address, number, seconds, ready, file))
                for number, file in enumerate(noted)
            ]
            for worker in workers:
                worker.start()
            ready.wait(300)
            until = time.monotonic() + seconds
            pages = [
                threading.Thread(target=follow, args=(address, until)) for _ in range(FOLLOWERS)
            ]
            for page in pages:
                page.start()
            seen = {"server": server.pid, "worker": workers[1].pid or 0}
            time.sleep(seconds / 10)
            before = {name: used(process) for name, process in seen.items()}
            time.sleep(max(0.0, until - time.monotonic() - 0.2))
            after = {name: used(process) for name, process in seen.items()}
            for each in (*workers, *pages):
                each.join()
            server.terminate()
        times = [tuple(row) for file in noted for row in json.loads(Path(file).read_text())]
        study = shortlist.Study.load(storage)
    told = sum(what.startswith("tell") for what, _, _ in times)
    print(f"{told:,} results acknowledged, {study.evaluations:,} stored, {len(study.pending)} open")
    for name, (memory, handles) in before.items():
        print(
            f"{name}: {memory} to {after[name][0]} MB, {handles} to {after[name][1]} file handles"
        )
    print_times(times, seconds)


if __name__ == "__main__":
    main()
