"""Smooth truths that are not linear in their features, studied with default settings.

``python benchmarks/curved.py`` runs a plain ``Study(features, m, sigma)`` of every truth below with
each of 10 seeds and counts how many stopped, how many of these have a wrong list, and of the wrong
ones how many are said to be in doubt; beside those that are not, the misfit that their audit says it would
have found. ``--linear`` does the same for truths that are linear, and
counts those that are said to be in doubt all the same. ``--per-arm`` does either with
``sigma="estimate per arm"``.

``--verify`` then calls ``study.verify()`` and counts the lists that are wrong after that too. It also
gives the means of evaluations: of the first certificate, of both, of ``trust="guide"``, and without
features. There ε is a twentieth of the span of the means: without one, neighbouring
doses are so alike that own results would have to tell them apart for weeks.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import shortlist
from shortlist.study.guarantee_parts import guarantee_of
from shortlist.study.verification import expected_evaluations

SLACK = 0.05  # ε of ``--verify``, of the span of the means
RIVALS = (shortlist.Guided(), "Guess-and-verify (own results)")
MOST = 20_000  # evaluations; a study that needs more is counted as not stopped
MOST_LINEAR = 23  # linear truths of ``--verify``
LINEAR, GAP = 40, 0.1  # linear truths; between ranks m and m + 1, of the span of the means


class Truth(NamedTuple):
    """Features with a column of ones, and the means of the arms."""

    features: np.ndarray
    means: np.ndarray
    m: int
    sigma: float


def doses(
    count: int, low: float, high: float, mean: Callable[[Any], Any], m: int, sigma: float
) -> Truth:
    """Arms that differ in one number."""
    d = np.linspace(low, high, count)
    return Truth(np.column_stack([np.ones(count), d]), mean(d), m, sigma)


def points(
    count: int, dimension: int, mean: Callable[[Any], Any], m: int, sigma: float, seed: int
) -> Truth:
    """Arms in a cube, from -1 to 1 in every feature."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(count, dimension))
    return Truth(np.column_stack([np.ones(count), x]), mean(x.T), m, sigma)


def dose_response() -> Truth:
    return doses(50, 0.0, 10.0, lambda d: d / (2.0 + d), m=5, sigma=0.2)


def dose_response_with_a_peak() -> Truth:
    return doses(40, 0.0, 8.0, lambda d: d * np.exp(1.0 - d / 3.0) / 3.0, m=4, sigma=0.3)


def hill() -> Truth:
    return doses(60, 0.0, 6.0, lambda d: d**3 / (8.0 + d**3), m=5, sigma=0.25)


def hill_minus_toxicity() -> Truth:
    return doses(60, 0.0, 6.0, lambda d: d**2 / (1.0 + d**2) - 0.012 * d**2, m=5, sigma=0.2)


def hill_minus_late_toxicity() -> Truth:
    return doses(
        100, 0.0, 10.0, lambda d: d**2 / (4.0 + d**2) - 0.4 * (d / 10.0) ** 4, m=6, sigma=0.25
    )


def saturation() -> Truth:
    return doses(80, 0.0, 5.0, lambda d: 1.0 - np.exp(-d) - 0.08 * d, m=5, sigma=0.3)


def saturation_of_two() -> Truth:
    return points(
        120, 2, lambda x: np.tanh(1.5 * x[0]) + np.tanh(1.5 * x[1]) - 0.9 * x[0], 6, 0.5, seed=1
    )


def michaelis_inhibited() -> Truth:
    return doses(30, 0.2, 12.0, lambda d: d / (1.0 + d + d**2 / 12.0), m=3, sigma=0.2)


def interaction() -> Truth:
    return points(100, 2, lambda x: 0.5 * x[0] + 0.3 * x[1] + 0.8 * x[0] * x[1], 5, 0.5, seed=2)


def interaction_of_four() -> Truth:
    return points(200, 4, lambda x: 0.5 * x.sum(0) - 1.2 * x[0] * x[1], 5, 0.8, seed=3)


def interactions_of_six() -> Truth:
    return points(300, 6, lambda x: 0.4 * x.sum(0) + x[0] * x[1] - x[2] * x[3], 10, 0.7, seed=4)


def exponential() -> Truth:
    return doses(50, 0.0, 3.0, lambda d: np.exp(-2.0 * d) + 0.3 * d, m=5, sigma=0.2)


def exponential_decay_of_two() -> Truth:
    return points(
        150, 2, lambda x: 0.6 * np.exp(-1.5 * x[0]) + 0.5 * x[0] + 0.4 * x[1], 5, 0.6, seed=5
    )


def one_quadratic_of_five() -> Truth:
    return points(200, 5, lambda x: 0.4 * x.sum(0) - 0.8 * x[0] ** 2, 5, 0.6, seed=6)


def one_quadratic_of_five_300() -> Truth:
    return points(300, 5, lambda x: 0.5 * x[1:].sum(0) - 1.2 * x[0] ** 2, 8, 0.5, seed=7)


def quadratic_of_one() -> Truth:
    return doses(60, 0.0, 1.0, lambda d: d - 0.7 * d**2, m=5, sigma=0.1)


def quadratic_bowl() -> Truth:
    return points(100, 3, lambda x: 0.5 * x[0] - 0.6 * ((x - 0.3) ** 2).sum(0), 5, 0.7, seed=8)


def optimum_of_two() -> Truth:
    return points(
        225, 2, lambda x: np.exp(-((x[0] - 0.5) ** 2) - (x[1] - 0.2) ** 2), 8, 0.25, seed=9
    )


def logistic() -> Truth:
    return points(
        200, 3, lambda x: 1.0 / (1.0 + np.exp(-3.0 * x.sum(0))) - 0.2 * x[0], 6, 0.3, seed=10
    )


def logistic_of_one() -> Truth:
    return doses(80, -3.0, 3.0, lambda d: 1.0 / (1.0 + np.exp(-3.0 * d)) - 0.05 * d, m=5, sigma=0.3)


def yield_by_temperature() -> Truth:
    return points(120, 2, lambda x: np.cos(1.2 * x[0] - 0.4) + 0.3 * x[1], 5, 0.25, seed=11)


def logarithm() -> Truth:
    return doses(30, 1.0, 15.0, lambda d: np.log(d) - 0.12 * d, m=3, sigma=0.3)


def sine() -> Truth:
    return doses(100, 0.0, 2.5, lambda d: np.sin(d), m=6, sigma=0.2)


def truths() -> dict[str, Truth]:
    """The truths by name."""
    made = (
        *(dose_response, dose_response_with_a_peak, hill, hill_minus_toxicity),
        *(hill_minus_late_toxicity, saturation, saturation_of_two, michaelis_inhibited),
        *(interaction, interaction_of_four, interactions_of_six, exponential),
        *(exponential_decay_of_two, one_quadratic_of_five, one_quadratic_of_five_300),
        *(quadratic_of_one, quadratic_bowl, optimum_of_two, logistic, logistic_of_one),
        *(yield_by_temperature, logarithm, sine),
    )
    return {make.__name__.replace("_", " "): make() for make in made}


def linear_truths() -> dict[str, Truth]:
    """Truths that are exactly linear, of the sizes of the curved ones."""
    found = {}
    for seed in range(LINEAR):
        draw = np.random.default_rng([seed, 77])
        count, dimension = int(draw.integers(30, 301)), int(draw.integers(1, 7))
        theta = draw.normal(size=dimension)
        truth = points(count, dimension, lambda x, t=theta: t @ x, 5, 1.0, seed=seed)
        span, cut = float(np.ptp(truth.means)), float(np.sort(truth.means)[-truth.m])
        # Without a gap at the boundary such studies take ten thousands of evaluations.
        kept = (truth.means >= cut) | (truth.means < cut - GAP * span)
        found[f"linear {seed}"] = Truth(
            truth.features[kept], truth.means[kept], truth.m, span / draw.uniform(2.0, 8.0)
        )
    return found


def is_wrong(truth: Truth, answer: shortlist.Shortlist, epsilon: float) -> bool:
    """Whether a final answer has an arm that is not among the best, up to ε."""
    listed = answer.arms
    cut = np.sort(truth.means)[-truth.m] - epsilon - 1e-12
    return answer.final and bool((truth.means[listed] < cut).any())


def power(study: shortlist.Study, sigma: float) -> float:
    """The misfit that the audit would have found, in σ."""
    verdict = study.audit.verdict
    return np.nan if verdict is None else verdict.detectable / sigma


def one_study(
    truth: Truth, seed: int, verifies: bool = False, per_arm: bool = False
) -> dict[str, Any]:
    """What a plain study of the truth says, and whether it is right."""
    epsilon = SLACK * float(np.ptp(truth.means)) if verifies else 0.0
    # Noise of its own for each truth: studies that share it would be right or wrong together.
    noise = np.random.default_rng([seed, zlib.crc32(truth.means.tobytes())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sigma = "estimate per arm" if per_arm else truth.sigma
        given = {"m": truth.m, "sigma": sigma, "epsilon": epsilon, "seed": seed}
        study = shortlist.Study(truth.features, **given)

        def run() -> shortlist.Shortlist:
            return study.run(
                lambda trial: truth.means[trial.arm] + truth.sigma * noise.normal(),
                max_evaluations=MOST - study.evaluations,
                progress=False,
            )

        answer = run()
        badge = guarantee_of(study).badge
        said = {
            "stopped": answer.final,
            "wrong": is_wrong(truth, answer, epsilon),
            "in doubt": answer.final and badge.startswith("In doubt"),
            "badge": badge,
            "evaluations": study.evaluations,
            "found": power(study, truth.sigma),
        }
        if verifies and study.evaluations < MOST:
            expected = expected_evaluations(study)
            study.verify()
            answer = run()
            said |= {
                "verified": answer.final,
                "wrong then": is_wrong(truth, answer, epsilon),
                "badge then": guarantee_of(study).badge,
                "more": study.evaluations - said["evaluations"],
                "expected": expected,
            }
    return said


def rivals(truth: Truth, runs: int) -> list[float]:
    """The means of evaluations of other ways to a list that is proven whatever the means are."""
    instance = shortlist.instances.from_arrays(
        truth.features, means=truth.means, m=truth.m, sigma=truth.sigma
    )
    epsilon = SLACK * float(np.ptp(truth.means))
    settings = {"runs": runs, "epsilon": epsilon, "max_samples": MOST, "progress": False}
    found = [shortlist.compare(each, instance, seed=1, workers=1, **settings) for each in RIVALS]
    return [float(each.frame["samples"].mean()) for each in found]


def two_certificates(made: dict[str, Truth], runs: int) -> None:
    """A line for every truth: what the first certificate is worth, and what the second costs."""
    print(
        f"{'truth':30}{'K':>5}{'stopped':>9}{'wrong':>7}{'Proven':>8}{'verified':>10}{'wrong':>7}"
        f"{'first':>8}{'both':>8}{'said':>6}{'guide':>8}{'own':>8}"
    )
    total, ratios = np.zeros(5, np.int64), []
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, truth in made.items():
            others = pool.submit(rivals, truth, runs)
            rows = list(pool.map(one_study, [truth] * runs, range(runs), [True] * runs))
            verified = [row for row in rows if row.get("verified")]
            counts = (
                sum(row["stopped"] for row in rows),
                sum(row["wrong"] for row in rows),
                sum(row["wrong"] and row["badge"] == "Proven" for row in rows),
                len(verified),
                sum(row["wrong then"] for row in verified),
            )
            total += counts
            first = np.mean([row["evaluations"] for row in rows])
            both = np.mean([row["evaluations"] + row.get("more", 0) for row in rows])
            said = [row["more"] / row["expected"] for row in verified if row["stopped"]]
            guide, own = others.result()
            ratios.append([both, guide, own])
            print(
                f"{name:30}{len(truth.means):5}" + "{:9}{:7}{:8}{:10}{:7}".format(*counts),
                f"{first:7,.0f}{both:8,.0f}{np.median(said) if said else np.nan:6.1f}",
                f"{guide:7,.0f}{own:8,.0f}",
                flush=True,
            )
    print(f"{'all':35}" + "{:9}{:7}{:8}{:10}{:7}".format(*total))
    logs = np.log(np.array(ratios))
    over = np.exp((logs[:, :2, None] - logs[:, None, 2:]).mean(axis=0))
    words = "{:.2f} and {:.2f} of own results"
    print("both certificates, the guide: " + words.format(*over.T.ravel()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--linear", action="store_true", help="truths that are linear")
    parser.add_argument("--per-arm", action="store_true", help="with a σ of each arm to estimate")
    parser.add_argument("--verify", action="store_true", help="and the second certificate")
    parser.add_argument("--runs", type=int, default=10, help="seeds of each truth")
    given = parser.parse_args()
    made = linear_truths() if given.linear else truths()
    if given.verify:
        two_certificates(dict(list(made.items())[:MOST_LINEAR]), given.runs)
        return
    print(
        f"{'truth':30}{'K':>5}{'N':>3}{'span/σ':>8}{'stopped':>9}{'wrong':>7}{'in doubt':>10}"
        f"{'not':>5}{'(found)':>14}{'right, in doubt':>17}{'evaluations':>13}"
    )
    total, badges = np.zeros(5, np.int64), Counter[str]()
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, truth in made.items():
            same = [[each] * given.runs for each in (truth, False, given.per_arm)]
            rows = list(pool.map(one_study, same[0], range(given.runs), *same[1:]))
            wrong = [row["in doubt"] for row in rows if row["wrong"]]
            right = [row["in doubt"] for row in rows if row["stopped"] and not row["wrong"]]
            counts = (
                *(len(wrong) + len(right), len(wrong), sum(wrong)),
                *(len(wrong) - sum(wrong), sum(right)),
            )
            silent = [row["found"] for row in rows if row["wrong"] and not row["in doubt"]]
            found = f"({np.median(silent):.1f} σ)" if silent else ""
            total += counts
            badges.update(row["badge"] for row in rows)
            print(
                f"{name:30}{len(truth.means):5}{truth.features.shape[1]:3}"
                f"{np.ptp(truth.means) / truth.sigma:8.1f}"
                + "{:9}{:7}{:10}{:5}".format(*counts[:4])
                + f"{found:>14}{counts[4]:17}{np.median([row['evaluations'] for row in rows]):13,.0f}",
                flush=True,
            )
    sums = "{:9}{:7}{:10}{:5}".format(*total[:4])
    print(f"{'all':46}{sums}{total[4]:31}")
    print("; ".join(f"{badge}: {number}" for badge, number in badges.most_common()))


if __name__ == "__main__":
    sys.exit(main())
