"""An engine for some of the arms of a study: the others were retired.

It looks like an engine for all arms, so that an arm keeps its row. Retired arms are never decided on
and have no estimates; their results are counted, and have no part in anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.engine.certified import Certified
from shortlist.engine.contract import AnyEngine, Estimates, Gaps, Runs, Setup
from shortlist.engine.follow import DECIDE, TAKE, Position, Steps
from shortlist.engine.round import Decision
from shortlist.posterior.posterior import Posterior
from shortlist.rules.rule import Rule


def spread(values: NDArray[Any], arms: Integers, count: int, other: Any) -> NDArray[Any]:
    """Values of some arms among those of all, where the others have ``other``.

    Examples
    --------
    >>> spread(np.array([3.0, 5.0]), np.array([0, 2]), 3, -np.inf).tolist()
    [3.0, -inf, 5.0]
    """
    among = np.full(count, other, values.dtype)
    among[arms] = values
    return among


def refill(posterior: Posterior, past: Posterior, places: Integers) -> None:
    """Give an empty posterior the results of another, of whose arms ``places`` says which each is.

    Results of arms that are no longer there are counted. Where what is left does not span the
    features, nothing is estimated yet.
    """
    now, old = posterior.state, past.state
    now.pulls[:] = np.where(places == NO_ARM, 0, old.pulls[places])
    now.sums[:] = np.where(places == NO_ARM, 0.0, old.sums[places])
    now.observed[0] = now.pulls.sum()
    if isinstance(posterior, SomePosterior):
        before = past.pulls
        posterior.others[: len(before)] = before
        posterior.others[posterior.arms] = 0
    posterior.refresh_if_spanning()


class SomePosterior(Posterior):
    """The posterior of some arms, seen as one of all: the others have mean −∞ and no variance.

    ``others`` is how many results each arm has that are not in ``inner``.
    """

    def __init__(self, inner: Posterior, arms: Integers, others: Integers) -> None:
        self.inner, self.arms, self.others = inner, arms, others

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The arrays of the arms that are left."""
        return self.inner.state

    def _spread(self, values: NDArray[Any], other: Any) -> NDArray[Any]:
        return spread(values, self.arms, len(self.others), other)

    @property
    def means(self) -> Reals:
        """μ̂_a of every arm."""
        return self._spread(self.inner.means, -np.inf)

    @property
    def averages(self) -> Reals:
        """The average of every arm's own results; NaN for retired arms."""
        return self._spread(self.inner.averages, np.nan)

    @property
    def pulls(self) -> Integers:
        """The results of every arm."""
        return self._spread(self.inner.pulls, 0) + self.others

    @property
    def variances(self) -> Reals:
        """G_aa of every arm."""
        return self._spread(self.inner.variances, 0.0)

    @property
    def observed(self) -> int:
        """How many evaluations have been processed."""
        return self.inner.observed + int(self.others.sum())

    def row(self, arm: int) -> Reals:
        """The arm's row of G, 0 for retired arms."""
        [place] = np.flatnonzero(self.arms == arm)
        return self._spread(self.inner.row(int(place)), 0.0)

    def mirror(self) -> None:
        """Negate every result."""
        self.inner.mirror()

    def copy(self) -> SomePosterior:
        """An independent copy."""
        return SomePosterior(self.inner.copy(), self.arms, self.others.copy())


@dataclass(frozen=True, eq=False)
class SomeRound:
    """The round of some arms, seen as one of all.

    ``decided_at`` is after how many results of the arms that are left the last decision was made.
    """

    inner: Any
    arms: Integers
    count: int
    decided_at: Integers

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return spread(self.inner.inside, self.arms, self.count, False)

    @property
    def until_decision(self) -> int:
        """How many results it lacks until it next checks whether to stop."""
        return int(self.inner.until_decision)

    @property
    def uncounted(self) -> int:
        """How many results nobody asked for and no plan has taken, where plans name cells."""
        return int(self.inner.uncounted)

    @property
    def strategy(self) -> Any:
        """The strategy of an algorithm that makes plans, for the arms that are left."""
        return self.inner.strategy

    def decision(self, *, stop: bool) -> Decision:
        """What was decided."""
        return self.renamed(self.inner.decision(stop=stop))

    def renamed(self, decision: Decision) -> Decision:
        """A decision on the arms that are left, with the rows that they have among all."""

        def row(place: int) -> int:
            return NO_ARM if place == NO_ARM else int(self.arms[place])

        queued = None if decision.queued is None else row(decision.queued)
        return decision._replace(
            arm=row(decision.arm), queued=queued, b=row(decision.b), c=row(decision.c)
        )


class SomeArms:
    """An engine for the arms that are left, as one for all arms; implements ``AnyEngine``.

    Parameters
    ----------
    inner : AnyEngine
        Made for the arms that are left.
    arms : array of int
        Their rows among all arms.
    features : array, K × rank
        Those of all arms.
    noise : array, K
        (σ_a/σ)² of every arm.
    """

    def __init__(self, inner: AnyEngine, arms: Integers, features: Reals, noise: Reals) -> None:
        self.inner, self.arms, self._features, self._noise = inner, arms, features, noise

    @cached_property
    def _places(self) -> Integers:
        """Where an arm is among those that are left; ``NO_ARM`` if it is retired."""
        return spread(np.arange(len(self.arms)), self.arms, len(self._features), NO_ARM)

    @cached_property
    def setup(self) -> Setup:
        """What the engine was made for, with the rows that arms have among all."""
        setup = self.inner.setup
        initial = self.arms[setup.initial]
        return replace(setup, features=self._features, noise=self._noise, initial=initial)

    @property
    def benefits_from_threads(self) -> bool:
        """Whether two threads make more runs than one."""
        return self.inner.benefits_from_threads

    searches = False

    def posterior(self) -> SomePosterior:
        """An empty posterior."""
        nothing = np.zeros(len(self._features), np.int64)
        return SomePosterior(self.inner.posterior(), self.arms, nothing)

    def round(self) -> SomeRound:
        """An empty round."""
        return self._round(self.inner.round())

    def _round(self, inner: Any, decided_at: Integers | None = None) -> SomeRound:
        never = np.array([-1], np.int64) if decided_at is None else decided_at
        return SomeRound(inner, self.arms, len(self._features), never)

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by now."""
        opening, pulls = self.inner.initial_pulls(_within(posterior).inner)
        return self.arms[opening], spread(pulls, self.arms, len(self._features), 0)

    def follow(
        self, posterior: Posterior, current: SomeRound, seed: int, steps: Steps, position: Position
    ) -> SomeRound:
        """Take steps to the next stop or to their end."""
        known, first = _within(posterior), int(position.next[0])
        places = self._places[steps.arms]
        taken = steps.kinds == TAKE
        retired, before, seen = taken & (places == NO_ARM), known.inner.observed, known.observed
        left = replace(
            steps,
            kinds=np.where(retired, DECIDE, steps.kinds),  # nothing is new: it decides nothing
            arms=np.maximum(places, 0),
        )
        own = replace(position, decided_at=current.decided_at.copy())
        inner = self.inner.follow(known.inner, current.inner, seed, left, own)
        if own.decided_at[0] != current.decided_at[0]:
            counted = np.append(0, np.cumsum((taken & ~retired)[first:]))
            at = int(np.searchsorted(counted, own.decided_at[0] - before))
            position.decided_at[0] = seen + int(taken[first : first + at].sum())
        ended = slice(first, int(position.next[0]))
        np.add.at(known.others, steps.arms[ended][retired[ended]], 1)
        return self._round(inner, own.decided_at)

    def ahead(
        self, posterior: Posterior, current: SomeRound, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        decide_among = self.inner.ahead(_within(posterior).inner, current.inner, seed)

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            cells = [cell._replace(arm=int(self._places[cell.arm])) for cell in supposing]
            cells = [cell for cell in cells if cell.arm != NO_ARM]
            decision = decide_among(cells, self._left(set_aside))
            return None if decision is None else current.renamed(decision)

        return decide

    def _left(self, arms: Collection[int]) -> list[int]:
        """The places of those arms that are left."""
        return [int(self._places[arm]) for arm in arms if self._places[arm] != NO_ARM]

    def last_decision(
        self, posterior: Posterior, current: SomeRound, seed: int
    ) -> tuple[Decision, SomeRound]:
        """The last decision and its round."""
        decision, inner = self.inner.last_decision(_within(posterior).inner, current.inner, seed)
        return current.renamed(decision), self._round(inner, current.decided_at)

    def threshold(self, posterior: Posterior, current: SomeRound | None) -> float:
        """C at this moment."""
        inner = None if current is None else current.inner
        return self.inner.threshold(_within(posterior).inner, inner)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        return self.inner.threshold_at(time, log_det)

    @property
    def adjusts(self) -> bool:
        """As the inner engine does."""
        return self.inner.adjusts

    def estimates(self, posterior: Posterior, current: SomeRound) -> Estimates:
        """What is known about every arm by itself; −∞ for the mean of a retired one."""
        known = self.inner.estimates(_within(posterior).inner, current.inner)
        count = len(self._features)
        means = spread(known.means, self.arms, count, -np.inf)
        variances = spread(known.variances, self.arms, count, 0.0)
        if known.intervals is None:
            return Estimates(means, variances)
        lower, upper = (spread(ends, self.arms, count, -np.inf) for ends in known.intervals)
        return Estimates(means, variances, (lower, upper))

    def gaps(
        self,
        posterior: Posterior,
        current: SomeRound,
        decision: Decision,
        *,
        outside_only: bool = False,
    ) -> Gaps:
        """The differences that the stopping rule reads; −∞ for retired arms."""
        b, c = self._left([decision.b, decision.c])
        boundary, *found = self.inner.gaps(
            _within(posterior).inner,
            current.inner,
            decision._replace(b=b, c=c),
            outside_only=outside_only,
        )
        count = len(self._features)
        return Gaps(
            int(self.arms[boundary]), *(spread(each, self.arms, count, -np.inf) for each in found)
        )

    def projected(self, current: SomeRound, count: int, rng: np.random.Generator) -> Reals | None:
        """About how many results it still takes, for means drawn ``count`` times."""
        return self.inner.projected(current.inner, count, rng)

    @property
    def tests_linearity(self) -> bool:
        """Whether it tests by itself that the means are linear."""
        return self.inner.tests_linearity

    def against_linear(self, current: SomeRound) -> float:
        """The largest ln E so far against linear means."""
        return self.inner.against_linear(current.inner)

    def certified(self, posterior: Posterior, current: SomeRound, decision: Decision) -> Certified:
        """What is certain of the m arms of the last decision."""
        b, c = self._left([decision.b, decision.c])
        given = _within(posterior).inner, current.inner, decision._replace(b=b, c=c)
        return self.inner.certified(*given).among(self.arms, len(self._features))

    def widen(
        self,
        posterior: Posterior,
        current: SomeRound,
        seed: int,
        position: Position,
        *,
        held: bool,
    ) -> SomeRound:
        """Look at the stop again, with this engine's ε."""
        own = replace(position, decided_at=current.decided_at.copy())
        known = _within(posterior)
        inner = self.inner.widen(known.inner, current.inner, seed, own, held=held)
        if own.decided_at[0] != current.decided_at[0]:
            position.decided_at[0] = known.observed
        return self._round(inner, own.decided_at)

    def replicate(
        self, reward: Rule, parameters: Reals, seeds: NDArray[np.uint64], max_samples: int
    ) -> Runs:
        """Not offered: arms are retired in a study, never in a simulation of many runs."""
        raise NotImplementedError


def _within(posterior: Posterior) -> SomePosterior:
    assert isinstance(posterior, SomePosterior)
    return posterior
