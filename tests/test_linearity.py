"""The audit of linearity: its two tests, its place in a study, and what is said of it."""

from __future__ import annotations

import json
import math
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

import forks
import shortlist
from shortlist.errors import GuaranteeInDoubt, InvalidSetting, LinearityRejected
from shortlist.problem import Problem
from shortlist.report.page import html
from shortlist.study import definition as settings
from shortlist.study.guarantee import worth
from shortlist.study.insight import linearity
from shortlist.study.insight.audit import audit_size, chosen_arms, judge, sample_of
from shortlist.study.insight.linearity import (
    LEVEL,
    WHILE_RUNNING,
    Sample,
    evidence,
    evidence_at_most,
    lack_of_fit,
)

DOSE = np.linspace(0.0, 10.0, 60)
FEATURES = np.column_stack([np.ones(60), DOSE])
BELL = np.exp(-((DOSE - 4.0) ** 2))
LINE = 0.1 * DOSE


def study_of(means, *, sigma=0.2, epsilon=0.02, seed=0, features=FEATURES, m=5, **settings):
    noise = np.random.default_rng(seed)
    study = shortlist.Study(features, m=m, sigma=sigma, epsilon=epsilon, seed=seed, **settings)
    return study, lambda trial: float(means[trial.arm] + sigma * noise.normal())


def finished(means, **settings):
    study, measure = study_of(means, **settings)
    study.run(measure, progress=False)
    return study


def rejected(means, **settings):
    with pytest.warns(LinearityRejected):
        study = finished(means, **settings)
    return study


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
        values.append(math.exp(judge(problem, past, new, power=False).evidence))
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


@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_the_evidence_is_at_most_what_it_is_at_one_line(slack):
    generator = np.random.default_rng(6)
    for _ in range(50):
        features = generator.normal(size=(9, 3)) * [1.0, 10.0 ** generator.integers(-4, 1), 1.0]
        counts = np.floor(10.0 ** generator.uniform(0.0, 4.0, 9))
        sample = Sample(np.arange(9), features, counts, generator.normal(size=9), np.full(9, 0.5))
        most = evidence_at_most(sample)
        assert evidence(sample, slack) <= most + 1e-9 * abs(most)


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
    test = linearity._Test(fresh, past, scale)
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

    def verdict(misfit, noise, power=False):
        past = misfit[before] + noise * 0.2 / np.sqrt(counts) * generator.normal(size=len(before))
        new = misfit[arms] + noise * 0.2 * generator.normal(size=20)
        return lack_of_fit(
            Sample(arms, x[arms], np.ones(20), new, np.full(20, 0.2)),
            Sample(before, x[before], counts, past, np.full(len(before), 0.2)),
            scale, 0.006, power=power,
        )  # fmt: skip

    stated = verdict(np.zeros(60), 0.0, power=True)

    def share(misfit):
        return np.mean([verdict(misfit(), 1.0).rejected for _ in range(100)])

    assert 0.8 < share(lambda: stated.spread * generator.choice([-1.0, 1.0], 60)) <= 1.0
    assert share(lambda: stated.single * np.eye(60)[generator.choice(arms)]) > 0.6  # 0.9 of half


def test_a_misfit_that_the_past_and_the_audit_cannot_see_is_not_said_to_be_found():
    x = np.eye(3)
    none = Sample(np.array([0]), x[:1], np.ones(1), np.zeros(1), np.ones(1))
    fresh = Sample(np.array([1, 2]), x[1:], np.ones(2), np.array([50.0, -50.0]), np.ones(2))
    verdict = lack_of_fit(fresh, none, np.eye(3), 0.01)
    assert not verdict.rejected  # any means of these arms are linear
    assert math.isinf(verdict.spread)
    assert math.isinf(verdict.single)


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
    assert math.isfinite(verdict.spread)
    assert x.shape == (60, 2)


def test_the_size_of_an_audit_is_small_and_its_arms_are_where_they_should_be():
    assert audit_size(60, 22) == 20
    assert audit_size(60, 6000) == 600
    assert audit_size(3, 22) == 6
    problem = Problem.of(FEATURES, 5, sigma=0.2)
    pulls = np.zeros(60, np.int64)
    pulls[[0, 59]] = 11
    inside = np.arange(60) >= 55
    plan = chosen_arms(problem, pulls, LINE, inside)
    assert len(plan) == len(set(plan.tolist())) == 20
    assert set(plan.tolist()) >= {55, 56, 57, 58}  # listed, and never evaluated
    assert np.diff(np.sort(plan)).max() <= 6  # and spread over the rest
    pulls[[0, 59]] = 3000
    plan = chosen_arms(problem, pulls, LINE, inside, made=300)
    assert len(plan) == 300
    assert len(set(plan.tolist())) == 60


# In a study


def test_a_line_passes_and_the_guarantee_says_how_it_was_tested():
    study = finished(LINE)
    assert study.done
    assert study.shortlist.final
    assert study.shortlist.audited == 20
    assert study.shortlist.evaluations == study.evaluations == study.answered_at + 20
    words = study.shortlist.guarantee
    assert words.startswith("Proven: ")
    assert "tested by 20 fresh evaluations of 20 arms (level 1 %" in words
    assert "would have been found with probability 0.9" in words
    assert f"{int((study.posterior.pulls > 0).sum())} of 60 arms were evaluated" in words
    assert worth(study).level == "good"
    fit = next(finding for finding in study.health() if finding.name == "fit")
    assert fit.level == "fine"
    assert "20 of them to test linearity" in str(study.shortlist)


def curved_truths():
    grid = np.array([(a, b) for a in np.linspace(0, 1, 10) for b in np.linspace(0, 1, 10)])
    normal = np.random.default_rng(1).normal(size=(200, 3))
    with_ones = lambda x: np.column_stack([np.ones(len(x)), x])  # noqa: E731
    return {
        "bell": {"means": BELL},
        "bell, m-LinGapE": {"means": BELL, "algorithm": "m-LinGapE"},
        "parabola": {"means": DOSE - 0.12 * DOSE**2, "epsilon": 0.1},
        "grid": {
            "means": 1 - ((grid - 0.3) ** 2).sum(axis=1),
            "features": with_ones(grid), "sigma": 0.1, "epsilon": 0.05,
        },
        "quadratic": {
            "means": normal.sum(axis=1) / 3 - 0.4 * normal[:, 0] ** 2,
            "features": with_ones(normal), "sigma": 0.3,
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", curved_truths())
@pytest.mark.parametrize("seed", [11, 12])
def test_no_list_of_the_issue_is_called_proven(name, seed):
    study = rejected(**curved_truths()[name], seed=seed)
    assert not study.done
    assert not study.shortlist.final
    assert not study.shortlist.guarantee.startswith("Proven")
    assert study.evaluations < 1500  # it is noticed early


@pytest.mark.slow
def test_one_voice():
    study = rejected(BELL)
    words = study.shortlist.guarantee
    assert words.startswith("Not certified: the means are not linear in the features")
    assert "without_features()" in words
    badge = worth(study)
    assert badge.level == "warn"
    page = html(study)
    assert "badge good" not in page.split("</header>")[0]
    assert badge.badge in page
    fit = next(finding for finding in study.health() if finding.name == "fit")
    assert fit.level == "warning"
    assert "speak against what the guarantee assumes: fit" in str(study.why(0))
    with pytest.raises(LinearityRejected, match="Nothing told is lost"):
        study.ask()
    assert study.remaining().evaluations is None
    trial = study.tell(arm=3, value=0.1)  # what is out can still be told
    assert trial.state == "told"


@pytest.mark.slow
def test_a_sigma_that_is_too_small_puts_the_answer_in_doubt_everywhere():
    noise = np.random.default_rng(0)
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.1, epsilon=0.5, seed=0)
    with pytest.warns(GuaranteeInDoubt, match="too small"):
        study.run(lambda trial: trial.arm + 3.0 * noise.normal(), progress=False)
    assert study.done
    assert study.shortlist.guarantee.startswith("In doubt: ")
    assert "What is proven under these assumptions: with probability" in study.shortlist.guarantee
    assert worth(study).level == "warn"
    assert "In doubt: noise" in html(study)
    assert "speak against what the guarantee assumes: noise" in str(study.why(0))


@pytest.mark.slow
def test_without_an_audit_linearity_is_called_assumed_and_not_tested():
    study = finished(BELL, audit=False)
    assert study.done
    words = study.shortlist.guarantee
    assert words.startswith("Proven if the means are linear, which is untested: ")
    assert "was assumed, not tested (audit=False); 2 of 60 arms were evaluated" in words
    assert worth(study).level == "plain"
    assert study.shortlist.audited == 0


@pytest.mark.parametrize("kind", ["no features", "rank K", "LUCB", "budget"])
def test_nothing_is_audited_where_nothing_is_assumed(kind):
    given = {
        "no features": {"arms": list("abc")},
        "rank K": {"features": [[1.0, 0.0, 0.2], [0.0, 1.0, 0.1], [0.5, 0.5, 1.0]]},
        "LUCB": {"features": [[1.0], [2.0], [3.5]], "algorithm": "LUCB"},
        "budget": {"features": [[1.0], [2.0], [3.5]], "budget": 30},
    }[kind]
    study = shortlist.Study(m=1, sigma=0.1, seed=0, **given)
    study.run(lambda trial: [0.1, 0.9, 0.2][trial.arm], progress=False)
    assert study.done
    assert study.shortlist.audited == 0
    assert study.shortlist.guarantee.startswith("No guarantee" if kind == "budget" else "Proven: ")


def test_health_says_untested_before_it_can_be_tested():
    study, measure = study_of(LINE)
    levels = {finding.name: finding.level for finding in study.health()}
    assert levels["fit"] == levels["noise"] == "untested"
    while study.stage != "audit":
        study.tell(trial := study.ask(), measure(trial))
    assert next(f for f in study.health() if f.name == "fit").level == "untested"
    assert "Empty DataFrame" not in str(study.shortlist)
    assert str(shortlist.Study(FEATURES, m=2, sigma=1.0).shortlist).startswith("No shortlist yet")


def test_an_audit_goes_on_where_it_was_after_a_crash(tmp_path):
    place = tmp_path / "study.db"
    study, _ = study_of(LINE, storage=place)
    other, _ = study_of(LINE)
    noise = np.random.default_rng(4)
    values = noise.normal(size=2000) * 0.2
    while study.stage != "audit" or sum(t.cause.origin == "audit" for t in study.taken) < 7:
        trial, twin = study.ask(), other.ask()
        assert (trial.arm, trial.cause.origin) == (twin.arm, twin.cause.origin)
        for each, own in ((study, trial), (other, twin)):
            each.tell(own, LINE[own.arm] + values[own.number])
    study.close()
    again = shortlist.Study.load(place)
    assert again.stage == "audit"
    assert again.audit.plan.tolist() == other.audit.plan.tolist()
    while not again.done:
        trial, twin = again.ask(), other.ask()
        assert trial.arm == twin.arm
        again.tell(trial, LINE[trial.arm] + values[trial.number])
        other.tell(twin, LINE[twin.arm] + values[twin.number])
    assert other.done
    assert again.shortlist.guarantee == other.shortlist.guarantee
    last = shortlist.Study.load(place)
    assert last.done
    assert last.shortlist.guarantee == other.shortlist.guarantee


@pytest.mark.slow
def test_a_rejected_study_is_still_rejected_when_it_is_loaded(tmp_path):
    study = rejected(BELL, storage=tmp_path / "study.db")
    with pytest.warns(LinearityRejected):
        again = shortlist.Study.load(tmp_path / "study.db")
    assert again.audit.rejection == study.audit.rejection
    assert not again.done


@pytest.mark.parametrize("order", ["asked", "completion"])
def test_batches_and_executors_go_through_the_audit(order):
    study, _ = study_of(LINE)

    def measure(trial):
        return float(LINE[trial.arm] + 0.2 * np.random.default_rng(trial.seed).normal())

    with ThreadPoolExecutor(3) as pool:
        study.run(measure, executor=pool, batch=6, order=order, progress=False)
    assert study.done
    assert study.shortlist.audited == 20


def test_a_batch_gets_no_more_trials_than_the_audit_has():
    study, measure = study_of(LINE)
    while study.stage != "audit":
        study.tell(trial := study.ask(), measure(trial))
    trials = study.ask(50)
    assert len(trials) == 20
    assert all(trial.cause.origin == "audit" for trial in trials)
    with pytest.raises(shortlist.errors.BudgetSpent, match="audit are under way"):
        study.ask()
    assert study.remaining().evaluations == 20
    assert "part of the audit" in str(study.why(trials[0]))
    study.fail(trials[0], "dropped")  # not asked for again: it may fail for ever
    study.cancel(trials[1])  # asked for again
    again = study.ask()
    assert again.arm == trials[1].arm
    study.tell_many([(trial, measure(trial)) for trial in [again, *trials[2:]]])
    assert study.done
    assert len(study.audit.results) == 19


def test_max_evaluations_may_end_a_run_within_the_audit():
    study, measure = study_of(LINE)
    while study.stage != "audit":
        study.tell(trial := study.ask(), measure(trial))
    study.run(measure, max_evaluations=5, progress=False)
    assert not study.done
    assert "15 are still to be asked for" in study.shortlist.guarantee
    study.run(measure, progress=False)
    assert study.done


def test_a_study_that_is_reopened_is_audited_again():
    study = finished(LINE, epsilon=0.05)
    first = study.shortlist
    study.reopen()
    _, measure = study_of(LINE, seed=3)
    study.run(measure, progress=False)
    assert study.done
    assert study.shortlist.audited > first.audited
    assert len(study.audit.results) >= 10


def test_all_evaluations_of_the_audit_failing_leaves_linearity_untested():
    study, measure = study_of(LINE)
    while study.stage != "audit":
        study.tell(trial := study.ask(), measure(trial))
    for trial in study.ask(20):
        study.fail(trial, "no substance left")
    assert study.done
    assert study.shortlist.guarantee.startswith("Proven if the means are linear, which is untested")


def test_an_audit_that_could_not_have_found_anything_is_no_test():
    """With nearly as many dimensions as arms, and few results, no misfit shows."""
    features = np.random.default_rng(5).normal(size=(10, 9))
    means = features @ np.linspace(1.0, 0.1, 9)
    study = finished(means, features=features, m=2, sigma=0.5, epsilon=2.0, algorithm="m-LinGapE")
    verdict = study.audit.verdict
    untested = math.isinf(verdict.single) and math.isinf(verdict.spread)
    start = "Proven if the means are linear, which is untested" if untested else "Proven: "
    assert study.shortlist.guarantee.startswith(start)
    assert ("could not have shown a misfit" in study.shortlist.guarantee) == untested


@pytest.mark.parametrize("algorithm", ["Phased", "LinGIFA", "LinGame", "Uniform", "m-LinGapE"])
def test_every_kind_of_algorithm_is_audited(algorithm):
    features = np.random.default_rng(2).normal(size=(16, 3))
    means = features @ [1.0, 0.5, -0.5]
    settings = {"features": features, "m": 3, "epsilon": 0.3, "sigma": 0.3, "algorithm": algorithm}
    assert finished(means, **settings).shortlist.audited == 20
    study = rejected(means + 2.0 * features[:, 0] * features[:, 1], **settings)
    assert not study.done


def test_noise_that_differs_and_noise_that_is_estimated_are_audited():
    features = np.random.default_rng(2).normal(size=(16, 3))
    means = features @ [1.0, 0.5, -0.5]
    each = np.linspace(0.1, 0.4, 16)
    noise = np.random.default_rng(0)
    study = shortlist.Study(features, m=3, sigma=each, epsilon=0.3, seed=0)
    study.run(lambda t: means[t.arm] + each[t.arm] * noise.normal(), progress=False)
    assert study.shortlist.audited == 20
    study = shortlist.Study(features, m=3, sigma="estimate", epsilon=0.3, seed=0)
    study.run(lambda t: means[t.arm] + 0.2 * noise.normal(), progress=False)
    assert study.shortlist.audited >= 10


def test_mislid_is_tested_within_its_misspecification():
    mislid = shortlist.MisLid(misspecification=0.05)
    features, line = FEATURES[::4], LINE[::4]
    study = finished(line, features=features, epsilon=0.1, m=2, algorithm=mislid)
    assert study.shortlist.audited == 0
    assert "was tested as the results came in" in study.shortlist.guarantee
    with pytest.warns(LinearityRejected, match="within c = 0.05 of linear"):
        finished(2.0 * BELL[::4], features=features, epsilon=0.1, m=2, algorithm=mislid)


# Going on


def test_going_on_without_features_keeps_every_result_and_finds_the_list():
    study = rejected(BELL, sigma=0.05, epsilon=0.1)
    free = study.without_features()
    assert free.evaluations == study.evaluations
    assert free.problem.is_classical
    told = [(t.arm, t.value) for t in study.taken]
    for arm in range(60):  # each arm's results in their order
        assert [v for a, v in told if a == arm] == [t.value for t in free.taken if t.arm == arm]
    noise = np.random.default_rng(9)
    free.run(lambda t: BELL[t.arm] + 0.05 * noise.normal(), progress=False)
    assert min(BELL[int(name)] for name in free.shortlist) >= np.sort(BELL)[-5] - 0.1
    assert free.shortlist.guarantee.startswith("Proven: ")
    assert "carried over from an earlier study" in free.shortlist.guarantee
    assert study.evaluations == len(told)  # the old one stays as it is


def test_going_on_with_a_misspecification_keeps_every_result():
    study = rejected(DOSE - 0.12 * DOSE**2, epsilon=0.1)
    near = study.with_misspecification(3.0)
    assert near.bound.misspecification == 3.0
    assert near.evaluations == study.evaluations


def test_results_are_carried_in_the_order_in_which_they_came():
    """Whether a result counts must be known before its value, or the guarantee is gone."""
    study, _ = study_of(LINE)
    order = [59, 59, 3, 0, 59, 3, 17]
    for value, arm in enumerate(order):
        study.tell(arm=arm, value=float(value))
    free = study.without_features()
    assert [trial.arm for trial in free.taken] == order
    assert [trial.value for trial in free.taken] == list(range(7))


def test_an_audit_does_not_wait_for_a_round_that_nobody_evaluates_any_more():
    study, measure = study_of(LINE)
    journal = study._journal
    while study.stage != "audit":
        for trial in journal.ask(3, in_turn=True, process=None):
            if study.stage != "audit":  # the others of the last batch are lost
                study.tell(trial, measure(trial))
    assert study.pending
    for trial in journal.ask(20, in_turn=True, process=None):
        study.tell(trial, measure(trial))
    assert study.done


def test_going_on_is_stored_beside_the_study_and_done_once(tmp_path):
    study = rejected(DOSE - 0.12 * DOSE**2, epsilon=0.1, storage=tmp_path / "s.db", name="dose")
    free = study.without_features()
    assert free.name == "dose, without features"
    again = study.without_features()
    assert again.evaluations == free.evaluations == study.evaluations
    loaded = shortlist.Study.load(tmp_path / "s.db", free.name)
    assert loaded.fingerprint == free.fingerprint


# Compare, settings, command line


@pytest.mark.slow
def test_compare_audits_if_asked_to():
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3, sigma=0.5)
    given = {"runs": 12, "seed": 1, "progress": False}
    plain = shortlist.compare(["m-LinGapE", "Phased", "LUCB"], instance, **given).frame
    audited = shortlist.compare(
        ["m-LinGapE", "Phased", "LUCB"], instance, audit=True, **given
    ).frame
    assert "audited" not in plain
    assert (audited["samples"] - audited["audited"] == plain["samples"]).all()
    assert audited["pulls"].tolist() == plain["pulls"].tolist()
    assert (audited.groupby("algorithm")["audited"].max()[["m-LinGapE", "Phased"]] > 0).all()
    assert not audited.loc[audited["algorithm"] == "LUCB", "audited"].any()
    assert not audited["rejected"].any()
    bent = shortlist.instances.from_arrays(FEATURES, means=BELL, m=5, sigma=0.2)
    frame = shortlist.compare("Phased", bent, audit=True, epsilon=0.05, **given).frame
    assert frame["rejected"].all()


@pytest.mark.parametrize("given", ["no", 1, None])
def test_audit_is_true_or_false(given):
    with pytest.raises(InvalidSetting, match="audit must be True or False"):
        shortlist.Study(FEATURES, m=1, sigma=1.0, audit=given)


def test_a_study_that_was_stored_before_there_were_audits_loads_and_says_so(tmp_path, monkeypatch):
    made = settings.Settings.of.__func__

    def before(cls, *given, **named):
        found = made(cls, *given, **named)
        del found.choices["audit"]
        return found

    with monkeypatch.context() as patch:
        patch.setattr(settings.Settings, "of", classmethod(before))
        study = finished(LINE, storage=tmp_path / "old.db")
    assert study.done
    again, _ = study_of(LINE, storage=tmp_path / "old.db")
    for old in (again, shortlist.Study.load(tmp_path / "old.db")):
        assert old.done
        assert old.fingerprint == study.fingerprint
        assert "was assumed, not tested" in old.shortlist.guarantee


def command(*words, folder, code=0):
    done = subprocess.run(
        [*forks.program(), *map(str, words)],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.slow
def test_the_command_line_knows_the_audit(tmp_path):
    rows = "\n".join(f"d{k},{one:g},{dose:g}" for k, (one, dose) in enumerate(FEATURES))
    (tmp_path / "features.csv").write_text(f"name,one,dose\n{rows}\n")
    (tmp_path / "screen.toml").write_text(
        'features = "features.csv"\nm = 5\nsigma = 0.2\nepsilon = 0.1\nseed = 1\n'
    )
    command("new", "screen.toml", folder=tmp_path)
    study = shortlist.Study.load(tmp_path / "screen.db")
    curve = DOSE - 0.12 * DOSE**2
    noise = np.random.default_rng(0)
    while study.stage != "audit":
        trial = study.ask()
        study.tell(trial, curve[trial.arm] + 0.2 * noise.normal())
    study.close()
    asked = command("ask", "screen.toml", "-n", 30, "--out", "plate.csv", folder=tmp_path)
    assert "20 trials of the audit" in asked.stderr
    assert "the audit has room for 20 trials only" in asked.stderr
    state = json.loads(command("status", "screen.toml", "--json", folder=tmp_path).stdout)
    assert (state["stage"], state["linearity"]) == ("audit", "untested")
    assert state["open"][0]["origin"] == "audit"
    lines = (tmp_path / "plate.csv").read_text().splitlines()
    filled = [lines[0]]
    for line in lines[1:]:
        arm = int(line.split(",")[2][1:])
        filled.append(f"{line}{curve[arm] + 0.2 * noise.normal():.4f}")
    (tmp_path / "plate.csv").write_text("\n".join(filled) + "\n")
    told = command("tell", "screen.toml", "plate.csv", folder=tmp_path)
    assert "The study cannot stop: the means are not linear" in " ".join(told.stdout.split())
    assert told.stderr == ""
    refused = command("ask", "screen.toml", folder=tmp_path, code=4)
    assert "`shortlist without-features` goes on" in refused.stderr
    status = " ".join(command("status", "screen.toml", folder=tmp_path).stdout.split())
    assert "Not certified: the means are not linear" in status
    made = command("without-features", "screen.db", folder=tmp_path)
    assert "42 results carried over" in " ".join(made.stdout.split())
    near = json.loads(
        command(
            "with-misspecification",
            "screen.db",
            2.5,
            "--study",
            "screen",
            "--json",
            folder=tmp_path,
        ).stdout
    )
    assert near["evaluations"] == len(shortlist_of(tmp_path).taken)
    why = command(
        "why",
        "screen.db",
        "--study",
        "screen",
        len(shortlist_of(tmp_path).trials) - 1,
        folder=tmp_path,
    )
    assert "part of the audit" in why.stdout


def shortlist_of(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinearityRejected)
        return shortlist.Study.load(folder / "screen.db", "screen")


def test_a_screen_file_can_turn_the_audit_off(tmp_path):
    (tmp_path / "features.csv").write_text("a,1,0\nb,0,1\nc,1,1\n")
    (tmp_path / "screen.toml").write_text(
        'features = "features.csv"\nm = 1\nsigma = 0.2\naudit = false\n'
    )
    command("new", "screen.toml", folder=tmp_path)
    assert not shortlist.Study.load(tmp_path / "screen.db").audit.wanted
    command("status", "screen.toml", folder=tmp_path)
