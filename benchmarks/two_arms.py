"""What two arms cost: C²/2 and evaluations with `two_arms` and with `two_arms_mixture`."""

from __future__ import annotations

import sys

import numpy as np

import shortlist
from shortlist.rules.thresholds import THRESHOLDS, ThresholdInputs

NAMES = ("two_arms", "two_arms_mixture")
SIZES = ((4, 1), (10, 3), (20, 4), (50, 5), (100, 10), (1000, 10))
EACH = (10, 100, 500)  # evaluations an arm
INSTANCES = {(10, 3): np.linspace(1.0, 0.1, 10), (20, 4): np.linspace(2.0, 0.0, 20)}


def half_square(name: str, K: int, m: int, t: int) -> float:
    """C²/2 after t evaluations shared out evenly, δ = 0.05."""
    setting = ThresholdInputs(K, K, K, 1.0, 1.0, 0.05, None, 0.0, 1.0, True, "paired", m)
    threshold = THRESHOLDS[name]
    return 0.5 * float(threshold.rule(t, 0.0, threshold.constants(setting))) ** 2


def main(runs: int) -> None:
    """Print both tables."""
    print(f"C²/2 with {NAMES[0]} → {NAMES[1]}, after {EACH} evaluations an arm")
    for K, m in SIZES:
        old, new = ([half_square(name, K, m, n * K) for n in EACH] for name in NAMES)
        shown = (f"{a:.1f} → {b:.1f} ({b / a:.2f})" for a, b in zip(old, new, strict=True))
        print(f"K = {K}, m = {m}:", "; ".join(shown))
    for (K, m), means in INSTANCES.items():
        instance = shortlist.instances.from_arrays(np.eye(K), means=means, m=m, sigma=0.5)
        for algorithm in ("LUCB", "UGapE", "m-LinGapE", "LinGIFA"):
            taken, wrong = [], []
            for name in NAMES:
                given = {"threshold": name, "runs": runs, "seed": 1, "progress": False}
                frame = shortlist.compare(algorithm, instance, **given).frame
                taken.append(float(frame["samples"].mean()))
                wrong.append(int((~frame["correct"]).sum()))
            print(
                f"K = {K}, m = {m}, {algorithm}: {taken[0]:.0f} → {taken[1]:.0f} evaluations "
                f"({taken[1] / taken[0]:.2f}), {wrong[0]} and {wrong[1]} errors in {runs} runs"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
