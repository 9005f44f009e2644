"""An algorithm of gap indices on one problem, as studies and comparisons ask it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.engine.certified import Certified
from shortlist.engine.contract import Decision, Estimates, Gaps, Runs, Setup
from shortlist.engine.fits import Posterior, width_floor
from shortlist.engine.follow import DECIDE, REOPEN, TAKE, Position, Steps
from shortlist.engine.rewards import Rewards
from shortlist.engine.seeds import Words
from shortlist.errors import SingularDesign
from shortlist.gifa.round import Decided, Memory, Recipe, Round, decide
from shortlist.gifa.rules import largest_gap, lucb, ugape
from shortlist.gifa.simulated import simulated
from shortlist.linalg import is_identity

# Of what an evaluation of an arm set aside would tell of the pair, one in its place must tell this
# share: else a study would go on for ever with evaluations of an arm that it knows already.
LEAST_GAIN = 0.1
MOST_PAIRS = 10**7  # of a candidate and another arm: with more, nothing is said of single arms


class RoundNow:
    """What a study remembers between two results: the last round, and who is still to be pulled in it."""

    until_decision: ClassVar[int] = 1  # every result is followed by a decision

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.memory = recipe, Memory(recipe, 1)

    @property
    def last(self) -> Decided | None:
        """What was decided last."""
        return self.memory.last

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        if self.last is None:
            return np.zeros(len(self.recipe.setup.features), np.bool_)
        return self.last.inside[0]

    def decision(self, *, stop: bool) -> Decision:
        """What was decided."""
        last = self.last
        if last is None:
            return Decision(stop, NO_ARM, None, NO_ARM, NO_ARM, math.nan, math.nan, math.nan)
        return Decision(
            stop=stop,
            arm=int(last.arm[0]),
            queued=int(last.c[0]) if self.recipe.pulls_both else None,
            b=int(last.b[0]),
            c=int(last.c[0]),
            threshold=float(last.threshold[0]),
            gap=float(last.gap[0]),
            statistic=float(last.statistic[0]),
        )

    def copy(self) -> RoundNow:
        """An independent copy."""
        twin = RoundNow(self.recipe)
        twin.memory = self.memory.copy()
        return twin


@dataclass(frozen=True)
class Engine:
    """The rules of an algorithm on a problem; implements ``AnyEngine``."""

    recipe: Recipe
    searches: ClassVar[bool] = False  # it cannot go on where arms are retired

    @property
    def setup(self) -> Setup:
        """What it was made for, and how it stops."""
        return self.recipe.setup

    @cached_property
    def _floor(self) -> float:
        return width_floor(self.setup.features, self.setup.regularization)

    def posterior(self) -> Posterior:
        """An empty posterior."""
        setup = self.setup
        return Posterior(
            setup.features,
            regularization=setup.regularization,
            shift=setup.shift,
            noise=setup.noise,
            floor=self._floor,
        )

    def round(self) -> RoundNow:
        """An empty round."""
        return RoundNow(self.recipe)

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by now."""
        return self.setup.initial, posterior.pulls

    @property
    def adjusts(self) -> bool:
        """Whether least squares by features make the means."""
        return not is_identity(self.setup.features)

    # Results

    def follow(
        self,
        posterior: Posterior,
        current: RoundNow,
        seed: int,
        steps: Steps,
        position: Position,
    ) -> RoundNow:
        """Take steps from ``position`` to the next stop or to their end."""
        while position.next < len(steps.kinds):
            step, kind = position.next, steps.kinds[position.next]
            position.next += 1
            arm = int(steps.arms[step])
            if kind == REOPEN:
                position.is_stopped = False
            elif kind == TAKE:
                posterior.observe(arm, float(steps.values[step]))
            decides = kind in (TAKE, DECIDE)
            if decides and not position.is_initialized:
                decides = bool((posterior.pulls >= self.setup.wanted).all())
                if decides:
                    if not (posterior.ready or posterior.refresh_if_spanning()):
                        raise SingularDesign("the initial pulls do not span the features.")
                    position.is_initialized = True
            held = bool(steps.held[step]) or position.is_stopped
            if decides and not held and position.decided_at != posterior.observed:
                decided = self._decide(posterior, current.memory, seed, stops=True)
                position.decided_at = posterior.observed
                if decided.stop[0]:
                    position.is_stopped = True
                    break
        return current

    def _decide(self, posterior: Posterior, memory: Memory, seed: int, *, stops: bool) -> Decided:
        seeds = np.array([seed], np.uint64)
        return decide(self.recipe, posterior.fits, seeds, memory, stops=stops)

    def last_decision(
        self, posterior: Posterior, current: RoundNow, seed: int
    ) -> tuple[Decision, RoundNow]:
        """The last decision, made again from the posterior alone.

        It may differ where a round remembers: lagged stops read the pair of the round before, and
        LinGame has learned from all of its rounds.
        """
        now = self.round()
        decided = self._decide(posterior, now.memory, seed, stops=True)
        return now.decision(stop=bool(decided.stop[0])), now

    def widen(
        self, posterior: Posterior, current: RoundNow, seed: int, position: Position, *, held: bool
    ) -> RoundNow:
        """Decide again from the same results; what a round remembers does not depend on ε."""
        if held or position.is_stopped or position.decided_at < 0:
            return current
        position.decided_at, position.next = -1, 0
        current.recipe = self.recipe
        return self.follow(posterior, current, seed, Steps.of(DECIDE), position)

    def ahead(
        self, posterior: Posterior, current: RoundNow, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        posterior = posterior.copy()

        def decide_with(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            for cell in supposing:
                posterior.observe(cell.arm, float(posterior.means[cell.arm]))
            now = current.copy()
            self._decide(posterior, now.memory, seed, stops=False)
            decision = now.decision(stop=False)
            if decision.queued in set_aside:
                decision = decision._replace(queued=None)
            if decision.arm not in set_aside:
                return decision
            return self._in_place(posterior, decision, set_aside)

        return decide_with

    def _in_place(
        self, posterior: Posterior, decision: Decision, set_aside: Collection[int]
    ) -> Decision | None:
        """The decision for the other arm of the pair; None if it is set aside or tells too little."""
        b, c = decision.b, decision.c
        y = posterior.row(b) - posterior.row(c)
        gain = y * y / (self.setup.noise + posterior.variances)
        others = [arm for arm in (b, c) if arm not in set_aside]
        if not others:
            return None
        best = max(others, key=lambda arm: float(gain[arm]))
        lost = max(float(gain[arm]) for arm in {decision.arm, b, c} if arm in set_aside)
        if gain[best] < LEAST_GAIN * lost:
            return None
        return decision._replace(arm=best, queued=None)

    # What is shown

    def threshold(self, posterior: Posterior, current: RoundNow | None = None) -> float:
        """C at this moment."""
        return self.threshold_at(posterior.observed, posterior.log_det)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        return float(np.ravel(self.recipe.coarse(int(time), np.array([log_det])))[0])

    def estimates(self, posterior: Posterior, current: RoundNow) -> Estimates:
        """Means and variances by least squares."""
        return Estimates(posterior.means, posterior.variances)

    def projected(self, current: RoundNow, count: int, rng: np.random.Generator) -> None:
        """The widths of intervals tell."""

    def _read(self, posterior: Posterior, inside: Mask) -> Round:
        """The round as rules would read it now."""
        now = Round(self.recipe, posterior.fits, np.zeros(1, np.uint64), Memory(self.recipe, 1))
        now.inside, now.candidates = inside[None, :], np.flatnonzero(inside)[None, :]
        return now

    def gaps(
        self,
        posterior: Posterior,
        current: RoundNow,
        decision: Decision,
        *,
        outside_only: bool = False,
    ) -> Gaps:
        """Differences of means, with the gap indices below and above them."""
        now, inside = self._read(posterior, current.inside), np.flatnonzero(current.inside)
        b, c, by_mth = decision.b, decision.c, self.recipe.rules["stopping"] is ugape
        if by_mth:
            b = int(inside[now.of_candidates(now.mth_gaps)[0].argmax()])
        if by_mth or outside_only:
            c = NO_ARM

        def column(j: int) -> Reals:
            return np.array(now.columns(np.array([[j]]))[0, 0])

        def against(j: int, arms: Integers) -> Reals:
            """B_ji over arms i."""
            if self.recipe.prunes:  # widths are symmetric
                return column(j)[arms] - 2.0 * (means[arms] - means[j])
            return np.array([column(int(i))[j] for i in arms])

        means, every = posterior.means, np.arange(len(posterior.means))
        gap, upper = means - means[b], column(b)
        lower = -against(b, every)
        if c == NO_ARM:
            gap[b] = lower[b] = upper[b] = np.nan
            return Gaps(b, gap, lower, upper)
        at_stop = upper[c]
        gap[inside], lower[inside] = means[c] - means[inside], -column(c)[inside]
        upper[inside] = against(c, inside)
        upper[b] = at_stop  # to the last bit what the stopping rule reads
        return Gaps(b, gap, lower, upper)

    def certified(self, posterior: Posterior, current: RoundNow, decision: Decision) -> Certified:
        """What the gap indices of all candidates and all other arms say."""
        inside, epsilon = current.inside, self.setup.epsilon
        rules = self.recipe.rules
        largest = rules["stopping"] is lucb and rules["ambiguous"] is largest_gap
        # No B_cb exceeds τ_LUCB's statistic of the largest one; others are about the list alone.
        most = decision.statistic if largest else np.inf
        if inside.sum() * len(inside) > MOST_PAIRS:
            bounds = np.broadcast_to(np.float64(most), (int(inside.sum()), int((~inside).sum())))
        else:
            now = self._read(posterior, inside)
            bounds = np.minimum(now.columns(now.candidates)[0][:, ~inside], most)
        return Certified.by_bounds(inside, bounds, epsilon, decision.statistic)

    # Simulation

    def replicate(
        self, rewards: Rewards, seeds: Words, max_samples: int, *, compiled: bool | None = None
    ) -> Runs:
        """One run for each seed, from the first pull to the stop.

        ``compiled`` says whether Numba is to make the rounds, where it can; None: where it is installed.
        """
        return simulated(self.recipe, self._floor, rewards, seeds, max_samples, compiled)
