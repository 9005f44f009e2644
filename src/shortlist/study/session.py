"""One connection to a database, and one transaction at a time on it, with little in between.

SQLAlchemy writes the statements, once; they then go to the driver itself. Through SQLAlchemy a
small transaction takes four times as long.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import sqlite

from shortlist.study import database
from shortlist.study.database import begin_writing, wait_to_write
from shortlist.study.worker import process_name

Statement = sql.sql.expression.ClauseElement
Values = dict[str, Any]
CLOCKS: dict[str, Any] = {  # the database's own, in seconds since 1970, if it has one
    "sqlite": sql.null(),
    "postgresql": sql.extract("epoch", sql.func.clock_timestamp()),
}


class Session(ABC):
    """A connection, made when it is needed.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Makes the connection.
    """

    dialect: str

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine
        self._connection: Any = None

    @property
    def connection(self) -> Any:
        """The driver's own connection."""
        if self._connection is None:
            taken = self._engine.raw_connection()
            self._connection = taken.dbapi_connection
            taken.detach()
            self._made()
        return self._connection

    def _made(self) -> None:  # noqa: B027 - only SQLite has something to prepare
        """Prepare a new connection."""

    def forget(self) -> None:
        """Leave the connection to the process that made it."""
        self._connection = None

    def close(self) -> None:
        """Close the connection; what was begun on it is undone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be broken
                connection.close()

    @abstractmethod
    def begin(self, first: Statement, values: Values, *, writing: bool) -> list[tuple[Any, ...]]:
        """Begin a transaction and read something in it."""

    @abstractmethod
    def read(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[tuple[Any, ...]]]:
        """The rows of some queries."""

    @abstractmethod
    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""

    @abstractmethod
    def commit(self, statements: Sequence[tuple[Statement, Values]]) -> None:
        """Write, and end the transaction.

        Raises
        ------
        CommitLost
            If the database did not say whether it has committed.
        """

    def roll_back(self) -> None:
        """End the transaction and undo it."""
        try:
            if self._connection is not None:
                self._connection.execute("ROLLBACK")
        except Exception:
            self.close()


class CommitLost(Exception):
    """The database did not say whether it has committed."""


class SQLiteSession(Session):
    """A connection to a file."""

    dialect = "sqlite"

    def begin(self, first: Statement, values: Values, *, writing: bool) -> list[tuple[Any, ...]]:
        """Begin a transaction and read something in it."""
        connection = self.connection
        if connection.in_transaction:  # one that was interrupted, and not ended
            connection.execute("ROLLBACK")
        if not writing:
            connection.execute(f"PRAGMA busy_timeout = {self.patience * 1000:.0f}")
            connection.execute("BEGIN")
        elif self._is_logging:  # then nothing but the beginning waits for others
            wait_to_write(connection)
        else:
            begin_writing(connection)
        found = self.read([(first, values)])[0]
        if not writing and self._is_logging:
            connection.execute("PRAGMA busy_timeout = 0")
        return found

    @property
    def patience(self) -> float:
        """Seconds to wait for others."""
        return database.PATIENCE

    def _made(self) -> None:
        execute = self._connection.execute
        self._is_logging = execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        if self._is_logging:
            execute("PRAGMA busy_timeout = 0")

    def read(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[tuple[Any, ...]]]:
        """The rows of some queries."""
        execute = self._connection.execute
        return [execute(*_for_sqlite(query, values)).fetchall() for query, values in queries]

    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""
        return json.dumps(list(numbers))

    def commit(self, statements: Sequence[tuple[Statement, Values]]) -> None:
        """Write, and end the transaction."""
        execute = self._connection.execute
        for statement, values in statements:
            execute(*_for_sqlite(statement, values))
        try:
            execute("COMMIT")
        except sqlite3.Error as error:
            raise CommitLost from error


class PostgresSession(Session):
    """A connection to a server: statements are sent together where nothing is read between them."""

    dialect = "postgresql"

    def _made(self) -> None:
        self._connection.autocommit = True  # transactions are begun and ended here
        named = "SELECT set_config('application_name', %s, false)"
        self._connection.execute(named, [process_name()])  # others can see that it is at work

    def begin(self, first: Statement, values: Values, *, writing: bool) -> list[tuple[Any, ...]]:
        """Begin a transaction and read something in it; once more where the server was away."""
        for last in (False, True):
            try:
                return self._begin(first, values, writing=writing)
            except Exception as error:
                broken = self._connection is None or self._connection.closed
                if last or not broken or getattr(error, "sqlstate", None) == "55P03":
                    raise
                self.close()
        raise AssertionError

    def _begin(self, first: Statement, values: Values, *, writing: bool) -> list[tuple[Any, ...]]:
        kind = "READ COMMITTED" if writing else "REPEATABLE READ READ ONLY"
        if self._connection is not None and self._connection.info.transaction_status != 0:
            self.close()  # with a transaction that was interrupted, and not ended
        connection = self.connection
        with _together(connection):
            connection.execute(f"BEGIN ISOLATION LEVEL {kind}")
            found = connection.execute(_postgres_text(first), values)
        return list(found.fetchall())

    def read(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[tuple[Any, ...]]]:
        """The rows of some queries."""
        with _together(self._connection):
            found = [self._connection.execute(_postgres_text(q), values) for q, values in queries]
        return [list(each.fetchall()) for each in found]

    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""
        return list(numbers)

    def commit(self, statements: Sequence[tuple[Statement, Values]]) -> None:
        """Write, and end the transaction."""
        connection = self._connection
        try:
            with _together(connection):
                for statement, values in statements:
                    connection.execute(_postgres_text(statement), values)
                connection.execute("COMMIT")
        except Exception as error:
            if connection.closed:
                raise CommitLost from error
            raise  # the server has said what was wrong, and has not come to the commit


def _together(connection: Any) -> Any:
    """Statements within it are sent without waiting for each other's replies, where that works."""
    import psycopg

    _quieten(logging.getLogger("psycopg"))
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


@cache
def _quieten(logger: logging.Logger) -> None:
    """What the driver logs of a line that was lost is said by our own error, once."""
    logger.addFilter(lambda record: not str(record.msg).startswith("error ignored terminating"))


def _for_sqlite(statement: Statement, values: Values) -> tuple[str, list[Any]]:
    """Values by their places: SQLite takes them so in half the time."""
    text, names = _sqlite_text(statement)
    return text, [values[name] for name in names]


@cache
def _sqlite_text(statement: Statement) -> tuple[str, list[str]]:
    compiled: Any = statement.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return str(compiled), list(compiled.positiontup)


@cache
def _postgres_text(statement: Statement) -> str:
    from sqlalchemy.dialects.postgresql import psycopg

    dialect: Any = psycopg.dialect
    return str(statement.compile(dialect=dialect()))


def session(engine: sql.Engine) -> Session:
    """The session that fits an engine."""
    return PostgresSession(engine) if engine.dialect.name == "postgresql" else SQLiteSession(engine)
