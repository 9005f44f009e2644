"""The two tests of whether means are linear in the features."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from audited import BELL, FEATURES, LINE, study_of
from shortlist.errors import LinearityRejected
from shortlist.problem import Problem
from shortlist.study.insight import audit, linearity
from shortlist.study.insight.audit import chosen_arms, judge, sample_of
from shortlist.study.insight.linearity import (
    LEVEL,
    WHILE_RUNNING,
    Sample,
    evidence,
    evidence_at_most,
    lack_of_fit,
)


# The tests themselves
def drawn(kind, generator, shape):
    if kind == "normal":
        return generator.normal(size=shape)
    if kind == "coin":
        return 2.0 * generator.integers(0, 2, size=shape) - 1.0
    # A rare large value: its sub-Gaussian σ is 1, its standard deviation 0.36.
    share = 0.02
    large = math.sqrt(2.0 * math.log((1 - share) / share) / (1 - 2 * share)) * 1.0
    high = generator.random(shape) < share
    return np.where(high, large * (1 - share), -large * share)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "coin", "skewed"])
def test_an_audit_of_a_line_has_an_e_value_of_one_at_most(kind):
    generator = np.random.default_rng(5)
    features = generator.normal(size=(30, 4))
    problem = Problem.of(features, 3, sigma=1.0)
    means = features @ [1.0, -1.0, 0.5, 0.2]
    values = []
    for _ in range(120):
        # The arms of the past depend on its results: whichever looks best so far.
        pulls = np.zeros(30, np.int64)
        sums = np.zeros(30)
        for step in range(40):
            estimates = np.where(pulls > 0, sums / np.maximum(pulls, 1), 3.0)
            arm = step if step < 8 else int(np.argmax(estimates))
            pulls[arm] += 1
            sums[arm] += means[arm] + float(drawn(kind, generator, 1)[0])
        inside = np.zeros(30, np.bool_)
        inside[np.argsort(-sums)[:3]] = True
        plan = chosen_arms(problem, pulls, sums / np.maximum(pulls, 1), inside)
        fresh = np.bincount(plan, means[plan] + drawn(kind, generator, len(plan)), 30)
        past = sample_of(problem, pulls, sums)
        new = sample_of(problem, np.bincount(plan, minlength=30), fresh)
        values.append(math.exp(judge(problem, past, new).evidence))
    error = np.std(values) / math.sqrt(len(values))
    assert np.mean(values) <= 1.0 + 3.0 * error
    assert binom.sf(np.sum(np.array(values) > 1.0 / LEVEL) - 1, len(values), LEVEL) > 0.001


@pytest.mark.slow
def test_results_of_a_line_hardly_ever_speak_against_it_at_any_time():
    generator = np.random.default_rng(3)
    features = generator.normal(size=(12, 3))
    means, crossed = features @ [1.0, 0.5, -0.2], 0
    for _ in range(150):
        pulls, sums = np.zeros(12), np.zeros(12)
        for step in range(80):
            arm = step if step < 12 else int(np.argmax(sums / pulls + 2.0 / np.sqrt(pulls)))
            pulls[arm] += 1
            sums[arm] += means[arm] + generator.normal()
            if step > 5 and step % 5 == 0:
                arms = np.flatnonzero(pulls)
                sample = Sample(
                    arms, features[arms], pulls[arms], sums[arms] / pulls[arms], np.ones(len(arms))
                )
                if evidence(sample) > math.log(1.0 / LEVEL):
                    crossed += 1
                    break
    assert binom.sf(crossed - 1, 150, LEVEL) > 0.001


def test_the_evidence_is_at_most_what_it_is_at_one_line():
    generator = np.random.default_rng(6)
    for _ in range(50):
        features = generator.normal(size=(9, 3)) * [1.0, 10.0 ** generator.integers(-4, 1), 1.0]
        counts = np.floor(10.0 ** generator.uniform(0.0, 4.0, 9))
        sample = Sample(np.arange(9), features, counts, generator.normal(size=9), np.full(9, 0.5))
        most = evidence_at_most(sample)
        assert evidence(sample) <= most + 1e-9 * abs(most)


def test_the_looks_while_results_come_in_are_at_all_results_so_far():
    """They go on from the last one, and an e-value that is small at one line is not computed."""
    study, _ = study_of(LINE)
    means, generator = LINE + 0.3 * BELL, np.random.default_rng(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinearityRejected)
        while study.audit.rejection is None:
            arm = int(generator.integers(60))
            study.tell(arm=arm, value=float(means[arm] + 0.2 * generator.normal()))
    look, found = 10, None
    limit = math.log(1.0 / (WHILE_RUNNING * LEVEL))
    while found is None:
        taken = study.taken[:look]
        assert len(taken) == look
        arms = np.array([trial.arm for trial in taken])
        sums = np.bincount(arms, [trial.value for trial in taken], 60)
        sample = sample_of(study.problem, np.bincount(arms, minlength=60), sums)
        if len(sample.arms) > 2 and evidence(sample) > limit:
            found = look
        look = math.ceil(1.25 * look)
    assert study.audit.rejection.evaluations == found


def test_the_least_e_value_over_theta_is_the_least():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(9, 3))
    fresh = Sample(
        np.arange(9), features, np.arange(1.0, 10.0), generator.normal(size=9), np.full(9, 0.7)
    )
    past = Sample(
        np.arange(4), features[:4], np.full(4, 5.0), generator.normal(size=4), np.full(4, 0.7)
    )
    scale = np.diag([2.0, 1.0, 3.0])
    known = (past.features.T * (past.counts / past.sigmas**2)) @ past.features
    theta = np.linalg.lstsq(past.features, past.means)[0]
    test = linearity._Test(fresh, past, np.sqrt(scale))
    scale = 10.0 * scale  # the second of the three
    z = test.root * (fresh.means - features @ theta)
    own = (known @ np.linalg.solve(known + scale, known), features * test.root[:, None])

    def exponent(d, covariance):
        left = z - own[1] @ d
        shrunk = covariance @ np.linalg.inv(np.eye(9) + covariance)
        return 0.5 * d @ own[0] @ d + 0.5 * left @ shrunk @ left

    unit = 0.7 * test.root
    covariance = unit[:, None] * linearity._likeness(features, 0.3) * unit  # of size 1
    found = minimize(exponent, np.zeros(3), args=(covariance,), tol=1e-14).fun
    assert 0.5 * z @ test._forms[3 * 10 + 1] @ z == pytest.approx(found, rel=1e-6)
    paid = 0.5 * math.log(np.linalg.det(known + scale) / np.linalg.det(scale))
    grown = 0.5 * math.log(np.linalg.det(np.eye(9) + covariance))
    assert test._constants[3 * 10 + 1] == pytest.approx(-paid - grown)
    alone = np.zeros((9, 9))
    alone[2, 2] = (3.0 * unit[2]) ** 2
    found = minimize(exponent, np.zeros(3), args=(alone,), tol=1e-14).fun
    assert 0.5 * test._alone[4 + 3, 2] * z[2] ** 2 == pytest.approx(found, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False], ids=["ends in the past", "all in the past"])
def test_the_misfit_that_is_stated_is_found_nine_times_in_ten(ends):
    """A misfit of an arm that was evaluated before is in the estimate as well."""
    generator = np.random.default_rng(1)
    x = np.linalg.qr(FEATURES)[0]
    before = np.array([0, 59]) if ends else np.arange(0, 60, 3)
    arms = np.linspace(0, 59, 20).astype(int)
    scale = 10.0 / 60.0 * np.eye(2) / 0.04
    counts = np.full(len(before), 80.0 / len(before))

    def verdict(misfit, noise):
        past = misfit[before] + noise * 0.2 / np.sqrt(counts) * generator.normal(size=len(before))
        new = misfit[arms] + noise * 0.2 * generator.normal(size=20)
        return lack_of_fit(
            Sample(arms, x[arms], np.ones(20), new, np.full(20, 0.2)),
            Sample(before, x[before], counts, past, np.full(len(before), 0.2)),
            np.sqrt(scale), 0.006,
        )  # fmt: skip

    single, spread = verdict(np.zeros(60), 0.0).detectable

    def share(misfit):
        return np.mean([verdict(misfit(), 1.0).rejected for _ in range(100)])

    assert 0.8 < share(lambda: spread * generator.choice([-1.0, 1.0], 60)) <= 1.0
    assert share(lambda: single * np.eye(60)[generator.choice(arms)]) > 0.6  # 0.9 of half


def test_a_misfit_that_the_past_and_the_audit_cannot_see_is_not_said_to_be_found():
    x = np.eye(3)
    none = Sample(np.array([0]), x[:1], np.ones(1), np.zeros(1), np.ones(1))
    fresh = Sample(np.array([1, 2]), x[1:], np.ones(2), np.array([50.0, -50.0]), np.ones(2))
    verdict = lack_of_fit(fresh, none, np.eye(3), 0.01)
    assert not verdict.rejected  # any means of these arms are linear
    assert verdict.detectable == (math.inf, math.inf)


@pytest.mark.parametrize("ratio", [1.0, 1e-4, 1e-6])
@pytest.mark.parametrize("count", [1.0, 1e6])
def test_an_exact_line_is_never_spoken_against_however_much_the_arms_differ(ratio, count):
    """Rounding must not make a line look bent: neither small σ nor many results of some arms."""
    generator = np.random.default_rng(2)
    features = generator.normal(size=(12, 4))
    theta = generator.normal(size=4)
    counts = np.where(np.arange(12) < 3, count, 1.0)
    sigmas = np.where(np.arange(12) < 3, ratio, 1.0)
    line = Sample(np.arange(12), features, counts, features @ theta, sigmas)
    assert evidence(line) < 0.0
    thin = line._replace(features=features * [1.0, 1e-5, 1.0, 1.0])
    assert evidence(thin._replace(means=thin.features @ theta)) < 0.0
    for e in (1e-2, 1e-4, 3e-6, 1e-9):  # the past hardly spans
        rows = np.array([[1.0, e], [1.0, -e], [1.0, 2.0 * e]])
        fresh = Sample(np.arange(1, 4), rows, np.ones(3), rows @ [1.0, 0.5 / e], np.full(3, ratio))
        past = Sample(
            np.array([0]), np.array([[1.0, 0.0]]), np.array([count]), np.ones(1), np.ones(1)
        )
        assert lack_of_fit(fresh, past, np.eye(2), 0.006).evidence < 2.0


@pytest.mark.parametrize("more", [[[3.0, 1.0, 0.0]], [[0.0, 9.0, 2.0], [1.0, 0.0, 1.0]]])
def test_added_arms_leave_the_weights_of_what_came_before_as_they_were(more, monkeypatch):
    """Results may have chosen them; a direction that they are the first to have gets its own."""
    seen = []
    monkeypatch.setattr(audit, "lack_of_fit", lambda *given: seen.append(given[2]))
    features = np.column_stack([np.ones(9), np.arange(9.0), np.zeros(9)])
    begun = Problem.of(features, 2, sigma=0.5)
    added = begun.with_arms([f"N{k}" for k in range(len(more))], np.array(more))
    pulls = np.ones(added.arms, np.int64)
    sample = sample_of(added, pulls, pulls)
    for problem, given in [(begun, {}), (added, {"begun": begun})]:
        judge(problem, sample, sample, **given)
    before, after = (rows.T @ rows for rows in seen)
    one, both = begun.orthonormal, added.orthonormal[:9]
    # What λᵀx and λᵀy of the arms it began with have in common, λ ~ N(0, 1/W): all that P rests on.
    given = one @ np.linalg.solve(before, one.T)
    np.testing.assert_allclose(both @ np.linalg.solve(after, both.T), given, atol=1e-12)


def test_arms_whose_evaluations_failed_have_no_part_in_the_verdict():
    x = np.linalg.qr(FEATURES)[0]
    problem = Problem.of(FEATURES, 5, sigma=0.2)
    pulls, sums = np.zeros(60, np.int64), np.zeros(60)
    pulls[[0, 59]] = 12
    past = sample_of(problem, pulls, sums)
    fresh, arms = np.zeros(60, np.int64), np.arange(0, 60, 4)
    fresh[arms[:10]] = 1
    planned = sample_of(problem, fresh, 0.1 * fresh, arms)
    assert planned.counts.tolist() == [1.0] * 10 + [0.0] * 5
    verdict = judge(problem, past, planned)
    assert math.isfinite(verdict.evidence)
    assert math.isfinite(verdict.detectable[1])
    assert x.shape == (60, 2)
