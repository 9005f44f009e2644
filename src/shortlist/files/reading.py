"""The one way in which libraries read files: within limits, and every failure is our own error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from shortlist.errors import InvalidInput
from shortlist.files.limits import Memory
from shortlist.files.paths import regular_file
from shortlist.printable import on_one_line

SAID = 200  # characters of a library's own message that are shown
Content = TypeVar("Content")


def read_file(
    path: str | os.PathLike[str],
    error: type[InvalidInput],
    read: Callable[[Path, Memory], Content],
    source: object = None,
) -> Content:
    """What ``read`` makes of a file, or the error.

    ``read`` is given the path, and the memory that the content may take: it has to ask it
    (``memory.need``) for the size that the file declares before anything of that size is made.

    Parameters
    ----------
    path : path
        The file. Only regular files are read.
    error : type
        What to raise whatever a library raises for damaged data: that may be anything. Errors of
        ours are not changed, and nor is an ``ImportError``.
    read : callable
        Reads the file.
    source : optional
        The file as messages name it; its path if not given.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    place = regular_file(path, error)
    memory = Memory(path if source is None else source, error, place.stat().st_size)
    try:
        return read(place, memory)
    except (ImportError, InvalidInput):
        raise
    except MemoryError:
        raise memory.exceeded() from None
    except Exception as failure:
        raise damaged(memory.source, failure, error) from None


def damaged(source: object, failure: Exception, error: type[InvalidInput]) -> InvalidInput:
    """The error for a file on which a library failed."""
    said = on_one_line(f"{type(failure).__name__}: {failure}")[:SAID]
    return error(
        f"{source} cannot be read: it is damaged, or a file of another kind ({said}). Fetch it or "
        "write it again."
    )
