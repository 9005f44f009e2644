"""One call of the objective, wherever it is sent.

This file imports little, since every worker process imports it.
"""

from __future__ import annotations

import copy
import math
import os
import random
import socket
import traceback
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import InvalidInput, ShortlistError
from shortlist.study.outcome import checked_value, storable

if TYPE_CHECKING:
    from shortlist.study.trial import Trial


Objective = Callable[["Trial"], Any]


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


def _picklable(error: Exception, words: str) -> Exception:
    """The error, or one in its place: a process pool breaks on an error that it cannot unpack."""
    try:
        ForkingPickler.dumps(error)
        copy.copy(error)  # rebuilt, as on arrival
    except Exception:
        return ShortlistError(f"the objective failed elsewhere: {words}")
    error.add_note(f"It was raised elsewhere:\n{words}")
    return error
