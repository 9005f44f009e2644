"""The search of network inference: the answer-set program in clingo, under a clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.repurposing.encoding import facts, program
from shortlist.repurposing.experiments import Experiment
from shortlist.repurposing.inference_task import Task
from shortlist.repurposing.network import Edge

# A few random decisions, so that the seed matters. Of clingo's configurations "trendy", "handy",
# "jumpy" and "tweety" serve on the paper's experiments; "crafty" and "frumpy", tried once each
# during development, found nothing in 100 s.
OPTIONS = ("--configuration=trendy", "--rand-freq=0.02")
PATIENCE = 0.2  # seconds between looks at the clock, and at the keyboard


class OutOfTime(Exception):
    """The deadline has passed."""

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts


class Answer(NamedTuple):
    """What the solver chose."""

    edges: set[Edge]
    rules: dict[str, int]
    states: NDArray[np.uint8]  # experiments × steps × genes


class Search:
    """The program, grounded once, for a task and some of its experiments."""

    def __init__(self, task: Task, experiments: Sequence[Experiment]) -> None:
        clingo = _clingo()
        self.task = task
        self.experiments = len(experiments)
        self.control = clingo.Control(
            [*OPTIONS, f"--seed={task.seed % 2**32}", f"--const=last={task.steps - 1}"]
        )
        self.control.add("base", [], facts(task.candidate, task.rules, experiments))
        self.control.add("base", [], program())
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


def _clingo() -> Any:
    try:
        import clingo
    except ImportError:
        raise ImportError("inference needs clingo: pip install 'shortlist[networks]'.") from None
    return clingo
