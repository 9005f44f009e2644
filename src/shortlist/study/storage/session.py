"""One connection to a database, and one transaction at a time on it, with little in between.

SQLAlchemy writes the statements, once; they then go to the driver itself. Through SQLAlchemy a
small transaction takes four times as long.
"""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from shortlist.study.storage import database
from shortlist.study.storage.database import begin_writing, wait_to_write
from shortlist.study.storage.worker import process_name

Statement = sql.sql.expression.ClauseElement
Values = dict[str, Any]
Queries = Sequence[tuple[Statement, Values]]
Rows = list[tuple[Any, ...]]
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
    def begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
        """Begin a transaction and read something in it."""

    @abstractmethod
    def read(self, queries: Queries) -> list[Rows]:
        """The rows of some queries."""

    @abstractmethod
    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""

    @abstractmethod
    def commit(self, statements: Queries) -> None:
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

    def begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
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
        found = self.read(queries)
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

    def read(self, queries: Queries) -> list[Rows]:
        """The rows of some queries."""
        execute = self._connection.execute
        return [execute(*_for_sqlite(query, values)).fetchall() for query, values in queries]

    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""
        return json.dumps(list(numbers))

    def commit(self, statements: Queries) -> None:
        """Write, and end the transaction."""
        execute = self._connection.execute
        for statement, values in statements:
            execute(*_for_sqlite(statement, values))
        try:
            execute("COMMIT")
        except sqlite3.Error as error:
            raise CommitLost from error


class PostgresSession(Session):
    """A connection to a server: statements go there together and are answered together.

    They are prepared once, and sent in the pipeline mode of libpq by psycopg's own binding of it.
    ``Connection.pipeline`` would send each by itself and look for replies in between, which takes
    five times as long, and others wait all the while.
    """

    dialect = "postgresql"

    def _made(self) -> None:
        from psycopg.adapt import Transformer

        self._connection.autocommit = True  # transactions are begun and ended here
        self._prepared: dict[str, bytes] = {}
        self._names = count()
        self._adapter = Transformer(self._connection)
        named = "SELECT set_config('application_name', %s, false)"
        self._connection.execute(named, [process_name()])  # others can see that it is at work

    def begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
        """Begin a transaction and read something in it; once more where the server was away."""
        for last in (False, True):
            try:
                return self._begin(queries, writing=writing)
            except Exception as error:
                broken = self._connection is None or self._connection.closed
                if last or not broken or getattr(error, "sqlstate", None) == "55P03":
                    raise
                self.close()
        raise AssertionError

    def _begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
        kind = "READ COMMITTED" if writing else "REPEATABLE READ READ ONLY"
        if self._connection is not None and not self._is_in("IDLE"):
            self.close()  # with a transaction that was interrupted, and not ended
        given = [_for_postgres(query, values) for query, values in queries]
        return self._exchange([(f"BEGIN ISOLATION LEVEL {kind}", []), *given])[1:]

    def read(self, queries: Queries) -> list[Rows]:
        """The rows of some queries."""
        return self._exchange([_for_postgres(query, values) for query, values in queries])

    def listed(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""
        return list(numbers)

    def commit(self, statements: Queries) -> None:
        """Write, and end the transaction."""
        connection = self._connection
        written = [_for_postgres(statement, values) for statement, values in statements]
        try:
            self._exchange([*written, ("COMMIT", [])])
        except Exception as error:
            if connection.closed:
                raise CommitLost from error
            raise  # the server has said what was wrong, and has not come to the commit

    def roll_back(self) -> None:
        """End the transaction and undo it."""
        if self._connection is None or self._is_in("IDLE"):
            return
        if self._is_in("INTRANS", "INERROR"):
            super().roll_back()
        else:
            self.close()  # an exchange was interrupted

    def _is_in(self, *states: str) -> bool:
        """Whether no exchange is under way, and the transaction is in one of some states."""
        line = self._connection.pgconn
        return line.pipeline_status == 0 and self._connection.info.transaction_status.name in states

    def _exchange(self, statements: Sequence[tuple[str, list[Any]]]) -> list[Rows]:
        """Send statements, all at once; the rows of each. After one that fails none is executed."""
        connection = self.connection
        line = connection.pgconn
        new: dict[str, bytes] = {}
        asked = []  # whether rows were, by reply
        line.enter_pipeline_mode()
        for text, values in statements:
            name = self._prepared.get(text) or new.get(text)
            if name is None:
                name = new[text] = b"%d" % next(self._names)
                line.send_prepare(name, text.encode())
                asked.append(False)
            line.send_query_prepared(name, self._as_text(values))
            asked.append(True)
        line.pipeline_sync()
        replies = connection.wait(_replies(line))
        line.exit_pipeline_mode()
        _check(replies)
        self._prepared |= new  # not before: a name may have been given to one that was not reached
        return [self._rows(reply) for reply, wanted in zip(replies, asked, strict=True) if wanted]

    def _as_text(self, values: list[Any]) -> Any:
        from psycopg.adapt import PyFormat

        return self._adapter.dump_sequence(values, [PyFormat.TEXT] * len(values))

    def _rows(self, reply: Any) -> Rows:
        self._adapter.set_pgresult(reply)
        return list(self._adapter.load_rows(0, reply.ntuples, tuple))


def _replies(line: Any) -> Generator[Any, Any, list[Any]]:
    """Sends what is to be sent and returns all replies to it; ``Connection.wait`` runs it.

    A server that cannot get rid of its replies takes nothing more: so both go on at once.
    """
    from psycopg.pq import ExecStatus
    from psycopg.waiting import Ready, Wait

    replies: list[Any] = []
    while True:
        unsent = line.flush()
        if (yield Wait.RW if unsent else Wait.R) & Ready.R:
            line.consume_input()  # raises where the line was cut
            while not line.is_busy():
                reply = line.get_result()
                if reply is not None and reply.status == ExecStatus.PIPELINE_SYNC:
                    return replies
                if reply is not None:  # None only ends the reply to a statement
                    replies.append(reply)


def _check(replies: list[Any]) -> None:
    """Raise what the server says of a statement that failed."""
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    for reply in replies:
        if reply.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            raise error_from_result(reply)


def _for_sqlite(statement: Statement, values: Values) -> tuple[str, list[Any]]:
    """Values by their places: SQLite takes them so in half the time."""
    text, names = _sqlite_text(statement)
    return text, [values[name] for name in names]


@cache
def _sqlite_text(statement: Statement) -> tuple[str, list[str]]:
    compiled: Any = statement.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return str(compiled), list(compiled.positiontup)


def _for_postgres(statement: Statement, values: Values) -> tuple[str, list[Any]]:
    text, names = _postgres_text(statement)
    return text, [values[name] for name in names]


@cache
def _postgres_text(statement: Statement) -> tuple[str, list[str]]:
    dialect: Any = postgresql.dialect
    compiled: Any = statement.compile(dialect=dialect(paramstyle="numeric_dollar"))
    return str(compiled), list(compiled.positiontup or [])


def session(engine: sql.Engine) -> Session:
    """The session that fits an engine."""
    return PostgresSession(engine) if engine.dialect.name == "postgresql" else SQLiteSession(engine)
