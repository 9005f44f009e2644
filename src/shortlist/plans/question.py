"""What is asked, as plans are made for it: arms by their rows, results with the largest sought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.noises import Known, NoiseModel
from shortlist.problem import Problem

SMALL = 1e-10  # of the largest singular value: less is rounding


@dataclass(frozen=True, eq=False)
class Shared:
    """What results on the same block share, so that only differences within a block count.

    Attributes
    ----------
    requested : bool
        Whether a block is what is asked for at once, such as a plate, and not named by the plan.
    controls : tuple of int
        How many results of each arm every block has anyhow; such arms are never listed. Empty where
        there are none.
    """

    requested: bool = False
    controls: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """The m best of the arms, right within ε with a probability of at least 1 − δ.

    Attributes
    ----------
    arms, m, delta, epsilon
        As everywhere.
    noise : NoiseModel
        How the noise is known, and what follows of it.
    costs : array, K
        What an evaluation of each arm costs.
    features : array, K × N, or None
        What is known of the arms.
    relies : bool
        Whether the means are taken to be linear in the features; else these only help to guess.
    shared : Shared or None
        What results on a block share; None where each is drawn by itself.
    out : array of bool, K
        Arms that are not to be listed: retired, set aside, or controls.
    budget : float
        How many evaluations there are; infinite if it ends when the answer is proven.
    """

    arms: int
    m: int
    noise: NoiseModel
    delta: float
    epsilon: float
    costs: Reals
    out: Mask
    features: Reals | None = None
    relies: bool = True
    shared: Shared | None = None
    budget: float = np.inf

    @classmethod
    def plain(cls, problem: Problem, features: Reals | None = None) -> Self:
        """A problem with known σ and without blocks, with what is used of its features.

        Examples
        --------
        >>> from shortlist.problem import Problem
        >>> Question.plain(Problem.of(arms=["a", "b"], m=1, sigma=0.5)).sigma.tolist()
        [0.5, 0.5]
        """
        sigma = np.full(problem.arms, problem.noise.deviations)
        given = problem.arms, problem.m, Known(sigma), problem.delta, problem.epsilon
        return cls(*given, problem.costs.of_arms(problem.arms), ~problem.listable, features)

    @property
    def sigma(self) -> Reals:
        """σ of every arm, where it is known."""
        assert isinstance(self.noise, Known)
        return self.noise.sigma

    @property
    def listable(self) -> Mask:
        """Arms that may be listed."""
        return ~self.out

    @property
    def controls(self) -> Integers:
        """The rows of the controls."""
        wells = () if self.shared is None else self.shared.controls
        return np.flatnonzero(np.array(wells, dtype=int))

    @property
    def paired(self) -> bool:
        """Whether differences count block by block, rather than by least squares with a level each."""
        return self.shared is not None and not self.noise.alike

    @property
    def relied(self) -> Reals | None:
        """The features that means are taken to be linear in; a control has only one of its own."""
        if self.features is None or not self.relies:
            return None
        x, controls = self.features, self.controls
        if not len(controls):
            return x
        x = x.copy()
        x[controls] = 0.0
        return np.column_stack([x, np.eye(self.arms)[:, controls]])

    @property
    def without(self) -> Self:
        """The same with features that are not relied on."""
        return replace(self, relies=False)

    def listing(self, arm: int, *, out: bool) -> Self:
        """The same where an arm may not be listed, or may again."""
        mask = self.out.copy()
        mask[arm] = out
        return replace(self, out=mask)

    def best(self, means: Reals) -> Mask:
        """The m arms of largest mean of those that may be listed; among equal ones the first."""
        inside = np.zeros(self.arms, np.bool_)
        order = np.argsort(-np.where(self.listable, means, -np.inf), kind="stable")
        inside[order[: self.m]] = True
        return inside & self.listable

    def basis(self) -> Reals:
        """The features, orthonormal on the arms that may be listed.

        With a constant where they only guide or every block has a level of its own. A row is 0 where
        results of an arm say nothing of those.
        """
        assert self.features is not None
        x, used = self.features, self.listable
        if not self.relies or self.shared is not None:
            x = np.column_stack([x, np.ones(len(x))])
        _, sizes, right = np.linalg.svd(x[used], full_matrices=False)
        kept = sizes > SMALL * sizes[0]
        right = right[kept].T
        spanned = np.abs(x - x @ right @ right.T).max(axis=1) <= 1e-8 * np.abs(x).max()
        spanned[self.controls] = False
        return np.asarray(x @ right / sizes[kept] * spanned[:, None])
