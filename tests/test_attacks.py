"""Someone who knows the means and sees every result changes what is asked so that a wrong set is proven.

Results carried over speak for the first bad arm, so that it is guessed. Each attack may end in a wrong claim in a share δ = .3 of the studies at most, which is shown with 95 %
confidence: a study is wrong if it ever stops with a wrong set, or says something wrong of an arm or of a
slack. Attacks act within plans too, between any two results.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest

from error_rates import shown_below
from shortlist import Study
from shortlist.arrays import NO_BLOCK, Integers, Mask
from shortlist.blocks import Cell
from shortlist.plans.noises import Common, InRange, Known, NoiseModel, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
from shortlist.plans.search_engine import Result, SearchEngine
from shortlist.problem import Problem
from shortlist.proof import intervals
from shortlist.study.insight import audit, linearity

DELTA, MOST, SIGMA, ACTS, MISLEADING = 0.3, 600, 0.2, 6, 30
TIE, NEARLY, GAP = 1e-6, 0.01, 0.1  # by which good arms are better
NOISES: dict[str, Callable[[int], NoiseModel]] = {
    "σ": lambda arms: Known(np.full(arms, SIGMA)),
    "estimate": lambda arms: Common(),
    "per arm": lambda arms: Unknown(),
    "range": lambda arms: InRange(),
}


class Attack(NamedTuple):
    """What is done, with which noise and blocks, and the good arms: by how much they are better, and how many."""

    act: Callable[[World], bool]
    noises: str = "σ, estimate, per arm, range"
    shared: str = ""
    features: bool = False
    gap: float = TIE
    good: int = 1


class World:
    """A study of which someone knows the truth: m = 1, arms 0 and 1 are bad, the last two far worse."""

    def __init__(self, attack: Attack, noise: str, seed: int) -> None:
        _, _, shared, features, gap, good = attack
        self.noise, self.rng = noise, np.random.default_rng([11, seed])
        self.means = np.array([0.5, 0.5, *[0.5 + gap] * good, 0.3, 0.3])
        arms, x = len(self.means), None
        if features:  # all is about the sign of a slope
            places = np.array([-1.0, -0.9, 1.0, 0.1, 0.0])
            x, self.means = np.column_stack([np.ones(arms), places]), 0.5 + gap * places
        kinds = {"": None, "plates": Shared(requested=True), "random": Shared()}
        out, costs = np.zeros(arms, np.bool_), np.ones(arms)
        asked = Question(
            arms, 1, NOISES[noise](arms), DELTA, 0.0, costs, out, x, True, kinds[shared]
        )
        self.engine = SearchEngine(asked, np.eye(arms), np.ones(arms), 1.0)
        self.now = self.engine.round()
        self.now.begin(seed)
        self.acts, self.made, self.plate, self.levels = ACTS, 0, 0, dict[int, float]()
        for number, arm in enumerate(np.tile(np.arange(arms), MISLEADING)):
            block = NO_BLOCK if asked.shared is None else number // arms
            value = self.value(arm, block)
            if arm == 0:
                value = max(value, self.value(arm, block))
            self.now.beside.append(Result(int(arm), block, value, number))
        self.now.taken = len(self.now.beside)
        self.plate = 10_000
        self.now.change(Search.go_on)

    @property
    def search(self) -> Search:
        return self.now.search

    @property
    def question(self) -> Question:
        return self.search.question

    def value(self, arm: int, block: int) -> float:
        """A result, on a block that is its plate or the one that the plan names."""
        level = 0.0
        if self.question.shared is not None:
            level = self.levels.setdefault(block, float(self.rng.uniform(-0.2, 0.2)))
        if self.noise == "range":
            return float(self.rng.random() < self.means[arm] + level)
        return float(self.means[arm] + level + SIGMA * self.rng.standard_normal())

    def tell(self, cell: Cell, *, asked: bool = True) -> None:
        """A new result of an arm; a plate has 8."""
        block = cell.block
        if self.question.shared is not None and self.question.shared.requested:
            block, self.plate = self.plate // 8, self.plate + 1
        self.now.take(cell.arm, block, self.value(cell.arm, block), asked=asked)
        self.made += 1
        while self.now.is_over and not self.search.stopped:
            self.now.decide()

    def good(self) -> Integers:
        """Arms in question that are the best."""
        means = np.where(self.question.listable, self.means, -np.inf)
        return np.flatnonzero(means >= means.max() - 1e-12)

    def lags(self, inside: Mask) -> float:
        """By how much the best arm outside is better."""
        outside = np.where(inside | ~self.question.listable, -np.inf, self.means)
        return float(outside.max() - self.means[inside].min())

    def is_wrong(self) -> bool:
        """Whether something that the study says is wrong."""
        search, epsilon = self.search, self.question.epsilon
        if search.stopped:
            return self.lags(search.inside) > epsilon + 1e-9
        if not search.namings:
            return False
        if not search.guess.pools:  # else that takes long
            named, least = search.best_slack()
            if least < self.lags(named) - 1e-9:
                return True
        _, of_inside, of_outside = search.passed(search.inside)
        sure, unneeded = of_inside.all(axis=1), of_outside.all(axis=0)
        best = self.means[self.good()].max()
        outside = np.flatnonzero(~search.inside & self.question.listable)
        lost = self.means[search.inside][sure] < best - epsilon - 1e-9
        if lost.any():
            return True
        alone = len(self.good()) == 1
        return alone and bool((unneeded & (outside == self.good()[0])).any())

    def against(self, arm: int) -> float:
        """By how much an arm's results of this plan so far are better than those of the guess."""
        own = [each.value for each in self.now.results if each.arm == arm]
        guess = [each.value for each in self.now.results if self.search.inside[each.arm]]
        return float(np.mean(own) - np.mean(guess)) if own and guess else 0.0

    def is_bad(self) -> bool:
        """Whether the guess is wrong, and was named."""
        return bool(self.search.namings) and self.lags(self.search.inside) > 0.0


def retires(world: World) -> bool:
    """The good arm that speaks most against a bad guess, as soon as it does; else a guess that is good."""
    good = world.good()
    if len(good) < 2 or not world.search.namings:
        return False
    gone = good[world.search.inside[good]]
    if not len(gone):
        most = max(good, key=lambda arm: world.against(int(arm)))
        gone = np.array([most] if world.against(int(most)) > 0.0 else [], np.int64)
    if len(gone):
        world.engine.retire(world.now, int(gone[0]))
    return bool(len(gone))


def breaks_off(world: World) -> bool:
    """A plan that speaks for a good arm, just before its end, by retiring an arm that does not matter."""
    if not world.is_bad() or world.now.missing > 1 or world.against(int(world.good()[0])) <= 0.0:
        return False
    junk = np.flatnonzero(world.question.listable[-2:]) + len(world.means) - 2
    if not len(junk):
        return False
    world.engine.retire(world.now, int(junk[0]))
    return True


def comes_and_goes(world: World) -> bool:
    """A good arm is retired when it speaks against a bad guess, and comes back when the plan is over."""
    back = np.flatnonzero(world.question.out)
    if len(back):
        world.engine.readmit(world.now, int(back[0]))
        return True
    good = world.good()
    if not world.is_bad() or world.against(int(good[0])) <= 0.0:
        return False
    world.engine.retire(world.now, int(good[0]))
    return True


def copies(world: World) -> bool:
    """An arm a little better than the best one is added when a guess that was right is nearly proven."""
    if not world.search.namings or world.is_bad() or len(world.means) > 10:
        return False
    world.means = np.append(world.means, world.means.max() + NEARLY)
    arms, now = len(world.means), world.question
    out = np.append(now.out, False)
    more = replace(now, arms=arms, noise=NOISES[world.noise](arms), costs=np.ones(arms), out=out)
    world.engine = SearchEngine(more, np.eye(arms), np.ones(arms), 1.0)
    world.engine.add(world.now)
    return True


def widens(world: World) -> bool:
    """ε is made as large as a wrong set needs, where it is then still wrong."""
    if not world.is_bad() or world.now.results or world.search.guess.total.pulls.sum() % 3:
        return False
    least = world.search.slack(world.search.inside)
    if not world.question.epsilon < least < world.lags(world.search.inside):
        return False
    world.now.judge(lambda search: search.widen(least))
    return True


def tells(world: World) -> bool:
    """Results that nobody asked for, of the arm that seems best and of another."""
    if not world.search.namings:
        return False
    first = 10_000 if world.question.shared is None else world.search.next_block
    for arm in (int(np.argmax(world.search.inside)), int(world.rng.integers(len(world.means)))):
        for turn in range(3):
            block = NO_BLOCK if world.question.shared is None else first + turn
            world.tell(Cell(arm, block), asked=False)
    return True


ATTACKS = [
    Attack(retires, gap=NEARLY, good=4),
    Attack(retires, "σ, per arm, range", "plates", gap=NEARLY, good=4),
    Attack(retires, "range, per arm", "random", gap=NEARLY, good=4),
    Attack(breaks_off, features=True),
    Attack(breaks_off, "estimate, per arm"),
    Attack(breaks_off, "σ, estimate", "plates"),
    Attack(comes_and_goes),
    Attack(comes_and_goes, "range", "random"),
    Attack(copies, gap=NEARLY, good=2),
    Attack(widens, gap=GAP),
    Attack(widens, "range, per arm", "random", gap=GAP),
    Attack(tells),
    Attack(tells, "range, per arm", "random"),
]


def is_misled(attack: Attack, noise: str, seed: int) -> bool:
    """Whether a study is ever wrong; it goes on after a stop while there is something left to do."""
    world = World(attack, noise, seed)
    looked = -1
    while world.made < MOST:
        if looked != len(world.search.record):
            looked = len(world.search.record)
            if world.is_wrong():
                return True
        if world.acts:
            world.acts -= attack.act(world)
        if world.search.stopped:
            return world.is_wrong()
        world.tell(world.now.lacking(Counter(), ()) or world.now.order[0])
    return world.is_wrong()


CASES = [
    pytest.param(
        each, noise, id=f"{each.act.__name__}{'-features' * each.features}-{each.shared}-{noise}"
    )
    for each in ATTACKS
    for noise in each.noises.split(", ")
]


@pytest.mark.parametrize(("attack", "noise"), CASES)
def test_whoever_changes_what_is_asked_is_not_wrong_too_often(attack: Attack, noise: str) -> None:
    def errors_in(runs: int, seed: int) -> int:
        return sum(is_misled(attack, noise, 1000 * seed + run) for run in range(runs))

    shown_below(DELTA, errors_in)


def named(attack: Attack, noise: str, seed: int = 0) -> World:
    """A study in the middle of a plan, some time after sets were named."""
    world = World(attack, noise, seed)
    while not world.search.namings or world.now.missing > len(world.now.order) // 2:
        world.tell(world.now.lacking(Counter(), ()))
    return world


def retire_an_arm_that_the_plan_lacks(world: World) -> None:
    lacking = {cell.arm for cell, n in world.now.wanted.items() if n}
    world.engine.retire(world.now, max(lacking - {int(np.argmax(world.search.inside))}))
    while world.now.results:  # where it waits for the end of the plan
        world.tell(world.now.lacking(Counter(), ()))


@pytest.mark.parametrize(
    ("attack", "noise", "stays"),
    [
        (Attack(retires), "σ", True),
        (Attack(retires), "per arm", True),
        (Attack(retires), "range", True),
        (Attack(retires), "estimate", False),  # all residuals of a plan estimate σ
        (Attack(retires, features=True), "σ", False),
        (Attack(retires, features=True), "range", False),
        (Attack(retires, shared="plates"), "σ", False),
        (Attack(retires, shared="random"), "range", True),
    ],
)
def test_a_naming_ends_with_a_plan_that_is_broken_off(
    attack: Attack, noise: str, stays: bool
) -> None:
    """Who leaves a plan out that seemed unlucky could else choose what is evidence."""
    world = named(attack, noise)
    before = world.search.namings[0].since
    retire_an_arm_that_the_plan_lacks(world)
    assert any(each.since == before for each in world.search.namings) == stays


@pytest.mark.parametrize("noise", ["per arm", "estimate", "range"])
def test_a_plan_goes_by_what_seemed_so_when_it_was_made(noise: str) -> None:
    """A value that is corrected in the middle of it changes no weight of its results."""
    world = named(Attack(retires, features=True), noise)
    before, plans = world.search.guess.noise, len(world.search.record)
    other = 1.0 - float(world.search.record[0].values[0])
    world.now.correct(world.now.recorded[0][0], other)
    assert not np.array_equal(world.search.guess.noise, before)
    while len(world.search.record) == plans:
        world.tell(world.now.lacking(Counter(), ()))
    np.testing.assert_array_equal(world.search.record[plans].noise, before)


def test_intervals_of_arms_rely_on_nothing_that_blocks_or_a_verification_take_away() -> None:
    shared = named(Attack(retires, shared="random", features=True), "range")
    own = intervals.InRange(len(shared.means))
    for plan in shared.search.record:
        own.after(
            plan if plan.evidence else replace(plan, arms=plan.arms[:0], values=plan.values[:0])
        )
    np.testing.assert_allclose(shared.search.intervals(0.1), own.bounds(0.1))
    alone = named(Attack(retires, features=True), "σ")
    alone.engine.verify(alone.now)
    while len(alone.search.record) < 6:
        alone.tell(alone.now.lacking(Counter(), ()))
    low, high = alone.search.intervals(0.1)
    assert (high - low > 2.0 * SIGMA / np.sqrt(alone.search.guess.total.pulls)).all()


# The test of linear means, where they are linear
LINEAR = [
    *itertools.product(("σ", "per arm known", "estimate", "per arm"), ("", "random", "shift")),
    *(("range", shared) for shared in ("", "random", "shift")),
]
LOUD, STUDIES, ENOUGH, TOGETHER = 0.3, 40, 300, 16  # the level at which it is attacked


def rejects(noise: str, shared: str, seed: int) -> bool:
    """Whether linear means are rejected in a study that chooses its arms by its results."""
    rng = np.random.default_rng([seed, 3])
    x = rng.uniform(-1.0, 1.0, (12, 2))
    means, sigmas = 0.5 + 0.12 * x[:, 0] + 0.05 * x[:, 1], np.full(12, 0.05)
    if noise.startswith("per arm"):
        sigmas = np.linspace(0.02, 0.1, 12)
    stated: dict[str, object] = {
        "σ": 0.05,
        "per arm known": sigmas,
        "estimate": "estimate",
        "per arm": "estimate per arm",
        "range": "bounded",
    }
    given = {"blocks": shared} if shared else {}
    given |= {"reward_range": (0, 1)} if noise == "range" else {}
    study = Study(x, m=2, sigma=stated[noise], epsilon=0.03, seed=seed, **given)  # type: ignore[arg-type]
    levels: dict[int, float] = {}
    made = 0
    while not study.done and study.audit.rejection is None and made < ENOUGH:
        for trial in study.ask(TOGETHER if shared else 1) if shared else [study.ask()]:
            level = levels.setdefault(trial.block_index, 0.02 * rng.uniform(-1.0, 1.0))
            mean = means[trial.arm] + (level if shared else 0.0)
            coin = float(rng.random() < mean)
            study.tell(trial, coin if noise == "range" else mean + sigmas[trial.arm] * rng.normal())
            made += 1
    return study.audit.rejection is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")
@pytest.mark.filterwarnings("ignore::shortlist.errors.LinearityRejected")
@pytest.mark.filterwarnings("ignore:epsilon=")
@pytest.mark.parametrize(("noise", "shared"), LINEAR)
def test_linear_means_are_rejected_no_more_often_than_is_said(
    noise: str, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "LEVEL", LOUD)
    rejected = sum(rejects(noise, shared, seed) for seed in range(STUDIES))
    assert binomtest(rejected, STUDIES, LOUD, alternative="greater").pvalue > 1e-3


COINS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "coins": lambda rng, size: rng.choice([-1.0, 1.0], size),
    "skewed": lambda rng, size: (rng.random(size) < 0.1) / 0.3 - 1.0 / 3.0,
}


@pytest.mark.parametrize("kind", COINS)
@pytest.mark.parametrize("noise", ["σ", "estimate", "per arm", "range"])
def test_tests_by_fixed_arms_have_their_level(noise: str, kind: str) -> None:
    """Of a list of fixed arms; σ that are estimated assume normal noise."""
    if (kind != "normal" and noise in ("estimate", "per arm")) or (kind, noise) == (
        "normal",
        "range",
    ):
        pytest.skip("not what is assumed")
    rng, runs = np.random.default_rng(0), 3000
    x = np.linspace(0.0, 1.0, 20)
    known = {"σ": 0.2, "estimate": "estimate", "per arm": "estimate per arm", "range": "bounded"}
    given = {"reward_range": (0, 1)} if noise == "range" else {}
    problem = Problem.of(x[:, None], 3, sigma=known[noise], intercept=True, **given)  # type: ignore[arg-type]
    arms = np.repeat([0, 5, 6, 10, 14, 19], 5)
    sizes = np.full(30, 0.2)
    if noise == "per arm":
        sizes = np.repeat([0.1, 0.4, 0.2, 0.1, 0.3, 0.8], 5)
    rejected = np.zeros(2, int)
    for _ in range(runs):
        values = 0.5 + 0.1 * x[arms] + sizes * COINS[kind](rng, 30)
        verdict = linearity.lack_of_fit(problem, linearity.Sample.of(problem, arms, values), 0.05)
        rejected += [verdict.rejected, verdict.least <= 0.0085]
    for found, level in zip(rejected, (0.05, 0.0085), strict=True):
        assert binomtest(int(found), runs, level, alternative="greater").pvalue > 1e-4
