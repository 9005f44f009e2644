"""The audit: before an answer is final, fresh evaluations test that the means are linear."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shortlist
from audited import BELL, DOSE, FEATURES, LINE, study_of
from command_line import run
from report_pages import undrawn
from shortlist.errors import GuaranteeInDoubt, InvalidSetting, LinearityRejected
from shortlist.problem import Problem
from shortlist.report.page import html
from shortlist.study.guarantee_parts import guarantee_of
from shortlist.study.insight.audit import audit_arms, audit_size


def finished(means, **settings):
    study, measure = study_of(means, **settings)
    study.run(measure, progress=False)
    return study


def rejected(means, **settings):
    with pytest.warns(LinearityRejected):
        study = finished(means, **settings)
    return study


def test_the_arms_of_an_audit_are_fixed_beforehand_and_show_a_bend():
    problem = Problem.of(FEATURES, 5, sigma=0.2)
    assert [audit_size(problem, made) for made in (0, 22, 359, 360, 6000)] == [24, 24, 24, 36, 410]
    assert audit_size(Problem.of([[1.0], [2.0], [4.0]], 1, sigma=1.0), 22) == 6
    plan = audit_arms(problem, 0)
    assert len(plan) == 24
    assert {0, 59} < set(plan.tolist())
    assert ((plan > 15) & (plan < 45)).sum() > 6  # the middle
    longer = audit_arms(problem, 600)
    assert len(longer) > 24
    assert longer[:24].tolist() == plan.tolist()


# In a study
def test_a_line_passes_and_the_guarantee_says_how_it_was_tested():
    study = finished(LINE)
    assert study.done
    assert study.shortlist.final
    assert study.shortlist.audited == 24
    assert study.shortlist.evaluations == study.evaluations
    words = study.shortlist.guarantee.text
    assert words.startswith("Proven if the means are linear in the features: ")
    assert "tested at level 1 % against squares and cubes of features" in words
    assert "by the first plan and 24 evaluations that were fixed with it" in words
    assert "would have been found with probability 0.9" in words
    assert f"{int((study.posterior.pulls > 0).sum())} of 60 arms were evaluated." in words
    assert guarantee_of(study).level == "plain"
    fit = next(finding for finding in study.health() if finding.name == "fit")
    assert fit.level == "fine"
    assert "24 of them to test linearity" in study.shortlist.effort


def test_the_audit_follows_the_first_plan_and_may_be_asked_for_at_once():
    study, measure = study_of(LINE)
    assert next(each for each in study.health() if each.name == "fit").level == "untested"
    first = study.procedure.engine.setup.initial
    for _ in first:
        study.tell(trial := study.ask(), measure(trial))
        assert trial.cause.origin == "initial"
    trials = study.ask(24)
    assert all(trial.cause.origin == "audit" for trial in trials)
    assert "part of the audit" in str(study.why(trials[0]))
    study.fail(trials[0], "dropped")  # not asked for again: it may fail for ever
    study.cancel(trials[1])  # asked for again
    again = study.ask()
    assert (again.arm, again.cause.origin) == (trials[1].arm, "audit")
    study.tell_many([(trial, measure(trial)) for trial in [again, *trials[2:]]])
    assert len(study.audit.results) == 23
    assert study.done or study.ask().cause.origin != "audit"


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
def test_an_answer_waits_for_what_is_left_of_the_audit():
    study, measure = study_of(LINE)
    for _ in study.procedure.engine.setup.initial:
        study.tell(trial := study.ask(), measure(trial))
    trials = study.ask(24)
    while study.stage != "audit":
        study.tell(trial := study.ask(), measure(trial))
        assert trial.cause.origin != "audit"
    assert not study.done
    with pytest.raises(shortlist.errors.BudgetSpent, match="audit are pending"):
        study.ask()
    study.cancel(trials.pop())
    assert "1 are still to be asked for" in study.shortlist.guarantee.text
    trials.append(study.ask())
    for trial in trials:
        study.fail(trial, "no substance left")
    assert study.done
    assert "by the first plan and 0 evaluations that were fixed with it" in str(
        study.shortlist.guarantee
    )


def test_an_audit_goes_on_where_it_was_after_a_crash(tmp_path):
    study, measure = study_of(LINE, storage=tmp_path / "study.db")
    other, same = study_of(LINE)
    while len(other.audit.own(other.taken)) < 7:
        for each, value in ((study, measure), (other, same)):
            each.tell(trial := each.ask(), value(trial))
    study.close()
    again = shortlist.Study.load(tmp_path / "study.db")
    assert again.audit.plan == other.audit.plan
    while not again.done:
        for each, value in ((again, measure), (other, same)):
            each.tell(trial := each.ask(), value(trial))
    assert other.done
    assert again.shortlist.guarantee.text == other.shortlist.guarantee.text


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
    assert not study.shortlist.guarantee.text.startswith("Proven")
    assert study.evaluations < 1500  # it is noticed early


@pytest.mark.slow
def test_one_voice():
    study = rejected(BELL)
    words = study.shortlist.guarantee.text
    assert words.startswith("Not certified: the results contradict means that are linear in ")
    assert "Results of the same arm agree with σ" in words
    assert "so the means are not linear." in words
    assert "study.verify() goes on in this study" in words
    badge = guarantee_of(study)
    assert badge.level == "warn"
    with undrawn():
        page = html(study)
    assert "badge good" not in page.split("</header>")[0]
    assert badge.badge in page
    fit = next(finding for finding in study.health() if finding.name == "fit")
    assert fit.level == "warning"
    assert "contradict what the guarantee assumes: that the means are linear" in str(study.why(0))
    with pytest.raises(LinearityRejected, match="No result is lost"):
        study.ask()
    assert study.remaining().evaluations is None
    trial = study.tell(arm=3, value=0.1)  # what is out can still be told
    assert trial.state == "told"


def rejected_with_noise(times, seed, means=None):
    """A study of 20 arms with that many times the noise it was told of, if it is rejected."""
    draw = np.random.default_rng([seed, 5])
    features = np.column_stack([np.ones(20), draw.uniform(-1.0, 1.0, (20, 2))])
    means = features @ [0.0, *draw.normal(size=2)] if means is None else means(features)
    sigma = np.ptp(means) / 4.0
    study = shortlist.Study(features, m=3, sigma=sigma, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.run(
            lambda trial: means[trial.arm] + times * sigma * draw.normal(),
            max_evaluations=500,
            progress=False,
        )
    return study if study.audit.rejection is not None else None


def test_a_sigma_that_is_too_small_is_blamed_and_not_linearity():
    studies = [study for seed in range(12) if (study := rejected_with_noise(3.0, seed))]
    assert len(studies) >= 10
    badges = [guarantee_of(study).badge for study in studies]
    assert badges.count("Not certified: σ too small") >= 0.8 * len(studies)
    assert badges.count("Not certified: linearity rejected") == 0
    blamed = studies[badges.index("Not certified: σ too small")]
    words = blamed.shortlist.guarantee.text
    assert "σ is too small" in words
    assert "Whether the means are linear cannot be judged before σ is right." in words
    advised = float(re.search(r"study\.continued\(sigma=([\d.]+)\)", words)[1])
    assert 2.0 < advised / blamed.problem.sigma < 6.0
    assert blamed.continued(sigma=advised).audit.rejection is None


@pytest.mark.slow
def test_a_sigma_that_is_too_small_puts_the_answer_in_doubt_everywhere():
    noise = np.random.default_rng(0)
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.1, epsilon=0.5, seed=0)
    with pytest.warns(GuaranteeInDoubt, match="too small"):
        study.run(lambda trial: trial.arm + 3.0 * noise.normal(), progress=False)
    assert study.done
    assert study.shortlist.guarantee.text.startswith("In doubt: ")
    assert (
        "What is proven under these assumptions: with probability" in study.shortlist.guarantee.text
    )
    assert guarantee_of(study).level == "warn"
    with undrawn():
        assert "In doubt: noise" in html(study)
    assert "contradict what the guarantee assumes: that the noise is no larger" in str(study.why(0))


@pytest.mark.slow
def test_without_an_audit_linearity_is_called_assumed_and_not_tested():
    study = finished(BELL, audit=False)
    assert study.done
    words = study.shortlist.guarantee.text
    assert words.startswith("Proven if the means are linear in the features, which is untested: ")
    assert "was assumed, not tested (audit=False); 6 of 60 arms were evaluated" in words
    assert guarantee_of(study).level == "plain"
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
    assert study.shortlist.guarantee.text.startswith(
        "No guarantee" if kind == "budget" else "Proven: "
    )


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
    assert study.shortlist.audited == 24


@pytest.mark.parametrize("algorithm", ["Guess-and-verify", "LinGIFA", "LinGame", "m-LinGapE"])
def test_every_kind_of_algorithm_is_audited(algorithm):
    features = np.random.default_rng(2).normal(size=(16, 3))
    means = features @ [1.0, 0.5, -0.5]
    settings = {"features": features, "m": 3, "epsilon": 0.3, "sigma": 0.3, "algorithm": algorithm}
    assert finished(means, **settings).shortlist.audited >= 24
    study = rejected(means + 2.0 * features[:, 0] * features[:, 1], **settings)
    assert not study.done


# Going on
def test_going_on_without_features_keeps_every_result_and_finds_the_list():
    study = rejected(BELL, sigma=0.05, epsilon=0.1)
    free = study.continued(features=None)
    assert free.evaluations == study.evaluations
    assert free.problem.is_classical
    told = [(t.arm, t.value) for t in study.taken]
    for arm in range(60):  # each arm's results in their order
        assert [v for a, v in told if a == arm] == [t.value for t in free.taken if t.arm == arm]
    noise = np.random.default_rng(9)
    free.run(lambda t: BELL[t.arm] + 0.05 * noise.normal(), progress=False)
    assert min(BELL[int(name)] for name in free.shortlist) >= np.sort(BELL)[-5] - 0.1
    assert free.shortlist.guarantee.text.startswith("Proven: ")
    assert "carried over from an earlier study" in free.shortlist.guarantee.text
    assert study.evaluations == len(told)  # the old one stays as it is


def test_going_on_with_the_features_as_a_guide_keeps_every_result_and_finds_the_list(tmp_path):
    study = rejected(BELL, sigma=0.05, epsilon=0.1, storage=tmp_path / "s.db", name="bell")
    guided = study.continued(trust="guide")
    told = [(t.arm, t.value) for t in study.taken]
    assert [(t.arm, t.value) for t in guided.taken] == told
    noise = np.random.default_rng(9)
    guided.run(lambda t: BELL[t.arm] + 0.05 * noise.normal(), progress=False)
    assert min(BELL[int(name)] for name in guided.shortlist) >= np.sort(BELL)[-5] - 0.1
    assert guided.shortlist.guarantee.text.startswith("Proven: ")
    assert "nothing is assumed about how the means depend" in guided.shortlist.guarantee.text
    again = shortlist.Study.load(tmp_path / "s.db", "bell, features as a guide")
    assert again.shortlist.names == guided.shortlist.names


def test_results_are_carried_in_the_order_in_which_they_came():
    """Whether a result counts must be known before its value, or the guarantee is gone."""
    study, _ = study_of(LINE)
    order = [59, 59, 3, 0, 59, 3, 17]
    for value, arm in enumerate(order):
        study.tell(arm=arm, value=float(value))
    free = study.continued(features=None)
    assert [trial.arm for trial in free.taken] == order
    assert [trial.value for trial in free.taken] == list(range(7))


def test_going_on_is_stored_beside_the_study_and_done_once(tmp_path):
    study = rejected(DOSE - 0.12 * DOSE**2, epsilon=0.1, storage=tmp_path / "s.db", name="dose")
    free = study.continued(features=None)
    assert free.name == "dose, without features"
    again = study.continued(features=None)
    assert again.evaluations == free.evaluations == study.evaluations
    loaded = shortlist.Study.load(tmp_path / "s.db", free.name)
    assert loaded.fingerprint == free.fingerprint


# Compare, settings, command line
@pytest.mark.slow
def test_compare_audits_if_asked_to():
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3, sigma=0.5)
    given = {"runs": 12, "seed": 1, "progress": False}
    plain = shortlist.compare(["m-LinGapE", "Guess-and-verify", "LUCB"], instance, **given).frame
    audited = shortlist.compare(
        ["m-LinGapE", "Guess-and-verify", "LUCB"], instance, audit=True, **given
    ).frame
    assert "audited" not in plain
    assert (audited["samples"] - audited["audited"] == plain["samples"]).all()
    assert audited["pulls"].tolist() == plain["pulls"].tolist()
    assert (
        audited.groupby("algorithm")["audited"].max()[["m-LinGapE", "Guess-and-verify"]] > 0
    ).all()
    assert not audited.loc[audited["algorithm"] == "LUCB", "audited"].any()
    assert not audited["rejected"].any()
    bent = shortlist.instances.from_arrays(FEATURES, means=BELL, m=5, sigma=0.2)
    frame = shortlist.compare("Guess-and-verify", bent, audit=True, epsilon=0.05, **given).frame
    assert frame["rejected"].all()


@pytest.mark.parametrize("given", ["no", 1, None])
def test_audit_is_true_or_false(given):
    with pytest.raises(InvalidSetting, match="audit must be True or False"):
        shortlist.Study(FEATURES, m=1, sigma=1.0, audit=given)


def command(*words, folder, code=0):
    with contextlib.chdir(folder):
        done = run(*words)
    assert done.exit_code == code, done.output
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
    for _ in study.procedure.engine.setup.initial:
        trial = study.ask()
        study.tell(trial, curve[trial.arm] + 0.2 * noise.normal())
    study.close()
    asked = command("ask", "screen.toml", "-n", 24, "--out", "plate.csv", folder=tmp_path)
    assert "24 of these trials belong to the audit" in asked.stderr
    state = json.loads(command("status", "screen.toml", "--json", folder=tmp_path).stdout)
    assert (state["stage"], state["linearity"]) == ("rounds", "untested")
    assert state["open"][0]["origin"] == "audit"
    lines = (tmp_path / "plate.csv").read_text().splitlines()
    filled = [lines[0]]
    for line in lines[1:]:
        arm = int(line.split(",")[2][1:])
        filled.append(f"{line}{curve[arm] + 0.2 * noise.normal():.4f}")
    (tmp_path / "plate.csv").write_text("\n".join(filled) + "\n")
    told = command("tell", "screen.toml", "plate.csv", folder=tmp_path)
    said = " ".join(told.stdout.split())
    assert "The study cannot stop: the results contradict means that are linear" in said
    assert told.stderr == ""
    refused = command("ask", "screen.toml", folder=tmp_path, code=4)
    advised = "verify screen.toml"
    assert f"`shortlist {advised}`" in said
    assert f"`shortlist {advised}`" in refused.stderr
    status = " ".join(command("status", "screen.toml", folder=tmp_path).stdout.split())
    assert "Not certified." in status
    assert "The results contradict means that are linear in the features with noise of σ" in status
    why = command("why", "screen.toml", 20, folder=tmp_path)
    assert "part of the audit" in why.stdout


@pytest.mark.slow
def test_a_screen_file_can_turn_the_audit_off(tmp_path):
    (tmp_path / "features.csv").write_text("a,1,0\nb,0,1\nc,1,1\n")
    (tmp_path / "screen.toml").write_text(
        'features = "features.csv"\nm = 1\nsigma = 0.2\naudit = false\n'
    )
    command("new", "screen.toml", folder=tmp_path)
    assert not shortlist.Study.load(tmp_path / "screen.db").audit.wanted
    command("status", "screen.toml", folder=tmp_path)


# A study and what is loaded of it
DOSES = np.column_stack([np.ones(60), np.linspace(0.0, 10.0, 60)])


@pytest.mark.filterwarnings("ignore::shortlist.errors.LinearityRejected")
@pytest.mark.parametrize("algorithm", ["auto", "LinGIFA"])
def test_a_rejection_after_a_large_batch_is_one_when_the_study_is_loaded(tmp_path, algorithm):
    rng, means = np.random.default_rng(0), np.exp(-((DOSES[:, 1] - 4.0) ** 2))
    settings = {"m": 5, "sigma": 0.2, "epsilon": 0.02, "seed": 0, "algorithm": algorithm}
    study = shortlist.Study(DOSES, storage=tmp_path / "a.db", **settings)
    for count in (*[1] * len(study.procedure.engine.setup.initial), 384):
        for trial in study.ask(count) if count > 1 else [study.ask()]:
            study.tell(trial, means[trial.arm] + 0.2 * rng.standard_normal())
    assert study.audit.rejection is not None
    loaded = shortlist.Study.load(tmp_path / "a.db")
    assert loaded.audit.rejection == study.audit.rejection


@pytest.mark.filterwarnings("ignore::shortlist.errors.LinearityRejected")
def test_a_corrected_result_is_tested_again(tmp_path):
    rng, typo = np.random.default_rng(0), None
    study = shortlist.Study(DOSES, m=5, sigma=0.2, epsilon=0.05, seed=0, storage=tmp_path / "a.db")
    while study.audit.rejection is None:
        trial = study.ask()
        value = float(0.1 * DOSES[trial.arm, 1] + 0.2 * rng.standard_normal())
        wrong = typo is None and trial.cause.origin == "audit" and 20 < trial.arm < 40
        typo = (trial.number, value) if wrong else typo
        study.tell(trial, 10.0 * value if wrong else value)
    study.correct(*typo, reason="a slip of the decimal point")
    assert study.audit.rejection is None
    loaded = shortlist.Study.load(tmp_path / "a.db")
    assert (loaded.audit.rejection, loaded.done) == (None, study.done)
