"""What several tests need: a PostgreSQL server, and studies kept in either kind of database."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest


def missing(what: str) -> None:
    """Skip a test where a program is not installed, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed: .ci/run should have done it")
    pytest.skip(f"{what} is not installed")


def server_programs() -> Path | None:
    """The folder of PostgreSQL's own programs: Debian keeps them off the path."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb")
    return homes[-1] if homes else Path(found).parent if found else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server started for these tests, without a database's name."""
    programs = server_programs()
    if programs is None:
        missing("PostgreSQL")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(tempfile.mkdtemp(prefix="shortlist-postgres-"))
    as_server: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(home, "postgres", "postgres")
        as_server = ["runuser", "-u", "postgres", "--"]
    data = str(home / "data")
    subprocess.run(
        [*as_server, str(programs / "initdb"), "-D", data, "-U", "tester", "--auth=trust", "-N"],
        check=True,
        capture_output=True,
        cwd="/",
    )
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {home}"
    control = [*as_server, str(programs / "pg_ctl"), "-D", data, "-w"]
    with (home / "log").open("wb") as log:
        subprocess.run(
            [*control, "-o", options, "start"], check=True, stdout=log, stderr=log, cwd="/"
        )
    try:
        yield f"postgresql://tester@127.0.0.1:{port}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], capture_output=True, cwd="/")
        shutil.rmtree(home, ignore_errors=True)


_NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgres"])
def new_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the name of a storage that is not there yet."""

    def file() -> str:
        return str(tmp_path / f"study-{next(_NUMBERS)}.db")

    if request.param == "sqlite":
        return file
    import psycopg

    address = request.getfixturevalue("postgres")

    def database() -> str:
        name = f"study_{next(_NUMBERS)}"
        for attempt in range(20):
            try:
                with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}")
                return f"{address}/{name}"
            except psycopg.OperationalError:
                if attempt == 19:
                    raise
                time.sleep(0.25)
        raise AssertionError

    return database
