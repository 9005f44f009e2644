"""What the results say, and what the algorithm makes of them: a function of the results alone."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shortlist.arrays import Integers, Label, Reals
from shortlist.blocks import Cell
from shortlist.engine.algorithm import Procedure
from shortlist.engine.contract import Decision
from shortlist.engine.follow import (
    ADD,
    CORRECT,
    READMIT,
    RETIRE,
    TAKE,
    VERIFY,
    WIDEN,
    Position,
    Steps,
)
from shortlist.plans.guess_and_verify import Guided
from shortlist.study.answer import EVERY, arm_table


class Addition(NamedTuple):
    """Arms that are added while a study runs."""

    names: tuple[Label, ...]
    rows: Reals | None  # their features; None without


class Model:
    """The algorithm as it stands after the results processed so far.

    ``additions`` are the arms that are added on the way, in order.
    """

    def __init__(self, procedure: Procedure, seed: int, additions: Sequence[Addition] = ()) -> None:
        self.seed, self._additions = seed, additions
        # The first one until the answer is verified, ε made larger, or arms are retired or added.
        self.procedure = self.first_procedure = procedure
        self._added = 0  # how often arms were added
        self.posterior = procedure.engine.posterior()
        # The arms, blocks and values of all results, where a search may need single ones.
        self._taken: list[tuple[Integers, Integers, Reals]] = []
        self.round: Any = procedure.engine.round()
        # What to evaluate next and why, or why to stop; None before the first round.
        self.decision: Decision | None = None
        self.initialized = False  # whether the initial pulls are in
        self.stopped = False  # whether the last round said stop and nobody has taken it back
        self.verifies = False  # whether own results verify the answer, after one that was not
        self.verified_from = 0  # after how many results the verification began, if it did
        self._minimizes = procedure.problem.minimizes
        self._position = Position()
        self._digest: str | None = None
        self._at_stop: pd.DataFrame | None = None  # the table of all arms at the last stop

    @property
    def decided_at(self) -> int:
        """After how many results the last round was decided; -1 before the first."""
        return self._position.decided_at

    @property
    def looks(self) -> bool:
        """Whether the stop has been looked for."""
        return self.decision is not None

    def take(self, steps: Steps, at_stop: Callable[[], None]) -> None:
        """Take steps; ``at_stop`` is called at every stop, before anything later is processed."""
        if self._minimizes:
            told = np.isin(steps.kinds, (TAKE, CORRECT))
            mirrored = np.where(told, self.procedure.mirrored(steps.values), steps.values)
            steps = replace(steps, values=mirrored)
        self._digest = None
        first = 0
        for place in np.flatnonzero(steps.kinds >= VERIFY).tolist():  # not for an engine
            self._follow(steps.part(first, place), at_stop)
            self._change(steps.part(place, place + 1), at_stop)
            first = place + 1
        self._follow(steps.part(first, len(steps.kinds)) if first else steps, at_stop)

    def _change(self, step: Steps, at_stop: Callable[[], None]) -> None:
        """Take a step that is not for an engine."""
        if step.kinds[0] == WIDEN:
            self._widen(float(step.values[0]), bool(step.held[0]), at_stop)  # noqa: PD011
            return
        changes: dict[int, Callable[[int], None]] = {
            VERIFY: self._verify,
            RETIRE: self._retire,
            READMIT: self._readmit,
            ADD: self._add,
        }
        if step.kinds[0] == CORRECT:
            self._correct(int(step.arms[0]), float(step.values[0]))  # noqa: PD011
        else:
            changes[int(step.kinds[0])](int(step.arms[0]))
        if self.decision is not None and self.decision.stop and not self.stopped:
            self._stop(at_stop)

    @property
    def searches(self) -> bool:
        """Whether what is asked may change on the way."""
        return self.procedure.engine.searches

    def _verify(self, _: int) -> None:
        """From now on verify the answer so far, or a better guess, by the arms' own results."""
        if not self.initialized or self.verifies:
            return
        before, left = self.procedure, self.procedure.arms_left
        own = replace(Guided().bind(before.problem), left=before.left)
        if before.engine.searches:
            own.changing.verify(self.round)
        else:
            self.round = own.on(before.problem, left).changing.after(self._past, self.seed)
        self.procedure = replace(own, left=before.left)
        self.verifies, self.verified_from = True, self.posterior.observed
        self._decide_again()

    def _retire(self, arm: int) -> None:
        """Go on without an arm."""
        left = self.procedure.arms_left
        self.procedure.changing.retire(self.round, arm)
        self._goes_on_with(left[left != arm])

    def _readmit(self, arm: int) -> None:
        """Go on with an arm that was retired."""
        self.procedure.changing.readmit(self.round, arm)
        self._goes_on_with(np.union1d(self.procedure.arms_left, [arm]))

    def _goes_on_with(self, arms: Integers) -> None:
        """The same procedure on these arms."""
        parts, every = self.procedure.parts, len(arms) == self.procedure.problem.arms
        self.procedure = replace(self.procedure, make=lambda: parts, left=None if every else arms)
        self._decide_again()

    def _add(self, _: int) -> None:
        """Go on with more arms."""
        names, rows = self._additions[self._added]
        self._added += 1
        before, left = self.procedure, self.procedure.arms_left
        problem = before.problem.with_arms(names, rows)
        new = np.arange(before.problem.arms, problem.arms)
        arms = None if before.left is None else np.append(left, new)
        self.procedure = replace(before.rebind(problem), left=arms)
        self.procedure.changing.add(self.round)
        self._remember()
        self._decide_again()

    def _correct(self, place: int, value: float) -> None:
        """Put the result right that was taken in at this place; what was decided stays."""
        taken = self._past
        values = taken.values.copy()  # noqa: PD011
        values[place] = value
        self._taken = [(taken.arms, taken.blocks, values)]
        self.procedure.changing.correct(self.round, place, value)
        self._remember()
        self._decide_again()

    @property
    def _past(self) -> Steps:
        """All results so far, in order."""
        columns = [np.concatenate(each) for each in zip(*self._taken, strict=True)]
        steps = Steps.empty(len(columns[0]) if columns else 0)
        for mine, told in zip((steps.arms, steps.blocks, steps.values), columns, strict=False):  # noqa: PD011
            mine[:] = told
        return steps

    def _remember(self) -> None:
        """A posterior of all results so far."""
        taken, self.posterior = self._past, self.procedure.engine.posterior()
        for arm, value in zip(taken.arms.tolist(), taken.values.tolist(), strict=True):  # noqa: PD011
            self.posterior.observe(arm, value)
        self.posterior.refresh_if_spanning()

    def _decide_again(self) -> None:
        """Make the first decision of an algorithm that was bound again; it may be to stop."""
        decided = self.procedure.engine.last_decision(self.posterior, self.round, self.seed)
        self.decision, self.stopped = decided[0], False
        self._position.is_stopped = False
        self._position.decided_at = self.posterior.observed

    def _widen(self, epsilon: float, held: bool, at_stop: Callable[[], None]) -> None:
        """Judge the results so far, and those to come, with a larger ε; a stop stays a stop."""
        if epsilon <= self.procedure.problem.epsilon:
            return
        was_stopped, position = self.stopped, self._position
        self.procedure = self.procedure.widened(epsilon)
        self.round = self.procedure.engine.widen(
            self.posterior, self.round, self.seed, position, held=held
        )
        self.stopped = position.is_stopped
        if self.decision is None or was_stopped:
            return
        self.decision = self.round.decision(stop=self.stopped)
        if self.stopped:
            self._stop(at_stop)

    def _stop(self, at_stop: Callable[[], None]) -> None:
        """Keep what the arms look like at a stop."""
        self.stopped = True
        self._position.is_stopped = True
        self._at_stop = self._table_now(EVERY)
        at_stop()

    def _follow(self, steps: Steps, at_stop: Callable[[], None]) -> None:
        position, engine = self._position, self.procedure.engine
        position.next = 0
        told = steps.kinds == TAKE
        if told.any():
            taken = steps.arms[told], steps.blocks[told], steps.values[told]  # noqa: PD011
            self._taken.append(taken)
        while position.next < len(steps.kinds):
            decided_at = position.decided_at
            self.round = engine.follow(self.posterior, self.round, self.seed, steps, position)
            self.initialized = position.is_initialized
            self.stopped = position.is_stopped
            if position.decided_at != decided_at:
                self.decision = self.round.decision(stop=self.stopped)
                if self.stopped:
                    self._stop(at_stop)

    def table(self, arms: Integers | slice = EVERY) -> pd.DataFrame:
        """A table of arms as they are now; after a stop as they were then, with the answer."""
        if self.stopped and self._at_stop is not None:
            return self._at_stop.iloc[arms].reset_index(drop=True)
        return self._table_now(arms)

    def _table_now(self, arms: Integers | slice) -> pd.DataFrame:
        now = None if self.decision is None else self.round
        C = self.procedure.engine.threshold(self.posterior, now) if self.looks else math.nan
        return arm_table(self.procedure, self.posterior, C, now, arms)

    def digest(self) -> str:
        """A digest of every bit of the posterior."""
        if self._digest is None:  # of many arms it takes longer than a round
            fits, content = self.posterior.fits, hashlib.blake2b(digest_size=16)
            for array in (fits.pulls, fits.sums, fits.means, fits.variances, fits.log_det):
                content.update(array.data)
            self._digest = content.hexdigest()
        return self._digest


class Ahead:
    """The model as if every result under way had come out at its arm's mean."""

    def __init__(self, model: Model, cells: list[Cell]) -> None:
        self._model = model
        self._decide: Callable[[list[Cell], Collection[int]], Decision | None] | None = None
        self._supposed = cells
        if not model.initialized:
            self._opening, counts = model.procedure.engine.initial_pulls(model.posterior)
            self._earlier = _earlier_of_same(self._opening)
            arms = np.array([cell.arm for cell in cells], np.int64)
            self._pulls = counts + np.bincount(arms, minlength=len(counts))

    def suppose(self, cell: Cell) -> None:
        """Count one more evaluation of this cell as under way."""
        self._supposed.append(cell)
        if not self._model.initialized:
            self._pulls[cell.arm] += 1

    def initial(self, set_aside: Collection[int]) -> Cell | None:
        """The next initial pull; None where all that are missing are of arms set aside."""
        if self._model.searches:  # the first plan names its cells
            decision = self.decide(set_aside)
            return None if decision is None else Cell(decision.arm, decision.block)
        arm = self._initial_arm(set_aside)
        return None if arm is None else Cell(arm)

    def _initial_arm(self, set_aside: Collection[int]) -> int | None:
        initial = self._opening
        missing = initial[self._earlier >= self._pulls[initial]]
        # If all initial pulls are under way and nothing is known yet: go round them again.
        arms = missing if len(missing) else initial
        if set_aside:
            arms = arms[~np.isin(arms, list(set_aside))]
        if len(arms) == 0:
            return None
        if len(missing):
            return int(arms[0])
        wanted = np.bincount(initial)
        return int(min(arms.tolist(), key=lambda arm: (self._pulls[arm] / wanted[arm], arm)))

    def decide(self, set_aside: Collection[int]) -> Decision | None:
        """What to evaluate next, without a look at the stop; None if only arms set aside."""
        model = self._model
        if self._decide is None:
            self._decide = model.procedure.engine.ahead(model.posterior, model.round, model.seed)
        decision = self._decide(self._supposed, set_aside)
        self._supposed = []
        return decision


def _earlier_of_same(arms: Integers) -> Integers:
    """For every place, how often its arm comes before it."""
    order = np.argsort(arms, kind="stable")
    counts = np.bincount(arms)
    earlier = np.empty(len(arms), np.int64)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    earlier[order] = np.arange(len(arms)) - starts
    return earlier


@cache
def machine() -> str:
    """The versions and the CPU on which the bits of a digest may depend."""
    from shortlist._version import __version__

    versions = f"shortlist {__version__}, NumPy {np.__version__}"
    return f"{versions}, {platform.machine()} {platform.processor()}".strip()
