"""One call of the objective, wherever it is sent.

This file imports little, since every worker process imports it.
"""

from __future__ import annotations

import asyncio
import copy
import math
import os
import random
import socket
import time
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

    There are none where the executor lost it: then it did not fail, and is to be made again. Where
    there is a value they are of an attempt before.
    """

    value: float | None
    error: BaseException | None = None
    words: str | None = None


class Call(NamedTuple):
    """One call of an objective: for which trial, and after which pauses it is repeated if it raises.

    The ``identity`` differs every time a trial is sent, so that no executor takes two calls for one.
    """

    objective: Objective
    trial: Trial
    origin: tuple[str, int]
    identity: str
    pauses: tuple[float, ...] = ()

    def pause_after(self, made: Evaluated, attempts: int) -> float | None:
        """How long to wait before the next attempt; None if there is none."""
        if not isinstance(made.error, Exception) or attempts > len(self.pauses):
            return None
        if isinstance(made.error, HOPELESS):
            return None
        # Not by the global generators, which belong to the objective: workers come back one by one.
        return self.pauses[attempts - 1] * random.Random().uniform(0.75, 1.25)  # noqa: S311


HOPELESS = (ImportError, InvalidInput, NameError, NotImplementedError, SyntaxError)


def evaluate_trial(call: Call) -> Evaluated:
    """Call the objective for one trial, and again after pauses where it raises."""
    attempts, failed = 0, None
    while True:
        made = _attempt(call)
        attempts += 1
        pause = call.pause_after(made, attempts)
        if pause is None:
            return _with_attempts(made, failed, attempts)
        failed = made
        time.sleep(pause)


async def await_trial(call: Call) -> Evaluated:
    """The same for a coroutine function, which is awaited."""
    attempts, failed = 0, None
    while True:
        try:
            made = _evaluated(await call.objective(call.trial))
        except Exception as error:
            made = _failed(error, call)
        attempts += 1
        pause = call.pause_after(made, attempts)
        if pause is None:
            return _with_attempts(made, failed, attempts)
        failed = made
        await asyncio.sleep(pause)


def _with_attempts(made: Evaluated, failed: Evaluated | None, attempts: int) -> Evaluated:
    """What came of the last attempt, with what is kept of the one before it."""
    if failed is None or made.error is not None:
        return made
    last = (failed.words or "").strip().splitlines()[-1:]
    return made._replace(words="".join([f"raised {attempts - 1}× first: ", *last]))


def _attempt(call: Call) -> Evaluated:
    """Call the objective once.

    Forked processes begin with one and the same state of the global generators, and would all draw
    the same numbers: elsewhere than in the asking process these are seeded by the trial.
    """
    objective, trial = call.objective, call.trial
    if process_id() != call.origin:
        random.seed(trial.seed)
        np.random.seed([trial.seed % 2**32, trial.seed >> 32])  # noqa: NPY002 - the global state is meant
    try:
        return _evaluated(objective(trial))
    except Exception as error:
        return _failed(error, call)


def _failed(error: Exception, call: Call) -> Evaluated:
    """What is kept of an attempt that raised."""
    begun = error.__traceback__
    below = begun.tb_next if begun is not None and begun.tb_next is not None else begun
    words = "".join(traceback.format_exception(type(error), error, below))
    reason = storable(words)
    elsewhere = process_id() != call.origin
    return Evaluated(None, _picklable(error, reason) if elsewhere else error, reason)


def _evaluated(value: object) -> Evaluated:
    """What came back, if it is a number."""
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
