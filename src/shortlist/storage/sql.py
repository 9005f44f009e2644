"""Studies in a database: SQLite in a file, or PostgreSQL.

SQLAlchemy writes every statement once for each kind of database, and the driver executes it. If
SQLAlchemy executed them too, a small transaction would take four times as long.
"""

# ruff: noqa: D102 - what the methods do stands in base.Storage, base.Transaction and Driver

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from shortlist._version import __version__
from shortlist.advice import advise
from shortlist.errors import DamagedStorage, OutcomeUnknown, StorageError, StudyNotFound
from shortlist.storage.address import shown, without_secrets
from shortlist.storage.base import ROW, Change, Checkpoint, Event, Known, Row, Settings
from shortlist.storage.forking import LONGEST_WAIT, STORAGES
from shortlist.storage.schema import APART, EVENTS, RUNS, STUDIES, TABLES, TRIALS

PATIENCE = 60.0  # seconds that a writer waits for another
# Seconds between two tries to become the writer. Every try costs CPU time that the writer may lack.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0004, 0.006

Statement = sql.sql.expression.ClauseElement
Values = Mapping[str, Any]

_STUDY: sql.BindParameter[int] = sql.bindparam("study")
_READ_TRIALS = sql.select(*(TRIALS.c[name] for name in ROW)).where(TRIALS.c.study == _STUDY)
_READ_NEW_TRIALS = _READ_TRIALS.where(TRIALS.c.number >= sql.bindparam("known")).order_by(
    TRIALS.c.number
)
_READ_EVENTS = (
    sql.select(*(EVENTS.c[name] for name in Event._fields))
    .where(EVENTS.c.study == _STUDY, EVENTS.c.change > sql.bindparam("since"))
    .order_by(EVENTS.c.change)
)
_READ_SOURCES = (
    sql.select(STUDIES.c.name, EVENTS.c.reason)
    .join(EVENTS, EVENTS.c.study == STUDIES.c.id)
    .where(EVENTS.c.kind == sql.literal_column("'carried'"))
    .order_by(STUDIES.c.id, EVENTS.c.change)
)
_INSERT_TRIAL, _INSERT_EVENT, _INSERT_TABLE = TRIALS.insert(), EVENTS.insert(), TABLES.insert()
_MUTABLE = ("state", "value", "reason", "closed_at", "expires_at", "worker", "run", "closed")
_UPDATE_TRIAL = (
    TRIALS.update()
    .where(TRIALS.c.study == sql.bindparam("of"), TRIALS.c.number == sql.bindparam("which"))
    .values({name: sql.bindparam(f"new_{name}") for name in (*_MUTABLE, "touched")})
)
_PLACES = [(f"new_{name}", ROW.index(name)) for name in _MUTABLE]
_WRITE_CHECKPOINT = (
    STUDIES.update()
    .where(STUDIES.c.id == _STUDY)
    .values({name: sql.bindparam(f"new_{name}") for name in Checkpoint._fields})
)
_NEW_CHECKPOINT = [f"new_{name}" for name in Checkpoint._fields]
_READ_RUNS = sql.select(RUNS.c.run, RUNS.c.until).where(RUNS.c.study == _STUDY)
_END_RUNS = RUNS.delete().where(
    RUNS.c.study == _STUDY,
    (RUNS.c.run == sql.bindparam("run")) | (RUNS.c.until < sql.bindparam("now")),
)
_INSERT_RUN = RUNS.insert()
_READ_NAMES = sql.select(STUDIES.c.name).order_by(STUDIES.c.id)
_SETTINGS = ("id", "settings", "arms", "features", "features_hash", "columns", "created_at")
_READ_SETTINGS = sql.select(*(STUDIES.c[name] for name in _SETTINGS)).where(
    STUDIES.c.name == sql.bindparam("name")
)
_READ_TABLE = sql.select(TABLES.c.arms, TABLES.c.features).where(TABLES.c.study == _STUDY)
_NEW_STUDY = (*_SETTINGS[1:], "name", "written_by", *Checkpoint._fields)
_INSERT_STUDY = (
    STUDIES.insert()
    .values({name: sql.bindparam(name) for name in _NEW_STUDY})
    .returning(STUDIES.c.id)
)


class Driver(ABC):
    """A kind of database: how to connect to it, and to begin and commit a transaction."""

    clock: Any  # the database's own time in seconds since 1970, or NULL if it has no clock
    listed: str  # the numbers in a list that is one value

    def __init__(self, engine: sql.Engine) -> None:
        self.engine = engine
        self._texts: dict[Statement, tuple[str, list[str] | None]] = {}
        among = TRIALS.c.number.in_(sql.text(self.listed))
        self.read_open_trials = _READ_TRIALS.where(
            among, TRIALS.c.touched > sql.bindparam("since")
        ).order_by(TRIALS.c.number)

    def connect(self) -> Any:
        """A connection of the driver itself, on which transactions are begun and ended by hand."""
        taken = self.engine.raw_connection()
        connection = taken.driver_connection
        taken.detach()
        return connection

    def execute(self, connection: Any, statement: Statement, *rows: Values) -> Any:
        """The cursor of a statement executed with these values, once for each row of them."""
        if statement not in self._texts:
            compiled: Any = statement.compile(dialect=self.engine.dialect)
            named = compiled.positiontup if compiled.positional else None
            self._texts[statement] = str(compiled), named
        text, names = self._texts[statement]
        given: list[Any] = list(rows)
        if names is not None:
            given = [[values[name] for name in names] for values in rows]
        if len(given) == 1:
            return connection.execute(text, given[0])
        return connection.cursor().executemany(text, given)

    def standing(self, study: int, *, writing: bool) -> str:
        """The query for the checkpoint of a study and the time, which keeps other writers away."""
        columns = [STUDIES.c[name] for name in Checkpoint._fields]
        query = sql.select(*columns, self.clock).where(STUDIES.c.id == study)
        chosen = query.with_for_update() if writing else query
        return str(
            chosen.compile(dialect=self.engine.dialect, compile_kwargs={"literal_binds": True})
        )

    @abstractmethod
    def is_idle(self, connection: Any) -> bool:
        """Whether a connection is usable, and no transaction is left open on it."""

    @abstractmethod
    def is_lost(self, connection: Any) -> bool:
        """Whether the line to the database was cut."""

    @abstractmethod
    def begin(self, connection: Any, query: str, *, writing: bool) -> Any:
        """Begin a transaction; returns the row that a query finds in it, or None."""

    @abstractmethod
    def begin_study(self, connection: Any) -> None:
        """Begin a transaction in which no other adds a study."""

    @abstractmethod
    def commit(self, connection: Any, statements: Sequence[tuple[Statement, Any]]) -> None:
        """Write, and commit."""

    @abstractmethod
    def together(self, connection: Any) -> AbstractContextManager[Any]:
        """Statements in it are sent together, if the driver can do that."""

    @abstractmethod
    def many(self, numbers: Sequence[int]) -> Any:
        """Many numbers as one value."""

    @abstractmethod
    def check(self, *, writing: bool) -> None:
        """Raise where the study is gone, or nothing may be written."""


class SQLite(Driver):
    """A file."""

    clock = sql.null()
    listed = "SELECT value FROM json_each(:pending)"

    def __init__(self, engine: sql.Engine, path: str, *, read_only: bool) -> None:
        super().__init__(engine)
        self._path, self._read_only, self._identity = path, read_only, identity(path)

    def is_idle(self, connection: Any) -> bool:
        return not connection.in_transaction

    def is_lost(self, connection: Any) -> bool:
        return False

    def begin(self, connection: Any, query: str, *, writing: bool) -> Any:
        if writing:
            begin_writing(connection)
        else:
            connection.execute("BEGIN")
        return connection.execute(query).fetchone()

    def begin_study(self, connection: Any) -> None:
        begin_writing(connection)

    def commit(self, connection: Any, statements: Sequence[tuple[Statement, Any]]) -> None:
        for statement, rows in statements:
            self.execute(connection, statement, *rows)
        connection.execute("COMMIT")

    def together(self, connection: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def many(self, numbers: Sequence[int]) -> Any:
        return json.dumps(list(numbers))

    def check(self, *, writing: bool) -> None:
        if writing and self._read_only:
            raise StorageError(
                f"{self._path} can be read, but not written to: nothing was changed. Copy it to a "
                "folder that you can write to, together with its -wal file if there is one."
            )
        # What is written to a deleted file is lost with this process, and what is read stays as it was.
        try:
            there = identity(self._path) == self._identity
        except OSError:
            there = False
        if not there:
            raise StorageError(
                f"{self._path} was moved, deleted or replaced while the study was open: nothing "
                "was changed. Put it back, or load the study from where it is now."
            )


def identity(path: Path | str) -> tuple[int, int]:
    """Which file it is, whatever it is called."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def begin_writing(connection: Any) -> None:
    """Become the writer of a file at once, so that two readers never both wait for it.

    SQLite itself would wait in steps of up to a tenth of a second: with several processes one is
    then left out for long.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    deadline, pause = time.monotonic() + PATIENCE, SHORTEST_PAUSE
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0.5, 1.5) * pause)  # noqa: S311 - no secret
            pause = min(1.3 * pause, LONGEST_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


class PostgreSQL(Driver):
    """A server. What can be sent together is sent together: others wait for the line too."""

    clock = sql.extract("epoch", sql.func.clock_timestamp())
    listed = "SELECT unnest(CAST(:pending AS BIGINT[]))"

    def connect(self) -> Any:
        connection = super().connect()
        connection.autocommit = True
        return connection

    def is_idle(self, connection: Any) -> bool:
        return not connection.closed and connection.info.transaction_status.name == "IDLE"

    def is_lost(self, connection: Any) -> bool:
        return bool(connection.closed)

    def begin(self, connection: Any, query: str, *, writing: bool) -> Any:
        kind = "READ COMMITTED" if writing else "REPEATABLE READ READ ONLY"
        cursor = connection.execute(f"BEGIN ISOLATION LEVEL {kind}; {self._limits()}; {query}")
        while cursor.nextset():
            pass
        return cursor.fetchone()

    def begin_study(self, connection: Any) -> None:
        lock = "LOCK TABLE shortlist_studies IN EXCLUSIVE MODE"
        connection.execute(f"BEGIN; {self._limits()}; {lock}")

    def _limits(self) -> str:
        """What a transaction begins with: PgBouncer takes no options when one connects.

        A process that is stopped at its work loses its locks. A committed change is on the disk.
        """
        wait = f"'{1000 * PATIENCE:.0f}ms'"
        return (
            f"SET LOCAL lock_timeout = {wait}; SET LOCAL synchronous_commit = on; "
            f"SET LOCAL idle_in_transaction_session_timeout = {wait}"
        )

    def commit(self, connection: Any, statements: Sequence[tuple[Statement, Any]]) -> None:
        try:
            with self.together(connection):
                for statement, rows in statements:
                    self.execute(connection, statement, *rows)
                connection.execute("COMMIT")
        except Exception as error:
            if self.is_lost(connection):
                raise _CommitLost from error
            raise  # the server has said what was wrong, and has not come to the commit

    def together(self, connection: Any) -> AbstractContextManager[Any]:
        return connection.pipeline()

    def many(self, numbers: Sequence[int]) -> Any:
        return list(numbers)

    def check(self, *, writing: bool) -> None:
        pass


class _CommitLost(Exception):
    """The database did not say whether it has committed."""


class _Transaction:
    """A transaction on a database."""

    def __init__(self, storage: SQLStorage, connection: Any, found: Any) -> None:
        self._storage, self._connection = storage, connection
        *standing, clock = found
        self.checkpoint = Checkpoint(*standing)
        if not isinstance(self.checkpoint.changes, int):  # SQLite keeps any text in any column
            raise DamagedStorage(
                f"{storage.where}: the number of changes is stored as {self.checkpoint.changes!r}. "
                "Restore it from a copy."
            )
        self._ahead = None if clock is None else float(clock) - time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since 1970: by the server's clock, or by this machine's with a file."""
        return time.time() if self._ahead is None else self._ahead + time.monotonic()

    def _read(self, *queries: tuple[Statement, dict[str, Any]]) -> list[list[tuple[Any, ...]]]:
        """The rows that each query finds; all are sent together."""
        driver, study = self._storage.driver, self._storage.study
        with driver.together(self._connection):
            found = [
                driver.execute(self._connection, statement, {"study": study, **values})
                for statement, values in queries
            ]
        return [list(cursor.fetchall()) for cursor in found]

    def news(self, known: Known) -> tuple[Sequence[Row], Sequence[Event]]:
        driver, since = self._storage.driver, {"since": known.changes}
        queries = [(_READ_EVENTS, since), (_READ_NEW_TRIALS, {"known": known.trials})]
        if known.pending:
            pending = {"pending": driver.many(known.pending)}
            queries.insert(1, (driver.read_open_trials, {**since, **pending}))
        events, *trials = self._read(*queries)
        return [row for rows in trials for row in rows], [Event(*row) for row in events]

    def leases(self) -> Mapping[str, float]:
        return dict(self._read((_READ_RUNS, {}))[0])

    def hold(self, run: str, seconds: float) -> None:
        """Renew the lease of a run, or end it, and forget those that are over."""
        place = {"study": self._storage.study, "run": run}
        writes: list[tuple[Statement, Any]] = [(_END_RUNS, [{**place, "now": self.now}])]
        if seconds:
            writes.append((_INSERT_RUN, [{**place, "until": self.now + seconds}]))
        self._storage.commit(self._connection, writes)

    def commit(self, change: Change) -> None:
        study, touched = self._storage.study, change.checkpoint.changes
        writes: list[tuple[Statement, Any]] = []
        if change.opened:
            rows = [dict(zip(ROW, row, strict=True)) for row in change.opened]
            given = [{"study": study, "touched": touched, **row} for row in rows]
            writes.append((_INSERT_TRIAL, given))
        if change.altered:
            place = {"of": study, "new_touched": touched}
            given = [
                {**place, "which": row[0], **{name: row[at] for name, at in _PLACES}}
                for row in change.altered
            ]
            writes.append((_UPDATE_TRIAL, given))
        if change.events:
            given = [{"study": study, **event._asdict()} for event in change.events]
            writes.append((_INSERT_EVENT, given))
        new = dict(zip(_NEW_CHECKPOINT, change.checkpoint, strict=True))
        writes.append((_WRITE_CHECKPOINT, [{"study": study, **new}]))
        self._storage.commit(self._connection, writes)


class SQLStorage:
    """A storage in a database that has its tables, as ``Storage`` describes it."""

    def __init__(self, address: str, driver: Driver) -> None:
        self.address, self.where, self.driver = address, shown(address), driver
        self.study = -1
        self._standing: dict[bool, str] = {}  # the queries for its checkpoint, by who writes
        self._lock = threading.RLock()
        self._connections: list[Any] = []  # one at most
        self._is_paused = False
        weakref.finalize(self, _close, self._connections)
        STORAGES.add(self)

    @contextmanager
    def _connected(self, *, writing: bool = False) -> Iterator[Any]:
        """A connection on which no transaction is open; what is begun on it is ended here."""
        with self._lock, translate_errors(self.address):
            self.driver.check(writing=writing)
            if self._connections and not self.driver.is_idle(self._connections[0]):
                _close(self._connections)  # with a transaction that was interrupted
            if not self._connections:
                self._connections.append(self.driver.connect())
            connection = self._connections[0]
            try:
                yield connection
            finally:
                try:
                    if not self.driver.is_idle(connection):
                        connection.execute("ROLLBACK")
                except Exception:
                    _close(self._connections)

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[_Transaction]:
        with self._connected(writing=writing) as connection:
            yield self._begin(connection, writing=writing)

    def _begin(self, connection: Any, *, writing: bool) -> _Transaction:
        """Begin a transaction, on a new connection where the line was cut since the last."""
        query = self._standing[writing]
        try:
            found = self.driver.begin(connection, query, writing=writing)
        except Exception:
            if not self.driver.is_lost(connection):
                raise
            _close(self._connections)
            connection = self.driver.connect()
            self._connections.append(connection)
            found = self.driver.begin(connection, query, writing=writing)
        if found is None:
            raise StudyNotFound("the study was deleted while it was open.")
        return _Transaction(self, connection, found)

    def commit(self, connection: Any, writes: Sequence[tuple[Statement, Any]]) -> None:
        """Write, and end the transaction."""
        try:
            self.driver.commit(connection, writes)
        except _CommitLost as lost:
            said = " ".join(without_secrets(str(lost.__cause__), self.address).split())
            raise OutcomeUnknown(
                f"the line to {self.where} was cut while a change was being committed ({said}): it "
                "may or may not be stored. When the storage is available again, repeat "
                f"{advise('repeat')}: it counts once."
            ) from None

    def _rows(self, connection: Any, statement: Statement, **values: Any) -> list[tuple[Any, ...]]:
        return list(self.driver.execute(connection, statement, values).fetchall())

    def names(self) -> list[str]:
        with self._connected() as connection:
            names = [name for (name,) in self._rows(connection, _READ_NAMES)]
        for name in names:
            if not isinstance(name, str):  # SQLite keeps anything in any column
                raise DamagedStorage(
                    f"{self.where}: the name of a study is stored as {name!r}. Restore it from a copy."
                )
        return names

    def sources(self) -> list[tuple[str, str]]:
        with self._connected() as connection:
            rows = self._rows(connection, _READ_SOURCES)
        return [(name, reason or "") for name, reason in rows]

    def begin(self, name: str, settings: Settings, checkpoint: Checkpoint) -> Settings:
        if (found := self.open(name)) is not None:
            self.driver.check(writing=True)
            return found
        with self._connected(writing=True) as connection:
            self.driver.begin_study(connection)
            if (found := self._find(connection, name)) is not None:
                return found
            choices, arms, features, features_hash, columns, created_at = settings
            apart = len(arms) + len(features or b"") >= APART
            inserted = self._rows(
                connection,
                _INSERT_STUDY,
                name=name,
                settings=choices,
                arms="" if apart else arms,
                features=None if apart else features,
                features_hash=features_hash,
                columns=columns,
                created_at=created_at,
                written_by=f"shortlist {__version__}",
                **checkpoint._asdict(),
            )
            self._enter(inserted[0][0])
            row = {"study": self.study, "arms": arms, "features": features}
            self.commit(connection, [(_INSERT_TABLE, [row])] if apart else [])
            return settings

    def open(self, name: str) -> Settings | None:
        with self._connected() as connection:
            return self._find(connection, name)

    def _find(self, connection: Any, name: str) -> Settings | None:
        rows = self._rows(connection, _READ_SETTINGS, name=name)
        if not rows:
            return None
        study, choices, arms, features, *others = rows[0]
        if not arms:
            found = self._rows(connection, _READ_TABLE, study=study)
            arms, features = found[0] if found else ("", None)
        self._enter(study)
        return Settings(choices, arms, features, *others)

    def _enter(self, study: int) -> None:
        self.study = study
        self._standing = {
            writing: self.driver.standing(study, writing=writing) for writing in (True, False)
        }

    def hold(self, run: str, seconds: float) -> None:
        with self.transaction(writing=True) as transaction:
            transaction.hold(run, seconds)

    def close(self) -> None:
        with self._lock:
            _close(self._connections)

    # A connection does not survive a fork: SQLite would think that the child holds the parent's
    # locks, and both would talk to the server on one line. So it is closed before, when no thread
    # is in a transaction, and made again by whoever needs it.

    def before_fork(self) -> None:
        """Wait for the end of a transaction, and keep others from beginning one."""
        self._is_paused = self._lock.acquire(timeout=LONGEST_WAIT)
        if self._is_paused:
            _close(self._connections)

    def after_fork(self) -> None:
        """Go on in the parent."""
        if self._is_paused:
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Go on in the child, where no other thread is left that could release the lock."""
        self._lock = threading.RLock()
        _ABANDONED.extend(self._connections)
        self._connections.clear()


_ABANDONED: list[Any] = []  # connections that are the parent's: to close them would disturb it


def _close(connections: list[Any]) -> None:
    while connections:
        with suppress(Exception):  # it may be broken
            connections.pop().close()


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
