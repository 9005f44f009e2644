"""Kills, crashes, cut lines, wrong clocks and forks, each with a checker.

    python tests/torture.py            all of it, some minutes (``make torture``)
    python tests/torture.py forks      one part

After each part the stored study is held against what its users did and were told
(``history.py``): every acknowledged result is there once, none is invented, and a replay in memory
asks for the same trials. Each function returns what it has counted; test_torture.py runs a small
part of each.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import crash
import shortlist
from history import check_history, check_replay
from proxy import Proxy, Side
from server import Server, running_server, server_programs
from shortlist.errors import OutcomeUnknown, StorageError

X = np.random.default_rng(5).normal(size=(6, 3))
MOST_BETWEEN = 60  # results from one crash to the next
Figures = dict[str, int]
Pair = tuple[int, float]
_VALUES = count(1)
PATIENCE = 120.0  # seconds for what takes a moment, unless the machine is very busy


def wait_until(happened: Callable[[], bool]) -> None:
    """Parts wait for events: how much a busy machine gets done in a second says nothing."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, f"it has not happened within {PATIENCE:.0f} s"
        time.sleep(0.005)


def begin(storage: str | Path, **given: Any) -> shortlist.Study:
    """A study that is far from its stop."""
    return shortlist.Study(X, m=2, sigma=1e6, seed=7, storage=storage, **given)


def new_value() -> float:
    """A result that no other has."""
    return float(next(_VALUES))


# Kills


def kills(new_storage: Callable[[], str], times: int, workers: int, longest: float) -> Figures:
    """Processes that are killed at random moments, and others that go on in their place.

    A study that comes to its stop before all the kills is followed by another.
    """
    figures = {"killed": 0, "studies": 0, "told": 0, "acknowledged": 0}
    while figures["killed"] < times:
        left = times - figures["killed"]
        for name, number in _kills_in_one_study(new_storage(), left, workers, longest).items():
            figures[name] += number
    return figures


def _kills_in_one_study(storage: str, times: int, workers: int, longest: float) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "noted"
        command = [sys.executable, crash.__file__, storage, str(noted)]
        out = subprocess.run(
            [*command, str(times), str(workers), str(longest)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        ended = json.loads(out.stdout)
        lines = [line.split() for line in noted.read_text().splitlines()]
    assert ended["last"] == 0
    assert set(ended["ends"]) <= {0, -signal.SIGKILL}
    study = shortlist.Study.load(storage)
    acknowledged = {int(number): float(value) for number, value in lines}
    for number, value in acknowledged.items():
        trial = study.trials[number]
        assert (trial.state, trial.value) == ("told", value), f"trial {number} was lost"
    told = [trial for trial in study.trials if trial.state == "told"]
    assert all(trial.value == crash.objective(trial) for trial in told)
    # Who is killed between the commit and the note has told one result more than it has noted.
    assert len(told) <= len(acknowledged) + ended["killed"], f"{len(told)} told, {ended}"
    assert study.done
    check_replay(study)
    counted = {"told": len(told), "acknowledged": len(acknowledged)}
    return {"killed": ended["killed"], "studies": 1, **counted}


# Cut lines


def cut_lines(server: Server, every: int = 1) -> Figures:
    """The line is cut before each message of a transaction, of the client's and of the server's.

    What was refused is repeated, with the same key or the same value.
    """
    storage = server.new_database()
    proxy = Proxy(server.port)
    through = storage.replace(f":{server.port}/", f":{proxy.port}/") + "?sslmode=disable"
    study = begin(through)
    acknowledged: list[Pair] = []
    said: list[StorageError] = []
    cuts = 0

    def repeated(act: Callable[[], Any]) -> Any:
        while True:
            try:
                return act()
            except StorageError as error:
                said.append(error)

    def ask() -> Any:
        key = f"request {new_value()}"
        return repeated(lambda: study.ask(1, key=key))[0]

    def tell() -> None:
        trial, value = ask(), new_value()
        repeated(lambda: study.tell(trial, value, if_told="same"))
        acknowledged.append((trial.arm, value))

    def tell_unasked() -> None:
        value = new_value()
        repeated(lambda: study.tell(arm=1, value=value, key=f"key {value}"))
        acknowledged.append((1, value))

    for act in (tell, tell_unasked):
        for _ in range(8):  # until statements are prepared, and every transaction is like the next
            act()
        proxy.count()
        act()
        length = dict(proxy.seen)
        sides: tuple[Side, Side] = ("client", "server")
        for side in sides:
            for number in range(0, length[side], every):
                proxy.count((side, number))
                cuts += 1
                act()
    proxy.close()
    unknown = [error for error in said if isinstance(error, OutcomeUnknown)]
    for error in said:
        words = "repeat the call" if error in unknown else "othing was changed"
        assert words in str(error), error
    loaded = shortlist.Study.load(storage)
    assert not loaded.pending, "an orphan was left"
    check_history(loaded, acknowledged, acknowledged)
    figures = {"cuts": cuts, "refused": len(said) - len(unknown), "unknown": len(unknown)}
    return {**figures, "acknowledged": len(acknowledged)}


# Server crashes


def server_crashes(
    server: Server, crashes: int, workers: int = 3, between: int = MOST_BETWEEN
) -> Figures:
    """A server that is stopped without warning while processes run a study, and started again.

    Up to ``between`` results are told from one crash to the next, and a random while passes.
    """
    random = np.random.default_rng()
    storage = server.new_database()
    begin(storage).close()
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        over, ready = fork.Event(), fork.Barrier(workers + 1)
        files = [Path(folder) / str(number) for number in range(workers)]
        given = [(storage, str(file), ready, over) for file in files]
        processes = [fork.Process(target=_run_on, args=each) for each in given]
        for process in processes:
            process.start()

        def told_more(number: int) -> Callable[[], bool]:
            wanted = told_in(files) + number
            return lambda: told_in(files) >= wanted

        ready.wait(PATIENCE)
        try:
            for _ in range(crashes):
                wait_until(told_more(int(random.integers(1, between + 1))))
                time.sleep(random.uniform(0.0, 0.05))
                server.crash()
                time.sleep(0.2)
                server.start()
            wait_until(told_more(1))
        finally:
            over.set()
            for process in processes:
                process.join()
        assert [process.exitcode for process in processes] == [0] * workers
        lines = [line.split() for file in files for line in file.read_text().splitlines()]
    evaluated = [(int(arm), float(value)) for kind, arm, value in lines if kind == "made"]
    acknowledged = [(int(arm), float(value)) for kind, arm, value in lines if kind == "told"]
    study = shortlist.Study.load(storage)
    check_history(study, acknowledged, evaluated)
    return {"crashes": crashes, "acknowledged": len(acknowledged)}


def told_in(files: list[Path]) -> int:
    """How many results were noted as told."""
    return sum(file.read_text().count("told") for file in files if file.exists())


def _run_on(storage: str, noted: str, ready: Any, over: Any) -> None:
    study = shortlist.Study.load(storage)
    ready.wait()
    with Path(noted).open("w") as out:
        while not over.is_set():
            made: list[tuple[int, float]] = []

            def objective(trial: Any, made: list[tuple[int, float]] = made) -> float:
                time.sleep(0.01)
                value = float(np.random.default_rng([trial.seed % 2**32, os.getpid()]).normal())
                made.append((trial.number, value))
                print("made", trial.arm, repr(value), file=out, flush=True)
                return value

            try:
                study.run(objective, max_evaluations=1, progress=False, patience=300)
            except StorageError:
                assert not made, "a result was not waited with"
                time.sleep(0.05)  # the server was away before anything was asked for
            for number, value in made:
                trial = study.trials[number]
                if trial.value == value:
                    print("told", trial.arm, repr(value), file=out, flush=True)


# Wrong clocks


def wrong_clocks(server: Server, results: int) -> Figures:
    """Machines of which one is an hour ahead and one behind, with a lease."""
    storage = server.new_database()
    begin(storage, lease=600.0).close()
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(number) for number in range(3)]
        shifts = (0.0, 3600.0, -3600.0)
        processes = [
            fork.Process(target=_run_shifted, args=(storage, str(file), shift, results // 3))
            for file, shift in zip(files, shifts, strict=True)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 3
        lines = [line.split() for file in files for line in file.read_text().splitlines()]
    evaluated = [(int(arm), float(value)) for arm, value in lines]
    study = shortlist.Study.load(storage)
    check_history(study, evaluated, evaluated)
    told = sum(t.state == "told" for t in study.trials)
    assert len(evaluated) == told, f"{len(evaluated)} evaluations for {told} results"
    return {"evaluations": len(evaluated), "results": told}


def _run_shifted(storage: str, noted: str, shift: float, results: int) -> None:
    clock = time.time
    time.time = lambda: clock() + shift  # type: ignore[assignment]
    study = shortlist.Study.load(storage)
    with Path(noted).open("w") as out, ThreadPoolExecutor(2) as pool:

        def objective(trial: Any) -> float:
            time.sleep(0.005)
            value = float(np.random.default_rng([trial.seed % 2**32, os.getpid()]).normal())
            print(trial.arm, repr(value), file=out, flush=True)
            return value

        study.run(
            objective,
            executor=pool,
            batch=2,
            max_evaluations=results,
            order="completion",
            progress=False,
        )


# Forks


def forks(storage: str, times: int) -> Figures:
    """Children of a process of which other threads ask and tell all the time."""
    study = begin(storage)
    over = threading.Event()
    acknowledged: list[Pair] = []
    attempted: list[Pair] = []
    lock = threading.Lock()

    def work() -> None:
        while not over.is_set():
            trial = study.ask()
            with lock:
                pair = (trial.arm, new_value())
                attempted.append(pair)
            study.tell(trial, pair[1])
            with lock:
                acknowledged.append(pair)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(times):
            before = len(acknowledged)
            wait_until(lambda before=before: len(acknowledged) > before)  # type: ignore[misc]
            time.sleep(0.002)
            value = -1.0 - number
            into, out = os.pipe()
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # kills one that waits for ever
                try:
                    trial = study.ask()
                    study.tell(trial, value)
                    os.write(out, str(trial.arm).encode())
                    os._exit(0)
                except BaseException:
                    os._exit(2)
            os.close(out)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a child did not end"
            pair = (int(os.read(into, 20)), value)
            os.close(into)
            with lock:
                attempted.append(pair)
                acknowledged.append(pair)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    check_history(shortlist.Study.load(storage), acknowledged, attempted)
    study.close()
    return {"forks": times, "acknowledged": len(acknowledged)}


# The live page

TOKEN = "token-for-the-torture"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@contextmanager
def serving(storage: str, handles: int = 1024) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``shortlist serve`` with so many file handles, and its address."""
    command = [sys.executable, "-m", "shortlist", "serve", storage, "--port", "0"]
    limited = ["sh", "-c", f'ulimit -n {handles}; exec "$@"', "sh", *command]
    environment = {**os.environ, "SHORTLIST_TOKEN": TOKEN}
    with subprocess.Popen(limited, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, server.stdout.readline().split()[1].removesuffix(f"/{TOKEN}/")
        finally:
            server.kill()


def restarts(server: Server, times: int, between: int = MOST_BETWEEN) -> Figures:
    """A server of PostgreSQL that is stopped, fast and at once in turns, under ``shortlist serve``.

    What is answered by 503 is sent again. Up to ``between`` results are told from one stop to the next.
    """
    random = np.random.default_rng()
    storage = server.new_database()
    begin(storage).close()
    acknowledged: list[Pair] = []
    figures = {"restarts": times, "refused": 0}
    over = threading.Event()
    with serving(storage) as (_, address), httpx.Client(headers=BEARER, timeout=200) as http:

        def send(path: str, given: Any) -> Any:
            while True:
                reply = http.post(f"{address}/api/{path}", json=given)
                if reply.status_code == 200:
                    return reply.json()
                assert reply.status_code == 503, reply.text
                figures["refused"] += 1
                time.sleep(0.05)

        def work() -> None:
            while not over.is_set():
                value = new_value()
                [trial] = send("ask", {"key": f"key {value}"})["trials"]
                send("tell", {"trial": trial["trial"], "value": value})
                acknowledged.append((int(trial["arm"]), value))

        client = threading.Thread(target=work)

        def tells(number: int) -> None:
            wanted = len(acknowledged) + number
            wait_until(lambda: len(acknowledged) >= wanted or not client.is_alive())

        client.start()
        try:
            for number in range(times):
                tells(int(random.integers(1, between + 1)))
                time.sleep(random.uniform(0.0, 0.05))
                server.crash(how="fast" if number % 2 else "immediate")
                time.sleep(0.3)
                server.start()
            tells(1)
        finally:
            over.set()
            client.join()
    check_history(shortlist.Study.load(storage), acknowledged, acknowledged)
    return {**figures, "acknowledged": len(acknowledged)}


def strangers(storage: str, lines: int, handles: int, enough: int = MOST_BETWEEN) -> Figures:
    """Connections with half a request each, opened again when they are closed, and one client.

    The client asks, tells and looks all the time, each time on a new connection: none is cut. It ends
    when it has told ``enough`` results while all lines were taken.
    """
    begin(storage).close()
    half = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    acknowledged: list[Pair] = []
    waited: list[float] = []
    opened: list[socket.socket] = []
    over = threading.Event()
    with serving(storage, handles) as (server, address):
        place = ("127.0.0.1", int(address.rpartition(":")[2]))

        def attack() -> None:
            while not over.is_set():
                if len(opened) >= lines:
                    opened.pop(0).close()
                with suppress(OSError):
                    opened.append(socket.create_connection(place, timeout=1))
                    opened[-1].sendall(half)

        def send(path: str, **given: Any) -> Any:
            begun = time.perf_counter()
            method = "POST" if given else "GET"
            reply = httpx.request(
                method, f"{address}/api/{path}", headers=BEARER, timeout=PATIENCE, **given
            )
            waited.append(time.perf_counter() - begun)
            assert reply.status_code == 200, reply.text
            return reply.json()

        attacker = threading.Thread(target=attack)
        attacker.start()
        try:
            until = time.monotonic() + PATIENCE
            beside = 0  # results that were told while all lines were taken
            while beside < enough:
                assert time.monotonic() < until, f"not all lines are taken after {PATIENCE:.0f} s"
                value = new_value()
                [trial] = send("ask", json={"key": f"key {value}"})["trials"]
                send("tell", json={"trial": trial["trial"], "value": value})
                acknowledged.append((int(trial["arm"]), value))
                send("status")
                if len(opened) >= lines - 1:
                    beside, until = beside + 1, time.monotonic() + PATIENCE
        finally:
            over.set()
            attacker.join()
            server.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            server.wait(timeout=30)
            for line in opened:
                line.close()
    check_history(shortlist.Study.load(storage), acknowledged, acknowledged)
    return {
        "lines": len(opened),
        "requests": len(waited),
        "longest (ms)": round(1000 * max(waited)),
        "end (ms)": round(1000 * (time.monotonic() - begun)),
        "acknowledged": len(acknowledged),
    }


# All of it


def parts(server: Server | None, folder: Path) -> Iterator[tuple[str, Callable[[], Figures]]]:
    """Every part, by its title."""

    def new_file() -> str:
        return f"{folder}/{next(_VALUES)}.db"

    yield "kills, SQLite, 1 process", lambda: kills(new_file, 400, 1, 0.05)
    yield "kills, SQLite, 8 processes", lambda: kills(new_file, 400, 8, 0.02)
    yield "forks, SQLite", lambda: forks(f"{folder}/forks.db", 100)
    yield "strangers, SQLite", lambda: strangers(f"{folder}/strangers.db", 1500, 1024, 100)
    if server is None:
        print("PostgreSQL is not installed: its parts are left out")
        return
    yield "kills, PostgreSQL, 8 processes", lambda: kills(server.new_database, 200, 8, 0.02)
    yield "cut lines, PostgreSQL", lambda: cut_lines(server)
    yield "server crashes, PostgreSQL", lambda: server_crashes(server, 20)
    yield "restarts under serve, PostgreSQL", lambda: restarts(server, 10)
    yield "wrong clocks, PostgreSQL", lambda: wrong_clocks(server, 240)
    yield "forks, PostgreSQL", lambda: forks(server.new_database(), 50)


def main(wanted: str = "") -> None:
    programs = server_programs()
    with tempfile.TemporaryDirectory() as folder:
        if programs is None:
            _do(None, Path(folder), wanted)
            return
        with running_server(programs) as server:
            _do(server, Path(folder), wanted)


def _do(server: Server | None, folder: Path, wanted: str) -> None:
    for title, part in parts(server, folder):
        if wanted in title:
            begun = time.perf_counter()
            figures = ", ".join(f"{name} {number:,}" for name, number in part().items())
            took = time.perf_counter() - begun
            print(f"{title:30} {figures}, lost 0, invented 0 ({took:.0f} s)", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
