"""The audit of linearity: truths that are not linear, truths that are, and what it costs.

``python benchmarks/linearity.py curved`` runs a study of every truth below with each of 20 seeds and
counts how often its list is right, how often it is wrong and a warning was given, and how often it
is wrong and nothing was said. ``linear`` counts how often a linear truth is rejected, and ``cost``
what the audit adds on every instance of ``make bench-samples``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import shortlist
import suite
from shortlist.simulation.results import clopper_pearson

MOST = 60_000  # evaluations; a study that needs more is counted as unfinished


class Truth(NamedTuple):
    """Features, means and settings of a study whose means need not be linear."""

    features: np.ndarray
    means: np.ndarray
    m: int
    sigma: float
    epsilon: float
    algorithm: str | None = None


def ones_and(*columns: np.ndarray) -> np.ndarray:
    """The columns with one of ones before them."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def doses(
    count: int, low: float, high: float, mean: Callable[[Any], Any], **settings: Any
) -> Truth:
    d = np.linspace(low, high, count)
    return Truth(ones_and(d), mean(d), **settings)


def normal(
    count: int, dimension: int, mean: Callable[[Any], Any], seed: int, **settings: Any
) -> Truth:
    x = np.random.default_rng(seed).normal(size=(count, dimension))
    return Truth(ones_and(*x.T), mean(x.T), **settings)


def grid(side: int, mean: Callable[[Any, Any], Any], **settings: Any) -> Truth:
    a, b = (each.ravel() for each in np.meshgrid(*[np.linspace(0.0, 1.0, side)] * 2))
    return Truth(ones_and(a, b), mean(a, b), **settings)


def fingerprints() -> Truth:
    """509 drugs whose means depend on bits that are not among their 40 features."""
    bits = np.random.default_rng(7).integers(0, 2, size=(509, 120)).astype(float)
    hidden = (bits[:, 40:] - 0.5) @ np.random.default_rng(8).normal(size=80) / 10.0
    seen = (bits[:, :40] - 0.5) @ np.random.default_rng(9).normal(size=40) / 10.0
    return Truth(ones_and(*bits[:, :40].T), seen + hidden, m=10, sigma=0.5, epsilon=0.1)


def one_peak() -> Truth:
    """A line, but for one arm of middling dose that is by far the best."""
    d = np.linspace(0.0, 1.0, 60)
    means = d.copy()
    means[23] = 2.0
    return Truth(ones_and(d), means, m=3, sigma=0.3, epsilon=0.05)


TRUTHS: dict[str, Callable[[], Truth]] = {
    "bell of 60 doses": lambda: doses(
        60, 0, 10, lambda d: np.exp(-((d - 4) ** 2)), m=5, sigma=0.2, epsilon=0.02
    ),
    "the same, m-LinGapE": lambda: doses(
        60,
        0,
        10,
        lambda d: np.exp(-((d - 4) ** 2)),
        m=5,
        sigma=0.2,
        epsilon=0.02,
        algorithm="m-LinGapE",
    ),
    "d − .12 d², 60 doses": lambda: doses(
        60, 0, 10, lambda d: d - 0.12 * d**2, m=5, sigma=0.2, epsilon=0.1
    ),
    "1 − ‖g − .3‖² on a grid": lambda: grid(
        10, lambda a, b: 1 - (a - 0.3) ** 2 - (b - 0.3) ** 2, m=5, sigma=0.1, epsilon=0.05
    ),
    "−.4 x₁², 3 features": lambda: normal(
        200, 3, lambda x: x.sum(0) / 3 - 0.4 * x[0] ** 2, 1, m=5, sigma=0.3, epsilon=0.02
    ),
    "509 drugs, 40 bits": fingerprints,
    "tanh, 100 doses": lambda: doses(
        100, -1, 3, lambda d: np.tanh(2 * d), m=5, sigma=0.3, epsilon=0.02
    ),
    "hat, 80 doses": lambda: doses(
        80, 0, 10, lambda d: -np.abs(d - 6) / 4, m=4, sigma=0.3, epsilon=0.02
    ),
    "x₁x₂ of 3 features": lambda: normal(
        150, 3, lambda x: 0.5 * x[0] * x[1] + 0.3 * x[2], 2, m=5, sigma=0.5, epsilon=0.05
    ),
    "logistic in 5 features": lambda: normal(
        300, 5, lambda x: 1 / (1 + np.exp(-2 * x.sum(0))), 3, m=10, sigma=0.2, epsilon=0.05
    ),
    "step, 60 doses": lambda: doses(
        60, 0, 1, lambda d: 1.0 * (d > 0.4) - 0.1 * d, m=5, sigma=0.3, epsilon=0.02
    ),
    "sine, 120 doses": lambda: doses(
        120, 0, 6, lambda d: np.sin(d) + 0.2 * d, m=6, sigma=0.3, epsilon=0.05
    ),
    "max(a, b) on a grid": lambda: grid(
        15, lambda a, b: np.maximum(a, b) - 0.3 * a, m=8, sigma=0.2, epsilon=0.05
    ),
    "exponential, 50 doses": lambda: doses(
        50, 0, 3, lambda d: 1 - np.exp(-2 * d) - 0.25 * d, m=5, sigma=0.2, epsilon=0.02
    ),
    "log, 30 doses": lambda: doses(
        30, 1, 15, lambda d: np.log(d) - 0.2 * d, m=3, sigma=0.3, epsilon=0.05
    ),
    "ring in the plane": lambda: normal(
        400, 2, lambda x: -np.abs(np.hypot(*x) - 1), 4, m=10, sigma=0.4, epsilon=0.05
    ),
    "x₁x₂x₃ of 6 features": lambda: normal(
        500, 6, lambda x: 0.4 * x[0] * x[1] * x[2] + 0.2 * x[3], 5, m=10, sigma=0.5, epsilon=0.05
    ),
    "one peak on a line": one_peak,
}


def acceptable(truth: Truth) -> np.ndarray:
    """The arms that may be listed."""
    return truth.means >= np.sort(truth.means)[-truth.m] - truth.epsilon - 1e-12


def misfit(truth: Truth) -> tuple[float, float]:
    """How far the means are from the nearest linear ones: root mean square, and at most."""
    theta = np.linalg.lstsq(truth.features, truth.means)[0]
    off = truth.means - truth.features @ theta
    return float(np.sqrt(np.mean(off**2))), float(np.abs(off).max())


def one_study(name: str, seed: int) -> dict[str, Any]:
    truth = TRUTHS[name]()
    noise = np.random.default_rng([seed, 12345])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study = shortlist.Study(
            truth.features,
            m=truth.m,
            sigma=truth.sigma,
            epsilon=truth.epsilon,
            algorithm=truth.algorithm,
            seed=seed,
        )
        answer = study.run(
            lambda trial: truth.means[trial.arm] + truth.sigma * noise.normal(),
            max_evaluations=MOST,
            progress=False,
        )
    listed = answer.arms
    verdict = study.audit.verdict
    return {
        "evaluations": study.evaluations,
        "final": answer.final,
        "right": bool(acceptable(truth)[listed].all()),
        "wrong": int((~acceptable(truth)[listed]).sum()),
        "proven": answer.guarantee.text.startswith("Proven"),
        "warned": bool(caught),
        "rejected": study.audit.rejection is not None,
        "found": np.nan if verdict is None else verdict.detectable,
    }


def curved(seeds: int, wanted: list[str]) -> None:
    print(f"{seeds} studies of each truth; 'silent': a wrong list, and nothing was said")
    print(
        f"{'truth':26}{'K':>5}{'misfit/σ':>9}{'right':>7}{'warned':>7}{'silent':>7}{'evaluations':>12}"
        "  of those silent: misfit rms and largest, beside what was stated to be found"
    )
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name in wanted:
            truth = TRUTHS[name]()
            rows = list(pool.map(one_study, [name] * seeds, range(seeds)))
            silent = [row for row in rows if row["proven"] and not row["right"]]
            held = sum(row["proven"] and row["right"] for row in rows)
            warned = sum(row["warned"] and not row["proven"] for row in rows)
            off, most = misfit(truth)
            stated = ""
            if silent:
                found = np.mean([row["found"] for row in silent])
                stated = f"  {off:.2g} and {most:.2g}; {found:.2g}"
            print(
                f"{name:26}{len(truth.means):5}{off / truth.sigma:9.2f}{held:7}{warned:7}"
                f"{len(silent):7}{np.median([row['evaluations'] for row in rows]):12,.0f}{stated}",
                flush=True,
            )


def one_linear(seed: int) -> tuple[bool, int, int]:
    draw = np.random.default_rng([seed, 99])
    K, N = int(draw.integers(12, 80)), int(draw.integers(2, 8))
    m, features = int(draw.integers(1, 6)), draw.normal(size=(K, N))
    means = features @ draw.normal(size=N)
    noise: Callable[[], float] = (draw.normal, lambda: float(2 * draw.integers(0, 2) - 1))[seed % 2]
    algorithm = (None, "m-LinGapE", "LUCB", "LinGIFA")[seed % 4]
    sigma = 0.5
    study = shortlist.Study(features, m=m, sigma=sigma, epsilon=0.2, seed=seed, algorithm=algorithm)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = study.run(lambda t: means[t.arm] + sigma * noise(), progress=False)
    return study.audit.rejection is not None, study.evaluations, answer.audited


def linear(runs: int) -> None:
    began = time.monotonic()
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(one_linear, range(runs), chunksize=20))
    rejected = sum(row[0] for row in rows)
    low, high = clopper_pearson(rejected, runs)
    evaluations, audited = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(
        f"{runs} studies of linear truths (K 12 to 79, N 2 to 7, normal noise and coins): {rejected} "
        f"rejected ({rejected / runs:.2%}, exact interval {low:.2%} to {high:.2%}; the level is 1 %). "
        f"Audits made {audited / evaluations:.1%} of {evaluations:,} evaluations. "
        f"{time.monotonic() - began:.0f} s"
    )


def cost(runs: int) -> None:
    print(f"what the audit adds to auto, {runs} runs on every instance of make bench-samples")
    print(f"{'instance':34}{'auto':34}{'mean':>10}{'audited':>9}{'rejected':>9}{'cost':>7}")
    for entry in suite.suite():
        instance = entry.instance
        if entry.kind == suite.LIES:
            continue  # its means are not linear
        frame = shortlist.compare("auto", instance, runs=runs, audit=True, progress=False).frame
        before = (frame["samples"] - frame["audited"]).mean()
        print(
            f"{entry.label:34}{frame['algorithm'].iloc[0]:34.33}{before:10,.0f}"
            f"{frame['audited'].mean():9,.0f}{int(frame['rejected'].sum()):9}"
            f"{frame['audited'].mean() / before:7.1%}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["curved", "linear", "cost"])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--truth", action="append", choices=list(TRUTHS))
    given = parser.parse_args()
    if given.what == "curved":
        curved(given.runs or 20, given.truth or list(TRUTHS))
    elif given.what == "linear":
        linear(given.runs or 2000)
    else:
        cost(given.runs or 50)


if __name__ == "__main__":
    sys.exit(main())
