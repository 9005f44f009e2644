"""The suite of ``make bench-samples``: its instances, and who competes on which of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import shortlist
from shortlist.catalog.recommendation import recommended
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.algorithm import Algorithm
from shortlist.errors import DataUnavailable
from shortlist.simulation.instances import Instance

DELTA = 0.05
FEATURES, COINS, LIES, RECORDS = "features", "coins", "lies", "records"


PAPER = shortlist.GIFA(threshold="frequentist", name="m-LinGapE, the paper's threshold (2)")
TRACKING: tuple[Algorithm, ...] = (find_algorithm("LinGame"),)
DEFAULT = ("m-LinGapE", "m-LinGapE optimized", "LinGIFA")  # with the threshold self_normalized
LINEAR: tuple[Algorithm, ...] = (
    PAPER,
    *(find_algorithm(name) for name in DEFAULT),
    *TRACKING,
    find_algorithm("Guess-and-verify"),
)
CLASSICAL: tuple[Algorithm, ...] = tuple(
    find_algorithm(name) for name in (*("LUCB", "UGapE", "Guess-and-verify (own results)"),)
)
VARIANTS = ("m-LinGapE optimized", "LinGIFA")
HUGE = 10**6  # K·rank²: above, variants that differ little elsewhere are left out
LARGE = 15_000  # K·rank²: above, a round of a tracking algorithm takes too long for this suite
C = 0.02  # how far from linear the means of the lying instance are


@dataclass(frozen=True)
class Entry:
    """An instance of the suite."""

    label: str
    instance: Instance
    kind: str = FEATURES

    @property
    def contenders(self) -> tuple[Algorithm, ...]:
        """Those that are proven on it."""
        K, rank = self.instance.features.shape
        if self.kind == LIES:
            return CLASSICAL
        if self.kind == COINS:
            return (*LINEAR, *CLASSICAL)
        slow = TRACKING if K * rank**2 > LARGE else ()
        fast = [each for each in LINEAR if each not in slow]
        if K * rank**2 > HUGE:
            fast = [each for each in fast if not each.name.startswith(VARIANTS)]
        return (*fast, *CLASSICAL)

    @property
    def auto(self) -> str:
        """The name of what ``"auto"`` takes; where features lie, of what is for that."""
        if self.kind == LIES:
            return "Guess-and-verify (own results)"
        return recommended(self.instance.problem(DELTA, 0.0, None)).name

    def limit(self) -> float:
        """What no algorithm can do without: kl(δ, 1 − δ)·T*, for normal noise of the declared σ.

        For coins it is that of coins; NaN where the means are not linear in the features.
        """
        if self.kind == LIES:
            return float("nan")
        if self.kind == COINS:
            return coins_limit(self.instance.means, self.instance.m)
        return shortlist.theory.lower_bound(self.instance, DELTA).samples


def unit(K: int, N: int, m: int, gap: float, seed: int = 1) -> Instance:
    """Random unit-norm features, and a random θ, as long as makes the gap at rank m the one asked."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    ordered = np.sort(features @ theta)[::-1]
    theta *= gap / (ordered[m - 1] - ordered[m])
    return shortlist.instances.from_arrays(features, theta=theta, m=m, sigma=0.5)


def lying(K: int, N: int, m: int, c: float, seed: int) -> Instance:
    """Unit-norm features and θ, and every mean off Xθ by c, up or down."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    means = features @ theta + c * rng.choice([-1.0, 1.0], K)
    return shortlist.instances.from_arrays(features, means=means, m=m, sigma=0.5)


def entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """kl(p, q) of coins."""
    return p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))


def coins_limit(means: np.ndarray, m: int) -> float:
    """kl(δ, 1 − δ)·T* for coins without features (Garivier and Kaufmann 2016, for the m best)."""
    order = np.argsort(-means)
    top, rest = np.repeat(order[:m], len(means) - m), np.tile(order[m:], m)

    def evidence(w: np.ndarray) -> np.ndarray:
        meet = (w[top] * means[top] + w[rest] * means[rest]) / (w[top] + w[rest])
        return w[top] * entropy(means[top], meet) + w[rest] * entropy(means[rest], meet)

    even = np.full(len(means), 1.0 / len(means))
    start = np.append(even, evidence(even).min())
    solved = minimize(
        lambda z: -z[-1],
        start,
        bounds=[(1e-9, 1.0)] * len(means) + [(0.0, None)],
        constraints=[
            {"type": "eq", "fun": lambda z: z[:-1].sum() - 1.0},
            {"type": "ineq", "fun": lambda z: (evidence(z[:-1]) - z[-1]) / start[-1]},
        ],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    value = evidence(solved.x[:-1] / solved.x[:-1].sum()).min()
    delta = np.array([DELTA])
    return float(entropy(delta, 1.0 - delta)[0] / value)


def epilepsy() -> Instance:
    """The paper's drug instance: a pull draws one of 18 recorded rewards."""
    return shortlist.data.drug_instance()


def _entries() -> dict[str, Callable[[], tuple[Instance, str]]]:
    classic, arrays = shortlist.instances.classic, shortlist.instances.from_arrays
    steps = np.linspace(0.5, 0.05, 10)
    return {
        "π/6, K = 4, N = 3, m = 2 (Figure 1a)": lambda: (classic(4, 2, np.pi / 6), FEATURES),
        "ω = 0.1, K = 3, N = 2, m = 1 (Figure 1b)": lambda: (classic(3, 1, 0.1), FEATURES),
        "π/3, K = 4, N = 3, m = 2": lambda: (classic(4, 2, np.pi / 3), FEATURES),
        "random, K = 10, N = 5, m = 3 (appendix)": lambda: (appendix(3), FEATURES),
        "random, K = 10, N = 3, m = 3": lambda: (unit(10, 3, 3, 0.2), FEATURES),
        "random, K = 20, N = 3, m = 3": lambda: (unit(20, 3, 3, 0.1), FEATURES),
        "random, K = 50, N = 5, m = 5": lambda: (unit(50, 5, 5, 0.1), FEATURES),
        "random, K = 30, N = 8, m = 5": lambda: (unit(30, 8, 5, 0.2), FEATURES),
        "random, K = 200, N = 10, m = 5": lambda: (unit(200, 10, 5, 0.1), FEATURES),
        "random, K = 60, N = 50, m = 5": lambda: (unit(60, 50, 5, 0.1), FEATURES),
        "random, K = 120, N = 100, m = 5": lambda: (unit(120, 100, 5, 0.2), FEATURES),
        "no features, K = 10, m = 3": lambda: (
            arrays(np.eye(10), means=2.0 * steps, m=3, sigma=0.5),
            FEATURES,
        ),
        "coins, K = 10, m = 3": lambda: (
            arrays(np.eye(10), means=steps, m=3, sigma=0.5, noise="bernoulli"),
            COINS,
        ),
        "epilepsy, recorded, K = 10, N = 71, m = 5": lambda: (epilepsy(), RECORDS),
        f"features that lie by {C}, K = 20, N = 5, m = 5": lambda: (
            lying(20, 5, 5, C, 0),
            LIES,
        ),
    }


def appendix(m: int) -> Instance:
    """The random instance of the paper's appendix."""
    file = Path(__file__).parents[1] / "reproduction" / "random_instance.csv"
    features, theta = np.loadtxt(file, delimiter=","), np.eye(5)[0]
    return shortlist.instances.from_arrays(features, theta=theta, m=m, sigma=0.5)


def suite() -> list[Entry]:
    """All instances; the recorded one only where its data is."""
    entries = []
    for label, make in _entries().items():
        try:
            instance, kind = make()
        except DataUnavailable as error:
            print(f"left out: {label}: {error}")
            continue
        entries.append(Entry(label, instance, kind))
    return entries
