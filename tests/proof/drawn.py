"""Plans that are drawn at random, for every kind of contrast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof.evidence import Pairs
from shortlist.proof.plan import Plan

K, RANK = 6, 3
KINDS = ["own", "linear", "within", "within, linear", "paired", "paired, linear"]


def features(arms: int = K, rank: int = RANK) -> Reals:
    return np.random.default_rng(3).normal(size=(arms, rank))


def design(kind: str, rng: np.random.Generator, least: int = 3) -> Plan:
    """A plan without results: all values are 0."""
    x = features() if "linear" in kind else None
    noise, expected = rng.uniform(0.02, 0.2, K), rng.uniform(0.3, 0.7, K)
    counts = rng.integers(least, least + 5, K)
    arms, blocks = np.repeat(np.arange(K), counts), None
    if "within" in kind:
        blocks = rng.integers(0, 4, len(arms)) * 7
        blocks[: 2 * K] = np.tile([0, 7], K)
    if "paired" in kind:
        blocks = np.concatenate([np.arange(n) * 5 for n in counts])
    return Plan(arms, np.zeros(len(arms)), noise, expected, x, blocks, "paired" in kind)


def with_values(plan: Plan, values: Reals) -> Plan:
    return Plan(
        plan.arms,
        values,
        plan.noise,
        plan.expected,
        plan.features,
        plan.blocks,
        plan.paired,
    )


def all_pairs(arms: int = K) -> tuple[Integers, Integers]:
    b, c = np.divmod(np.arange(arms * arms), arms)
    return b[b != c], c[b != c]


@dataclass(frozen=True, eq=False)
class Couples(Pairs):
    """Arms 0 and 1, 2 and 3, …: many paths in one plan."""

    @property
    def b(self) -> Integers:
        return np.arange(0, self.K, 2)

    @property
    def c(self) -> Integers:
        return np.arange(1, self.K, 2)

    def __len__(self) -> int:
        return self.K // 2

    def place(self, b: Integers, c: Integers) -> Integers:
        return b // 2


def couples(paths: int) -> Couples:
    return Couples(np.arange(0, 2 * paths, 2), 2 * paths)
