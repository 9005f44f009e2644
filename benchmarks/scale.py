"""A round from 4 to a million arms: time, memory touched, and both beside a copy and plain NumPy.

    python benchmarks/scale.py [--most 1000000] [--picture scale.png]

One pass is the time in which a copy moves as many bytes as X has (a copy reads and writes: X copied
is two passes). Times are CPU time of one thread: the machine is shared. Every algorithm is measured
after a spanning set of initial pulls (the default), and after every arm has been pulled once.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numba
import numpy as np
from shortlist.engine.engine import Engine
from shortlist.engine.many_arms.memory import rows_read
from shortlist.engine.settings import settings_of_rules

import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.seeds import run_seeds

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
ALONE = 2_000  # arms: from here on rounds are timed one by one
AFTER = 300  # rounds before the clock starts: past the start
ROUNDS = {4: 20_000, 10: 20_000, 100: 4_000, 509: 2_000, 1_000: 1_000, 10_000: 1_000}
ROUNDS |= {100_000: 700, 1_000_000: 700}
LINGIFA_ROUNDS = {100_000: 200, 1_000_000: 40}  # after spanning pulls: longer would take minutes
NUMPY_UP_TO = {"m-LinGapE": 100_000, "LinGIFA": 509}


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    algorithm: str
    start: str
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
    def _settings_of_rules(self) -> dict[str, Any]:
        """Nothing may be left unknown."""
        rules = settings_of_rules(self.rules)
        return rules | {"candidates_may_stay": 0}

    @property
    def _skips_arms(self) -> bool:
        return False

    def _resident(self) -> int:
        return len(self.setup.features)


def naive(engine: Engine) -> Engine:
    return Naive(**{each.name: getattr(engine, each.name) for each in fields(engine)})


def prepared(name: str, start: str, K: int) -> tuple[Engine, np.ndarray]:
    """The algorithm on Gaussian features, with the settings of the first few hundred arms."""
    N, m = SIZES[K]
    rng = np.random.default_rng([K, N])
    x = rng.standard_normal((K, N)) / math.sqrt(N)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    few = shortlist.instances.from_arrays(x[: 5 * N], theta=theta, m=m, sigma=SIGMA)
    engine = find_algorithm(name).bind(few.problem(0.05, 0.0)).engine
    if K > 5 * N:
        setup = replace(engine.setup, features=x, noise=np.ones(K))
        engine = replace(engine, setup=setup)
    if start == "each":
        engine = replace(engine, setup=replace(engine.setup, initial=np.arange(K)))
    return engine, np.vstack([x @ theta, np.full(K, SIGMA)])


class Player:
    """An engine, and where it stands after the initial pulls."""

    def __init__(self, engine: Engine, parameters: np.ndarray) -> None:
        self.engine, self.means, self.rng = engine, parameters[0], np.random.default_rng(0)
        self.posterior, self.now = engine.posterior(), engine.round()
        state = self.posterior.state
        state.pulls[:] = np.bincount(engine.setup.initial, minlength=len(self.means))
        noise = np.sqrt(state.pulls) * self.rng.standard_normal(len(self.means))
        state.sums[:] = state.pulls * self.means + SIGMA * noise
        state.observed[0], state.ready[0] = len(engine.setup.initial), 0
        self.posterior.refresh()

    def play(self) -> float:
        """One round; its seconds."""
        start = time.thread_time()
        decision, self.now = self.engine.decide(self.posterior, self.now, 1, check_stop=False)
        value = self.means[decision.arm] + SIGMA * self.rng.standard_normal()
        self.posterior.observe(decision.arm, value)
        return time.thread_time() - start


def a_round(engine: Engine, parameters: np.ndarray, rounds: int, tries: int = 3) -> float:
    """Microseconds, ``AFTER`` rounds after the initial pulls."""
    K = len(engine.setup.features)
    if K >= ALONE:
        player = Player(engine, parameters)
        for _ in range(AFTER):
            player.play()
        return sum(player.play() for _ in range(rounds)) / rounds * 1e6
    reward = shortlist.instances.classic(K=4, m=2, omega=1.0).reward
    begun = len(engine.setup.initial) + AFTER

    def run(most: int) -> Callable[[], int]:
        seeds = run_seeds(0, 1)
        return lambda: int(engine.replicate(reward, parameters, seeds, most).samples[0])

    done = [run(most)() for most in (begun, begun + rounds)]
    spent = [least(run(most), tries) for most in (begun, begun + rounds)]
    return (spent[1] - spent[0]) / max(done[1] - done[0], 1) * 1e6


def touched(engine: Engine, parameters: np.ndarray, rounds: int) -> float:
    """Bytes a round in passes, counted from what each round did to the arrays."""
    K, N = engine.setup.features.shape
    player = Player(engine, parameters)
    state, rows = player.posterior.state, player.posterior.state.rows.shape[0]
    columns = 0.0  # vectors of K numbers, read or written; X is N of them
    for t in range(AFTER + rounds):
        if t == AFTER:
            columns = 0.0
        memory = player.now.memory
        before = 0 if memory is None else int(memory.examined[0])
        owners = state.kept.owners.copy() if state.kept else np.zeros(0, np.int64)
        player.play()
        if rows == K:
            columns += 2 * K + 5 * (engine.setup.m + 1) + 4  # G, the columns of B, the greedy scan
            columns += 3 * K if engine.rules["candidates"].needs else 0
        else:
            # Rows and estimates updated, those of the candidates, b and c read, others made.
            columns += (
                2 * rows + 4 + 3 * (engine.setup.m + 1) + N * np.sum(owners != state.kept.owners)
            )
            if memory is not None:  # gap indices of high arms to all arms, and to those undecided
                columns += 3 * rows_read(engine.setup.m, K)
                columns += max(int(player.now.memory.examined[0]) - before, 0) * N / K
    return columns / rounds / N


def plain(name: str, engine: Engine, parameters: np.ndarray, rounds: int) -> float:
    """Microseconds a round of the same in NumPy, with V⁻¹ updated and the rest made anew."""
    rng = np.random.default_rng(0)
    x, m = engine.setup.features, engine.setup.m
    K = len(x)
    posterior = engine.posterior()
    for arm in engine.setup.initial.tolist():
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


def measured(name: str, start: str, K: int) -> Line:
    N, m = SIZES[K]
    engine, parameters = prepared(name, start, K)
    rounds = ROUNDS[K]
    if (name, start) == ("LinGIFA", "span"):
        rounds = LINGIFA_ROUNDS.get(K, rounds)
    moved = one_pass(engine.setup.features)
    ours = a_round(engine, parameters, rounds)
    share = touched(engine, parameters, min(rounds, 100)) if K <= 100_000 else math.nan
    slow = math.nan
    if start == "span" and NUMPY_UP_TO[name] >= K:
        slow = plain(name, engine, parameters, max(2, min(100, 20_000 // K)))
    return Line(name, start, K, N, m, ours, moved, 8e-3 * K * N / moved, share, slow)


def or_dash(value: float, width: int, digits: int) -> str:
    return f"{value:{width},.{digits}f}" if math.isfinite(value) else f"{'–':>{width}}"


def print_line(line: Line) -> None:
    print(
        f"{line.algorithm:10}{line.start:5}{line.K:>10,}{line.N:4}{line.m:4}{line.ours:13,.1f}"
        f"{line.one_pass:12,.1f}{line.ours / line.one_pass:9.2f}{or_dash(line.touched, 9, 2)}"
        f"{line.speed:8.1f}{or_dash(line.plain, 14, 0)}",
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
        for start in ("span", "each"):
            engine, parameters = prepared(name, start, 509)
            plainly = naive(engine)
            # In turns, and the least of each: others on the machine only add.
            turns = [
                (a_round(plainly, parameters, 500), a_round(engine, parameters, 2_000))
                for _ in range(5)
            ]
            slow, fast = (min(each) for each in zip(*turns, strict=True))
            print(f"{name:12}{start:6}{slow:9.1f} µs naive{fast:9.1f} µs here{slow / fast:8.1f} ×")


def picture(lines: list[Line], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.8), layout="constrained")
    for name, colour in (("m-LinGapE", "#3465a4"), ("LinGIFA", "#cc5500")):
        for start, style, words in (
            ("span", "o-", "after a spanning set"),
            ("each", "v--", "after every arm once"),
        ):
            own = [line for line in lines if (line.algorithm, line.start) == (name, start)]
            axes.plot(
                *([e.K for e in own], [e.ours for e in own], style),
                color=colour, label=f"{name}, {words}",
            )  # fmt: skip
        slow = [e for e in lines if e.algorithm == name and math.isfinite(e.plain)]
        axes.plot(
            *([e.K for e in slow], [e.plain for e in slow], "s:"),
            color=colour, alpha=0.5, label=f"{name}, plain NumPy",
        )  # fmt: skip
    own = [e for e in lines if (e.algorithm, e.start) == ("m-LinGapE", "span") and e.K >= 1_000]
    axes.plot(
        *([e.K for e in own], [e.one_pass for e in own], "-"),
        color="black", linewidth=1, label="one pass over X",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="arms K", ylabel="µs a round (one thread)")
    axes.legend(frameon=False, fontsize="small")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000, help="the largest K")
    parser.add_argument("--picture", help="where to draw it")
    asked = parser.parse_args()
    print(
        f"{'':10}{'start':5}{'K':>10}{'N':>4}{'m':>4}{'µs a round':>13}{'pass, µs':>12}{'passes':>9}"
        f"{'touched':>9}{'GB/s':>8}{'NumPy, µs':>14}"
    )
    lines = []
    for name in ("m-LinGapE", "LinGIFA"):
        for start in ("span", "each"):
            for K in SIZES:
                if asked.most >= K:
                    lines.append(measured(name, start, K))
                    print_line(lines[-1])
            own = [line for line in lines if (line.algorithm, line.start) == (name, start)]
            if len([line for line in own if line.K >= 10_000]) > 1:
                print(f"{name}, {start}: grows as K^{exponent(own):.2f} from 10⁴ arms on")
    against_naive()
    if asked.picture:
        picture(lines, asked.picture)


if __name__ == "__main__":
    main()
