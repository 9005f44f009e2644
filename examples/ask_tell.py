"""The smallest study: which 3 of 12 compounds are best? Ask, measure, tell, until it stops.

Run it with ``python examples/ask_tell.py``. `make dist` runs it with the installed package.
"""

from __future__ import annotations

import numpy as np

import shortlist


def main() -> None:
    """Run a study on simulated measurements and print its answer."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(12, 3))  # what is known about each compound
    truth = features @ [1.0, -0.5, 0.3]  # unknown in practice
    study = shortlist.Study(features, m=3, sigma=0.3, seed=0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, truth[trial.arm] + 0.3 * rng.normal())  # your measurement
    print(f"shortlist {shortlist.__version__}")
    print(study.shortlist)
    best = set(np.argsort(-truth)[:3].tolist())
    print("right" if set(study.shortlist.names) == best else "wrong")


if __name__ == "__main__":
    main()
