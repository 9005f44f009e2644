"""Attack what a study says before its stop: it must be wrong in a share δ of studies at most.

Studies with means that are nearly tied are looked at after every decision, before the stop and at it.
A run counts as wrong if any look of it said something false:

    epsilon   the list has an arm below the mean of rank m by more than the least ε said
    inside    an arm said to be among the m best is not, up to ε
    outside   an arm said not to be needed is: fewer than m others are as good, up to ε
    open      the list is wrong at ε, and its worst arm or the best one that it lacks is not among
              those said to be open
    any       any of these, or the answer

    python benchmarks/anytime.py --runs 400
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from shortlist.catalog.registry import find_algorithm
from shortlist.engine.certified import Certified
from shortlist.engine.follow import TAKE, Steps
from shortlist.plans.guess_and_verify import Guided
from shortlist.problem import Problem
from shortlist.simulation.results import clopper_pearson
from shortlist.study.model import Model

Draw = Callable[[int, np.random.Generator], float]
KINDS = ("epsilon", "inside", "outside", "open", "any")
SLACK = 1e-9  # rounding


class Case(NamedTuple):
    """Means that are nearly tied, and how a result is drawn."""

    name: str
    means: np.ndarray
    m: int
    features: np.ndarray
    noise: str
    sigma: float
    epsilon: float = 0.0
    bets: bool = False  # whether the results are only said to lie in [0, 1]

    @property
    def told(self) -> dict[str, Any]:
        """What algorithms are told about the noise."""
        if self.bets:
            return {"sigma": "bounded", "reward_range": (0.0, 1.0)}
        return {"sigma": self.sigma}

    def draw(self, arm: int, rng: np.random.Generator) -> float:
        """One result."""
        mean = self.means[arm]
        if self.noise == "normal":
            return float(mean + self.sigma * rng.standard_normal())
        if self.noise == "coins":
            return float(rng.random() < mean)
        # Skewed: far above with a small probability, a little below else, within one unit.
        return float(mean + (0.9 if rng.random() < 0.1 else -0.1))


def cases() -> list[Case]:
    """Near ties of one arm, of all, and in the features."""
    own = np.eye(5)
    line = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8), np.linspace(-1.0, 1.0, 8) ** 2])
    near = np.array([0.05, 0.0, 0.0, 0.0, 0.0])
    steps = np.array([0.6, 0.08, 0.04, 0.0, -0.6])
    return [
        Case("one above equals", near, 1, own, "normal", 0.5),
        Case("two steps, ε", steps, 2, own, "normal", 0.5, 0.03),
        Case("coins", 0.5 + near, 1, own, "coins", 0.5),
        Case("coins, bets", 0.5 + near, 1, own, "coins", 0.5, bets=True),
        Case("rare, bets", 0.05 + near, 1, own, "coins", 0.5, bets=True),
        Case("skewed", near, 1, own, "skewed", 0.5),
        Case("features", line @ [0.0, 0.02, -0.05], 2, line, "normal", 0.5),
    ]


ALGORITHMS = {
    "Guess-and-verify": None,
    "Guess-and-verify (own results)": None,
    "Guided": Guided(),
    "LUCB": None,
    "m-LinGapE": None,
}


def followed(
    name: str, case: Case, delta: float, seed: int, most: int
) -> Iterator[tuple[np.ndarray, Certified]]:
    """The m arms and what is certain of them, after each decision of one study."""
    problem = Problem.of(case.features, case.m, delta=delta, epsilon=case.epsilon, **case.told)
    procedure = find_algorithm(ALGORITHMS[name] or name).bind(problem)
    rng = np.random.default_rng([seed, 7])
    model, stops = Model(procedure, seed), list[int]()
    arms = procedure.engine.setup.initial.tolist()
    while model.posterior.observed < most and not stops:
        steps = Steps.of(TAKE, arms)
        steps.values[:] = [case.draw(arm, rng) for arm in arms]
        before = model.decision
        model.take(steps, lambda: stops.append(1))
        if model.decision is None:
            raise RuntimeError("the initial pulls are in, and nothing was decided")
        changed = before is None or (model.decision.b, model.decision.statistic) != (
            before.b,
            before.statistic,
        )
        if changed and model.looks:
            yield (
                model.round.inside,
                model.procedure.engine.certified(model.posterior, model.round, model.decision),
            )
        queued = model.decision.queued
        arms = [model.decision.arm, *([] if queued is None else [queued])]
        if procedure.engine.setup.pace.makes_plans:
            arms = [cell.arm for cell, n in model.round.wanted.items() for _ in range(n)]


def wrong(case: Case, listed: np.ndarray, said: Certified) -> set[str]:
    """Which of the statements are false."""
    means, m, epsilon = case.means, case.m, case.epsilon
    rank_m = np.sort(means)[-m]
    found = set()
    if means[listed].min() < rank_m - said.epsilon - SLACK:
        found.add("epsilon")
    if (means[said.inside] < rank_m - epsilon - SLACK).any():
        found.add("inside")
    for arm in np.flatnonzero(said.outside):
        if (np.delete(means, arm) >= means[arm] - epsilon - SLACK).sum() < m:
            found.add("outside")
    if means[listed].min() < rank_m - epsilon - SLACK:
        worst, best = means[listed].min(), means[~listed].max()
        held = (means[said.open_inside] == worst).any() and (means[said.open_outside] == best).any()
        if not held:
            found.add("open")
    return found | ({"any"} if found else set())


def attack(name: str, case: Case, delta: float, runs: int, most: int) -> dict[str, int]:
    """How many runs said something false, by what it was."""
    counts = dict.fromkeys(KINDS, 0)
    for seed in range(runs):
        false: set[str] = set()
        for listed, said in followed(name, case, delta, seed, most):
            false |= wrong(case, listed, said)
        for kind in false:
            counts[kind] += 1
    return counts


def main() -> None:
    """Print the share of runs with a false statement; the exit code is 1 if one is above δ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--most", type=int, default=400, help="evaluations of a run")
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS))
    parser.add_argument("--deltas", nargs="*", type=float, default=[0.05, 0.3, 0.8])
    parser.add_argument("--cases", nargs="*", default=[], help="all by default")
    given = parser.parse_args()
    print(f"{'algorithm':32}{'case':20}{'δ':>5}" + "".join(f"{kind:>10}" for kind in KINDS))
    above = 0
    for name in given.algorithms:
        for case in cases():
            if case.bets and not name.startswith("Gu"):  # bets are guess-and-verify's
                continue
            if given.cases and case.name not in given.cases:
                continue
            for delta in given.deltas:
                counts = attack(name, case, delta, given.runs, given.most)
                shares = "".join(f"{counts[kind] / given.runs:>10.3f}" for kind in KINDS)
                # Above δ beyond what chance explains.
                bad = clopper_pearson(counts["any"], given.runs, 0.99)[0] > delta
                above += bad
                print(
                    f"{name:32}{case.name:20}{delta:>5}{shares}{'  ABOVE' if bad else ''}",
                    flush=True,
                )
    sys.exit(int(above > 0))


if __name__ == "__main__":
    main()
