"""What an inflated σ costs: evaluations and errors by what is told of the noise."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import shortlist
from shortlist.noise import DEGREES, DEGREES_OF_EACH, SHARE, inflation
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import clopper_pearson

BRACKET = 6.0  # ln(1/δ) + ½ ln det(…) of the threshold, as it is at the stop of small instances


def price(delta: float = 0.05) -> None:
    """Evaluations go as σ² times the threshold's square: both prices of an estimate in one."""
    degrees = (10, 20, 30, 40, 60, 100, 200)
    print(f"What an estimate of σ costs, δ = {delta:g}: evaluations relative to a known σ")
    print(f"{'share of δ':>12}" + "".join(f"{f'ν = {each}':>10}" for each in degrees))
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        rest = 1.0 - math.log(1.0 - share) / BRACKET
        row = [inflation(each, share * delta) ** 2 * rest for each in degrees]
        mark = "  ← used, with at least ν = " + str(DEGREES) if share == SHARE else ""
        print(f"{share:12g}" + "".join(f"{each:10.2f}" for each in row) + mark)


def price_per_arm(delta: float = 0.05) -> None:
    """The same for a σ of each arm: the bounds of K arms share a fifth of δ."""
    degrees = (10, 20, 30, 40, 60, 100)
    print(f"\nThe same for a σ of each arm, share {SHARE:g}; used is ν = {DEGREES_OF_EACH}")
    print(f"{'arms':>12}" + "".join(f"{f'ν = {each}':>10}" for each in degrees))
    rest = 1.0 - math.log(1.0 - SHARE) / BRACKET
    for arms in (10, 40, 200, 1000):
        row = [inflation(each, SHARE * delta / arms) ** 2 * rest for each in degrees]
        print(f"{arms:12}" + "".join(f"{each:10.2f}" for each in row))


def recorded_rows(instance: Instance) -> dict[str, dict[str, Any]]:
    """What may be told of the noise of recorded rewards."""
    records = instance.parameters
    low, high = float(records.min()), float(records.max())
    return {
        "declared: σ = 0.5": {"sigma": 0.5},
        "bounded: range 0 to 1": {"sigma": "bounded", "reward_range": (0.0, 1.0)},
        "estimate (assumes normal noise)": {"sigma": "estimate"},
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
        "estimate": {"sigma": "estimate"},
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
        "estimate per arm": {"sigma": "estimate per arm"},
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    price()
    price_per_arm()
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
    spread = epilepsy.parameters.std(axis=0, ddof=1)
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
