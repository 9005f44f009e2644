"""The 3 of 12 staffing plans with the shortest waits, by simulating a service desk.

Busy plans have far noisier results, so each plan's noise is estimated: ``sigma="estimate per arm"``.
A plan with more clerks takes longer to simulate: ``costs=``. Run it with ``python examples/queues.py``.
"""

from __future__ import annotations

import heapq

import numpy as np
import pandas as pd

import shortlist

M, EPSILON = 3, 0.05  # minutes
CUSTOMERS, DAYS = 100, 10


def wait(clerks: int, minutes: float, seed: int) -> float:
    """The mean wait, in minutes, of the customers of some simulated days."""
    rng, total = np.random.default_rng(seed), 0.0
    for _ in range(DAYS):  # an average of several days is nearly normal, and one day is skewed
        free = [0.0] * clerks
        arrivals = np.cumsum(rng.exponential(2.0, CUSTOMERS)).tolist()
        for arrival, work in zip(arrivals, rng.exponential(minutes, CUSTOMERS), strict=True):
            start = max(arrival, heapq.heappop(free))
            heapq.heappush(free, start + work)
            total += start - arrival
    return total / (DAYS * CUSTOMERS)


def main() -> None:
    """Find the best plans, and check the answer by many more simulated days."""
    plans = pd.DataFrame(
        [(clerks, minutes) for clerks in (2, 3, 4) for minutes in (3.0, 3.5, 4.0, 4.5)],
        columns=["clerks", "minutes"],
    )
    names = [f"{plan.clerks} clerks, {plan.minutes} minutes" for plan in plans.itertuples()]
    study = shortlist.Study(
        arms=names,
        m=M,
        direction="minimize",
        sigma="estimate per arm",
        epsilon=EPSILON,
        costs=plans["clerks"].to_numpy(),
        seed=0,
    )

    def simulate(trial: shortlist.Trial) -> float:
        plan = plans.iloc[trial.arm]
        return wait(int(plan["clerks"]), plan["minutes"], trial.seed)

    print(study.run(simulate, progress=False))
    print(f"cost: {study.cost:g}")

    truth = [
        np.mean([wait(int(clerks), minutes, seed) for seed in range(20)])
        for clerks, minutes in plans.to_numpy()
    ]
    worst = max(truth[arm] for arm in study.shortlist.arms)
    print("right" if worst <= sorted(truth)[M - 1] + EPSILON else "wrong")


if __name__ == "__main__":
    main()
