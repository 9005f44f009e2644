"""Many arms after some results, and what plain NumPy says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from shortlist.engine.many_arms.memory import Memory, make_memory
from shortlist.posterior.posterior import Posterior
from shortlist.posterior.state import State

M, SCALE = 3, 2.0
KEY = np.uint64(7)


@dataclass
class Arms:
    """A posterior, the memory of its rounds, and the generator of more results."""

    posterior: Posterior
    memory: Memory
    generator: np.random.Generator

    @classmethod
    def made(cls, rows: int, *, arms: int = 60, rank: int = 4, seed: int = 0) -> Arms:
        """Arms after 40 results, with so many rows of G."""
        generator = np.random.default_rng(seed)
        features = generator.standard_normal((arms, rank))
        posterior = Posterior(features, regularization=0.5, resident=rows)
        memory = make_memory(arms, M, rows)
        found = cls(posterior, memory, generator)
        found.tell(40)
        return found

    def tell(self, results: int) -> None:
        """More results, of arms drawn at random."""
        for _ in range(results):
            arm = int(self.generator.integers(len(self.posterior.pulls)))
            self.posterior.observe(arm, float(self.generator.standard_normal()))

    @property
    def state(self) -> State:
        return self.posterior.state

    @property
    def gaps(self) -> np.ndarray:
        """B_ij of all arms, from V⁻¹ by NumPy."""
        x, pulls = self.state.features, self.state.pulls
        V = 0.5 * np.eye(x.shape[1]) + (x.T * pulls) @ x
        theta = np.linalg.solve(V, x.T @ self.state.sums)
        G = x @ np.linalg.solve(V, x.T)
        squares = np.maximum(G.diagonal()[:, None] + G.diagonal() - 2 * G, 0.0)
        means = x @ theta
        return means[:, None] - means + SCALE * np.sqrt(squares)

    @property
    def mth_gaps(self) -> np.ndarray:
        """The m-th largest B_ij over i ≠ j, of every j."""
        gaps = self.gaps
        np.fill_diagonal(gaps, -np.inf)
        return np.sort(gaps, axis=0)[-M]
