"""A failure to write, and what is kept of a reproduction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shortlist.errors import InvalidSetting


@contextmanager
def going_on() -> Iterator[None]:
    """Say of a file that cannot be written that nothing finished is lost.

    Examples
    --------
    >>> with going_on():
    ...     raise InvalidSetting("results cannot be written (No space left on device).")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: results cannot be written (No space left on device). Finished runs are kept: run it again to go on.
    """
    try:
        yield
    except InvalidSetting as error:
        raise InvalidSetting(f"{error} Finished runs are kept: run it again to go on.") from None
