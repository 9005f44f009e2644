"""Opening a database: SQLite in a file of ours, or PostgreSQL by its URL."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from shortlist.errors import (
    DamagedStorage,
    ForeignStorage,
    InvalidSetting,
    StorageError,
    StudyNotFound,
)
from shortlist.study.journal import is_text
from shortlist.study.storage import database, schema
from shortlist.study.storage.address import check_address, is_url, parsed_url, shown, sqlite_path
from shortlist.study.storage.database import (
    StoredStudy,
    begin_writing,
    identity,
    names_in,
    reading,
    translate_errors,
)
from shortlist.study.storage.forking import no_fork

DEFAULT_NAME = "study"
MAGIC = b"SQLite format 3\x00"
APPLICATION_ID = 0x53484C54  # "SHLT": says in the file's header that it is ours
APPLICATION_ID_AT = 68
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
HEADER = 100
ADVISORY_LOCK = 0x53484C54


def open_storage(storage: str | os.PathLike[str], *, create: bool) -> StoredStudy:
    """A database in which a study is to be begun or found: a file (SQLite), or a PostgreSQL URL.

    If there is none it is made, if ``create`` says so.
    """
    place = checked_storage(storage)
    read_only = not is_url(place) and is_read_only(Path(place))
    return StoredStudy(place, _connect(place, create=create), read_only=read_only)


def study_names(storage: str | os.PathLike[str]) -> list[str]:
    """The studies in a database, in the order in which they began."""
    place = checked_storage(storage)
    with no_fork():
        engine = _connect(place, create=False)
        try:
            with translate_errors(place), reading(engine) as connection:
                return names_in(connection)
        finally:
            engine.dispose()


def checked_storage(storage: object) -> str:
    """The full path, or the URL, of a storage."""
    if not isinstance(storage, str | os.PathLike) or not str(storage):
        # Its value is not shown, as it may be a password.
        came = type(storage).__name__ if storage != "" else "''"
        raise InvalidSetting(
            f"storage must be a path or a postgresql:// URL, and not empty; got {came}."
        )
    if str(storage) == ":memory:":
        raise InvalidSetting("leave storage= out to keep a study in memory only.")
    place = sqlite_path(os.fsdecode(storage))
    check_address(place)
    try:  # a path is meant as seen from here, wherever the process goes later
        return place if is_url(place) else os.path.abspath(place)
    except OSError as error:
        raise StorageError(
            f"{place!r} is a path from the current folder, which cannot be found: {error}."
        ) from None


def checked_name(name: object) -> str:
    """The name of a study in its storage."""
    if name is None:
        return DEFAULT_NAME
    if not isinstance(name, str) or not name.strip() or not is_text(name):
        raise InvalidSetting(f"name must be a text that is not empty, got {name!r}.")
    return name


def _connect(storage: str, *, create: bool) -> sql.Engine:
    """The database, its tables made or brought up to date; one that is not ours is left alone."""
    if is_url(storage):
        engine = _postgres(storage)
    elif is_read_only(Path(storage)):
        engine = _read_only(Path(storage))
    else:
        engine = _sqlite(Path(storage), create=create)
    with translate_errors(storage):
        try:
            _prepare(engine, shown(storage), create=create)
        except BaseException:
            engine.dispose()
            raise
    return engine


def _prepare(engine: sql.Engine, where: str, *, create: bool) -> None:
    with reading(engine) as connection:
        if engine.dialect.name == "sqlite":
            _check_owner(connection, where)
        version = schema.stored_version(connection)
        schema.check_version(version, where)
    if version == 0 and not create:
        raise StudyNotFound(f"{where} holds no study.")
    if version < schema.VERSION:
        _bring_up_to_date(engine, where)
    if engine.dialect.name == "sqlite":
        _use_wal(engine)


def _bring_up_to_date(engine: sql.Engine, where: str) -> None:
    """Make or migrate the tables, unless another process has just done so."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
        version = schema.stored_version(connection)
        schema.check_version(version, where)
        if version:
            schema.migrate(connection, version)
            return
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        schema.create(connection)


# SQLite


def _check_owner(connection: sql.Connection, where: str) -> None:
    owner = connection.exec_driver_sql("PRAGMA application_id").scalar()
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
    if owner != APPLICATION_ID and tables:
        raise _foreign(where)


def _foreign(where: object) -> ForeignStorage:
    return ForeignStorage(
        f"{where} is the SQLite database of another program: nothing was changed. Name another file."
    )


# Files that this process knows to be ours. They may be open, and then must not be looked into by
# hand: closing any descriptor of a file drops all locks that the process has on it, SQLite's too.
_OURS: set[tuple[int, int]] = set()
_OURS_LOCK = threading.Lock()


def _sqlite(path: Path, *, create: bool) -> sql.Engine:
    try:
        with _OURS_LOCK:
            if not (path.exists() and identity(path) in _OURS):
                _check_file(path, create=create)
                if not path.exists():
                    path.touch()
                _OURS.add(identity(path))
    except (OSError, ValueError) as error:
        raise StorageError(f"{str(path)!r} cannot be used as a file: {error}.") from None
    return _file_engine(sql.URL.create("sqlite", database=str(path)))


def is_read_only(path: Path) -> bool:
    """Whether a file is there and cannot be written, by its mount or its permissions."""
    try:
        return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    except (OSError, ValueError):
        return False


def _read_only(path: Path) -> sql.Engine:
    """A file that cannot be written, where it is, or else a copy of it.

    SQLite needs files of its own beside it, which it may not be able to make, and may have to
    repair it. Older tables are brought up to date in the copy.
    """
    with _OURS_LOCK:
        if identity(path) not in _OURS:
            _check_file(path, create=False)
            _OURS.add(identity(path))
    query = {"mode": "ro", "uri": "true"}
    there = _file_engine(sql.URL.create("sqlite", database=f"file:{quote(str(path))}", query=query))
    try:
        with reading(there) as connection:
            if schema.stored_version(connection) >= schema.VERSION:
                return there
    except sql.exc.DBAPIError:
        pass
    there.dispose()
    folder = tempfile.mkdtemp(prefix="shortlist-")
    copy = Path(folder) / "study.db"
    try:
        for tail in ("", "-wal", "-journal"):
            if Path(f"{path}{tail}").exists():
                shutil.copyfile(f"{path}{tail}", f"{copy}{tail}")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    engine = _file_engine(sql.URL.create("sqlite", database=str(copy)))
    weakref.finalize(engine, _remove, folder, os.getpid())
    return engine


def _remove(folder: str, made_by: int) -> None:
    if os.getpid() == made_by:
        shutil.rmtree(folder, ignore_errors=True)


def _file_engine(url: sql.URL) -> sql.Engine:
    engine = sql.create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"timeout": database.PATIENCE, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def own_transactions(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # or the driver would begin them its own way
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: sql.Connection) -> None:
        if connection.get_execution_options().get("reading"):
            connection.exec_driver_sql("BEGIN")
        else:
            begin_writing(connection.connection.dbapi_connection)

    return engine


def _check_file(path: Path, *, create: bool) -> None:
    """Refuse a file that is not ours from its first bytes, without opening it as a database."""
    if path.is_dir():
        raise StorageError(f"{path} is a folder: name a file in it, such as {path / 'study.db'}.")
    if not path.exists():
        if not create:
            raise StudyNotFound(f"there is no file {path}.")
        if not path.absolute().parent.is_dir():
            raise StorageError(f"there is no folder {path.absolute().parent}: make it first.")
        return
    try:
        with path.open("rb") as file:
            header = file.read(HEADER)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if not header:
        if not create:
            raise StudyNotFound(f"{path} is empty.")
        return
    if _was_being_written(path):
        return  # SQLite undoes what was begun, and then it is seen whose the file is
    if not header.startswith(MAGIC):
        raise ForeignStorage(
            f"{path} is not a database: it begins with {header[:16]!r}. Nothing was changed."
        )
    if len(header) < HEADER or _is_cut(path, header):
        raise DamagedStorage(
            f"{path} was cut off: it is only {path.stat().st_size} bytes long. Restore it from a "
            "copy; nothing was changed."
        )
    if not _is_ours(header):
        raise _foreign(path)


def _was_being_written(path: Path) -> bool:
    """Whether the power failed in the middle of a write to a file of ours, or to one being made.

    Then the file may begin with anything, and what it began with before stands in the journal
    beside it: https://www.sqlite.org/fileformat.html#the_rollback_journal
    """
    try:
        with Path(f"{path.resolve()}-journal").open("rb") as journal:
            head = journal.read(28)
            pages, sector, size = (int.from_bytes(head[at : at + 4], "big") for at in (16, 20, 24))
            if not head.startswith(JOURNAL_MAGIC) or not 512 <= size <= 65536:
                return False
            if pages == 0:
                return True  # of a file that was empty before
            journal.seek(sector)
            while len(record := journal.read(size + 8)) == size + 8:
                if int.from_bytes(record[:4], "big") == 1:
                    return _is_ours(record[4:])
    except OSError:
        return False
    return False


def _is_ours(header: bytes) -> bool:
    return (
        header.startswith(MAGIC)
        and int.from_bytes(header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4], "big")
        == APPLICATION_ID
    )


def _is_cut(path: Path, header: bytes) -> bool:
    """Whether a database that nobody has open is shorter than it says."""
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    counted = header[24:28] == header[92:96]  # or an old program wrote it, and the count is stale
    whole = pages * (65536 if page == 1 else page)
    # SQLite repairs a file that was left in the middle by the -wal or -journal beside it.
    repaired = any(Path(f"{path.resolve()}{tail}").exists() for tail in ("-wal", "-journal"))
    return counted and path.stat().st_size < whole and not repaired


def _use_wal(engine: sql.Engine) -> None:
    """Write-ahead logging: readers and the writer do not wait for each other.

    SQLite does not wait its usual time here when others have just opened the file too.
    """
    deadline = time.monotonic() + database.PATIENCE
    while True:
        raw = engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
            return  # where there is no shared memory another mode stays: slower, and as safe
        except Exception as error:
            if "readonly" in str(error):
                return
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        finally:
            raw.close()
        time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 - no secret


# PostgreSQL


def _postgres(storage: str) -> sql.Engine:
    try:
        return sql.create_engine(
            parsed_url(storage),
            pool_size=1,
            max_overflow=0,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
            # Nobody waits for ever: not for a server, nor for a process that was stopped at work.
            connect_args={
                "connect_timeout": 30,
                "keepalives_idle": 30,
                "options": f"-c lock_timeout={database.PATIENCE:.0f}s -c synchronous_commit=on "
                f"-c idle_in_transaction_session_timeout={database.PATIENCE:.0f}s",
            },
        )
    except ModuleNotFoundError:
        raise ImportError("PostgreSQL needs psycopg: pip install 'shortlist[postgres]'.") from None
