"""MisLid: its pulls, what it proves, and a study with it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import run
from error_rates import shown_above
from misspecified import lying
from nearly_linear import LIAR, LIE
from shortlist import MisLid, errors
from shortlist.catalog.registry import find_algorithm
from shortlist.plans.mislid import algorithm as mislid
from shortlist.problem import Problem
from shortlist.report.analysis import Analysis
from shortlist.report.methods import methods
from shortlist.report.page import html
from shortlist.report.sections import specification
from shortlist.simulation.instances import Instance


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_a_misspecification_may_be_as_small_or_large_as_numbers_are(stop: Any) -> None:
    pulls = {
        c: shortlist.compare(
            MisLid(misspecification=c, stop=stop), LIAR, runs=2, progress=False
        ).frame["pulls"].tolist()
        for c in (0.0, 5e-324, 50.0, 1e308)
    }  # fmt: skip
    assert pulls[50.0] == pulls[1e308]
    # Half of δ is kept for the other bound, so not quite the same.
    assert 0.9 < np.sum(pulls[5e-324]) / np.sum(pulls[0.0]) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_with_any_misspecification_features_do_not_matter(stop: Any) -> None:
    """Other features, the same pulls, run by run; and without any, as many but for ties."""
    frames = []
    for features in (LIAR.features, lying(K=10, N=6, m=3, c=0.0, seed=99).features, np.eye(10)):
        instance = shortlist.instances.from_arrays(
            features, means=LIAR.means, m=3, sigma=LIAR.sigma
        )
        algorithm = MisLid(misspecification=50.0, stop=stop)
        frames.append(
            shortlist.compare(algorithm, instance, runs=8, epsilon=0.15, progress=False).frame
        )
    here, other, none = frames
    assert here["pulls"].tolist() == other["pulls"].tolist()
    ratio = none["samples"].mean() / here["samples"].mean()
    assert 0.8 < ratio < 1.25
    shares = [np.array(f["pulls"].tolist()).sum(axis=0) / f["samples"].sum() for f in frames]
    np.testing.assert_allclose(shares[0], shares[2], atol=0.04)


@pytest.mark.slow
def test_without_misspecification_pulls_are_shared_as_by_lingame() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    shares = {}
    for name, algorithm in (("ours", MisLid(misspecification=0.0)), ("theirs", "LinGame")):
        frame = shortlist.compare(algorithm, instance, runs=6, progress=False).frame
        pulls = np.array(frame["pulls"].tolist()).sum(axis=0)
        shares[name] = pulls / pulls.sum()
    np.testing.assert_allclose(shares["ours"], shares["theirs"], atol=0.07)
    assert np.ptp(shares["ours"]) > 0.2


# The guarantee


def errs(algorithm: Any, runs: int, instance: Instance = LIAR, seed: int = 1) -> int:
    results = shortlist.compare(algorithm, instance, runs=runs, seed=seed, progress=False)
    assert results.frame["stopped"].all()
    return int((~results.frame["correct"]).sum())


@pytest.mark.slow
def test_where_a_linear_algorithm_errs_mislid_does_not() -> None:
    for linear in ("m-LinGapE", MisLid(misspecification=0.0)):
        shown_above(0.05, lambda runs, seed: errs(linear, runs, seed=seed))  # noqa: B023
    for honest in (
        MisLid(misspecification=LIE),
        MisLid(misspecification=LIE, stop="glr"),
    ):
        assert errs(honest, 14) == 0  # one that errs in a fifth of its runs is found out by 95 %


@pytest.mark.slow
def test_on_other_instances_it_does_not_err_either() -> None:
    """Random ones, a few runs of each, whose boundary is at least as wide as the lie."""
    wrong = runs = 0
    for seed in range(30):
        instance = lying(K=8, N=2, m=2, c=0.08, seed=seed, sigma=0.3)
        ordered = np.sort(instance.means)
        if ordered[-2] - ordered[-3] > 0.08:
            wrong += errs(MisLid(misspecification=0.08), 2, instance)
            runs += 2
    assert runs >= 28  # of one that errs in a tenth of its runs, these show an error by 95 %
    assert wrong == 0


def test_a_little_misspecification_costs_little() -> None:
    """Between the linear and the classical problem the evaluations grow with c."""
    instance = lying(K=16, N=3, m=4, c=0.01, seed=0, sigma=0.3)
    means = [
        shortlist.compare(MisLid(misspecification=c), instance, runs=5, progress=False)
        .frame["samples"]
        .mean()
        for c in (0.0, 0.01, 10.0)
    ]
    assert means[0] <= 1.1 * means[1]
    assert means[1] <= 0.6 * means[2]


@pytest.mark.slow
def test_slack_is_used() -> None:
    loose = shortlist.compare(
        MisLid(misspecification=LIE), LIAR, runs=5, epsilon=0.3, progress=False
    ).frame
    strict = shortlist.compare(MisLid(misspecification=LIE), LIAR, runs=5, progress=False).frame
    assert loose["correct"].all()
    assert loose["samples"].mean() < 0.7 * strict["samples"].mean()


# In a study


def begin(c: float = LIE, **settings: Any) -> shortlist.Study:
    return shortlist.Study(
        LIAR.features,
        3,
        **{"sigma": 0.3, "seed": 1, "algorithm": MisLid(misspecification=c), **settings},
        audit=False,
    )


def result(trial: Any) -> float:
    noise = np.random.default_rng(trial.seed).standard_normal()
    return float(LIAR.means[trial.arm] + 0.3 * noise)


def test_a_stored_study_knows_its_misspecification(tmp_path: Path) -> None:
    study = begin(0.1 + 0.2, storage=tmp_path / "study.db")
    study.run(result, progress=False, max_evaluations=140)
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert loaded.procedure.name == "MisLid (c = 0.3)"
    assert loaded.procedure.relation.tolerance == 0.1 + 0.2
    assert loaded.statistic == study.statistic
    memory = begin(0.1 + 0.2)
    memory.run(result, progress=False, max_evaluations=140)
    assert [t.arm for t in loaded.ask(30)] == [t.arm for t in memory.ask(30)]
    with pytest.raises(errors.StudyMismatch, match=r"MisLid .*0\.2"):
        begin(0.2, storage=tmp_path / "study.db")
    with pytest.raises(errors.StudyMismatch, match="glr"):
        begin(storage=tmp_path / "study.db", algorithm=MisLid(misspecification=LIE, stop="glr"))
    again = shortlist.Study.load(
        tmp_path / "study.db", algorithm=MisLid(misspecification=0.1 + 0.2)
    )
    assert again.evaluations == 140


def test_what_a_study_shows_is_the_estimate_with_its_bounds() -> None:
    study = begin()
    study.run(result, progress=False)
    table = study.table()
    averages = [
        np.mean([t.value for t in study.trials if t.arm == a and t.value is not None])
        for a in range(10)
    ]
    # Means by least squares would be off by the lie; the estimate is not.
    assert np.abs(table["estimate"] - averages).max() < 0.5 * LIE
    assert np.abs(study.posterior.means - averages).max() > LIE
    assert (table["lower"] <= LIAR.means).all()
    assert (LIAR.means <= table["upper"]).all()
    assert set(study.shortlist) == set(np.argsort(-LIAR.means)[:3].tolist())


@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_the_stop_is_where_the_gap_of_its_pair_ends(stop: Any) -> None:
    study = begin(2 * LIE, algorithm=MisLid(misspecification=2 * LIE, stop=stop), epsilon=0.3)
    study.run(result, progress=False)
    last = study.history().last
    assert last is not None
    assert last.table["gap_upper"].iloc[last.c] == study.statistic <= 0.3
    assert last.table.loc[~last.table["in_shortlist"], "gap_upper"].max() == study.statistic
    assert (last.table["gap_lower"] <= last.table["gap"]).all()
    assert (last.table["gap"] <= last.table["gap_upper"]).all()


@pytest.mark.slow
def test_guarantee_and_reports_name_c() -> None:
    study = begin()
    words = study.procedure.claim.text
    assert words.startswith(
        "Proven if the means are within c = 0.15 of linear in the features: with"
    )
    assert "within c = 0.15 of θ·x" in dict(study.shortlist.guarantee.rests_on)["Model"]
    assert dict(specification(study))["Misspecification, c"] == "0.15"
    written = methods(Analysis(study))
    assert "linear in them to within c = 0.15" in written
    assert "Tirinzoni" in written
    page = html(study)
    for words in ("MisLid (c = 0.15)", "within c = 0.15 of linear", "Misspecification, c"):
        assert words in page


def test_the_guarantee_names_the_noise_as_it_was_told() -> None:
    bounded = begin(sigma="bounded", reward_range=(-3.0, 3.0)).procedure
    assert "provided all results lie in that range" in bounded.claim.text
    assert "within c = 0.15 of linear" in bounded.claim.text
    each = begin(sigma=[0.1] * 9 + [0.3]).procedure
    assert each.proven
    assert each.engine.setup.sigma == 0.3  # the largest holds for all
    with pytest.raises(errors.InvalidSetting, match="sigma='estimate'"):
        begin(sigma="estimate")


def test_health_tests_c_and_not_linearity() -> None:
    for c, level in ((LIE, "fine"), (0.01, "warning")):
        study = begin(c)
        noise = np.random.default_rng(0)
        for k in range(600):
            value = LIAR.means[k % 10] + 0.3 * noise.standard_normal()
            study.tell(arm=k % 10, value=float(value))
        fit = {finding.name: finding for finding in study.health()}["fit"]
        assert fit.level == level
        assert f"c = {c:g}" in fit.words


def test_with_as_many_features_as_arms_nothing_is_assumed() -> None:
    rng = np.random.default_rng(0)
    square = rng.standard_normal((5, 5))
    instance = shortlist.instances.from_arrays(
        square, means=[1.0, 0.6, 0.2, 0.1, 0.0], m=2, sigma=0.3
    )
    frames = [
        shortlist.compare(MisLid(misspecification=c), instance, runs=5, progress=False).frame
        for c in (0.0, 5.0)
    ]
    assert frames[0]["pulls"].tolist() == frames[1]["pulls"].tolist()


@pytest.mark.parametrize("c", [-0.1, math.inf, math.nan, 10**400, "0.1", True, None, [0.1]])
def test_a_misspecification_is_a_number(c: Any) -> None:
    with pytest.raises(errors.InvalidSetting, match="misspecification must be a number, 0 or more"):
        MisLid(misspecification=c)


def test_other_words_are_refused_with_reasons() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"shortlist\.MisLid\(misspecification=…\)"):
        find_algorithm("MisLid")
    with pytest.raises(errors.UnknownName, match="stop"):
        MisLid(misspecification=0.1, stop="never")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidSetting, match="cannot be replaced"):
        begin(threshold="frequentist")
    assert MisLid(misspecification=1) == MisLid(misspecification=np.float64(1.0))


def test_more_arms_than_tables_are_kept_for_are_refused() -> None:
    features = np.random.default_rng(0).standard_normal((mislid.MOST_ARMS + 1, 2))
    with pytest.raises(
        errors.InvalidSetting, match="for 4,000 arms at most, got 4,001: use m-LinGapE"
    ):
        shortlist.Study(features, 2, sigma=1.0, algorithm=MisLid(misspecification=0.1), audit=False)


def test_auto_leaves_it_its_own_threshold() -> None:
    assert begin(threshold="auto").procedure.threshold.name == "misspecified_pairs"


def test_first_pulls_are_fewer_where_arms_are_many() -> None:
    for K, first in ((5, 10), (20, 10), (40, 5), (500, 1)):
        rng = np.random.default_rng(K)
        problem = Problem.of(rng.standard_normal((K, 3)), 2, sigma=1.0)
        wanted = MisLid(misspecification=0.1).bind(problem).engine.setup.wanted
        assert wanted.tolist() == [first] * K
    assert mislid.FIRST == 10


def test_a_screen_file_takes_a_misspecification(tmp_path: Path) -> None:
    rows = [f"arm{a},{x},{y},{z}" for a, (x, y, z) in enumerate(LIAR.features)]
    (tmp_path / "features.csv").write_text("name,x,y,z\n" + "\n".join(rows))
    base = 'features = "features.csv"\nm = 3\nsigma = 0.3\nseed = 1\n'
    screen = tmp_path / "screen.toml"
    screen.write_text(base + "misspecification = 0.15\n")
    made = run("new", screen)
    assert made.exit_code == 0, made.output
    assert "MisLid (c = 0.15)" in made.output
    assert shortlist.Study.load(tmp_path / "screen.db").procedure.name == "MisLid (c = 0.15)"
    screen.write_text(base + 'misspecification = 0.15\nalgorithm = "LUCB"\n')
    refused = run("new", screen)
    assert refused.exit_code != 0
    for bad in ("-0.1", "inf", "nan", "true", '"0.1"'):
        screen.write_text(base + f'name = "bad"\nmisspecification = {bad}\n')
        refused = run("new", screen)
        assert refused.exit_code == 2, bad
        assert "misspecification must be a number" in " ".join(refused.output.split())
    screen.write_text(base + 'name = "bad"\nalgorithm = "MisLid"\n')
    refused = run("new", screen)
    assert "needs the key misspecification" in " ".join(refused.output.split())


def test_the_list_of_algorithms_names_it() -> None:
    listed = run("algorithms").output
    assert f"{MisLid.summary}\n" in listed
