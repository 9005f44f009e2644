"""A round from 4 to a million arms: time, memory touched, and both beside a copy and plain NumPy.

    python benchmarks/scale.py [--most 1000000] [--picture docs/images/performance.png]

One pass is the time in which a copy moves as many bytes as X has (a copy reads and writes: X copied
is two passes). Times are CPU time of one thread, the least of some tries: the machine is shared.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numba
import numpy as np

import shortlist
from shortlist.algorithms import kernel
from shortlist.algorithms.catalog import find_algorithm
from shortlist.algorithms.engine import Engine, run_seeds
from shortlist.algorithms.reach import COMPANIONS, SINCE

SIZES = {
    4: (3, 2),
    10: (10, 3),
    100: (50, 10),
    509: (71, 5),
    1_000: (50, 10),
    10_000: (50, 10),
    100_000: (50, 10),
    1_000_000: (50, 10),
}
SIGMA = 0.5
ROUNDS = {4: 4000, 10: 4000, 100: 2000, 509: 800, 1_000: 500, 10_000: 150, 100_000: 60}
AFTER = 100  # rounds before the clock starts: past the start
UP_TO = {"m-LinGapE": 1_000_000, "LinGIFA": 100_000}  # longer would take minutes
NUMPY_UP_TO = {"m-LinGapE": 100_000, "LinGIFA": 509}


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    algorithm: str
    K: int
    N: int
    m: int
    ours: float  # µs a round
    one_pass: float  # µs
    speed: float  # GB/s of the copy
    touched: float  # bytes a round, in passes
    plain: float  # µs a round in NumPy


@numba.njit(nogil=True)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(source.size):
        target[i] = source[i]


def least(action: Callable[[], object], tries: int) -> float:
    """CPU seconds."""
    best = math.inf
    for _ in range(tries):
        start = time.thread_time()
        action()
        best = min(best, time.thread_time() - start)
    return best


def one_pass(x: np.ndarray) -> float:
    """Microseconds in which a copy moves as many bytes as X has."""
    source, target = x.ravel(), np.ones(x.size)
    copy(source, target)
    times = max(1, 2_000_000 // x.size)

    def copies() -> None:
        for _ in range(times):
            copy(source, target)

    return least(copies, 7) / times / 2.0 * 1e6


class Naive(Engine):
    """The whole of G, and every gap index of every round."""

    @property
    def flags(self) -> int:
        """Nothing may be left unknown."""
        return Engine.flags.func(self) & ~(kernel.SCREENED | kernel.CANDIDATES_MAY_STAY)

    def _resident(self) -> int:
        return len(self.features)


def naive(engine: Engine) -> Engine:
    return Naive(**{each.name: getattr(engine, each.name) for each in fields(engine)})


def prepared(name: str, K: int, N: int, m: int) -> tuple[Engine, np.ndarray]:
    """The algorithm on Gaussian features, with the settings of the first few hundred arms."""
    rng = np.random.default_rng([K, N])
    x = rng.standard_normal((K, N)) / math.sqrt(N)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    few = shortlist.instances.from_arrays(x[: 5 * N], theta=theta, m=m, sigma=SIGMA)
    engine = find_algorithm(name).bind(few.problem(0.05, 0.0)).engine
    if K > 5 * N:
        after = np.zeros(K, np.int64)
        engine = replace(engine, features=x, noise=np.ones(K), after_pilot=after)
    return engine, np.vstack([x @ theta, np.full(K, SIGMA)])


def a_round(engine: Engine, parameters: np.ndarray, rounds: int, tries: int = 3) -> float:
    """Microseconds: a long run less a short one, so that the start does not count."""
    reward = shortlist.instances.classic(K=4, m=2, omega=1.0).reward
    begun = len(engine.initial) + AFTER
    spent, done = [], []
    for most in (begun, begun + rounds):

        def run(most: int = most) -> int:
            seeds = run_seeds(0, 1)
            return int(engine.replicate(reward, parameters, seeds, most).samples[0])

        done.append(run())
        spent.append(least(run, tries))
    return (spent[1] - spent[0]) / max(done[1] - done[0], 1) * 1e6


def touched(engine: Engine, parameters: np.ndarray, rounds: int) -> float:
    """Bytes a round in passes, counted from what each round did to the arrays."""
    rng = np.random.default_rng(0)
    K, N = engine.features.shape
    posterior, now = engine.posterior(), engine.round()
    state = posterior.state
    rows = state.rows.shape[0]

    def observe(arm: int) -> None:
        posterior.observe(arm, parameters[0, arm] + SIGMA * rng.standard_normal())

    for arm in engine.initial.tolist():
        observe(arm)
    posterior.refresh()
    columns = 0.0  # vectors of K numbers, read or written; X is N of them
    for t in range(AFTER + rounds):
        if t == AFTER:
            columns = 0.0
        owners, reach, before = state.owners.copy(), now.reach.copy(), now.reached.copy()
        decision, now = engine.decide(posterior, now, 1, check_stop=False)
        listed = engine.m + 1
        if rows == K:
            columns += 5 * listed + 4  # the columns of B, means, variances, the greedy scan
            columns += 3 * K if now.gaps.shape[0] == K and engine.flags & kernel.MTH_GAPS else 0
        else:
            made = int(np.sum(owners != state.owners))
            columns += made + (N * math.ceil(made / 2) if rows == 2 else N * made) + 4 + 2
            if rows > engine.m:
                columns += 3 * listed + (rows + 4 if engine.flags & kernel.MTH_GAPS else 0)
            else:
                extended = now.reached[COMPANIONS] > before[COMPANIONS]
                extended |= now.reached[SINCE] != before[SINCE]
                columns += 2 + (N + 3) * extended + np.sum(reach != now.reach) * (N + 3) / K
        missing = state.slots[decision.arm] < 0
        columns += 6 + 2 * rows + (N if missing else 0)  # u, means, variances; the resident rows
        observe(decision.arm)
    return columns / rounds / N


def plain(name: str, engine: Engine, parameters: np.ndarray, rounds: int) -> float:
    """Microseconds a round of the same in NumPy, with V⁻¹ updated and the rest made anew."""
    rng = np.random.default_rng(0)
    x, m = engine.features, engine.m
    K = len(x)
    posterior = engine.posterior()
    for arm in engine.initial.tolist():
        posterior.observe(arm, parameters[0, arm] + SIGMA * rng.standard_normal())
    pulls, sums = posterior.pulls.astype(float), posterior.state.sums
    inverse = np.linalg.inv(x.T @ (pulls[:, None] * x))
    response = x.T @ sums
    start = time.thread_time()
    for _ in range(rounds):
        image = x @ inverse
        means, variances = image @ response, np.einsum("ij,ij->i", image, x)
        wanted = np.argpartition(-means, m)[:m] if name == "m-LinGapE" else np.arange(K)
        gram = image @ x[wanted].T
        squares = variances[:, None] + variances[wanted] - 2.0 * gram
        gaps = means[:, None] - means[wanted] + 3.0 * np.sqrt(np.maximum(squares, 0.0))
        if name == "m-LinGapE":
            inside = wanted
            gaps[inside] = -np.inf
            b = inside[gaps.max(axis=0).argmax()]
            c = gaps[:, list(inside).index(b)].argmax()
        else:
            np.fill_diagonal(gaps, -np.inf)
            mth = np.partition(gaps, K - m, axis=0)[K - m]
            inside = np.argpartition(mth, m)[:m]
            b = inside[mth[inside].argmax()]
            column = gaps[:, b].copy()
            column[inside] = -np.inf
            c = column.argmax()
        gains = (image @ (x[b] - x[c])) ** 2 / (1.0 + variances)
        arm = int(gains.argmax())
        y = image[arm]
        inverse -= np.outer(y, y) / (1.0 + x[arm] @ y)
        response += (parameters[0, arm] + SIGMA * rng.standard_normal()) * x[arm]
    return (time.thread_time() - start) / rounds * 1e6


def measured(name: str, K: int) -> Line:
    N, m = SIZES[K]
    engine, parameters = prepared(name, K, N, m)
    ours = a_round(engine, parameters, ROUNDS.get(K, 25), 3 if K <= 100_000 else 1)
    moved = one_pass(engine.features)
    share = touched(engine, parameters, min(ROUNDS.get(K, 10), 50))
    slow = math.nan
    if NUMPY_UP_TO[name] >= K:
        slow = plain(name, engine, parameters, max(2, min(100, 20_000 // K)))
    return Line(name, K, N, m, ours, moved, 8e-3 * K * N / moved, share, slow)


def print_line(line: Line) -> None:
    plain_text = f"{line.plain:14,.0f}" if math.isfinite(line.plain) else f"{'–':>14}"
    print(
        f"{line.algorithm:10}{line.K:>10,}{line.N:4}{line.m:4}{line.ours:13,.1f}"
        f"{line.one_pass:12,.1f}{line.ours / line.one_pass:9.2f}{line.touched:9.2f}"
        f"{line.speed:8.1f}{plain_text}",
        flush=True,
    )


def exponent(lines: list[Line]) -> float:
    """Slope of log time over log K from 10⁴ arms on."""
    large = [line for line in lines if line.K >= 10_000]
    if len(large) < 2:
        return math.nan
    return float(
        np.polyfit([math.log(e.K) for e in large], [math.log(e.ours) for e in large], 1)[0]
    )


def against_naive() -> None:
    print("\nThe same rules with the whole of G and every gap index (compiled), K=509, N=71, m=5:")
    for name in ("m-LinGapE", "LinGIFA"):
        engine, parameters = prepared(name, 509, *SIZES[509])
        slow = a_round(naive(engine), parameters, 200)
        fast = a_round(engine, parameters, 800)
        print(f"{name:12}{slow:9.1f} µs naive{fast:9.1f} µs here{slow / fast:8.1f} ×")


def picture(lines: list[Line], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    for name, colour in (("m-LinGapE", "#3465a4"), ("LinGIFA", "#cc5500")):
        own = [line for line in lines if line.algorithm == name]
        axes.plot([e.K for e in own], [e.ours for e in own], "o-", color=colour, label=name)
        slow = [e for e in own if math.isfinite(e.plain)]
        axes.plot(
            *([e.K for e in slow], [e.plain for e in slow], "s:"),
            color=colour, alpha=0.6, label=f"{name}, plain NumPy",
        )  # fmt: skip
    own = [line for line in lines if line.algorithm == "m-LinGapE" and line.K >= 1_000]
    axes.plot(
        *([e.K for e in own], [e.one_pass for e in own], "-"),
        color="black", linewidth=1, label="one pass over X",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="arms K", ylabel="µs a round (one thread)")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000, help="the largest K")
    parser.add_argument("--picture", help="where to draw it")
    asked = parser.parse_args()
    print(
        f"{'':10}{'K':>10}{'N':>4}{'m':>4}{'µs a round':>13}{'pass, µs':>12}{'passes':>9}"
        f"{'touched':>9}{'GB/s':>8}{'NumPy, µs':>14}"
    )
    lines = []
    for name in ("m-LinGapE", "LinGIFA"):
        for K in SIZES:
            if min(asked.most, UP_TO[name]) >= K:
                lines.append(measured(name, K))
                print_line(lines[-1])
        own = [line for line in lines if line.algorithm == name]
        print(f"{name}: cost grows as K^{exponent(own):.2f} from 10⁴ arms on (asked: ≤ 1.05)")
    against_naive()
    if asked.picture:
        picture(lines, asked.picture)


if __name__ == "__main__":
    main()
