"""What the parts of a round cost at K = 4: each one added to a loop that only observes."""

from __future__ import annotations

import time

import numpy as np

import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.round import candidates_stay, column
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import largest_among, mth_largest
from shortlist.numerics.random import round_key, seed_stream
from shortlist.posterior.least_squares import UPDATES, refresh_whole, take_in
from shortlist.posterior.state import LOG_DET, TICK, WHOLE
from shortlist.rules.candidates import mark_candidates
from shortlist.rules.selection import select
from shortlist.rules.thresholds import remembered

ROUNDS = 40_000  # so many that the call itself does not count
REPEATS = 60
PARTS = (
    "reward and rank-one update",
    "threshold, from its table",
    "the columns of J(t), 2 of 4",
    "these, and the m-th of each",
    "J(t) by means",
    "all that, and J(t) kept by it",
    "the columns and challengers",
    "greedy selection",
)


@compiled(inline=False)
def rounds(part, state, updates, now, settings, reward, parameters, stream, count):  # type: ignore[no-untyped-def]
    arms, m, sigma, constants = (
        state.means.shape[0],
        settings.m,
        settings.sigma,
        settings.constants,
    )
    for t in range(count):
        scale = 7.5 * sigma
        since = (state.clock[TICK] + 1) * arms
        state.clock[TICK] += 1
        key = round_key(np.uint64(1), t, 0)
        if part == 1:
            now.figures[0] = remembered(
                now.thresholds, settings.threshold, t & 1023, state.scalars[LOG_DET], constants
            )
        if part == 2 or part == 3 or part == 6:
            for j in range(m):
                slot = column(state, now, settings, j, since, scale)
                if part == 3:
                    now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
                if part == 6:
                    now.challengers[j] = largest_among(now.gaps[slot], now.inside, False, key)
        if part == 4:
            mark_candidates(
                *(0, settings.candidates, m, state.means, now.mth_gaps, key),
                *(now.arm_heap, now.inside),
            )
        if part == 5:
            now.pair[0] = candidates_stay(state, now, settings, since, scale)
        arm = t & 3
        if part == 7:
            arm = select(
                1, settings.selection, t & 1, 2 + (t & 1), state.rows[t & 1], state.rows[2 + (t & 1)],
                state.variances, state.pulls, state.noise, key,
            )  # fmt: skip
        take_in(state, updates, arm, reward(arm, parameters, stream))


def main() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6)
    best = np.full(len(PARTS), np.inf)
    engine = find_algorithm("m-LinGapE").bind(instance.problem(0.05, 0.0), "frequentist").engine
    for _ in range(REPEATS):
        for part in range(len(PARTS)):
            posterior, now, stream = engine.posterior(), engine.round(), np.zeros(4, np.uint64)
            seed_stream(np.uint64(7), stream)
            now.inside[:2] = True
            for arm in range(4):
                posterior.observe(arm, instance.means[arm])
            refresh_whole(posterior.state)
            start = time.perf_counter()
            rounds(
                part, posterior.state, UPDATES[WHOLE], now, engine._settings[WHOLE, True], instance.reward.pointer,
                instance.parameters, stream, ROUNDS,
            )  # fmt: skip
            best[part] = min(best[part], (time.perf_counter() - start) / ROUNDS * 1e9)
    print("ns a round, K = 4, N = 3, m = 2, the least of many tries:")
    print(f"{PARTS[0]:32}{best[0]:7.1f}")
    for name, total in zip(PARTS[1:], best[1:], strict=True):
        print(f"{'+ ' + name:32}{total - best[0]:7.1f}")


if __name__ == "__main__":
    main()
