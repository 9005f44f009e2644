"""What a study looked like after every evaluation, by taking its results in again.

A ``Look`` is what the stopping rule read: means, intervals, and gap indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.engine.contract import Decision
from shortlist.engine.follow import TAKE, Steps
from shortlist.numerics.records import Reals
from shortlist.posterior.posterior import Posterior
from shortlist.problem import Problem
from shortlist.study.answer import arm_table, best_first
from shortlist.study.model import Model
from shortlist.study.trial import Trial
from shortlist.study.view import View

CHECKPOINTS = 60
FEWER = 24  # with more arms than ARMS: means and variances of all of them are made at each
COLUMNS = ("evaluation", "name", "pulls", "mean", "lower", "upper", "in_shortlist")
ROWS = 2000  # reading one out costs 0.2 ms, and no picture shows more
LAST_ROWS = 200  # always read out: the study's last look is among them
ARMS = 1000  # with more arms, about this many are read out at a checkpoint; no picture shows 100
LOWEST = 100  # of these at most are there for their means


@dataclass(frozen=True, eq=False)
class History:
    """A study from its first result to its last.

    Attributes
    ----------
    frame : DataFrame
        One row per evaluation, in the order in which the model processed them: evaluation (from 1),
        trial, arm, name, value, C, statistic, b, c. The last three are those of
        the most recent check of the stopping rule. It is not checked during the initial pulls and a
        pilot (the entries are then missing), between the two pulls of one round, or after the stop.
        With more than 2000 evaluations, only 2000 evenly spaced ones and the last 200 are filled
        in; in the other rows C and all columns after it are missing.
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
    last : Look or None
        What the stopping rule read when the study last looked; None before the first look.
    """

    frame: pd.DataFrame
    checkpoints: pd.DataFrame
    arms: NDArray[np.int64]
    differences: pd.DataFrame
    last: Look | None


def history(study: View) -> History:
    """What the study looked like after every evaluation.

    The study's own algorithm takes the results in again, in the same order, and makes every
    decision again: nothing is kept for it while the study runs.

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
    told, steps = study.taken, study.all_steps()
    count = len(told)
    shown = _checkpoints(study, told)
    arms, last = np.arange(study.problem.arms), None
    if len(arms) > ARMS and shown:
        last = last_look(study)
        arms = arms[:ARMS] if last is None else _nearest(last)
    figures = np.full((count + 1, 4), np.nan)
    tables, read = [], []
    replay = _Replay(study, steps)
    for evaluation in replay.through(sorted({*_rows(study, count), *shown})):
        figures[evaluation] = replay.figures()
        if evaluation in shown:
            table, difference = replay.glance(arms)
            table.insert(0, "evaluation", evaluation)
            tables.append(table)
            read.append((evaluation, *difference))
    return History(
        frame=_frame(told, figures[1:], study.problem.names),
        checkpoints=pd.concat(tables, ignore_index=True)
        if tables
        else pd.DataFrame(columns=COLUMNS),
        arms=arms,
        differences=pd.DataFrame(read, columns=["evaluation", *Difference._fields]),
        last=_last(study, steps, replay) if last is None else last,
    )


def last_look(study: View) -> Look | None:
    """What the stopping rule read when the study last looked; None before the first look.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> last_look(study) is None
    True
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> look = last_look(study)
    >>> look.b, look.c, bool(look.table["gap_upper"][look.c] == study.statistic)
    (2, 1, True)
    """
    if study.statistic is None:
        return None
    if not study.model.stopped or study.evaluations == study.answered_at:
        posterior = study.model.posterior.copy()
        decision, now = study.bound.engine.last_decision(posterior, study.round, study.seed)
        if decision.statistic == study.statistic:
            return look_at(study.bound, posterior, now, decision)
    # Results came in since it looked, or it remembers the round before: go through them all.
    steps = study.all_steps()
    replay = _Replay(study, steps)
    for _ in replay.through(_rows(study, study.evaluations)):
        pass
    return _last(study, steps, replay)


def _nearest(look: Look) -> NDArray[np.int64]:
    """The arms around the boundary: of largest gap index on either side, and of worst mean."""
    order, inside = look.by_gap, look.table["in_shortlist"].to_numpy()
    candidates = np.flatnonzero(inside)
    worst = best_first(look.table.iloc[candidates[::-1]], look.problem).index[::-1]
    chosen = [
        *(look.b, look.c, look.boundary),
        *order[inside[order]][: ARMS // 2].tolist(),
        *order[~inside[order]][: ARMS // 2].tolist(),
        *worst[:LOWEST].tolist(),
    ]
    return np.unique(np.array(chosen, np.int64))


def _last(study: View, steps: Steps, replay: _Replay) -> Look | None:
    if not replay.model.looks:
        return None
    if replay.looked < replay.model.posterior.observed:  # results came in since
        looked = replay.looked
        replay = _Replay(study, steps)
        list(replay.through([looked]))
    return replay.look()


class _Replay:
    """The study's model, built again from the results up to some evaluation."""

    def __init__(self, study: View, steps: Steps) -> None:
        self.model = Model(study.model.first_bound, study.seed)
        self.looked = 0
        self._steps, self._at = steps, 0
        # What comes between a result and the next (a failure, a reopening) belongs to the first.
        self._ends = np.append(np.flatnonzero(steps.kinds == TAKE), len(steps.kinds))
        self._take(Steps.supposing([]))

    def through(self, evaluations: Sequence[int]) -> Iterator[int]:
        """Take results in up to each of these evaluations in turn, and yield it."""
        for evaluation in evaluations:
            end = int(self._ends[evaluation])
            before = self.model.decided
            self._take(self._steps.part(self._at, end))
            self._at = end
            if self.model.decided is not before:
                self.looked = evaluation
            yield evaluation

    def _take(self, steps: Steps) -> None:
        self.model.take(steps, at_stop=lambda: None)

    def figures(self) -> tuple[float, ...]:
        """C, the statistic, b and c; all missing before the stop is looked for."""
        model, decision = self.model, self.model.decision
        if decision is None or not model.looks:
            return (np.nan,) * 4
        C = model.bound.engine.threshold(model.posterior, model.round)
        return C, decision.statistic, decision.b, decision.c

    def glance(self, arms: NDArray[np.int64]) -> tuple[pd.DataFrame, Difference]:
        """The rows of some arms as they are now, and the difference that the stop reads."""
        model, decision, engine = self.model, self.model.decision, self.model.bound.engine
        assert decision is not None
        table = model.table(arms)
        _, *gaps = engine.gaps(model.posterior, model.round, decision, outside_only=True)
        reader = decision.c
        if engine.setup.stop == "ugape":
            upper = np.where(np.isnan(gaps[2]), -np.inf, gaps[2])
            reader = int(np.argsort(-upper, kind="stable")[model.bound.problem.m - 1])
        return table, Difference(*(float(values[reader]) for values in gaps))

    def look(self) -> Look:
        """Means and intervals as they are now, with the pair of the last decision."""
        model = self.model
        assert model.decision is not None
        return look_at(model.bound, model.posterior, model.round, model.decision)


def _checkpoints(study: View, told: Sequence[Trial]) -> set[int]:
    """Evaluations evenly spaced on a logarithmic scale, from the first round to the last result."""
    if not told:
        return set()
    if not study.aim.certifies:
        return _looked_at(study, np.array([trial.arm for trial in told], np.int64))
    opening, _ = study.model.first_bound.engine.initial_pulls(study.model.posterior)
    first = aside = study.model.posterior.aside
    if study.model.first_bound.engine.setup.has_pilot and not aside:
        return set()
    arms = np.array([trial.arm for trial in told[aside:]], np.int64)
    for arm, pulls in zip(*np.unique(opening, return_counts=True), strict=True):
        (at,) = np.nonzero(arms == arm)
        if len(at) < pulls:
            return set()
        first = max(first, aside + int(at[pulls - 1]) + 1)
    return _spaced(study, max(first, 1), len(told))


def _spaced(study: View, first: int, last: int) -> set[int]:
    count = CHECKPOINTS if study.problem.arms <= ARMS else FEWER
    return set(np.geomspace(first, last, count).round().astype(int).tolist())


def _looked_at(study: View, arms: NDArray[np.int64]) -> set[int]:
    """With a budget, the same from the end of the first phase, where results span the features."""
    first, features = len(study.bound.engine.setup.initial), study.problem.reduced
    if len(arms) < first:
        return set()
    ranks = {n: np.linalg.matrix_rank(features[arms[:n]]) for n in _spaced(study, first, len(arms))}
    return {n for n, rank in ranks.items() if rank == features.shape[1]}


def _rows(study: View, count: int) -> list[int]:
    """The evaluations to read out."""
    if count <= ROWS:
        return list(range(1, count + 1))
    spread = np.linspace(1, count, ROWS).astype(int).tolist()
    stop = [study.answered_at] if study.model.stopped else []
    return sorted({*spread, *range(count - LAST_ROWS, count + 1), *stop})


def _frame(told: Sequence[Trial], figures: Reals, names: tuple[str, ...]) -> pd.DataFrame:
    pairs = np.where(np.isnan(figures[:, 2:]), NO_ARM, figures[:, 2:]).astype(int)
    named = np.array([*names, None], object)  # nobody is the last
    return pd.DataFrame(
        {
            "evaluation": np.arange(1, len(told) + 1),
            "trial": [trial.number for trial in told],
            "arm": [trial.arm for trial in told],
            "name": [trial.name for trial in told],
            "value": [trial.value for trial in told],
            "C": figures[:, 0],
            "statistic": figures[:, 1],
            "b": named[pairs[:, 0]],
            "c": named[pairs[:, 1]],
        }
    )


@dataclass(frozen=True, eq=False)
class Look:
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
        """The arms by row of the features, from the boundary on: the largest gap index first."""
        return np.argsort(-self.table["gap_upper"].fillna(np.inf).to_numpy(), kind="stable")


class Difference(NamedTuple):
    """The difference of two means that a stopping rule reads, and its interval."""

    gap: float
    gap_lower: float
    gap_upper: float


def look_at(bound: AlgorithmOnProblem, posterior: Posterior, now: Any, decision: Decision) -> Look:
    """Means and intervals as the posterior has them, with the pair of a decision."""
    C = bound.engine.threshold(posterior, now)
    boundary, *gaps = bound.engine.gaps(posterior, now, decision)
    table = arm_table(bound, posterior, C, now)
    for column, values in zip(Difference._fields, gaps, strict=True):
        table[column] = values
    return Look(
        evaluation=posterior.observed,
        C=C,
        statistic=decision.statistic,
        b=decision.b,
        c=decision.c,
        boundary=boundary,
        table=table,
        problem=bound.problem,
    )
