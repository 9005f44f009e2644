"""The tables of stored studies, and their migrations from older versions."""

from __future__ import annotations

import re
from collections.abc import Callable

import sqlalchemy as sql
from sqlalchemy import BigInteger, Column, Double, Integer, LargeBinary, String, Text

from shortlist.errors import DamagedStorage, NewerSchema

VERSION = 6
APART = 1 << 16  # bytes of features and names from which they stand in a table of their own

METADATA = sql.MetaData()

META = sql.Table(
    "shortlist_meta",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

STUDIES = sql.Table(
    "shortlist_studies",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    Column("arms", Text, nullable=False),
    Column("features", LargeBinary),
    Column("features_hash", String(32), nullable=False),
    Column("changes", BigInteger, nullable=False),
    Column("fingerprint", String(32), nullable=False),
    Column("posterior", String(32), nullable=False),
    Column("machine", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("written_by", Text, nullable=False),
    Column("columns", Text),  # what the features are called, if they have names
)

# A study's row is rewritten at every change, with all that is in it.
TABLES = sql.Table(
    "shortlist_tables",
    METADATA,
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("arms", Text, nullable=False),
    Column("features", LargeBinary),
)

TRIALS = sql.Table(
    "shortlist_trials",
    METADATA,
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("arm", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("value", Double),
    Column("reason", Text),
    Column("asked_at", Double, nullable=False),
    Column("closed_at", Double),
    Column("expires_at", Double),
    Column("worker", Text, nullable=False),
    Column("process", Text),
    Column("in_turn", Integer, nullable=False),
    Column("origin", String(32), nullable=False),
    Column("b", BigInteger, nullable=False),
    Column("c", BigInteger, nullable=False),
    Column("gap", Double),
    Column("statistic", Double),
    Column("second", BigInteger, nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("closed", BigInteger),
    Column("touched", BigInteger, nullable=False),  # the last change that altered the row
    Column("key", Text),
    Column("opened_by", BigInteger),  # the transactions that opened and closed it
    Column("closed_by", BigInteger),
    Column("other_keys", Text),  # of a copy, a list in JSON: the keys of the trial it is a copy of
    sqlite_with_rowid=False,
)

EVENTS = sql.Table(
    "shortlist_events",
    METADATA,
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("change", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("trial", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("worker", Text, nullable=False),
    Column("made_by", BigInteger),  # the transaction that made it
    Column("value", Double),  # of a correction
    Column("reason", Text),
    sqlite_with_rowid=False,
)


def _set_tables_apart(connection: sql.Connection) -> None:
    """Move large features and names from the rows of studies to a table of their own."""
    TABLES.create(connection, checkfirst=True)
    size = sql.func.coalesce(sql.func.length(STUDIES.c.features), 0)
    large = size + sql.func.length(STUDIES.c.arms) >= APART
    columns = (STUDIES.c.id, STUDIES.c.arms, STUDIES.c.features)
    connection.execute(
        TABLES.insert().from_select(
            ["study", "arms", "features"], sql.select(*columns).where(large)
        )
    )
    connection.execute(STUDIES.update().where(large).values(arms="", features=None))


def _name_transactions(connection: sql.Connection) -> None:
    """Add keys of results, and to every change the number of its transaction."""
    _add_columns(
        connection,
        (TRIALS, "key", "TEXT"),
        (TRIALS, "opened_by", "BIGINT"),
        (TRIALS, "closed_by", "BIGINT"),
        (EVENTS, "made_by", "BIGINT"),
    )
    # It was written at every change. What others changed is found by the trials' numbers.
    connection.execute(sql.text("DROP INDEX IF EXISTS shortlist_trials_touched"))


def _add_corrections(connection: sql.Connection) -> None:
    """Add the value and the reason of a correction, and the names of the features."""
    _add_columns(
        connection,
        (EVENTS, "value", "DOUBLE PRECISION"),
        (EVENTS, "reason", "TEXT"),
        (STUDIES, "columns", "TEXT"),
    )


def _add_columns(connection: sql.Connection, *columns: tuple[sql.Table, str, str]) -> None:
    known = sql.inspect(connection)
    for table, column, kind in columns:
        if column not in {each["name"] for each in known.get_columns(table.name)}:
            connection.execute(sql.text(f"ALTER TABLE {table.name} ADD COLUMN {column} {kind}"))


# From version v to v + 1: MIGRATIONS[v], run in the transaction that also counts the version up.
MIGRATIONS: dict[int, Callable[[sql.Connection], None]] = {
    1: _set_tables_apart,
    2: _name_transactions,
    3: _add_corrections,
    # The tables stay: there are events "carried", which an older version would take for damage.
    4: lambda connection: None,
    5: lambda connection: _add_columns(connection, (TRIALS, "other_keys", "TEXT")),
}


def create(connection: sql.Connection) -> None:
    """Make the tables that are missing, inside the caller's transaction."""
    METADATA.create_all(connection)
    found = connection.execute(sql.select(META.c.value).where(META.c.key == "version")).scalar()
    if found is None:
        connection.execute(META.insert().values(key="version", value=str(VERSION)))


def stored_version(connection: sql.Connection) -> int:
    """The version that the tables have; 0 if there are none."""
    if not sql.inspect(connection).has_table(META.name):
        return 0
    found = connection.execute(sql.select(META.c.value).where(META.c.key == "version")).scalar()
    if not re.fullmatch("[0-9]{1,9}", str(found)):
        raise DamagedStorage(
            f"the version of the stored tables reads {str(found)[:40]!r}, not a number."
        )
    return int(str(found))


def check_version(version: int, where: str) -> None:
    """Refuse what a newer package has written."""
    if version > VERSION:
        raise NewerSchema(
            f"{where} was written by a newer version of shortlist (its tables are version "
            f"{version}, this one knows up to {VERSION}): pip install --upgrade shortlist. Nothing "
            "was changed."
        )


def migrate(connection: sql.Connection, version: int) -> None:
    """Bring older tables up to date, inside the caller's transaction."""
    while version < VERSION:
        if version not in MIGRATIONS:
            raise DamagedStorage(f"there is no migration from version {version} of the tables.")
        MIGRATIONS[version](connection)
        version += 1
        connection.execute(META.update().where(META.c.key == "version").values(value=str(version)))
