"""Paths as people write them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shortlist.errors import InvalidInput
from shortlist.printable import printable


def checked_path(path: str | os.PathLike[str], error: type[InvalidInput]) -> Path:
    r"""The path, if a file can have it.

    Examples
    --------
    >>> checked_path("a\0.csv", InvalidInput)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: a\x00.csv: a path cannot contain the character NUL; correct it.
    """
    text = os.fsdecode(path)
    if "\0" in text:
        raise error(f"{printable(text)}: a path cannot contain the character NUL; correct it.")
    return Path(text)


def regular_file(path: str | os.PathLike[str], error: type[InvalidInput]) -> Path:
    """The path of a file that can be read to its end: not a folder, a pipe or a device.

    Raises
    ------
    FileNotFoundError
        If there is none.

    Examples
    --------
    >>> regular_file("/dev/null", InvalidInput)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: /dev/null is a folder, a pipe or a device, not a file: save its content as a file and name that.
    """
    place = checked_path(path, error)
    if not stat.S_ISREG(place.stat().st_mode):  # a pipe may never end, and nor does /dev/zero
        raise error(
            f"{printable(path)} is a folder, a pipe or a device, not a file: save its content as a "
            "file and name that."
        )
    return place


def from_home(path: str | os.PathLike[str], error: type[Exception]) -> Path:
    """The path with ``~`` as the folder that it stands for.

    Examples
    --------
    >>> from_home("~nosuch/x.csv", InvalidInput)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: ~nosuch/x.csv: it is not known where the folder ~nosuch is; write the path out, or begin it with ./ if it is a name.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        first = Path(path).parts[0]
        raise error(
            f"{printable(path)}: it is not known where the folder {printable(first)} is; write the "
            "path out, or begin it with ./ if it is a name."
        ) from None


def from_here(storage: str | None) -> str | None:
    """The path of a storage from the current folder, if it is in it; else as given.

    Examples
    --------
    >>> from_here(os.path.abspath("screen.db")), from_here("postgresql://db/screens")
    ('screen.db', 'postgresql://db/screens')
    """
    if storage is None or "://" in storage:
        return storage
    near = os.path.relpath(storage)
    return storage if near.startswith(os.pardir) else near
