"""Student's statistics with features: F has a mean of at most 1, and what is made of it is right."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.special import roots_genlaguerre
from scipy.stats import binom
from scipy.stats import t as students

import shortlist
from by_plans import run_by_plans
from error_rates import shown_below
from shortlist import errors
from shortlist.noise.estimated import EstimatedPerArm
from shortlist.plans.bets.linear import GRID, SCALE, half_normal
from shortlist.plans.bets.normal import ByLikelihoods, Moments
from shortlist.plans.bets.student import (
    FEWEST,
    KAPPAS,
    LARGEST_BET,
    OF_AN_ARM,
    ByStudents,
    StudentEvidence,
    log_factor,
    log_means,
    shared_variances,
)
from shortlist.plans.evidence import ByEstimates, FittedPlan
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.study.insight.audit import LIMIT
from stored import assert_same

RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(8), RNG.normal(size=(8, 2))])
THETA = np.array([1.0, 0.8, -0.5])
SIGMAS = np.array([0.2, 1.0, 0.5, 0.1, 0.8, 0.3, 0.6, 0.4])
PER_ARM = "estimate per arm"
EACH = np.ones(8, np.int64)


def numerator(statistic: float, kappa: float, degrees: int) -> float:
    size = max(statistic, 0.0)
    return math.exp(kappa * size / math.sqrt(1.0 + size * size / degrees))


# F


@pytest.mark.parametrize("degrees", [1, 2, 4, 9, 33, 100])
def test_the_mean_of_the_numerator_is_that_of_students_distribution(degrees: int) -> None:
    for place in (0, 30, 120, 250):
        kappa = float(KAPPAS[place])
        above, _ = integrate.quad(
            lambda t, k=kappa: numerator(t, k, degrees) * students.pdf(t, degrees), 0.0, np.inf
        )
        assert math.exp(log_means(degrees)[place]) == pytest.approx(0.5 + above, rel=1e-7)


@pytest.mark.parametrize("degrees", [1, 4, 100])
def test_between_its_points_ln_m_is_not_too_small(degrees: int) -> None:
    table = log_means(degrees)
    assert np.isfinite(table).all()
    assert (np.diff(table, 2) > -1e-12).all()  # convex
    half = 0.5 * (KAPPAS[1:60] + KAPPAS[:59])
    exact = [
        math.log(
            0.5
            + integrate.quad(
                lambda t, k=k: numerator(t, k, degrees) * students.pdf(t, degrees), 0.0, np.inf
            )[0]
        )
        for k in half
    ]
    between = np.interp(half, KAPPAS, table)
    assert (between >= np.array(exact) - 1e-9).all()
    np.testing.assert_allclose(between, exact, atol=1e-4)


def mean_of_factor(kappa: float, share: float, degrees: tuple[int, int], least: int) -> float:
    """The mean of F if s² is this share of one χ²/ν and the rest of another, by quadrature."""
    (one, weight_one), (other, weight_other) = (roots_genlaguerre(40, n / 2 - 1) for n in degrees)
    z, weight_z = np.polynomial.hermite_e.hermegauss(80)
    s2 = share * one[:, None] * 2 / degrees[0] + (1.0 - share) * other * 2 / degrees[1]
    statistics = z / np.sqrt(s2)[..., None]
    f = np.exp(log_factor(statistics, np.array(kappa), least))
    weights = weight_one[:, None] / weight_one.sum() * weight_other / weight_other.sum()
    return float(((f @ weight_z) / weight_z.sum() * weights).sum())


@pytest.mark.parametrize("degrees", [(4, 4), (9, 9), (9, 40), (4, 60), (30, 12)])
def test_the_mean_of_f_is_at_most_one_however_the_noise_is_shared(degrees: tuple[int, int]) -> None:
    least = min(degrees)
    for kappa in (0.5, 1.5, 3.0):
        found = [mean_of_factor(kappa, s, degrees, least) for s in np.linspace(0.0, 1.0, 11)]
        assert max(found) < 1.0 + 2e-3  # of the quadrature: z > 0 has a bend at 0
        # With the degrees of both added up it would be more than 1.
        broken = [mean_of_factor(kappa, s, degrees, sum(degrees)) for s in (0.0, 1.0)]
        if kappa > 1.0:
            assert max(broken) > 1.01


def test_f_of_extreme_statistics_and_bets() -> None:
    statistics = np.array([-1e300, 0.0, 1e-300, 1e8, 1e200, 1e308])
    for bet in (0.0, 1e-9, 2.0, LARGEST_BET, 1e6):
        found = log_factor(statistics, np.full(6, bet), 9)
        assert np.isfinite(found).all()
        assert (np.diff(found) >= 0.0).all()
        capped = min(bet, LARGEST_BET)
        assert found[-1] == pytest.approx(
            3.0 * capped - np.interp(capped, KAPPAS, log_means(9)), abs=1e-6
        )


# What plans say


def plan_of(pulls: np.ndarray, rng: np.random.Generator, means: np.ndarray) -> PlanResults:
    arms = rng.permutation(np.repeat(np.arange(8), pulls))
    return PlanResults.of(8, arms, means[arms] + SIGMAS[arms] * rng.standard_normal(len(arms)))


def problem(delta: float = 0.05, epsilon: float = 0.0, **others: Any) -> ReducedProblem:
    return ReducedProblem(X, 2, 0.7, delta, epsilon, **others)


def taken(verifier: ByStudents, results: PlanResults) -> tuple[FittedPlan, ByStudents]:
    told = FittedPlan(results, verifier.means.fit(results), None)
    return told, verifier.after(told)


def parts(results: PlanResults, noise: np.ndarray) -> dict[str, np.ndarray]:
    """What least squares on a plan needs, from its single results."""
    arms, _, values = results.singles
    support = np.unique(arms)
    n = np.array([(arms == a).sum() for a in support])
    means = np.array([values[arms == a].mean() for a in support])
    variances = np.array([values[arms == a].var(ddof=1) for a in support])
    x = X[support]
    inverse = np.linalg.inv(x.T @ (x * (n / noise[support])[:, None]))
    per_result = inverse @ (x / noise[support][:, None]).T  # columns: arms
    return {"n": n, "means": means, "variances": variances, "weights": per_result, "arms": support}


def by_hand(
    plans: list[tuple[PlanResults, np.ndarray]], contrast: np.ndarray, size: float, epsilon: float
) -> float:
    """Ln E from the single results, for bets on a gap of this size."""
    logs = half_normal()
    for results, noise in plans:
        p = parts(results, noise)
        k = contrast @ p["weights"]
        estimate = float((k * p["n"]) @ p["means"])
        error = math.sqrt(float((k**2 * p["n"]) @ p["variances"]))
        expected = 0.7 * math.sqrt(float((k**2 * p["n"]) @ noise[p["arms"]]))
        degrees = int(p["n"].min()) - 1
        bets = np.minimum(SCALE * size * GRID / expected, LARGEST_BET)
        t = (estimate + epsilon) / error
        above = bets * max(t, 0.0) / math.sqrt(1.0 + max(t, 0.0) ** 2 / degrees)
        logs = logs + above - np.interp(bets, KAPPAS, log_means(degrees))
    return float(np.logaddexp.reduce(logs)) - 1e-6


def history(seed: int, delta: float = 0.05, epsilon: float = 0.1) -> Any:
    """Evidence named after a first plan of five results each, and the plans since."""
    rng, verifier = np.random.default_rng(seed), ByStudents.linear(problem(delta, epsilon))
    told, verifier = taken(verifier, plan_of(5 * EACH, rng, X @ THETA))
    rows, inside = np.array([1, 4]), np.isin(np.arange(8), [1, 4])
    evidence, plans = verifier.evidence(rows, told.fit, inside, delta, delta), []
    for pulls in (
        [10, 12, 0, 0, 30, 0, 0, 11],
        [0, 10, 10, 14, 0, 0, 10, 0],
        [40, 0, 0, 10, 10, 0, 0, 0],
    ):
        results = plan_of(np.array(pulls), rng, X @ THETA)
        plans.append((results, verifier.means.noise))
        told, verifier = taken(verifier, results)
        evidence = evidence.after(told, problem(delta, epsilon))
    return evidence, plans, verifier


@pytest.mark.parametrize("seed", range(4))
def test_evidence_is_as_computed_from_single_results(seed: int) -> None:
    evidence, plans, _ = history(seed)
    for row, b in enumerate((1, 4)):
        for c in (0, 2, 3, 5, 6, 7):
            largest = -math.inf
            for count in range(1, 4):
                size = evidence.sizes[row, c]
                now = by_hand(plans[:count], X[b] - X[c], size, 0.1)
                largest = max(largest, now)
            assert evidence.largest[row, c] == pytest.approx(largest, abs=1e-8)
        assert evidence.largest[row, b] < 0.0  # an arm and itself are no pair


@pytest.mark.parametrize("level", [1.0, 3.0, 6.0])
def test_another_slack_is_as_if_it_had_been_stated(level: float) -> None:
    evidence, _, _ = history(1)
    rows, arms = np.array([0, 0, 1]), np.array([2, 6, 3])
    least = evidence.least_slack((rows, arms), level, problem())
    found = np.isfinite(least)
    assert found.any()
    for row, arm, slack in zip(rows[found], arms[found], least[found], strict=True):
        at = evidence.with_slack(float(slack), problem())
        assert at.largest[row, arm] >= level - 1e-12
        below = evidence.with_slack(float(slack) - 1e-6, problem())
        now = replace(below, largest=np.full_like(below.largest, -np.inf))
        assert now.with_slack(float(slack) - 1e-6, problem()).largest[row, arm] < level
    wider = evidence.with_slack(0.3, problem())
    fresh, _, _ = history(1, epsilon=0.3)
    # The sizes of the bets were fixed with the ε of the naming.
    same = replace(fresh, sizes=evidence.sizes, largest=np.full_like(fresh.largest, -np.inf))
    np.testing.assert_allclose(wider.wealths, same.with_slack(0.3, problem()).wealths)
    assert (wider.largest >= evidence.largest).all()
    gaps, lower, upper, _ = evidence.bounds(rows, arms, level, problem())
    np.testing.assert_allclose(lower[found], -least[found])
    assert np.isinf(upper).all()
    assert np.isfinite(gaps).all()


def test_rows_and_places_change_nothing_for_pairs_that_are_left() -> None:
    evidence, _, _ = history(2)
    more = evidence.with_rows(np.array([6]))
    assert (more.largest[2] == -np.inf).all()
    assert (more.information[2] == 0.0).all()
    places = np.array([0, 1, 3, 4, 5, 7, -1])  # 2 and 6 are gone, one is new
    left = more.placed(places, problem())
    assert left.rows.tolist() == [1, 3]
    np.testing.assert_array_equal(left.largest[0, :6], evidence.largest[0, places[:6]])
    assert (left.largest[:, 6] == -np.inf).all()
    wider = left.with_slack(0.5, problem()).largest[:, :6]
    np.testing.assert_allclose(wider, evidence.with_slack(0.5, problem()).largest[:, places[:6]])
    assert np.isinf(left.least_slack((np.array([0]), np.array([6])), 1.0, problem())).all()


def test_the_first_plan_is_not_weighed_by_its_own_results() -> None:
    """The unit and the variances of a problem come from them."""
    seen = np.array([0.1, 3.0, 1.0, 0.5, 2.0, 1.0, 1.0, 1.0])
    verifier = ByStudents.linear(problem(noise=seen))
    assert (verifier.means.noise == 1.0).all()
    _, after = taken(verifier, plan_of(5 * EACH, np.random.default_rng(0), X @ THETA))
    assert len(np.unique(after.means.noise)) == 8
    assert after.departures.largest == -math.inf  # nor does it test with what it shows


def test_variances_follow_results_and_lean_on_each_other() -> None:
    pulls = np.array([0.0, 1.0, 5.0, 1000.0])
    found = shared_variances(Moments(pulls, np.zeros(4), np.array([0.0, 0.0, 4.0, 9990.0])))
    usual = math.sqrt(1.0 * 10.0)
    np.testing.assert_allclose(found[:2], usual)
    assert 1.0 < found[2] < usual
    assert found[3] == pytest.approx(10.0, rel=0.01)
    with_a_blank = shared_variances(Moments(np.full(2, 5.0), np.zeros(2), np.array([0.0, 4.0])))
    assert with_a_blank.min() > 1e-8
    assert shared_variances(Moments.none(3)).tolist() == [1.0, 1.0, 1.0]


def test_plans_have_results_enough_to_see_the_noise_and_arms_that_seem_to_depart() -> None:
    rng, means = np.random.default_rng(0), X @ THETA
    means[5] += 2.0
    _, verifier = taken(ByStudents.linear(problem()), plan_of(5 * EACH, rng, means))
    plan = verifier.means.plan(np.where(np.arange(8) < 3, 1.0 / 3.0, 0.0), 4.0, rng)
    assert plan[plan > 0].min() == FEWEST
    assert plan[5] == FEWEST
    assert (plan > 0).sum() <= 5


def test_where_every_arm_is_a_direction_of_its_own_likelihoods_test() -> None:
    assert isinstance(ByStudents.own(ReducedProblem(np.eye(3), 1, 1.0, 0.1, 0.0)), ByLikelihoods)


# Arms by themselves, and departures from linear means


def test_an_arms_interval_is_what_the_printed_bets_do_not_refute() -> None:
    rng, verifier, plans = np.random.default_rng(5), ByStudents.linear(problem()), []
    for pulls in (
        5 * EACH,
        np.array([10, 12, 0, 0, 30, 0, 0, 11]),
        np.array([0, 10, 10, 14, 0, 0, 10, 0]),
    ):
        results = plan_of(pulls, rng, X @ THETA)
        plans.append((results, verifier.means.noise))
        _, verifier = taken(verifier, results)
        low, high = verifier.intervals()
        for a in range(8):
            for end, sign in ((low[a], 1.0), (high[a], -1.0)):
                ends = [
                    arm_by_hand(plans, a, end + off, sign) for off in (-1e-5 * sign, 1e-5 * sign)
                ]
                assert ends[0] >= math.log(2.0 * len(OF_AN_ARM) / 0.05) > ends[1]


def arm_by_hand(
    plans: list[tuple[PlanResults, np.ndarray]], a: int, x: float, sign: float
) -> float:
    """Ln of the sum over bets against a mean of x, from below or from above."""
    logs, unit = np.zeros(len(OF_AN_ARM)), math.nan
    for results, noise in plans:
        p = parts(results, noise)
        k = X[a] @ p["weights"]
        error = math.sqrt(float((k**2 * p["n"]) @ p["variances"]))
        expected = 0.7 * math.sqrt(float((k**2 * p["n"]) @ noise[p["arms"]]))
        if math.isnan(unit):
            unit = expected = error
        degrees = int(p["n"].min()) - 1
        t = sign * (float((k * p["n"]) @ p["means"]) - x) / error
        bets = np.minimum(unit * OF_AN_ARM / expected, LARGEST_BET)
        logs = logs + log_factor(np.full(len(bets), t), bets, degrees)
    return float(np.logaddexp.reduce(logs)) - 1e-6


def test_an_arms_interval_holds_at_all_times() -> None:
    def missed(runs: int, seed: int) -> int:
        count = 0
        for run in range(runs):
            rng = np.random.default_rng([seed, run])
            verifier = ByStudents.linear(problem(delta=0.4))
            _, verifier = taken(verifier, plan_of(5 * EACH, rng, X @ THETA))
            for _ in range(6):
                low, high = verifier.intervals()
                if not low[0] <= (X @ THETA)[0] <= high[0]:
                    count += 1
                    break
                # The arm that seems largest is taken again, which must not matter.
                weights = np.where(low == low.max(), 0.5, 0.1)
                pulls = verifier.means.plan(weights / weights.sum(), 80.0, rng)
                _, verifier = taken(verifier, plan_of(pulls, rng, X @ THETA))
        return count

    shown_below(0.4, missed)


def test_departures_are_found_and_linear_means_are_not_called_curved() -> None:
    curved, linear = X @ THETA + 0.8 * (X[:, 1] ** 2), X @ THETA
    found = 0
    for seed in range(40):
        for means in (curved, linear):
            rng, verifier = np.random.default_rng(seed), ByStudents.linear(problem())
            for pulls in (5 * EACH, 10 * EACH, 10 * EACH, 10 * EACH):
                _, verifier = taken(verifier, plan_of(pulls, rng, means))
            if means is curved:
                found += verifier.against_linear > LIMIT
            else:
                assert verifier.against_linear < LIMIT
    assert found > 35


def test_evidence_against_linear_means_is_as_computed_from_single_results() -> None:
    rng, verifier = np.random.default_rng(8), ByStudents.linear(problem())
    first = plan_of(5 * EACH, rng, X @ THETA + 0.3 * X[:, 1] ** 2)
    _, verifier = taken(verifier, first)
    logs, largest, before = half_normal() + math.log(0.75), -math.inf, [first]
    for pulls in ([10, 12, 10, 0, 30, 0, 0, 11], [0, 10, 10, 14, 0, 13, 10, 0]):
        results, noise = plan_of(np.array(pulls), rng, X @ THETA), verifier.means.noise
        arms, values = (
            np.concatenate([getattr(each, k) for each in before]) for k in ("arms", "values")
        )
        averages = np.array([values[arms == a].mean() for a in range(8)])
        weights = np.bincount(arms, minlength=8) / noise
        theta = np.linalg.solve(X.T @ (X * weights[:, None]), X.T @ (weights * averages))
        p = parts(results, noise)
        s, n, misses = p["arms"], p["n"], (averages - X @ theta)[p["arms"]]
        precision = n / noise[s]
        fit = np.linalg.solve(X[s].T @ (X[s] * precision[:, None]), X[s].T @ (precision * misses))
        k = (misses - X[s] @ fit) / noise[s]
        np.testing.assert_allclose((k * n) @ X[s], 0.0, atol=1e-9)
        error = math.sqrt(float((k**2 * n) @ p["variances"]))
        expected = 0.7 * math.sqrt(float((k**2 * n) @ noise[s]))
        bets = SCALE * GRID * float((k * n) @ misses) / expected
        t = float((k * n) @ p["means"]) / error
        logs = logs + log_factor(np.full(len(bets), t), bets, int(n.min()) - 1)
        largest = max(largest, float(np.logaddexp.reduce(logs)) - 1e-6)
        _, verifier = taken(verifier, results)
        before.append(results)
        assert verifier.against_linear == pytest.approx(largest, abs=1e-8)


def test_a_plan_with_a_single_result_of_an_arm_proves_nothing() -> None:
    evidence, _, verifier = history(0)
    told, after = taken(verifier, plan_of(np.array([10, 1, 0, 10, 0, 0, 10, 0]), RNG, X @ THETA))
    assert evidence.after(told, problem()) is evidence
    assert after.departures is verifier.departures
    np.testing.assert_array_equal(after.intervals(), verifier.intervals())


# In a study


def begin(**given: Any) -> shortlist.Study:
    settings: dict[str, Any] = {"m": 2, "sigma": PER_ARM, "seed": 0, "arms": list("abcdefgh")}
    return shortlist.Study(X[:, 1:], **{**settings, **given})


def value(trial: Any, bend: float = 0.0) -> float:
    noise = np.random.default_rng(trial.seed).standard_normal()
    return float((X @ THETA + bend * X[:, 1] ** 2)[trial.arm] + SIGMAS[trial.arm] * noise)


BEST = {"abcdefgh"[a] for a in np.argsort(-(X @ THETA))[:2]}


def test_a_study_begins_with_five_results_of_each_arm_and_bounds_no_sigma() -> None:
    study = begin()
    assert study.procedure.engine.setup.wanted.tolist() == [5] * 8
    assert set(study.run(value, progress=False).names) == BEST
    guarantee = study.shortlist.guarantee
    assert guarantee.badge == "Proven if normal and linear"
    assert "no σ is used, threshold 'named_students'" in guarantee.text
    assert "was tested by the results of later plans, whatever the σ of each arm" in guarantee.text
    assert not [trial for trial in study.trials if trial.cause.origin == "audit"]
    assert study.procedure.setting.delta == study.problem.delta  # nothing is paid for a bound
    table = study.table()
    assert ((table["lower"] <= X @ THETA) & (table["upper"] >= X @ THETA)).all()
    assert not [each for each in study.health() if each.level == "warning"]
    assert shortlist.report.html(study)


def test_means_that_are_not_linear_are_noticed() -> None:
    study = begin()
    study.run(lambda trial: value(trial, bend=1.5), max_evaluations=400, progress=False)
    guarantee = study.shortlist.guarantee
    assert guarantee.badge.startswith(("In doubt", "Not certified: linearity rejected"))
    assert "study.verify()" in guarantee.text + " ".join(str(each) for each in study.health())
    study.verify()
    answer = study.run(lambda trial: value(trial, bend=1.5), progress=False)
    assert answer.guarantee.badge == "Proven if normal"
    assert "no σ is used" in answer.guarantee.text


def test_an_audit_that_is_not_wanted_leaves_linearity_untested() -> None:
    study = begin(audit=False)
    study.run(value, progress=False)
    assert "not tested (audit=False)" in study.shortlist.guarantee.text


@pytest.mark.parametrize("at", [20, 45, 60])
def test_stored_replayed_and_continued(tmp_path: Path, at: int) -> None:
    place = tmp_path / "study.db"
    study = begin(storage=place)
    study.run(value, max_evaluations=at, progress=False)
    loaded = shortlist.Study.load(place)
    assert_same(loaded, study)
    loaded.run(value, progress=False)
    whole = begin()
    whole.run(value, progress=False)
    assert [trial.arm for trial in loaded.trials] == [trial.arm for trial in whole.trials]
    assert loaded.shortlist.guarantee.text == whole.shortlist.guarantee.text
    later = study.continued(delta=0.1, storage=tmp_path / "other.db")
    assert isinstance(later.problem.noise.as_stated, EstimatedPerArm)
    assert set(later.run(value, progress=False).names) == BEST


def test_arms_can_be_retired() -> None:
    study = begin()
    study.run(value, max_evaluations=55, progress=False)
    worst = "abcdefgh"[int(np.argmin(X @ THETA))]
    study.retire(worst, reason="out of stock", whatever_the_results=True)
    assert set(study.run(value, progress=False).names) == BEST
    with pytest.raises(errors.InvalidInput, match="new arms have none"):
        begin().add(X[:1, 1:], arms=["new"])


def blank(trial: Any) -> float:
    return 0.0 if trial.arm == 3 else value(trial)


@pytest.mark.parametrize("decimals", [1, 9])
def test_an_arm_whose_first_results_are_all_zero_stops_nothing(decimals: int) -> None:
    study = begin()
    study.run(lambda trial: round(blank(trial), decimals), max_evaluations=120, progress=False)
    assert study.evaluations > 60
    assert not study.done or study.shortlist.guarantee.status != "proven"


@pytest.mark.parametrize("whatever", [True, False])
def test_nothing_rests_on_linear_means_where_the_arms_left_are_independent(whatever: bool) -> None:
    rows = np.random.default_rng(1).normal(size=(5, 3))
    means = np.column_stack([np.ones(5), rows]) @ [0.5, 1.0, -1.0, 0.4]
    means[4] += 3.0  # far from linear, which the features of five arms can show
    noise = np.random.default_rng(2)

    def measured(trial: Any) -> float:
        return float(means[trial.arm] + 0.3 * noise.normal())

    for sigma in (PER_ARM, 0.3):
        study = shortlist.Study(
            rows, m=1, sigma=sigma, seed=0, algorithm="Guess-and-verify", audit=False
        )
        first = int(study.procedure.engine.setup.wanted.sum())
        study.run(measured, max_evaluations=first + 2, progress=False)
        if study.done:
            study.reopen()
        study.retire(4, reason="gone", whatever_the_results=whatever)
        study.run(measured, progress=False)
        assert study.shortlist.arms == [int(np.argmax(means[:4]))]
        normal = " if normal" if sigma == PER_ARM else ""
        assert study.shortlist.guarantee.badge == f"Proven{normal}"


def test_what_a_plan_said_that_was_dropped_for_its_results_counts_no_more() -> None:
    _, _, verifier = history(3)
    guiding = verifier.guiding()
    assert np.isinf(guiding.intervals()).all()
    assert guiding.departures.begun == 2
    assert guiding.against_linear == verifier.against_linear
    assert float(np.exp(guiding.departures.wealths).sum()) == pytest.approx(3.0 / 16.0)
    told, by = FittedPlan(plan_of(EACH, RNG, X @ THETA), None, None), ByEstimates.linear(problem())
    told = told._replace(fit=by.means.fit(told.results))
    assert np.isinf(by.after(told).guiding().intervals()).all()


def test_smallest_means_costs_and_a_slack() -> None:
    study = begin(direction="minimize", costs=[1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0], epsilon=0.1)
    study.run(lambda trial: -value(trial), progress=False)
    assert set(study.shortlist.names) == BEST


def test_equal_results_are_no_normal_noise() -> None:
    study = begin()
    study.run(lambda trial: float((X @ THETA)[trial.arm]), max_evaluations=200, progress=False)
    assert not study.done or study.shortlist.guarantee.status == "heuristic"
    coins = begin()
    with pytest.raises(errors.InvalidInput, match="all replicates are 0 or 1"):
        coins.run(lambda trial: float(trial.seed % 2), max_evaluations=60, progress=False)


def tied() -> tuple[np.ndarray, np.ndarray]:
    """Features and means of which the second and the third are nearly the same."""
    features, order = X[:, 1:].copy(), np.argsort(-(X @ THETA))
    features[order[2]] = features[order[1]] + [0.5 - 1e-4, 0.8]  # not a copy of the other
    return features, np.column_stack([np.ones(8), features]) @ THETA


def test_a_tie_is_widened_to_what_is_certified_already() -> None:
    features, means = tied()
    study = shortlist.Study(features, m=2, sigma=PER_ARM, seed=0)
    noise = np.random.default_rng(0)
    with pytest.warns(errors.LikelyTie):
        run_by_plans(
            study, lambda trial: means[trial.arm] + SIGMAS[trial.arm] * noise.normal(), 1500
        )
    assert not study.done
    certain = study.shortlist.certain
    assert certain is not None
    study.widen(epsilon=certain.epsilon)
    assert study.done
    assert certain.epsilon < 0.5 * np.ptp(means)


@pytest.mark.filterwarnings("ignore:delta is the risk")
def test_errors_near_a_tie() -> None:
    features, means = tied()
    instance = shortlist.instances.from_arrays(features, means=means, m=2, sigma=SIGMAS)

    for delta in (0.3, 0.8):
        settings = {"delta": delta, "max_samples": 600, "seed": 1, "workers": 1}
        frame = shortlist.compare(
            "Guess-and-verify", instance, runs=30, sigma=PER_ARM, progress=False, **settings
        ).frame
        wrong = int((frame["stopped"] & ~frame["correct"]).sum())
        assert binom.sf(wrong - 1, 30, delta) > 1e-3
        assert delta < 0.5 or frame["stopped"].any()


def test_evidence_is_of_the_kind_that_is_named() -> None:
    _, verifier = taken(ByStudents.linear(problem()), plan_of(5 * EACH, RNG, X @ THETA))
    told, _ = taken(verifier, plan_of(10 * EACH, RNG, X @ THETA))
    named = verifier.evidence(np.array([0]), told.fit, np.arange(8) < 1, 0.05, 0.05)
    assert isinstance(named, StudentEvidence)
