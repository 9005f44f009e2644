"""Executors: in this thread, in a pool of threads or processes, or on a cluster."""

from __future__ import annotations

import asyncio
import functools
import inspect
import io
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from shortlist.errors import InvalidSetting


class InlineExecutor(Executor):
    """Works at once, in the caller's own thread."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """The result, or the error, in a future that is over."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*given, **named))
        except Exception as error:
            future.set_exception(error)
        return future


class CoroutineExecutor(Executor):
    """Awaits coroutine functions, all in one event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """What the coroutine will return."""
        return asyncio.run_coroutine_threadsafe(function(*given, **named), self._loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the loop, and what still runs in it."""
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def is_coroutine_function(objective: Any) -> bool:
    """Whether a call of it is to be awaited.

    Examples
    --------
    >>> async def ask_model(trial): ...
    >>> is_coroutine_function(ask_model), is_coroutine_function(print)
    (True, False)
    """
    while isinstance(objective, functools.partial):
        objective = objective.func
    called = getattr(type(objective), "__call__", None)  # noqa: B004 - it is not called here
    return inspect.iscoroutinefunction(objective) or inspect.iscoroutinefunction(called)


def find_executor(given: Any) -> Executor:
    """The executor to use: None means this thread, and a Dask client has one.

    Examples
    --------
    >>> find_executor("threads")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: executor must be a concurrent.futures.Executor or a Dask client, got str: see docs/clusters.md.
    """
    if given is None:
        return InlineExecutor()
    if isinstance(given, Executor):
        return given
    if is_dask_client(given):
        if getattr(given, "asynchronous", False):
            raise InvalidSetting(
                "the Dask client is asynchronous, and a run waits for its results: make one with "
                "Client(…, asynchronous=False)."
            )
        return given.get_executor(pure=False)
    raise InvalidSetting(
        "executor must be a concurrent.futures.Executor or a Dask client, got "
        f"{type(given).__name__}: see docs/clusters.md."
    )


def is_dask_client(given: Any) -> bool:
    """Whether it is a Dask client, without loading Dask."""
    return hasattr(given, "get_executor") and hasattr(given, "nthreads")


def check_sendable(executor: Executor, thing: Any, name: str) -> None:
    """Raise where a pool of processes could not be sent what it needs.

    The pool itself would say so only in the results, where it looks like a failed evaluation.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.reduction import ForkingPickler

    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:  # large arrays are left where they are
        ForkingPickler(io.BytesIO(), 5, True, lambda _: None).dump(thing)
    except Exception as error:
        raise InvalidSetting(
            f"{name} cannot be sent to other processes ({error}): define it at the top of a module "
            "(no lambda, no function within another), or use threads, or Dask, which sends the "
            "code itself."
        ) from error


def is_lost(error: BaseException) -> bool:
    """Whether an error says that the executor lost the work, not that the work failed.

    Dask's own errors (``KilledWorker`` and others) are known by where they are defined.
    """
    of_dask = type(error).__module__.partition(".")[0] == "distributed"
    return isinstance(error, CancelledError) or of_dask
