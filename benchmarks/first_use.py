"""What the first minute costs: CPU seconds from an empty cache of machine code, and where they go.

    python benchmarks/first_use.py                      this version
    python benchmarks/first_use.py --beside e7942e7     beside another, in the same run
    python benchmarks/first_use.py --functions          and what each function takes to compile

Every line is a process of its own, counted from its start to its end, Python and NumPy included. The
first three begin with an empty cache or, the second start, with what the first comparison has left. The
others are what is compiled in addition to that: the same process without and with a warm cache, subtracted.
A version that compiles everything at once shows nothing there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from beside import options_of, print_heading, print_row, versions


def compare(algorithm: Any, K: int, m: int = 2, **settings: Any) -> None:
    import shortlist

    if K == 4:
        instance = shortlist.instances.classic(K=4, m=m, omega=np.pi / 6, sigma=0.5)
    else:
        x = np.random.default_rng(0).standard_normal((K, 5))
        instance = shortlist.instances.from_arrays(x, theta=np.ones(5), m=m, sigma=0.5)
    shortlist.compare([algorithm], instance, runs=10, seed=0, progress=False, **settings)


def study() -> None:
    import shortlist

    x = np.random.default_rng(0).standard_normal((20, 5))
    made = shortlist.Study(x, m=3, sigma=0.5, seed=0)
    trial = made.ask()
    made.tell(trial, 0.3)
    made.ask()


FIRST = {
    "first study: create, ask, tell, ask": study,
    "first comparison, m-LinGapE, K = 4": lambda: compare("m-LinGapE", 4),
}
AGAIN = "second start, the same comparison"
MORE = {
    "and K = 150, rows of G kept": lambda: compare("LinGIFA", 150, max_samples=60),
    "and K = 5,000, no row kept": lambda: compare("m-LinGapE", 5000, max_samples=60),
    "and LinGame": lambda: compare("LinGame", 4),
    "and Guess-and-verify": lambda: compare("Guess-and-verify", 4),
}
WORK = {**FIRST, AGAIN: FIRST["first comparison, m-LinGapE, K = 4"], **MORE}


def spent(source: Path, cache: str, title: str, *options: str) -> float:
    """CPU seconds of a process that does the work of a line."""
    command = [sys.executable, __file__, "--do", title, *options]
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL)
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


@contextmanager
def timed_functions() -> Iterator[None]:
    """Print what each function took to compile, the longest first."""
    from shortlist.numerics import jit

    made, rows = jit.Function._made, []

    def timed(self: Any, *given: Any) -> Any:
        before = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        result = made(self, *given)
        taken = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - before
        rows.append((taken, self.__name__))
        return result

    jit.Function._made = timed
    yield
    for taken, name in sorted(rows, reverse=True):
        if taken >= 0.05:
            print(f"    {name:34}{taken:14.1f}  s")


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--functions", action="store_true", help="what each function takes")
    options.add_argument("--do", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.do:
        if given.functions:
            with timed_functions():
                WORK[given.do]()
        else:
            WORK[given.do]()
        return
    with versions(given.beside) as sources, tempfile.TemporaryDirectory() as folder:
        print("CPU seconds, from an empty cache")
        print_heading(given.beside)
        caches = [f"{folder}/{k}" for k in range(len(sources))]
        for title in FIRST:  # the study leaves nothing behind that the comparison would use
            figures = [
                spent(source, f"{cache}/{len(title)}", title)
                for source, cache in zip(sources, caches, strict=True)
            ]
            print_row(title, figures, "s", more_is_better=False)
        warm = [f"{cache}/{len(title)}" for cache in caches]
        pairs = list(zip(sources, warm, strict=True))
        tries = [[spent(*pair, AGAIN) for pair in pairs] for _ in range(3)]
        print_row(
            AGAIN, [min(each) for each in zip(*tries, strict=True)], "s", more_is_better=False
        )
        for title in MORE:
            cold = [spent(*pair, title) for pair in pairs]
            again = [spent(*pair, title) for pair in pairs]
            figures = [max(first - second, 0.0) for first, second in zip(cold, again, strict=True)]
            shown = "".join(f"{figure:14.1f}" for figure in figures)
            print(f"{title:38}{shown}  s", flush=True)
        if given.functions:
            for title in WORK:
                print(f"  {title}", flush=True)
                if title != AGAIN:
                    spent(sources[-1], f"{folder}/functions", title, "--functions")


if __name__ == "__main__":
    main()
