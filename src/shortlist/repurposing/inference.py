"""Network inference: edges and rules that explain experiments (the extra ``networks``).

The paper's method (Yordanov et al. 2016) asks an SMT solver; here it is an answer-set program,
``inference.lp``, for clingo. Experiments rarely single out one network: ask for several solutions,
and look at what they share before believing any of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InferenceFailed, InferenceTimeout, InvalidSetting, Unsatisfiable
from shortlist.repurposing.abstract_network import AbstractNetwork
from shortlist.repurposing.experiments import Experiment
from shortlist.repurposing.inference_task import Task, make_task
from shortlist.repurposing.network import BooleanNetwork, Edge
from shortlist.repurposing.search import Answer, OutOfTime, Search
from shortlist.repurposing.trajectory import replay


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

    A gene that an experiment holds does not move. Of the others, one that would change moves at
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
    >>> from shortlist.repurposing.abstract_network import PossibleEdge
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
    task = make_task(candidate, listed, rules, steps, update, time_limit, seed)
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
    search = Search(task, listed)
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
    """In how many edges each two solutions differ.

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
    edges = [Edge(*edge[:3]) for edge in task.candidate.edges if Edge(*edge[:3]) in answer.edges]
    optional = {Edge(*edge[:3]) for edge in task.candidate.edges if edge.optional}
    network = task.candidate.network(answer.rules, [edge for edge in edges if edge in optional])
    trajectories = {
        experiment.name: states
        for experiment, states in zip(experiments, answer.states, strict=True)
    }
    for experiment in experiments:
        wrong = replay(network, experiment, trajectories[experiment.name], update=task.update)
        if wrong:
            raise InferenceFailed(
                f"the solver's trajectory for experiment {experiment.name} does not replay "
                f"({wrong[0]}): this is a fault of shortlist; please report it."
            )
    return Inferred(network, tuple(edges), trajectories, seconds)


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
        conflict = next((c for c in smaller if Search(task, c).find() is None), everything)
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
