"""How often a wrong set is proven where candidates are nearly alike: every evidence, whatever results share.

Guesses are always wrong, and named at once with their whole share of δ: nothing but evidence protects.
δ is .3, for a test that needs few runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from error_rates import rather_below, shown_above
from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans import search
from shortlist.plans.guess import Guess
from shortlist.plans.noises import Common, InRange, Known, NoiseModel, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
from shortlist.proof.naming import Naming
from shortlist.proof.plan import Plan

DELTA, MOST, WELLS = 0.3, 500, 8
THREE = np.array([0.0, -1e-6, -0.2])  # the best is the first, the second is guessed
CONTROLLED = np.append(THREE, 0.0)  # the control is as good as the best
SIX = 1e-6 * np.linspace(1.0, -1.0, 6)  # the best half is the first: the sign of a slope


class Noise(NamedTuple):
    """What is known of it; noise by its quantiles; the largest shift that a range leaves room for."""

    kind: Callable[[int], NoiseModel]
    draw: Callable[[Reals], Reals]
    shift: float = 50.0


def known(arms: int, sigma: float = 0.2) -> NoiseModel:
    return Known(np.full(arms, sigma))


def normal(at: Reals) -> Reals:
    return np.asarray(0.2 * ndtri(at))


def two_point(rare: float, low: float, high: float, at: Reals) -> Reals:
    return np.where(at < rare, low, high)


# The skewed ones are .129-sub-Gaussian (Kearns and Saul 1998).
SIGNS, SKEWED = partial(two_point, 0.5, -0.2, 0.2), partial(two_point, 0.9, -0.03, 0.27)
RARELY_LOW = partial(two_point, 0.1, -0.27, 0.03)
NOISE = {
    "σ, normal": Noise(known, normal),
    "σ, ±σ": Noise(known, SIGNS),
    "σ, skewed": Noise(partial(known, sigma=0.13), SKEWED),
    "one unknown σ": Noise(lambda arms: Common(), normal),
    "unknown σ each": Noise(lambda arms: Unknown(), normal),
    "range, ±": Noise(lambda arms: InRange(), SIGNS, 0.1),
    "range, skewed": Noise(lambda arms: InRange(), SKEWED, 0.03),
    "range, rarely low": Noise(lambda arms: InRange(), RARELY_LOW, 0.03),
}
LINEAR: dict[str, Any] = {"features": np.column_stack([np.ones(6), SIX]), "means": SIX, "m": 3}
GUIDE: dict[str, Any] = {
    "features": np.column_stack([np.ones(3), [1.0, 0.9, 0.0]]),
    "relies": False,
}
RANDOM, PLATES, CONTROL = Shared(), Shared(True), Shared(True, (0, 0, 0, 2))
SHARED: dict[str, dict[str, Any]] = {  # what results share, and features
    "own": {},
    "features": LINEAR,
    "guide": GUIDE,
    "random": {"shared": RANDOM},
    "random, features": {"shared": RANDOM, **LINEAR},
    "plates": {"shared": PLATES},
    "plates, features": {"shared": PLATES, **LINEAR},
    "plates, guide": {"shared": PLATES, **GUIDE},
    "plates, a control": {"shared": CONTROL, "means": CONTROLLED},
}
DEPENDENT: dict[
    str, dict[str, Any]
] = {  # on a block; where σ of all is one, only a level may be shared
    "random, alike": {"shared": RANDOM, "alike": 0.9},
    "random, opposite": {"shared": RANDOM, "alike": -0.9},
    "random, features, opposite": {"shared": RANDOM, "alike": -0.9, **LINEAR},
}


def shifts_against(arms: Integers, blocks: Integers, inside: Mask, size: float) -> Reals:
    """Up on blocks that have more of the arms inside, down on others: averages would be for these."""
    _, block = np.unique(blocks, return_inverse=True)
    more = np.bincount(block, np.where(inside[arms], 1.0, -1.0))
    return np.asarray(np.where(more > np.median(more), size, -size)[block])


def proven(
    noise: Noise, seed: int, means: Reals = THREE, m: int = 1, alike: float = 0.0, **given: Any
) -> bool:
    """Whether the wrong set is proven by at most so many results."""
    arms, shared = len(means), given.pop("shared", None)
    out = (
        np.zeros(arms, np.bool_)
        if shared is None
        else np.append(shared.controls, np.zeros(arms))[:arms] > 0
    )
    question = Question(
        arms, m, noise.kind(arms), DELTA, 0.0, np.ones(arms), out, shared=shared, **given
    )
    on, rng, made = Search(question, seed), np.random.default_rng([seed, 1]), 0
    while not on.stopped and made < MOST:
        arm, block = on.slots.arms, on.slots.blocks
        if shared is not None and shared.requested:
            plates = -(-len(arm) // WELLS)
            block = on.next_block + np.arange(len(arm)) // WELLS
            wells = np.repeat(np.arange(len(shared.controls)), shared.controls)
            arm = np.concatenate([arm, np.tile(wells, plates)])
            block = np.append(block, on.next_block + np.repeat(np.arange(plates), len(wells)))
        at = rng.standard_normal(len(arm))
        if alike:
            common = rng.standard_normal(int(block.max()) + 1)[block]
            turned = np.where((alike < 0.0) & (arm % 2 == 1), -common, common)
            at = np.sqrt(1.0 - alike**2) * at + abs(alike) * turned
        values = 0.5 + means[arm] + noise.draw(ndtr(at))
        if shared is not None and not alike:
            values += shifts_against(arm, block, on.inside, noise.shift)
        on.take(arm, block, values)
        made += len(arm)
    return on.stopped


def wrong(noise: Noise, given: dict[str, Any], runs: int, part: int) -> int:
    """In how many runs it is proven."""
    return sum(proven(noise, 1000 * part + run, **given) for run in range(runs))


def rows_of(noise: str) -> dict[str, dict[str, Any]]:
    """What is tried with this noise."""
    return SHARED if NOISE[noise].kind(1).alike else SHARED | DEPENDENT


def second_best(question: Question, means: Reals) -> Mask:
    """A wrong guess, whatever the results."""
    arms = np.arange(question.arms)
    return np.asarray((arms >= question.m) & (arms < 2 * question.m))


@pytest.fixture(autouse=True)
def guesses_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIKELY", "AGAIN", "LINEAR_LIKELY"):
        monkeypatch.setattr(search, name, 0.0)
    monkeypatch.setattr(Question, "best", second_best)
    monkeypatch.setattr(Guess, "vote", lambda guess, inside, rng: {inside.tobytes(): 1.0})


@pytest.mark.parametrize("noise", NOISE)
def test_a_wrong_set_is_proven_as_rarely_as_promised(noise: str) -> None:
    """Each row errs at δ rather than at twice that, and together they err more rarely than δ."""
    counts = []

    def counted(given: dict[str, Any], runs: int, part: int) -> int:
        counts.append((wrong(NOISE[noise], given, runs, part), runs))
        return counts[-1][0]

    for given in rows_of(noise).values():
        rather_below(DELTA, partial(counted, given), times=2.0)
    errors, runs = np.sum(counts, axis=0)
    assert errors <= DELTA * runs


@pytest.mark.parametrize("noise", ["σ, normal", "one unknown σ", "unknown σ each", "range, ±"])
def test_results_that_count_several_times_are_found_out(
    noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, rows = Naming.after, list(rows_of(noise).values())

    def several(naming: Naming, plan: Plan) -> None:
        for _ in range(5):
            after(naming, plan)

    monkeypatch.setattr(Naming, "after", several)
    shown_above(
        DELTA,
        lambda runs, part: sum(
            wrong(NOISE[noise], rows[k % len(rows)], 1, 100 * part + k) for k in range(runs)
        ),
        improbable=1e-3,
    )
