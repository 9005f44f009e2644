"""What holds of a strategy of one's own in studies and comparisons: here the race of ``examples``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest

import shortlist
from by_plans import run_by_plans
from examples.race import RACE, Race
from paths import DOCS
from planned import MEANS, QUIET, THETA, X, begin, result
from shortlist import errors, plot
from shortlist.arrays import NO_BLOCK
from shortlist.blocks import Cell
from shortlist.problem import Problem
from shortlist.report.analysis import Analysis
from shortlist.report.methods import methods
from shortlist.study.guarantee_parts import conditions

CALM = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=QUIET)


def measure(trial: Any) -> float:
    return result(trial, QUIET)


def race(**settings: Any) -> shortlist.Study:
    return begin(RACE, **settings)  # type: ignore[arg-type]


def strategy_of(study: shortlist.Study) -> Any:
    return study.round.search.strategy


def first_of(study: shortlist.Study) -> Any:
    return study.procedure.engine.setup.initial


def told(study: shortlist.Study, count: int) -> None:
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, measure(trial))


@pytest.mark.slow
def test_a_study_makes_the_runs_of_a_comparison() -> None:
    """Result by result from outside, or plan by plan in the loop: the same data, the same answer."""
    rewards = MEANS[:, None] + QUIET * np.random.default_rng(5).standard_normal((len(X), 10_000))
    search, pulls = race().procedure.engine._search(1), np.zeros(len(X), int)  # type: ignore[attr-defined]
    while not search.stopped:
        slots, values = search.slots, []
        for arm in slots.arms.tolist():
            values.append(rewards[arm, pulls[arm]])
            pulls[arm] += 1
        search.take(slots.arms, slots.blocks, np.array(values))
    study, counts = race(), np.zeros(len(X), int)

    def objective(trial: Any) -> float:
        counts[trial.arm] += 1
        return float(rewards[trial.arm, counts[trial.arm] - 1])

    study.run(objective, progress=False)
    assert study.posterior.pulls.tolist() == pulls.tolist()
    assert study.statistic == pytest.approx(search.strategy.statistic, rel=1e-9)
    assert np.array_equal(study.round.inside, search.inside)


@pytest.mark.slow
def test_plans_are_what_is_asked_for() -> None:
    study = race()
    while not study.done and study.evaluations < 150:
        plan, before = strategy_of(study).plan, study.posterior.pulls.copy()
        assert plan.dtype == np.int64
        assert (plan >= 0).all()
        assert plan.any()
        for _ in range(int(plan.sum())):
            trial = study.ask()
            study.tell(trial, measure(trial))
        assert (study.posterior.pulls - before).tolist() == plan.tolist()


def test_the_first_plan_is_the_initial_pulls() -> None:
    study = race()
    engine = study.procedure.engine
    assert (
        np.bincount(engine.setup.initial, minlength=len(X)).tolist() == engine.setup.wanted.tolist()
    )
    rank = engine.setup.features.shape[1]
    assert np.linalg.matrix_rank(engine.setup.features[engine.setup.wanted > 0]) == rank
    for k in range(len(engine.setup.initial)):
        assert study.statistic is None
        trial = study.ask()
        assert trial.arm == engine.setup.initial[k]
        assert str(study.why(trial)).endswith("is part of the first plan.")
        study.tell(trial, measure(trial))
    assert study.statistic is not None
    words = str(study.why(study.ask()))
    assert "is part of a plan to compare arms, above all" in words
    assert "challenger" in words


@pytest.mark.slow
def test_batches_of_any_size_end_in_the_same_answer() -> None:
    answers = []
    for batch in (1, 64):
        study = race(epsilon=0.1)
        study.run(measure, batch=batch, progress=False)
        answers.append(study)
    # In the order asked for, a larger batch only adds what was under way at the stop.
    assert len({frozenset(answer.shortlist.names) for answer in answers}) == 1
    assert "Proven" in answers[1].shortlist.guarantee.text


def test_asking_for_many_is_asking_again_and_again() -> None:
    one, other = race(sigma=3.0), race(sigma=3.0)
    for study in (one, other):
        for _ in range(3 * len(first_of(study))):
            trial = study.ask()
            study.tell(trial, measure(trial))
    together = [trial.arm for trial in one.ask(60)]
    assert [other.ask().arm for _ in range(60)] == together
    assert len(set(together)) > 1


def test_a_plan_that_is_under_way_is_not_asked_for_twice() -> None:
    study = race()
    for _ in range(len(first_of(study))):
        trial = study.ask()
        study.tell(trial, measure(trial))
    plan = strategy_of(study).plan
    asked = [trial.arm for trial in study.ask(int(plan.sum()))]
    assert np.bincount(asked, minlength=len(X)).tolist() == plan.tolist()


def test_results_beyond_the_plan_do_not_count() -> None:
    plain, flooded = race(sigma=3.0), race(sigma=3.0)
    for study in (plain, flooded):
        first = len(first_of(study))
        while study.evaluations < first or np.count_nonzero(strategy_of(study).plan) < 2:
            trial = study.ask()
            study.tell(trial, measure(trial))
    plan = strategy_of(plain).plan
    arm = int(np.argmax(plan > 0))
    trials = [plain.ask() for _ in range(int(plan.sum()))]
    same = [flooded.ask() for _ in range(int(plan.sum()))]
    for trial in trials:
        plain.tell(trial, measure(trial))
    for trial in sorted(same, key=lambda trial: trial.arm != arm):
        flooded.tell(trial, measure(trial))
        if not flooded.round.wanted[Cell(arm)] and flooded.evaluations < plain.evaluations:
            flooded.tell(arm=arm, value=1e6)
    assert flooded.evaluations > plain.evaluations
    assert flooded.posterior.averages[arm] > 10.0
    assert flooded.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert strategy_of(flooded).plan.tolist() == strategy_of(plain).plan.tolist()


def test_results_that_nobody_asked_for_count_in_a_plan_that_wants_them() -> None:
    study = race()
    for arm in first_of(study).tolist():
        assert study.statistic is None
        study.tell(arm=arm, value=float(MEANS[arm]))
    assert study.statistic is not None


def test_a_copy_goes_its_own_way() -> None:
    study = race()
    told(study, len(first_of(study)) + 1)
    now = study.round
    twin, filled = now.copy(), len(now.results)
    before = {key: np.copy(value) for key, value in vars(strategy_of(study)).items()
              if isinstance(value, np.ndarray)}  # fmt: skip
    for _ in range(3):
        for cell in twin.order:
            twin.take(cell.arm, NO_BLOCK, MEANS[cell.arm], asked=True)
        twin.decide()
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(strategy_of(study), key), value)
    assert len(now.results) == filled > 0
    assert twin.search.strategy.statistic != strategy_of(study).statistic


@pytest.mark.slow
def test_a_stored_study_is_replayed_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = race(storage=path, epsilon=0.3)
    study.run(measure, progress=False, max_evaluations=40)
    loaded = shortlist.Study.load(path, algorithm=RACE)
    here, there = study.round, loaded.round
    assert loaded.statistic == study.statistic
    assert strategy_of(loaded).plan.tolist() == strategy_of(study).plan.tolist()
    assert there.results == here.results
    memory = race(epsilon=0.3)
    memory.run(measure, progress=False, max_evaluations=40)
    assert not memory.done
    assert [t.arm for t in loaded.ask(20)] == [t.arm for t in memory.ask(20)]
    for trial in loaded.pending:
        loaded.tell(trial, measure(trial))
    run_by_plans(loaded, measure)
    again = shortlist.Study.load(path, algorithm=RACE)
    assert again.done
    assert again.shortlist.names == loaded.shortlist.names
    assert again.shortlist.evaluations == loaded.shortlist.evaluations


@pytest.mark.slow
def test_a_reopened_study_stops_after_a_result() -> None:
    study = race()
    run_by_plans(study, measure)
    names, evaluations = study.shortlist.names, study.evaluations
    study.reopen()
    assert not study.done
    trial = study.ask()
    study.tell(trial, measure(trial))
    assert study.done
    assert study.evaluations == evaluations + 1
    assert study.shortlist.names == names


@pytest.mark.slow
def test_what_comes_after_the_stop_has_no_part_in_the_answer(tmp_path: Path) -> None:
    study = race(storage=tmp_path / "study.db")
    run_by_plans(study, measure)
    names, evaluations = study.shortlist.names, study.evaluations
    for arm in range(len(X)):
        study.tell(arm=arm, value=-9.0 if study.problem.names[arm] in names else 9.0)
    study.tell_many([])
    assert (study.shortlist.names, study.shortlist.evaluations) == (names, evaluations)
    again = shortlist.Study.load(tmp_path / "study.db", algorithm=RACE)
    assert (again.shortlist.names, again.shortlist.evaluations) == (names, evaluations)
    study.reopen()
    trial = study.ask()
    study.tell(trial, measure(trial))
    loaded = shortlist.Study.load(tmp_path / "study.db", algorithm=RACE)
    assert loaded.done == study.done
    assert loaded.shortlist.evaluations == study.shortlist.evaluations > evaluations + len(X)


@pytest.mark.slow
def test_pictures_history_and_words() -> None:
    study = race()
    run_by_plans(study, measure, 30)
    assert study.remaining().low >= 1
    run_by_plans(study, measure)
    past = study.history()
    assert len(past.frame) == study.evaluations
    assert past.frame["statistic"][study.answered_at - 1] == study.statistic <= 0.0
    assert past.last is not None
    row = past.last.table.iloc[past.last.c]
    assert row["gap_upper"] == study.statistic
    assert (past.last.table["gap_lower"] <= past.last.table["gap"]).all()
    for figure in (
        *(draw(study, history=past) for draw in (plot.intervals, plot.shrinking)),
        plot.stopping(study),
        plot.pulls(study),
    ):
        assert figure.axes
        pyplot.close(figure)
    assert RACE.name in methods(Analysis(study))
    assert study.shortlist.guarantee.text.startswith("Proven")


def test_a_run_is_cut_where_it_is_told() -> None:
    noisy = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=3.0)
    first = len(RACE.bind(noisy.problem(0.05, 0.0)).engine.setup.initial)
    frame = shortlist.compare(RACE, noisy, runs=3, max_samples=first + 3, progress=False).frame
    assert not frame["stopped"].any()
    assert (frame["samples"] == first + 3).all()
    with pytest.raises(errors.InvalidSetting, match="below the"):
        shortlist.compare(RACE, CALM, runs=3, max_samples=first - 1, progress=False)


def test_its_bound_is_its_own() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"cannot be replaced: leave threshold=None"):
        shortlist.compare(RACE, CALM, runs=1, threshold="frequentist", progress=False)


def test_runs_are_the_same_in_other_processes() -> None:
    here, there = (
        shortlist.compare(RACE, CALM, 10, seed=3, workers=n, progress=False).frame for n in (1, 2)
    )
    assert there.equals(here)
    assert here["samples"].nunique() > 1


def test_the_problem_may_be_classical_deficient_or_hold_twins() -> None:
    wide = np.hstack([X, X @ [[1.0], [2.0]]])
    twins = np.vstack([X, X[:1]])
    for features, epsilon in ((wide, 0.0), (twins, 0.2), (np.eye(3), 0.0), (np.eye(2), 0.0)):
        means = features[:, 0] + 0.3 * features[:, 1]
        m = 1 if len(features) < 4 else 2
        instance = shortlist.instances.from_arrays(features, means=means, m=m, sigma=0.3)
        frame = shortlist.compare(RACE, instance, runs=5, epsilon=epsilon, progress=False).frame
        assert frame["stopped"].all()
        assert frame["correct"].all()


def test_problem_knows_whether_it_is_classical() -> None:
    assert Problem.of(np.eye(3), 1, sigma=1.0).is_classical
    assert not Problem.of(2.0 * np.eye(3), 1, sigma=1.0).is_classical
    assert not Problem.of(X, 1, sigma=1.0).is_classical


def test_data_nobody_asked_for_take_places_of_the_plan() -> None:
    study = begin("", algorithm=RACE)
    plan = study.procedure.engine.setup.wanted
    extra = 2
    for arm, wanted in enumerate(plan.tolist()):
        for _ in range(wanted + extra if arm == 0 else wanted):
            study.tell(arm=arm, value=float(MEANS[arm]))
    # The first plan is complete, and nothing was asked for. Two results were beyond it.
    assert study.evaluations == plan.sum() + extra
    assert study.stage == "rounds"
    assert strategy_of(study)._seen.pulls.tolist() == plan.tolist()
    assumed = dict(conditions(study))["Unrequested data"]
    assert "Whether and when they were told depended neither" in assumed
    page = (DOCS / "algorithms.md").read_text()
    assert "unrequested data, enter the table of means, but no bound" not in page
    assert "Unrequested data (`study.tell(arm=…, value=…)`) take places in the plan" in page


def test_a_strategy_is_given_every_result_of_its_plan_in_order() -> None:
    seen = []

    class Keeps(Race):
        def decide(self, arms: Any, values: Any, seed: int) -> None:
            seen.append((arms.tolist(), values.tolist(), seed))
            super().decide(arms, values, seed)

    keeps = replace(RACE, strategy=Keeps, name="Keeps")
    study = shortlist.Study(arms=["a", "b", "c"], sigma=1.0, algorithm=keeps, seed=7)
    for arm, value in [(2, 0.5), (2, 9.0), (0, -1.0), (1, 0.25)]:
        study.tell(arm=arm, value=value)
    assert not study.done
    assert seen == [([2, 0, 1], [0.5, -1.0, 0.25], 7)]
