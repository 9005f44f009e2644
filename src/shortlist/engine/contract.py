"""What studies, comparisons and reports ask of an engine, and what its simulated runs give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_BLOCK, Integers, Reals
from shortlist.blocks import Cell
from shortlist.engine.aim import CERTAINTY, Aim
from shortlist.engine.certified import Certified
from shortlist.engine.fits import Posterior
from shortlist.engine.follow import Position, Steps
from shortlist.engine.rewards import Rewards


class Decision(NamedTuple):
    """What was decided: why an arm is pulled, or why the search stops."""

    stop: bool
    arm: int
    queued: int | None
    b: int
    c: int
    threshold: float
    gap: float
    statistic: float
    block: int = NO_BLOCK


class Pace(NamedTuple):
    """How often an engine decides, and what its first pulls are called."""

    makes_plans: bool  # else it decides after every result
    opening: str  # the first pulls, as a heading
    opening_pulls: str  # the same, after "whatever the results: "
    one_opening_pull: str  # what one of them is
    one_pull: str  # what a later one is for, before the pair of arms


ROUNDS = Pace(
    False,
    "Initial pulls",
    "initial pulls",
    "an initial pull",
    "was chosen to compare",
)
PLANS = Pace(
    True,
    "Pulls of the first plan",
    "pulls of the first plan",
    "part of the first plan",
    "is part of a plan to compare arms, above all",
)


@dataclass(frozen=True, eq=False)
class Setup:
    """What an engine was made for, and how it stops."""

    features: Reals  # K × rank, in a basis of their row space
    # The problem's m, σ (the noise is σ-sub-Gaussian) and ε.
    m: int
    sigma: float
    epsilon: float
    noise: Reals  # (σ_a/σ)² of every arm
    initial: Integers  # arms pulled before the first decision, in order
    # For the posterior: λ_V, and the shift of ln det(I + A/shift), 0 if that is not kept.
    regularization: float = 0.0
    shift: float = 0.0
    stop: str = "lucb"  # the stopping rule's name
    lagged: bool = False  # whether the stop reads the pair of the round before
    # Whether the stop compares the arms' own intervals, not differences of two means.
    alone: bool = False
    aim: Aim = CERTAINTY  # when it stops
    pace: Pace = ROUNDS

    @cached_property
    def wanted(self) -> Integers:
        """The number of initial pulls of every arm."""
        return np.bincount(self.initial, minlength=len(self.features)).astype(np.int64)


class Estimates(NamedTuple):
    """What is known about every arm by itself.

    ``variances`` are the squares of the widths in units of Cσ; ``intervals`` are the lower and upper
    ends where they are others than μ̂ ± Cσ√(xᵀV⁻¹x). ``noise`` is (σ_a/σ)² as results have shown it, where
    that is not what is stated.
    """

    means: Reals
    variances: Reals
    intervals: tuple[Reals, Reals] | None = None
    noise: Reals | None = None


class Gaps(NamedTuple):
    """For each arm the difference of means that the stopping rule reads, and its bounds.

    For an arm outside it is the arm's mean less that of ``boundary``, the candidate whose place is
    least certain; for a candidate it is the mean of c less the candidate's own. A rule that reads no c
    compares all arms with the boundary.
    """

    boundary: int
    gap: Reals
    lower: Reals
    upper: Reals


class AnyEngine(Protocol):
    """What a study, a comparison and a report ask of an algorithm on its problem.

    ``gifa.engine.Engine`` runs rounds of gap indices, ``plans.search_engine.SearchEngine`` plans. A *round* is what
    either remembers between two results; only the engine that made it reads it, except for the m arms
    ``inside`` that would be answered now, for ``until_decision``, the number of results until it next
    checks whether to stop, and for its ``decision(stop=…)``.
    """

    @property
    def setup(self) -> Setup:
        """What it was made for, and how it stops."""

    @property
    def searches(self) -> bool:
        """Whether what is asked may change on the way: see ``plans.search_engine``."""

    def posterior(self) -> Posterior:
        """An empty posterior."""

    def round(self) -> Any:
        """An empty round."""

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by now."""

    def follow(
        self, posterior: Posterior, current: Any, seed: int, steps: Steps, position: Position
    ) -> Any:
        """Take steps to the next stop or to their end; the round returned replaces ``current``."""

    def ahead(
        self, posterior: Posterior, current: Any, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last.

        It is also given the arms that are set aside: they are not decided on, and the decision is
        None where nothing else is wanted.
        """

    def last_decision(self, posterior: Posterior, current: Any, seed: int) -> tuple[Decision, Any]:
        """The last decision and its round, made from the posterior if nothing came in since."""

    def threshold(self, posterior: Posterior, current: Any) -> float:
        """C at this moment."""

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""

    def estimates(self, posterior: Posterior, current: Any) -> Estimates:
        """What is known about every arm by itself."""

    @property
    def adjusts(self) -> bool:
        """Whether ``estimates`` takes more of an arm's mean than the arm's own average."""

    def projected(self, current: Any, count: int, rng: np.random.Generator) -> Reals | None:
        """About how many results it still takes, for means drawn ``count`` times.

        None where the widths of intervals tell.
        """

    def gaps(
        self, posterior: Posterior, current: Any, decision: Decision, *, outside_only: bool = False
    ) -> Gaps:
        """The differences that the stopping rule reads; those of candidates may be left out."""

    def certified(self, posterior: Posterior, current: Any, decision: Decision) -> Certified:
        """What is certain of the m arms of the last decision."""

    def widen(
        self, posterior: Posterior, current: Any, seed: int, position: Position, *, held: bool
    ) -> Any:
        """Look at the stop again, with this engine's ε: the round was made with a smaller one.

        The round returned replaces ``current``. No new round begins where it is ``held``.
        """

    def replicate(self, rewards: Rewards, seeds: NDArray[np.uint64], max_samples: int) -> Runs:
        """One run for each seed, from the first pull to the stop."""


class ChangingEngine(AnyEngine, Protocol):
    """What a study asks besides where what is asked may change on the way (``searches``)."""

    def among(self, arms: Integers) -> AnyEngine:
        """The same where only these arms may be listed."""

    def retire(self, now: Any, arm: int) -> None:
        """Go on without an arm."""

    def readmit(self, now: Any, arm: int) -> None:
        """Go on with an arm that was retired."""

    def add(self, now: Any) -> None:
        """Go on with the arms that this engine has more."""

    def verify(self, now: Any) -> None:
        """Prove by arms' own results what relied on features."""

    def correct(self, now: Any, number: int, value: float) -> None:
        """Put the result right that was taken in as the n-th."""

    def after(self, steps: Steps, seed: int) -> Any:
        """The round that begins with these results, which only guide."""


@dataclass(frozen=True)
class Runs:
    """What many replicates gave, one row per run.

    ``by`` says what made the rounds, ``"NumPy"`` or ``"compiled"``. For audited runs, ``audited`` is how
    many of the samples tested whether the means are linear in the features, and ``rejected`` whether
    they are not.
    """

    seeds: NDArray[np.uint64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    recommended: NDArray[np.bool_]
    pulls: NDArray[np.int64]
    audited: NDArray[np.int64] | None = None
    rejected: NDArray[np.bool_] | None = None
    by: str = "NumPy"


def joined(parts: Iterable[Runs]) -> Runs:
    """Runs one after another."""
    listed, columns = list(parts), dict[str, Any]()
    for column in fields(Runs):
        values: Any = [getattr(part, column.name) for part in listed]
        whole = values[0] is None or column.name == "by"
        columns[column.name] = values[0] if whole else np.concatenate(values)
    return Runs(**columns)
