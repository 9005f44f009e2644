"""A PostgreSQL server that is silent, full, restarted, or behind PgBouncer: nobody waits for ever."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import shortlist
from proxy import Proxy
from served import begun, client_of
from shortlist.errors import OutcomeUnknown, StorageError
from shortlist.storage import sql
from shortlist.study.trial import Trial

SILENCE, CONNECTING = 0.5, 2  # seconds, here
LONGEST = SILENCE + CONNECTING + 4.0  # for one call, on a busy machine
_NUMBERS = count()


@pytest.fixture
def database(postgres: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new database, whose silence is not borne for long."""
    import psycopg

    from shortlist.storage import postgresql

    monkeypatch.setattr(postgresql, "SILENCE", SILENCE)
    monkeypatch.setattr(postgresql, "CONNECTING", CONNECTING)
    name = f"silent_{next(_NUMBERS)}"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres}/{name}"


@pytest.fixture
def line(database: str) -> Iterator[tuple[Proxy, str]]:
    """A line to the database that can be stalled, and the address of its near end."""
    host, _, place = database.rpartition(":")
    port, name = place.split("/")
    proxy = Proxy(int(port))
    try:
        yield proxy, f"{host}:{proxy.port}/{name}?sslmode=disable"
    finally:
        proxy.stall(False)
        proxy.close()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begun_at = time.monotonic()
    yield
    assert time.monotonic() - begun_at < seconds


@pytest.mark.parametrize("writing", [True, False])
def test_a_silent_line_is_given_up(writing: bool, line: tuple[Proxy, str], database: str) -> None:
    proxy, address = line
    study = begun(address)
    study.ask(2)

    def call() -> object:
        return study.ask(key="again") if writing else study.refresh()

    proxy.stall()
    with within(LONGEST), pytest.raises(StorageError, match="could not be read or written"):
        call()
    proxy.stall(False)
    call()
    assert len(shortlist.Study.load(database).trials) == 2 + writing


def test_who_connects_to_a_silent_server_is_told(line: tuple[Proxy, str]) -> None:
    proxy, address = line
    proxy.stall()
    with within(LONGEST), pytest.raises(StorageError, match="timeout"):
        shortlist.Study.load(address)


def test_a_reply_that_never_comes_leaves_the_outcome_unknown(line: tuple[Proxy, str]) -> None:
    proxy, address = line
    study = begun(address)
    study.ask(2)
    commit, stopped = study._log.storage.driver.commit, []  # type: ignore[attr-defined]

    def stalled(*given: Any) -> None:
        if not stopped:
            proxy.stall()
            stopped.append(True)
        commit(*given)

    study._log.storage.driver.commit = stalled  # type: ignore[attr-defined]
    with within(LONGEST), pytest.raises(OutcomeUnknown, match=r"has not answered for 0\.5 seconds"):
        study.tell(0, 0.5)
    proxy.stall(False)
    study.tell(0, 0.5, if_told="same")
    assert study.evaluations == 1


@pytest.mark.slow
@pytest.mark.parametrize("ends_by", ["patience", "Ctrl-C twice"])
def test_a_run_on_a_silent_line_writes_down_what_was_evaluated(
    ends_by: str,
    line: tuple[Proxy, str],
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    proxy, address = line
    study = begun(address)
    interrupts = {"patience": 0, "Ctrl-C twice": 2}[ends_by]

    def interrupt() -> None:
        for _ in range(interrupts):
            time.sleep(0.4)
            os.kill(os.getpid(), signal.SIGINT)

    def objective(trial: Trial) -> float:
        if trial.number == 2:
            proxy.stall()
            threading.Thread(target=interrupt).start()
        return float(trial.number)

    expected = KeyboardInterrupt if interrupts else StorageError
    with within(LONGEST + 12.0), pytest.raises(expected) as caught:  # the driver cancels in 5 s
        study.run(objective, progress=False, patience=1.0 if not interrupts else 60.0)
    words = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "1 finished results are kept in" in words
    (file,) = tmp_path.glob("study.untold-*.csv")
    assert shortlist.read_untold(file) == [(2, 2.0)]
    proxy.stall(False)
    loaded = shortlist.Study.load(database)
    loaded.tell_many(shortlist.read_untold(file), if_told="same")
    assert [trial.value for trial in loaded.trials] == [0.0, 1.0, 2.0]


def test_a_server_process_that_is_stopped_is_given_up(database: str) -> None:
    import psycopg

    study = begun(database)
    study.ask(2)
    with psycopg.connect(database) as other:
        found = other.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    assert found
    for (process,) in found:
        os.kill(process, signal.SIGSTOP)
    try:
        with within(LONGEST):
            study.tell(0, 0.5, if_told="same")  # by another process of the server
    finally:
        for (process,) in found:
            os.kill(process, signal.SIGCONT)
    assert shortlist.Study.load(database).trials[0].value == 0.5


def test_a_server_behind_a_silent_line_is_said_to_be_away(line: tuple[Proxy, str]) -> None:
    proxy, address = line
    begun(address)
    with client_of(address) as client:
        assert client.api("ask", {"key": "a"}).status_code == 200
        proxy.stall()
        with within(LONGEST):
            reply = client.api("tell", {"trial": 0, "value": 0.5})
        assert (reply.status_code, reply.json()["kind"]) == (503, "StorageError")
        assert "not answered" in reply.json()["error"] or "timeout" in reply.json()["error"]
        proxy.stall(False)
        assert client.api("tell", {"trial": 0, "value": 0.5}).json()["taken"] == [0]


def test_a_lock_of_another_is_waited_for_and_said(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(sql, "PATIENCE", 0.3)
    study = begun(database)
    with psycopg.connect(database) as other:
        other.execute("SELECT * FROM shortlist_studies FOR UPDATE")
        with within(LONGEST), pytest.raises(StorageError, match="was locked by another process"):
            study.ask()
    assert study.ask().number == 0


def test_a_server_that_is_full_says_so(database: str) -> None:
    import psycopg

    begun(database)
    user = database.replace("tester@", "few@")
    with psycopg.connect(database, autocommit=True) as own:
        own.execute("DROP ROLE IF EXISTS few")
        own.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 1 IN ROLE tester")
        own.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO few")
    with psycopg.connect(user) as other:
        with pytest.raises(StorageError, match="too many connections"):
            shortlist.Study.load(user)
        other.close()


def test_a_time_limit_of_the_server_is_said(database: str) -> None:
    import psycopg

    study = begun(database)
    study.close()
    name = database.rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as own:
        own.execute(f"ALTER DATABASE {name} SET statement_timeout = '300ms'")
    with psycopg.connect(database) as other:
        other.execute("SELECT * FROM shortlist_studies FOR UPDATE")
        with pytest.raises(StorageError, match="due to statement timeout"):
            study.ask()
    assert study.ask().number == 0


# PgBouncer


@pytest.fixture
def pooled(database: str, tmp_path: Path) -> Iterator[str]:
    """The database through PgBouncer, one server process for all, taken for each transaction."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    host, _, place = database.rpartition(":")
    port, name = place.split("/")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    settings = tmp_path / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{name} = host=127.0.0.1 port={port} user=tester\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {own}\nunix_socket_dir =\nauth_type = any\n"
        "pool_mode = transaction\ndefault_pool_size = 2\n"
    )
    as_another = ["-u", "nobody"] if os.geteuid() == 0 else []
    os.chmod(tmp_path, 0o755)
    with subprocess.Popen(
        [program, *as_another, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", own), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield f"{host}:{own}/{name}"
        finally:
            process.terminate()


def test_many_share_a_study_through_pgbouncer(pooled: str, database: str) -> None:
    begun(pooled, sigma=1e6)
    told: list[int] = []

    def work() -> None:
        study = shortlist.Study.load(pooled)
        for _ in range(12):  # more than the driver waits with before it would prepare a statement
            trials = study.ask(2)
            study.tell_many([(trial, float(trial.number)) for trial in trials])
            told.extend(trial.number for trial in trials)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(96))
    study = shortlist.Study.load(database)
    assert [trial.value for trial in study.trials] == [float(number) for number in range(96)]
