"""How often an answer is wrong where arms are retired or added by someone who wants it to be wrong.

``python benchmarks/arms.py`` prints a table. He knows the true means and sees every result; the study
is Guess-and-verify, near ties, with normal noise or coins of random sign.

``retired``: all arms but one are good. After every plan he retires the guess if it is good, and else the
good arm that speaks most against it, as long as another good one is left: because of results.
``claimed`` is the same, but he says that it was whatever the results, which the guarantee assumes and
which is not so. ``blindly``: arms are retired at random, whatever the results. ``added``: whenever the
study would stop he adds arms that are a little better than its answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shortlist.arrays import NO_ARM, Mask, Reals
from shortlist.catalog.registry import ALGORITHMS
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults
from shortlist.problem import Problem
from shortlist.simulation.results import clopper_pearson

SIGMA, GAP, MOST = 0.5, 0.05, 20_000  # noise; between good arms and others; results
ACTS = 4  # how often arms are retired or added
DELTAS = (0.05, 0.3, 0.8)


class World(NamedTuple):
    """What the one who changes the arms knows."""

    means: Reals
    strategy: GuessAndVerify
    stopped: bool
    rng: np.random.Generator

    @property
    def inside(self) -> Mask:
        """The arms that would be answered now."""
        return self.strategy.inside

    def evidence(self) -> Reals:
        """How far the least certain pair of each arm outside is from passing."""
        margins = np.full(len(self.means), np.inf)
        tables = self.strategy._tables.with_rows(np.flatnonzero(self.inside))
        margins[~self.inside] = tables.margins(self.inside).min(axis=0)
        return margins


class Change(NamedTuple):
    """An arm that is retired (``arm``), or the means of arms that are added."""

    arm: int = NO_ARM
    proves: bool = True
    added: tuple[float, ...] = ()


def retired(world: World, *, proves: bool = False) -> Change | None:
    """A good guess, or the good arm that keeps a bad one from being certain, while two are left."""
    good = np.flatnonzero(world.means == world.means.max())
    if len(good) < 2 or not world.inside.any():
        return None
    against = good[np.argmin(world.evidence()[good])]
    guess = np.intersect1d(good, np.flatnonzero(world.inside))
    return Change(int(guess[0] if len(guess) else against), proves)


def claimed(world: World) -> Change | None:
    """The same, and it is said that it was whatever the results."""
    return retired(world, proves=True)


def blindly(world: World) -> Change | None:
    """An arm at random, now and then."""
    if world.rng.random() < 0.8:
        return None
    return Change(int(world.rng.integers(len(world.means))))


def added(world: World) -> Change | None:
    """Arms that are a little better than the answer, when there is one."""
    if not world.stopped or not world.strategy.takes_arms:
        return None
    best = float(world.means.max()) + GAP
    return Change(added=(best, best, best))


KINDS: dict[str, Callable[[World], Change | None]] = {
    "retired": retired,
    "claimed": claimed,
    "blindly": blindly,
    "added": added,
}


def is_wrong(kind: str, delta: float, seed: int, *, arms: int = 6, coins: bool = False) -> bool:
    """Whether one study ends with a wrong list."""
    rng = np.random.default_rng([seed, arms, coins, *kind.encode()])
    means, m = np.append(0.0, np.full(arms - 1, GAP)), 1
    given = {"m": m, "sigma": SIGMA, "delta": delta}
    problem = Problem.of(arms=list(map(str, range(arms))), **given)  # type: ignore[arg-type]
    algorithm = ALGORITHMS["Guess-and-verify (own results)"]
    strategy = algorithm.bind(problem).engine.round().strategy
    act, acts, named = KINDS[kind], ACTS, arms
    made = 0
    while made < MOST:
        plan = strategy.plan
        made += int(plan.sum())
        drawn = [_results(n, mean, rng, coins) for n, mean in zip(plan, means, strict=True)]
        strategy.decide(PlanResults(plan, np.array(drawn)), seed)
        stopped = strategy.statistic <= 0.0
        change = act(World(means, strategy, stopped, rng)) if acts else None
        if change is None or (change.arm != NO_ARM and len(means) <= m + 1):
            if stopped:
                return bool(means[strategy.inside].min() < np.sort(means)[-m])
            continue
        acts -= 1
        stay = np.setdiff1d(np.arange(len(means)), change.arm)
        places = np.append(stay, np.full(len(change.added), NO_ARM))
        names = [
            *(problem.names[a] for a in stay),
            *(f"{named + k}" for k in range(len(change.added))),
        ]
        named += len(change.added)
        means = np.append(means[stay], change.added)
        problem = Problem.of(arms=names, **given)  # type: ignore[arg-type]
        after = algorithm.bind(problem).engine.round().strategy
        none = strategy.no_results()
        after.go_on(strategy, places.astype(np.int64), none, seed, proves=change.proves)
        strategy = after
    return False


def _results(count: int, mean: float, rng: np.random.Generator, coins: bool) -> float:
    """The sum of so many results of an arm."""
    if coins:
        return float(rng.choice([-SIGMA, SIGMA], count).sum() + count * mean)
    return float(rng.normal(count * mean, SIGMA * np.sqrt(count)) if count else 0.0)


def errors_in(kind: str, delta: float, runs: int, seed: int) -> int:
    """The number of wrong answers, half of them with coins."""
    return sum(is_wrong(kind, delta, 1000 * seed + k, coins=bool(k % 2)) for k in range(runs))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    options.add_argument("--deltas", nargs="*", type=float, default=DELTAS)
    chosen = options.parse_args()
    print(f"{'arms are':10} {'δ':>5} {'wrong':>7} {'95 % interval':>16}")
    for kind in chosen.kinds:
        for delta in chosen.deltas:
            wrong = errors_in(kind, delta, chosen.runs, 1)
            low, high = clopper_pearson(wrong, chosen.runs)
            print(
                f"{kind:10} {delta:5} {wrong / chosen.runs:7.3f} {low:8.3f} – {high:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
