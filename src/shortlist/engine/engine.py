"""One algorithm of gap indices on one problem: its arrays, its rules, and the calls into the loop.

Where the compiled loop needs something of Python (a design, more room), it returns, is given it,
and goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.allocations.allocation import (
    NONE,
    allocate,
    copy_allocation,
    make_allocation,
    make_room,
)
from shortlist.arrays import NO_ARM
from shortlist.blocks import Cell
from shortlist.engine import settings
from shortlist.engine.certified import Certified
from shortlist.engine.contract import Estimates, Gaps, Runs, Setup
from shortlist.engine.follow import Position, Steps, follow
from shortlist.engine.loop import Simulation, replicate
from shortlist.engine.many_arms.memory import SOME, make_memory, number_of_rows
from shortlist.engine.many_arms.round import decide_skipping
from shortlist.engine.round import Decision, Round, Routines, decide, design_slot, make_round
from shortlist.engine.settings import (
    BAD_RULE,
    SINGULAR,
    Settings,
    has_threshold_by_pair,
    may_skip_arms,
    settings_of_rules,
)
from shortlist.errors import InvalidSetting, SingularDesign
from shortlist.linalg import is_identity
from shortlist.numerics.records import ABSENT, Integers, Reals, on_own_line, on_own_lines
from shortlist.posterior.least_squares import OBSERVE, REFRESH, UPDATES, row
from shortlist.posterior.posterior import Posterior, width_floor
from shortlist.posterior.state import WHOLE
from shortlist.rules.ambiguous import largest_gap
from shortlist.rules.indices import fill_by_pair, paired
from shortlist.rules.pair import Arms, Pair
from shortlist.rules.rule import Rule
from shortlist.rules.selection import reduction
from shortlist.rules.stopping import lucb
from shortlist.rules.thresholds import two_arm_threshold

ENDS = (settings.PULL, settings.STOP)  # returned by a loop that took all its steps
STEPS_AN_ARM = 80  # of inner loops in a round with few arms, about
# Of what an evaluation of an arm set aside would tell of the pair, one in its place must tell this
# share: else a study would go on for ever with evaluations of an arm that it knows already.
LEAST_GAIN = 0.1
MOST_PAIRS = 10**7  # of a candidate and another arm: with more, nothing is said of single arms


@dataclass(frozen=True)
class Engine:
    """The rules of an algorithm, their settings, and the calls into the compiled loop."""

    setup: Setup  # the problem, the posterior's settings, and the first pulls
    rules: dict[str, Rule]  # one rule of each of ``KINDS``, and the threshold
    constants: Reals  # of the threshold
    design: Design  # (b, c) → w*(b, c), once per pair
    # Which allocation says how many pulls every arm should have; 0 if none does.
    allocation: int = NONE
    searches: ClassVar[bool] = False  # all results are processed again where arms are retired

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle takes along: not what was made of it for this process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _settings_of_rules(self) -> dict[str, Any]:
        return settings_of_rules(self.rules)

    @cached_property
    def _by_pair(self) -> bool:
        return has_threshold_by_pair(self.rules)

    @cached_property
    def _stops_by_largest(self) -> bool:
        stop, b = self.rules["stopping"].number, self.rules["ambiguous"].number
        return (stop, b) == (lucb.number, largest_gap.number)

    @cached_property
    def _skips_arms(self) -> bool:
        free = self.allocation == NONE and may_skip_arms(self.rules)
        return free and len(self.setup.features) >= SOME

    def _resident(self) -> int:
        return number_of_rows(
            self.setup.features,
            self.setup.m,
            skips_arms=self._skips_arms,
            needs_mth_gaps=bool(self._settings_of_rules["needs_mth_gaps"]),
        )

    @property
    def benefits_from_threads(self) -> bool:
        """Whether two threads make more runs than one: not where both need the interpreter."""
        return self._compiled

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
            resident=self._resident(),
            noise=self.setup.noise,
            floor=self._floor,
        )

    @cached_property
    def _floor(self) -> float:
        return width_floor(self.setup.features, self.setup.regularization)

    def threshold(self, posterior: Posterior, current: Round | None = None) -> float:
        """C at this moment; that of the pair decided on, where every pair has its own."""
        if self._by_pair and current is not None and current.b[0] != NO_ARM:
            of_b, of_c = posterior.variances[current.b[0]], posterior.variances[current.c[0]]
            return float(two_arm_threshold.interpret(self.constants, of_b, of_c))
        return self.threshold_at(posterior.observed, posterior.log_det)

    def threshold_at(self, time: float, log_det: float) -> float:
        """C at another moment."""
        return float(self.rules["threshold"](int(time) + self._offset, log_det, self.constants))

    @property
    def _offset(self) -> int:
        """C is evaluated at t after initial pulls, at t + 1 without them (as in the published runs)."""
        return 0 if len(self.setup.initial) else 1

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next round, in order, and how often each has been by current."""
        return self.setup.initial, posterior.pulls

    @property
    def adjusts(self) -> bool:
        """Whether least squares by features make the means."""
        return not is_identity(self.setup.features)

    def estimates(self, posterior: Posterior, current: Round) -> Estimates:
        """Means and variances by least squares."""
        means, variances = posterior.means, posterior.variances
        if "by_pair" not in self.rules["threshold"].traits or not len(means):
            return Estimates(means, variances)
        # The interval of an arm from its pair with the arm of most pulls: no other pair's is wider.
        most, (level, prior, _) = float(variances.min()), self.constants.tolist()
        grown = level + 0.5 * (np.log1p(1.0 / (prior * variances)) + np.log1p(1.0 / (prior * most)))
        widths = self.setup.sigma * np.sqrt(2.0 * grown * variances * (1.0 + prior * variances))
        return Estimates(means, variances, (means - widths, means + widths))

    def projected(self, current: Round, count: int, rng: np.random.Generator) -> None:
        """The widths of intervals tell."""

    def gaps(
        self,
        posterior: Posterior,
        current: Round,
        decision: Decision,
        *,
        outside_only: bool = False,
    ) -> Gaps:
        """Differences of means, with the gap indices below and above them."""
        b, c = decision.b, NO_ARM if outside_only else decision.c
        if "mth_gaps" in self.rules["stopping"].needs:
            b, c = int(np.argmax(np.where(current.inside, current.mth_gaps, -np.inf))), NO_ARM
        column = self._columns(posterior.copy(), current)  # reading a row may push out another
        symmetric = "symmetric" in self.rules["indices"].traits
        means, inside = posterior.means, np.flatnonzero(current.inside)
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

    tests_linearity = False

    def against_linear(self, current: Round) -> float:
        """Nothing: audits test that."""
        return -math.inf

    def certified(self, posterior: Posterior, current: Round, decision: Decision) -> Certified:
        """What the gap indices of all candidates and all other arms say."""
        inside, epsilon = current.inside, self.setup.epsilon
        # No B_cb exceeds τ_LUCB's statistic of the largest one; others are about the list alone.
        most = decision.statistic if self._stops_by_largest else np.inf
        if inside.sum() * len(inside) > MOST_PAIRS:
            bounds = np.broadcast_to(np.float64(most), (int(inside.sum()), int((~inside).sum())))
        else:
            column = self._columns(posterior.copy(), current)
            columns = [column(j)[~inside] for j in np.flatnonzero(inside).tolist()]
            bounds = np.minimum(columns, most)
        return Certified.by_bounds(inside, bounds, epsilon, decision.statistic)

    def widen(
        self, posterior: Posterior, current: Round, seed: int, position: Position, *, held: bool
    ) -> Round:
        """Decide again from the same results; a round of indices remembers nothing of ε."""
        if held or position.is_stopped[0] or position.decided_at[0] < 0:
            return current
        position.decided_at[0] = -1
        position.next[0] = position.is_in[0] = 0
        return self.follow(posterior, current, seed, Steps.supposing([]), position)

    def _columns(self, posterior: Posterior, current: Round) -> Callable[[int], Reals]:
        """The function j → B_ij over i."""
        indices, floor = self.rules["indices"], posterior.state.floor
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
            return filled

        return column

    def round(self) -> Round:
        """An empty round, to be used with one posterior only."""
        arms, rank = self.setup.features.shape
        allocation, memory, rows = ABSENT, ABSENT, 0
        if self.allocation != NONE:
            allocation = make_allocation(arms, rank, self.setup.m)
        if self._skips_arms:
            rows = self._resident()
            memory = make_memory(arms, self.setup.m, rows)
        return make_round(
            arms,
            self._resident() - rows,
            self.setup.m,
            allocation,
            memory,
            by_time="by_time" in self.rules["threshold"].traits,
        )

    def last_decision(
        self, posterior: Posterior, current: Round, seed: int
    ) -> tuple[Decision, Round]:
        """The last decision, made again from the posterior alone."""
        return self.decide(posterior, self.round(), seed)

    def ahead(
        self, posterior: Posterior, current: Round, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        posterior, beyond = posterior.copy(), self.round()

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            own_round = beyond.replace(allocation=copy_allocation(current.allocation))
            given = posterior, own_round, seed
            arms = [cell.arm for cell in supposing]
            decision = self.decide(*given, check_stop=False, supposing=arms)[0]
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
        b, c, zeros = decision.b, decision.c, np.zeros(len(posterior.pulls))
        pair = Pair(b, c, posterior.row(b), posterior.row(c), design=zeros)
        known = Arms(
            posterior.means, posterior.variances, posterior.pulls, self.setup.noise, wanted=zeros
        )

        def gain(arm: int) -> float:
            return float(reduction.interpret(arm, pair, known))

        others = [arm for arm in (b, c) if arm not in set_aside]
        if not others:
            return None
        best = max(others, key=gain)
        lost = max(gain(arm) for arm in {decision.arm, b, c} if arm in set_aside)
        if gain(best) < LEAST_GAIN * lost:
            return None
        return decision._replace(arm=best, queued=None)

    def decide(
        self,
        posterior: Posterior,
        current: Round,
        seed: int,
        *,
        check_stop: bool = True,
        supposing: list[int] | None = None,
    ) -> tuple[Decision, Round]:
        """One round of the algorithm; the round given back replaces the one given.

        Results at their own means are supposed first of the arms in ``supposing``.
        """
        position = Position.start()
        position.is_initialized[0] = 1
        steps = Steps.supposing(supposing or [])
        current = self.follow(posterior, current, seed, steps, position, check_stop=check_stop)
        return current.decision(stop=bool(position.is_stopped[0])), current

    def follow(
        self,
        posterior: Posterior,
        current: Round,
        seed: int,
        steps: Steps,
        position: Position,
        *,
        check_stop: bool = True,
    ) -> Round:
        """Take steps from ``position`` to the next stop or to their end."""
        layout = posterior.state.layout
        chosen = self._settings[layout, check_stop]
        routines = self._routines[layout]
        effort = len(steps.kinds) * len(self.setup.features) * STEPS_AN_ARM
        while True:
            function = self._follower(layout, effort)
            status = function(
                posterior.state, current, chosen, routines, np.uint64(seed), position, steps
            )
            if status in ENDS:
                return current
            answered = self._answered(status, posterior, current)
            if answered is None:
                check(status, current, self.rules, self.setup.m)
                return current
            current = answered

    def replicate(
        self,
        reward: Rule,
        parameters: Reals,
        seeds: NDArray[np.uint64],
        max_samples: int,
    ) -> Runs:
        """One run for each seed, from the first pull to the stop, compiled."""
        arms, count = len(self.setup.features), len(seeds)
        posterior = self.posterior()
        posterior.state, current = on_own_lines(posterior.state), on_own_lines(self.round())
        runs = Simulation(
            seeds=seeds,
            initial=self.setup.initial,
            reward=reward,
            parameters=parameters,
            most=max_samples,
            stream=on_own_line(np.zeros(4, np.uint64)),
            stopped=np.zeros(count, np.bool_),
            recommended=np.zeros((count, arms), np.bool_),
            pulls=np.zeros((count, arms), np.int64),
            finished=on_own_line(np.zeros(1, np.int64)),
            begun=on_own_line(np.zeros(1, np.int64)),
        )
        layout = posterior.state.layout
        chosen, routines = self._settings[layout, True], self._routines[layout]
        compiled = self._compiled and reward.is_compiled
        function = replicate if compiled else replicate.interpret
        with np.errstate(all="ignore"):
            while True:
                status = function(posterior.state, current, chosen, routines, runs)
                answered = self._answered(status, posterior, current)
                if answered is None:
                    break
                current = answered
        check(status, current, self.rules, self.setup.m)
        sums = posterior.state.sums.copy() if count == 1 else None
        samples = runs.pulls.sum(axis=1)
        return Runs(seeds, samples, runs.stopped, runs.recommended, runs.pulls, sums)

    def _answered(self, status: int, posterior: Posterior, current: Round) -> Round | None:
        """The round with what the loop asked for; None if it asked for nothing."""
        if status == settings.DESIGN_WANTED:
            return with_design(current, self.design)
        if status == settings.ROOM_WANTED:
            return current.replace(allocation=make_room(current.allocation))
        return None

    @cached_property
    def _settings(self) -> dict[tuple[int, bool], Settings]:
        """The settings for each layout, and with or without a check whether to stop."""
        made = Settings(
            m=self.setup.m,
            sigma=self.setup.sigma,
            epsilon=self.setup.epsilon,
            stop_at=self.setup.epsilon,
            offset=self._offset,
            constants=self.constants,
            initial=self.setup.wanted,
            skips_arms=int(self._skips_arms),
            allocation=self.allocation,
            allocate=ABSENT if self.allocation == NONE else allocate,
            row=ABSENT,
            **self._settings_of_rules,
        )
        chosen = {}
        for layout in OBSERVE:
            found = row if self._misses_rows(layout) else ABSENT
            for check, stop_at in ((True, self.setup.epsilon), (False, np.nan)):
                chosen[layout, check] = made.replace(row=found, stop_at=stop_at)
        return chosen

    def _misses_rows(self, layout: int) -> bool:
        """Whether ``decide`` may need a row of G that is not kept."""
        return layout != WHOLE and not self._skips_arms

    @cached_property
    def _called(self) -> dict[int, list[Any]]:
        """What a round calls by address: deciding, taking in a result, refreshing, and the rest."""
        decides = decide_skipping if self._skips_arms else decide
        more = [self.rules["threshold"].function]
        if self.allocation != NONE:
            more.append(allocate)
        made = {k: [decides, OBSERVE[k], REFRESH[k], *more] for k in OBSERVE}
        for layout in filter(self._misses_rows, made):
            made[layout].append(row)
        return made

    @cached_property
    def _routines(self) -> dict[int, Routines]:
        return {k: Routines(each[0], UPDATES[k]) for k, each in self._called.items()}

    def _follower(self, layout: int, steps: int) -> Callable[..., int]:
        if not self._compiled:
            return follow.interpret
        whole = layout == WHOLE and not self._skips_arms
        return follow.sparing(steps, *self._called[layout], exact=whole)


Design = Callable[[int, int], Reals]


def with_design(current: Round, design: Design) -> Round:
    """The round with the design of its ambiguous pair added."""
    b, c = int(current.b[0]), int(current.c[0])
    keys, designs = current.design_keys, current.designs
    solved = keys[keys != NO_ARM]
    if 2 * (len(solved) + 1) > len(keys):
        rows = designs[keys != NO_ARM]
        keys = np.full(2 * len(keys), NO_ARM, np.int64)
        designs = np.zeros((len(keys), designs.shape[1]))
        for key, weights in zip(solved, rows, strict=True):
            first, second = divmod(int(key), designs.shape[1])
            _store(keys, designs, first, second, weights)
    _store(keys, designs, b, c, design(b, c))
    return current.replace(design_keys=keys, designs=designs)


def _store(keys: Integers, designs: Reals, b: int, c: int, weights: Reals) -> None:
    arms = designs.shape[1]
    place = -1 - design_slot(keys, arms, b, c)
    keys[place] = min(b, c) * arms + max(b, c)
    designs[place] = weights


def check(status: int, current: Round, rules: Mapping[str, Rule], m: int) -> None:
    """Raise if the loop could not go on: a singular design, or a user's rule out of bounds."""
    if status == SINGULAR:
        raise SingularDesign("the initial pulls do not span the features.")
    if status != BAD_RULE:
        return
    b, arm, inside = int(current.b[0]), int(current.arm[0]), current.inside
    if inside.sum() != m:
        raise InvalidSetting(
            f"the candidates rule {rules['candidates'].name!r} marked {int(inside.sum())} arms where "
            f"m = {m} are wanted."
        )
    if not (0 <= b < len(inside) and inside[b]):
        raise InvalidSetting(
            f"the ambiguous rule {rules['ambiguous'].name!r} returned an arm that is not "
            "among the candidates: it must return a j with inside[j]."
        )
    raise InvalidSetting(
        f"the selection rule {rules['selection'].name!r} returned {arm}: it must return an arm from 0 "
        f"to {len(inside) - 1}."
    )
