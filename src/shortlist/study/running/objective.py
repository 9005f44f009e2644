"""One call of the objective, wherever it is sent.

This file imports little, since every worker process imports it.
"""

from __future__ import annotations

import copy
import math
import numbers
import os
import random
import socket
import traceback
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import InvalidInput, ShortlistError, number_hint

if TYPE_CHECKING:
    from shortlist.engine.algorithm import Procedure
    from shortlist.study.trial import Trial


Objective = Callable[["Trial"], Any]
LONGEST_REASON = 20_000  # characters of a failure's reason that are kept


class Evaluated(NamedTuple):
    """What became of an evaluation: a value, or an error and the words to keep of it.

    There are none where the executor lost it: then it did not fail, and is to be made again.
    """

    value: float | None
    error: BaseException | None = None
    words: str | None = None


def evaluate_trial(
    objective: Objective, trial: Trial, origin: tuple[str, int], call_id: str
) -> Evaluated:
    """Call the objective for one trial.

    Forked processes begin with one and the same state of the global generators, and would all draw
    the same numbers: elsewhere than in the asking process these are seeded by the trial. The
    ``call_id`` differs every time a trial is sent, so that no executor takes two calls for one.
    """
    elsewhere = process_id() != origin
    if elsewhere:
        random.seed(trial.seed)
        np.random.seed([trial.seed % 2**32, trial.seed >> 32])  # noqa: NPY002 - the global state is meant
    try:
        value = objective(trial)
    except Exception as error:
        begun = error.__traceback__
        below = begun.tb_next if begun is not None and begun.tb_next is not None else begun
        words = "".join(traceback.format_exception(type(error), error, below))
        reason = storable(words)
        return Evaluated(None, _picklable(error, reason) if elsewhere else error, reason)
    if isinstance(value, float) and math.isfinite(value):
        return Evaluated(float(value))
    try:
        return Evaluated(checked_value(value))
    except InvalidInput as error:
        return Evaluated(None, error, storable(str(error)))


def process_id() -> tuple[str, int]:
    """The process it is called in; pids alone repeat from one container to the next."""
    return socket.gethostname(), os.getpid()


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


def _picklable(error: Exception, words: str) -> Exception:
    """The error, or one in its place: a process pool breaks on an error that it cannot unpack."""
    try:
        ForkingPickler.dumps(error)
        copy.copy(error)  # rebuilt, as on arrival
    except Exception:
        return ShortlistError(f"the objective failed elsewhere: {words}")
    error.add_note(f"It was raised elsewhere:\n{words}")
    return error


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
