"""How often proven answers are wrong where the two best means are alike: at most in a share δ.

    python benchmarks/near_ties.py                  every noise, with what results share and features
    python benchmarks/near_ties.py --events added   someone who knows the means changes what is asked

All means but one are 1e-9 above it or less, or far below; a run has 1,500 results at most. On blocks all
results share a level, by which arms are there if that helps to err; where blocks are in a range, arms of
odd numbers have the opposite of it. ``!`` is above δ by the exact 95 % interval.

The events are by someone who knows the means and sees every result, and acts four times at most.
``retired``: all arms but one are good; after every plan he retires the guess if it is good, and else the
good arm that speaks most against it. ``blindly``: arms are retired at random. ``added``: whenever the
study would stop he adds arms that are a little better than its answer. ``corrected``: one in fifty
results is recorded with a gross error in favour of the worst arm, and put right when the study stops.
``verified``: features say that a wrong arm is the best, and the list is verified without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.plans.noises import Common, InRange, Known, NoiseModel, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
from shortlist.simulation.results import clopper_pearson

DELTAS = (0.05, 0.3, 0.8)
MOST, SIGMA, TIE, WELLS = 1_500, 0.5, 1e-9, 8
GAP, ACTS, LONGEST = 0.05, 4, 20_000  # of the events: between good arms and others, acts, results
NEAR = np.array([0.5, 0.5 - TIE, 0.3, 0.3])
LINE = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8)])
UNEQUAL = np.array([0.05, 1.0, 0.3, 0.3])  # σ where each arm has its own: the worst arm varies most
Draw = Callable[[Reals, Reals, np.random.Generator], Reals]  # results of these means and σ


def normal(means: Reals, sigma: Reals, rng: np.random.Generator) -> Reals:
    """Normal noise."""
    return np.asarray(means + sigma * rng.standard_normal(len(means)))


def two_values(means: Reals, sigma: Reals, rng: np.random.Generator) -> Reals:
    """σ above the mean or below it."""
    return np.asarray(means + sigma * rng.choice([-1.0, 1.0], len(means)))


def coins(means: Reals, sigma: Reals, rng: np.random.Generator) -> Reals:
    """0 or 1."""
    return (rng.random(len(means)) < means).astype(np.float64)


def rare(means: Reals, sigma: Reals, rng: np.random.Generator) -> Reals:
    """Coins of a tenth of the means."""
    return coins(0.1 * means, sigma, rng)


def skewed(means: Reals, sigma: Reals, rng: np.random.Generator) -> Reals:
    """0.45 above the mean once in ten times, else 0.05 below it."""
    return np.where(rng.random(len(means)) < 0.1, means + 0.45, means - 0.05)


class Case(NamedTuple):
    """How noise is known, what results share, how features are used, and how results are drawn."""

    noise: NoiseModel
    shared: str = "nothing"
    features: str = "none"
    draws: tuple[Draw, ...] = (normal,)
    unequal: bool = False
    controls: bool = False

    @property
    def means(self) -> Reals:
        """The true means."""
        tie = NEAR if self.features == "none" else 0.4 + TIE * LINE[:, 1]
        return np.append(tie, tie[0]) if self.controls else tie

    def question(self, delta: float) -> Question:
        """The best of the arms, or the better half where features relate them."""
        means, x = self.means, None
        out = np.zeros(len(means), np.bool_)
        out[len(means) - self.controls :] = True
        if self.features != "none":
            x = np.vstack([LINE, np.zeros((int(self.controls), 2))])
        shared = None
        if self.shared != "nothing":
            wells = (*np.where(out, 2, 0).tolist(),) if self.controls else ()
            shared = Shared(requested=self.shared == "plates", controls=wells)
        m = 1 if x is None else 4
        known, costs = self.features != "guide", np.ones(len(means))
        noise = Known(np.full(len(means), SIGMA)) if isinstance(self.noise, Known) else self.noise
        return Question(len(means), m, noise, delta, 0.0, costs, out, x, known, shared)

    def results(
        self, arms: Integers, blocks: Integers, rng: np.random.Generator, draw: Draw
    ) -> Reals:
        """Of these arms on these blocks."""
        means = self.means
        sigma = np.resize(UNEQUAL if self.unequal else SIGMA, len(means))
        if self.shared == "nothing":
            return draw(means[arms], sigma[arms], rng)
        levels = dict.fromkeys(np.unique(blocks).tolist(), 0.0)
        for each in levels:
            there = means[arms[blocks == each]]
            more = (there < means.max()).mean() > 0.5
            far = 100.0 * (2 * more - 1) * (each % 7 - 2)
            levels[each] = float(rng.uniform(-0.25, 0.25)) if self.noise.pools else far
        level = np.array([levels[each] for each in blocks.tolist()])
        if self.noise.pools:
            level = np.where(arms % 2, -level, level)
        return draw(means[arms] + level, sigma[arms], rng)


ALL, RANGE = (normal, two_values, skewed), (coins, rare, skewed)
KNOWN = Known(np.array([SIGMA]))
CASES = {
    "σ": Case(KNOWN, draws=ALL),
    "σ, features": Case(KNOWN, features="linear", draws=ALL),
    "σ, guide": Case(KNOWN, features="guide", draws=ALL),
    "range": Case(InRange(), draws=RANGE),
    "range, features": Case(InRange(), features="linear", draws=(coins, skewed)),
    "range, guide": Case(InRange(), features="guide", draws=(coins, skewed)),
    "estimate": Case(Common()),
    "estimate, features": Case(Common(), features="linear"),
    "estimate per arm": Case(Unknown(), unequal=True),
    "estimate per arm, features": Case(Unknown(), features="linear", unequal=True),
    "σ, blocks": Case(KNOWN, "blocks", draws=ALL),
    "range, blocks": Case(InRange(), "blocks", draws=(coins, skewed)),
    "estimate, blocks": Case(Common(), "blocks"),
    "estimate per arm, blocks": Case(Unknown(), "blocks", unequal=True),
    "σ, plates": Case(KNOWN, "plates", draws=ALL),
    "σ, plates, features": Case(KNOWN, "plates", "linear"),
    "σ, plates, guide": Case(KNOWN, "plates", "guide"),
    "σ, plates, a control as good": Case(KNOWN, "plates", controls=True),
    "estimate, plates": Case(Common(), "plates"),
    "estimate per arm, plates": Case(Unknown(), "plates", unequal=True),
}


def filled(search: Search, case: Case, plate: int) -> tuple[Integers, Integers]:
    """The arms and blocks of a plan; plates are full, and have their controls."""
    arms, blocks = search.slots.arms, search.slots.blocks
    if case.shared != "plates":
        return arms, blocks
    room = WELLS - 2 * case.controls
    arms = np.resize(arms, -(-len(arms) // room) * room).reshape(-1, room)
    if case.controls:
        arms = np.column_stack([arms, np.full((len(arms), 2), search.question.arms - 1)])
    return arms.ravel(), plate + np.repeat(np.arange(len(arms)), WELLS)


def is_wrong(case: Case, delta: float, seed: int) -> bool:
    """Whether one run ends with a wrong list."""
    rng, question = np.random.default_rng([seed, 3]), case.question(delta)
    draw = case.draws[seed % len(case.draws)]
    best = question.best(case.means)
    search, made, plate = Search(question, seed), 0, 0
    while made < MOST:
        arms, blocks = filled(search, case, plate)
        made += len(arms)
        plate = int(blocks.max()) + 1
        search.take(arms, blocks, case.results(arms, blocks, rng, draw))
        if search.stopped:
            return bool((search.inside != best).any())
    return False


# Events


class World:
    """A search near a tie, and what the one who changes it knows."""

    def __init__(self, delta: float, seed: int, kind: str) -> None:
        arms = 6
        self.rng = np.random.default_rng([seed, *kind.encode()])
        self.means = np.append(0.0, np.full(arms - 1, GAP))
        self.draw = (normal, two_values)[seed % 2]
        features = None
        if kind == "verified":  # a line, on which the last arm is the best, which it is not
            features, self.means[-1] = LINE[:arms], 0.0
        noise = Known(np.full(arms, SIGMA))
        costs, out = np.ones(arms), np.zeros(arms, np.bool_)
        self.search = Search(Question(arms, 1, noise, delta, 0.0, costs, out, features), seed)
        self.acts, self.errors = ACTS, list[tuple[int, int, float]]()

    def step(self, kind: str) -> int:
        """Evaluate a plan and act; how many results there were."""
        search, arms = self.search, self.search.slots.arms
        values = self.draw(self.means[arms], np.full(len(arms), SIGMA), self.rng)
        told = values.copy()
        if kind == "corrected" and self.acts:
            gross = self.rng.random(len(arms)) < 0.02
            told[gross] += np.where(arms[gross] == 0, 1.0, -1.0)
            plan = len(search.record)
            self.errors += [(plan, int(k), float(values[k])) for k in np.flatnonzero(gross)]
        search.take(arms, np.full(len(arms), -1), told)
        if self.acts:
            self.acts -= bool(EVENTS[kind](self))
        return len(arms)

    def good(self) -> Integers:
        """The arms in question that are the best."""
        means = np.where(self.search.question.listable, self.means, -np.inf)
        return np.flatnonzero(means == means.max())


def retired(world: World) -> bool:
    """A good guess, or the good arm that speaks most against it, while two are left."""
    search, good = world.search, world.good()
    if len(good) < 2:
        return False
    guess = good[search.inside[good]]
    search.retire(int(guess[0] if len(guess) else good[search.guess.fit.means[good].argmax()]))
    return True


def blindly(world: World) -> bool:
    """An arm at random, now and then."""
    left = np.flatnonzero(world.search.question.listable)
    if world.rng.random() < 0.8 or len(left) <= 2:
        return False
    world.search.retire(int(world.rng.choice(left)))
    return True


def added(world: World) -> bool:
    """Arms that are a little better than the answer, when there is one."""
    search, now = world.search, world.search.question
    if not search.stopped:
        return False
    world.means = np.append(world.means, np.full(3, world.means.max() + GAP))
    arms = len(world.means)
    noise, costs = Known(np.full(arms, SIGMA)), np.ones(arms)
    out = np.append(now.out, np.zeros(3, np.bool_))
    search.add(replace(now, arms=arms, noise=noise, costs=costs, out=out))
    search.go_on()
    return True


def corrected(world: World) -> bool:
    """All gross errors, when there is an answer."""
    if not world.search.stopped:
        return False
    for plan, place, value in world.errors:
        world.search.correct(plan, place, value)
    world.errors = []
    world.search.go_on()
    world.acts = 1
    return True


def verified(world: World) -> bool:
    """The list, when there is one."""
    if not world.search.stopped:
        return False
    world.search.verify()
    world.acts = 1
    return True


EVENTS: dict[str, Callable[[World], bool]] = {
    each.__name__: each for each in (retired, blindly, added, corrected, verified)
}


def is_misled(kind: str, delta: float, seed: int) -> bool:
    """Whether one study ends with a wrong list."""
    world, made = World(delta, seed, kind), 0
    while made < LONGEST:
        made += world.step(kind)
        if world.search.stopped:
            return not world.search.inside[world.good()].any()
    return False


def errors_in(kind: str, delta: float, runs: int, seed: int) -> int:
    """The number of wrong answers, half of them with normal noise and half with two values."""
    return sum(is_misled(kind, delta, 1000 * seed + k) for k in range(runs))


def lines(given: argparse.Namespace) -> Iterator[tuple[str, float, int]]:
    """What was tried, δ, and the number of wrong answers."""
    for delta in given.deltas:
        for kind in given.events:
            yield kind, delta, errors_in(kind, delta, given.runs, 1)
        for name in [] if given.events else given.cases or CASES:
            wrong = sum(is_wrong(CASES[name], delta, seed) for seed in range(given.runs))
            yield name, delta, wrong


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--cases", nargs="*", default=[], choices=[*CASES], help="all by default")
    options.add_argument("--events", nargs="*", default=[], choices=[*EVENTS])
    options.add_argument("--deltas", nargs="*", type=float, default=DELTAS)
    given = options.parse_args()
    for name, delta, wrong in lines(given):
        low, high = clopper_pearson(wrong, given.runs)
        mark = " !" if low > delta else ""
        print(
            f"{name:32} δ = {delta:4} {wrong / given.runs:7.3f} ({low:.3f} to {high:.3f}){mark}",
            flush=True,
        )


if __name__ == "__main__":
    main()
