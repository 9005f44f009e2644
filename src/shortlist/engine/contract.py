"""What a study, a comparison and a report ask of an algorithm on its problem, of whatever kind.

What many replicates gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Reals
from shortlist.engine.decision import Decision
from shortlist.engine.follow import Steps
from shortlist.posterior.posterior import Posterior
from shortlist.rules.rule import Rule


class AnyEngine(Protocol):
    """``Engine`` runs rounds of gap indices, ``PlanEngine`` the plans of a strategy.

    A *round* is what either remembers between two results; only the engine that made it looks into
    it, but for the m arms ``inside`` that would be answered now.
    """

    @property
    def features(self) -> Reals:
        """Features in a basis of their row space."""

    @property
    def m(self) -> int:
        """How many to find."""

    @property
    def sigma(self) -> float:
        """The noise is σ-sub-Gaussian."""

    @property
    def weights(self) -> Reals:
        """How often an evaluation of each arm counts: σ²/σ_a²."""

    @property
    def epsilon(self) -> float:
        """Slack."""

    @property
    def regularization(self) -> float:
        """λ_V of the posterior."""

    @property
    def shift(self) -> float:
        """Of the posterior's ln det(I + A/shift); 0 if none is kept."""

    @property
    def initial(self) -> Integers:
        """Arms pulled before the first decision, in order."""

    @property
    def wanted(self) -> Integers:
        """The same, as a number for every arm."""

    @property
    def compiled(self) -> bool:
        """Whether all that is done for every result is machine code."""

    @property
    def has_pilot(self) -> bool:
        """Whether the first evaluations are set aside."""

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals, not differences of two means."""

    def intervals(self, now: Any) -> tuple[Reals, Reals] | None:
        """Every arm's own interval, where it is another than μ̂ ± Cσ‖x‖."""

    @property
    def stop(self) -> str:
        """The stopping rule's name."""

    @property
    def lagged(self) -> bool:
        """Whether the stop looks at the pair of the round before."""

    @property
    def budget(self) -> int | None:
        """The number of results at which it stops; None where it stops when it is certain."""

    @property
    def parts(self) -> dict[str, str]:
        """The rules it is composed of, by kind; none for a strategy."""

    def posterior(self) -> Posterior:
        """An empty posterior."""

    def opening(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by now."""

    def round(self) -> Any:
        """An empty round."""

    def follow(
        self, posterior: Posterior, now: Any, seed: int, steps: Steps, marks: Integers
    ) -> Any:
        """Take steps to the next stop or to their end; the round given back replaces ``now``."""

    def ahead(self, posterior: Posterior, now: Any, seed: int) -> Callable[[list[int]], Decision]:
        """Decides as if results were in: each call is given the arms supposed since the last."""

    def again(self, posterior: Posterior, now: Any, seed: int) -> tuple[Decision, Any]:
        """The last decision and its round, told by the posterior if nothing came in since."""

    def until_look(self, now: Any) -> int:
        """How many more results until it looks again whether to stop."""

    def threshold(self, posterior: Posterior, now: Any) -> float:
        """C at this moment."""

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""

    def estimates(self, posterior: Posterior, now: Any) -> tuple[Reals, Reals]:
        """Means, and the squares of their widths in units of Cσ."""

    def boundary(self, now: Any) -> int | None:
        """The candidate whose gaps stop the study, where it is not b."""

    def differences(
        self, posterior: Posterior, now: Any, b: int, c: int
    ) -> tuple[Reals, Reals, Reals]:
        """Of each arm: its gap, and the bounds below and above it (see ``Look``)."""

    def replicate(
        self, reward: Rule, parameters: Reals, seeds: NDArray[np.uint64], max_samples: int
    ) -> Runs:
        """One run a seed, from the first pull to the stop."""

    def run_once(
        self, reward: Rule, parameters: Reals, seed: np.uint64, max_samples: int
    ) -> tuple[Runs, Reals]:
        """One run, and the sum of each arm's results."""

    def affordable(self, nanoseconds: float) -> int:
        """About how many evaluations can be simulated in that time."""

    def play_on(
        self, posterior: Posterior, now: Any, means: Reals, seed: np.uint64, most: int
    ) -> tuple[int, bool, Integers]:
        """Evaluations in all, whether it stopped, and the pulls, were the means those given."""


@dataclass(frozen=True)
class Runs:
    """What many replicates gave, one row a run.

    Of audited runs, ``audited`` is how many of the samples tested whether the means are linear in
    the features, and ``rejected`` whether they are not.
    """

    seeds: NDArray[np.uint64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    recommended: NDArray[np.bool_]
    pulls: NDArray[np.int64]
    audited: NDArray[np.int64] | None = None
    rejected: NDArray[np.bool_] | None = None


def joined(parts: Iterable[Runs]) -> Runs:
    """Runs one after another."""
    listed, columns = list(parts), {}
    for field in fields(Runs):
        values: Any = [getattr(part, field.name) for part in listed]
        columns[field.name] = None if values[0] is None else np.concatenate(values)
    made: dict[str, Any] = columns
    return Runs(**made)
