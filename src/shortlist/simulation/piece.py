"""A share of a comparison's runs, in a form that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.engine import Engine, Runs
from shortlist.algorithms.gifa import RULES
from shortlist.core.rule import Rule
from shortlist.rules.designs import Designs
from shortlist.rules.thresholds import THRESHOLDS
from shortlist.simulation import rewards

KNOWN: dict[str, dict[str, Rule]] = {
    **RULES,
    "threshold": {name: threshold.rule for name, threshold in THRESHOLDS.items()},
    "reward": {each.name: each for each in (rewards.gaussian, rewards.bernoulli, rewards.recorded)},
}
SENT = [field.name for field in fields(Engine) if field.name not in ("rules", "design")]
KEPT = 8  # engines that a worker remembers, with the designs they have solved

_engines: dict[str, Engine] = {}


@dataclass(frozen=True, eq=False)
class Piece:
    """Runs of one algorithm on one instance, one for each seed.

    Attributes
    ----------
    engine : Engine
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
    """

    engine: Engine
    reward: Rule
    parameters: NDArray[np.float64]
    seeds: NDArray[np.uint64]
    max_samples: int
    token: str

    @classmethod
    def cut(
        cls, engine: Engine, reward: Rule, parameters: Any, shares: list[Any], max_samples: int
    ) -> list[Piece]:
        """One piece for each share of the seeds."""
        token = uuid4().hex
        return [cls(engine, reward, parameters, seeds, max_samples, token) for seeds in shares]

    def run(self, attempt: int = 0) -> Runs:
        """Make the runs; ``attempt`` only tells one sending from the next."""
        return self.engine.replicate(self.reward, self.parameters, self.seeds, self.max_samples)

    def __reduce__(self) -> tuple[Callable[..., Piece], tuple[Any, ...]]:
        # The arrays travel as they are, so that the runs are the same to the last bit. The
        # package's own rules travel by name; an address of compiled code would mean nothing there.
        parts = {name: getattr(self.engine, name) for name in SENT}
        rules = {kind: _word(rule) for kind, rule in self.engine.rules.items()}
        rest = (_word(self.reward), self.parameters, self.seeds, self.max_samples, self.token)
        return _arrived, (parts, rules, *rest)


def _arrived(
    parts: dict[str, Any],
    rules: dict[str, Any],
    reward: Any,
    parameters: NDArray[np.float64],
    seeds: NDArray[np.uint64],
    max_samples: int,
    token: str,
) -> Piece:
    engine = _engines.get(token)
    if engine is None:
        # Kept for the next piece: designs are solved once a process, and rules compiled once.
        meant = {kind: _rule(kind, word) for kind, word in rules.items()}
        designs = Designs(parts["features"], parts["noise"])
        engine = Engine(rules=meant, design=designs.of, **parts)
        for old in list(_engines)[: 1 - KEPT]:
            _engines.pop(old, None)
        _engines[token] = engine
    return Piece(engine, _rule("reward", reward), parameters, seeds, max_samples, token)


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
