"""Text files as lines with numbers, and errors that name them."""

from __future__ import annotations

from pathlib import Path

from shortlist.errors import InvalidNetwork
from shortlist.files.paths import checked_path


def read_text(path: Path) -> str:
    """A file's text, with or without a byte-order mark."""
    path = checked_path(path, InvalidNetwork)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidNetwork(f"{path.name} is not text in UTF-8: save it as such.") from None


def at_line(name: str, line: int, problem: object) -> InvalidNetwork:
    """The error for a problem in one line of a file."""
    return InvalidNetwork(f"{name}, line {line}: {problem}")
