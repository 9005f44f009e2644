"""A connection to PostgreSQL on which nobody waits for ever."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

CONNECTING = 10  # seconds to connect
SILENCE = 75.0  # seconds without a word of the server; it waits for a lock a shorter time
Result = TypeVar("Result")


class Connection(psycopg.Connection[Any]):
    """A connection that is closed once its server has been silent for too long.

    The driver leaves that to TCP, for which a line is alive as long as its other end takes what is
    sent: a proxy that passes nothing on, say, or a server process that was stopped.
    """

    def wait(self, gen: PQGen[Result], *given: Any, **named: Any) -> Result:
        """Wait for what the driver does step by step."""
        try:
            return super().wait(_unless_silent(gen), *given, **named)
        except _SilentError:
            self.close()
            raise


class _SilentError(psycopg.OperationalError):
    """The server has not said anything for too long."""


def _unless_silent(steps: PQGen[Result]) -> PQGen[Result]:
    """The same steps; the driver says at each whether anything has come since the last."""
    try:
        wanted, heard = next(steps), time.monotonic()
        while True:
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENCE:
                raise _SilentError(f"the server has not answered for {SILENCE:g} seconds")
            wanted = steps.send(ready)
    except StopIteration as end:
        result: Result = end.value
        return result


def connect(dialect: Any, record: Any, given: Sequence[Any], named: dict[str, Any]) -> Connection:
    """Connect: what SQLAlchemy calls in place of the driver's own function.

    Statements are not prepared: behind PgBouncer the next one may reach another server process.
    """
    settings = {"connect_timeout": CONNECTING, **named, "prepare_threshold": None}
    return Connection.connect(*given, **settings)
