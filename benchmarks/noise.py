"""Evaluations and errors by what is told of the noise.

``features`` compares ways to a list where means are linear and each arm has a σ of its own.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import shortlist
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import clopper_pearson

PER_ARM = "estimate per arm"


def recorded_rows(instance: Instance) -> dict[str, dict[str, Any]]:
    """What may be told of the noise of recorded rewards."""
    records = instance.rewards.table
    low, high = float(records.min()), float(records.max())
    return {
        "declared: σ = 0.5": {"sigma": 0.5},
        "bounded: range 0 to 1": {"sigma": "bounded", "reward_range": (0.0, 1.0)},
        "hindsight, bounded: range of all records": {
            "sigma": "bounded",
            "reward_range": (low, high),
        },
        "hindsight, by arm: half its range": {"sigma": np.ptp(records, axis=0) / 2.0},
        "hindsight, by arm: its s.d. (not proven)": {"sigma": records.std(axis=0, ddof=1)},
    }


def normal_rows(sigma: float) -> dict[str, dict[str, Any]]:
    """What may be told of normal noise."""
    return {
        "declared: σ = 0.5": {"sigma": 0.5},
        f"declared: the true σ = {sigma:g}": {"sigma": sigma},
    }


def by_arm_rows(sigma: np.ndarray) -> dict[str, dict[str, Any]]:
    """What may be told of normal noise that differs from arm to arm."""
    return {
        f"declared: the largest σ = {sigma.max():g}": {"sigma": float(sigma.max())},
        "by arm: the true σ_a": {"sigma": sigma},
    }


def unequal(K: int = 40, m: int = 5, gap: float = 0.1) -> tuple[Instance, np.ndarray]:
    """Arms of evenly spaced means, without features, and their σ, from 0.05 to 3.5 in no order."""
    sigma = np.random.default_rng(0).permutation(np.geomspace(0.05, 3.5, K))
    means = gap * np.arange(K)[::-1]
    return shortlist.instances.from_arrays(np.eye(K), means=means, m=m, sigma=sigma), sigma


def unequal_rows(sigma: np.ndarray) -> dict[str, dict[str, Any]]:
    """What may be told of normal noise that differs much from arm to arm."""
    return {
        **by_arm_rows(sigma),
        PER_ARM: {"sigma": PER_ARM},
        "estimate (assumes one σ: not proven here)": {"sigma": "estimate"},
    }


def table(
    title: str, instance: Instance, rows: dict[str, dict[str, Any]], algorithm: str, runs: int
) -> None:
    print(f"\n{title}: {algorithm}, {runs} runs, δ = 0.05")
    print(f"{'told of the noise':44}{'mean':>10}{'s.d.':>10}{'ratio':>8}{'errors':>8}  95 %")
    first = math.nan
    for label, told in rows.items():
        frame = shortlist.compare(algorithm, instance, runs=runs, progress=False, **told).frame
        assert frame["stopped"].all()
        mean, deviation = frame["samples"].mean(), frame["samples"].std()
        first = mean if math.isnan(first) else first
        wrong = int((~frame["correct"]).sum())
        low, high = clopper_pearson(wrong, runs)
        print(
            f"{label:44}{mean:10,.0f}{deviation:10,.0f}{mean / first:8.4f}{wrong:8}"
            f"  {low:.3f}–{high:.3f}"
        )


def linear(K: int, N: int, m: int = 3) -> Instance:
    """Means linear in drawn features, and a σ of each arm of about a tenth of their span."""
    rng = np.random.default_rng([K, N])
    features, theta = rng.normal(size=(2 * K, N)), rng.normal(size=N)
    means = features @ theta
    cut, span = np.sort(means)[-m], np.ptp(means)
    # Without a gap at the boundary, chance decides how many evaluations it takes.
    kept = np.flatnonzero((means >= cut) | (means < cut - 0.1 * span))[:K]
    kept = np.union1d(kept, np.flatnonzero(means >= cut))
    features, means = features[kept], means[kept]
    sigma = 0.1 * span * np.exp(rng.normal(0.0, 0.5, len(kept)))
    return shortlist.instances.from_arrays(features, means=means, m=m, sigma=sigma)


def with_features(runs: int) -> None:
    """Evaluations with a σ of each arm that is known, or not, by algorithm."""
    ways: list[tuple[str, Any, bool]] = [
        ("Guess-and-verify, the true σ_a", "Guess-and-verify", False),
        ("Guess-and-verify", "Guess-and-verify", True),
        ("features as a guide", shortlist.Guided(), True),
    ]
    for K, N in ((20, 3), (40, 5), (100, 3), (200, 6)):
        print(f"\nK = {K}, N = {N}, means linear in the features, {runs} runs, δ = 0.05")
        print(f"{'way':36}{'mean':>10}{'s.d.':>10}{'errors':>8}")
        for label, algorithm, estimated in ways:
            instance = linear(K, N)
            sigma = PER_ARM if estimated else instance.sigma
            frame = shortlist.compare(
                algorithm, instance, runs=runs, sigma=sigma, seed=1, progress=False
            ).frame
            assert frame["stopped"].all()
            samples, wrong = frame["samples"], int((~frame["correct"]).sum())
            print(f"{label:36}{samples.mean():10,.0f}{samples.std():10,.0f}{wrong:8}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("costs", "features"), default="costs")
    parser.add_argument("--runs", type=int, default=200, help="of each cost")
    options = parser.parse_args()
    if options.what == "features":
        with_features(options.runs)
        return
    by_arm = np.array([0.5, 0.1, 0.3, 0.05])
    classic = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6)
    mixed = shortlist.instances.from_arrays(
        classic.features, means=classic.means, m=2, sigma=by_arm
    )
    table("Classic π/6, normal noise, σ by arm 0.5, 0.1, 0.3, 0.05", mixed, by_arm_rows(by_arm),
          "m-LinGapE", options.runs)  # fmt: skip
    for gap in (0.1, 0.25, 0.5):
        instance, sigma = unequal(gap=gap)
        table(f"40 arms, means {gap:g} apart, σ by arm 0.05 to 3.5", instance, unequal_rows(sigma),
              "Guess-and-verify (own results)", options.runs)  # fmt: skip
    try:
        epilepsy = shortlist.data.drug_instance()
    except (ImportError, shortlist.errors.DataUnavailable) as error:
        print(f"\nThe epilepsy instance is left out: {error}")
        return
    spread = epilepsy.rewards.table.std(axis=0, ddof=1)
    print(
        f"\nEpilepsy: s.d. of the recorded rewards by drug {spread.min():.3f} to {spread.max():.3f}"
    )
    for algorithm in ("m-LinGapE", "LUCB"):
        table("Epilepsy, recorded rewards", epilepsy, recorded_rows(epilepsy), algorithm,
              options.runs)  # fmt: skip
    small = 0.05
    twin = shortlist.instances.from_arrays(
        epilepsy.features, means=epilepsy.means, m=epilepsy.m, sigma=small, arms=epilepsy.names
    )
    table(f"Its means with normal noise of σ = {small:g}", twin, normal_rows(small), "m-LinGapE",
          options.runs)  # fmt: skip


if __name__ == "__main__":
    main()
