"""How fast a study in memory is asked and told, and what one tell passes through.

    python benchmarks/ask_tell.py                      this version
    python benchmarks/ask_tell.py --beside e7942e7     beside another, measured in turns

The other version is a commit of this repository, or the folder of a checkout. Its first use
compiles its loop, which takes minutes. Every measurement is a process of its own, old and new in
turns, and the best of five counts for each.
"""

from __future__ import annotations

import argparse

import numpy as np

import shortlist
from beside import (
    compile_at_once,
    cpu,
    in_a_process,
    options_of,
    print_heading,
    print_rates,
    print_row,
    timed,
    versions,
)
from house import files_passed

K, N, M = 20, 5, 5
SIGMA = 50.0  # far from any stop
WARM_UP, PAIRS, TRIES = 300, 4_000, 5


def begin() -> tuple[shortlist.Study, list[float]]:
    x = np.random.default_rng(0).standard_normal((K, N))
    study = shortlist.Study(x, m=M, sigma=SIGMA, seed=1, algorithm="m-LinGapE")
    return study, (x @ [1.0, 0.5, -0.3, 0.2, 0.1]).tolist()


def ask_and_tell(study: shortlist.Study, means: list[float], pairs: int) -> None:
    for _ in range(pairs):
        trial = study.ask()
        study.tell(trial, means[trial.arm])


def measure() -> tuple[float, float, int, int]:
    """Pairs a second, the CPU time of one in microseconds, calls and files of a tell."""
    compile_at_once()
    study, means = begin()
    ask_and_tell(study, means, WARM_UP)
    before = cpu()
    rate = PAIRS / timed(lambda: ask_and_tell(study, means, PAIRS))
    used = 1e6 * (cpu() - before) / PAIRS
    passed, _ = files_passed(study.tell, study.ask(), 0.0)
    return rate, used, len(passed), len(set(passed))


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        print(*measure())
        return
    with versions(given.beside) as sources:
        tries = [
            [in_a_process(source, __file__, "--measure") for source in sources]
            for _ in range(TRIES)
        ]
    measured = list(zip(*tries, strict=True))  # by version
    print_heading(given.beside)
    print_rates(f"ask and tell, in memory, K = {K}", measured)
    for place, what in ((2, "Python calls"), (3, "files")):
        figures = [each[0][place] for each in measured]
        print_row(f"  {what} of a tell", figures, "", more_is_better=False)


if __name__ == "__main__":
    main()
