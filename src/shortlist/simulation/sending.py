"""Pieces on their way to where they are run: over a cluster what is large goes once."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

from shortlist.algorithms.runs import Runs
from shortlist.core.tall import unlocked
from shortlist.simulation.piece import Piece

LARGE = 1 << 20  # bytes


class Sender:
    """Submits pieces; threads share their memory, and a Dask cluster is sent large arrays once.

    Parameters
    ----------
    executor : Executor
        Where to run.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        is_dask = type(executor).__module__.partition(".")[0] == "distributed"
        self._client = getattr(executor, "_client", None) if is_dask else None
        self._there: dict[tuple[int, int], Any] = {}

    def submit(self, piece: Piece, attempt: int = 0) -> Future[Runs]:
        """Have the piece run; when it was lost before, everything goes with it again."""
        if self._client is None or attempt > 0 or not self._client.nthreads():
            return self._executor.submit(piece.run, attempt)
        from distributed.protocol.pickle import dumps

        buffers: list[Any] = []
        rest = dumps(piece, buffer_callback=buffers.append)
        parts = [np.asarray(buffer.raw()) for buffer in buffers]
        if all(len(part) < LARGE for part in parts):
            return self._executor.submit(piece.run, attempt)
        sent = [part if len(part) < LARGE else self._scattered(part) for part in parts]
        return self._executor.submit(_run, rest, *sent)

    def _scattered(self, whole: np.ndarray) -> Any:
        assert self._client is not None
        key = (whole.__array_interface__["data"][0], len(whole))
        if key not in self._there:
            self._there[key] = self._client.scatter(whole, broadcast=True, hash=False)
        return self._there[key]


def _run(rest: bytes, *parts: np.ndarray) -> Runs:
    """On the worker: the piece put together again around the arrays that are there."""
    from distributed.protocol.pickle import loads

    piece: Piece = loads(rest, buffers=[unlocked(part) for part in parts])
    return piece.run()
