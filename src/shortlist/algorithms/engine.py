"""One algorithm bound to one problem: the arrays, the rules' pointers, and the calls into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.core.least_squares import Reals
from shortlist.core.notice import notice
from shortlist.core.posterior import Posterior, keeps_all_rows
from shortlist.core.random import fill_seeds
from shortlist.core.rule import OWN, Rule
from shortlist.errors import InvalidSetting, SingularDesign
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.game import NONE, apart, make_room

with notice("compiling the loop for this machine: once only, up to a minute"):
    from shortlist.algorithms import follow, kernel
    from shortlist.algorithms import round as rounds
    from shortlist.algorithms.decision import Decision, decision_of
    from shortlist.algorithms.designed import with_design
    from shortlist.algorithms.differences import differences
    from shortlist.algorithms.onward import play_on, round_cost

RULE_ORDER = ("indices", "threshold", "candidates", "ambiguous", "selection", "stopping")
GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time


@dataclass(frozen=True)
class Runs:
    """What many replicates gave, one row a run."""

    seeds: NDArray[np.uint64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    recommended: NDArray[np.bool_]
    pulls: NDArray[np.int64]


@dataclass(frozen=True)
class Engine:
    """The rules of an algorithm, their settings, and the calls into the compiled loop.

    Attributes
    ----------
    features : array, K × rank
        Features in a basis of their row space.
    rules : dict
        One rule of each kind in ``RULE_ORDER``.
    m, sigma, epsilon
        The problem's.
    regularization, shift : float
        Of the posterior.
    constants : array
        Of the threshold.
    initial : array of int
        Arms pulled before the first round.
    design : callable
        (b, c) → w*(b, c), asked once a pair.
    allocation : int
        Who says how many pulls every arm should have, by number; 0 if nobody does.
    """

    features: NDArray[np.float64]
    rules: dict[str, Rule]
    m: int
    sigma: float
    epsilon: float
    regularization: float
    shift: float
    constants: NDArray[np.float64]
    initial: NDArray[np.int64]
    design: Callable[[int, int], NDArray[np.float64]]
    allocation: int = NONE

    @cached_property
    def flags(self) -> int:
        """What the loop must prepare, as bits."""
        needs = frozenset().union(*(self.rules[kind].needs for kind in RULE_ORDER))
        traits = frozenset().union(*(self.rules[kind].traits for kind in RULE_ORDER))
        bits = {
            kernel.CANDIDATES_MAY_STAY: self._candidates_may_stay(),
            kernel.MTH_GAPS: "mth_gaps" in needs,
            kernel.OUTSIDE_GAPS: "outside_gaps" in needs,
            kernel.DESIGN: "design" in needs,
            kernel.BOTH: "both" in traits,
            kernel.LAGGED: "lagged" in traits,
            kernel.INITIALIZED: len(self.initial) > 0,
            kernel.TARGET: self.allocation != NONE,
        }
        return sum(bit for bit, wanted in bits.items() if wanted)

    @cached_property
    def wanted(self) -> NDArray[np.int64]:
        """The initial pulls of every arm."""
        return np.bincount(self.initial, minlength=len(self.features)).astype(np.int64)

    def _candidates_may_stay(self) -> bool:
        """Whether J(t) may be kept on the word of its own m-th gaps, the others' left unknown."""
        readers = [self.rules["ambiguous"], self.rules["stopping"]]
        own = any(rule.number == OWN and "mth_gaps" in rule.needs for rule in readers)
        by_gap = self.rules["candidates"].number == smallest_gap.number
        return by_gap and not own and "symmetric" in self.rules["indices"].traits

    @property
    def compiled(self) -> bool:
        """Whether every rule is machine code; one that is not takes the loop with it."""
        return all(self.rules[kind].is_compiled for kind in RULE_ORDER)

    def posterior(self) -> Posterior:
        """An empty posterior."""
        return Posterior(
            self.features,
            regularization=self.regularization,
            shift=self.shift,
            resident=self._resident(),
        )

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals, not differences of two means."""
        return self.rules["indices"].name == "individual"

    interval_words = "μ̂ ± Cσ‖x‖"

    def intervals(self, now: rounds.Round) -> None:
        """Every arm's own interval, where it is another; here it never is."""

    @property
    def stop(self) -> str:
        """The stopping rule's name."""
        return self.rules["stopping"].name

    @property
    def lagged(self) -> bool:
        """Whether the stop looks at the pair of the round before."""
        return "lagged" in self.rules["stopping"].traits

    @property
    def parts(self) -> dict[str, str]:
        """The rules by kind and name."""
        return {kind: rule.name for kind, rule in self.rules.items()}

    def threshold(self, posterior: Posterior, now: rounds.Round | None = None) -> float:
        """C at this moment."""
        return self.threshold_at(posterior.observed, posterior.log_det)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        offset = 0 if len(self.initial) else 1
        return float(self.rules["threshold"](int(time) + offset, log_det, self.constants))

    def boundary(self, now: rounds.Round) -> int | None:
        """The candidate whose gaps stop the study, where it is not b."""
        if "mth_gaps" not in self.rules["stopping"].needs:
            return None
        return int(np.argmax(np.where(now.inside, now.mth_gaps, -np.inf)))

    def differences(
        self, posterior: Posterior, now: rounds.Round, b: int, c: int
    ) -> tuple[Reals, Reals, Reals]:
        """Of each arm: its gap, and the gap indices below and above it (see ``Look``)."""
        scale = self.threshold(posterior) * self.sigma
        return differences(self.rules["indices"], posterior, scale, now.inside, b, c)

    def _resident(self) -> int:
        arms, rank = self.features.shape
        scans_all = bool(self.flags & kernel.MTH_GAPS)
        if keeps_all_rows(arms, rank) or (scans_all and arms <= GRAM_LIMIT):
            return arms
        return self.m + 16

    def round(self) -> rounds.Round:
        """An empty round, to be used with one posterior only."""
        arms, rank = self.features.shape
        plays = self.allocation != NONE
        return rounds.make_round(arms, rank, min(arms, self._resident()), self.m, plays=plays)

    def again(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> tuple[Decision, rounds.Round]:
        """The last decision, made again from the posterior alone."""
        return self.decide(posterior, self.round(), seed)

    def ahead(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> Callable[[list[int]], Decision]:
        """Decides as if results were in: each call is given the arms supposed since the last."""
        posterior = posterior.copy()

        def decide(supposing: list[int]) -> Decision:
            beyond = self.round()._replace(game=apart(now.game))  # the game stays where it is
            return self.decide(posterior, beyond, seed, check_stop=False, supposing=supposing)[0]

        return decide

    def decide(
        self,
        posterior: Posterior,
        now: rounds.Round,
        seed: int,
        *,
        check_stop: bool = True,
        supposing: list[int] | None = None,
    ) -> tuple[Decision, rounds.Round]:
        """One round of the algorithm; the round given back replaces the one given.

        Results at their own means are supposed first of the arms in ``supposing``.
        """
        marks = follow.fresh_marks()
        marks[follow.INITIALIZED] = 1
        steps = follow.Steps.supposing(supposing or [])
        now = self.follow(posterior, now, seed, steps, marks, check_stop=check_stop)
        return decision_of(now, stop=bool(marks[follow.STOPPED])), now

    def follow(
        self,
        posterior: Posterior,
        now: rounds.Round,
        seed: int,
        steps: follow.Steps,
        marks: NDArray[np.int64],
        *,
        check_stop: bool = True,
    ) -> rounds.Round:
        """Take steps from where ``marks`` stand to the next stop or to their end."""
        flags = self.flags | (kernel.CHECK_STOP if check_stop else 0)
        function: Any = follow.follow if self.compiled else kernel.interpreted(follow.follow)
        while True:
            with np.errstate(over="ignore"):
                status = function(
                    posterior.state, now, self.m, self.sigma, self.epsilon, np.uint64(seed), flags,
                    self.constants, self._numbers, *self._pointers, self.wanted, *steps, marks,
                )  # fmt: skip
            if status == kernel.DESIGN_WANTED:
                now = with_design(now, self.design)
            elif status == kernel.ROOM_WANTED:
                now = now._replace(game=make_room(now.game))
            else:
                break
        self._check(status, now)
        return now

    def replicate(
        self,
        reward: Rule,
        parameters: NDArray[np.float64],
        seeds: NDArray[np.uint64],
        max_samples: int,
    ) -> Runs:
        """One run a seed, from the first pull to the stop, in the compiled loop."""
        arms, runs = len(self.features), len(seeds)
        posterior, now = self.posterior(), self.round()
        stopped = np.zeros(runs, np.int64)
        recommended = np.zeros((runs, arms), np.bool_)
        pulls = np.zeros((runs, arms), np.int64)
        progress, stream = np.zeros(2, np.int64), np.zeros(4, np.uint64)
        flags = self.flags | kernel.CHECK_STOP
        fast = self.compiled and reward.is_compiled
        function: Any = kernel.replicate if fast else kernel.interpreted(kernel.replicate)
        while True:
            with np.errstate(over="ignore"):
                status = function(
                    posterior.state, now, self.m, self.sigma, self.epsilon, seeds, flags,
                    self.constants, self._numbers, *self._pointers, self.initial, reward.function, parameters,
                    max_samples, stream, stopped, recommended, pulls, progress,
                )  # fmt: skip
            if status == kernel.DESIGN_WANTED:
                now = with_design(now, self.design)
            elif status == kernel.ROOM_WANTED:
                now = now._replace(game=make_room(now.game))
            else:
                break
        self._check(status, now)
        return Runs(seeds, pulls.sum(axis=1), stopped == kernel.STOPPED, recommended, pulls)

    def affordable(self, nanoseconds: float) -> int:
        """About how many rounds can be simulated in that time."""
        return int(nanoseconds / round_cost(self))

    def play_on(
        self,
        posterior: Posterior,
        now: rounds.Round,
        means: Reals,
        seed: np.uint64,
        most: int,
    ) -> tuple[int, bool, NDArray[np.int64]]:
        """Evaluations in all, whether it stopped, and the pulls, were the means those given."""
        return play_on(self, posterior, means, seed, most)

    def _check(self, status: int, now: rounds.Round) -> None:
        """Raise where the loop could not go on."""
        arms = len(self.features)
        if status == kernel.SINGULAR:
            raise SingularDesign("the initial pulls do not span the features.")
        if status == kernel.BAD_CANDIDATES:
            raise InvalidSetting(
                f"the candidates rule {self.rules['candidates'].name!r} marked "
                f"{int(now.inside.sum())} arms where m = {self.m} are wanted."
            )
        if status == kernel.BAD_AMBIGUOUS:
            raise InvalidSetting(
                f"the ambiguous rule {self.rules['ambiguous'].name!r} returned an arm that is not "
                "among the candidates: it must return a j with inside[j]."
            )
        if status == kernel.BAD_SELECTION:
            raise InvalidSetting(
                f"the selection rule {self.rules['selection'].name!r} returned "
                f"{int(now.pair[rounds.ARM])}: it must return an arm from 0 to {arms - 1}."
            )

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        numbers = [self.rules[kind].number for kind in RULE_ORDER]
        return np.array([*numbers, self.allocation], np.int64)

    @cached_property
    def _pointers(self) -> list[Callable[..., Any]]:
        if not self.compiled:
            return [self.rules[kind].function for kind in RULE_ORDER]
        return [self.rules[kind].pointer for kind in RULE_ORDER]


def run_seeds(seed: int, runs: int, first: int = 0) -> NDArray[np.uint64]:
    """The seeds of ``runs`` replicates, or of ``runs`` trials from ``first`` on.

    Examples
    --------
    >>> run_seeds(0, 3)[:2].tolist() == run_seeds(0, 2).tolist()
    True
    """
    seeds = np.zeros(runs, np.uint64)
    with np.errstate(over="ignore"):
        fill_seeds(np.uint64(seed), first, seeds)
    return seeds
