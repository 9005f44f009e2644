"""Arms compared within blocks: what it takes; ``near_ties.py`` attacks it.

`python benchmarks/blocks.py [RUNS]` prints evaluations on tables of scores, beside scoring everything.
`python benchmarks/blocks.py normal` compares with independent results where arms share much of their noise.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import shortlist
from shortlist.arrays import Reals


def prompts(arms: int = 40, blocks: int = 500, seed: int = 0) -> Reals:
    """Right or wrong answers, by the ability of a prompt and the difficulty of a question."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(2.2, -0.6, arms) + 0.05 * rng.normal(size=arms)
    difficulty = rng.normal(0.0, 1.6, blocks)
    right = 1.0 / (1.0 + np.exp(difficulty - ability[:, None] - 0.9))
    return (rng.random((arms, blocks)) < right).astype(np.float64)


def answers(arms: int, blocks: int, seed: int) -> Reals:
    """The same with abilities drawn at random."""
    rng = np.random.default_rng(seed)
    ability, difficulty = np.sort(rng.normal(0.0, 1.4, arms)), rng.normal(0.0, 1.6, blocks)
    right = 1.0 / (1.0 + np.exp(difficulty - ability[::-1, None] - 0.5))
    return (rng.random((arms, blocks)) < right).astype(np.float64)


def scores(arms: int, blocks: int, seed: int, spread: float, share: float, tight: float) -> Reals:
    """Beta scores, with effects of the arms (``spread``) and of the blocks (``share``)."""
    rng = np.random.default_rng(seed)
    means = 0.6 + rng.normal(0.0, spread, arms)[:, None] + rng.normal(0.0, share, blocks)
    means = np.clip(means, 0.02, 0.98)
    return rng.beta(tight * means, tight * (1.0 - means))


TABLES = {
    "prompts 40 × 500": (prompts(), ((3, 0.0), (3, 0.02), (5, 0.02))),
    "answers 58 × 797": (answers(58, 797, 1), ((4, 0.0), (10, 0.05), (3, 0.02))),
    "scores 58 × 797": (scores(58, 797, 2, 0.12, 0.2, 8.0), ((4, 0.0), (10, 0.05), (3, 0.02))),
    "far apart 58 × 797": (scores(58, 797, 7, 0.2, 0.25, 10.0), ((4, 0.0), (3, 0.02))),
}


def normal(runs: int) -> None:
    """Print what normal differences within blocks take."""
    for shared in (0.0, 0.3, 1.0):
        taken: dict[str | None, list[int]] = {None: [], "random": []}
        wrong = 0
        for run in range(runs):
            for blocks, counted in taken.items():
                given = {"m": 3, "sigma": "estimate per arm", "epsilon": 0.1}
                study = shortlist.Study(arms=range(20), seed=run, blocks=blocks, **given)

                def measure(trial: shortlist.Trial, share: float = shared) -> float:
                    common = np.random.default_rng(trial.seed).normal()
                    own = np.random.default_rng([trial.number, 1]).normal()
                    return 1.0 - 0.1 * trial.arm + share * common + 0.3 * own

                study.run(measure, progress=False)
                counted.append(study.evaluations)
                wrong += max(study.shortlist.arms) > 3
        alone, paired = (np.mean(each) for each in taken.values())
        print(
            f"shared noise {shared:g}, own 0.3: {alone:,.0f} evaluations by themselves, {paired:,.0f} "
            f"on blocks; wrong {wrong} of {2 * runs}",
            flush=True,
        )


def main(runs: int) -> None:
    """Print what every table takes."""
    for name, (table, asked) in TABLES.items():
        for m, epsilon in asked:
            instance = shortlist.instances.table(table, m=m, label=name)
            given = {"epsilon": epsilon, "runs": runs, "progress": False}
            frame = shortlist.compare("auto", instance, **given).frame
            taken = frame["samples"]
            print(
                f"{name}, m = {m}, ε = {epsilon}: {taken.mean():,.0f} evaluations, at most "
                f"{taken.max():,} of {table.size:,}; wrong {int((~frame['correct']).sum())} of {runs}",
                flush=True,
            )


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "delta is the risk")
    words = sys.argv[1:]
    count = int(words[-1]) if words and words[-1].isdigit() else 12
    if "normal" in words:
        normal(count)
    else:
        main(count)
