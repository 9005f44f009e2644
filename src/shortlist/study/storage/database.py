"""A study kept in a database: its statements, one transaction for every change, and the session.

SQLAlchemy writes the statements, once; they then go to the driver itself. Through SQLAlchemy a
small transaction takes four times as long.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sqlite3
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from shortlist._version import __version__
from shortlist.errors import (
    DamagedStorage,
    InvalidSetting,
    OutcomeUnknown,
    StorageError,
    StudyNotFound,
    unknown_name,
)
from shortlist.printable import on_one_line, quoted
from shortlist.study.definition import Definition
from shortlist.study.journal import (
    ROW,
    Checkpoint,
    KnownState,
    Logged,
    Source,
    Storage,
    Transaction,
)
from shortlist.study.storage.address import is_url, shown, without_secrets
from shortlist.study.storage.forking import before_fork, no_fork
from shortlist.study.storage.schema import APART, EVENTS, STUDIES, TABLES, TRIALS
from shortlist.study.storage.worker import process_name
from shortlist.study.trial import Trial

PATIENCE = 60.0  # seconds that a writer waits for another
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0004, 0.003  # seconds between two tries to become the writer
COMMIT_CHECK_SECONDS = 60.0  # seconds to ask for whether a commit was made, if its reply was lost

Statement = sql.sql.expression.ClauseElement
Queries = Sequence[tuple[Statement, dict[str, Any]]]
Rows = list[tuple[Any, ...]]

_CLOCKS: dict[str, Any] = {  # the database's own, in seconds since 1970, if it has one
    "sqlite": sql.null(),
    "postgresql": sql.extract("epoch", sql.func.clock_timestamp()),
}
_OF_STUDY = TRIALS.c.study == sql.bindparam("study")
_EVENT_OF_STUDY = EVENTS.c.study == sql.bindparam("study")
_READ_ALL_TRIALS = (
    sql.select(*(TRIALS.c[name] for name in ROW)).where(_OF_STUDY).order_by(TRIALS.c.number)
)
_READ_NEW_TRIALS = _READ_ALL_TRIALS.where(TRIALS.c.number >= sql.bindparam("known"))
_LISTED = {  # the numbers in a list that is one parameter
    "sqlite": sql.text("SELECT value FROM json_each(:pending)"),
    "postgresql": sql.text("SELECT unnest(CAST(:pending AS BIGINT[]))"),
}
_READ_OPEN_TRIALS = {
    dialect: _READ_ALL_TRIALS.where(
        TRIALS.c.number.in_(listed), TRIALS.c.touched > sql.bindparam("since")
    )
    for dialect, listed in _LISTED.items()
}
_READ_EVENTS = (
    sql.select(*(EVENTS.c[name] for name in Logged._fields))
    .where(_EVENT_OF_STUDY, EVENTS.c.change > sql.bindparam("since"))
    .order_by(EVENTS.c.change)
)
_READ_SOURCES = (
    sql.select(STUDIES.c.name, EVENTS.c.reason)
    .join(EVENTS, EVENTS.c.study == STUDIES.c.id)
    .where(EVENTS.c.kind == "carried")
    .order_by(STUDIES.c.id)
)
_INSERT_TRIAL, _INSERT_EVENT = TRIALS.insert(), EVENTS.insert()
_MUTABLE = ("state", "value", "reason", "closed_at", "expires_at", "worker", "process", "closed")
_NEW_TRIAL, _mutable = [f"new_{name}" for name in _MUTABLE], attrgetter(*_MUTABLE)
_UPDATE = (
    TRIALS.update()
    .where(TRIALS.c.study == sql.bindparam("of"), TRIALS.c.number == sql.bindparam("which"))
    .values({name: sql.bindparam(f"new_{name}") for name in (*_MUTABLE, "touched", "closed_by")})
)
_NEW_STANDING = [f"new_{name}" for name in Checkpoint._fields]
_WRITE_STANDING = (
    STUDIES.update()
    .where(STUDIES.c.id == sql.bindparam("study"))
    .values({name: sql.bindparam(f"new_{name}") for name in Checkpoint._fields})
)
# What a transaction has done, by its number: whether it has been committed, and what is still open.
_MADE_BY: sql.BindParameter[int] = sql.bindparam("transaction")
_IS_PENDING = TRIALS.c.state == sql.literal_column("'pending'")
_FIND_TRIAL = sql.select(TRIALS.c.number).where(
    _OF_STUDY, (TRIALS.c.opened_by == _MADE_BY) | (TRIALS.c.closed_by == _MADE_BY)
)
_FIND_EVENT = sql.select(EVENTS.c.trial).where(_EVENT_OF_STUDY, EVENTS.c.made_by == _MADE_BY)
_FIND_OPENED = sql.select(TRIALS.c.number).where(
    _OF_STUDY, TRIALS.c.opened_by == _MADE_BY, _IS_PENDING
)
_FIND_RENEWED = (
    sql.select(TRIALS.c.number)
    .join(EVENTS, (EVENTS.c.study == TRIALS.c.study) & (EVENTS.c.change == TRIALS.c.touched))
    .where(_OF_STUDY, EVENTS.c.made_by == _MADE_BY, _IS_PENDING)
)
_FIND_PROCESS = sql.text("SELECT pid FROM pg_stat_activity WHERE application_name = :process")


@cache
def _read_standing(dialect: str, *, writing: bool) -> Any:
    columns = [STUDIES.c[name] for name in Checkpoint._fields]
    query = sql.select(*columns, _CLOCKS[dialect]).where(STUDIES.c.id == sql.bindparam("study"))
    return query.with_for_update() if writing else query


# Positional parameters: SQLite handles them in half the time.
_DIALECTS: dict[str, Any] = {
    "sqlite": sqlite.dialect(paramstyle="qmark"),
    "postgresql": postgresql.dialect(paramstyle="numeric_dollar"),  # type: ignore[no-untyped-call]
}


@cache
def _compiled(statement: Statement, dialect: str) -> tuple[str, list[str]]:
    """The text of a statement, and the names of its values in their order."""
    compiled: Any = statement.compile(dialect=_DIALECTS[dialect])
    return str(compiled), list(compiled.positiontup or [])


class Session(ABC):
    """One connection to a database, made when it is needed, and one transaction at a time on it."""

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
            self._prepare()
        return self._connection

    @abstractmethod
    def _prepare(self) -> None:
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
        """Begin a transaction; returns the rows of some queries in it."""

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


class _SQLite(Session):
    """A connection to a file."""

    dialect = "sqlite"

    def _prepare(self) -> None:
        execute = self._connection.execute
        self._is_logging = execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        if self._is_logging:
            execute("PRAGMA busy_timeout = 0")

    def begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
        connection = self.connection
        if connection.in_transaction:  # one that was interrupted, and not ended
            connection.execute("ROLLBACK")
        if not writing:
            connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
            connection.execute("BEGIN")
        elif self._is_logging:  # then nothing but the beginning waits for others
            _wait_to_write(connection)
        else:
            begin_writing(connection)
        found = self.read(queries)
        if not writing and self._is_logging:
            connection.execute("PRAGMA busy_timeout = 0")
        return found

    def read(self, queries: Queries) -> list[Rows]:
        return [self._execute(query, values).fetchall() for query, values in queries]

    def _execute(self, statement: Statement, values: dict[str, Any]) -> Any:
        text, names = _compiled(statement, "sqlite")
        return self._connection.execute(text, [values[name] for name in names])

    def listed(self, numbers: Sequence[int]) -> Any:
        return json.dumps(list(numbers))

    def commit(self, statements: Queries) -> None:
        for statement, values in statements:
            self._execute(statement, values)
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise CommitLost from error


def begin_writing(connection: Any) -> None:
    """Become the writer at once, so that two readers never both wait for it.

    SQLite itself would wait in steps of up to a tenth of a second: with several processes one is
    then left out for long.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        _wait_to_write(connection)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


def _wait_to_write(connection: Any) -> None:
    """Try to become the writer until it is so; the connection's own patience is 0."""
    deadline, pause = time.monotonic() + PATIENCE, SHORTEST_PAUSE
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.5, 1.5) * pause)  # noqa: S311 - no secret
        pause = min(1.3 * pause, LONGEST_PAUSE)


class _Postgres(Session):
    """A connection to a server: statements go there together and are answered together.

    They are prepared once, and sent in the pipeline mode of libpq by psycopg's own binding of it.
    ``Connection.pipeline`` would send each by itself and look for replies in between, which takes
    five times as long, and others wait all the while.
    """

    dialect = "postgresql"

    def _prepare(self) -> None:
        from psycopg.adapt import Transformer

        self._connection.autocommit = True  # transactions are begun and ended here
        self._prepared: dict[str, bytes] = {}
        self._names = count()
        self._adapter = Transformer(self._connection)
        named = "SELECT set_config('application_name', %s, false)"
        self._connection.execute(named, [process_name()])  # others can see that it is at work

    def begin(self, queries: Queries, *, writing: bool) -> list[Rows]:
        """Begin a transaction; once more where the server was away."""
        kind = "READ COMMITTED" if writing else "REPEATABLE READ READ ONLY"
        for last in (False, True):
            try:
                if self._connection is not None and not self._is_in("IDLE"):
                    self.close()  # with a transaction that was interrupted, and not ended
                given = self._texts(queries)
                return self._exchange([(f"BEGIN ISOLATION LEVEL {kind}", []), *given])[1:]
            except Exception as error:
                broken = self._connection is None or self._connection.closed
                if last or not broken or getattr(error, "sqlstate", None) == "55P03":
                    raise
                self.close()
        raise AssertionError

    def _texts(self, statements: Queries) -> list[tuple[str, list[Any]]]:
        """Statements as they are sent: their texts, and their values by place."""
        texts = [(*_compiled(each, "postgresql"), values) for each, values in statements]
        return [(text, [values[name] for name in names]) for text, names, values in texts]

    def read(self, queries: Queries) -> list[Rows]:
        return self._exchange(self._texts(queries))

    def listed(self, numbers: Sequence[int]) -> Any:
        return list(numbers)

    def commit(self, statements: Queries) -> None:
        connection = self._connection
        written = self._texts(statements)
        try:
            self._exchange([*written, ("COMMIT", [])])
        except Exception as error:
            if connection.closed:
                raise CommitLost from error
            raise  # the server has said what was wrong, and has not come to the commit

    def roll_back(self) -> None:
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
        from psycopg.adapt import PyFormat
        from psycopg.errors import error_from_result
        from psycopg.pq import ExecStatus

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
            given = self._adapter.dump_sequence(values, [PyFormat.TEXT] * len(values))
            line.send_query_prepared(name, given)
            asked.append(True)
        line.pipeline_sync()
        replies = connection.wait(_replies(line))
        line.exit_pipeline_mode()
        for reply in replies:
            if reply.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
                raise error_from_result(reply)
        self._prepared |= new  # not before: a name may have been given to one that was not reached
        return [self._rows(reply) for reply, wanted in zip(replies, asked, strict=True) if wanted]

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


class translate_errors:  # noqa: N801 - used as a function is
    """The database's errors as ours."""

    __slots__ = ("_storage",)

    def __init__(self, storage: str) -> None:
        self._storage = storage

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes a damaged table's definition
            raise _translation("malformed text", shown(self._storage)) from error
        driver = error.orig if isinstance(error, sql.exc.DBAPIError) else error
        psycopg = sys.modules.get("psycopg")  # its errors are known without loading it
        of_psycopg = psycopg is not None and isinstance(driver, psycopg.Error)
        if isinstance(error, sqlite3.Error | sql.exc.DBAPIError) or of_psycopg:
            said = without_secrets(str(driver), self._storage)
            cause = error if said == str(driver) else None
            raise _translation(said, shown(self._storage)) from cause


def _translation(words: str, where: str) -> StorageError:
    said = " ".join(words.split())
    if "malformed" in said or "not a database" in said or "no such" in said:
        return DamagedStorage(
            f"{where} is damaged: {said}. Restore it from a copy; nothing was changed."
        )
    if "locked" in said or "lock timeout" in said:
        return StorageError(
            f"{where} was locked by another process for more than {PATIENCE:g} seconds: nothing "
            "was changed. Try again."
        )
    return StorageError(f"{where} could not be read or written: {said}. Nothing was changed.")


@contextmanager
def reading(engine: sql.Engine) -> Iterator[sql.Connection]:
    """A connection with one consistent view of the database, which keeps no writer waiting."""
    options: dict[str, Any] = {"reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.execution_options(**options).begin() as connection:
        yield connection


def identity(path: Path | str) -> tuple[int, int]:
    """Which file it is, whatever it is called."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


class _Transaction(Transaction):
    """A transaction on a database; what it writes is sent with the commit."""

    def __init__(
        self,
        session: Session,
        study: int,
        number: int,
        lost: list[int],
        *,
        writing: bool,
        known: KnownState | None,
    ) -> None:
        self._session, self._study, self._lost = session, study, lost
        self.number = number  # to find it by, if its commit is lost
        self.writes: list[tuple[Any, dict[str, Any]]] = []
        self.found_news = False
        query = (_read_standing(session.dialect, writing=writing), {"study": study})
        self._known, news = known, [] if known is None else self._queries(known)
        found, *self._news = session.begin([query, *news], writing=writing)
        if not found:
            raise StudyNotFound("the study was deleted while it was open.")
        *standing, clock = found[0]
        self.standing = Checkpoint(*standing)
        self._ahead = None if clock is None else float(clock) - time.monotonic()

    @property
    def now(self) -> float:  # type: ignore[override]
        """Seconds since 1970: by the server's clock, or by this machine's with a file."""
        return time.time() if self._ahead is None else self._ahead + time.monotonic()

    def news(self, known: KnownState) -> tuple[Sequence[Any], list[Logged]]:
        self.found_news = True
        read = self._news if known == self._known else self._session.read(self._queries(known))
        rows, events, *old = read
        return [*(old[0] if old else []), *rows], [Logged._make(event) for event in events]

    def _queries(self, known: KnownState) -> list[tuple[Any, dict[str, Any]]]:
        """For the trials after the known ones, for the events since, for those that were open."""
        place, since = {"study": self._study}, {"study": self._study, "since": known.changes}
        if not known.changes:
            return [(_READ_ALL_TRIALS, place), (_READ_EVENTS, since)]
        queries = [(_READ_NEW_TRIALS, {**place, "known": known.trials}), (_READ_EVENTS, since)]
        if known.pending:
            listed = self._session.listed(known.pending)
            query = _READ_OPEN_TRIALS[self._session.dialect]
            queries.append((query, {**since, "pending": listed}))
        return queries

    def unclaimed(self) -> set[int]:
        found: set[int] = set()
        for number in self._lost:
            opened, renewed = self._of_transaction(number, _FIND_OPENED, _FIND_RENEWED)
            found.update(row[0] for row in [*opened, *renewed])
        return found

    def was_made(self, number: int) -> bool:
        """Whether the transaction of this number has been committed."""
        return any(self._of_transaction(number, _FIND_TRIAL, _FIND_EVENT))

    def _of_transaction(self, number: int, *queries: Statement) -> list[Rows]:
        place = {"study": self._study, "transaction": number}
        return self._session.read([(query, place) for query in queries])

    def is_connected(self, process: str) -> bool:
        if self._session.dialect == "sqlite":  # a file does not know who has it open
            return False
        return bool(self._session.read([(_FIND_PROCESS, {"process": process})])[0])

    def insert(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            row = dict(zip(ROW, trial.row, strict=True))
            ours = {"opened_by": self.number, "closed_by": None, "touched": trial.opened}
            self.writes.append((_INSERT_TRIAL, {"study": self._study, **ours, **row}))

    def update(self, trial: Trial, change: int) -> None:
        new = dict(zip(_NEW_TRIAL, _mutable(trial), strict=True))
        new["new_closed_by"] = None if trial.closed is None else self.number
        place = {"of": self._study, "which": trial.number, "new_touched": change}
        self.writes.append((_UPDATE, {**new, **place}))

    def note(self, event: Logged) -> None:
        ours = {"study": self._study, "made_by": self.number}
        self.writes.append((_INSERT_EVENT, {**ours, **event._asdict()}))

    def seal(self, standing: Checkpoint) -> None:
        new = dict(zip(_NEW_STANDING, standing, strict=True))
        self.writes.append((_WRITE_STANDING, {"study": self._study, **new}))


class StoredStudy(Storage):
    """One study in a database, as ``opening.open_storage`` makes it.

    The storage is a full path (SQLite) or a PostgreSQL URL; the engine's database has its tables.
    """

    def __init__(self, storage: str, engine: sql.Engine, *, read_only: bool) -> None:
        self.address, self.where, self._place = storage, shown(storage), storage
        self._engine, self._read_only = engine, read_only
        self._session = _Postgres(engine) if is_url(storage) else _SQLite(engine)
        self._lock = threading.RLock()
        self._numbers = _numbers()
        self._is_shared = False  # whether others were at work between the last two transactions
        self._lost: list[int] = []  # transactions of which it is not known whether they are in
        self._owner = [os.getpid()]
        weakref.finalize(self, _close, engine, self._session, self._owner)
        _OPEN.add(self)
        self._identity = None if is_url(storage) else identity(storage)
        self._study = -1
        self.name = ""

    @contextmanager
    def _connected(self, *, writing: bool = False) -> Iterator[sql.Connection]:
        with no_fork(), self._lock:
            self._check_place(writing=writing)
            begun = self._engine.begin() if writing else reading(self._engine)
            with translate_errors(self._place), begun as connection:
                yield connection

    def _check_place(self, *, writing: bool) -> None:
        if self._owner != [os.getpid()]:
            # After a fork the connection is the parent's: leave it to it and open another.
            self._engine.dispose(close=False)
            self._session.forget()
            self._numbers, self._lost = _numbers(), []
            self._owner[0] = os.getpid()
        if writing and self._read_only:
            raise StorageError(
                f"{self.where} can be read, but not written to: nothing was changed. Copy it to a "
                "folder that you can write to, together with its -wal file if there is one. To read "
                "it here, use Study.load(storage)."
            )
        if writing and self._identity is not None:
            # What is written to a deleted file is lost with this process.
            try:
                there = identity(self._place) == self._identity
            except OSError:
                there = False
            if not there:
                raise StorageError(
                    f"{self._place} was moved, deleted or replaced while the study was open: nothing "
                    "was changed. Put it back, or load the study from where it is now."
                )

    @contextmanager
    def transaction(
        self, *, writing: bool, known: Callable[[], KnownState] | None = None
    ) -> Iterator[_Transaction]:
        """One change of the study, or one look at it.

        Where others are at work, what they did is asked for together with the lock: they wait for
        one exchange with the server less.
        """
        with self._lock, translate_errors(self._place):
            begun = self._begin(
                writing=writing, known=known() if known and self._is_shared else None
            )
            try:
                yield begun
                self._is_shared = begun.found_news
                if not begun.writes:
                    self._session.roll_back()
                    return
                self._session.commit(begun.writes)
                self._lost.clear()
            except CommitLost as lost:
                self._resolve_lost_commit(begun, lost)
            except BaseException:
                self._session.roll_back()
                raise

    def _begin(self, *, writing: bool, known: KnownState | None = None) -> _Transaction:
        self._check_place(writing=writing)
        try:
            number = next(self._numbers)
            given = self._session, self._study, number, self._lost
            return _Transaction(*given, writing=writing, known=known)
        except BaseException:
            self._session.roll_back()
            raise

    def _said(self, error: BaseException) -> str:
        return " ".join(without_secrets(str(error), self._place).split())

    def _resolve_lost_commit(self, begun: _Transaction, lost: CommitLost) -> None:
        """Find out whether a transaction was committed whose reply was lost.

        Who may write next may do so only when that transaction is over, in one way or the other:
        so it is looked for in a transaction that may write.
        """
        cause = lost.__cause__ or lost
        deadline, pause = time.monotonic() + COMMIT_CHECK_SECONDS, 0.05
        while True:
            self._session.close()
            try:
                with translate_errors(self._place):
                    made = self._begin(writing=True).was_made(begun.number)
                    self._session.roll_back()
                break
            except StorageError as error:
                if time.monotonic() + pause > deadline:
                    self._lost.append(begun.number)
                    look = (
                        "study.refresh() and study.trials show it; telling again is safe with "
                        "if_told='ignore', or with a key= for unrequested data."
                    )
                    raise OutcomeUnknown(
                        f"{self.where} was lost while a change was being committed "
                        f"({self._said(cause)}), and for {COMMIT_CHECK_SECONDS:g} seconds nobody "
                        "could find out whether the change was kept "
                        f"({self._said(error.__cause__ or error)}): it may or may not be stored. "
                        f"When the storage is available again, {look}"
                    ) from cause
            time.sleep(pause)
            pause = min(2.0 * pause, 2.0)
        if not made:
            raise StorageError(
                f"{self.where} could not be written: {self._said(cause)}. Nothing was changed."
            ) from cause

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""
        with no_fork(), self._lock:
            _close(self._engine, self._session, self._owner)

    def continuations(self, mark: str) -> list[str]:
        """The names of the studies that results of the study with this mark were carried to."""
        with self._connected() as connection:
            rows = connection.execute(_READ_SOURCES).all()
        wanted = on_one_line(mark)
        found = [row.name for row in rows if Source.read(row.reason or "").mark == wanted]
        return list(dict.fromkeys(found))

    def join(self, name: str, definition: Definition, standing: Checkpoint) -> Definition:
        """Begin the study of this name, or find the one that is there; returns its definition."""
        with self._connected(writing=True) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sql.text("LOCK TABLE shortlist_studies IN EXCLUSIVE MODE"))
            found = self._find(connection, name)
            if found is not None:
                return found
            values, arms, features = definition.written
            apart = len(arms) + len(features or b"") >= APART
            self._study = connection.execute(
                STUDIES.insert()
                .values(
                    name=name,
                    settings=values,
                    arms="" if apart else arms,
                    features=None if apart else features,
                    features_hash=definition.features_hash,
                    created_at=time.time(),
                    written_by=f"shortlist {__version__}",
                    columns=definition.columns and json.dumps(definition.columns),
                    **standing._asdict(),
                )
                .returning(STUDIES.c.id)
            ).scalar_one()
            if apart:
                row = {"study": self._study, "arms": arms, "features": features}
                connection.execute(TABLES.insert(), row)
            self.name = name
            return definition

    def open(self, name: str | None) -> Definition:
        """Find a study that is there; its name may be left out where there is only one."""
        with self._connected() as connection:
            known = names_in(connection)
            if name is None and len(known) > 1:
                raise InvalidSetting(
                    f"{self.where} holds {len(known)} studies: {quoted(known)}. Name one "
                    "by Study.load(storage, name)."
                )
            wanted = known[0] if name is None and known else name
            found = None if wanted is None else self._find(connection, wanted)
            if found is None and wanted is not None and known:
                hint = str(unknown_name("study", wanted, known))
                raise StudyNotFound(f"{self.where}: {hint}")
            if found is None:
                raise StudyNotFound(f"{self.where} holds no study.")
            return found

    def _find(self, connection: sql.Connection, name: str) -> Definition | None:
        columns = ("id", "settings", "arms", "features", "features_hash", "columns")
        row = connection.execute(
            sql.select(*(STUDIES.c[column] for column in columns)).where(STUDIES.c.name == name)
        ).one_or_none()
        if row is None:
            return None
        arms, features = row.arms, row.features
        if not arms:
            apart = sql.select(TABLES.c.arms, TABLES.c.features).where(TABLES.c.study == row.id)
            arms, features = connection.execute(apart).one_or_none() or ("", None)
        definition = Definition.read(row.settings, arms, features, row.columns)
        if definition.features_hash != row.features_hash:
            raise DamagedStorage(
                f"{self.where}: the features of the study {name!r} are not those that were stored."
            )
        self._study, self.name = row.id, name
        return definition

    @property
    def created_at(self) -> float:
        """When the study began, in seconds since 1970."""
        with self._connected() as connection:
            query = sql.select(STUDIES.c.created_at).where(STUDIES.c.id == self._study)
            return float(connection.execute(query).scalar_one())


# A connection to a file does not survive a fork: SQLite would think that the child holds the
# parent's locks. So all are closed before, and opened again by whoever needs them.
_OPEN: weakref.WeakSet[StoredStudy] = weakref.WeakSet()


def _close_all() -> None:
    for each in list(_OPEN):
        each.close()


before_fork(_close_all)


def _close(engine: sql.Engine, session: Session, owner: list[int]) -> None:
    if owner == [os.getpid()]:
        session.close()
        engine.dispose()


def _numbers() -> Iterator[int]:
    """Numbers of transactions: from a random one on, so that no two processes have the same."""
    return count(secrets.randbits(62))


def names_in(connection: sql.Connection) -> list[str]:
    """The names of the studies in a database, in the order in which they began."""
    return list(connection.execute(sql.select(STUDIES.c.name).order_by(STUDIES.c.id)).scalars())
