"""A drug screen on a data set made by code: simulate, screen, shortlist, picture.

Run it with ``make demo``, or ``python examples/demo.py [PICTURE]``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import shortlist
from shortlist.repurposing import Outcome, synthetic

M, EPSILON = 5, 0.1
RANGE: dict[str, Any] = {"sigma": "bounded", "reward_range": (0.0, 1.0)}
COUNTS = ["mean", "q05", "q95", "error_rate", "error_high"]


def main() -> None:
    """Screen, compare algorithms with and without the features, and draw."""
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png").resolve()
    data = synthetic(drugs=20, m=M, seed=0)
    screen = data.screen()
    print(f"{screen}: which {M} drugs reverse the disease best?")
    print("Planted: the reversers. A decoy reverses the genes that the network sets back.\n")

    # Nothing makes a simulator's means linear in the features, so nothing is assumed of them. Rewards
    # lie in [0, 1], and the study adapts to how little they vary.
    study = screen.study(M, classical=True, algorithm="auto", epsilon=EPSILON, **RANGE)
    study.run(screen.objective)  # a pull simulates one random patient under one drug
    outcome = Outcome(screen, study, screen.simulate(repeats=30))
    print(outcome, end="\n\n")

    print("The same question 10 times on rewards recorded from this screen: evaluations until the")
    print(
        "stop, with the features (m-LinGapE) and without (the others), each with its own threshold:"
    )
    instance = screen.instance(M, repeats=30)
    own = "Guess-and-verify (own results)"
    names = [own, "m-LinGapE", "LUCB"]
    results = shortlist.compare(names, instance, runs=10, epsilon=EPSILON, seed=0, **RANGE)
    print(results.summary(lower_bound=False)[COUNTS].round(4).to_string())

    outcome.figure().savefig(picture, dpi=120)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
