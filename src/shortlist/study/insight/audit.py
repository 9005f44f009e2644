"""The audit: evaluations of arms that are fixed beforehand test what an answer assumes of the features."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shortlist.arrays import NO_BLOCK, Integers, Reals
from shortlist.blocks import Cell
from shortlist.engine.algorithm import Procedure
from shortlist.plans.noises import Unknown
from shortlist.plans.search_engine import Scale
from shortlist.problem import Problem
from shortlist.study.insight.linearity import (
    FEWEST,
    LEVEL,
    OF_PLANS,
    Plans,
    Sample,
    Shapes,
    Verdict,
    fixed_arms,
    lack_of_fit,
    noise_of,
    share_of_test,
)
from shortlist.study.model import Model
from shortlist.study.trial import FAILURES_IN_A_ROW, Trial

ON_BLOCKS = 12  # evaluations of the first test where results share blocks
SHARE = 10  # audits are at most a tenth of the evaluations, beyond those of the first test
TOGETHER = 6  # blocks of the first plan on which an arm is evaluated
NEVER = sys.maxsize


class Rejection(NamedTuple):
    """Results that no linear model explains."""

    evaluations: int  # after how many results
    term: (
        tuple[int, ...] | None
    )  # the columns whose product improves the fit most; None if all does
    p: float


class Audit:
    """Asks for evaluations that test whether the means are linear in the features, and tests them."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted  # whether the study is to be audited at all
        self.plan: list[Cell] = []  # what is to be evaluated so far
        self.verdict: Verdict | None = None  # of the last test
        self.rejection: Rejection | None = None  # what contradicts linear means, if anything does
        self.results: list[Trial] = []  # of the last test, without those of the first plan
        # The number of results from which on ``follow`` has something to do.
        self.due = 0
        self._tests = self._size = 0
        self._stopped = self.is_open = False
        self._plans: Plans | None = None
        self._seen = self._next = 0
        self._left: Integers = np.zeros(0, np.int64)

    @property
    def is_running(self) -> bool:
        """Whether there is an answer that is still to be audited."""
        return self._stopped and self.is_open

    def follow(self, model: Model, trials: Sequence[Trial], taken: Sequence[Trial]) -> None:
        """Plan what is to be evaluated, and test it, now that the model has these results."""
        procedure, self._stopped = model.procedure, model.stopped
        if self.rejection is not None or not (self.wanted and is_audited(procedure)):
            self.due, self.is_open = NEVER, False
            return
        if not (model.initialized or model.stopped):
            return
        if model.searches:
            self._look(model)
        if self.rejection is not None or len(taken) < self._next:
            return
        self._left = procedure.arms_left
        problem = model.first_procedure.problem
        while self.rejection is None:  # one test after another, as if results came one by one
            size = length_of(problem, self._tests)
            if self._tests and SHARE * size > len(taken):
                break
            if self._size < size:
                self.plan, self._size = _cells(model, trials, size), size
            own = self.own(trials)
            pending = any(trial.state == "pending" for trial in own)
            self.is_open = pending or bool(self.missing(trials))
            if self.is_open:
                break
            self._test(model, trials, [trial for trial in own if trial.state != "cancelled"], size)
        self._next = 0 if self.is_open else SHARE * length_of(problem, self._tests)
        self.due = 0 if model.searches else self._next

    def _test(
        self, model: Model, trials: Sequence[Trial], own: Sequence[Trial], until: int
    ) -> None:
        """Make the tests that are due: one for every length of the list."""
        problem, first = model.first_procedure.problem, first_plan(model, trials)
        while self.rejection is None:
            size = length_of(problem, self._tests)
            if size > until:
                return
            self.results = [trial for trial in own[:size] if trial.state == "told"]
            level, together = LEVEL * share_of_test(self._tests), [*first, *self.results]
            self.verdict = lack_of_fit(problem, _sample(problem, together), level)
            self._tests += 1
            if self.verdict.rejected:
                self._reject(len(together), self.verdict.shape, self.verdict.least, problem)

    def _look(self, model: Model) -> None:
        """Test the plans of a search."""
        record, problem = model.round.search.record, model.first_procedure.problem
        if self._seen == len(record):
            return
        noise, kind = noise_of(problem, np.arange(problem.arms))
        if problem.has_levels and kind == "own":  # a plan has too few blocks with the same arms
            return
        scale: Scale = model.procedure.engine.scale  # type: ignore[attr-defined]
        for plan in record[self._seen :]:
            if not plan.evidence:
                continue
            values, tau = scale.low + scale.width * plan.values, scale.width**2 * plan.noise
            if self._plans is None:
                size = float(np.sqrt(np.median(noise if kind == "known" else tau)))
                self._plans = Plans(problem, kind, size)
            few = plan.arms < problem.arms
            blocks = None if plan.blocks is None else plan.blocks[few]
            sample = Sample.of(problem, plan.arms[few], values[few], blocks)
            self._plans.after(sample, tau[sample.arms])
            if self._plans.log_e > -math.log(LEVEL * OF_PLANS):
                break
        self._seen = len(record)
        if self._plans is not None and self._plans.log_e > -math.log(LEVEL * OF_PLANS):
            made, log_e, shape = (
                sum(len(plan.arms) for plan in record if plan.evidence),
                self._plans.log_e,
                self._plans.shape,
            )
            self._reject(made, shape, math.exp(-log_e), problem)

    def _reject(self, evaluations: int, shape: int | None, p: float, problem: Problem) -> None:
        term = None if shape is None else Shapes.of(problem).terms[shape]
        self.rejection = Rejection(evaluations, term, p)
        self.due, self.is_open = NEVER, False

    def end(self) -> None:
        """Test no more: the answer is not to rest on the features any longer."""
        self.plan, self.verdict, self.rejection, self.due = [], None, None, NEVER
        self.results, self.is_open = [], False

    def missing(self, trials: Sequence[Trial]) -> list[Cell]:
        """What is still to be asked for."""
        if self.rejection is not None or not self.plan:
            return []
        # A failure is not asked for again: it might fail for ever. Nor is an arm that failed too
        # often: whatever is told later, that stays so, as the verdict does.
        own = [trial for trial in self.own(trials) if trial.state != "cancelled"]
        named = self.plan[0].block != NO_BLOCK
        made = Counter(trial.cell if named else Cell(trial.arm) for trial in own)
        failed = Counter(trial.arm for trial in own if trial.state == "failed")
        missing = []
        for cell in self.plan:
            if made[cell]:
                made[cell] -= 1
            elif failed[cell.arm] < FAILURES_IN_A_ROW and cell.arm in self._left:
                missing.append(cell)
        return missing

    def own(self, trials: Sequence[Trial]) -> list[Trial]:
        """Those of the trials that belong to the audit."""
        return [trial for trial in trials if trial.cause.origin == "audit"]


def first_plan(model: Model, trials: Sequence[Trial]) -> list[Trial]:
    """The results of the first plan, whose arms were fixed before any result."""
    begun = model.first_procedure.engine.setup.initial
    wanted = Counter(np.asarray(begun).tolist())
    first = []
    for trial in trials:
        if trial.cause.origin == "initial" and trial.state == "told" and wanted[trial.arm] > 0:
            wanted[trial.arm] -= 1
            first.append(trial)
    return first


def _cells(model: Model, trials: Sequence[Trial], size: int) -> list[Cell]:
    """The beginning of the list, which no result has a part in."""
    problem = model.first_procedure.problem
    first = np.asarray(model.first_procedure.engine.setup.initial)
    if not problem.has_levels or problem.blocks.shifts:
        return [Cell(arm) for arm in _listed(problem, first, size).tolist()]
    # On blocks that are drawn, arms that the first plan leaves out are compared with those on its blocks.
    on = {trial.block_index for trial in trials if trial.cause.origin == "initial"}
    blocks = sorted(on)[:TOGETHER]
    arms = _listed(problem, first, size, each=max(len(blocks), 1), again=False)
    turns = np.arange(len(arms)) % max(len(blocks), 1)
    return [
        Cell(arm, blocks[turn]) for arm, turn in zip(arms.tolist(), turns.tolist(), strict=True)
    ]


def _listed(
    problem: Problem, first: Integers, size: int, each: int = 0, *, again: bool = True
) -> Integers:
    shapes = Shapes.of(problem)
    pulls = np.bincount(first, minlength=problem.arms)[shapes.arms]
    each = each or (Unknown.few if noise_of(problem, first)[1] == "own" else 1)
    allowed = np.ones(len(pulls), np.bool_) if again else pulls == 0
    size = size if again else min(size, each * int(allowed.sum()))
    return fixed_arms(shapes, pulls, allowed, size, each, again=again)


def _sample(problem: Problem, trials: Sequence[Trial]) -> Sample:
    arms = np.array([trial.arm for trial in trials], np.int64)
    values = np.array([trial.value for trial in trials], np.float64)
    blocks = np.array([trial.block_index for trial in trials], np.int64)
    return Sample.of(problem, arms, values, blocks if problem.has_levels else None)


def rests_on_features(procedure: Procedure) -> bool:
    """Whether an answer assumes that the means are linear in the features."""
    return procedure.engine.setup.aim.certifies and bool(procedure.relation.assumed)


def is_audited(procedure: Procedure) -> bool:
    """Whether evaluations that are made for the purpose test what an answer assumes of the features."""
    problem = procedure.problem
    if not (rests_on_features(procedure) and procedure.relation.audited):
        return False
    # On a few plates results say too little of differences whose noise is another for each pair.
    return not (problem.blocks.shifts and noise_of(problem, np.zeros(1, np.int64))[1] == "own")


def audit_size(problem: Problem, evaluations: int) -> int:
    """The number of evaluations of the audit by now.

    Examples
    --------
    >>> problem = Problem.of(np.arange(60.0)[:, None], 5, sigma=1.0, intercept=True)
    >>> audit_size(problem, 100), audit_size(problem, 400), audit_size(problem, 6000)
    (24, 36, 410)
    """
    k = 0
    while SHARE * length_of(problem, k + 1) <= evaluations:
        k += 1
    return length_of(problem, k)


def length_of(problem: Problem, k: int) -> int:
    """How many evaluations the k-th test is made by, from 0 on, beside those of the first plan."""
    first = min(ON_BLOCKS if problem.has_levels else FEWEST, 2 * problem.arms)
    return first * 3**k // 2**k


def audit_results(taken: Sequence[Trial]) -> int:
    """How many of these results were asked for by audits."""
    return sum(trial.cause.origin == "audit" for trial in taken)


def audit_arms(problem: Problem, evaluations: int) -> Integers:
    """The arms of the audit after so many evaluations; nothing else has a part in it."""
    return _listed(problem, np.zeros(0, np.int64), audit_size(problem, evaluations))


def verdict_on(
    problem: Problem, evaluations: int, draw: Callable[[Integers], Reals]
) -> tuple[int, Verdict]:
    """The audit of a run that took so many evaluations, as a comparison makes it: its size, what it says.

    ``draw`` gives results of arms; nothing of what came before has a part in the test.
    """
    plan = audit_arms(problem, evaluations)
    return len(plan), lack_of_fit(problem, Sample.of(problem, plan, draw(plan)), LEVEL)
