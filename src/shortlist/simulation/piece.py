"""A share of a comparison's runs, in a form that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.any_engine import AnyEngine
from shortlist.algorithms.bound import Bound
from shortlist.algorithms.engine import Engine
from shortlist.algorithms.named_rules import RULES
from shortlist.algorithms.runs import Runs, joined
from shortlist.core.rule import Rule
from shortlist.problem import Problem
from shortlist.rules.designs import Designs
from shortlist.rules.replicates import first_of_each
from shortlist.rules.thresholds import THRESHOLDS
from shortlist.simulation import rewards

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
        from shortlist.simulation.auditing import audited_run

        return joined(
            audited_run(self.engine, self.problem, *told, seed, self.max_samples)
            for seed in self.seeds
        )

    def __reduce__(self) -> tuple[Callable[..., Piece], tuple[Any, ...]]:
        told = (_word(self.reward), self.parameters, self.seeds, self.max_samples)
        return _arrived, (_sent(self.engine), *told, self.token, self.problem)


def estimating(
    bound: Bound,
    reward: Rule,
    parameters: NDArray[np.float64],
    seeds: NDArray[np.uint64],
    max_samples: int,
    audit: bool = False,
) -> list[Piece]:
    """A piece a run, each with the σ that the run's own initial pulls give."""
    initial, wanted = bound.engine.initial, bound.engine.wanted
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
    return Engine(rules=meant, design=Designs(parts["features"], parts["noise"]).of, **parts)


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
