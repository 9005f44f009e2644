"""Arms compared within blocks: what it takes, and how often it errs near ties.

`python benchmarks/blocks.py [RUNS]` prints evaluations on tables of scores, beside scoring everything.
`python benchmarks/blocks.py attack [RUNS]` counts errors where arms are nearly alike and the results on a
block depend on each other.
`python benchmarks/blocks.py normal` compares with independent results where arms share much of their noise,
and counts errors of the test for normal differences.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import shortlist
from shortlist.arrays import Integers, Reals
from shortlist.plans.bets.normal import Moments
from shortlist.plans.blocks.normal import Differences

DELTAS = (0.05, 0.3, 0.8)


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


def near_ties(kind: str) -> Reals:
    """Four arms, of which the second and the third differ on one block of sixty."""
    rng = np.random.default_rng(1)
    difficulty = rng.random(60)
    if kind == "coins":
        table = (rng.random((4, 60)) < 0.2 + 0.6 * difficulty).astype(np.float64)
    elif kind == "skewed":
        table = np.where(rng.random((4, 60)) < 0.1, 1.0, 0.02 * difficulty)
    else:  # opposite results of the two that are nearly alike
        table = np.tile(difficulty, (4, 1))
        table[1] = 1.0 - difficulty
    table[0], table[3] = 0.8 + 0.2 * table[0], 0.2 * table[3]
    table[2] = rng.permutation(table[1]) if kind != "opposite" else difficulty
    table[2] += (table[1].sum() - table[2].sum() - 0.02) / 60.0
    return np.clip(table, 0.0, 1.0)


def attack(runs: int) -> None:
    """Print how often answers were wrong, with a pool and with blocks drawn afresh."""
    for blocks, most in (("pool", 10**6), ("random", 800)):
        for kind in ("coins", "skewed", "opposite"):
            instance = shortlist.instances.table(near_ties(kind), m=2, blocks=blocks, label=kind)
            for delta in DELTAS:
                given = {"delta": delta, "runs": runs, "max_samples": most, "progress": False}
                frame = shortlist.compare("auto", instance, **given).frame
                wrong = int((frame["stopped"] & ~frame["correct"]).sum())
                print(
                    f"{blocks}, {kind}, δ = {delta}: {wrong} wrong of {runs} "
                    f"({frame['samples'].mean():.0f} evaluations, {int(frame['stopped'].sum())} stopped)",
                    flush=True,
                )


def normal(runs: int) -> None:
    """Print what normal differences within blocks take, and how often a tie passes."""
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
    paths, looks = 10_000, 150
    for delta in DELTAS:
        rng = np.random.default_rng(0)
        found = Differences.after_blocks(drawn(rng, np.full(paths, 4)), np.zeros(1))
        for look in range(looks):
            near = found.now[0] > 0.0
            count = np.maximum(1, np.rint(1.08**look * np.where(near, 0.1, 1.0))).astype(np.int64)
            found = found.with_blocks(drawn(rng, count), 0.0)
        share = float((found.largest >= -np.log(delta)).mean())
        print(
            f"a tie passes, δ = {delta}: {share:.4f} of {paths:,} paths of {looks} looks",
            flush=True,
        )


def drawn(rng: np.random.Generator, blocks: Integers) -> Moments:
    """Of so many normal differences of mean 0 and variance 1, path by path."""
    squares = np.where(blocks > 1, rng.chisquare(np.maximum(blocks - 1, 1)), 0.0)
    means = rng.standard_normal(len(blocks)) / np.sqrt(blocks)
    return Moments(blocks.astype(np.float64), means, squares)


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
    if "attack" in words:
        attack(count)
    elif "normal" in words:
        normal(count)
    else:
        main(count)
