"""The address of a storage: a path or a URL, whose password is never shown."""

from __future__ import annotations

import re

import sqlalchemy as sql

from shortlist.errors import StorageError

# What opens a storage, by the scheme of its URL: a function of the address, and whether to create.
BACK_ENDS = {
    "sqlite": "shortlist.storage.opening:open_sqlite",  # or a path without a scheme
    "postgresql": "shortlist.storage.opening:open_postgresql",
}
HIDDEN = "***"
SECRET = re.compile("pass|secret|token|_key$", re.I)  # names of settings
# A scheme, or a user with a password; what begins with . or / or C:\ is a path.
_ALMOST_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]+:/|(?![./\\~]|[a-z]:[/\\]).*:.*@)", re.I)
_SETTINGS = re.compile(r"\b\w*(?:pass|secret|token)\w*\s*=", re.I)
EXPECTED = (
    "expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE, where a password has %40 for @, %3A "
    "for :, %2F for /, %3F for ? and %25 for %, and the port is a number. It is not shown here, as "
    "it may contain a password."
)


def is_url(storage: str) -> bool:
    """Whether a storage is named by a URL rather than by a path."""
    return "://" in storage


def scheme_of(url: str) -> str:
    """The kind of storage that a URL names.

    Examples
    --------
    >>> scheme_of("postgresql+psycopg://db/screens"), scheme_of("postgres://db/screens")
    ('postgresql', 'postgresql')
    """
    scheme = url.partition("://")[0].partition("+")[0].strip().lower()
    return "postgresql" if scheme == "postgres" else scheme


def sqlite_path(storage: str) -> str:
    """A storage with the path in place of a ``sqlite:///`` URL; all others as they are.

    Examples
    --------
    >>> sqlite_path("sqlite:///screen.db"), sqlite_path("sqlite:////srv/screen.db")
    ('screen.db', '/srv/screen.db')
    >>> sqlite_path("sqlite://")
    Traceback (most recent call last):
        ...
    shortlist.errors.StorageError: 'sqlite://' names no file: write sqlite:///screen.db, or the path alone. To keep a study in memory only, leave the storage out.
    """
    scheme, _, rest = storage.strip().partition("://")
    if scheme.lower() not in ("sqlite", "sqlite+pysqlite"):
        return storage
    path = rest.removeprefix("/")
    if not rest.startswith("/") or path in ("", ":memory:"):
        raise StorageError(
            f"{storage!r} names no file: write sqlite:///screen.db, or the path alone. To keep a "
            "study in memory only, leave the storage out."
        )
    if "?" in path:
        raise StorageError(
            f"{storage!r} has settings after the path, which are not supported: write "
            f"{path.partition('?')[0]!r}, the path alone."
        )
    return path


def check_address(storage: str) -> None:
    """Refuse what is meant for a database and would be taken for a path, password and all.

    Examples
    --------
    >>> check_address("screens/first.db")
    >>> check_address("postgresql:/ann:secret@db/screens")
    Traceback (most recent call last):
        ...
    shortlist.errors.StorageError: the storage looks like a database URL, but is not a valid one: expected postgresql://...
    """
    if is_url(storage):
        if scheme_of(storage) not in BACK_ENDS:
            raise StorageError(
                "storage is a path or sqlite:///PATH (SQLite), or a postgresql:// URL, got "
                f"{scheme_of(storage)!r}."
            )
        shown(storage)  # whose password can be found is well written
    elif _ALMOST_URL.match(storage) or _SETTINGS.search(storage):
        raise StorageError(
            f"the storage looks like a database URL, but is not a valid one: {EXPECTED} A path "
            "that has a colon begins with ./ or /."
        )


def parsed_url(storage: str) -> sql.URL:
    """The URL of a database server; an error does not repeat it."""
    try:
        url = sql.make_url(storage.strip())
    except (sql.exc.ArgumentError, ValueError):  # ValueError: the port is not a number
        raise StorageError(f"the storage URL cannot be read: {EXPECTED}") from None
    # Where an @ stands out of place, part of a password is taken for a host or a database.
    before, at, after = storage.partition("@")
    if "@" in after or (at and "?" in before) or re.search("[:@#]", url.database or ""):
        raise StorageError(f"the storage URL can be read in two ways: {EXPECTED}")
    return url.set(drivername="postgresql+psycopg") if scheme_of(storage) == "postgresql" else url


def shown(storage: str) -> str:
    """A storage's name without its password.

    Examples
    --------
    >>> shown("postgresql://ann:secret@db/screens")
    'postgresql+psycopg://ann:***@db/screens'
    """
    if not is_url(storage):
        return storage
    url = parsed_url(storage)
    return str(url.difference_update_query([key for key in url.query if SECRET.search(key)]))


def without_secrets(words: str, storage: str) -> str:
    """What a database said of a storage, without the passwords of its URL.

    Examples
    --------
    >>> without_secrets("no role 'secret'", "postgresql://ann:secret@db/screens")
    "no role '***'"
    """
    if not is_url(storage):
        return words
    url = parsed_url(storage)
    secrets = [url.password, *(str(url.query[key]) for key in url.query if SECRET.search(key))]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        words = words.replace(secret, HIDDEN)
    return words
