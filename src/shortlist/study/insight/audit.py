"""The audit: before an answer is final, fresh evaluations test what it assumes of the features."""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Label, Reals
from shortlist.engine.algorithm import Procedure
from shortlist.linalg import first_largest, largest_first
from shortlist.noise.given import Each
from shortlist.plans.noises import Common, Totals, Unknown
from shortlist.problem import Problem
from shortlist.study.insight.linearity import (
    LEVEL,
    WHILE_RUNNING,
    Sample,
    Verdict,
    evidence,
    evidence_at_most,
    lack_of_fit,
)
from shortlist.study.model import Model
from shortlist.study.trial import FAILURES_IN_A_ROW, Trial

FEWEST = 20  # evaluations of an audit; with few arms twice their number
SHARE = 10  # audits are a tenth of the evaluations so far, if that is more
FIRST_PROBE = 100  # results; from then on half of an audit is made before the stop, in parts
REPEATS, DISTINCT = 4, 100  # evaluations of an arm, where an audit is large; arms at most
CONTENDERS = 4  # a fourth of an audit's arms; the rest are spread over the features
FIRST_TEST, GROWTH = 10, 1.25  # results, and by how much they grow from one test to the next
CONSIDERED = 20_000  # arms among which the spread-out ones are sought, where there are more
PRIOR = 10  # evaluations, in the bound on θ: a study has more than that when it stops
ANCHORS = 1000  # evaluated arms to keep away from, those evaluated most often
NEVER = sys.maxsize
LIMIT = math.log(1.0 / (WHILE_RUNNING * LEVEL))  # of ln E, for the test while results come in
SURE = 0.99  # confidence that σ is no larger, for normal noise
FEWEST_DEGREES = 10  # degrees of freedom in all, for a σ of every arm
SHARED = 4.0  # degrees of freedom of what is usual among arms, beside an arm's own
DIRECTION = 1e-12  # of the size of features: less outside the span of others is rounding
AVERAGE_ERROR = 1e-11  # of the largest mean: what averages and predictions may be off by


class Rejection(NamedTuple):
    """Results that no linear model with this σ explains."""

    evaluations: int  # after how many results
    name: Label  # the arm that departs most from the linear model, relative to its noise
    # Its mean, and what the features and the other results say it is.
    measured: float
    predicted: float


class Audit:
    """Tests, as results come in and at the stop, whether the means are linear in the features."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted  # whether the study is to be audited at all
        # The arms to evaluate once more before the answer is final; None while there is no answer.
        self.plan: Integers | None = None
        self.verdict: Verdict | None = None  # by the fresh evaluations, when all of them are in
        self.rejection: Rejection | None = None  # what contradicts linear means, if anything does
        self.results: list[Trial] = []  # of the present audit
        self._audits = 0
        self._stopped_at = 0  # the number of results at the last stop
        self._since = 0  # the change of the study at the last stop
        # Arms to evaluate before the stop, so that a model that is plainly wrong is noticed early.
        self.probes = np.zeros(0, np.int64)
        self._next_test, self._next_probe = FIRST_TEST, FIRST_PROBE
        self._tested = 0  # the number of results at the last test while they came in
        # The number of results from which on ``follow`` has something to do; 0 during an audit.
        self.due = 0

    @property
    def is_running(self) -> bool:
        """Whether there is an answer that is still to be audited."""
        return self.plan is not None and self.verdict is None

    def follow(self, model: Model, trials: Sequence[Trial], taken: Sequence[Trial]) -> None:
        """Run the tests that are due, now that the model has these results."""
        if not model.stopped:
            self.reopen()
        if len(self.probes):
            self.probes = self.probes[np.isin(self.probes, model.procedure.arms_left)]
        self._watch(model, taken)
        self._conclude(model, trials, taken)
        if self.plan is not None or len(self.probes):
            self.due = 0
        elif not (self.wanted and rests_on_features(model.procedure)):
            self.due = NEVER
        elif self.rejection is not None:
            self.due = self._next_probe
        else:
            self.due = min(self._next_test, self._next_probe)

    def _watch(self, model: Model, taken: Sequence[Trial]) -> None:
        """Test the results so far, whenever they have grown by a quarter."""
        procedure = model.procedure
        if not (self.wanted and rests_on_features(procedure)):
            return
        while self._next_test <= len(taken) and self.rejection is None:
            problem = measured(procedure.problem, taken[: self._next_test])
            if problem is not None:
                self._test(model, self._sample_so_far(problem, taken), self._next_test)
            self._next_test = math.ceil(GROWTH * self._next_test)
        while self._next_probe <= len(taken):
            if not model.stopped and model.initialized and is_audited(procedure):
                self._probe(procedure, taken[: self._next_probe])
            self._next_probe *= 2

    def _probe(self, procedure: Procedure, taken: Sequence[Trial]) -> None:
        """Choose arms far from all evaluated ones; no value has a part in the choice."""
        problem = procedure.problem
        count = audit_size(problem.arms, len(taken)) // 2 - audit_results(taken)
        pulls = np.bincount([trial.arm for trial in taken], minlength=problem.arms)
        nobody = np.zeros(0, np.int64)
        self.probes = _spread_out(problem, procedure.arms_left, nobody, pulls, max(count, 0))
        self.probes.flags.writeable = False
        self._since = max(trial.closed or 0 for trial in taken)

    def _sample_so_far(self, problem: Problem, taken: Sequence[Trial]) -> Sample:
        """The results until the next test; those of the last one are not read again."""
        if not self._tested:
            self._pulls, self._sums = np.zeros(problem.arms, np.int64), np.zeros(problem.arms)
        later = problem.arms - len(self._pulls)  # arms that were added
        self._pulls, self._sums = np.pad(self._pulls, (0, later)), np.pad(self._sums, (0, later))
        new = taken[self._tested : self._next_test]
        arms = [trial.arm for trial in new]
        np.add.at(self._pulls, arms, 1)
        np.add.at(self._sums, arms, np.array([trial.value for trial in new], np.float64))
        self._tested = self._next_test
        return sample_of(problem, self._pulls, self._sums)

    def _test(self, model: Model, sample: Sample, evaluations: int) -> None:
        problem = model.procedure.problem
        if len(sample.arms) <= problem.rank or evidence_at_most(sample) <= LIMIT:
            return
        if evidence(sample) > LIMIT:
            self._reject(problem, sample, evaluations)

    def open(self, model: Model, taken: Sequence[Trial]) -> None:
        """Choose the arms of an audit, at a stop."""
        self.reopen()
        self.due = 0
        if not self.wanted or not is_audited(model.procedure):
            return
        self._audits += 1
        self._stopped_at = model.posterior.observed
        self._since = max(trial.closed or 0 for trial in taken[: self._stopped_at])
        means = model.procedure.engine.estimates(model.posterior, model.round).means
        made = audit_results(taken[: self._stopped_at])
        procedure = model.procedure
        given = model.posterior.pulls, means, model.round.inside, made
        self.plan = chosen_arms(procedure.problem, *given, left=procedure.left)
        self.plan.flags.writeable = False
        self.probes = self.probes[:0]

    def reopen(self) -> None:
        """Forget the plan and the verdict: the study has no answer any more."""
        self.plan = self.verdict = None
        self.results = []

    def end(self) -> None:
        """Test no more: the answer is not to rest on the features any longer."""
        self.reopen()
        self.rejection, self.probes, self.due = None, self.probes[:0], NEVER

    def missing(self, trials: Sequence[Trial]) -> list[int]:
        """The arms of the audit, or the probes before it, that are still to be asked for."""
        plan = self.plan if self.plan is not None else self.probes
        if not len(plan) or self.verdict is not None:
            return []
        # A failure is not asked for again: it might fail for ever. Nor is an arm that failed too
        # often: whatever is told later, that stays so, as the verdict does.
        own = self.own(trials)
        made = Counter(trial.arm for trial in own if trial.state != "cancelled")
        failed = Counter(trial.arm for trial in own if trial.state == "failed")
        missing = []
        for arm in plan.tolist():
            if made[arm]:
                made[arm] -= 1
            elif failed[arm] < FAILURES_IN_A_ROW:
                missing.append(arm)
        return missing

    def own(self, trials: Sequence[Trial]) -> list[Trial]:
        """Those of the trials that belong to the present audit."""
        first = bisect_right(trials, self._since, key=attrgetter("opened"))
        return [trial for trial in trials[first:] if trial.cause.origin == "audit"]

    def _conclude(self, model: Model, trials: Sequence[Trial], taken: Sequence[Trial]) -> None:
        """Test the audit's results, once all of them are in."""
        if self.plan is None and len(self.probes) and not self.missing(trials):
            self.probes = self.probes[:0]  # all asked for: nothing is missing any more
        if not self.is_running or self.rejection is not None:
            return
        own = self.own(trials)
        if any(trial.state == "pending" for trial in own) or self.missing(trials):
            return
        self.results = [trial for trial in own if trial.state == "told"]
        if not self.results:  # all of them failed
            self.verdict = Verdict(False, 0.0, math.inf, None)
            return
        assert self.plan is not None
        before = taken[: self._stopped_at]
        problem = measured(model.procedure.problem, [*before, *self.results])
        if problem is None:
            self.verdict = Verdict(False, 0.0, math.inf, None)
            return
        # All arms of the plan, also those whose evaluations failed: the test was fixed with it.
        arms = np.unique(self.plan)
        fresh = _sample(problem, self.results, arms)
        begun = replace(model.first_procedure.problem, noise=problem.noise)
        verdict = judge(problem, _sample(problem, before), fresh, self._audits, begun)
        together = [*before, *self.results]
        if verdict.rejected:
            self._reject(problem, _sample(problem, together), len(together))
            return
        self._test_with_audit(model, trials, own)
        if self.rejection is None:
            self.verdict = verdict

    def _test_with_audit(self, model: Model, trials: Sequence[Trial], own: Sequence[Trial]) -> None:
        """Test all results up to the end of the audit, unless one was still to come.

        The supermartingale that ``_watch`` follows may be read at any time, at no further cost of
        level. It has all results that were processed. Where a trial was open, some may have
        waited for it, and leaving them out would be another supermartingale.
        """
        end = max(trial.closed or 0 for trial in own)
        asked = trials[: bisect_right(trials, end, key=attrgetter("opened"))]
        if any(trial.closed is None or trial.closed > end for trial in asked):
            return
        told = [trial for trial in asked if trial.state == "told"]
        if (problem := measured(model.procedure.problem, told)) is not None:
            self._test(model, _sample(problem, told), len(told))

    def _reject(self, problem: Problem, sample: Sample, evaluations: int) -> None:
        """Name the arm that departs most from a linear model of all the others."""
        root = np.sqrt(sample.counts) / sample.sigmas
        rows = sample.features * root[:, None]
        left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
        left = left[:, sizes > 1e-8 * sizes[0]]
        z = root * sample.means
        misses = z - left @ (left.T @ z)
        spare = np.maximum(1.0 - (left**2).sum(axis=1), 1e-8)  # what the arm does not say itself
        worst = int(np.argmax(np.abs(misses) / np.sqrt(spare)))
        measured = float(sample.means[worst])
        predicted = measured - float(misses[worst] / spare[worst] / root[worst])
        name = problem.names[int(sample.arms[worst])]
        self.rejection = Rejection(evaluations, name, measured, predicted)


def rests_on_features(procedure: Procedure) -> bool:
    """Whether an answer assumes that the means are linear in the features."""
    return procedure.engine.setup.aim.certifies and bool(procedure.relation.assumed)


def is_audited(procedure: Procedure) -> bool:
    """Whether answers are audited by evaluations made for that purpose."""
    return rests_on_features(procedure) and procedure.relation.audited


def audit_size(arms: int, evaluations: int) -> int:
    """The number of evaluations for audits, including those made before the stop.

    Examples
    --------
    >>> audit_size(arms=60, evaluations=100), audit_size(60, 6000), audit_size(4, 50)
    (20, 600, 8)
    """
    return max(min(FEWEST, 2 * arms), evaluations // SHARE)


def audit_results(taken: Sequence[Trial]) -> int:
    """How many of these results were asked for by audits."""
    return sum(trial.cause.origin == "audit" for trial in taken)


def chosen_arms(
    problem: Problem,
    pulls: Integers,
    means: Reals,
    inside: NDArray[np.bool_],
    made: int = 0,
    *,
    left: Integers | None = None,
) -> Integers:
    """The arms of an audit, in the order in which they are to be evaluated.

    A fourth are contenders: listed arms that were never evaluated, then those nearest to the
    boundary. The others are spread over the features, each as far as possible from every arm that
    was evaluated or chosen. A large audit evaluates its arms several times. No result of the audit
    has a part in the choice, which its test relies on.

    ``pulls`` and ``means`` are those of every arm at the stop, ``inside`` is the shortlist, and
    ``made`` is the number of evaluations of audits before the stop: they count.
    """
    left = np.arange(problem.arms) if left is None else left
    whole = audit_size(problem.arms, int(pulls.sum()))
    size = max(whole - made, min(FEWEST // 2, problem.arms))
    distinct = min(len(left), max(FEWEST, size // REPEATS), size, DISTINCT)
    boundary = (float(means[inside].min()) + float(means[~inside].max())) / 2.0
    unseen = inside & (pulls == 0)
    nearest = left[largest_first(-np.abs(means[left] - boundary))]
    contenders = nearest[np.argsort(~unseen[nearest], kind="stable")][: -(-distinct // CONTENDERS)]
    spread = _spread_out(problem, left, contenders, pulls, distinct - len(contenders))
    order = np.concatenate([contenders, spread])
    return np.resize(order, size)


def _spread_out(
    problem: Problem, left: Integers, chosen: Integers, pulls: Integers, count: int
) -> Integers:
    """Arms as far as possible from those evaluated, from those chosen, and from one another."""
    x = problem.orthonormal
    among = np.setdiff1d(left, chosen)
    if len(among) > CONSIDERED:
        among = np.sort(np.random.default_rng(0).choice(among, CONSIDERED, replace=False))
    anchors = chosen
    if not pulls[among].all():  # else all were evaluated, and far from the chosen will do
        often = np.argsort(-pulls, kind="stable")[:ANCHORS]
        anchors = np.union1d(chosen, often[pulls[often] > 0])
    points = x[among]
    distances = np.full(len(among), np.inf)
    for anchor in anchors.tolist():
        np.minimum(distances, ((points - x[anchor]) ** 2).sum(axis=1), out=distances)
    places: list[int] = []
    for _ in range(min(count, len(among))):
        if not distances.max() > 0.0:  # what is left are twins of those chosen: any will do
            left = np.setdiff1d(np.arange(len(among)), places)
            places += left[: count - len(places)].tolist()
            break
        place = first_largest(distances)
        places.append(place)
        np.minimum(distances, ((points - points[place]) ** 2).sum(axis=1), out=distances)
    return among[places]


def _sample(problem: Problem, taken: Sequence[Trial], arms: Integers | None = None) -> Sample:
    """The results of these trials by arm; by default of the arms that have any."""
    told = np.array([trial.arm for trial in taken], np.int64)
    values = np.array([trial.value for trial in taken], np.float64)
    counts = np.bincount(told, minlength=problem.arms)
    sums = np.bincount(told, values, problem.arms).astype(np.float64)
    return sample_of(problem, counts, sums, arms)


def sample_of(
    problem: Problem, pulls: Integers, sums: Reals, arms: Integers | None = None
) -> Sample:
    """Counts and sums of results as a sample; by default of the arms that have any."""
    arms = np.flatnonzero(pulls) if arms is None else arms
    counts = pulls[arms].astype(np.float64)
    means = sums[arms] / np.maximum(counts, 1.0)
    sigmas = problem.sigma * np.sqrt(problem.relative_noise[arms])
    # An average is off by rounding however many results it has.
    off = AVERAGE_ERROR * float(np.abs(means).max(initial=0.0)) * np.sqrt(counts)
    return Sample(arms, problem.orthonormal[arms], counts, means, np.hypot(sigmas, off))


def judge(
    problem: Problem,
    past: Sample,
    fresh: Sample,
    audit: int = 1,
    begun: Problem | None = None,
) -> Verdict:
    """Test the results of the first audit of a study, or of a later one, at its share of the level.

    The shares 3/4, 3/16, 3/64 and so on add up to 1: a study that is reopened is audited again.
    ``begun`` is the problem as it was before arms were added, if any were.
    """
    begun = problem if begun is None else begun
    level = LEVEL * (1.0 - WHILE_RUNNING) * 3.0 / 4.0**audit
    # What this many evaluations would tell, spread over the arms that the study began with.
    share, arms = max(PRIOR, begun.rank) / begun.arms, spanning_from_start(problem, begun)
    unit = np.sqrt(share / problem.relative_noise[arms]) / problem.sigma
    return lack_of_fit(fresh, past, problem.orthonormal[arms] * unit[:, None], level)


def spanning_from_start(problem: Problem, begun: Problem) -> Integers:
    """The arms that the study began with, and each later one that no arms before it determine.

    The test fixes its weights before the results. It may do so later in directions that no result
    has shown, and in no other: results may have chosen the arms that were added.

    Examples
    --------
    >>> begun = Problem.of([[1.0, 0.0], [2.0, 0.0]], 1, sigma=1.0)
    >>> added = begun.with_arms(["same", "new", "again"], np.array([[3.0, 0], [3.0, 1], [3.0, 2]]))
    >>> spanning_from_start(added, begun).tolist()
    [0, 1, 3]
    """
    arms, x = [*range(begun.arms)], problem.orthonormal
    if begun.rank < problem.rank:
        span = np.linalg.svd(x[arms], full_matrices=False)[2][: begun.rank]
        for arm in range(begun.arms, problem.arms):
            rest = x[arm] - (x[arm] @ span.T) @ span
            size = float(np.linalg.norm(rest))
            if size > DIRECTION * float(np.linalg.norm(x[arm])):
                span = np.vstack([span, rest / size])
                arms.append(arm)
    return np.array(arms)


def measured(problem: Problem, taken: Sequence[Trial]) -> Problem | None:
    """The problem with a σ that is large enough, by replicates; as it is where a σ was stated.

    None where too few results are replicates.
    """
    if not problem.noise.needs_replicates:
        return problem
    from scipy.special import chdtri  # loads late

    arms = np.array([trial.arm for trial in taken], np.int64)
    values = np.array([trial.value for trial in taken], np.float64)
    total = Totals.none(problem.arms).plus(arms, values)
    degrees = np.maximum(total.pulls - 1.0, 0.0)
    if not degrees.any():
        return None
    one = problem.noise.suited(False, False, own_sigma=False, one_sigma=True)
    if (
        not one and degrees.sum() < FEWEST_DEGREES
    ):  # what is usual would be known no better than that
        return None
    kind, free = (Common(), degrees.sum()) if one else (Unknown(), degrees + SHARED)
    variances = kind.variances(total, total.averages, 1, problem.m)
    sizes = np.sqrt(variances * free / chdtri(free, SURE))
    least = 1e-9 * max(float(np.abs(values).max()), 1e-100)
    return replace(problem, noise=Each(*np.maximum(sizes, least).tolist()))
