"""Where a study is kept: one transaction for every change, shared by all who work on it."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from shortlist.errors import (
    DamagedStorage,
    InvalidSetting,
    StorageError,
    StudyNotFound,
    unknown_name,
)
from shortlist.study.address import is_url, shown
from shortlist.study.contract import Standing
from shortlist.study.database import connect, identity, reading, translated
from shortlist.study.ledger import ROW, Event
from shortlist.study.schema import APART, EVENTS, STUDIES, TABLES, TRIALS
from shortlist.study.settings import Settings
from shortlist.study.trial import Trial

DEFAULT_NAME = "study"


_READ_STANDING = sql.select(*(STUDIES.c[name] for name in Standing._fields)).where(
    STUDIES.c.id == sql.bindparam("study")
)
_LOCK_STANDING = _READ_STANDING.with_for_update()
_READ_ALL_TRIALS = (
    sql.select(*(TRIALS.c[name] for name in ROW))
    .where(TRIALS.c.study == sql.bindparam("study"))
    .order_by(TRIALS.c.number)
)
_READ_TRIALS = _READ_ALL_TRIALS.where(TRIALS.c.touched > sql.bindparam("since"))
_READ_EVENTS = sql.select(EVENTS.c.change, EVENTS.c.kind, EVENTS.c.trial).where(
    EVENTS.c.study == sql.bindparam("study"), EVENTS.c.change > sql.bindparam("since")
)
_MUTABLE = ("state", "value", "reason", "closed_at", "expires_at", "worker", "process", "closed")
_UPDATE = (
    TRIALS.update()
    .where(TRIALS.c.study == sql.bindparam("of"), TRIALS.c.number == sql.bindparam("which"))
    .values({name: sql.bindparam(f"new_{name}") for name in (*_MUTABLE, "touched")})
)
_SEAL = (
    STUDIES.update()
    .where(STUDIES.c.id == sql.bindparam("study"))
    .values({name: sql.bindparam(f"new_{name}") for name in Standing._fields})
)


class StoredTransaction:
    """A transaction on a database."""

    def __init__(self, connection: sql.Connection, study: int, *, writing: bool) -> None:
        self._connection, self._study = connection, study
        query = _LOCK_STANDING if writing else _READ_STANDING
        row = connection.execute(query, {"study": study}).one_or_none()
        if row is None:
            raise StudyNotFound("the study was deleted while it was open.")
        self.standing: Standing | None = Standing(*row)

    def news(self, since: int) -> tuple[Sequence[Any], list[tuple[int, Event, int]]]:
        """The trials changed after change ``since``, by number, and the events after it."""
        place = {"study": self._study, "since": since}
        # All of them are read in their own order; by the index they would have to be sorted.
        query = _READ_TRIALS if since else _READ_ALL_TRIALS
        rows = self._connection.execute(query, place).fetchall()
        events = self._connection.execute(_READ_EVENTS, place).fetchall()
        return rows, [(change, kind, trial) for change, kind, trial in events]

    def insert(self, trials: Sequence[Trial]) -> None:
        """Keep new trials."""
        rows = [
            {
                "study": self._study,
                "touched": trial.opened,
                **dict(zip(ROW, trial.row, strict=True)),
            }
            for trial in trials
        ]
        self._connection.execute(TRIALS.insert(), rows)

    def update(self, trials: Sequence[Trial], change: int) -> None:
        """Keep what has become of trials."""
        for trial in trials:
            new = {f"new_{name}": getattr(trial, name) for name in _MUTABLE}
            place = {"of": self._study, "which": trial.number, "new_touched": change}
            self._connection.execute(_UPDATE, {**new, **place})

    def note(self, change: int, kind: Event, trial: int, worker: str) -> None:
        """Keep an event."""
        row = {"study": self._study, "change": change, "kind": kind, "trial": trial}
        self._connection.execute(EVENTS.insert(), {**row, "at": time.time(), "worker": worker})

    def seal(self, standing: Standing) -> None:
        """Keep how far the study is now."""
        new = {f"new_{name}": value for name, value in standing._asdict().items()}
        self._connection.execute(_SEAL, {"study": self._study, **new})


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
        self.address = self._storage
        self._engine = connect(self._storage, create=create)
        self._owner = [os.getpid()]
        weakref.finalize(self, _close, self._engine, self._owner)
        _OPEN.add(self)
        self._file = None if is_url(self._storage) else Path(self._storage)
        self._identity = self._file and identity(self._file)
        self._study = -1
        self.name = ""

    @contextmanager
    def _connected(self, *, writing: bool = False) -> Iterator[sql.Connection]:
        if self._owner != [os.getpid()]:
            # After a fork the connection is the parent's: leave it to it and open another.
            self._engine.dispose(close=False)
            self._owner[0] = os.getpid()
        if writing and self._file is not None:
            self._check_file_is_there(self._file)
        begun = self._engine.begin() if writing else reading(self._engine)
        with translated(self._storage), begun as connection:
            yield connection

    def _check_file_is_there(self, file: Path) -> None:
        """What is written to a file that was deleted is gone with this process."""
        if not file.exists() or identity(file) != self._identity:
            raise StorageError(
                f"{file} was moved, deleted or replaced while the study was open: nothing was "
                "changed. Put it back, or load the study from where it is now."
            )

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[StoredTransaction]:
        """One change of the study, or one look at it."""
        with self._connected(writing=writing) as connection:
            yield StoredTransaction(connection, self._study, writing=writing)

    def close(self) -> None:
        """Let go of the connection; it is made again when it is needed."""
        _close(self._engine, self._owner)

    def join(self, name: str, settings: Settings, standing: Standing) -> Settings:
        """Begin the study of this name, or find the one that is there; returns its settings."""
        from shortlist import __version__

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

    def open(self, name: str | None) -> Settings:
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

    def _find(self, connection: sql.Connection, name: str) -> Settings | None:
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
        settings = Settings.read(row.settings, arms, features)
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all)


def _close(engine: sql.Engine, owner: list[int]) -> None:
    if owner == [os.getpid()]:
        engine.dispose()


def _names(connection: sql.Connection) -> list[str]:
    return list(connection.execute(sql.select(STUDIES.c.name).order_by(STUDIES.c.id)).scalars())


def study_names(storage: str | os.PathLike[str]) -> list[str]:
    """The studies in a database, in the order in which they began."""
    place = checked_storage(storage)
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
    return os.fsdecode(storage)


def _is_text(name: str) -> bool:
    return "\x00" not in name and not any("\ud800" <= sign <= "\udfff" for sign in name)


def checked_name(name: object) -> str:
    """A study's name."""
    if name is None:
        return DEFAULT_NAME
    if not isinstance(name, str) or not name.strip() or not _is_text(name):
        raise InvalidSetting(f"name must be a text that is not empty, got {name!r}.")
    return name
