"""Features as a guide: evaluations on truths that are not linear, beside algorithms without features.

``python benchmarks/guide.py`` runs each algorithm 10 times on every truth of ``linearity.py``. A run
is cut at 200,000 evaluations. ``--linear`` runs linear truths instead, where features could be relied on: five of ``make
bench-samples`` and four that are drawn here.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

import shortlist
from linearity import TRUTHS
from shortlist.catalog.recommendation import recommended
from suite import suite

MOST = 200_000
RIVALS = ["Guess-and-verify (own results)"]


def one_truth(name: str, runs: int, seed: int) -> str:
    """A line of the table: mean evaluations, and in brackets wrong answers, where there are any."""
    truth = TRUTHS[name]()
    instance = shortlist.instances.from_arrays(
        truth.features, means=truth.means, m=truth.m, sigma=truth.sigma
    )
    compared = [*RIVALS, shortlist.Guided()]
    frame = shortlist.compare(
        compared,
        instance,
        runs=runs,
        seed=seed,
        epsilon=truth.epsilon,
        max_samples=MOST,
        workers=1,
        progress=False,
    ).frame
    cells = []
    for _, rows in frame.groupby("algorithm", sort=False):
        wrong = int((rows["stopped"] & ~rows["correct"]).sum())
        cut = "" if rows["stopped"].all() else f" ({int((~rows['stopped']).sum())} cut)"
        cells.append(f"{rows['samples'].mean():,.0f}{cut}{f' ({wrong} wrong)' if wrong else ''}")
    return f"| {name} | {' | '.join(cells)} |"


def drawn(K: int, N: int, m: int) -> tuple[str, shortlist.instances.Instance]:
    """A linear truth with an intercept, the first drawn with a gap of .12 to .7 σ at the boundary."""
    for number in range(1000):
        draw = np.random.default_rng([number, K])
        features = np.column_stack([np.ones(K), draw.standard_normal((K, N - 1))])
        means = features @ (draw.standard_normal(N) / np.sqrt(N))
        ranked = np.sort(means)[::-1]
        if 0.06 < ranked[m - 1] - ranked[m] < 0.35:
            break
    instance = shortlist.instances.from_arrays(features, means=means, m=m, sigma=0.5)
    return f"drawn, K = {K}, N = {N}, m = {m}", instance


def linear_instances() -> dict[str, shortlist.instances.Instance]:
    """Instances whose means are linear in the features."""
    sizes = ((20, 4, 3), (100, 5, 5), (300, 8, 5), (150, 3, 2))
    return {entry.label: entry.instance for entry in suite()[3:8]} | dict(
        drawn(*size) for size in sizes
    )


def where_they_hold(runs: int, seed: int) -> None:
    """A line for every linear instance: relying on the features, guided by them, without them."""
    print("| instance | relied on | guided | own results |\n" + "|---" * 4 + "|")
    ratios = []
    for label, instance in linear_instances().items():
        problem = instance.problem(0.05, 0.0, None)
        compared = [recommended(problem), shortlist.Guided(), *RIVALS]
        frames = [
            shortlist.compare(each, instance, runs=runs, seed=seed, progress=False).frame
            for each in compared
        ]
        wrong = sum(int((~frame["correct"]).sum()) for frame in frames)
        means = [float(frame["samples"].mean()) for frame in frames]
        cells = " | ".join(f"{mean:,.0f}" for mean in means)
        ratios.append(means[1] / means[2])
        print(f"| {label} | {cells} |" + (f" {wrong} wrong" if wrong else ""), flush=True)
    middle = np.exp(np.mean(np.log(ratios)))
    print(f"guided over own results: {middle:.2f} in the geometric mean, {max(ratios):.2f} at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", action="append", choices=list(TRUTHS))
    parser.add_argument("--linear", action="store_true")
    given = parser.parse_args()
    if given.linear:
        where_they_hold(given.runs, given.seed)
        return
    # The algorithm of a truth is not looked at here, so that one is there twice.
    names = given.truth or [name for name, truth in TRUTHS.items() if truth().algorithm is None]
    print(f"| truth | {' | '.join([*RIVALS, 'guided'])} |")
    print("|---|" + "---|" * (len(RIVALS) + 1))
    with ProcessPoolExecutor(max_workers=2) as pool:
        lines = [pool.submit(one_truth, name, given.runs, given.seed) for name in names]
        for line in as_completed(lines):
            print(line.result(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
