"""Algorithms that proceed plan by plan: what their engine promises, and what they prove."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

import shortlist
from error_rates import shown_below
from shortlist import errors, plot
from shortlist.catalog.names import ALGORITHMS, find_algorithm
from shortlist.designs.contrast import (
    TOLERANCE,
    contrast_design,
    fitted,
    spread_design,
    spreads,
    whitened,
)
from shortlist.designs.interior_point import optimal_design
from shortlist.plans.algorithm import Planned
from shortlist.plans.contrasts import (
    CONTRAST_MIXTURE,
    MOST,
    SHARE,
    Contrasts,
    mixture,
    one_sided_level,
)
from shortlist.plans.engine import StepwiseEngine
from shortlist.plans.mislid.algorithm import MisLid
from shortlist.plans.phased import Phased, counts
from shortlist.plans.strategy import Strategy, Task
from shortlist.plans.uniform import Uniform
from shortlist.problem import Problem
from shortlist.report.methods import methods
from shortlist.report.reading import Reading
from shortlist.simulation.instances import Instance
from shortlist.study.guarantee import conditions
from shortlist.theory import lower_bound

NAMES: list[Any] = [n for n, algorithm in ALGORITHMS.items() if isinstance(algorithm, Planned)]
NAMES += [MisLid(misspecification=0.05)]
X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9], [-0.5, 0.4]])
THETA = np.array([1.0, 0.3])
MEANS = X @ THETA
SIGMA = 1.2
INSTANCE = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=SIGMA)
# Some algorithms forget the features, and would need thousands of results for such noise.
QUIET = 0.6
CLASSICAL = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=QUIET)
# Some of them are for results in [0, 1] only.
CHANCES = (MEANS + 0.5) / 1.7
COINS = shortlist.instances.from_arrays(X, means=CHANCES, m=2, sigma=0.5, noise="bernoulli")


def begin(name: str, **settings: Any) -> shortlist.Study:
    sigma = QUIET if name and is_classical(name) else SIGMA
    return shortlist.Study(
        X, **{"m": 2, "sigma": sigma, "seed": 1, "algorithm": name, **settings}, audit=False
    )


def result(trial: Any, sigma: float = SIGMA) -> float:
    return float(MEANS[trial.arm] + sigma * np.random.default_rng(trial.seed).standard_normal())


def calm(trial: Any) -> float:
    return result(trial, QUIET)


def flip(trial: Any) -> float:
    return float(np.random.default_rng(trial.seed).random() < CHANCES[trial.arm])


def is_bounded(name: str) -> bool:
    return find_algorithm(name).bind(INSTANCE.problem(0.05, 0.0)).reward_range is not None


def is_classical(name: str) -> bool:
    return find_algorithm(name).bind(INSTANCE.problem(0.05, 0.0)).setting.classical


def results_for(name: str) -> Callable[[Any], float]:
    return flip if is_bounded(name) else calm if is_classical(name) else result


def instance_for(name: str) -> Instance:
    return COINS if is_bounded(name) else CLASSICAL if is_classical(name) else INSTANCE


def course(study: shortlist.Study) -> Any:
    return study.round


def random_instance(seed: int, K: int, N: int, m: int, sigma: float = 0.5) -> Instance:
    """Unit-norm features and θ."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    return shortlist.instances.from_arrays(features, theta=theta, m=m, sigma=sigma)


# The engine


@pytest.mark.parametrize("name", NAMES, ids=lambda each: find_algorithm(each).name)
class TestContract:
    @pytest.mark.slow
    def test_a_study_makes_the_runs_of_a_comparison(self, name: str) -> None:
        """Pull by pull from outside, or plan by plan in the loop: the same data, the same answer."""
        engine = begin(name).bound.engine
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
                    now.sums[arm] += kth(arm, pulls[arm])
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
        while not study.done and study.evaluations < 400:
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
        engine = study.bound.engine
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
        assert "is part of a plan to tell arms apart, above all" in words
        assert "challenger" in words

    @pytest.mark.slow
    def test_batches_of_any_size_end_in_the_same_answer(self, name: str) -> None:
        answers = []
        for batch in (1, 7, 64):
            study = begin(name)
            study.run(results_for(name), batch=batch, progress=False)
            answers.append(study)
        # In the order asked for, a larger batch only adds what was under way at the stop.
        assert len({frozenset(answer.shortlist.names) for answer in answers}) == 1
        assert "Proven" in answers[1].shortlist.guarantee

    def test_asking_for_many_is_asking_again_and_again(self, name: str) -> None:
        one, other = begin(name, sigma=3.0), begin(name, sigma=3.0)
        for study in (one, other):
            for _ in range(3 * len(study.bound.engine.setup.initial)):
                trial = study.ask()
                study.tell(trial, results_for(name)(trial))
        together = [trial.arm for trial in one.ask(60)]
        assert [other.ask().arm for _ in range(60)] == together
        assert len(set(together)) > 1

    def test_a_plan_that_is_under_way_is_not_asked_for_twice(self, name: str) -> None:
        study = begin(name)
        for _ in range(len(study.bound.engine.setup.initial)):
            trial = study.ask()
            study.tell(trial, results_for(name)(trial))
        plan = course(study).strategy.plan
        asked = [trial.arm for trial in study.ask(int(plan.sum()))]
        assert np.bincount(asked, minlength=len(X)).tolist() == plan.tolist()

    def test_results_beyond_the_plan_do_not_count(self, name: str) -> None:
        plain, flooded = begin(name, sigma=3.0), begin(name, sigma=3.0)
        for study in (plain, flooded):
            first = len(study.bound.engine.setup.initial)
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
            if (course(flooded).pulls == plan)[arm] and flooded.evaluations < plain.evaluations:
                flooded.tell(arm=arm, value=1.0 if is_bounded(name) else 1e6)
        assert flooded.evaluations > plain.evaluations
        least = plain.posterior.means[arm] if is_bounded(name) else 10.0
        assert flooded.posterior.means[arm] > least
        assert flooded.statistic == pytest.approx(plain.statistic, rel=1e-9)
        assert course(flooded).strategy.plan.tolist() == course(plain).strategy.plan.tolist()

    def test_results_that_nobody_asked_for_count_in_a_plan_that_wants_them(self, name: str) -> None:
        study = begin(name)
        for arm in study.bound.engine.setup.initial.tolist():
            assert study.statistic is None
            study.tell(arm=arm, value=float(CHANCES[arm]))
        assert study.statistic is not None

    def test_a_copy_goes_its_own_way(self, name: str) -> None:
        study = begin(name)
        for _ in range(len(study.bound.engine.setup.initial) + 1):
            trial = study.ask()
            study.tell(trial, results_for(name)(trial))
        now = course(study)
        twin, filled = now.copy(), now.pulls.copy()
        before = {key: np.copy(value) for key, value in vars(now.strategy).items()
                  if isinstance(value, np.ndarray)}  # fmt: skip
        for _ in range(3):
            twin.sums = twin.strategy.plan * CHANCES
            twin.decide(1)
        for key, value in before.items():
            np.testing.assert_array_equal(getattr(now.strategy, key), value)
        assert now.pulls.tolist() == filled.tolist()
        assert filled.any() or now.strategy.plan.sum() == 1  # such a plan is never half full
        assert twin.strategy.statistic != now.strategy.statistic

    @pytest.mark.slow
    def test_a_stored_study_is_replayed_bit_for_bit(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "study.db"
        study = begin(name, storage=path, epsilon=0.3)
        study.run(results_for(name), progress=False, max_evaluations=40)
        loaded = shortlist.Study.load(path)
        here, there = course(study), course(loaded)
        assert loaded.statistic == study.statistic
        assert there.strategy.plan.tolist() == here.strategy.plan.tolist()
        assert there.sums.tolist() == here.sums.tolist()
        memory = begin(name, epsilon=0.3)
        memory.run(results_for(name), progress=False, max_evaluations=40)
        assert not memory.done
        assert [t.arm for t in loaded.ask(20)] == [t.arm for t in memory.ask(20)]
        for trial in loaded.pending:
            loaded.tell(trial, results_for(name)(trial))
        loaded.run(results_for(name), progress=False)
        again = shortlist.Study.load(path)
        assert again.done
        assert again.shortlist.names == loaded.shortlist.names
        assert again.shortlist.evaluations == loaded.shortlist.evaluations

    @pytest.mark.slow
    def test_a_reopened_study_stops_after_a_result(self, name: str) -> None:
        study = begin(name)
        study.run(results_for(name), progress=False)
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
        study.run(measure, progress=False)
        names, evaluations = study.shortlist.names, study.evaluations
        low, high = (0.0, 1.0) if is_bounded(name) else (-9.0, 9.0)
        for arm in range(len(X)):
            study.tell(arm=arm, value=low if study.problem.names[arm] in names else high)
        study.tell_many([])
        assert (study.shortlist.names, study.shortlist.evaluations) == (names, evaluations)
        again = shortlist.Study.load(tmp_path / "study.db")
        assert (again.shortlist.names, again.shortlist.evaluations) == (names, evaluations)
        study.reopen()
        trial = study.ask()
        study.tell(trial, measure(trial))
        loaded = shortlist.Study.load(tmp_path / "study.db")
        assert loaded.done == study.done
        assert loaded.shortlist.evaluations == study.shortlist.evaluations > evaluations + len(X)

    @pytest.mark.slow
    def test_pictures_history_and_words(self, name: str) -> None:
        study = begin(name)
        study.run(results_for(name), progress=False, max_evaluations=30)
        assert study.remaining().low >= 1
        assert study.remaining(quick=True).low >= 1
        study.run(results_for(name), progress=False)
        past = study.history()
        assert len(past.frame) == study.evaluations
        assert past.frame["statistic"].iloc[-1] == study.statistic <= 0.0
        assert past.last is not None
        row = past.last.table.iloc[past.last.c]
        assert row["gap_upper"] == study.statistic
        assert (past.last.table["gap_lower"] <= past.last.table["gap"]).all()
        for draw in (plot.intervals, plot.shrinking, plot.stopping, plot.pulls):
            figure = draw(study)
            assert figure.axes
            pyplot.close(figure)
        assert find_algorithm(name).name in methods(Reading(study))
        assert study.shortlist.guarantee.startswith("Proven")

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
        with pytest.raises(errors.InvalidSetting, match=r"takes no other: leave threshold=None"):
            shortlist.compare(
                name, instance_for(name), runs=1, threshold="frequentist", progress=False
            )


@pytest.mark.slow
def test_runs_are_the_same_wherever_they_are_made() -> None:
    def frames(executor: Any = None) -> list[Any]:
        settings: dict[str, Any] = {"runs": 12, "seed": 3, "progress": False, "executor": executor}
        return [shortlist.compare(name, instance_for(name), **settings).frame for name in NAMES]

    here = frames()
    with ThreadPoolExecutor(2) as pool:
        assert all(map(type(here[0]).equals, frames(pool), here))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert all(map(type(here[0]).equals, frames(pool), here))
    assert all(frame["samples"].nunique() > 1 for frame in here)


class Lazy(Strategy):
    """Pulls everybody once and believes it."""

    def __init__(self, task: Task) -> None:
        self.plan = np.ones(len(task.features), np.int64)
        self.inside = np.arange(len(task.features)) < task.m
        self.b, self.c, self.threshold, self.statistic = 0, task.m, np.inf, np.inf
        self.task = task

    def decide(self, sums: np.ndarray, seed: int) -> None:
        self.inside = np.argsort(np.argsort(-sums)) < self.task.m
        self.b, self.c = np.flatnonzero(self.inside)[0], np.flatnonzero(~self.inside)[0]
        self.threshold, self.statistic = 1.0, -1.0

    def differences(self, j: int) -> Any:
        return (np.zeros(len(self.plan)),) * 3

    def threshold_at(self, time: float) -> float:
        return 1.0


def test_a_strategy_of_ones_own_says_what_it_is_worth(tmp_path: Path) -> None:
    own: dict[str, Any] = {"strategy": Lazy, "threshold": CONTRAST_MIXTURE}
    lazy = Planned(name="Lazy", unproven=("one pull proves nothing",), **own)
    study = begin("", algorithm=lazy, storage=tmp_path / "study.db")
    study.run(result, progress=False)
    assert study.evaluations == len(X)
    assert study.shortlist.guarantee.startswith(
        "Heuristic: no proof covers this answer, because on"
    )
    with pytest.raises(errors.InvalidSetting, match="pass the same algorithm="):
        shortlist.Study.load(tmp_path / "study.db")
    again = shortlist.Study.load(tmp_path / "study.db", algorithm=lazy)
    assert again.shortlist.names == study.shortlist.names
    extended = Planned(name="Lazy", extends="it is proven for two arms", **own)
    words = extended.bind(INSTANCE.problem(0.05, 0.0)).guarantee()
    assert words.startswith("Extension without a theorem: it is proven for two arms. Meant is: no")
    assert not extended.bind(INSTANCE.problem(0.05, 0.0)).proven
    with pytest.raises(errors.InvalidSetting, match="defined for m = 1, got m = 2"):
        Planned(name="One", only_m=1, **own).bind(INSTANCE.problem(0.05, 0.0))


# The bound


def test_the_level_of_a_one_sided_mixture_is_that_of_its_integral() -> None:
    for risk in (1e-6, 1e-3, 0.05, 0.3, 0.7):
        for ratio in (0.01, 1.0, 30.0, 1e4):
            C = float(mixture(one_sided_level(risk), ratio * SHARE))
            # In units with σ²ρ = 1: Q = ratio, M = C√Q, λ half-normal of variance 1.
            Q, M = ratio, C * np.sqrt(ratio)
            width = 1.0 / np.sqrt(1.0 + Q)
            peak = M / (1.0 + Q)
            value, _ = quad(
                lambda x, M=M, Q=Q: 2.0 * norm.pdf(x) * np.exp(x * M - x * x * Q / 2.0),
                max(0.0, peak - 30.0 * width),
                peak + 30.0 * width,
                points=[max(0.0, peak)],
                limit=200,
            )
            assert 1.0 / risk <= value * (1.0 + 1e-9)
            assert value <= 2.0 / risk
            if risk < 0.1:  # then next to nothing is given away
                assert value <= 1.07 / risk


def test_combined_estimates_of_equal_designs_are_those_of_all_data() -> None:
    rng = np.random.default_rng(0)
    task = Task(X, 2, 0.6, 0.05, 0.0)
    pulls, contrasts = np.array([3, 2, 1, 4, 2]), Contrasts.of(task)
    for _ in range(4):
        contrasts = contrasts.after(pulls, rng.standard_normal(5))
    white = whitened(X, contrasts.pulls)
    means, variances = fitted(white, contrasts.sums), spreads(white)
    for j in range(5):
        np.testing.assert_allclose(contrasts.differences(j)[0], means - means[j], atol=1e-12)
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(1.0 / contrasts.information[off], variances[off])


def test_norms_are_those_of_the_inverse() -> None:
    pulls = np.array([3, 2, 0, 4, 2])
    inverse = np.linalg.inv((X.T * pulls) @ X)
    variances = spreads(whitened(X, pulls))
    for i in range(5):
        for j in range(5):
            if i != j:
                assert variances[i, j] == pytest.approx((X[i] - X[j]) @ inverse @ (X[i] - X[j]))


def covered(scale: float, runs: int = 400) -> int:
    """In how many runs every bound that must hold did, at all looks, with widths so scaled."""
    rng = np.random.default_rng(7)
    task = Task(X, 2, 0.6, 0.2, 0.0)
    order = np.argsort(-MEANS)
    best, others = order[:2], order[2:]
    gaps = MEANS[best][:, None] - MEANS[others]
    held = 0
    for _ in range(runs):
        contrasts, good = Contrasts.of(task), True
        plan = np.ones(5, np.int64)
        for _ in range(25):
            sums = plan * MEANS + 0.6 * np.sqrt(plan) * rng.standard_normal(5)
            contrasts = contrasts.after(plan, sums)
            pairs = np.ix_(best, others)
            middle = contrasts.weighted[pairs] / contrasts.information[pairs]
            known = contrasts.information[pairs]
            C = mixture(contrasts.level, known / contrasts.first[pairs])
            width = scale * 0.6 * C / np.sqrt(known)
            good &= bool((gaps <= middle + width).all())
            # The next plan looks at all results so far: it chases whoever seems to lead.
            plan = 1 + 3 * contrasts.inside(contrasts.means())
        held += good
    return held


@pytest.mark.slow
def test_bounds_hold_at_all_looks_and_half_of_them_do_not() -> None:
    assert binom.cdf(covered(1.0), 400, 0.8) > 0.01
    assert binom.cdf(covered(0.5), 400, 0.8) < 1e-6


def test_arms_are_settled_as_counting_says() -> None:
    task = Task(np.eye(4), 2, 1.0, 0.05, 0.0)
    pulls = np.full(4, 1000, np.int64)
    clear = Contrasts.of(task).after(pulls, pulls * [4.0, 3.0, 2.0, 1.0])
    assert clear.accepted.tolist() == [True, True, False, False]
    assert clear.rejected.tolist() == [False, False, True, True]
    assert clear.boundary(clear.inside(clear.means()))[2] <= 0.0
    open_ended = Contrasts.of(task).after(pulls, pulls * [4.0, 2.0, 2.0, 1.0])
    assert open_ended.accepted.tolist() == [True, False, False, False]
    assert open_ended.rejected.tolist() == [False, False, False, True]
    b, c, gap = open_ended.boundary(open_ended.inside(open_ended.means()))
    assert {b, c} == {1, 2}
    assert gap > 0.0


def test_uniform_is_uniform() -> None:
    assert isinstance(
        find_algorithm("Uniform").bind(INSTANCE.problem(0.05, 0.0)).engine, StepwiseEngine
    )
    frame = shortlist.compare("Uniform", INSTANCE, runs=20, progress=False).frame
    assert all(len(set(pulls)) == 1 for pulls in frame["pulls"])
    strategy = Uniform(Task(X, 2, 0.6, 0.05, 0.0))
    assert strategy.plan.tolist() == [1] * 5


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


# Designs


@pytest.mark.parametrize("shape", [(6, 3, 2), (20, 5, 4), (40, 12, 5), (30, 30, 3)])
def test_designs_are_as_good_as_those_of_the_interior_point_method(
    shape: tuple[int, int, int],
) -> None:
    K, N, m = shape
    rng = np.random.default_rng(K)
    features = np.linalg.qr(rng.standard_normal((K, N)))[0] if N < K else np.eye(K)
    b, c = (pairs.ravel() for pairs in np.meshgrid(np.arange(m), np.arange(m, K)))
    needs = rng.uniform(0.5, 3.0, len(b))
    weights, pulls = contrast_design(features, b, c, needs)
    directions = (features[b] - features[c]) * np.sqrt(needs)[:, None]

    def value(w: np.ndarray) -> float:
        inverse = np.linalg.inv((features.T * w) @ features)
        return float(np.einsum("pi,ij,pj->p", directions, inverse, directions).max())

    assert weights.sum() == pytest.approx(1.0)
    assert pulls == pytest.approx(value(weights), rel=1e-9)
    best = value(optimal_design(features, directions, 1e-6).arms)
    assert best * (1.0 - 1e-6) <= pulls <= best * (1.0 + TOLERANCE + 0.01)


def test_spread_designs_are_nearly_g_optimal() -> None:
    features = np.random.default_rng(1).standard_normal((40, 6))
    inverse = np.linalg.inv((features.T * spread_design(features)) @ features)
    largest = np.einsum("ai,ij,aj->a", features, inverse, features).max()
    assert 6.0 <= largest <= 6.0 * 1.1  # Kiefer and Wolfowitz: rank at the optimum


def test_counts_span_and_follow_the_weights() -> None:
    rng = np.random.default_rng(2)
    features = rng.standard_normal((20, 6))
    weights = np.zeros(20)
    weights[:3] = 0.5, 0.3, 0.2
    pulls = counts(features, weights, 1000.0)
    assert pulls[:3].tolist() == [500, 300, 200]
    assert np.linalg.matrix_rank(features[pulls > 0]) == 6
    assert np.count_nonzero(pulls) == 6


# Phased elimination


class Recorded(Phased):
    """Remembers its plans."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.plans: list[np.ndarray] = []

    def decide(self, sums: np.ndarray, seed: int) -> None:
        self.plans = [*self.plans, self.plan]
        super().decide(sums, seed)


def test_the_bounds_use_the_norms_that_the_pulls_really_have() -> None:
    instance = random_instance(3, 12, 4, 3)
    engine = StepwiseEngine(Recorded, Task(instance.features, 3, 0.5, 0.05, 0.0))
    now, rng = engine.round(), np.random.default_rng(0)
    while not now.strategy.statistic <= 0.0:
        plan = now.strategy.plan
        now.sums = plan * instance.means + 0.5 * np.sqrt(plan) * rng.standard_normal(12)
        now.decide(0)
    assert len(now.strategy.plans) > 5
    information = np.zeros((12, 12))
    off = ~np.eye(12, dtype=bool)
    for plan in now.strategy.plans:
        inverse = np.linalg.inv((instance.features.T * plan) @ instance.features)
        away = instance.features[:, None] - instance.features
        information[off] += 1.0 / np.einsum("ijk,kl,ijl->ij", away, inverse, away)[off]
    used = now.strategy._contrasts.information
    np.testing.assert_allclose(used[off], information[off], rtol=1e-9)


def test_settled_arms_are_let_go() -> None:
    """Once the far arms are out, the pulls go where the near ones are told apart."""
    means = np.array([1.0, 0.9, 0.0, -0.1, -0.2, -0.3])
    engine = StepwiseEngine(Recorded, Task(np.eye(6), 1, 0.5, 0.05, 0.0))
    now, rng = engine.round(), np.random.default_rng(0)
    while not now.strategy.statistic <= 0.0:
        plan = now.strategy.plan
        now.sums = plan * means + 0.5 * np.sqrt(plan) * rng.standard_normal(6)
        now.decide(0)
    first, last = now.strategy.plans[0], now.strategy.plans[-1]
    assert len(set(first.tolist())) == 1
    assert last[2:].max() <= 0.1 * last[:2].min()
    assert now.strategy._contrasts.rejected[2:].all()
    assert now.strategy._contrasts.accepted[0]


def errors_of(instances: list[Instance], runs: int, delta: float, seed: int = 0) -> int:
    """Errors in so many runs, as many on each instance as on any other, give or take one."""
    return sum(
        int((~shortlist.compare("Phased", each, runs=len(share), delta=delta, seed=seed,
                                progress=False).frame["correct"]).sum())
        for each, share in zip(instances, np.array_split(range(runs), len(instances)), strict=True)
        if len(share)
    )  # fmt: skip


def hard_instances(count: int) -> list[Instance]:
    """Gaps so small that a wrong answer is easily given."""
    found, seed = [], 0
    while len(found) < count:
        seed += 1
        rng = np.random.default_rng(seed)
        K, N = int(rng.integers(3, 8)), int(rng.integers(2, 5))
        instance = random_instance(seed, K, N, int(rng.integers(1, K)))
        ordered = np.sort(instance.means)[::-1]
        if 0.001 < ordered[instance.m - 1] - ordered[instance.m] < 0.01:
            found.append(instance)
    return found


@pytest.mark.slow
def test_errors_stay_below_delta() -> None:
    instances = hard_instances(8)
    shown_below(0.1, lambda runs, seed: errors_of(instances, runs, 0.1, seed), confidence=0.99)


@pytest.mark.slow
def test_widths_cut_in_half_err_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(level: float, growth: Any) -> Any:
        return 0.5 * mixture(level, growth)

    monkeypatch.setattr("shortlist.plans.contrasts.mixture", narrow)
    monkeypatch.setattr("shortlist.plans.phased.mixture", narrow)
    wrong = errors_of(hard_instances(8), runs=8 * 60, delta=0.1)
    assert binom.sf(wrong - 1, 8 * 60, 0.1) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "m", "omega", "most"),
    [(4, 2, np.pi / 6, 1500), (3, 1, 0.1, 1600), (4, 2, np.pi / 3, 112)],
)
def test_few_samples_on_the_classic_instances(K: int, m: int, omega: float, most: float) -> None:
    instance = shortlist.instances.classic(K=K, m=m, omega=omega)
    frame = shortlist.compare("Phased", instance, runs=100, progress=False).frame
    assert frame["stopped"].all()
    assert frame["samples"].mean() <= most
    assert frame["samples"].mean() >= lower_bound(instance, 0.05).samples


@pytest.mark.slow
def test_in_many_dimensions_a_fifth_of_the_samples_will_do() -> None:
    instance = random_instance(0, 60, 50, 5)
    phased = shortlist.compare("Phased", instance, runs=8, progress=False).frame
    assert phased["correct"].all()
    most = 5 * int(phased["samples"].mean())
    other = shortlist.compare(
        "m-LinGapE", instance, runs=2, threshold="frequentist", max_samples=most, progress=False
    ).frame
    assert not other["stopped"].any()


def test_two_arms_are_pulled_alike() -> None:
    instance = shortlist.instances.from_arrays(np.eye(2), means=[0.5, 0.0], m=1, sigma=1.0)
    frame = shortlist.compare("Phased", instance, runs=20, progress=False).frame
    pulls = np.array(frame["pulls"].tolist())
    assert np.abs(pulls[:, 0] - pulls[:, 1]).max() <= 0.1 * pulls.max()


def test_too_many_arms_are_refused() -> None:
    features = np.random.default_rng(0).standard_normal((MOST + 1, 2))
    with pytest.raises(errors.InvalidSetting, match="is beyond 4,000: use m-LinGapE"):
        shortlist.Study(features, 2, sigma=1.0, algorithm="Phased", audit=False)


@pytest.mark.parametrize("name", ["Phased", "Uniform", MisLid(misspecification=0.05)], ids=str)
def test_data_nobody_asked_for_take_places_of_the_plan(name: Any) -> None:
    study = begin(name)
    plan = study.bound.engine.setup.wanted
    extra = 2
    for arm, wanted in enumerate(plan.tolist()):
        for _ in range(wanted + extra if arm == 0 else wanted):
            study.tell(arm=arm, value=float(MEANS[arm]))
    # The first plan is complete, and nothing was asked for. Two results were beyond it.
    assert study.evaluations == plan.sum() + extra
    assert study.stage == "rounds"
    strategy: Any = study.round.strategy
    counted = strategy._pulls if isinstance(name, MisLid) else strategy._contrasts.pulls
    assert counted.tolist() == plan.tolist()
    assumed = dict(conditions(study))["Data nobody asked for"]
    assert "Whether and when they were told did not depend" in assumed
    page = (Path(__file__).parent.parent / "docs" / "algorithms-phased.md").read_text()
    assert "data that nobody asked for, enter the table of means, but no bound" not in page
    assert (
        "data that nobody asked for (`study.tell(arm=…, value=…)`) take places of the plan" in page
    )
