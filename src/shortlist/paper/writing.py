"""A failure to write, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortlist.errors import InvalidSetting


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say what could not be written, and that nothing finished is lost.

    Examples
    --------
    >>> with writing(Path("results")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: results cannot be written (No space left on device): make room, or name another folder. Finished runs are kept: run it again to go on.
    """
    try:
        yield
    except OSError as error:
        what = place if error.filename is None else error.filename
        raise InvalidSetting(
            f"{what} cannot be written ({error.strerror or error}): make room, or name another "
            "folder. Finished runs are kept: run it again to go on."
        ) from None
