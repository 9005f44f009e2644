"""Pieces on their way to where they are run: what is large goes once, not with every piece."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.runs import Runs
from shortlist.core.tall import unlocked
from shortlist.simulation.piece import Piece

Bytes = NDArray[np.uint8]


class Sender:
    """Submits pieces.

    Threads share their memory. A Dask cluster is sent large arrays once, and processes of this
    machine read them from one file that they map, so that there is one copy in memory for all.

    Parameters
    ----------
    executor : Executor
        Where to run.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._way: _Way | None = None
        if isinstance(executor, ProcessPoolExecutor):
            self._way = _Files()
        elif type(executor).__module__.partition(".")[0] == "distributed":
            client = getattr(executor, "_client", None)
            self._way = None if client is None else _Cluster(client)
        self._there: dict[tuple[int, int], Any] = {}

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._way is not None:
            self._way.close()

    def submit(self, piece: Piece, attempt: int = 0) -> Future[Runs]:
        """Have the piece run; when it was lost before, everything goes with it again."""
        if self._way is None or attempt > 0 or not self._way.is_open():
            return self._executor.submit(piece.run, attempt)
        rest, parts = self._way.apart(piece)
        large = self._way.large
        if all(len(part) < large for part in parts):
            return self._executor.submit(piece.run, attempt)
        try:
            sent = [part if len(part) < large else self._left(self._way, part) for part in parts]
        except OSError:  # no room for a file
            return self._executor.submit(piece.run, attempt)
        return self._executor.submit(self._way.run, rest, *sent)

    def _left(self, way: _Way, whole: Bytes) -> Any:
        # The pieces keep their arrays, so that no other comes to lie at the same address.
        key = (whole.__array_interface__["data"][0], len(whole))
        if key not in self._there:
            self._there[key] = way.leave(whole)
        return self._there[key]


class _Way(Protocol):
    large: int  # bytes from which an array does not travel with the piece

    def is_open(self) -> bool:
        """Whether anybody could be sent anything now."""

    def apart(self, piece: Piece) -> tuple[bytes, list[Bytes]]:
        """The piece without its arrays, and these."""

    def leave(self, whole: Bytes) -> Any:
        """Put an array where every worker finds it; what finds it is sent in its place."""

    @staticmethod
    def run(rest: bytes, *parts: Any) -> Runs:
        """On the worker: the piece put together again around the arrays that are there."""

    def close(self) -> None:
        """Nobody will ask for the arrays any more."""


class _Cluster:
    """Dask holds what is scattered; its pickles hold the code of functions too."""

    large = 1 << 20

    def __init__(self, client: Any) -> None:
        self._client = client

    def is_open(self) -> bool:
        return bool(self._client.nthreads())

    def apart(self, piece: Piece) -> tuple[bytes, list[Bytes]]:
        from distributed.protocol.pickle import dumps

        buffers: list[Any] = []
        rest = dumps(piece, buffer_callback=buffers.append)
        return rest, [np.asarray(buffer.raw()) for buffer in buffers]

    def leave(self, whole: Bytes) -> Any:
        return self._client.scatter(whole, broadcast=True, hash=False)

    @staticmethod
    def run(rest: bytes, *parts: Bytes) -> Runs:
        from distributed.protocol.pickle import loads

        piece: Piece = loads(rest, buffers=[unlocked(part) for part in parts])
        return piece.run()

    def close(self) -> None:
        pass


class _Files:
    """A folder of files for the time of the comparison; who has mapped one keeps it."""

    large = 1 << 16  # a file is opened in less time than a pipe takes for so much

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._count, self._full = 0, False

    def is_open(self) -> bool:
        return not self._full

    def apart(self, piece: Piece) -> tuple[bytes, list[Bytes]]:
        buffers: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(piece, protocol=5, buffer_callback=buffers.append)
        return rest, [np.asarray(buffer.raw()) for buffer in buffers]

    def leave(self, whole: Bytes) -> Path:
        try:
            if self._folder is None:
                # Windows does not delete what is mapped.
                self._folder = TemporaryDirectory(prefix="shortlist-", ignore_cleanup_errors=True)
            place = Path(self._folder.name, str(self._count))
            whole.tofile(place)
        except OSError:
            self._full = True
            raise
        self._count += 1
        return place

    @staticmethod
    def run(rest: bytes, *parts: Bytes | Path) -> Runs:
        buffers = [
            np.memmap(part, np.uint8, "r") if isinstance(part, Path) else part for part in parts
        ]
        # What this comparison pickled a moment ago, over the pool's own pipe; the files hold numbers.
        piece: Piece = pickle.loads(rest, buffers=[unlocked(each) for each in buffers])  # noqa: S301
        return piece.run()

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
