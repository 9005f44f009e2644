"""What an inflated σ costs: evaluations and errors by what is told of the noise.

``errors`` attacks the estimate for each arm: two arms of equal means, in a test that should not pass.
``features`` compares ways to a list where means are linear and each arm has a σ of its own.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import shortlist
from shortlist.noise.estimated import (
    DEGREES,
    DEGREES_MEASURED,
    DEGREES_OF_EACH,
    MOST_EQUAL,
    SHARE,
    inflation,
)
from shortlist.plans.bets.linear import bets_on, half_normal
from shortlist.plans.bets.normal import Moments, least_distances, price
from shortlist.plans.bets.student import FEWEST, MOST_DEGREES, log_factor
from shortlist.plans.evidence import HALF_WIDTH, PairEvidence
from shortlist.simulation.instances import Instance
from shortlist.simulation.results import clopper_pearson

PER_ARM = "estimate per arm"
BRACKET = 6.0  # ln(1/δ) + ½ ln det(…) of the threshold, as it is at the stop of small instances


def price_of_sigma(delta: float = 0.05) -> None:
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


# Errors with an estimate for each arm

Draw = Callable[[np.random.Generator, np.ndarray, float], np.ndarray]
PATHS, LOOKS = 10_000, 150
PLACES = ((0.05, 3.5), (3.5, 0.05), (1.0, 1.0))  # σ of the arm b that should not pass, and of c
RARE, LARGE = 0.005, 14.0  # how often a large value comes, and its size; the whole has variance 1


def normal(rng: np.random.Generator, counts: np.ndarray, sign: float) -> np.ndarray:
    """Sums of so many results of mean 0 and variance 1; ``sign`` turns those that are skewed."""
    return np.sqrt(counts) * rng.standard_normal(counts.shape)


def two_values(share: float) -> Draw:
    """The same for results that have only two values."""

    def draw(rng: np.random.Generator, counts: np.ndarray, sign: float) -> np.ndarray:
        high = rng.binomial(counts, share) - counts * share
        return sign * high / math.sqrt(share * (1.0 - share))

    return draw


def rarely_large(rng: np.random.Generator, counts: np.ndarray, sign: float) -> np.ndarray:
    """The same for normal results, of which a few are much larger."""
    large = LARGE * (rng.binomial(counts, RARE) - counts * RARE)
    rest = math.sqrt(1.0 - LARGE**2 * RARE * (1.0 - RARE))
    return sign * large + rest * normal(rng, counts, sign)


def passed(
    draw: Draw, sigmas: tuple[float, float], degrees: int, delta: float, named: bool, bounded: bool
) -> tuple[np.ndarray, np.ndarray]:
    """On which paths arm b passes against c, whose mean is the same; and which are heuristic.

    Plans are short where b is near to passing, and pulls are shared out by the bounds on σ. If
    ``named``, the first plan only chooses ρ, and the test begins after it.
    """
    rng, signs, count = np.random.default_rng(0), (-1.0, 1.0), degrees + 1
    factor = inflation(degrees, SHARE * delta / 2) if bounded else 1.0
    each = np.ones((PATHS, count), np.int64)
    first = [s * draw(rng, each, sign) for s, sign in zip(sigmas, signs, strict=True)]
    b, c = (factor * np.maximum(y.std(axis=1, ddof=1), 1e-9) for y in first)
    equal = [(y == np.median(y, axis=1)[:, None]).mean(axis=1) for y in first]
    heuristic = np.maximum(*equal) > MOST_EQUAL
    pulls, sums = np.full((2, PATHS), count), [y.sum(axis=1) for y in first]
    evidence, share = PairEvidence.none(np.zeros(1, np.int64), np.zeros((1, PATHS))), b / (b + c)
    for look in range(LOOKS):
        gap = sums[0] / pulls[0] - sums[1] / pulls[1]
        information = 1.0 / (b**2 / pulls[0] + c**2 / pulls[1])
        if named and look == 0:
            evidence = PairEvidence.none(
                np.zeros(1, np.int64), np.where(gap > 0.0, 0.3, 3.0)[None] * information
            )
        else:
            evidence = evidence.add(gap[None], information[None], 1.0)
        near = evidence.scores[0] > 0.5 * np.sqrt(evidence.information[0])
        length = 2 * count * 1.08**look * np.where(near, 0.1, 1.0)
        pulls = np.maximum(1, np.rint(length * [share, 1.0 - share])).astype(np.int64)
        sums = [s * draw(rng, n, sign) for s, n, sign in zip(sigmas, pulls, signs, strict=True)]
    return evidence.largest[0] >= -math.log((1.0 - SHARE) * delta), heuristic


def moments(rng: np.random.Generator, sigma: float, pulls: np.ndarray) -> Moments:
    """Averages and sums of squares of so many normal results of mean 0, one path after the other."""
    squares = np.where(pulls > 1, rng.chisquare(np.maximum(pulls - 1, 1)), 0.0)
    means = sigma * rng.standard_normal(len(pulls)) / np.sqrt(pulls)
    return Moments(pulls.astype(np.float64), means, sigma**2 * squares)


def passed_by_likelihoods(sigmas: tuple[float, float], delta: float) -> np.ndarray:
    """On which paths b passes by likelihoods, whatever σ is, named after a few results of each.

    Plans are short where b is near to passing, and pulls are shared out by what results show of σ.
    """
    rng, count = np.random.default_rng(0), DEGREES_MEASURED + 1
    prior = [moments(rng, s, np.full(PATHS, count)) for s in sigmas]
    since, largest = [Moments.none(PATHS)] * 2, np.full(PATHS, -np.inf)
    now = largest
    for look in range(LOOKS):
        sizes = [
            np.sqrt((a + b).squares / np.maximum((a + b).pulls - 1.0, 1.0))
            for a, b in zip(prior, since, strict=True)
        ]
        length = 2 * count * 1.08**look * np.where(now > 0.0, 0.1, 1.0)
        share = sizes[0] / (sizes[0] + sizes[1])
        pulls = np.maximum(1, np.rint(length * [share, 1.0 - share])).astype(np.int64)
        since = [e + moments(rng, s, n) for e, s, n in zip(since, sigmas, pulls, strict=True)]
        paid = np.maximum(sum(price(a, b) for a, b in zip(prior, since, strict=True)), 0.0)
        spread = [np.maximum(each.squares / each.pulls, 1e-300) for each in since]
        now = np.empty(PATHS)
        gaps = since[0].means - since[1].means
        least_distances(gaps, since[0].pulls, since[1].pulls, *spread, now)
        now = now - paid
        largest = np.maximum(largest, now)
    return np.asarray(largest >= -math.log(delta))


def passed_by_students(sigmas: tuple[float, float], delta: float) -> np.ndarray:
    """The same by Student's statistics of every plan, which has some results of both arms."""
    rng, count = np.random.default_rng(0), DEGREES_MEASURED + 1
    seen = [moments(rng, s, np.full(PATHS, count)) for s in sigmas]
    first = np.sqrt(sum(each.squares / (count - 1) / count for each in seen))
    sizes = np.maximum(np.abs(seen[0].means - seen[1].means), HALF_WIDTH * first)
    wealths, largest = np.tile(half_normal(), (PATHS, 1)), np.full(PATHS, -np.inf)
    now = largest
    for look in range(LOOKS):
        squares = [each.squares / (each.pulls - 1.0) for each in seen]
        length = 2 * FEWEST * 1.05**look * np.where(now > 0.0, 0.1, 1.0)
        share = np.sqrt(squares[0]) / (np.sqrt(squares[0]) + np.sqrt(squares[1]))
        pulls = np.maximum(FEWEST, np.rint(length * [share, 1.0 - share])).astype(np.int64)
        told = [moments(rng, s, n) for s, n in zip(sigmas, pulls, strict=True)]
        errors = np.sqrt(sum(each.squares / (each.pulls - 1.0) / each.pulls for each in told))
        expected = np.sqrt(squares[0] / pulls[0] + squares[1] / pulls[1])
        statistics = (told[0].means - told[1].means) / errors
        degrees = np.minimum(pulls.min(axis=0) - 1, MOST_DEGREES)
        for each in np.unique(degrees):
            here = degrees == each
            bets = bets_on(sizes[here]) / expected[here][:, None]
            wealths[here] += log_factor(statistics[here][:, None], bets, int(each))
        now = np.logaddexp.reduce(wealths, axis=1)
        largest = np.maximum(largest, now)
        seen = [a + b for a, b in zip(seen, told, strict=True)]
    return np.asarray(largest >= -math.log(delta))


def errors() -> None:
    """How often the test passes, where σ is placed worst; it should be at most δ."""
    deltas, replicates = (0.05, 0.3, 0.8), DEGREES_OF_EACH
    rows: list[tuple[str, Draw, int, bool, bool]] = [
        ("normal", normal, replicates, False, True),
        ("normal, named after the replicates", normal, replicates, True, True),
        ("normal", normal, 8, False, True),
        ("normal, s.d. without the χ² bound", normal, 8, False, False),
        ("−1 or 1", two_values(0.5), replicates, False, True),
        ("two values, 30 % and 70 %", two_values(0.3), replicates, False, True),
        ("two values, 5 % and 95 %", two_values(0.05), replicates, False, True),
        ("normal, 1 in 200 large", rarely_large, replicates, False, True),
    ]
    print(f"How often arm b passes against c of the same mean, {PATHS:,} paths of {LOOKS} looks")
    titles = "".join(f"{f'δ = {delta:g}':>12}" for delta in deltas)
    print(f"{'noise':36}{'ν':>4}{titles}{'heuristic':>12}")
    for label, draw, degrees, named, bounded in rows:
        cells, flagged = "", 0.0
        for delta in deltas:
            found = [passed(draw, place, degrees, delta, named, bounded) for place in PLACES]
            wrong = max(int(each.sum()) for each, _ in found)
            flagged = max(float(each.mean()) for _, each in found)
            mark = " !" if clopper_pearson(wrong, PATHS)[0] > delta else ""
            cells += f"{f'{wrong / PATHS:.4f}{mark}':>12}"
        print(f"{label:36}{degrees:4}{cells}{flagged:12.0%}", flush=True)
    for label, test in (
        ("normal, by likelihoods", passed_by_likelihoods),
        ("normal, by Student's statistics", passed_by_students),
    ):
        cells = ""
        for delta in deltas:
            wrong = max(int(test(place, delta).sum()) for place in PLACES)
            mark = " !" if clopper_pearson(wrong, PATHS)[0] > delta else ""
            cells += f"{f'{wrong / PATHS:.4f}{mark}':>12}"
        print(f"{label:36}{DEGREES_MEASURED:4}{cells}{0.0:12.0%}", flush=True)
    print("! above δ by the exact 95 % interval")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("costs", "features", "errors"), default="costs")
    parser.add_argument("--runs", type=int, default=200, help="of each cost")
    options = parser.parse_args()
    if options.what == "errors":
        errors()
        return
    if options.what == "features":
        with_features(options.runs)
        return
    price_of_sigma()
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
