"""One algorithm bound to one problem: the arrays, the rules' pointers, and the calls into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms import requests, signals
from shortlist.algorithms import round as rounds
from shortlist.algorithms.complaints import check
from shortlist.algorithms.decision import Decision, decision_of
from shortlist.algorithms.differences import differences
from shortlist.algorithms.flags import flags_of, may_screen
from shortlist.algorithms.follow import follow
from shortlist.algorithms.kernel import Simulation, decide, replicate
from shortlist.algorithms.onward import play_on, round_cost
from shortlist.algorithms.resident import passes_over, resident_rows
from shortlist.algorithms.runs import Runs
from shortlist.algorithms.screen import make_screen
from shortlist.algorithms.screening import decide_by_rows, decide_lagging
from shortlist.algorithms.settings import Routines, Settings
from shortlist.algorithms.steps import INITIALIZED, STOPPED, Standing, Steps, fresh_marks
from shortlist.core.least_squares import OBSERVE, REFRESH
from shortlist.core.lines import on_own_line, on_own_lines
from shortlist.core.pilot import pilot_threshold
from shortlist.core.posterior import Posterior, width_floor
from shortlist.core.random import seed_stream
from shortlist.core.records import ABSENT, Reals
from shortlist.core.rule import OWN, Rule
from shortlist.core.state import LAGGING, WHOLE
from shortlist.rules.allocation import NONE, allocate, apart, exploration, make_allocation
from shortlist.rules.initialization import in_units

ENDS = (signals.PULL, signals.STOP)  # of a loop that went through
RULE_ORDER = ("indices", "threshold", "candidates", "ambiguous", "selection", "stopping")
STEPS_AN_ARM = 80  # of inner loops in a round with few arms, about


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
        (b, c) → w*(b, c), once a pair.
    after_pilot : array of int
        The pulls of every arm after a pilot.
    shares : callable
        (means, inside) → their w*, or None where there is none; asked by the allocation `lazy`.
    allocation : int
        Who says how many pulls every arm should have; 0 if nobody does.
    noise : array, K
        (σ_a/σ)² of every arm.
    elimination : bool
        Whether what an index has once bounded stays bounded.
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
    design: requests.Design
    shares: requests.Shares
    after_pilot: NDArray[np.int64]
    noise: NDArray[np.float64]
    allocation: int = NONE
    elimination: bool = False
    budget = None  # it stops when it is certain

    @property
    def weights(self) -> NDArray[np.float64]:
        """How often an evaluation of each arm counts: σ²/σ_a²."""
        return 1.0 / self.noise

    @cached_property
    def flags(self) -> int:
        """What the loop must prepare, as bits."""
        bits = flags_of(self.rules, elimination=self.elimination)
        bits |= signals.INITIALIZED if len(self.initial) else 0
        bits |= signals.TARGET if self.allocation != NONE else 0
        return bits | (signals.SCREENED if self._screens else 0)

    @cached_property
    def _screens(self) -> bool:
        free = self.allocation == NONE and not self.elimination and may_screen(self.rules)
        return free and passes_over(len(self.features), by_gaps=self._by_gaps)

    @property
    def _by_gaps(self) -> bool:
        return bool(self.rules["candidates"].needs)

    @cached_property
    def wanted(self) -> NDArray[np.int64]:
        """The initial pulls of every arm."""
        return np.bincount(self.initial, minlength=len(self.features)).astype(np.int64)

    @property
    def has_pilot(self) -> bool:
        """Whether the first evaluations are set aside."""
        return "pilot" in self.rules["threshold"].traits

    @cached_property
    def compiled(self) -> bool:
        """Whether every rule is machine code; one that is not takes the loop with it."""
        return all(self.rules[kind].is_compiled for kind in RULE_ORDER)

    def posterior(self) -> Posterior:
        """An empty posterior."""
        return Posterior(
            self.features,
            regularization=self.regularization,
            shift=self.shift,
            pilot=self.has_pilot,
            levels="levels" in self.rules["threshold"].traits,
            resident=self._resident(),
            noise=self.noise,
            floor=self._floor,
        )

    @cached_property
    def _floor(self) -> float:
        return width_floor(self.features, self.regularization)

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals, not differences of two means."""
        return self.rules["indices"].name == "individual"

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

    def until_look(self, now: rounds.Round) -> int:
        """It looks at every result."""
        return 1

    def threshold(self, posterior: Posterior, now: rounds.Round | None = None) -> float:
        """C at this moment."""
        if self.has_pilot and not posterior.aside:
            return float(pilot_threshold(posterior.observed, self.constants))
        learnt = posterior.surprise(self.sigma) if self.has_pilot else posterior.log_det
        return self.threshold_at(posterior.observed, learnt)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        offset = 0 if len(self.initial) else 1
        return float(self.rules["threshold"](int(time) + offset, log_det, self.constants))

    def opening(self, posterior: Posterior) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The arms to pull before the next round, in order, and how often each has been by now."""
        if posterior.aside:
            arms = np.repeat(np.arange(len(self.features)), self.after_pilot)
            return arms, posterior.pulls - posterior.pilot
        return self.initial, posterior.pulls

    def estimates(self, posterior: Posterior, now: rounds.Round) -> tuple[Reals, Reals]:
        """Means, and the squares of their widths in units of Cσ."""
        return posterior.means, posterior.variances

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
        return differences(self.rules["indices"], posterior, scale, now, b, c)

    def _resident(self) -> int:
        return resident_rows(self.features, self.m, self.flags, by_gaps=self._by_gaps)

    def round(self) -> rounds.Round:
        """An empty round, to be used with one posterior only."""
        arms, rank = self.features.shape
        least = np.full((arms, arms) if self.elimination else (0, 0), np.inf)
        allocation, screen, rows = ABSENT, ABSENT, 0
        if self.allocation != NONE:
            allocation = make_allocation(self.allocation, arms, rank, self.m, *self._exploration)
        if self._screens:
            rows = self._resident()
            screen = make_screen(arms, rank, self.m, rows, by_gaps=self._by_gaps)
        columns, by_time = self._resident() - rows, "by_time" in self.rules["threshold"].traits
        return rounds.make_round(arms, columns, self.m, allocation, least, screen, by_time=by_time)

    @cached_property
    def _exploration(self) -> tuple[NDArray[np.int64], float]:
        return exploration(self.allocation, in_units(self.features, self.noise))

    def again(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> tuple[Decision, rounds.Round]:
        """The last decision, made again from the posterior alone."""
        return self.decide(posterior, self.round().replace(least=now.least.copy()), seed)

    def ahead(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> Callable[[list[int]], Decision]:
        """Decides as if results were in: each call is given the arms supposed since the last."""
        posterior, beyond = posterior.copy(), self.round()

        def decide(supposing: list[int]) -> Decision:
            own_round = beyond.replace(allocation=apart(now.allocation), least=now.least.copy())
            return self.decide(posterior, own_round, seed, check_stop=False, supposing=supposing)[0]

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
        marks = fresh_marks()
        marks[INITIALIZED] = 1
        steps = Steps.supposing(supposing or [])
        now = self.follow(posterior, now, seed, steps, marks, check_stop=check_stop)
        return decision_of(now, stop=bool(marks[STOPPED])), now

    def follow(
        self,
        posterior: Posterior,
        now: rounds.Round,
        seed: int,
        steps: Steps,
        marks: NDArray[np.int64],
        *,
        check_stop: bool = True,
    ) -> rounds.Round:
        """Take steps from where ``marks`` stand to the next stop or to their end."""
        standing = self._standing(marks)
        layout = posterior.state.layout
        settings, routines = self._settings(check_stop), self._routines[layout]
        effort = len(steps.kinds) * len(self.features) * STEPS_AN_ARM
        while True:
            function = self._follower(layout, effort)
            status = function(
                posterior.state, now, settings, routines, np.uint64(seed), standing, steps
            )
            if status in ENDS:
                return now
            answered = self._answered(status, posterior, now)
            if answered is None:
                check(status, now, self.rules, self.m)
                return now
            now = answered

    def _standing(self, marks: NDArray[np.int64]) -> Standing:
        """The record of these marks: kept, since a study has the same ones all the time."""
        last = self._last_standing[0]
        if last.marks is not marks:
            last = self._last_standing[0] = Standing(self.wanted, self.after_pilot, marks)
        return last

    @cached_property
    def _last_standing(self) -> list[Standing]:
        return [Standing(self.wanted, self.after_pilot, fresh_marks())]

    def replicate(
        self,
        reward: Rule,
        parameters: NDArray[np.float64],
        seeds: NDArray[np.uint64],
        max_samples: int,
        *,
        origin: Posterior | None = None,
    ) -> Runs:
        """One run a seed, from the first pull or from ``origin`` to the stop, compiled."""
        return self._replicate(reward, parameters, seeds, max_samples, origin)[0]

    def run_once(
        self, reward: Rule, parameters: NDArray[np.float64], seed: np.uint64, max_samples: int
    ) -> tuple[Runs, Reals]:
        """One run, and the sum of each arm's results."""
        seeds = np.array([seed], np.uint64)
        runs, posterior = self._replicate(reward, parameters, seeds, max_samples, None)
        return runs, posterior.state.sums.copy()

    def _replicate(
        self,
        reward: Rule,
        parameters: NDArray[np.float64],
        seeds: NDArray[np.uint64],
        max_samples: int,
        origin: Posterior | None,
    ) -> tuple[Runs, Posterior]:
        arms, count = len(self.features), len(seeds)
        posterior = self.posterior() if origin is None else origin.copy()
        posterior.state, now = on_own_lines(posterior.state), on_own_lines(self.round())
        runs = Simulation(
            seeds=seeds,
            initial=self.initial if origin is None else np.zeros(0, np.int64),
            again=self.after_pilot,
            reward=reward,
            parameters=parameters,
            most=max_samples,
            stream=on_own_line(np.zeros(4, np.uint64)),
            stopped=np.zeros(count, np.int64),
            recommended=np.zeros((count, arms), np.bool_),
            pulls=np.zeros((count, arms), np.int64),
            progress=on_own_line(np.array([0, origin is not None], np.int64)),
        )
        routines = self._routines[posterior.state.layout]
        compiled = self.compiled and reward.is_compiled
        function = replicate if compiled else replicate.interpret
        with np.errstate(all="ignore"):
            if origin is not None:
                seed_stream(seeds[0], runs.stream)
            while True:
                status = function(posterior.state, now, self._with_stop, routines, runs)
                answered = self._answered(status, posterior, now)
                if answered is None:
                    break
                now = answered
        check(status, now, self.rules, self.m)
        stopped = runs.stopped == signals.STOPPED
        made = Runs(seeds, runs.pulls.sum(axis=1), stopped, runs.recommended, runs.pulls)
        return made, posterior

    def _answered(
        self, status: int, posterior: Posterior, now: rounds.Round
    ) -> rounds.Round | None:
        """The round with what the loop asked for; None where it did not ask for anything."""
        if status == signals.DESIGN_WANTED:
            return requests.with_design(now, self.design)
        if status == signals.ROOM_WANTED:
            return requests.with_room(now)
        if status == signals.SHARES_WANTED:
            return requests.with_shares(now, posterior.state, self.shares)
        return None

    def affordable(self, nanoseconds: float) -> int:
        """About how many rounds can be simulated in that time."""
        return int(nanoseconds / round_cost(self))

    def play_on(
        self, posterior: Posterior, now: rounds.Round, means: Reals, seed: np.uint64, most: int
    ) -> tuple[int, bool, NDArray[np.int64]]:
        """Evaluations in all, whether it stopped, and the pulls, were the means those given."""
        return play_on(self, posterior, means, seed, most)

    def _settings(self, check_stop: bool) -> Settings:
        return self._with_stop if check_stop else self._without_stop

    @cached_property
    def _with_stop(self) -> Settings:
        own = {kind: rule for kind, rule in self.rules.items() if rule.number == OWN}
        numbers = [self.rules[kind].number for kind in RULE_ORDER]
        return Settings(
            m=self.m,
            sigma=self.sigma,
            epsilon=self.epsilon,
            flags=self.flags | signals.CHECK_STOP,
            constants=self.constants,
            numbers=np.array([*numbers, self.allocation], np.int64),
            allocate=ABSENT if self.allocation == NONE else allocate,
            **{kind: own.get(kind, ABSENT) for kind in RULE_ORDER},
        )

    @cached_property
    def _without_stop(self) -> Settings:
        return self._with_stop.replace(flags=self.flags)

    @cached_property
    def _called(self) -> dict[int, list[Any]]:
        """What a round calls by address: how it decides, takes in a result, and starts anew."""
        decides = dict.fromkeys(OBSERVE, decide_by_rows if self._screens else decide)
        if self._screens:
            decides[LAGGING] = decide_lagging
        more = [] if self.allocation == NONE else [allocate]
        return {k: [decides[k], OBSERVE[k], REFRESH[k], *more] for k in OBSERVE}

    @cached_property
    def _routines(self) -> dict[int, Routines]:
        return {layout: Routines(*called[:3]) for layout, called in self._called.items()}

    def _follower(self, layout: int, steps: int) -> Callable[..., int]:
        if layout in self._compiled_for:
            return follow
        if not self.compiled:
            return follow.interpret
        whole = layout == WHOLE and not self._screens
        chosen = follow.sparing(steps, *self._called[layout], exact=whole)
        if chosen is follow:  # from here on it is machine code
            self._compiled_for.add(layout)
        return chosen

    @cached_property
    def _compiled_for(self) -> set[int]:
        return set()
