"""A share of the runs of a comparison, and how it is sent to another process.

Arrays travel as they are, so that the runs are the same to the last bit wherever they are made, and
large arrays travel once, not with every chunk.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shortlist.engine.algorithm import Procedure
from shortlist.engine.contract import AnyEngine, Runs, joined
from shortlist.seeds import run_seeds
from shortlist.problem import Problem
from shortlist.rules import rewards
from shortlist.gifa.rules import Rule
from shortlist.study.insight.audit import chosen_arms, judge, sample_of

Bytes = NDArray[np.uint8]

KEPT = 8  # engines that a worker remembers, with the designs they have solved
SALT = 0x61756469  # the audit's rewards are others than the run's

_engines: dict[str, AnyEngine] = {}


@dataclass(frozen=True, eq=False)
class Chunk:
    """Runs of one algorithm on one instance, one for each seed."""

    engine: AnyEngine  # the algorithm on its problem
    reward: Rule  # how the instance answers a pull
    parameters: NDArray[np.float64]  # of the reward model
    seeds: NDArray[np.uint64]  # one per run
    max_samples: int  # where a run is cut off
    token: str  # the same for all chunks of one algorithm
    problem: Problem | None = None  # if given, the answer of every run is audited on it

    def run(self, attempt: int = 0) -> Runs:
        """Make the runs; ``attempt`` only makes a second task differ from the first."""
        if self.problem is not None:
            return joined(self._audited_run(seed, self.problem) for seed in self.seeds)
        return self.engine.replicate(self.reward, self.parameters, self.seeds, self.max_samples)

    def _audited_run(self, seed: np.uint64, problem: Problem) -> Runs:
        """One run and the audit of its answer; a run that did not stop is not audited."""
        seeds = np.array([seed], np.uint64)
        run = self.engine.replicate(self.reward, self.parameters, seeds, self.max_samples)
        assert run.sums is not None
        none = np.zeros(1, np.int64)
        if not run.stopped[0]:
            return replace(run, audited=none, rejected=none > 0)
        pulls = run.pulls[0]
        past = sample_of(problem, pulls, run.sums)
        means = problem.orthonormal @ np.linalg.lstsq(past.features, past.means)[0]
        means[past.arms] = past.means  # to choose arms, what was measured is good enough
        plan = chosen_arms(problem, pulls, means, run.recommended[0])
        audit_seed = int(run_seeds(int(seed), 1, SALT)[0])
        values = rewards.first_rewards(self.reward, self.parameters, audit_seed, plan)
        fresh_sums = np.bincount(plan, values, problem.arms).astype(np.float64)
        fresh = sample_of(problem, np.bincount(plan, minlength=problem.arms), fresh_sums)
        verdict = judge(problem, past, fresh)
        made = np.array([len(plan)], np.int64)
        return replace(
            run, samples=run.samples + made, audited=made, rejected=np.array([verdict.rejected])
        )

    def __reduce__(self) -> tuple[Callable[..., Chunk], tuple[Any, ...]]:
        return _received, tuple(getattr(self, field.name) for field in fields(self))


def chunks_of(
    procedure: Procedure,
    reward: Rule,
    parameters: NDArray[np.float64],
    shares: list[NDArray[np.uint64]],
    max_samples: int,
    audit: bool = False,
) -> list[Chunk]:
    """One chunk for each share of the seeds."""
    rest = max_samples, uuid4().hex, procedure.problem if audit else None
    return [Chunk(procedure.engine, reward, parameters, seeds, *rest) for seeds in shares]


def _received(engine: AnyEngine, *rest: Any) -> Chunk:
    """The chunk that was sent, with the engine of the first one of its token.

    So designs are solved once per process, and rules compiled once.
    """
    chunk = Chunk(engine, *rest)
    if chunk.token not in _engines:
        for old in list(_engines)[: 1 - KEPT]:
            _engines.pop(old, None)
        _engines[chunk.token] = engine
    return replace(chunk, engine=_engines[chunk.token])


class Sender:
    """Submits chunks to an executor, as they are: threads share their memory."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @staticmethod
    def to(executor: Executor) -> Sender:
        """The sender that suits an executor."""
        if isinstance(executor, ProcessPoolExecutor):
            return _FileSender(executor)
        client = getattr(executor, "_client", None)
        if type(executor).__module__.partition(".")[0] == "distributed" and client is not None:
            return _DaskSender(executor, client)
        return Sender(executor)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, chunk: Chunk, attempt: int = 0) -> Future[Runs]:
        """Have a chunk run; ``attempt`` counts how often it was lost before."""
        return self._executor.submit(chunk.run, attempt)


class ThreadSender(Sender):
    """Submits chunks to threads of its own; to a single one those that more would slow down."""

    def __init__(self, threads: int) -> None:
        super().__init__(ThreadPoolExecutor(threads))
        self._single = ThreadPoolExecutor(1) if threads > 1 else self._executor

    def submit(self, chunk: Chunk, attempt: int = 0) -> Future[Runs]:
        """Have a chunk run by a thread."""
        pool = self._executor if chunk.engine.benefits_from_threads else self._single
        return pool.submit(chunk.run, attempt)

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown()
        self._single.shutdown()


class _SharingSender(Sender, ABC):
    """Sends large arrays once, and chunks without them."""

    large: ClassVar[int]  # bytes from which an array is sent apart

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self._shared: dict[tuple[int, int], Any] = {}

    def submit(self, chunk: Chunk, attempt: int = 0) -> Future[Runs]:
        if attempt > 0 or not self.can_share():  # a chunk that was lost takes everything along
            return super().submit(chunk, attempt)
        buffers: list[pickle.PickleBuffer] = []
        rest = self.dumps(chunk, buffers.append)
        arrays = [np.asarray(buffer.raw()) for buffer in buffers]
        if all(len(array) < self.large for array in arrays):
            return super().submit(chunk, attempt)
        try:
            sent = [array if len(array) < self.large else self._place(array) for array in arrays]
        except OSError:  # no room for a file
            return super().submit(chunk, attempt)
        return self._executor.submit(self.run, rest, *sent)

    def _place(self, array: Bytes) -> Any:
        # The chunks keep their arrays, so that no other comes to lie at the same address.
        key = (array.__array_interface__["data"][0], len(array))
        if key not in self._shared:
            self._shared[key] = self.share(array)
        return self._shared[key]

    @abstractmethod
    def can_share(self) -> bool:
        """Whether an array could be put anywhere now."""

    @abstractmethod
    def dumps(self, chunk: Chunk, callback: Callable[[pickle.PickleBuffer], None]) -> bytes:
        """Pickle a chunk without its arrays, which the callback gets."""

    @abstractmethod
    def share(self, array: Bytes) -> Any:
        """Put an array where every worker finds it; what is returned is sent in its place."""

    @staticmethod
    @abstractmethod
    def run(rest: bytes, *arrays: Any) -> Runs:
        """On the worker: put a chunk together again, and run it."""


class _DaskSender(_SharingSender):
    """Scatters large arrays on a Dask cluster, whose pickles contain the code of functions too."""

    large = 1 << 20

    def __init__(self, executor: Executor, client: Any) -> None:
        super().__init__(executor)
        self._client = client

    def can_share(self) -> bool:
        return bool(self._client.nthreads())

    def dumps(self, chunk: Chunk, callback: Callable[[pickle.PickleBuffer], None]) -> bytes:
        from distributed.protocol.pickle import dumps

        return dumps(chunk, buffer_callback=callback)

    def share(self, array: Bytes) -> Any:
        return self._client.scatter(array, broadcast=True, hash=False)

    @staticmethod
    def run(rest: bytes, *arrays: Bytes) -> Runs:
        from distributed.protocol.pickle import loads

        chunk: Chunk = loads(rest, buffers=arrays)
        return chunk.run()


class _FileSender(_SharingSender):
    """Writes large arrays to files, which the processes of this machine map: one copy for all."""

    large = 1 << 16  # opening a file takes less time than sending that much through a pipe

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self._folder: TemporaryDirectory[str] | None = None
        self._is_full = False

    def can_share(self) -> bool:
        return not self._is_full

    def dumps(self, chunk: Chunk, callback: Callable[[pickle.PickleBuffer], None]) -> bytes:
        return pickle.dumps(chunk, protocol=5, buffer_callback=callback)

    def share(self, array: Bytes) -> Path:
        try:
            if self._folder is None:
                # Windows does not delete what is mapped.
                self._folder = TemporaryDirectory(prefix="shortlist-", ignore_cleanup_errors=True)
            file = Path(self._folder.name, str(len(self._shared)))
            array.tofile(file)
        except OSError:
            self._is_full = True
            raise
        return file

    @staticmethod
    def run(rest: bytes, *arrays: Bytes | Path) -> Runs:
        buffers = [np.memmap(a, np.uint8, "r") if isinstance(a, Path) else a for a in arrays]
        # This comparison pickled it a moment ago, and the files contain numbers only.
        chunk: Chunk = pickle.loads(rest, buffers=buffers)  # noqa: S301
        return chunk.run()

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
