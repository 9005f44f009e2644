"""What comes of an evaluation: a result as a number, or why it failed, as text.

This file imports little, since every worker process imports it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Coroutine
from typing import TYPE_CHECKING

import numpy as np

from shortlist.errors import InvalidInput, number_hint

if TYPE_CHECKING:
    from shortlist.engine.algorithm import Procedure

LONGEST_REASON = 20_000  # characters of a failure's reason that are kept


def checked_value(value: object, procedure: Procedure | None = None) -> float:
    """A result that can be told, and that the algorithm can use.

    Examples
    --------
    >>> checked_value(float("nan"))
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: a result must be finite, got nan: nothing was told. Use fail(trial, reason) for an evaluation that failed.
    >>> checked_value(np.array(0.5)), checked_value(np.float32(0.25))
    (0.5, 0.25)
    """
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a 0-d array or tensor
        value = value.item()
    if isinstance(value, Coroutine):
        value.close()
        raise InvalidInput(
            "a result must be a number, got a coroutine, which nobody has awaited: nothing was told. "
            "Give study.run the coroutine function itself (async def), and it awaits it; in your own "
            "loop write study.tell(trial, await …)."
        )
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise InvalidInput(
            f"a result must be a number, got {value!r} ({type(value).__name__}): nothing was told."
            + number_hint(value)
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(
            f"a result must be finite, got {number}: nothing was told. Use fail(trial, reason) for "
            "an evaluation that failed."
        )
    if procedure is not None:
        procedure.noise.check_result(number)
    return number


def storable(words: str) -> str:
    r"""Text that every database takes, without its middle where it is very long.

    Examples
    --------
    >>> storable("no\x00thing")
    'nothing'
    >>> len(storable("x" * 10**6)) < 2 * LONGEST_REASON
    True
    """
    if len(words) > LONGEST_REASON:  # a traceback says most at its end, and begins with where
        left_out = f"\n… {len(words) - LONGEST_REASON:,} characters are left out here …\n"
        words = words[: LONGEST_REASON // 4] + left_out + words[-(LONGEST_REASON * 3 // 4) :]
    return words.encode("utf-8", "backslashreplace").decode().replace("\x00", "")


def checked_reason(what: str, reason: object, why: str) -> str:
    """The text that was given as a reason of ``what``; ``why`` it is needed is said where it lacks."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput(
            f"{what} needs a reason (a non-empty text), got {reason!r}: nothing was changed. {why}"
        )
    return storable(reason)
