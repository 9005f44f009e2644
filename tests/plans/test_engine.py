"""What the engine promises of every algorithm that proceeds plan by plan."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from shortlist.plans.engine import PlanProgress, in_turn
from shortlist.plans.results import PlanResults, add_result

import shortlist
from by_plans import run_by_plans
from examples.race import RACE, Race
from paths import DOCS
from planned import INSTANCE, MEANS, QUIET, THETA, X, begin, is_classical, result
from shortlist import errors, plot
from shortlist.arrays import NO_BLOCK
from shortlist.catalog.registry import find_algorithm
from shortlist.problem import Problem
from shortlist.report.analysis import Analysis
from shortlist.report.methods import methods
from shortlist.simulation.instances import Instance
from shortlist.study.guarantee_parts import conditions

# A strategy of one's own, the only kind of plans that this engine makes without a budget.
NAMES: list[Any] = [RACE]
CLASSICAL = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=QUIET)
# Some of them are for results in [0, 1] only.
CHANCES = 1.0 / (1.0 + np.exp(-6.0 * (MEANS - 0.65)))  # the second and third best: 0.80 and 0.25
COINS = shortlist.instances.from_arrays(X, means=CHANCES, m=2, sigma=0.5, noise="bernoulli")


def calm(trial: Any) -> float:
    return result(trial, QUIET)


def flip(trial: Any) -> float:
    return float(np.random.default_rng(trial.seed).random() < CHANCES[trial.arm])


@cache
def is_bounded(name: str) -> bool:
    return not find_algorithm(name).bind(INSTANCE.problem(0.05, 0.0)).noise.uses_sigma


def results_for(name: str) -> Callable[[Any], float]:
    return flip if is_bounded(name) else calm if is_classical(name) else result


def instance_for(name: str) -> Instance:
    return COINS if is_bounded(name) else CLASSICAL if is_classical(name) else INSTANCE


def course(study: shortlist.Study) -> Any:
    return study.round


# The engine


@pytest.mark.parametrize("name", NAMES, ids=lambda each: find_algorithm(each).name)
class TestContract:
    @pytest.mark.slow
    def test_a_study_makes_the_runs_of_a_comparison(self, name: str) -> None:
        """Pull by pull from outside, or plan by plan in the loop: the same data, the same answer."""
        engine = begin(name).procedure.engine
        bounded = is_bounded(name)
        rewards: dict[int, list[float]] = {arm: [] for arm in range(len(X))}
        rng = np.random.default_rng(5)

        def kth(arm: int, k: int) -> float:
            while len(rewards[arm]) <= k:
                drawn = MEANS[arm] + engine.setup.sigma * rng.standard_normal()
                rewards[arm].append(float(rng.random() < CHANCES[arm] if bounded else drawn))
            return rewards[arm][k]

        now = engine.round()
        pulls = np.zeros(len(X), int)
        while not now.strategy.statistic <= 0.0:
            for arm in np.flatnonzero(now.strategy.plan):
                for _ in range(now.strategy.plan[arm]):
                    add_result(now.results, arm, kth(arm, pulls[arm]), NO_BLOCK)
                    pulls[arm] += 1
            now.decide(1)
        study = begin(name)
        counts = np.zeros(len(X), int)

        def objective(trial: Any) -> float:
            counts[trial.arm] += 1
            return kth(trial.arm, counts[trial.arm] - 1)

        study.run(objective, progress=False)
        assert study.posterior.pulls.tolist() == pulls.tolist()
        assert study.statistic == pytest.approx(now.strategy.statistic, rel=1e-9)
        assert np.array_equal(course(study).inside, now.inside)

    @pytest.mark.slow
    def test_plans_are_what_is_asked_for(self, name: str) -> None:
        study = begin(name)
        while not study.done and study.evaluations < 150:
            plan, before = course(study).strategy.plan, study.posterior.pulls.copy()
            assert plan.dtype == np.int64
            assert (plan >= 0).all()
            assert plan.any()
            for _ in range(int(plan.sum())):
                trial = study.ask()
                study.tell(trial, results_for(name)(trial))
            assert (study.posterior.pulls - before).tolist() == plan.tolist()

    def test_the_first_plan_is_the_initial_pulls(self, name: str) -> None:
        study = begin(name)
        engine = study.procedure.engine
        assert (
            np.bincount(engine.setup.initial, minlength=len(X)).tolist()
            == engine.setup.wanted.tolist()
        )
        rank = engine.setup.features.shape[1]
        assert np.linalg.matrix_rank(engine.setup.features[engine.setup.wanted > 0]) == rank
        for k in range(len(engine.setup.initial)):
            assert study.statistic is None
            trial = study.ask()
            assert trial.arm == engine.setup.initial[k]
            assert str(study.why(trial)).endswith("is part of the first plan.")
            study.tell(trial, results_for(name)(trial))
        assert study.statistic is not None
        words = str(study.why(study.ask()))
        assert "is part of a plan to compare arms, above all" in words
        assert "challenger" in words

    @pytest.mark.slow
    def test_batches_of_any_size_end_in_the_same_answer(self, name: str) -> None:
        answers = []
        for batch in (1, 64):
            study = begin(name, epsilon=0.1)
            study.run(results_for(name), batch=batch, progress=False)
            answers.append(study)
        # In the order asked for, a larger batch only adds what was under way at the stop.
        assert len({frozenset(answer.shortlist.names) for answer in answers}) == 1
        assert "Proven" in answers[1].shortlist.guarantee.text

    def test_asking_for_many_is_asking_again_and_again(self, name: str) -> None:
        one, other = begin(name, sigma=3.0), begin(name, sigma=3.0)
        for study in (one, other):
            for _ in range(3 * len(study.procedure.engine.setup.initial)):
                trial = study.ask()
                study.tell(trial, results_for(name)(trial))
        together = [trial.arm for trial in one.ask(60)]
        assert [other.ask().arm for _ in range(60)] == together
        assert len(set(together)) > 1

    def test_a_plan_that_is_under_way_is_not_asked_for_twice(self, name: str) -> None:
        study = begin(name)
        for _ in range(len(study.procedure.engine.setup.initial)):
            trial = study.ask()
            study.tell(trial, results_for(name)(trial))
        plan = course(study).strategy.plan
        asked = [trial.arm for trial in study.ask(int(plan.sum()))]
        assert np.bincount(asked, minlength=len(X)).tolist() == plan.tolist()

    def test_results_beyond_the_plan_do_not_count(self, name: str) -> None:
        plain, flooded = begin(name, sigma=3.0), begin(name, sigma=3.0)
        for study in (plain, flooded):
            first = len(study.procedure.engine.setup.initial)
            while study.evaluations < first or np.count_nonzero(course(study).strategy.plan) < 2:
                trial = study.ask()
                study.tell(trial, results_for(name)(trial))
        plan = course(plain).strategy.plan
        arm = int(np.argmax(plan > 0))
        trials = [plain.ask() for _ in range(int(plan.sum()))]
        same = [flooded.ask() for _ in range(int(plan.sum()))]
        for trial in trials:
            plain.tell(trial, results_for(name)(trial))
        for trial in sorted(same, key=lambda trial: trial.arm != arm):
            flooded.tell(trial, results_for(name)(trial))
            if (course(flooded).results.pulls == plan)[
                arm
            ] and flooded.evaluations < plain.evaluations:
                flooded.tell(arm=arm, value=1.0 if is_bounded(name) else 1e6)
        assert flooded.evaluations > plain.evaluations
        least = plain.posterior.means[arm] if is_bounded(name) else 10.0
        assert flooded.posterior.means[arm] > least
        assert flooded.statistic == pytest.approx(plain.statistic, rel=1e-9)
        assert course(flooded).strategy.plan.tolist() == course(plain).strategy.plan.tolist()

    def test_results_that_nobody_asked_for_count_in_a_plan_that_wants_them(self, name: str) -> None:
        study = begin(name)
        for arm in study.procedure.engine.setup.initial.tolist():
            assert study.statistic is None
            study.tell(arm=arm, value=float(CHANCES[arm]))
        assert study.statistic is not None

    def test_a_copy_goes_its_own_way(self, name: str) -> None:
        study = begin(name)
        for _ in range(len(study.procedure.engine.setup.initial) + 1):
            trial = study.ask()
            study.tell(trial, results_for(name)(trial))
        now = course(study)
        twin, filled = now.copy(), now.results.pulls.copy()
        before = {key: np.copy(value) for key, value in vars(now.strategy).items()
                  if isinstance(value, np.ndarray)}  # fmt: skip
        for _ in range(3):
            arms = np.repeat(np.arange(len(CHANCES)), twin.strategy.plan)
            twin.results = PlanResults.of(len(CHANCES), arms, CHANCES[arms])
            twin.decide(1)
        for key, value in before.items():
            np.testing.assert_array_equal(getattr(now.strategy, key), value)
        assert now.results.pulls.tolist() == filled.tolist()
        assert filled.any() or now.strategy.plan.sum() == 1  # such a plan is never half full
        assert twin.strategy.statistic != now.strategy.statistic

    @pytest.mark.slow
    def test_a_stored_study_is_replayed_bit_for_bit(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "study.db"
        study = begin(name, storage=path, epsilon=0.3)
        study.run(results_for(name), progress=False, max_evaluations=40)
        loaded = shortlist.Study.load(path, algorithm=name)
        here, there = course(study), course(loaded)
        assert loaded.statistic == study.statistic
        assert there.strategy.plan.tolist() == here.strategy.plan.tolist()
        assert there.results.sums.tolist() == here.results.sums.tolist()
        memory = begin(name, epsilon=0.3)
        memory.run(results_for(name), progress=False, max_evaluations=40)
        assert not memory.done
        assert [t.arm for t in loaded.ask(20)] == [t.arm for t in memory.ask(20)]
        for trial in loaded.pending:
            loaded.tell(trial, results_for(name)(trial))
        run_by_plans(loaded, results_for(name))
        again = shortlist.Study.load(path, algorithm=name)
        assert again.done
        assert again.shortlist.names == loaded.shortlist.names
        assert again.shortlist.evaluations == loaded.shortlist.evaluations

    @pytest.mark.slow
    def test_a_reopened_study_stops_after_a_result(self, name: str) -> None:
        study = begin(name)
        run_by_plans(study, results_for(name))
        names, evaluations = study.shortlist.names, study.evaluations
        study.reopen()
        assert not study.done
        trial = study.ask()
        study.tell(trial, results_for(name)(trial))
        assert study.done
        assert study.evaluations == evaluations + 1
        assert study.shortlist.names == names

    @pytest.mark.slow
    def test_what_comes_after_the_stop_has_no_part_in_the_answer(
        self, name: str, tmp_path: Path
    ) -> None:
        study = begin(name, storage=tmp_path / "study.db")
        measure = results_for(name)
        run_by_plans(study, measure)
        names, evaluations = study.shortlist.names, study.evaluations
        low, high = (0.0, 1.0) if is_bounded(name) else (-9.0, 9.0)
        for arm in range(len(X)):
            study.tell(arm=arm, value=low if study.problem.names[arm] in names else high)
        study.tell_many([])
        assert (study.shortlist.names, study.shortlist.evaluations) == (names, evaluations)
        again = shortlist.Study.load(tmp_path / "study.db", algorithm=name)
        assert (again.shortlist.names, again.shortlist.evaluations) == (names, evaluations)
        study.reopen()
        trial = study.ask()
        study.tell(trial, measure(trial))
        loaded = shortlist.Study.load(tmp_path / "study.db", algorithm=name)
        assert loaded.done == study.done
        assert loaded.shortlist.evaluations == study.shortlist.evaluations > evaluations + len(X)

    @pytest.mark.slow
    def test_pictures_history_and_words(self, name: str) -> None:
        study = begin(name)
        run_by_plans(study, results_for(name), 30)
        assert study.remaining().low >= 1
        run_by_plans(study, results_for(name))
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
        assert find_algorithm(name).name in methods(Analysis(study))
        assert study.shortlist.guarantee.text.startswith("Proven")

    def test_a_run_is_cut_where_it_is_told(self, name: str) -> None:
        noisy = COINS
        if not is_bounded(name):
            noisy = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=3.0)
        first = len(find_algorithm(name).bind(noisy.problem(0.05, 0.0)).engine.setup.initial)
        frame = shortlist.compare(name, noisy, runs=3, max_samples=first + 3, progress=False).frame
        assert not frame["stopped"].any()
        assert (frame["samples"] == first + 3).all()
        with pytest.raises(errors.InvalidSetting, match="below the"):
            shortlist.compare(
                name, instance_for(name), runs=3, max_samples=first - 1, progress=False
            )

    def test_its_bound_is_its_own(self, name: str) -> None:
        with pytest.raises(
            errors.InvalidSetting, match=r"cannot be replaced: leave threshold=None"
        ):
            shortlist.compare(
                name, instance_for(name), runs=1, threshold="frequentist", progress=False
            )


@pytest.mark.slow
def test_runs_are_the_same_wherever_they_are_made() -> None:
    cases: list[tuple[Any, Any]] = [(name, instance_for(name)) for name in NAMES]
    cases.append((shortlist.PairsInDoubt(budget=50), INSTANCE))

    def frames(executor: Any = None) -> list[Any]:
        settings: dict[str, Any] = {"runs": 4, "seed": 3, "progress": False, "executor": executor}
        return [shortlist.compare(*case, **settings).frame for case in cases]

    here = frames()
    with ThreadPoolExecutor(2) as pool:
        assert all(map(type(here[0]).equals, frames(pool), here))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert all(map(type(here[0]).equals, frames(pool), here))
    assert all(frame["samples"].nunique() > 1 for frame in here[:-1])


def test_the_problem_may_be_classical_deficient_or_hold_twins() -> None:
    wide = np.hstack([X, X @ [[1.0], [2.0]]])
    twins = np.vstack([X, X[:1]])
    for features, epsilon in ((wide, 0.0), (twins, 0.2), (np.eye(3), 0.0), (np.eye(2), 0.0)):
        means = features[:, 0] + 0.3 * features[:, 1]
        for name in NAMES:
            bounded = is_bounded(name)
            instance = shortlist.instances.from_arrays(
                features,
                means=(means + 0.5) / 1.7 if bounded else means,
                m=1 if len(features) < 4 else 2,
                sigma=0.3,
                noise="bernoulli" if bounded else "gaussian",
            )
            frame = shortlist.compare(name, instance, runs=5, epsilon=epsilon, progress=False).frame
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
    strategy: Any = study.round.strategy
    assert strategy._seen.pulls.tolist() == plan.tolist()
    assumed = dict(conditions(study))["Unrequested data"]
    assert "Whether and when they were told depended neither" in assumed
    page = (DOCS / "algorithms.md").read_text()
    assert "unrequested data, enter the table of means, but no bound" not in page
    assert "Unrequested data (`study.tell(arm=…, value=…)`) take places in the plan" in page


def test_the_initial_pulls_are_in_the_order_in_which_a_plan_is_filled() -> None:
    strategy = RACE.bind(Problem.of(X, 2, sigma=1.0)).engine.round().strategy
    rng = np.random.default_rng(0)
    for _ in range(20):
        strategy.plan = rng.integers(0, 9, len(X))
        now, order = PlanProgress(strategy), []
        while now.missing.any():
            order.append(now.next_arm())
            now.results.pulls[order[-1]] += 1
        assert in_turn(strategy.plan).tolist() == order


def test_a_strategy_that_keeps_values_is_given_every_result_in_order():
    class Keeps(Race):
        keeps_values = True

        def decide(self, results, seed):
            seen.append(results)
            super().decide(results, seed)

    seen = []
    keeps = replace(RACE, strategy=Keeps, name="Keeps")
    study = shortlist.Study(arms=["a", "b", "c"], sigma=1.0, algorithm=keeps, seed=0)
    for arm, value in [(2, 0.5), (2, 9.0), (0, -1.0), (1, 0.25)]:
        study.tell(arm=arm, value=value)
    _ = study.done
    assert [seen[0].arms.tolist(), seen[0].values.tolist()] == [[2, 0, 1], [0.5, -1.0, 0.25]]
    assert seen[0].blocks.tolist() == [NO_BLOCK] * 3
    assert seen[0].count.tolist() == [3]
