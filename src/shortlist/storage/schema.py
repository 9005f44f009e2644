"""The tables of stored studies."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import BigInteger, Column, Double, Integer, LargeBinary, String, Text

from shortlist.errors import OtherTables

VERSION = "2"
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
    Column("columns", Text),  # what the features are called, if they have names
    Column("changes", BigInteger, nullable=False),
    Column("fingerprint", String(32), nullable=False),
    Column("posterior", String(32), nullable=False),
    Column("machine", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("written_by", Text, nullable=False),
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
    Column("block", BigInteger, nullable=False),  # -1 without blocks
    Column("state", String(16), nullable=False),
    Column("value", Double),
    Column("reason", Text),
    Column("asked_at", Double, nullable=False),
    Column("closed_at", Double),
    Column("expires_at", Double),
    Column("worker", Text, nullable=False),
    Column("run", Text),
    Column("in_turn", Integer, nullable=False),
    Column("origin", String(32), nullable=False),
    Column("b", BigInteger, nullable=False),
    Column("c", BigInteger, nullable=False),
    Column("gap", Double),
    Column("statistic", Double),
    Column("second", BigInteger, nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("closed", BigInteger),
    Column("touched", BigInteger, nullable=False),  # the last change of the last one to write it
    Column("key", Text),
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
    Column("value", Double),  # of a correction
    Column("reason", Text),
    sqlite_with_rowid=False,
)

RUNS = sql.Table(
    "shortlist_runs",
    METADATA,
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("run", String(64), primary_key=True),
    Column("until", Double, nullable=False),  # when its lease ends, unless it is renewed
    sqlite_with_rowid=False,
)


def create(connection: sql.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    METADATA.create_all(connection)
    connection.execute(META.insert().values(key="tables", value=VERSION))


def has_tables(connection: sql.Connection, where: str) -> bool:
    """Whether the tables are there; others than these are refused."""
    if not sql.inspect(connection).has_table(META.name):
        return False
    version = connection.execute(sql.select(META.c.value).where(META.c.key == "tables")).scalar()
    if version != VERSION:
        which = "an earlier, unreleased version" if version is None else "another version"
        raise OtherTables(
            f"{where} was written by {which} of shortlist, whose tables this version cannot read: "
            "nothing was changed. Begin the study again in another file or database, or open it "
            "with the version that wrote it."
        )
    return True
