"""One algorithm of gap indices on one problem: its arrays, its rules, and the calls into the loop.

Where the compiled loop needs something of Python (a design, more room, w*), it returns, is given it,
and goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.allocations.allocation import (
    LAZY,
    NONE,
    SOLVED,
    allocate,
    copy_allocation,
    exploration,
    make_allocation,
    make_room,
)
from shortlist.arrays import NO_ARM, Mask
from shortlist.engine import round as rounds
from shortlist.engine import settings
from shortlist.engine.contract import Decision, Estimates, Gaps, Runs, Setup, decision_of
from shortlist.engine.follow import IS_INITIALIZED, IS_STOPPED, Position, Steps, follow, fresh_marks
from shortlist.engine.loop import Simulation, replicate
from shortlist.engine.many_arms.memory import SOME, make_memory, number_of_rows
from shortlist.engine.many_arms.round import decide_skipping
from shortlist.engine.round import ARM, B, C, Round, Routines, decide, design_slot
from shortlist.engine.settings import (
    BAD_AMBIGUOUS,
    BAD_CANDIDATES,
    BAD_SELECTION,
    SINGULAR,
    Settings,
    flags_of,
    has_threshold_by_pair,
    may_skip_arms,
)
from shortlist.errors import InvalidSetting, SingularDesign
from shortlist.numerics.jit import Function
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import ABSENT, Integers, Reals, on_own_line, on_own_lines
from shortlist.posterior.least_squares import OBSERVE, REFRESH, UPDATES, climb, row
from shortlist.posterior.pilot import pilot_threshold, set_aside, surprise
from shortlist.posterior.posterior import Posterior, width_floor
from shortlist.posterior.state import FLOOR, OBSERVED, WHOLE, State
from shortlist.rules.indices import fill_by_pair, paired
from shortlist.rules.initialization import in_units
from shortlist.rules.registry import KINDS
from shortlist.rules.rule import OWN, Rule
from shortlist.rules.selection import reduction
from shortlist.rules.thresholds import two_arm_threshold

ENDS = (settings.PULL, settings.STOP)  # returned by a loop that took all its steps
STEPS_AN_ARM = 80  # of inner loops in a round with few arms, about
# Of what an evaluation of an arm set aside would tell of the pair, one in its place must tell this
# share: else a study would go on for ever with evaluations of an arm that it knows already.
LEAST_GAIN = 0.1


@dataclass(frozen=True)
class Engine:
    """The rules of an algorithm, their settings, and the calls into the compiled loop."""

    setup: Setup  # the problem, the posterior's settings, and the first pulls
    rules: dict[str, Rule]  # one rule of each of ``KINDS``, and the threshold
    constants: Reals  # of the threshold
    design: Design  # (b, c) → w*(b, c), once per pair
    # (means, inside) → their w*, or None where there is none; asked by the allocation `lazy`.
    shares: Shares
    after_pilot: Integers  # the pulls of every arm after a pilot
    # Which allocation says how many pulls every arm should have; 0 if none does.
    allocation: int = NONE
    elimination: bool = False  # whether what an index has once bounded stays bounded

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle takes along: not what was made of it for this process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def flags(self) -> int:
        """What the loop must prepare, as bits."""
        bits = flags_of(self.rules, elimination=self.elimination)
        bits |= settings.HAS_INITIAL_PULLS if len(self.setup.initial) else 0
        bits |= settings.TARGET if self.allocation != NONE else 0
        return bits | (settings.SKIPS_ARMS if self._skips_arms else 0)

    @cached_property
    def _by_pair(self) -> bool:
        return has_threshold_by_pair(self.rules)

    @cached_property
    def _skips_arms(self) -> bool:
        free = self.allocation == NONE and not self.elimination and may_skip_arms(self.rules)
        return free and len(self.setup.features) >= SOME

    def _resident(self) -> int:
        return number_of_rows(self.setup.features, self.setup.m, self.flags)

    @property
    def benefits_from_threads(self) -> bool:
        """Whether two threads make more runs than one: not where both need the interpreter."""
        return self._compiled and self.allocation != LAZY

    @cached_property
    def _compiled(self) -> bool:
        """Whether every rule is machine code; one that is not takes the loop with it."""
        return all(rule.is_compiled for rule in self.rules.values())

    def posterior(self) -> Posterior:
        """An empty posterior."""
        return Posterior(
            self.setup.features,
            regularization=self.setup.regularization,
            shift=self.setup.shift,
            pilot=self.setup.has_pilot,
            levels="levels" in self.rules["threshold"].traits,
            resident=self._resident(),
            noise=self.setup.noise,
            floor=self._floor,
        )

    @cached_property
    def _floor(self) -> float:
        return width_floor(self.setup.features, self.setup.regularization)

    def threshold(self, posterior: Posterior, now: rounds.Round | None = None) -> float:
        """C at this moment; that of the pair decided on, where every pair has its own."""
        if self._by_pair and now is not None and now.pair[B] != NO_ARM:
            variances = posterior.variances[now.pair[B]], posterior.variances[now.pair[C]]
            return float(two_arm_threshold(self.constants, *variances))
        if self.setup.has_pilot and not posterior.aside:
            return float(pilot_threshold(posterior.observed, self.constants))
        learnt = posterior.surprise(self.setup.sigma) if self.setup.has_pilot else posterior.log_det
        return self.threshold_at(posterior.observed, learnt)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        offset = 0 if len(self.setup.initial) else 1
        return float(self.rules["threshold"](int(time) + offset, log_det, self.constants))

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by now."""
        if posterior.aside:
            arms = np.repeat(np.arange(len(self.setup.features)), self.after_pilot)
            return arms, posterior.pulls - posterior.pilot
        return self.setup.initial, posterior.pulls

    def estimates(self, posterior: Posterior, now: rounds.Round) -> Estimates:
        """Means and variances by least squares."""
        means, variances = posterior.means, posterior.variances
        if not self._by_pair or not len(means):
            return Estimates(means, variances)
        # The interval of an arm from its pair with the arm of most pulls: no other pair's is wider.
        most, (level, prior, _) = float(variances.min()), self.constants.tolist()
        grown = level + 0.5 * (np.log1p(1.0 / (prior * variances)) + np.log1p(1.0 / (prior * most)))
        widths = self.setup.sigma * np.sqrt(2.0 * grown * variances * (1.0 + prior * variances))
        return Estimates(means, variances, (means - widths, means + widths))

    def gaps(
        self,
        posterior: Posterior,
        now: rounds.Round,
        decision: Decision,
        *,
        outside_only: bool = False,
    ) -> Gaps:
        """Differences of means, with the gap indices below and above them."""
        b, c = decision.b, NO_ARM if outside_only else decision.c
        if "mth_gaps" in self.rules["stopping"].needs:
            b, c = int(np.argmax(np.where(now.inside, now.mth_gaps, -np.inf))), NO_ARM
        column = self._columns(posterior.copy(), now)  # reading a row may push out another
        symmetric = "symmetric" in self.rules["indices"].traits and not self.elimination
        means, inside = posterior.means, np.flatnonzero(now.inside)
        gap, upper = means - means[b], column(b)
        lower = 2.0 * gap - upper
        if not symmetric:
            lower = np.array([-column(i)[b] for i in range(len(means))])
        if c == NO_ARM:
            gap[b] = lower[b] = upper[b] = np.nan
            return Gaps(b, gap, lower, upper)
        at_stop, of_c = upper[c], column(c)
        gap[inside], lower[inside] = means[c] - means[inside], -of_c[inside]
        if symmetric:
            # B_cj − B_jc = 2(μ̂_c − μ̂_j), so c's own column has what would take one column for every
            # candidate j.
            upper[inside] = of_c[inside] + 2.0 * gap[inside]
            upper[b] = at_stop  # to the last bit what the stopping rule reads
        else:
            upper[inside] = [column(j)[c] for j in inside.tolist()]
        return Gaps(b, gap, lower, upper)

    def _columns(self, posterior: Posterior, now: rounds.Round) -> Callable[[int], Reals]:
        """The function j → B_ij over i."""
        indices, floor = self.rules["indices"], posterior.state.scalars[FLOOR]
        means, variances, sigma = posterior.means, posterior.variances, self.setup.sigma
        scale = 0.0 if self._by_pair else sigma * self.threshold(posterior)

        def column(j: int) -> Reals:
            filled, given = np.empty(len(means)), (means, variances, posterior.row(j))
            if self._by_pair:
                fill_by_pair(indices.number, j, *given, sigma, self.constants, floor, filled)
            else:
                indices(j, *given, scale, filled)
            if indices.number == paired.number and not self._by_pair:
                widths = scale * np.sqrt(floor * (variances + variances[j]))
                filled = np.maximum(filled, means - means[j] + widths)
            return np.minimum(filled, now.least[j]) if len(now.least) else filled

        return column

    def round(self) -> rounds.Round:
        """An empty round, to be used with one posterior only."""
        arms, rank = self.setup.features.shape
        least = np.full((arms, arms) if self.elimination else (0, 0), np.inf)
        allocation, memory, rows = ABSENT, ABSENT, 0
        if self.allocation != NONE:
            allocation = make_allocation(
                self.allocation, arms, rank, self.setup.m, *self._exploration
            )
        if self._skips_arms:
            rows = self._resident()
            memory = make_memory(arms, self.setup.m, rows)
        columns, by_time = self._resident() - rows, "by_time" in self.rules["threshold"].traits
        return rounds.make_round(
            arms, columns, self.setup.m, allocation, least, memory, by_time=by_time
        )

    @cached_property
    def _exploration(self) -> tuple[Integers, float]:
        return exploration(self.allocation, in_units(self.setup.features, self.setup.noise))

    def last_decision(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> tuple[Decision, rounds.Round]:
        """The last decision, made again from the posterior alone."""
        return self.decide(posterior, self.round().replace(least=now.least.copy()), seed)

    def ahead(
        self, posterior: Posterior, now: rounds.Round, seed: int
    ) -> Callable[[list[int], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the arms supposed since the last."""
        posterior, beyond = posterior.copy(), self.round()

        def decide(supposing: list[int], set_aside: Collection[int]) -> Decision | None:
            own_round = beyond.replace(
                allocation=copy_allocation(now.allocation), least=now.least.copy()
            )
            given = posterior, own_round, seed
            decision = self.decide(*given, check_stop=False, supposing=supposing)[0]
            if decision.queued in set_aside:
                decision = decision._replace(queued=None)
            if decision.arm not in set_aside:
                return decision
            return self._in_place(posterior, decision, set_aside)

        return decide

    def _in_place(
        self, posterior: Posterior, decision: Decision, set_aside: Collection[int]
    ) -> Decision | None:
        """The decision for the other arm of the pair; None if it is set aside or tells too little."""
        pair = decision.b, decision.c
        rows = posterior.row(decision.b), posterior.row(decision.c)

        def gain(arm: int) -> float:
            given = *rows, posterior.variances, self.setup.noise
            return float(reduction.interpret(arm, *given))

        others = [arm for arm in pair if arm not in set_aside]
        if not others:
            return None
        best = max(others, key=gain)
        lost = max(gain(arm) for arm in {decision.arm, *pair} if arm in set_aside)
        if gain(best) < LEAST_GAIN * lost:
            return None
        return decision._replace(arm=best, queued=None)

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
        marks[IS_INITIALIZED] = 1
        steps = Steps.supposing(supposing or [])
        now = self.follow(posterior, now, seed, steps, marks, check_stop=check_stop)
        return decision_of(now.pair, now.figures, stop=bool(marks[IS_STOPPED])), now

    def follow(
        self,
        posterior: Posterior,
        now: rounds.Round,
        seed: int,
        steps: Steps,
        marks: Integers,
        *,
        check_stop: bool = True,
    ) -> rounds.Round:
        """Take steps from where ``marks`` stand to the next stop or to their end."""
        position = self._position(marks)
        layout = posterior.state.layout
        chosen = self._settings[layout, check_stop]
        routines = self._routines[layout]
        effort = len(steps.kinds) * len(self.setup.features) * STEPS_AN_ARM
        while True:
            function = self._follower(layout, effort)
            status = function(
                posterior.state, now, chosen, routines, np.uint64(seed), position, steps
            )
            if status in ENDS:
                return now
            answered = self._answered(status, posterior, now)
            if answered is None:
                check(status, now, self.rules, self.setup.m)
                return now
            now = answered

    def _position(self, marks: Integers) -> Position:
        """The record of these marks; kept, since a study uses the same ones throughout."""
        if not self._positions or self._positions[0].marks is not marks:
            self._positions[:] = [Position(self.setup.wanted, self.after_pilot, marks)]
        return self._positions[0]

    @cached_property
    def _positions(self) -> list[Position]:
        return []

    def replicate(
        self,
        reward: Rule,
        parameters: Reals,
        seeds: NDArray[np.uint64],
        max_samples: int,
        *,
        origin: tuple[Posterior, rounds.Round] | None = None,
    ) -> Runs:
        """One run for each seed, from the first pull or from ``origin`` to the stop, compiled."""
        arms, count = len(self.setup.features), len(seeds)
        posterior = self.posterior() if origin is None else origin[0].copy()
        posterior.state, now = on_own_lines(posterior.state), on_own_lines(self.round())
        runs = Simulation(
            seeds=seeds,
            initial=self.setup.initial if origin is None else np.zeros(0, np.int64),
            after_pilot=self.after_pilot,
            reward=reward,
            parameters=parameters,
            most=max_samples,
            stream=on_own_line(np.zeros(4, np.uint64)),
            stopped=np.zeros(count, np.int64),
            recommended=np.zeros((count, arms), np.bool_),
            pulls=np.zeros((count, arms), np.int64),
            progress=on_own_line(np.array([0, origin is not None], np.int64)),
        )
        layout = posterior.state.layout
        chosen, routines = self._settings[layout, True], self._routines[layout]
        compiled = self._compiled and reward.is_compiled
        function = replicate if compiled else replicate.interpret
        with np.errstate(all="ignore"):
            if origin is not None:
                seed_stream(seeds[0], runs.stream)
            while True:
                status = function(posterior.state, now, chosen, routines, runs)
                answered = self._answered(status, posterior, now)
                if answered is None:
                    break
                now = answered
        check(status, now, self.rules, self.setup.m)
        stopped = runs.stopped == settings.RUN_STOPPED
        sums = posterior.state.sums.copy() if count == 1 else None
        return Runs(seeds, runs.pulls.sum(axis=1), stopped, runs.recommended, runs.pulls, sums)

    def _answered(
        self, status: int, posterior: Posterior, now: rounds.Round
    ) -> rounds.Round | None:
        """The round with what the loop asked for; None if it asked for nothing."""
        if status == settings.DESIGN_WANTED:
            return with_design(now, self.design)
        if status == settings.ROOM_WANTED:
            return now.replace(allocation=make_room(now.allocation))
        if status == settings.SHARES_WANTED:
            return with_shares(now, posterior.state, self.shares)
        return None

    def affordable(self, nanoseconds: float) -> int:
        """About how many rounds can be simulated in that time."""
        return int(nanoseconds / round_cost(self)) if self._compiled else 0

    @cached_property
    def _settings(self) -> dict[tuple[int, bool], Settings]:
        """The settings for each layout, and with or without a check whether to stop."""
        numbers = [self.rules[kind].number for kind in KINDS]
        made = Settings(
            m=self.setup.m,
            sigma=self.setup.sigma,
            epsilon=self.setup.epsilon,
            flags=self.flags,
            constants=self.constants,
            numbers=np.array([*numbers, self.allocation], np.int64),
            allocate=ABSENT if self.allocation == NONE else allocate,
            log_det=self._log_det or ABSENT,
            row=ABSENT,
            threshold=self.rules["threshold"],
            **{kind: self._own(kind) for kind in KINDS},
        )
        chosen = {}
        for layout in OBSERVE:
            found = row if self._misses_rows(layout) else ABSENT
            for check, bit in ((True, settings.CHECK_STOP), (False, 0)):
                chosen[layout, check] = made.replace(row=found, flags=self.flags | bit)
        return chosen

    def _own(self, kind: str) -> Any:
        """The rule of this kind if it is called by its address."""
        return self.rules[kind] if self.rules[kind].number == OWN else ABSENT

    def _misses_rows(self, layout: int) -> bool:
        """Whether ``decide`` may need a row of G that is not kept."""
        return layout != WHOLE and not self._skips_arms

    @cached_property
    def _log_det(self) -> Function[..., float] | None:
        """What computes the log det for the threshold; None if it is read from the posterior."""
        if self.setup.has_pilot:
            return surprise
        return climb if self.flags & settings.LEVELS else None

    @cached_property
    def _called(self) -> dict[int, list[Any]]:
        """What a round calls by address: deciding, taking in a result, refreshing, and the rest."""
        decides = decide_skipping if self._skips_arms else decide
        more = [self.rules["threshold"].function]
        if self.allocation != NONE:
            more.append(allocate)
        if self._log_det:
            more.append(self._log_det)
        if self.setup.has_pilot:
            more.append(set_aside)
        made = {k: [decides, OBSERVE[k], REFRESH[k], *more] for k in OBSERVE}
        for layout in filter(self._misses_rows, made):
            made[layout].append(row)
        return made

    @cached_property
    def _routines(self) -> dict[int, Routines]:
        ends_pilot = set_aside if self.setup.has_pilot else ABSENT
        return {k: Routines(each[0], ends_pilot, UPDATES[k]) for k, each in self._called.items()}

    def _follower(self, layout: int, steps: int) -> Callable[..., int]:
        if layout in self._compiled_for:
            return follow
        if not self._compiled:
            return follow.interpret
        whole = layout == WHOLE and not self._skips_arms
        chosen = follow.sparing(steps, *self._called[layout], exact=whole)
        if chosen is follow:  # from here on it is machine code
            self._compiled_for.add(layout)
        return chosen

    @cached_property
    def _compiled_for(self) -> set[int]:
        return set()


Design = Callable[[int, int], Reals]
Shares = Callable[[Reals, Mask], Reals | None]


def with_design(now: Round, design: Design) -> Round:
    """The round with the design of its ambiguous pair added."""
    b, c = int(now.pair[B]), int(now.pair[C])
    keys, designs = now.design_keys, now.designs
    solved = keys[keys != NO_ARM]
    if 2 * (len(solved) + 1) > len(keys):
        rows = designs[keys != NO_ARM]
        keys = np.full(2 * len(keys), NO_ARM, np.int64)
        designs = np.zeros((len(keys), designs.shape[1]))
        for key, weights in zip(solved, rows, strict=True):
            first, second = divmod(int(key), designs.shape[1])
            _store(keys, designs, first, second, weights)
    _store(keys, designs, b, c, design(b, c))
    return now.replace(design_keys=keys, designs=designs)


def _store(keys: Integers, designs: Reals, b: int, c: int, weights: Reals) -> None:
    arms = designs.shape[1]
    place = -1 - design_slot(keys, arms, b, c)
    keys[place] = min(b, c) * arms + max(b, c)
    designs[place] = weights


def optimal_shares(
    features: Reals, noise: Reals, epsilon: float, means: Reals, inside: Mask
) -> Reals | None:
    """The w* of these means (Jedra and Proutière 2020, for any m); None where there is none."""
    from shortlist.theory.lower_bound import optimal_allocation

    return optimal_allocation(features, means, inside, noise=noise, epsilon=epsilon)


def with_shares(now: Round, state: State, shares: Shares) -> Round:
    """The round with w* solved for the means as they are.

    Where there is no w*, since the means do not tell J(t) from the others, the shares stay as they
    were; if there were none yet, they are even over the arms that span.
    """
    allocation = now.allocation
    solved = shares(state.means, now.inside)
    if solved is not None:
        allocation.weights[:] = solved
    elif allocation.clock[SOLVED] < 0:
        allocation.weights[:] = 0.0
        allocation.weights[allocation.spanner] = 1.0 / len(allocation.spanner)
    allocation.clock[SOLVED] = state.clock[OBSERVED]
    return now


def check(status: int, now: Round, rules: Mapping[str, Rule], m: int) -> None:
    """Raise if the loop could not go on: a singular design, or a user's rule out of bounds."""
    if status == SINGULAR:
        raise SingularDesign("the initial pulls do not span the features.")
    if status == BAD_CANDIDATES:
        raise InvalidSetting(
            f"the candidates rule {rules['candidates'].name!r} marked "
            f"{int(now.inside.sum())} arms where m = {m} are wanted."
        )
    if status == BAD_AMBIGUOUS:
        raise InvalidSetting(
            f"the ambiguous rule {rules['ambiguous'].name!r} returned an arm that is not "
            "among the candidates: it must return a j with inside[j]."
        )
    if status == BAD_SELECTION:
        raise InvalidSetting(
            f"the selection rule {rules['selection'].name!r} returned "
            f"{int(now.pair[ARM])}: it must return an arm from 0 to {len(now.inside) - 1}."
        )


MOST_SOLVED = 64  # with more arms, solving w* during a run takes longer than all else


def round_cost(engine: Engine) -> float:
    """About how many nanoseconds a simulated round takes on the machine of README's figures."""
    arms, rank = engine.setup.features.shape
    cells = arms * min(arms, engine.setup.m + 16 + rank)
    if any({"mth_gaps", "design"} & each.needs for each in engine.rules.values()):
        cells += 8 * arms * arms
    if engine.allocation != NONE:
        cells += arms * rank * rank + engine.setup.m * (arms - engine.setup.m) * rank
    if engine.allocation == LAZY and arms > MOST_SOLVED:
        return math.inf
    return 300.0 + 1.2 * cells
