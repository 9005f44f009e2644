"""A share of a comparison's runs, in a form that can be sent to another process.

Pieces on their way to where they are run: what is large goes once, not with every piece.

The audit of linearity at the end of a simulated run.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Protocol, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shortlist.designs.direction import Designs
from shortlist.engine.bound_algorithm import BoundAlgorithm
from shortlist.engine.contract import AnyEngine, Runs, joined
from shortlist.engine.engine import Engine
from shortlist.noise import first_of_each
from shortlist.numerics.random import run_seeds, seed_stream
from shortlist.numerics.tall import unlocked
from shortlist.problem import Problem
from shortlist.rules.registry import RULES
from shortlist.rules.rule import Rule
from shortlist.rules.thresholds import THRESHOLDS
from shortlist.simulation import rewards
from shortlist.study.insight.audit import chosen_arms, judge, sample_of

KNOWN: dict[str, dict[str, Rule]] = {
    **RULES,
    "threshold": {name: threshold.rule for name, threshold in THRESHOLDS.items()},
    "reward": {each.name: each for each in (rewards.gaussian, rewards.bernoulli, rewards.recorded)},
}
SENT = [field.name for field in fields(Engine) if field.name not in ("rules", "design")]
KEPT = 8  # engines that a worker remembers, with the designs they have solved

_engines: dict[str, AnyEngine] = {}


@dataclass(frozen=True, eq=False)
class Piece:
    """Runs of one algorithm on one instance, one for each seed.

    Attributes
    ----------
    engine : AnyEngine
        The algorithm on its problem.
    reward : Rule
        How the instance answers a pull.
    parameters : array
        Of the reward model.
    seeds : array
        One a run.
    max_samples : int
        A run is cut there.
    token : str
        The same for all pieces of one algorithm.
    problem : Problem, optional
        If given, every run is audited by it.
    """

    engine: AnyEngine
    reward: Rule
    parameters: NDArray[np.float64]
    seeds: NDArray[np.uint64]
    max_samples: int
    token: str
    problem: Problem | None = None

    @classmethod
    def cut(
        cls,
        engine: AnyEngine,
        reward: Rule,
        parameters: Any,
        shares: list[Any],
        max_samples: int,
        problem: Problem | None = None,
    ) -> list[Piece]:
        """One piece for each share of the seeds."""
        rest = max_samples, uuid4().hex, problem
        return [cls(engine, reward, parameters, seeds, *rest) for seeds in shares]

    def run(self, attempt: int = 0) -> Runs:
        """Make the runs; ``attempt`` only tells one sending from the next."""
        told = self.reward, self.parameters
        if self.problem is None:
            return self.engine.replicate(*told, self.seeds, self.max_samples)

        return joined(
            audited_run(self.engine, self.problem, *told, seed, self.max_samples)
            for seed in self.seeds
        )

    def __reduce__(self) -> tuple[Callable[..., Piece], tuple[Any, ...]]:
        told = (_word(self.reward), self.parameters, self.seeds, self.max_samples)
        return _arrived, (_sent(self.engine), *told, self.token, self.problem)


def estimating(
    bound: BoundAlgorithm,
    reward: Rule,
    parameters: NDArray[np.float64],
    seeds: NDArray[np.uint64],
    max_samples: int,
    audit: bool = False,
) -> list[Piece]:
    """A piece a run, each with the σ that the run's own initial pulls give."""
    initial, wanted = bound.engine.setup.initial, bound.engine.setup.wanted
    pieces = []
    for k in range(len(seeds)):
        drawn = rewards.first_rewards(reward, parameters, int(seeds[k]), initial)
        replicates = first_of_each(initial, drawn, wanted)
        assert replicates is not None
        found = bound.estimated(replicates)
        engine, problem = found.engine, found.problem if audit else None
        if isinstance(engine, Engine) and isinstance(bound.engine, Engine):
            engine = replace(engine, design=bound.engine.design)  # solved once for all
        pieces += Piece.cut(engine, reward, parameters, [seeds[k : k + 1]], max_samples, problem)
    return pieces


def _sent(engine: AnyEngine) -> Any:
    """What makes the engine again.

    The arrays travel as they are, so that the runs are the same to the last bit. The package's own
    rules travel by name; an address of compiled code would mean nothing there.
    """
    if not isinstance(engine, Engine):
        return engine
    parts = {name: getattr(engine, name) for name in SENT}
    return parts, {kind: _word(rule) for kind, rule in engine.rules.items()}


def _made(sent: Any) -> AnyEngine:
    if not isinstance(sent, tuple):
        return cast(AnyEngine, sent)
    parts, rules = sent
    meant = {kind: _rule(kind, word) for kind, word in rules.items()}
    return Engine(
        rules=meant, design=Designs(parts["setup"].features, parts["setup"].noise).of, **parts
    )


def _arrived(
    sent: Any,
    reward: Any,
    parameters: NDArray[np.float64],
    seeds: NDArray[np.uint64],
    max_samples: int,
    token: str,
    problem: Problem | None,
) -> Piece:
    engine = _engines.get(token)
    if engine is None:
        # Kept for the next piece: designs are solved once a process, and rules compiled once.
        engine = _made(sent)
        for old in list(_engines)[: 1 - KEPT]:
            _engines.pop(old, None)
        _engines[token] = engine
    rest = seeds, max_samples, token, problem
    return Piece(engine, _rule("reward", reward), parameters, *rest)


def _word(one: Rule) -> Any:
    """A rule as it is sent: its name, or what makes it if it is the user's own."""
    if KNOWN[one.kind].get(one.name) is one:
        return one.name
    return one.name, one.summary, one.function, one.needs, one.traits, one.number


def _rule(kind: str, word: Any) -> Rule:
    if isinstance(word, str):
        return KNOWN[kind][word]
    name, summary, function, needs, traits, number = word
    py_func = getattr(function, "py_func", function)
    return Rule(kind, name, summary, function, py_func, needs, traits, number)


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


SALT = 0x61756469  # the audit's rewards are others than the run's


def audited_run(
    engine: AnyEngine,
    problem: Problem,
    reward: Rule,
    parameters: NDArray[np.float64],
    seed: np.uint64,
    max_samples: int,
) -> Runs:
    """One run, and the audit of its answer; a run that did not stop is not audited."""
    run = engine.replicate(reward, parameters, np.array([seed], np.uint64), max_samples)
    assert run.sums is not None
    none = np.zeros(1, np.int64)
    if not run.stopped[0]:
        return replace(run, audited=none, rejected=none > 0)
    pulls = run.pulls[0]
    past = sample_of(problem, pulls, run.sums)
    means = problem.orthonormal @ np.linalg.lstsq(past.features, past.means)[0]
    means[past.arms] = (
        past.means
    )  # where it was evaluated, what was measured will do for the choice
    plan = chosen_arms(problem, pulls, means, run.recommended[0])
    stream = np.zeros(4, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(run_seeds(int(seed), 1, SALT)[0], stream)
        values = np.array([reward(int(arm), parameters, stream) for arm in plan])
    fresh_sums = np.bincount(plan, values, problem.arms).astype(np.float64)
    fresh = sample_of(problem, np.bincount(plan, minlength=problem.arms), fresh_sums)
    verdict = judge(problem, past, fresh, power=False)
    made = np.array([len(plan)], np.int64)
    return replace(
        run, samples=run.samples + made, audited=made, rejected=np.array([verdict.rejected])
    )
