"""What ``auto`` needs in multiples of the limit, and how that falls with δ.

``python benchmarks/guess_and_verify.py random`` runs it on random instances (K 8 to 300, N 2 to 60,
m 1 to 20, three in ten without features) of seeds that no constant was chosen on; ``delta`` runs
``auto`` on a few instances of the suite at several δ, and draws the picture of the docs with
``--picture docs/images/multiples-by-delta.png``; ``many`` runs 100,000 arms. ``near_ties.py`` attacks it.
"""

from __future__ import annotations

import argparse
import time

import matplotlib as mpl
import numpy as np

import shortlist
from shortlist.catalog.recommendation import recommended
from shortlist.catalog.registry import ALGORITHMS
from shortlist.engine.algorithm import Algorithm
from shortlist.simulation.instances import Instance
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
    parser.add_argument("what", choices=["random", "delta", "many"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--picture", help="where to draw what delta prints")
    given = parser.parse_args()
    if given.what == "random":
        on_random(given.count, given.runs)
    elif given.what == "delta":
        by_delta(given.runs, given.picture)
    else:
        with_many_arms(given.runs)


if __name__ == "__main__":
    main()
