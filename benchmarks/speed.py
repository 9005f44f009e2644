"""CPU time of a study, of its first use and of comparisons, beside an older version and other code.

    python benchmarks/speed.py                               this version
    python benchmarks/speed.py rounds --tries 5              one table of: studies, first, rounds, auto
    python benchmarks/speed.py --beside ../older             and an older one, measured in turns
    python benchmarks/speed.py --published ../linear-top-m   and the code published with the paper

The older version is a commit, or the folder of a checkout, which may have a Python of its own in
``.venv``. Every measurement is a process of its own with one thread, and the least of some counts:
other work on the machine only adds. Code compiled by Numba is compiled before it is measured, but
for what ``first`` shows, where a version begins with nothing compiled.

The published code (github.com/clreda/linear-top-m) is for Python 2. It is read as it is, but for its
tabs, escapes in texts, checks of types and ``float`` of a matrix, which fail today.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import numpy_loop
from beside import Measured, in_a_process, options_of, versions

SIGMA = 0.5
FIRST = 20  # rounds of a study that are shown by themselves
RULES = ("m-LinGapE", "LinGIFA")
# K, N, m; rounds of a study at most; runs of a comparison and rounds of each; rounds of other code.
Size = tuple[int, int, int]
SMALL: tuple[Size, ...] = ((4, 3, 2), (10, 71, 5), (50, 10, 5), (509, 71, 5))
LARGE: tuple[Size, ...] = ((10_000, 50, 10), (100_000, 50, 10))
STUDY = {4: 1500, 10: 1500, 50: 1500, 509: 600, 10_000: 100, 100_000: 40}
RUNS = {4: (500, 2000), 10: (500, 200), 50: (100, 100), 509: (1, 150)}
OTHERS = {4: (500, 200), 10: (300, 40), 50: (200, 4), 509: (40, 1)}  # a loop's, published code's
AUTO: dict[Size, int] = {(10, 5, 3): 20, (200, 10, 5): 4}  # and runs
# What issue 48 asked: µs of an ask and tell; seconds of a first use; times the version before it.
ASKED = {("m-LinGapE", 509): 400, ("m-LinGapE", 10_000): 5_000, ("m-LinGapE", 100_000): 50_000}
ASKED |= {("LinGIFA", 509): 1_200, ("LinGIFA", 10_000): 25_000}
ASKED_SMALL, ASKED_FIRST, ASKED_ALONE, ASKED_AUTO = 150, 0.35, 12.0, 1.5
ASKED_FAST = {"m-LinGapE": 1.8, "LinGIFA": 3.0}
TABLES = ("studies", "first", "rounds", "auto")


# What a process measures


def instance_of(K: int, N: int, m: int) -> Any:
    import shortlist

    if K == 4:
        return shortlist.instances.classic(K=K, m=m, omega=np.pi / 6, sigma=SIGMA)
    return shortlist.instances.random(K=K, N=N, m=m, seed=1, sigma=SIGMA)


def in_a_study(name: str, *size: int) -> Measured:
    """Microseconds of ask and tell: the mean of the first rounds, the median of the later half."""
    import shortlist

    instance, noise = instance_of(*size), np.random.default_rng(0)
    study = shortlist.Study(
        instance.features, m=size[2], sigma=SIGMA, algorithm=name, seed=0, intercept=False
    )
    spent = list[float]()
    while len(spent) < STUDY[size[0]] and not study.done:
        counts = study.stage == "rounds"
        start = time.process_time()
        trial = study.ask()
        asked = time.process_time()
        value = instance.means[trial.arm] + SIGMA * noise.standard_normal()
        told = time.process_time()
        study.tell(trial, value)
        if counts:
            spent.append(time.process_time() - told + asked - start)
    return 1e6 * np.mean(spent[:FIRST]), 1e6 * np.median(spent[len(spent) // 2 :])


def at_first(name: str) -> Measured:
    """CPU seconds to import the package, create a study and go through twenty rounds."""
    import pandas as pd

    start = time.process_time()
    import shortlist

    noise = np.random.default_rng(0)
    x = pd.DataFrame(noise.standard_normal((20, 5)))
    means = x.sum(axis=1).tolist()
    study = shortlist.Study(x, m=3, sigma=SIGMA, algorithm=name, seed=0)
    for _ in range(FIRST):
        trial = study.ask()
        study.tell(trial, means[trial.arm] + SIGMA * noise.standard_normal())
    return (time.process_time() - start,)


def in_a_comparison(name: str, *size: int) -> Measured:
    """Microseconds a round of a run, with threshold (2) of the paper and no initial pulls."""
    import shortlist
    from shortlist.catalog.registry import find_algorithm

    instance, (runs, rounds) = instance_of(*size), RUNS[size[0]]
    algorithm = replace(find_algorithm(name), threshold="frequentist", initialization=None)
    settings: dict[str, Any] = {"workers": 1, "progress": False}
    shortlist.compare(algorithm, instance, 2, max_samples=40, **settings)
    start = time.process_time()
    results = shortlist.compare(algorithm, instance, runs, max_samples=rounds, **settings)
    return (1e6 * (time.process_time() - start) / results.frame["samples"].sum(),)


def without_numba(name: str, *size: int) -> Measured:
    """The same as where Numba is not installed."""
    sys.modules["numba"] = None  # type: ignore[assignment]
    return in_a_comparison(name, *size)


def by_auto(_: str, *size: int) -> Measured:
    """CPU milliseconds a run."""
    import shortlist

    instance, runs = instance_of(*size), AUTO[size]
    settings: dict[str, Any] = {"workers": 1, "progress": False}
    shortlist.compare("auto", instance, 1, seed=1, **settings)
    start = time.process_time()
    shortlist.compare("auto", instance, runs, **settings)
    return (1e3 * (time.process_time() - start) / runs,)


def in_a_loop(name: str, *size: int) -> Measured:
    """Microseconds a round of ``numpy_loop``."""
    instance, (rounds, _) = instance_of(*size), OTHERS[size[0]]
    start = time.process_time()
    made, _ = numpy_loop.run(
        *(instance.features, instance.means, instance.m, SIGMA), algorithm=name, rounds=rounds
    )
    return (1e6 * (time.process_time() - start) / made,)


def as_published(name: str, *size: int, folder: str) -> Measured:
    """Microseconds a round of the published code."""
    instance, (_, rounds) = instance_of(*size), OTHERS[size[0]]
    with tempfile.TemporaryDirectory() as elsewhere, redirect_stdout(sys.stderr):
        os.makedirs(f"{elsewhere}/Code")
        os.chdir(f"{elsewhere}/Code")  # it writes beside and above the folder that it is in
        bandits, betas = published_modules(Path(folder) / "Code")
        X, theta = np.matrix(instance.features.T), np.ones((size[1], 1))

        class Gaussian:
            type, oracle = "gaussian", instance.means.tolist()

            def get_reward(self, arm: int) -> float:
                return float(np.random.default_rng().normal(self.oracle[arm], SIGMA))

        given = {"sigma": SIGMA, "eta": 20.0, "alpha": 2.0, "is_greedy": True}
        given |= {"plot_name": name, "use_chernoff": "none"}
        given["beta"] = betas.FrequentistBeta(X, SIGMA, 20.0, 1.0, 0.05)
        kind = bandits.LinGIFA if name == "LinGIFA" else bandits.LinGapENoInit
        bandit = kind(given, X, size[2], Gaussian(), theta, path_to_plots=f"{elsewhere}/")
        bandit.max_it = rounds - 1
        start = time.process_time()
        _, made = bandit.run(plot_rounds=False)
        return (1e6 * (time.process_time() - start) / made,)


class FromPython2(SourceFileLoader):
    """Reads a module as it is, but for its tabs, and for escapes that were none."""

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
        """What ``SourceFileLoader`` makes of the text."""
        text = data.expandtabs(8).replace(rb"\u", rb"\\u")
        return super().source_to_code(text, path, **options)


def number(value: Any) -> float:
    """The only element of an array, which ``float`` no longer takes; or the number that it is."""
    return float(value.item() if isinstance(value, np.ndarray) else value)


def published_modules(folder: Path) -> tuple[ModuleType, ModuleType]:
    """``bandits`` and ``betas``, with no checks of types."""
    sys.dont_write_bytecode = True
    metrics = sys.modules["sklearn.metrics"] = ModuleType("sklearn.metrics")
    metrics.__dict__["jaccard_similarity_score"] = None  # no longer there, and not used here
    for name in ("constants", "utils", "learners", "indices", "betas", "bandits"):
        loader = FromPython2(name, str(folder / f"{name}.py"))
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = sys.modules[name] = module_from_spec(spec)
        if name in ("indices", "bandits"):
            module.__dict__["float"] = number
        loader.exec_module(module)
        if name == "utils":
            module.__dict__["is_of_type"] = lambda value, kind: (
                (value is None) == (kind == "NoneType")
            )
            module.__dict__["is_of_type_LIST"] = lambda *_: True
    return sys.modules["bandits"], sys.modules["betas"]


MEASURES: dict[str, Callable[..., Measured]] = {
    "study": in_a_study,
    "first": at_first,
    "round": in_a_comparison,
    "alone": without_numba,
    "auto": by_auto,
    "loop": in_a_loop,
    "published": as_published,
}


# The tables


class Tables:
    """Prints tables: the older version's figures where there is one, and ours."""

    def __init__(self, sources: list[Path], tries: int, published: str | None) -> None:
        self.sources, self.tries, self.published = sources, tries, published
        self.heading = ["older", "now", "now/older"] if len(sources) > 1 else ["now"]

    def least(
        self, *words: object, sources: Sequence[Path] = (), tries: int | None = None
    ) -> list[Measured]:
        """Every figure of a measurement, the least of some tries: a tuple for each version."""
        given = ["--measure", *map(str, words)]
        some = sources or self.sources
        made = [
            [in_a_process(source, __file__, *given) for source in some]
            for _ in range(tries or self.tries)
        ]
        return [tuple(map(min, zip(*each, strict=True))) for each in zip(*made, strict=True)]

    def title(self, words: str, columns: list[str]) -> None:
        """Print the head of a table."""
        print(f"\n{words}\n{'':34}" + "".join(f"{each:>12}" for each in columns), flush=True)

    def line(self, title: str, figures: Sequence[float | None], asked: str) -> None:
        """Print a line, with what was asked."""
        shown = "".join(f"{'–':>12}" if each is None else f"{each:12.4g}" for each in figures)
        print(f"{title:34}{shown}  {asked}", flush=True)

    def beside(self, title: str, figures: Sequence[float], asked: str) -> None:
        """Print a line with the figure of each version."""
        ratio = [figures[1] / figures[0]] if len(figures) > 1 else []
        self.line(title, [*figures, *ratio], asked)

    def studies(self) -> None:
        """Ask and tell."""
        self.title(f"A study, ask and tell, µs: mean of {FIRST} rounds, then later", self.heading)
        for name, size in product(RULES, SMALL + LARGE):
            if (name, size[0]) == ("LinGIFA", 100_000):
                continue  # left to ``auto``
            asked = f"≤ {ASKED.get((name, size[0]), ASKED_SMALL)}"
            first, later = zip(*self.least("study", name, *size), strict=True)
            title = f"{name}, K = {size[0]:,}, N = {size[1]}"
            if size[0] <= 50:
                self.beside(f"{title}, first", first, asked)
            self.beside(title, later, asked)

    def first(self) -> None:
        """The first use of a study."""
        words = f"In a new process: import, a study, {FIRST} rounds, s beyond NumPy and pandas"
        self.title(words, self.heading)
        for name in ("auto", "m-LinGapE"):
            with tempfile.TemporaryDirectory() as empty:
                os.environ["NUMBA_CACHE_DIR"] = f"{empty}/{name}"
                figures = [each[0] for each in self.least("first", name)]
                del os.environ["NUMBA_CACHE_DIR"]
            self.beside(name, figures, f"≤ {ASKED_FIRST}")

    def rounds(self) -> None:
        """A round of a simulated run, beside other code."""
        older = len(self.sources) > 1
        columns = ["NumPy loop", *(["published"] if self.published else []), *self.heading[:-2]]
        columns += ["NumPy alone", "with fast", *(["alone/older", "fast/older"] if older else [])]
        self.title(
            "A round of a simulated run, µs; a loop, published code and comparisons", columns
        )
        own = self.sources[-1:]
        for name, size in product(RULES, SMALL):
            figures: list[float | None] = [self.least("loop", name, *size, sources=own)[0][0]]
            if self.published:
                given = "published", name, *size
                given = *given, f"--published={self.published}"
                figures += self.least(*given, sources=own, tries=1)[0]  # seconds a round
            alone, fast = self.least("alone", name, *size, sources=own)[0][0], None
            if find_spec("numba"):
                fast = self.least("round", name, *size, sources=own)[0][0]
            if older:
                before = self.least("round", name, *size, sources=self.sources[:1])[0][0]
                times = [alone / before, None if fast is None else fast / before]
                figures += [before, alone, fast, *times]
            else:
                figures += [alone, fast]
            asked = f"≤ {ASKED_ALONE:g} ×; ≤ {ASKED_FAST[name]} ×" if size[0] <= 50 else ""
            self.line(f"{name}, K = {size[0]}, N = {size[1]}", figures, asked)

    def auto(self) -> None:
        """A simulated run of ``auto``."""
        self.title("compare(['auto']), ms a run", self.heading)
        for size in AUTO:
            figures = [each[0] for each in self.least("auto", "auto", *size)]
            self.beside(f"K = {size[0]}, N = {size[1]}", figures, f"≤ {ASKED_AUTO} ×")


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("tables", nargs="*", choices=[*TABLES, []], help="all if none is named")
    options.add_argument("--published", help="a folder with the code published by the authors")
    options.add_argument("--tries", type=int, default=3, help="processes for every figure")
    options.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        kind, name, *size = given.measure
        more = {"folder": given.published} if kind == "published" else {}
        print(*MEASURES[kind](name, *map(int, size), **more))
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with versions(given.beside) as sources:
        tables = Tables(sources, given.tries, given.published)
        for name in given.tables or TABLES:
            getattr(tables, name)()


if __name__ == "__main__":
    main()
