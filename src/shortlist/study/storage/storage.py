"""One connection to a database, and one transaction at a time on it, with little in between.

SQLAlchemy writes the statements, once; they then go to the driver itself. Through SQLAlchemy a
small transaction takes four times as long.

Where a study is kept: one transaction for every change, shared by all who work on it.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
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

from shortlist.errors import (
    DamagedStorage,
    InvalidSetting,
    OutcomeUnknown,
    StorageError,
    StudyNotFound,
    unknown_name,
)
from shortlist.study.definition import Definition
from shortlist.study.journal import ROW, Event, Known, Standing, is_text
from shortlist.study.storage import opening as database
from shortlist.study.storage.address import check_address, is_url, shown, without_secrets
from shortlist.study.storage.forking import before_fork, working
from shortlist.study.storage.opening import (
    begin_writing,
    connect,
    identity,
    is_read_only,
    reading,
    translated,
    wait_to_write,
)
from shortlist.study.storage.process import process_name
from shortlist.study.storage.schema import APART, EVENTS, STUDIES, TABLES, TRIALS
from shortlist.study.trial import Trial

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


DEFAULT_NAME = "study"
LOOK_AGAIN = 60.0  # seconds to ask for whether a commit was made, if its reply was lost

_STANDING = [STUDIES.c[name] for name in Standing._fields]
_TRIAL = [TRIALS.c[name] for name in ROW]
_OF_STUDY = TRIALS.c.study == sql.bindparam("study")
_READ_ALL_TRIALS = sql.select(*_TRIAL).where(_OF_STUDY).order_by(TRIALS.c.number)
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
_READ_EVENTS = sql.select(EVENTS.c.change, EVENTS.c.kind, EVENTS.c.trial).where(
    EVENTS.c.study == sql.bindparam("study"), EVENTS.c.change > sql.bindparam("since")
)
_MUTABLE = ("state", "value", "reason", "closed_at", "expires_at", "worker", "process", "closed")
_INSERT_TRIAL, _INSERT_EVENT = TRIALS.insert(), EVENTS.insert()
_UPDATE = (
    TRIALS.update()
    .where(TRIALS.c.study == sql.bindparam("of"), TRIALS.c.number == sql.bindparam("which"))
    .values({name: sql.bindparam(f"new_{name}") for name in (*_MUTABLE, "touched", "closed_by")})
)
_SEAL = (
    STUDIES.update()
    .where(STUDIES.c.id == sql.bindparam("study"))
    .values({name: sql.bindparam(f"new_{name}") for name in Standing._fields})
)
_NEW_STANDING = [f"new_{name}" for name in Standing._fields]
_NEW_TRIAL, _mutable = [f"new_{name}" for name in _MUTABLE], attrgetter(*_MUTABLE)
# Whether a transaction has been committed, by its number.
_MADE_BY: sql.BindParameter[int] = sql.bindparam("transaction")
_FIND_TRIAL = sql.select(TRIALS.c.number).where(
    _OF_STUDY, (TRIALS.c.opened_by == _MADE_BY) | (TRIALS.c.closed_by == _MADE_BY)
)
_FIND_EVENT = sql.select(EVENTS.c.trial).where(
    EVENTS.c.study == sql.bindparam("study"), EVENTS.c.made_by == _MADE_BY
)
_FIND_OPENED = sql.select(TRIALS.c.number).where(
    _OF_STUDY, TRIALS.c.opened_by == _MADE_BY, TRIALS.c.state == sql.literal_column("'pending'")
)
_FIND_RENEWED = (
    sql.select(TRIALS.c.number)
    .join(EVENTS, (EVENTS.c.study == TRIALS.c.study) & (EVENTS.c.change == TRIALS.c.touched))
    .where(
        _OF_STUDY, EVENTS.c.made_by == _MADE_BY, TRIALS.c.state == sql.literal_column("'pending'")
    )
)

_FIND_PROCESS = sql.text("SELECT pid FROM pg_stat_activity WHERE application_name = :process")


class StoredTransaction:
    """A transaction on a database; what it writes is sent with the commit."""

    def __init__(
        self,
        session: Session,
        study: int,
        number: int,
        lost: list[int],
        *,
        writing: bool,
        known: Known | None,
    ) -> None:
        self._session, self._study, self._lost = session, study, lost
        self.number = number  # to find it by, if its commit is lost
        self.writes: list[tuple[Any, dict[str, Any]]] = []
        self.found_news = False
        query = (_standing(session.dialect, writing=writing), {"study": study})
        self._known, news = known, [] if known is None else self._queries(known)
        found, *self._news = session.begin([query, *news], writing=writing)
        if not found:
            raise StudyNotFound("the study was deleted while it was open.")
        *standing, clock = found[0]
        self.standing: Standing | None = Standing(*standing)
        self._ahead = None if clock is None else float(clock) - time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since 1970: by the server's clock, or by this machine's with a file."""
        return time.time() if self._ahead is None else self._ahead + time.monotonic()

    def news(self, known: Known) -> tuple[Sequence[Any], list[tuple[int, Event, int]]]:
        """The trials changed since then, by number, and the events since."""
        self.found_news = True
        read = self._news if known == self._known else self._session.read(self._queries(known))
        rows, events, *old = read
        return [*(old[0] if old else []), *rows], [(c, kind, trial) for c, kind, trial in events]

    def _queries(self, known: Known) -> list[tuple[Any, dict[str, Any]]]:
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
        """The open trials that were asked for here, and of which the reply was lost."""
        found: set[int] = set()
        for number in self._lost:
            place = {"study": self._study, "transaction": number}
            rows = self._session.read([(_FIND_OPENED, place), (_FIND_RENEWED, place)])
            found.update(row[0] for row in [*rows[0], *rows[1]])
        return found

    def is_connected(self, process: str) -> bool:
        """Whether a process is connected to the server; a file does not know."""
        if self._session.dialect == "sqlite":
            return False
        return bool(self._session.read([(_FIND_PROCESS, {"process": process})])[0])

    def was_made(self, number: int) -> bool:
        """Whether the transaction of this number has been committed."""
        place = {"study": self._study, "transaction": number}
        return any(self._session.read([(_FIND_TRIAL, place), (_FIND_EVENT, place)]))

    def insert(self, trials: Sequence[Trial]) -> None:
        """Keep new trials."""
        for trial in trials:
            row = dict(zip(ROW, trial.row, strict=True))
            ours = {"opened_by": self.number, "closed_by": None, "touched": trial.opened}
            self.writes.append((_INSERT_TRIAL, {"study": self._study, **ours, **row}))

    def update(self, trials: Sequence[Trial], change: int) -> None:
        """Keep what has become of trials."""
        for trial in trials:
            new = dict(zip(_NEW_TRIAL, _mutable(trial), strict=True))
            new["new_closed_by"] = None if trial.closed is None else self.number
            place = {"of": self._study, "which": trial.number, "new_touched": change}
            self.writes.append((_UPDATE, {**new, **place}))

    def note(self, change: int, kind: Event, trial: int, worker: str) -> None:
        """Keep an event."""
        row = {"study": self._study, "change": change, "kind": kind, "trial": trial}
        ours = {"at": self.now, "worker": worker, "made_by": self.number}
        self.writes.append((_INSERT_EVENT, {**row, **ours}))

    def seal(self, standing: Standing) -> None:
        """Keep how far the study is now."""
        new = dict(zip(_NEW_STANDING, standing, strict=True))
        self.writes.append((_SEAL, {"study": self._study, **new}))


@cache
def _standing(dialect: str, *, writing: bool) -> Any:
    query = sql.select(*_STANDING, CLOCKS[dialect]).where(STUDIES.c.id == sql.bindparam("study"))
    return query.with_for_update() if writing else query


class StoredStudy:
    """One study in a database.

    Parameters
    ----------
    storage : str
        A path (SQLite), or a PostgreSQL URL.
    create : bool
        Whether to make the database if there is none.
    """

    def __init__(self, storage: str | os.PathLike[str], *, create: bool) -> None:
        self._storage = checked_storage(storage)
        self.where: str | None = shown(self._storage)
        self._read_only = not is_url(self._storage) and is_read_only(Path(self._storage))
        self.address = self._storage
        self._engine = connect(self._storage, create=create)
        self._session = session(self._engine)
        self._lock = threading.RLock()
        self._numbers = _numbers()
        self._is_shared = False  # whether others were at work between the last two transactions
        self._lost: list[int] = []  # transactions of which it is not known whether they are in
        self._owner = [os.getpid()]
        weakref.finalize(self, _close, self._engine, self._session, self._owner)
        _OPEN.add(self)
        self._file = None if is_url(self._storage) else Path(self._storage)
        self._identity = self._file and identity(self._file)
        self._study = -1
        self.name = ""

    @contextmanager
    def _connected(self, *, writing: bool = False) -> Iterator[sql.Connection]:
        with working(), self._lock:
            self._check_place(writing=writing)
            begun = self._engine.begin() if writing else reading(self._engine)
            with translated(self._storage), begun as connection:
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
                f"{self.where} can be read, and not written: nothing was changed. Copy it to a folder "
                "that you can write to, with the -wal file beside it if there is one; to read it, "
                "use Study.load."
            )
        if writing and self._file is not None:
            self._check_file_is_there(self._file)

    def _check_file_is_there(self, file: Path) -> None:
        """What is written to a file that was deleted is gone with this process."""
        try:
            there = identity(self._storage) == self._identity
        except OSError:
            there = False
        if not there:
            raise StorageError(
                f"{file} was moved, deleted or replaced while the study was open: nothing was "
                "changed. Put it back, or load the study from where it is now."
            )

    @contextmanager
    def transaction(
        self, *, writing: bool, known: Callable[[], Known] | None = None
    ) -> Iterator[StoredTransaction]:
        """One change of the study, or one look at it.

        Where others are at work, what they did is asked for together with the lock: they wait for
        one exchange with the server less.
        """
        with self._lock, translated(self._storage):
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
                self._look_again(begun, lost)
            except BaseException:
                self._session.roll_back()
                raise

    def _begin(self, *, writing: bool, known: Known | None = None) -> StoredTransaction:
        self._check_place(writing=writing)
        try:
            number = next(self._numbers)
            given = self._session, self._study, number, self._lost
            return StoredTransaction(*given, writing=writing, known=known)
        except BaseException:
            self._session.roll_back()
            raise

    def _said(self, error: BaseException) -> str:
        return " ".join(without_secrets(str(error), self._storage).split())

    def _look_again(self, begun: StoredTransaction, lost: CommitLost) -> None:
        """Find out whether a transaction was committed whose reply was lost.

        Who may write next may do so only when that transaction is over, in one way or the other:
        so it is looked for in a transaction that may write.
        """
        cause = lost.__cause__ or lost
        deadline, pause = time.monotonic() + LOOK_AGAIN, 0.05
        while True:
            self._session.close()
            try:
                with translated(self._storage):
                    made = self._begin(writing=True).was_made(begun.number)
                    self._session.roll_back()
                break
            except StorageError as error:
                if time.monotonic() + pause > deadline:
                    self._lost.append(begun.number)
                    raise OutcomeUnknown(
                        f"{self.where} was lost while a change was being committed ({self._said(cause)}), "
                        f"and could not be asked whether it was kept, for {LOOK_AGAIN:g} seconds "
                        f"({self._said(error.__cause__ or error)}): the change may be stored or not. When the storage is back, "
                        "study.refresh() and study.trials show it; telling again is safe with "
                        "if_told='ignore', or with a key= for data that nobody asked for."
                    ) from cause
            time.sleep(pause)
            pause = min(2.0 * pause, 2.0)
        if not made:
            raise StorageError(
                f"{self.where} could not be written: {self._said(cause)}. Nothing was changed."
            ) from cause

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""
        with working(), self._lock:
            _close(self._engine, self._session, self._owner)

    def join(self, name: str, settings: Definition, standing: Standing) -> Definition:
        """Begin the study of this name, or find the one that is there; returns its settings."""
        from shortlist._version import __version__

        with self._connected(writing=True) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sql.text("LOCK TABLE shortlist_studies IN EXCLUSIVE MODE"))
            found = self._find(connection, name)
            if found is not None:
                return found
            values, arms, features = settings.written
            apart = len(arms) + len(features or b"") >= APART
            self._study = connection.execute(
                STUDIES.insert()
                .values(
                    name=name,
                    settings=values,
                    arms="" if apart else arms,
                    features=None if apart else features,
                    features_hash=settings.features_hash,
                    created_at=time.time(),
                    written_by=f"shortlist {__version__}",
                    **standing._asdict(),
                )
                .returning(STUDIES.c.id)
            ).scalar_one()
            if apart:
                row = {"study": self._study, "arms": arms, "features": features}
                connection.execute(TABLES.insert(), row)
            self.name = name
            return settings

    def open(self, name: str | None) -> Definition:
        """Find a study that is there; its name may be left out where there is only one."""
        with self._connected() as connection:
            known = _names(connection)
            if name is None and len(known) > 1:
                raise InvalidSetting(
                    f"{self.where} holds {len(known)} studies: name one of {', '.join(known)}."
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
        columns = ("id", "settings", "arms", "features", "features_hash")
        row = connection.execute(
            sql.select(*(STUDIES.c[column] for column in columns)).where(STUDIES.c.name == name)
        ).one_or_none()
        if row is None:
            return None
        arms, features = row.arms, row.features
        if not arms:
            apart = sql.select(TABLES.c.arms, TABLES.c.features).where(TABLES.c.study == row.id)
            arms, features = connection.execute(apart).one_or_none() or ("", None)
        settings = Definition.read(row.settings, arms, features)
        if settings.features_hash != row.features_hash:
            raise DamagedStorage(
                f"{self.where}: the features of the study {name!r} are not those that were stored."
            )
        self._study, self.name = row.id, name
        return settings

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


def _names(connection: sql.Connection) -> list[str]:
    return list(connection.execute(sql.select(STUDIES.c.name).order_by(STUDIES.c.id)).scalars())


def study_names(storage: str | os.PathLike[str]) -> list[str]:
    """The studies in a database, in the order in which they began."""
    place = checked_storage(storage)
    with working():
        engine = connect(place, create=False)
        try:
            with translated(place), reading(engine) as connection:
                return _names(connection)
        finally:
            engine.dispose()


def checked_storage(storage: object) -> str:
    """A path or URL."""
    if not isinstance(storage, str | os.PathLike) or not str(storage):
        kind = type(storage).__name__  # and not what it holds, which may be a password
        raise InvalidSetting(
            f"storage is a path or a postgresql:// URL as text, got an empty one or a {kind}."
        )
    if str(storage) == ":memory:":
        raise InvalidSetting("leave storage= out to keep a study in memory only.")
    place = os.fsdecode(storage)
    check_address(place)
    try:  # a path is meant as seen from here, wherever the process goes later
        return place if is_url(place) else os.path.abspath(place)
    except OSError as error:
        raise StorageError(
            f"{place!r} is a path from the current folder, which cannot be found: {error}."
        ) from None


def checked_name(name: object) -> str:
    """A study's name."""
    if name is None:
        return DEFAULT_NAME
    if not isinstance(name, str) or not name.strip() or not is_text(name):
        raise InvalidSetting(f"name must be a text that is not empty, got {name!r}.")
    return name
