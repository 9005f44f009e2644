"""Opening a storage by its path or URL, with its tables made if they are missing."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from shortlist.advice import advise
from shortlist.errors import (
    ForeignStorage,
    InvalidSetting,
    StorageError,
    StudyNotFound,
    unknown_name,
)
from shortlist.printable import quoted
from shortlist.storage import schema
from shortlist.storage import sql as database
from shortlist.storage.address import (
    BACK_ENDS,
    check_address,
    is_url,
    parsed_url,
    scheme_of,
    shown,
    sqlite_path,
)
from shortlist.storage.base import Settings, Storage, is_text
from shortlist.storage.sql import PostgreSQL, SQLite, SQLStorage, begin_writing, translate_errors

DEFAULT_NAME = "study"
APPLICATION_ID = 0x53484C54  # "SHLT": says in the file's header that it is ours
ADVISORY_LOCK = 0x53484C54
SMALLEST = 100  # bytes: the header of an SQLite file


def open_storage(storage: str | os.PathLike[str], *, create: bool) -> Storage:
    """The storage in which a study is to be begun or found.

    If there is none it is made, if ``create`` says so.
    """
    place = checked_storage(storage)
    back_end = BACK_ENDS[scheme_of(place) if is_url(place) else "sqlite"]
    module, _, function = back_end.partition(":")
    opened: Storage = getattr(import_module(module), function)(place, create=create)
    return opened


def study_names(storage: str | os.PathLike[str]) -> list[str]:
    """The studies in a storage, in the order in which they began."""
    opened = open_storage(storage, create=False)
    try:
        return opened.names()
    finally:
        opened.close()


def open_study(storage: Storage, name: str | None) -> tuple[str, Settings]:
    """Find a study, and its name, which may be omitted if there is only one."""
    known = storage.names()
    if not known:
        raise StudyNotFound(f"{storage.where} holds no study.")
    if name is None and len(known) > 1:
        raise InvalidSetting(
            f"{storage.where} holds {len(known)} studies: {quoted(known)}. Name one "
            f"{advise('name it')}."
        )
    wanted = known[0] if name is None else name
    found = storage.open(wanted)
    if found is None:
        raise StudyNotFound(f"{storage.where}: {unknown_name('study', wanted, known)}")
    return wanted, found


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


# SQLite


def open_sqlite(path: str, *, create: bool) -> SQLStorage:
    """A file; one that is not ours is left alone."""
    place = Path(path)
    with translate_errors(path):
        _check_place(place, create=create)
        read_only = is_read_only(place)
        engine = _read_only(place) if read_only else _file_engine(_sqlite_url(place, "rwc"))
        try:
            with _reading(engine) as connection:
                _check_owner(connection, path)
                has_tables = schema.has_tables(connection, path)
                logs_ahead = connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        except sql.exc.DatabaseError as error:
            if "not a database" in str(error):
                raise ForeignStorage(f"{path} is not a database: nothing was changed.") from None
            raise
        if not has_tables and not create:
            raise StudyNotFound(f"{path} holds no study.")
        if not has_tables:
            with engine.begin() as connection:
                if not schema.has_tables(connection, path):  # made by another process just now
                    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                    schema.create(connection)
        if not logs_ahead:
            _use_wal(engine)
        return SQLStorage(path, SQLite(engine, path, read_only=read_only))


def _check_place(path: Path, *, create: bool) -> None:
    """Refuse what cannot be a file of ours, before SQLite would make one."""
    if "\x00" in str(path):
        raise StorageError(f"{str(path)!r} cannot be the name of a file.")
    try:
        if path.is_dir():
            raise StorageError(
                f"{path} is a folder: name a file in it, such as {path / 'study.db'}."
            )
        if path.exists():
            if 0 < path.stat().st_size < SMALLEST:  # SQLite takes one byte for an empty file
                raise ForeignStorage(f"{path} is not a database: nothing was changed.")
            return
        if not create:
            raise StudyNotFound(f"there is no file {path}.")
        if not path.parent.is_dir():
            raise StorageError(f"there is no folder {path.parent}: make it first.")
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be used as a file: {error}.") from None


def _check_owner(connection: sql.Connection, where: str) -> None:
    """Refuse the file of another program."""
    owner = connection.exec_driver_sql("PRAGMA application_id").scalar()
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
    if owner != APPLICATION_ID and tables:
        raise ForeignStorage(
            f"{where} is the SQLite database of another program: nothing was changed. Name another "
            "file."
        )


def is_read_only(path: Path) -> bool:
    """Whether a file is there and cannot be written, by its mount or its permissions."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _sqlite_url(path: Path, mode: str) -> sql.URL:
    query = {"mode": mode, "uri": "true"}
    return sql.URL.create("sqlite", database=f"file:{quote(str(path))}", query=query)


def _read_only(path: Path) -> sql.Engine:
    """A file that cannot be written, where it is, or else a copy of it.

    SQLite needs files of its own beside it, which it may not be able to make, and may have to
    repair it.
    """
    there = _file_engine(_sqlite_url(path, "ro"))
    try:
        with _reading(there) as connection:
            connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
            return there
    except sql.exc.DBAPIError:
        pass
    folder = tempfile.mkdtemp(prefix="shortlist-")
    copy = Path(folder) / "study.db"
    try:
        for tail in ("", "-wal", "-journal"):
            if Path(f"{path}{tail}").exists():
                shutil.copyfile(f"{path}{tail}", f"{copy}{tail}")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    engine = _file_engine(_sqlite_url(copy, "rw"))
    weakref.finalize(engine, _remove, folder, os.getpid())
    return engine


def _remove(folder: str, made_by: int) -> None:
    if os.getpid() == made_by:
        shutil.rmtree(folder, ignore_errors=True)


def _file_engine(url: sql.URL) -> sql.Engine:
    engine = sql.create_engine(
        url,
        poolclass=NullPool,
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
            begin_writing(connection.connection.driver_connection)

    return engine


@contextmanager
def _reading(engine: sql.Engine) -> Iterator[sql.Connection]:
    with engine.execution_options(reading=True).begin() as connection:
        yield connection


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


def open_postgresql(url: str, *, create: bool) -> SQLStorage:
    """A database on a server."""
    engine = _server_engine(url)
    where = shown(url)
    with translate_errors(url):
        with engine.begin() as connection:
            has_tables = schema.has_tables(connection, where)
        if not has_tables and not create:
            raise StudyNotFound(f"{where} holds no study.")
        if not has_tables:
            with engine.begin() as connection:
                connection.execute(sql.select(sql.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
                if not schema.has_tables(connection, where):  # made by another process just now
                    schema.create(connection)
    return SQLStorage(url, PostgreSQL(engine))


def _server_engine(url: str) -> sql.Engine:
    try:
        from shortlist.storage.postgresql import connect
    except ModuleNotFoundError:
        raise ImportError("PostgreSQL needs psycopg: pip install 'shortlist[postgres]'.") from None
    engine = sql.create_engine(
        parsed_url(url), poolclass=NullPool, isolation_level="READ COMMITTED"
    )
    event.listen(engine, "do_connect", connect)
    return engine
