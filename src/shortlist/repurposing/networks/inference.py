"""Network inference: edges and rules that explain experiments (the extra ``networks``).

The paper's method (Yordanov et al. 2016) asks an SMT solver; here it is an answer-set program,
``inference.lp``, for clingo. Experiments rarely single out one network: ask for several solutions,
and look at what they share before believing any of them.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import (
    InferenceFailed,
    InferenceTimeout,
    InvalidNetwork,
    InvalidSetting,
    Unsatisfiable,
    unknown_name,
)
from shortlist.problem import checked_seed
from shortlist.repurposing.networks.abstract_network import AbstractNetwork
from shortlist.repurposing.networks.experiment import Experiment, replay
from shortlist.repurposing.networks.fixed_points import import_clingo
from shortlist.repurposing.networks.logic import evaluate
from shortlist.repurposing.networks.network import BooleanNetwork, Edge
from shortlist.repurposing.networks.regulation import RULES, THRESHOLD_RULES, check_rule
from shortlist.repurposing.networks.states import UPDATES

UPDATE_DIRECTIVES = {"async": "asynchronous", "sync": "synchronous"}
# A few random decisions, so that the seed matters. Of clingo's configurations "trendy", "handy",
# "jumpy" and "tweety" serve on the paper's experiments; "crafty" and "frumpy", tried once each
# during development, found nothing in 100 s.
OPTIONS = ("--configuration=trendy", "--rand-freq=0.02")
PATIENCE = 0.2  # seconds between looks at the clock, and at the keyboard


@dataclass(frozen=True, eq=False)
class Inferred:
    """One network that explains all experiments.

    Attributes
    ----------
    network : BooleanNetwork
        With its rules.
    edges : tuple of Edge
        In the candidate's order.
    trajectories : mapping of str to array, steps × genes
        For each experiment, by name, a walk of the network that shows what was observed.
    seconds : float
        When it was found, counted from the call.
    """

    network: BooleanNetwork
    edges: tuple[Edge, ...]
    trajectories: Mapping[str, NDArray[np.uint8]]
    seconds: float

    def __repr__(self) -> str:
        return f"Inferred({len(self.network)} genes, {len(self.edges)} edges)"


def infer(
    candidate: AbstractNetwork,
    experiments: Iterable[Experiment],
    *,
    solutions: int = 1,
    distance: int | None = None,
    rules: Iterable[int] | None = None,
    steps: int | None = None,
    update: str | None = None,
    time_limit: float = 120.0,
    seed: int = 0,
) -> list[Inferred]:
    """Networks within a candidate that explain all experiments.

    A gene that an experiment holds does not move. Among the others, one that would change moves at
    each step (asynchronous), or all of them (synchronous); a network stays put only at a fixed
    point. Edges that their target's rule ignores are not chosen. Every solution is replayed, step
    by step and without the solver, before it is returned.

    Parameters
    ----------
    candidate : AbstractNetwork
        Possible edges and rules, as ``read_abstract`` or ``candidate_network`` gives them.
    experiments : iterable of Experiment
        As ``read_experiments`` gives them.
    solutions : int
        How many networks to look for.
    distance : int, optional
        In how many edges any two solutions differ at least; by default a tenth of the optional
        edges.
    rules : iterable of int, optional
        Allow only these; by default all that the candidate allows.
    steps : int, optional
        How many states a trajectory has, the initial one among them; by default the candidate's
        directive ``length``.
    update : str, optional
        ``"asynchronous"`` or ``"synchronous"``; by default the candidate's directive ``updates``.
    time_limit : float
        Seconds, for the whole call.
    seed : int
        The solver runs in one thread: the same seed and the same version of clingo give the same
        networks, if the time suffices.

    Returns
    -------
    list of Inferred
        In the order they were found. Fewer than asked for means that no more exist this far apart.

    Raises
    ------
    Unsatisfiable
        With the smallest set of experiments that no network explains together.
    InferenceTimeout
        With the solutions found so far.

    Examples
    --------
    >>> from shortlist.repurposing.networks.abstract_network import PossibleEdge
    >>> edges = (PossibleEdge("A", "B", 1, True), PossibleEdge("A", "B", -1, True))
    >>> candidate = AbstractNetwork({"A": (18,), "B": tuple(range(18))}, edges)
    >>> down = Experiment("A down", {0: {"B": 0}, 2: {"B": 1}}, {"A": 0}, fixed_points=(2,))
    >>> up = Experiment("A up", {2: {"B": 0}}, {"A": 1}, fixed_points=(2,))
    >>> [found] = infer(candidate, [down, up], steps=3)
    >>> print(found.network.functions["B"])
    !A
    >>> found.trajectories["A down"].tolist()
    [[0, 0], [0, 1], [0, 1]]
    """
    started = time.monotonic()
    listed = list(experiments)
    task = checked_task(candidate, listed, rules, steps, update, time_limit, seed)
    if solutions < 1:
        raise InvalidSetting(f"solutions must be at least 1, got {solutions}.")
    if distance is None:
        distance = max(1, sum(edge.optional for edge in candidate.edges) // 10)
    elif distance < 1:
        raise InvalidSetting(f"distance must be at least 1 edge, got {distance}.")
    for experiment in listed:
        reason = experiment.contradiction(task.update)
        if reason:
            raise Unsatisfiable(
                f"no network explains experiment {experiment.name}: {reason}. Leave it out, or "
                "correct it.",
                (experiment.name,),
            )
    search = Solver(task, listed)
    found: list[Inferred] = []
    try:
        while len(found) < solutions:
            answer = search.find()
            if answer is None:
                break
            found.append(_inferred(task, listed, answer, time.monotonic() - started))
            search.keep_away(answer.edges, distance)
    except OutOfTime as stopped:
        raise InferenceTimeout(
            f"the time limit of {time_limit:g} s ended the search with {len(found)} of {solutions} "
            f"solutions found, after {stopped.conflicts:,} conflicts of the solver: raise "
            "time_limit, try another seed, or ask for fewer experiments, solutions or steps. What "
            "was found is in .found.",
            found,
        ) from None
    if not found:
        raise _unsatisfiable(task, listed)
    return found


def edge_distances(solutions: Sequence[Inferred]) -> NDArray[np.int64]:
    """The number of edges in which each two solutions differ.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "0", "B": "A"})
    >>> one = Inferred(network, (Edge("A", "B", 1),), {}, 0.0)
    >>> two = Inferred(network, (Edge("A", "B", -1),), {}, 0.0)
    >>> edge_distances([one, two]).tolist()
    [[0, 2], [2, 0]]
    """
    sets = [set(solution.edges) for solution in solutions]
    table = [[len(one ^ other) for other in sets] for one in sets]
    return np.array(table, dtype=np.int64).reshape(len(sets), len(sets))


def _inferred(
    task: Task, experiments: Sequence[Experiment], answer: Answer, seconds: float
) -> Inferred:
    """An answer as a network, after its trajectories have been replayed."""
    chosen = [edge for edge in task.candidate.edges if edge[:3] in answer.edges]
    network = task.candidate.network(answer.rules, [e[:3] for e in chosen if e.optional])
    trajectories = {}
    for experiment, states in zip(experiments, answer.states, strict=True):
        trajectories[experiment.name] = states
        wrong = replay(network, experiment, states, update=task.update)
        if wrong:
            raise InferenceFailed(
                f"the solver's trajectory for experiment {experiment.name} does not replay "
                f"({wrong[0]}): this is a bug in shortlist; please report it."
            )
    return Inferred(network, tuple(Edge(*edge[:3]) for edge in chosen), trajectories, seconds)


def _unsatisfiable(task: Task, experiments: Sequence[Experiment]) -> Unsatisfiable:
    """The error for experiments that cannot be explained together, with the fewest that cannot.

    Small sets are tried first: they are answered fastest, and the first that fails is a smallest.
    """
    everything = tuple(experiments)
    smaller = (
        chosen
        for size in range(1, len(everything))
        for chosen in itertools.combinations(everything, size)
    )
    try:
        conflict = next((c for c in smaller if Solver(task, c).find() is None), everything)
    except OutOfTime:
        return Unsatisfiable(
            f"no network of the candidate explains all {len(everything)} experiments. The time "
            "limit ended the search for the fewest that are in conflict: raise it to learn which.",
            tuple(experiment.name for experiment in everything),
            smallest=False,
        )
    names = tuple(experiment.name for experiment in conflict)
    what = f"experiment {names[0]}, even alone"
    if len(names) > 1:
        what = f"the experiments {', '.join(names[:-1])} and {names[-1]} together"
    return Unsatisfiable(
        f"no network of the candidate explains {what}; no smaller set of experiments is in "
        "conflict. Leave one of them out, or allow more edges, rules or steps.",
        names,
    )


@dataclass(frozen=True)
class Task:
    """What the solver is asked, whichever experiments it is asked about."""

    candidate: AbstractNetwork
    rules: Mapping[str, tuple[int, ...]]
    steps: int
    update: str
    seed: int
    deadline: float  # by time.monotonic()


def checked_task(
    candidate: AbstractNetwork,
    experiments: Sequence[Experiment],
    rules: Iterable[int] | None,
    steps: int | None,
    update: str | None,
    time_limit: float,
    seed: int,
) -> Task:
    """The checked settings, with the candidate's directives for what is None; see ``infer``."""
    deadline = time.monotonic() + time_limit
    if update is None:
        directive = candidate.directives.get("updates", "async")
        update = UPDATE_DIRECTIVES.get(directive, directive)
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
                    f"experiment {experiment.name} names gene {gene!r}, which is not one of the "
                    f"candidate's {len(candidate.genes)} genes: leave it out, or add it to both."
                )
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
    return Task(candidate, allowed, steps, update, checked_seed(seed), deadline)


def answer_set_program() -> str:
    """The text of ``inference.lp``."""
    return (
        files("shortlist.repurposing.networks").joinpath("inference.lp").read_text(encoding="utf-8")
    )


def facts(
    candidate: AbstractNetwork,
    rules: Mapping[str, Sequence[int]],
    experiments: Sequence[Experiment],
) -> str:
    """The facts that the program is given: the possible edges and rules, and what is to be
    explained.

    Genes and experiments are numbered in order.

    Examples
    --------
    >>> from shortlist.repurposing.networks.abstract_network import PossibleEdge
    >>> candidate = AbstractNetwork({"A": (9,), "B": (4,)}, (PossibleEdge("A", "B", 1, True),))
    >>> text = facts(candidate, candidate.rules, [Experiment("E", {3: {"B": 0}}, {"A": 0})])
    >>> [line for line in text.splitlines() if not line.startswith("gives")]
    ['gene(0).', 'gene(1).', 'may(0,9).', 'may(1,4).', 'optional(0,1,1).', 'experiment(0).', 'held(0,0,0).', 'observed(0,1,3,0).']
    """
    place = {gene: i for i, gene in enumerate(candidate.genes)}
    lines = [f"gene({i})." for i in place.values()]
    lines += [f"may({place[gene]},{rule})." for gene, own in rules.items() for rule in own]
    for source, target, sign, optional in candidate.edges:
        kind = "optional" if optional else "required"
        lines.append(f"{kind}({place[source]},{place[target]},{sign}).")
    # Where a rule gives 1: none (0), some (1) or all (2) of its activators and repressors are on.
    possible = sorted(set().union(*rules.values()) - set(THRESHOLD_RULES))
    for rule, a, b in itertools.product(possible, range(3), range(3)):
        terms = {"all_A": a == 2, "some_A": a > 0, "no_R": b == 0, "all_R": b == 2}
        if evaluate(RULES[rule], terms):
            lines.append(f"gives({rule},{a},{b}).")
    for e, experiment in enumerate(experiments):
        lines.append(f"experiment({e}).")
        lines += [f"held({e},{place[gene]},{v})." for gene, v in experiment.clamps.items()]
        for step, values in experiment.observations.items():
            lines += [f"observed({e},{place[gene]},{step},{v})." for gene, v in values.items()]
        lines += [f"fixed_point({e},{step})." for step in experiment.fixed_points]
    return "\n".join(lines)


class OutOfTime(Exception):
    """The deadline has passed."""

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts


class Answer(NamedTuple):
    """What the solver chose."""

    edges: set[Edge]
    rules: dict[str, int]
    states: NDArray[np.uint8]  # experiments × steps × genes


class Solver:
    """The program, grounded once, for a task and some of its experiments."""

    def __init__(self, task: Task, experiments: Sequence[Experiment]) -> None:
        self.task = task
        self.experiments = len(experiments)
        self.control = import_clingo("inference needs").Control(
            [*OPTIONS, f"--seed={task.seed % 2**32}", f"--const=last={task.steps - 1}"]
        )
        self.control.add("base", [], facts(task.candidate, task.rules, experiments))
        self.control.add("base", [], answer_set_program())
        self.control.ground([("base", []), (task.update, [])])
        atoms = self.control.symbolic_atoms
        self.literals = {
            name: {
                tuple(argument.number for argument in atom.symbol.arguments): atom.literal
                for atom in atoms.by_signature(name, arity)
            }
            for name, arity in (("edge", 3), ("rule", 2), ("on", 3))
        }

    def find(self) -> Answer | None:
        """The next answer; None if there are no more."""
        with self.control.solve(yield_=True, async_=True) as handle:
            handle.resume()
            while not handle.wait(min(PATIENCE, max(0.0, self.task.deadline - time.monotonic()))):
                if time.monotonic() >= self.task.deadline:
                    handle.cancel()
                    break
            else:
                model = handle.model()
                return None if model is None else self._read(model)
        raise OutOfTime(int(self.control.statistics["solving"]["solvers"]["conflicts"]))

    def _read(self, model: Any) -> Answer:
        true = {
            name: [key for key, literal in literals.items() if model.is_true(literal)]
            for name, literals in self.literals.items()
        }
        genes = self.task.candidate.genes
        states = np.zeros((self.experiments, self.task.steps, len(genes)), dtype=np.uint8)
        for experiment, gene, step in true["on"]:
            states[experiment, step, gene] = 1
        edges = {Edge(genes[source], genes[target], sign) for source, target, sign in true["edge"]}
        return Answer(edges, {genes[gene]: rule for gene, rule in true["rule"]}, states)

    def keep_away(self, edges: set[Edge], distance: int) -> None:
        """Ask that whatever comes next differs from these edges in at least as many."""
        place = {gene: i for i, gene in enumerate(self.task.candidate.genes)}
        same = []
        for source, target, sign, optional in self.task.candidate.edges:
            if optional:
                literal = self.literals["edge"][place[source], place[target], sign]
                same.append((literal if Edge(source, target, sign) in edges else -literal, 1))
        with self.control.backend() as backend:
            backend.add_weight_rule([], len(same) - distance + 1, same)
