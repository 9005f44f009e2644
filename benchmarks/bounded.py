"""Results in a range: what ``auto`` and rivals need, and how often ``auto`` errs near ties.

``python benchmarks/bounded.py`` prints the table; ``--runs 100`` and ``--only NAME …`` choose. The rewards of
the demo's screen are simulated anew; those of the paper's epilepsy screen are read from the data set
(``shortlist data fetch``), and left out where it is not there.
``python benchmarks/bounded.py attack`` counts errors at δ = 0.05, 0.3 and 0.8, with coins and with skewed
results of two values, where two means differ by 10⁻⁹; ``--only`` chooses here too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import beta

import shortlist
from shortlist.simulation.instances import Instance

RANGE: dict[str, Any] = {"sigma": "bounded", "reward_range": (0.0, 1.0)}
SPARSE = np.array([0.05, 0.045, 0.04, 0.02, 0.018, 0.015, 0.01, 0.008, 0.005, 0.001])
ATOMS = 400


def coins(label: str, means: Any, m: int) -> Instance:
    means = np.asarray(means, float)
    return shortlist.instances.from_arrays(
        np.eye(len(means)), means=means, m=m, sigma=0.5, noise="bernoulli", label=label
    )


def scores(label: str, means: Any, deviations: Any, m: int, features: Any = None) -> Instance:
    """Beta distributions of these means and standard deviations, as ``ATOMS`` equally likely values."""
    means = np.asarray(means, float)
    size = means * (1.0 - means) / np.asarray(deviations) ** 2 - 1.0
    at = (np.arange(ATOMS) + 0.5) / ATOMS
    table = beta.ppf(at[:, None], means * size, (1.0 - means) * size)
    for _ in range(20):
        table = np.clip(table + means - table.mean(axis=0), 0.0, 1.0)
    x = np.eye(len(means)) if features is None else features
    return shortlist.instances.recorded(x, table, m=m, sigma=0.5, label=label)


def linear(label: str, arms: int, rank: int, m: int, gap: float) -> Instance:
    """Scores whose means are linear in random features, the first seed with about this gap at rank m."""
    for seed in range(100_000):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((arms, rank))
        x[:, 0] = 1.0
        means = x[:, 1:] @ rng.standard_normal(rank)[1:]
        means = 0.5 + 0.8 / np.ptp(means) * (means - 0.5 * (means.max() + means.min()))
        ranked = np.sort(means)[::-1]
        if gap <= ranked[m - 1] - ranked[m] <= 1.5 * gap:
            break
    deviations = np.minimum(rng.uniform(0.1, 0.2, arms), 0.8 * np.sqrt(means * (1.0 - means)))
    return scores(label, means, deviations, m, x)


def screen(label: str) -> Instance:
    """The demo's screen, with rewards of 30 simulated patients a drug."""
    from shortlist.repurposing import synthetic

    recorded = synthetic(drugs=20, m=5, seed=0).screen().instance(5, repeats=30)
    return shortlist.instances.recorded(
        np.eye(20), recorded.rewards.table, m=5, sigma=0.5, label=label
    )


def epilepsy(label: str) -> Instance:
    """The rewards that the paper recorded, without the features."""
    rewards = shortlist.data.drug_instance().rewards.table
    return shortlist.instances.recorded(
        np.eye(rewards.shape[1]), rewards, m=5, sigma=0.5, label=label
    )


def instances() -> dict[str, Callable[[], Instance]]:
    twenty = np.random.default_rng(7).uniform(0.1, 0.2, 20)
    return {
        "epilepsy": lambda: epilepsy("epilepsy, recorded"),
        "demo": lambda: screen("the demo's screen"),
        "scores": lambda: scores("20 scores, sd .1 to .2", np.linspace(0.78, 0.3, 20), twenty, 4),
        "near 0": lambda: coins("coins near 0", SPARSE, 3),
        "near 1": lambda: coins("coins near 1", 1.0 - SPARSE[::-1], 7),
        "p05": lambda: coins(
            "coins around .05", [0.08, 0.075, 0.07, *np.linspace(0.05, 0.02, 7)], 3
        ),
        "p95": lambda: coins(
            "coins around .95",
            [0.98, 0.975, 0.97, 0.95, 0.945, 0.94, 0.93, 0.92, 0.91, 0.9],
            3,
        ),
        "k40": lambda: coins("40 coins .6 … .97", np.linspace(0.97, 0.6, 40), 3),
        "middle": lambda: coins("coins .05 … .5", np.linspace(0.5, 0.05, 10), 3),
        "half": lambda: coins(
            "coins around ½", [0.62, 0.6, 0.58, 0.52, 0.5, 0.48, 0.46, 0.44, 0.42, 0.4], 3
        ),
        "lin50": lambda: linear("K = 50, N = 5", 50, 5, 5, 0.02),
        "lin200": lambda: linear("K = 200, N = 8", 200, 8, 5, 0.015),
    }


def measure(only: list[str], names: list[str], runs: int) -> None:
    print("instance\talgorithm\tmean\t± s.e.\twrong\truns\tcpu seconds")
    for label, made in instances().items():
        if only and label not in only:
            continue
        try:
            instance = made()
        except (ImportError, shortlist.errors.DataUnavailable) as error:
            print(f"{label} is left out: {error}")
            continue
        for name in names:
            begun = time.process_time()
            found = shortlist.compare(name, instance, runs=runs, progress=False, **RANGE).frame
            samples = found["samples"]
            figures = samples.mean(), samples.std() / runs**0.5
            wrong, spent = int((~found["correct"]).sum()), time.process_time() - begun
            print(
                f"{instance.label}\t{name}\t{figures[0]:,.0f}\t{figures[1]:,.0f}\t{wrong}\t{runs}"
                f"\t{spent:.0f}",
                flush=True,
            )


def two_values(label: str, means: Any, low: float, rare: float) -> Instance:
    """Results ``low`` times the mean but for a share ``rare`` of them, which make up for it."""
    means = np.asarray(means, float)
    table = np.repeat(low * means[None], 1000, axis=0)
    table[: round(1000 * rare)] = means * (1.0 - low * (1.0 - rare)) / rare
    return shortlist.instances.recorded(np.eye(len(means)), table, m=1, sigma=0.5, label=label)


def attack(only: list[str], runs: int) -> None:
    """Errors where the two best means differ by 10⁻⁹, with at most 1,500 evaluations a run."""
    cases = {
        "coins at .5": coins("", [0.5, 0.5 - 1e-9, 0.3], 1),
        "coins at .1": coins("", [0.1, 0.1 - 1e-9, 0.04], 1),
        "coins at .95": coins("", [0.95, 0.95 - 1e-9, 0.9], 1),
        "skewed up": two_values("", [0.1, 0.1 - 1e-9, 0.05], 0.8, 0.05),
        "skewed down": two_values("", [0.8, 0.8 - 1e-9, 0.7], 1.02, 0.1),
    }
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.3, 0.6]])
    tie = features @ [0.5, 0.5 - 1e-9]
    cases["coins at .5, features"] = shortlist.instances.from_arrays(
        features, means=tie, m=1, sigma=0.5, noise="bernoulli", label=""
    )
    warnings.simplefilter("ignore")  # a δ of 0.8 is meant
    print("results\tδ\twrong\tstopped\truns")
    for label, instance in cases.items():
        if only and label not in only:
            continue
        names = ["Guess-and-verify"] if "features" in label else ["auto"]
        for delta in (0.05, 0.3, 0.8):
            given = {"delta": delta, "max_samples": 1500, "progress": False, **RANGE}
            found = shortlist.compare(names, instance, runs=runs, **given).frame
            wrong = int((found["stopped"] & ~found["correct"]).sum())
            print(f"{label}\t{delta}\t{wrong}\t{int(found['stopped'].sum())}\t{runs}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="table", choices=["table", "attack"])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--algorithms", nargs="*", default=["auto"])
    options = parser.parse_args()
    if options.what == "attack":
        attack(options.only, options.runs)
    else:
        measure(options.only, options.algorithms, options.runs)


if __name__ == "__main__":
    main()
