"""A PostgreSQL server of one's own: started, crashed and started again as a test wants."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_NUMBERS = count()


def server_programs() -> Path | None:
    """The folder of PostgreSQL's own programs: Debian keeps them off the path."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb")
    return homes[-1] if homes else Path(found).parent if found else None


class Server:
    """A server whose data lies in a folder of its own."""

    def __init__(self, programs: Path, home: Path, *, durable: bool = True) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"postgresql://tester@127.0.0.1:{self.port}"
        self._home = home
        # Without it, what is committed outlives processes that are killed, but not a crash.
        self._settings = "" if durable else "-c fsync=off -c full_page_writes=off"
        self._as_server: list[str] = []
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(home, "postgres", "postgres")
            self._as_server = ["runuser", "-u", "postgres", "--"]
        data = str(home / "data")
        make = [str(programs / "initdb"), "-D", data, "-U", "tester", "--auth=trust", "-N"]
        subprocess.run([*self._as_server, *make], check=True, capture_output=True, cwd="/")
        self._control = [*self._as_server, str(programs / "pg_ctl"), "-D", data, "-w"]

    def start(self) -> None:
        """Start it; after a crash it recovers first."""
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self._home} {self._settings}"
        with (self._home / "log").open("ab") as log:
            command = [*self._control, "-o", options, "start"]
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd="/")

    def crash(self, how: str = "immediate") -> None:
        """Stop it: "immediate", without a chance to write anything, or "fast", cutting all lines."""
        subprocess.run([*self._control, "-m", how, "stop"], capture_output=True, cwd="/")

    def new_database(self) -> str:
        """The address of a database that was not there before."""
        import psycopg

        name = f"new_{next(_NUMBERS)}"
        with psycopg.connect(f"{self.address}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{self.address}/{name}"


@contextmanager
def running_server(programs: Path, *, durable: bool = True) -> Iterator[Server]:
    """A server that is gone afterwards; one that is not ``durable`` must not be crashed before."""
    home = Path(tempfile.mkdtemp(prefix="shortlist-postgres-"))
    server = Server(programs, home, durable=durable)
    server.start()
    try:
        yield server
    finally:
        server.crash()
        shutil.rmtree(home, ignore_errors=True)
