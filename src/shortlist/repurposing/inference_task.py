"""What network inference is asked, checked at the door."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shortlist.errors import InvalidNetwork, InvalidSetting, unknown_name
from shortlist.problem import checked_seed
from shortlist.repurposing.abstract_network import AbstractNetwork
from shortlist.repurposing.experiments import Experiment
from shortlist.repurposing.regulation import check_rule
from shortlist.repurposing.trajectory import UPDATES

DIRECTIVES = {"async": "asynchronous", "sync": "synchronous"}


@dataclass(frozen=True)
class Task:
    """What is asked of any choice of the experiments."""

    candidate: AbstractNetwork
    rules: Mapping[str, tuple[int, ...]]
    steps: int
    update: str
    seed: int
    deadline: float  # by time.monotonic()


def make_task(
    candidate: AbstractNetwork,
    experiments: Sequence[Experiment],
    rules: Iterable[int] | None,
    steps: int | None,
    update: str | None,
    time_limit: float,
    seed: int,
) -> Task:
    """The task, with the candidate's directives for what is None; see ``infer``."""
    deadline = time.monotonic() + time_limit
    if update is None:
        directive = candidate.directives.get("updates", "async")
        update = DIRECTIVES.get(directive, directive)
    if update not in UPDATES:
        raise unknown_name("update", update, UPDATES)
    if steps is None:
        directive = candidate.directives.get("length", "20")
        if not re.fullmatch("[0-9]{1,9}", directive):
            raise InvalidSetting(
                f"the candidate's directive length is {directive[:40]!r}, not a number: pass steps."
            )
        steps = int(directive)
    if steps < 1:
        raise InvalidSetting(f"steps must be at least 1, got {steps}.")
    if not time_limit > 0:
        raise InvalidSetting(f"time_limit must be a positive number of seconds, got {time_limit}.")
    _check_edges(candidate)
    _check_experiments(candidate, experiments, steps)
    allowed = _allowed(candidate, rules)
    return Task(candidate, allowed, steps, update, checked_seed(seed), deadline)


def _check_edges(candidate: AbstractNetwork) -> None:
    for edge in candidate.edges:
        if edge.source not in candidate.rules or edge.target not in candidate.rules:
            raise InvalidNetwork(
                f"edge {edge.source} → {edge.target} names a gene that the candidate has no rules "
                "for: add it to the rules, or remove the edge."
            )
        if edge.sign not in (-1, 1):
            raise InvalidNetwork(
                f"edge {edge.source} → {edge.target} must have the sign 1 or -1, got {edge.sign}: "
                "list an edge of unknown sign twice, once with each."
            )


def _check_experiments(
    candidate: AbstractNetwork, experiments: Sequence[Experiment], steps: int
) -> None:
    if not experiments:
        raise InvalidSetting("inference needs at least one experiment, got none.")
    names = [experiment.name for experiment in experiments]
    for experiment in experiments:
        if names.count(experiment.name) > 1:
            raise InvalidSetting(
                f"two experiments are called {experiment.name!r}: give each its own name."
            )
        if experiment.last_step >= steps:
            raise InvalidSetting(
                f"experiment {experiment.name} says something about step {experiment.last_step}, "
                f"but trajectories of {steps} states end at step {steps - 1}: raise steps."
            )
        for gene in experiment.genes:
            if gene not in candidate.rules:
                raise InvalidNetwork(
                    f"experiment {experiment.name} names gene {gene!r}, which is none of the "
                    f"candidate's {len(candidate.genes)} genes: leave it out, or add it to both."
                )


def _allowed(candidate: AbstractNetwork, rules: Iterable[int] | None) -> dict[str, tuple[int, ...]]:
    """The rules of each gene among those that may be used."""
    wanted = None if rules is None else set(rules)
    allowed = {}
    for gene, own in candidate.rules.items():
        allowed[gene] = tuple(rule for rule in own if wanted is None or rule in wanted)
        for rule in allowed[gene]:
            check_rule(rule)
        if not allowed[gene]:
            raise InvalidSetting(
                f"gene {gene} may have none of the rules that are allowed: allow one of its own "
                f"({', '.join(map(str, own))})."
            )
    return allowed
