"""What ``auto`` needs in multiples of the limit, how that falls with δ, and attacks on it.

``python benchmarks/guess_and_verify.py random`` runs it on random instances (K 8 to 300, N 2 to 60,
m 1 to 20, three in ten without features) of seeds that no constant was chosen on; ``delta`` runs
``auto`` on a few instances of the suite at several δ, and draws the picture of the docs with
``--picture docs/images/multiples-by-delta.png``; ``namings`` counts how often sets were named by the stop; ``errors`` counts wrong answers on a near tie; ``many`` runs 100,000 arms.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np

import shortlist
from shortlist.arrays import Reals
from shortlist.catalog.recommendation import arms_tell_of_others, recommended
from shortlist.catalog.registry import ALGORITHMS
from shortlist.engine.algorithm import Algorithm
from shortlist.plans.algorithm import Planned
from shortlist.plans.guess_and_verify import NAMED_SETS, GuessAndVerify
from shortlist.plans.guide import GuidedStrategy
from shortlist.plans.means import Fit, OwnFit
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import clopper_pearson
from suite import suite, unit

FIRST_SEED = 1000  # the constants were chosen on seeds below 200
DELTAS = (0.3, 0.05, 0.01, 1e-3, 1e-6, 1e-12)
GAP, GAP_WITHOUT = 0.1, 0.15  # between ranks m and m + 1, with σ = 0.5


def random_instance(seed: int) -> tuple[str, Instance]:
    """An instance whose sizes, features and means are drawn with this seed."""
    rng = np.random.default_rng(seed)
    K = int(np.exp(rng.uniform(np.log(8), np.log(300))))
    with_features = rng.random() < 0.7
    m = int(min(K // 2, max(1, round(np.exp(rng.uniform(0, np.log(20.4)))))))
    N = int(min(K, round(np.exp(rng.uniform(np.log(2), np.log(60))))))
    features, means = np.eye(K), rng.normal(size=K)
    if with_features:
        features = rng.normal(size=(K, N))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        means = features @ rng.normal(size=N)
    ordered = np.sort(means)[::-1]
    means *= (GAP if with_features else GAP_WITHOUT) / (ordered[m - 1] - ordered[m])
    words = f"N = {N}" if with_features else "no features"
    label = f"seed {seed}, K = {K}, {words}, m = {m}"
    return label, shortlist.instances.from_arrays(features, means=means, m=m, sigma=0.5)


def mean_of(algorithm: Algorithm, instance: Instance, runs: int, delta: float = 0.05) -> tuple:
    """Mean evaluations and errors."""
    frame = shortlist.compare(
        algorithm, instance, runs=runs, delta=delta, seed=6, progress=False
    ).frame
    return float(frame["samples"].mean()), int((~frame["correct"]).sum())


def on_random(count: int, runs: int) -> None:
    """A line for every instance, and the geometric mean."""
    multiples = []
    print("| instance | limit | auto | auto/limit | wrong |\n" + "|---" * 5 + "|")
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        label, instance = random_instance(seed)
        limit = shortlist.theory.lower_bound(instance, 0.05).samples
        now, wrong = mean_of(recommended(instance.problem(0.05, 0.0, None)), instance, runs)
        multiples.append(now / limit)
        print(
            f"| {label} | {limit:,.0f} | {now:,.0f} | {multiples[-1]:.1f} | {wrong} |", flush=True
        )
    print(f"\ngeometric mean of auto/limit: {np.exp(np.mean(np.log(multiples))):.2f}")


def by_delta(runs: int, picture: str | None) -> None:
    """The multiple of the limit at several δ, as a table and as a picture if one is asked for."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    print("| | " + " | ".join(f"δ = {delta:g}" for delta in DELTAS) + " |")
    print("|---" * (len(DELTAS) + 1) + "|")
    for entry in suite()[3:8]:
        multiples = []
        for delta in DELTAS:
            limit = shortlist.theory.lower_bound(entry.instance, delta).samples
            algorithm = recommended(entry.instance.problem(delta, 0.0, None))
            multiples.append(mean_of(algorithm, entry.instance, runs, delta)[0] / limit)
        words = [f"{each:.2f}" for each in multiples]
        print(f"| {entry.label} | " + " | ".join(words) + " |", flush=True)
        ax.plot(DELTAS, multiples, "o-", label=entry.label, markersize=4)
    ax.axhline(1.0, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_yscale("log")
    ax.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    ax.minorticks_off()
    ax.set_xlabel("δ")
    ax.set_ylabel("mean evaluations, multiple of the limit")
    ax.grid(color="0.92")
    ax.legend(fontsize=8)
    if picture is not None:
        figure.savefig(picture, dpi=130)
    plt.close(figure)


def which_naming_decides(runs: int) -> None:
    """How many times sets were named by the stop, in runs on the suite without K = 200."""
    stops: Counter[int] = Counter()

    class Counted(GuessAndVerify):
        def decide(self, results: PlanResults, seed: int) -> None:
            super().decide(results, seed)
            if self.statistic <= self._problem.epsilon:
                stops[len(self._tables.namings)] += 1

    for entry in suite()[3:13]:
        own = not arms_tell_of_others(entry.instance.problem(0.05, 0.0, None))
        counted = Planned(
            strategy=Counted,
            threshold=NAMED_SETS,
            name="counted",
            summary="",
            uses_noise=True,
            classical=own,
        )
        if entry.instance.problem(0.05, 0.0, None).arms < 200:
            mean_of(counted, entry.instance, runs)
    for times, count in sorted(stops.items()):
        print(f"named {times} times by the stop: {count / stops.total():.1%} of {stops.total()}")


# Errors on a near tie

NEAR_TIE = np.array(
    [0.0, -1e-9, -0.05]
)  # the second is wrong by next to nothing, and so is the third
MOST = 1500  # pulls of a run; one that needs more has not erred


class Certain(GuessAndVerify):
    """Guesses the second arm from the start, and is certain of it."""

    def guess(self, results: PlanResults, whole: Fit, noise: Reals) -> Fit:
        """Whatever the results are."""
        return OwnFit(np.array([0.0, 1.0, -1.0]), np.full(3, 1e-9))


FEATURES = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
# Results and sums so far, and the list: the second arm, which is not the best.
LUCKY = PlanResults(np.full(3, 4), np.array([0.0, 2.0, -4.0])), np.arange(3) == 1


def guided(problem: ReducedProblem, **given: Any) -> GuidedStrategy:
    """The strategy on three arms of one feature and a constant."""
    return GuidedStrategy(problem._replace(features=FEATURES), **given)


WAYS: dict[str, Callable[[ReducedProblem], GuessAndVerify]] = {
    "as it is": GuessAndVerify,
    "one naming, all of δ": partial(GuessAndVerify, shares=(1.0,)),
    "three namings, no fall-back": partial(GuessAndVerify, shares=(0.4, 0.3, 0.3)),
    "the fall-back alone": partial(GuessAndVerify, shares=()),
    "the wrong set named at once, all of δ": partial(Certain, shares=(1.0,)),
    "guided by least squares": guided,
    "verified after a list whose wrong arm was lucky": partial(guided, past=LUCKY),
}
# Two values, 1 apart: the lower one, and how often the upper one comes for the first arm.
TWO_VALUES = {"±σ": (-0.5, 0.5), "coins, 30 %": (0.0, 0.3), "coins, 10 %": (0.0, 0.1)}


def sums_of(noise: str, plan: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of the results of a plan, whose noise is σ-sub-Gaussian with σ = 0.5."""
    if noise == "normal":
        return plan * NEAR_TIE + 0.5 * np.sqrt(plan) * rng.standard_normal(len(plan))
    low, often = TWO_VALUES[noise]
    return plan * low + rng.binomial(plan, often + NEAR_TIE)


def error_of(way: str, noise: str, delta: float, runs: int) -> int:
    """How many of the runs stop with a set that is wrong."""
    wrong = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        strategy = WAYS[way](ReducedProblem(np.eye(3), 1, 0.5, delta, 0.0))
        made = 0
        while made < MOST:
            made += int(strategy.plan.sum())
            sums = sums_of(noise, strategy.plan, rng)
            strategy.decide(PlanResults(strategy.plan, sums), run)
            if strategy.statistic <= 0.0:
                wrong += not strategy.inside[0]
                break
    return wrong


def errors(runs: int) -> None:
    """How often runs on a near tie stop with a wrong answer; it should be at most δ."""
    deltas, noises = (0.05, 0.3, 0.8), ["normal", *TWO_VALUES]
    print(
        "| | noise | "
        + " | ".join(f"δ = {delta:g}" for delta in deltas)
        + " |\n"
        + "|---" * 5
        + "|"
    )
    with ProcessPoolExecutor(2) as pool:
        cells = {
            (way, noise, delta): pool.submit(error_of, way, noise, delta, runs)
            for way in WAYS
            for noise in noises
            for delta in deltas
        }
        for way in WAYS:
            for noise in noises:
                found = [cells[way, noise, delta].result() for delta in deltas]
                words = [
                    f"{wrong / runs:.3f}"
                    + (" !" if clopper_pearson(wrong, runs)[0] > delta else "")
                    for wrong, delta in zip(found, deltas, strict=True)
                ]
                print(f"| {way} | {noise} | " + " | ".join(words) + " |", flush=True)
    print(f"\n{runs} runs each; ! is above δ by the exact 95 % interval")


def with_many_arms(runs: int) -> None:
    """100,000 arms, N = 50, m = 10, beside m-LinGapE."""
    instance = unit(100_000, 50, 10, 0.05)
    for name in ("Guess-and-verify", "m-LinGapE"):
        began = time.perf_counter()
        samples, wrong = mean_of(ALGORITHMS[name], instance, runs)
        print(
            f"{name}: {samples:,.0f} evaluations, {wrong} wrong, "
            f"{(time.perf_counter() - began) / runs:.0f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["random", "delta", "namings", "errors", "many"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--picture", help="where to draw what delta prints")
    given = parser.parse_args()
    if given.what == "random":
        on_random(given.count, given.runs)
    elif given.what == "delta":
        by_delta(given.runs, given.picture)
    elif given.what == "errors":
        errors(given.runs)
    elif given.what == "namings":
        which_naming_decides(given.runs)
    else:
        with_many_arms(given.runs)


if __name__ == "__main__":
    main()
