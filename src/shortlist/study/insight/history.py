"""What a study looked like over time.

The stopping statistic is stored with each trial, as the round saw it that asked for the trial. The
intervals of the arms are not: for those the results up to some evaluations are taken in again.

A ``Moment`` is what the stopping rule read: means, intervals, and gap indices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.algorithm import Procedure
from shortlist.engine.contract import Decision
from shortlist.engine.fits import Posterior
from shortlist.engine.follow import DECIDE, TAKE, Steps
from shortlist.problem import Problem
from shortlist.study.answer import arm_table, best_first, estimated
from shortlist.study.model import Model
from shortlist.study.trial import Trial
from shortlist.study.view import View

CHECKPOINTS = 60
FEWER = 24  # with more arms than ARMS: means and variances of all of them are made at each
COLUMNS = ("evaluation", "name", "pulls", "mean", "lower", "upper", "in_shortlist")
ARMS = 1000  # with more arms, about this many are read out at a checkpoint; no picture shows 100
LOWEST = 100  # of these at most are there for their means


@dataclass(frozen=True, eq=False)
class History:
    """A study from its first result to its last.

    Attributes
    ----------
    frame : DataFrame
        One row per evaluation, in the order in which the model processed them: evaluation (from 1),
        trial, arm, name, value, statistic, b, c. The last three are those of the round that asked
        for the next evaluation, when it did: trials that were open then count as told, each at its
        arm's mean, and a correction came later. They are missing where no round asked for the next
        evaluation (initial pulls, an audit, unrequested results), and in the last row, or
        at the stop, they are those that the study read last.
    checkpoints : DataFrame
        ``Study.table`` as it was at up to 60 evaluations (with more than 1000 arms, up to 24), with
        the column evaluation in front; the last is as it is now. They are spaced evenly on a
        logarithmic scale: intervals shrink with the root of the evaluations, so from each to the
        next they shrink alike.
    arms : array
        The rows of the features that the checkpoints show, in this order: all, or with more than
        1000 arms about 1000, those nearest to the boundary at the last check.
    differences : DataFrame
        One row per checkpoint: evaluation, and gap, gap_lower, gap_upper of the difference that the
        stopping rule reads.
    last : Moment or None
        What the stopping rule read when the study last looked; None before the first look.
    """

    frame: pd.DataFrame
    checkpoints: pd.DataFrame
    arms: NDArray[np.int64]
    differences: pd.DataFrame
    last: Moment | None


def history(study: View) -> History:
    """What the study looked like over time.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> past = history(study)
    >>> len(past.frame) == study.evaluations
    True
    >>> bool(past.frame["statistic"].iloc[-1] == study.statistic)
    True
    """
    last, arms = last_moment(study), np.arange(study.problem.arms)
    if len(arms) > ARMS:
        arms = arms[:ARMS] if last is None else _arms_near_boundary(last)
    tables, differences = [], []
    times = sorted(_checkpoints(study, study.taken))
    for evaluation, model in zip(times, _replayed(study, times), strict=True):
        if model.decision is None:  # the first plan is in, and its last block is not
            continue
        table = _with_later_arms(
            model.table(arms[arms < model.procedure.problem.arms]), study, arms
        )
        table.insert(0, "evaluation", evaluation)
        tables.append(table)
        differences.append((evaluation, *_difference(model)))
    return History(
        frame=_frame(study),
        checkpoints=pd.concat(tables, ignore_index=True)
        if tables
        else pd.DataFrame(columns=COLUMNS),
        arms=arms,
        differences=pd.DataFrame(differences, columns=["evaluation", *Difference._fields]),
        last=last,
    )


def _with_later_arms(table: pd.DataFrame, study: View, arms: NDArray[np.int64]) -> pd.DataFrame:
    """The table with rows for those of the arms that were added later, of which nothing is known."""
    later = [study.problem.names[arm] for arm in arms[len(table) :]]
    if not later:
        return table
    rows = {"name": later, "pulls": 0, "mean": np.nan, "in_shortlist": False}
    return pd.concat([table, pd.DataFrame(rows).reindex(columns=table.columns)], ignore_index=True)


class Checked(NamedTuple):
    """What the stopping rule read after some evaluation; arms by their rows."""

    evaluation: int
    statistic: float
    b: int
    c: int


def statistics(study: View) -> list[Checked]:
    """The stopping statistic over the evaluations up to now or to the stop, as it was stored.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> statistics(study)
    []
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> statistics(study)[-1].evaluation == study.answered_at
    True
    """
    decision = study.model.decision
    if study.statistic is None or decision is None:
        return []
    last = study.evaluations
    if study.model.stopped:
        last = study.answered_at
    checks = []
    for told, trial in enumerate(study.taken[:last]):
        statistic = trial.cause.statistic
        if statistic is not None and math.isfinite(statistic):
            checks.append(Checked(told, statistic, trial.cause.b, trial.cause.c))
    return [*checks, Checked(last, study.statistic, decision.b, decision.c)]


def _frame(study: View) -> pd.DataFrame:
    taken = study.taken
    known = np.full(len(taken) + 1, np.nan)
    pairs = np.full((len(taken) + 1, 2), NO_ARM)
    for each in statistics(study):
        known[each.evaluation], pairs[each.evaluation] = each.statistic, (each.b, each.c)
    named = np.array([*study.problem.names, None], object)  # nobody is the last
    return pd.DataFrame(
        {
            "evaluation": np.arange(1, len(taken) + 1),
            "trial": [trial.number for trial in taken],
            "arm": [trial.arm for trial in taken],
            "name": [trial.name for trial in taken],
            "value": [trial.value for trial in taken],
            "statistic": known[1:],
            "b": named[pairs[1:, 0]],
            "c": named[pairs[1:, 1]],
        }
    )


def last_moment(study: View) -> Moment | None:
    """What the stopping rule read when the study last looked; None before the first look.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> last_moment(study) is None
    True
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> moment = last_moment(study)
    >>> moment.b, moment.c
    (2, 1)
    """
    if study.statistic is None:
        return None
    looked_at = study.model.decided_at
    if looked_at == study.evaluations:
        posterior = study.model.posterior.copy()
        decision, now = study.procedure.engine.last_decision(posterior, study.round, study.seed)
        if decision.statistic == study.statistic:
            return moment_at(study.procedure, posterior, now, decision)
    # Results came in since it looked, or it remembers the round before: take in what it had then.
    [model] = _replayed(study, [looked_at])
    assert model.decision is not None
    return moment_at(model.procedure, model.posterior, model.round, model.decision)


def _arms_near_boundary(moment: Moment) -> NDArray[np.int64]:
    """The arms around the boundary: of largest gap index on either side, and of worst mean."""
    order, inside = moment.by_gap, moment.table["in_shortlist"].to_numpy()
    candidates = np.flatnonzero(inside)
    worst = best_first(moment.table.iloc[candidates[::-1]], moment.problem).index[::-1]
    chosen = [
        *(moment.b, moment.c, moment.boundary),
        *order[inside[order]][: ARMS // 2].tolist(),
        *order[~inside[order]][: ARMS // 2].tolist(),
        *worst[:LOWEST].tolist(),
    ]
    return np.unique(np.array(chosen, np.int64))


def _replayed(study: View, evaluations: Iterable[int]) -> Iterator[Model]:
    """The study's model after each of these evaluations in turn, made again from the results."""
    model, steps, start = study.new_model(), study.all_steps(), 0
    # What comes between a result and the next (a failure, a reopening) belongs to the first.
    ends = np.append(np.flatnonzero(steps.kinds == TAKE), len(steps.kinds))
    model.take(Steps.of(DECIDE), at_stop=lambda: None)
    for evaluation in evaluations:
        end = int(ends[evaluation])
        model.take(steps.part(start, end), at_stop=lambda: None)
        start = end
        yield model


def _difference(model: Model) -> Difference:
    """The difference that the stopping rule reads."""
    decision, engine = model.decision, model.procedure.engine
    assert decision is not None
    _, *gaps = engine.gaps(model.posterior, model.round, decision, outside_only=True)
    reader = decision.c
    if engine.setup.stop == "ugape":
        upper = np.where(np.isnan(gaps[2]), -np.inf, gaps[2])
        reader = int(np.argsort(-upper, kind="stable")[model.procedure.problem.m - 1])
    return Difference(*(float(values[reader]) for values in gaps))


def _checkpoints(study: View, told: Sequence[Trial]) -> set[int]:
    """Evaluations evenly spaced on a logarithmic scale, from the first round to the last result."""
    if not told:
        return set()
    if not study.aim.certifies:
        return _looked_at(study, np.array([trial.arm for trial in told], np.int64))
    opening, _ = study.model.first_procedure.engine.initial_pulls(study.model.posterior)
    first, arms = 0, np.array([trial.arm for trial in told], np.int64)
    for arm, pulls in zip(*np.unique(opening, return_counts=True), strict=True):
        (at,) = np.nonzero(arms == arm)
        if len(at) < pulls:
            return set()
        first = max(first, int(at[pulls - 1]) + 1)
    return _spaced(study, max(first, 1), len(told))


def _spaced(study: View, first: int, last: int) -> set[int]:
    count = CHECKPOINTS if study.problem.arms <= ARMS else FEWER
    return set(np.geomspace(first, last, count).round().astype(int).tolist())


def _looked_at(study: View, arms: NDArray[np.int64]) -> set[int]:
    """With a budget, the same from the end of the first phase, where results span the features."""
    first, features = len(study.procedure.engine.setup.initial), study.problem.reduced
    if len(arms) < first:
        return set()
    ranks = {n: np.linalg.matrix_rank(features[arms[:n]]) for n in _spaced(study, first, len(arms))}
    return {n for n, rank in ranks.items() if rank == features.shape[1]}


@dataclass(frozen=True, eq=False)
class Moment:
    """What the stopping rule read at one moment.

    Attributes
    ----------
    evaluation : int
        After how many evaluations.
    C, statistic : float
        The threshold, and what must fall to ε.
    b, c : int
        The ambiguous candidate and its challenger, by row of the features.
    boundary : int
        The candidate whose gaps stop the study: b, or with τ_UGapE the one of largest m-th gap.
    table : DataFrame
        One row per arm: name, pulls, mean, lower, upper, in_shortlist as in ``Study.table``; then
        gap, gap_lower and gap_upper, the interval of a difference of two means that the stopping
        rule reads. With τ_LUCB the difference is μ_i − μ_b for an arm i outside the shortlist and
        μ_c − μ_j for a candidate j: how much better the one outside may be. With τ_UGapE it is
        μ_i − μ_j for every other arm i, where j is the boundary. Where the smallest means are the
        best, these differences are taken the other way round: what is large is better.
    problem : Problem
        What is asked.
    """

    evaluation: int
    C: float
    statistic: float
    b: int
    c: int
    boundary: int
    table: pd.DataFrame
    problem: Problem

    @property
    def by_gap(self) -> NDArray[np.int64]:
        """The arms by row of the features, from the boundary on: the largest gap index first.

        Without those that were retired, and without controls.
        """
        order = np.argsort(-self.table["gap_upper"].fillna(np.inf).to_numpy(), kind="stable")
        listable = self.problem.listable & estimated(self.table).notna().to_numpy()
        return order[listable[order]]


class Difference(NamedTuple):
    """The difference of two means that a stopping rule reads, and its interval."""

    gap: float
    gap_lower: float
    gap_upper: float


def moment_at(procedure: Procedure, posterior: Posterior, now: Any, decision: Decision) -> Moment:
    """Means and intervals as the posterior has them, with the pair of a decision."""
    C = procedure.engine.threshold(posterior, now)
    boundary, *gaps = procedure.engine.gaps(posterior, now, decision)
    table = arm_table(procedure, posterior, C, now)
    for column, values in zip(Difference._fields, gaps, strict=True):
        table[column] = np.where(estimated(table).isna(), np.nan, values)  # of retired arms
    return Moment(
        evaluation=posterior.observed,
        C=C,
        statistic=decision.statistic,
        b=decision.b,
        c=decision.c,
        boundary=boundary,
        table=table,
        problem=procedure.problem,
    )
