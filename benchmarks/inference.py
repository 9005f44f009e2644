"""Network inference from the paper's candidate and experiments: seconds, edges, distances.

The data are found as `shortlist data path` finds them (SHORTLIST_DATA, or the cache).
"""

from __future__ import annotations

import argparse
import time

from shortlist import data
from shortlist.errors import DataUnavailable
from shortlist.repurposing import edge_distances, infer, read_abstract, read_experiments, replay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solutions", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--time-limit", type=float, default=480.0)
    words = parser.parse_args()
    candidate = read_abstract(data.path("model1.net"))
    experiments = read_experiments(data.path("observations1.spec"))
    print("seed  solution  seconds  CPU s  edges  replay  distances to the others")
    for seed in words.seeds:
        cpu = time.process_time()
        found = infer(
            candidate,
            experiments,
            solutions=words.solutions,
            time_limit=words.time_limit,
            seed=seed,
        )
        cpu = time.process_time() - cpu
        distances = edge_distances(found)
        for i, solution in enumerate(found):
            wrong = sum(
                len(replay(solution.network, e, solution.trajectories[e.name])) for e in experiments
            )
            others = " ".join(f"{d:3}" for j, d in enumerate(distances[i]) if j != i)
            total = f"{cpu:6.1f}" if i == len(found) - 1 else " " * 6
            print(
                f"{seed:4}  {i + 1:8}  {solution.seconds:7.1f} {total}  {len(solution.edges):5}  "
                f"{'ok' if not wrong else f'{wrong} wrong':>6}  {others}",
                flush=True,
            )
    print("Seconds count from the call; CPU seconds are for all of a seed's solutions.")


if __name__ == "__main__":
    try:
        main()
    except DataUnavailable as missing:  # the other benchmarks need no data
        print(f"inference: skipped, {missing}")
