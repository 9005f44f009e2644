"""What it saves to state costs: the same studies with evaluations that cost 1 or 10.

Every second arm, drawn at random, costs ten times as much. Both columns are the mean cost until the
stop, with the costs stated and without: then ``auto`` minimises the number of evaluations. Random
instances, none chosen for its result.

    python benchmarks/costs.py --runs 20
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from shortlist.catalog.registry import find_algorithm
from shortlist.plans.guess_and_verify import Guided
from shortlist.simulation import instances
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import Instance

COSTS = (1.0, 10.0)


def cases(seed: int) -> dict[str, tuple[Any, dict[str, Any], dict[str, Any]]]:
    """An algorithm, an instance's arguments and those of a comparison, by name."""
    rng = np.random.default_rng(seed)
    spaced = np.sort(rng.uniform(0.0, 1.0, 20))[::-1]
    table = rng.standard_normal((30, 5))
    theta = rng.standard_normal(5)
    own, lines = np.eye(20), {"theta": theta / np.linalg.norm(theta), "m": 4, "sigma": 0.5}
    bent = {"means": np.sin(1.5 * table[:, 0]), "m": 4, "sigma": 0.5}
    slack = {"epsilon": 0.1}
    return {
        "20 arms, no features": (
            "auto",
            {"features": own, "means": spaced, "m": 4, "sigma": 0.3},
            slack,
        ),
        "30 arms, 5 features": ("auto", {"features": table, **lines}, slack),
        "the features as a guide": (Guided(), {"features": table[:, :2], **bent}, slack),
        "10 coins": (
            find_algorithm("Guess-and-verify (own results)"),
            {
                "features": np.eye(10),
                "means": spaced[::2],
                "m": 3,
                "sigma": 0.5,
                "noise": "bernoulli",
            },
            {**slack, "sigma": "bounded", "reward_range": (0.0, 1.0)},
        ),
    }


def costs_of(arms: int, seed: int) -> np.ndarray:
    """1 or 10 for every arm, half of each."""
    return np.random.default_rng([seed, arms]).permutation(np.resize(COSTS, arms))


def paid(algorithm: Any, instance: Instance, costs: np.ndarray, runs: int, **given: Any) -> float:
    """The mean cost of runs, whether or not the instance states it."""
    frame = compare(algorithm, instance, runs, workers=1, progress=False, **given).frame
    return float(np.mean(np.array(frame["pulls"].tolist()) @ costs))


def main() -> None:
    """Print the mean costs and their ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="of each instance")
    parser.add_argument("--instances", type=int, default=3)
    given = parser.parse_args()
    print(f"{'':28}{'stated':>10}{'not stated':>12}{'ratio':>8}")
    ratios = []
    for name in cases(0):
        pairs = []
        for seed in range(given.instances):
            algorithm, described, settings = cases(seed)[name]
            costs = costs_of(len(described["features"]), seed)
            stated = instances.from_arrays(**described, costs=costs)
            plain = instances.from_arrays(**described)
            pairs.append(
                [paid(algorithm, each, costs, given.runs, **settings) for each in (stated, plain)]
            )
        with_costs, without = np.mean(pairs, axis=0)
        ratios += [math.log(one / other) for one, other in pairs]
        print(
            f"{name:28}{with_costs:>10,.0f}{without:>12,.0f}{with_costs / without:>8.2f}",
            flush=True,
        )
    print(f"{'geometric mean of ratios':50}{math.exp(np.mean(ratios)):>8.2f}")


if __name__ == "__main__":
    main()
