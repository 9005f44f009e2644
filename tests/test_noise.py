"""Noise that nobody told us: half a range, a σ for every arm, or an estimate; and what it is worth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import shortlist
from by_plans import run_by_plans
from command_line import fails, run
from error_rates import shown_below
from samples import improbability
from shortlist import errors
from shortlist.designs import Designs
from shortlist.engine.fits import Posterior
from shortlist.engine.rewards import drawer
from shortlist.noise import Noise
from shortlist.noise import noise as base
from shortlist.noise.bounded import Bounded
from shortlist.noise.given import Each
from shortlist.noise.normality import mostly_equal
from shortlist.report.analysis import Analysis

RNG = np.random.default_rng(11)
X = RNG.normal(size=(6, 3))
MEANS = X @ [0.2, -0.1, 0.08]
NAMES = tuple("abcdef")
EACH = [0.5, 0.1, 0.3, 0.05, 0.2, 0.4]
DELTA = 0.05
TRACKING = ["LinGame"]
NAMED = ["m-LinGapE", "m-LinGapE optimized", "LinGIFA", "LUCB", *TRACKING]


def begin(**given: Any) -> shortlist.Study:
    settings = {"m": 2, "seed": 3, "sigma": 0.4, "algorithm": "m-LinGapE", "intercept": False}
    if "estimate" in str(given.get("sigma")):
        settings["algorithm"] = "Guess-and-verify"
    settings |= given
    return shortlist.Study(X, arms=NAMES, **settings, audit=False)


def value(trial: Any, sigma: float | list[float] = 0.4) -> float:
    spread = np.broadcast_to(sigma, 6)[trial.arm]
    return float(MEANS[trial.arm] + spread * np.random.default_rng([trial.seed, 1]).normal())


def go_on(study: shortlist.Study, most: int, answer: Callable[[Any], float] = value) -> None:
    for _ in range(most):
        if study.done:
            return
        trial = study.ask()
        study.tell(trial, answer(trial))


# Weighted least squares


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(("arms", "whole"), [(8, True), (90, False)])
@pytest.mark.parametrize("rounds", [300, 1500])
def test_the_posterior_is_weighted_least_squares(
    ridge: float, arms: int, whole: bool, rounds: int
) -> None:
    rng = np.random.default_rng(arms)
    features = rng.standard_normal((arms, 4))
    relative = rng.uniform(0.001, 1.0, arms)
    posterior = Posterior(features, regularization=ridge, shift=0.05, whole=whole, noise=relative)
    told = [*range(arms), *rng.integers(0, arms, rounds).tolist()]
    values = rng.standard_normal(len(told))
    for k, (arm, result) in enumerate(zip(told, values, strict=True)):
        posterior.observe(arm, float(result))
        if k == arms:
            posterior.refresh()
            posterior.row(2)
    weights = 1.0 / relative[told]
    Z = features[told]
    A = (Z.T * weights) @ Z
    V = A + ridge * np.eye(4)
    np.testing.assert_allclose(
        posterior.means, features @ np.linalg.solve(V, Z.T @ (weights * values)), atol=1e-9
    )
    gram = features @ np.linalg.solve(V, features.T)
    np.testing.assert_allclose(posterior.variances, np.diag(gram), rtol=1e-8)
    np.testing.assert_allclose(posterior.row(2), gram[2], atol=1e-9)
    expected = np.linalg.slogdet(np.eye(4) + A / 0.05)[1]
    assert posterior.log_det == pytest.approx(expected, rel=1e-9)
    # And that the test can fail: unweighted least squares is another.
    plain = features @ np.linalg.solve(Z.T @ Z + ridge * np.eye(4), Z.T @ values)
    assert np.abs(plain - posterior.means).max() > 1e-3


def test_a_direction_seen_for_the_first_time_keeps_its_digits() -> None:
    posterior = Posterior(np.eye(2), regularization=1e-9, noise=np.array([0.25, 1.0]))
    posterior.observe(0, 3.0)
    assert posterior.means[0] == pytest.approx(3.0, rel=1e-9)
    assert posterior.variances[0] == pytest.approx(0.25, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("threshold", ["self_normalized", "frequentist"])
def test_equal_sigmas_are_one_sigma_bit_for_bit(name: str, threshold: str) -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0, sigma=0.37)
    S = 2.0
    options: dict[str, Any] = {"runs": 6, "threshold": threshold, "S": S, "progress": False}
    one = shortlist.compare(name, instance, **options).frame
    each = shortlist.compare(name, instance, sigma=[0.37] * 4, **options).frame
    pd.testing.assert_frame_equal(one, each)


def test_greedy_shrinks_the_pair_most() -> None:
    study = begin(sigma=EACH)
    for _ in range(150):
        go_on(study, 1, lambda trial: value(trial, EACH))
        if study.done:
            break
        if study.statistic is None:
            continue
        trial = study.ask()
        why, pulls = study.why(trial), study.posterior.pulls
        b, c = NAMES.index(why.b), NAMES.index(why.c)
        relative = study.problem.relative_noise
        V = (X.T * (pulls / relative)) @ X
        after = [
            (X[b] - X[c]) @ np.linalg.solve(V + np.outer(X[a], X[a]) / relative[a], X[b] - X[c])
            for a in range(6)
        ]
        assert after[trial.arm] == pytest.approx(min(after), rel=1e-9)
        study.tell(trial, value(trial, EACH))
    assert study.evaluations > 60


def test_optimized_pulls_by_the_cheapest_combination() -> None:
    relative = (np.array(EACH) / 0.5) ** 2
    sigmas, designs = np.sqrt(relative), Designs(X, relative)
    for b, c in ((0, 1), (2, 5), (3, 4)):
        # Σ σ_a |w_a|, the root of the variance that the best shares of the pulls give.
        best = linprog(
            np.tile(sigmas, 2), A_eq=np.hstack([X.T, -X.T]), b_eq=X[b] - X[c], method="highs"
        )
        assert designs.of(b, c).sum() == pytest.approx(best.fun, rel=1e-7)
    alone = Designs(np.eye(6), relative).of(1, 3)
    assert alone.tolist() == [0.0, sigmas[1], 0.0, sigmas[3], 0.0, 0.0]


def test_classical_widths_are_those_of_each_arm() -> None:
    study = shortlist.Study(arms=NAMES, m=2, sigma=dict(zip(NAMES, EACH, strict=True)), seed=0,
                            algorithm="LUCB")  # fmt: skip
    go_on(study, 40, lambda trial: value(trial, EACH))
    table, C = study.table(), study.procedure.engine.threshold(study.posterior)
    widths = (table["upper"] - table["lower"]) / 2.0
    np.testing.assert_allclose(widths, C * np.array(EACH) / np.sqrt(table["pulls"]), rtol=1e-9)
    assert study.procedure.proven
    assert "the noise of every arm is sub-Gaussian with its σ" in study.shortlist.guarantee.text


def test_the_lower_bound_with_noise_by_arm() -> None:
    # Two arms about which nothing is known: pulls go as σ_a, and T* = 2(σ_1 + σ_2)²/Δ².
    instance = shortlist.instances.from_arrays(np.eye(2), means=[1.0, 0.5], m=1, sigma=[0.2, 0.6])
    bound = shortlist.theory.lower_bound(instance)
    assert bound.t_star == pytest.approx(2 * 0.8**2 / 0.25, rel=2e-3)
    np.testing.assert_allclose(bound.allocation, [0.25, 0.75], atol=0.02)
    with pytest.raises(errors.InvalidSetting, match="for one σ"):
        shortlist.theory.constants(instance)
    with pytest.raises(errors.InvalidSetting, match="for one σ"):
        shortlist.theory.upper_bounds(instance)


def test_shares_go_as_the_noise() -> None:
    # Two arms about which nothing is known: w* pulls them as σ_a, .8 for the second.
    instance = shortlist.instances.from_arrays(np.eye(2), means=[0.2, 0.0], m=1, sigma=[0.25, 1.0])
    shares = {}
    for name in TRACKING:
        frame = shortlist.compare(name, instance, runs=20, progress=False).frame
        pulls = np.array(frame["pulls"].tolist()).sum(axis=0)
        shares[name] = pulls[1] / pulls.sum()
    assert 0.6 < shares["LinGame"] < 0.8  # its learner is slow


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m-LinGapE", "m-LinGapE optimized", "LUCB", *TRACKING])
def test_errors_with_noise_by_arm(name: str) -> None:
    sigma = [0.5, 0.05, 0.3, 0.1]
    features = shortlist.instances.classic(K=4, m=2, omega=1.0).features
    instance = shortlist.instances.from_arrays(features, theta=[1, 0, 0], m=2, sigma=sigma)
    own: list[pd.DataFrame] = []

    def errors_in(runs: int, seed: int) -> int:
        own.append(shortlist.compare(name, instance, runs, seed=seed, progress=False).frame)
        return int((~own[-1]["correct"]).sum())

    shown_below(DELTA, errors_in)
    worst = shortlist.compare(name, instance, runs=65, sigma=0.5, progress=False).frame
    assert pd.concat(own)["samples"].mean() < 0.8 * worst["samples"].mean()


def test_a_study_with_noise_by_arm_looks_ahead_and_at_itself() -> None:
    study = begin(sigma=pd.Series(EACH, index=list(NAMES)).iloc[::-1])
    assert study.problem.noise.each.tolist() == EACH  # type: ignore[union-attr]
    go_on(study, 65, lambda trial: value(trial, EACH))
    assert not study.done
    assert study.remaining().evaluations is not None
    assert {each.name: each.level for each in study.health()}["noise"] == "fine"
    noisy = begin(sigma=EACH)
    go_on(noisy, 65, lambda trial: value(trial, [3 * each for each in EACH]))
    finding = next(each for each in noisy.health() if each.name == "noise")
    assert finding.level == "warning"
    assert "times their arm's σ" in finding.words


# Bounded results


def test_half_the_range_is_sigma() -> None:
    study = begin(sigma="bounded", reward_range=(-1, 3))
    assert study.problem.sigma == 2.0
    words = study.procedure.claim.text
    assert "σ = 2, half the range from -1 to 3" in words
    assert words.endswith("provided all results lie in that range and the means are linear in the "
                          "features.")  # fmt: skip
    assert study.procedure.proven


def test_results_outside_the_range_are_refused() -> None:
    study = begin(sigma="bounded", reward_range=(0, 1))
    first, second = study.ask(2)
    before = study.fingerprint
    for wrong in (1.0000001, -0.01, 7):
        with pytest.raises(errors.InvalidInput, match=r"lie in reward_range=\(0, 1\), got"):
            study.tell(first, wrong)
        with pytest.raises(errors.InvalidInput, match="nothing was told"):
            study.tell(arm="a", value=wrong)
    with pytest.raises(errors.InvalidInput, match="start a new study with a wider range"):
        study.tell_many([(first, 0.5), (second, 1.5)])
    assert study.fingerprint == before
    study.tell_many([(first, 0.0), (second, 1.0)])
    assert study.evaluations == 2


def test_a_run_ends_at_a_result_outside_the_range_and_keeps_the_trial_open() -> None:
    study = begin(sigma="bounded", reward_range=(0, 1))

    def objective(trial: Any) -> float:
        return 1.5 if trial.number == 7 else 0.5

    with pytest.raises(errors.InvalidInput, match=r"got 1\.5"):
        study.run(objective, max_failures=100, progress=False)
    assert [trial.number for trial in study.pending] == [7]
    assert not any(trial.state == "failed" for trial in study.trials)


def test_bernoulli_by_its_range() -> None:
    instance = shortlist.instances.from_arrays(
        np.eye(4), means=[0.8, 0.6, 0.3, 0.2], m=2, sigma=1.0, noise="bernoulli"
    )
    frame = shortlist.compare(
        "LUCB", instance, runs=200, sigma="bounded", reward_range=(0, 1), progress=False
    ).frame
    assert improbability(int((~frame["correct"]).sum()), 200, DELTA) > 0.001


# An estimate


@pytest.mark.parametrize(
    "settings",
    [{"algorithm": "LUCB"}, {"algorithm": "m-LinGapE"}, {"threshold": "heuristic"}],
    ids=str,
)
@pytest.mark.parametrize("word", ["estimate", "estimate per arm"])
def test_gap_indices_need_a_known_sigma(word: str, settings: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidSetting, match=f"'{word}' estimates it: .*algorithm='auto'"):
        shortlist.Study(X, m=2, sigma=word, **settings)
    auto = shortlist.Study(X, m=2, sigma=word, algorithm="auto")  # as advised
    assert auto.procedure.proven


@pytest.mark.slow
def test_a_comparison_estimates_as_a_study_does() -> None:
    instance = shortlist.instances.from_arrays(X, means=MEANS, m=2, sigma=0.4, arms=NAMES)
    frame = shortlist.compare(
        "Guess-and-verify", instance, runs=3, sigma="estimate", progress=False, seed=5
    ).frame
    for row in frame.itertuples():
        study = begin(sigma="estimate", seed=row.seed)
        draw = drawer(instance.rewards, row.seed)
        while not study.done:
            plan = study.ask(study.round.until_decision)
            values = draw(np.array([trial.arm for trial in plan]))
            study.tell_many(zip(plan, values.tolist(), strict=True))
        assert study.posterior.pulls.tolist() == row.pulls
        assert sorted(study.shortlist.names) == sorted(row.recommendation)


# An estimate for each arm

PER_ARM = "estimate per arm"
ESTIMATED = ("estimate", PER_ARM)
UNEQUAL = [3.5, 0.05, 1.0, 0.1, 0.05, 2.0]


def equal(trial: Any) -> float:
    return float(MEANS[trial.arm])


def equal_of_one(trial: Any) -> float:
    return value(trial, [0.0, 0.1, 0.1, 0.1, 0.1, 0.1])


def two_values(trial: Any) -> float:
    return equal(trial) + (0.2 if trial.seed % 2 else -0.2)


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("sigma", ["estimate", PER_ARM])
@pytest.mark.parametrize("measure", [equal, equal_of_one, two_values])
def test_results_that_are_mostly_equal_prove_nothing_of_normal_noise(
    measure: Callable[[Any], float], sigma: str, features: bool
) -> None:
    algorithm = f"Guess-and-verify{'' if features else ' (own results)'}"
    study = begin(sigma=sigma, epsilon=0.1, algorithm=algorithm)
    run_by_plans(study, measure)
    assert study.shortlist.guarantee.status == "in doubt"
    warned = {each.name for each in study.health() if each.level == "warning"}
    assert warned & {"noise", "normal"}


@pytest.mark.parametrize("seed", [1, 9, 16])
def test_a_single_replicate_does_not_contradict_linear_means(seed: int) -> None:
    """It was taken for what is usual of all arms: 8 of 100 studies were ended after ten evaluations."""
    features = np.random.default_rng(0).normal(size=(30, 3))
    means, rng = features @ [0.5, 0.3, 0.2], np.random.default_rng(seed)
    study = shortlist.Study(features, m=3, sigma=PER_ARM, seed=0, epsilon=0.05)
    study.run(
        lambda t: float(means[t.arm] + 0.2 * rng.normal()), max_evaluations=16, progress=False
    )
    assert study.audit.rejection is None


def test_rounded_results_may_be_equal() -> None:
    results = RNG.normal(size=(400, 12)).round(1)
    assert mostly_equal(np.repeat(np.arange(400), 12), results.ravel()) is None


# Stored, and by command line

KINDS: list[dict[str, Any]] = [
    {"sigma": EACH},
    {"sigma": "bounded", "reward_range": (-5, 5)},
    {"sigma": "estimate"},
    {"sigma": "estimate", "algorithm": "Guess-and-verify"},
    {"sigma": "estimate per arm", "algorithm": "Guess-and-verify"},
    {"sigma": "estimate per arm"},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "at"),
    [(each, at) for each in KINDS for at in (20, 66)],
    ids=str,
)
def test_a_stored_study_goes_on_as_if_it_had_not_stopped(
    given: dict[str, Any], at: int, tmp_path: Path
) -> None:
    place = tmp_path / "study.db"
    kept, memory = begin(storage=place, **given), begin(**given)
    go_on(kept, at)
    go_on(memory, at)
    loaded = shortlist.Study.load(place)
    for study in (loaded, begin(storage=place, **given)):
        assert study.fingerprint == memory.fingerprint
        np.testing.assert_array_equal(study.problem.sigma, memory.problem.sigma)
        assert study._log.model.digest() == memory._log.model.digest()
        assert study.shortlist.guarantee.text == memory.shortlist.guarantee.text
    go_on(loaded, 40)
    go_on(memory, 40)
    kept.refresh()
    for study in (loaded, kept):
        assert study.fingerprint == memory.fingerprint
        assert [trial.arm for trial in study.trials] == [trial.arm for trial in memory.trials]
        assert study.statistic == memory.statistic
    past = kept.history()
    statistic = math.nan if memory.statistic is None else memory.statistic
    np.testing.assert_equal(past.frame["statistic"].iloc[-1], statistic)
    with pytest.raises(errors.StudyMismatch, match="stored with sigma ="):
        begin(storage=place, **{**given, "sigma": 0.4, "reward_range": None})


def test_what_is_stored_makes_the_same_noise() -> None:
    for given in ({"sigma": 0.4}, *KINDS):
        stated = Noise.of(given["sigma"], given.get("reward_range"), tuple("abcdef"))
        again = Noise.read(json.loads(json.dumps(stated.written)))
        assert type(again) is type(stated)
        assert again.written == stated.written
        assert (again.figure, again.limits) == (stated.figure, stated.limits)


def test_reports_say_where_sigma_is_from() -> None:
    words = {
        "each": "given, not estimated",
        "bounded": "Hoeffding 1963",
        "estimate": "Nothing is assumed of σ",
    }
    for given in KINDS[:3]:
        study = begin(**given)
        go_on(study, 90)
        assert words[study.problem.noise.word] in dict(study.shortlist.guarantee.rests_on)["Noise"]
        text = shortlist.report.methods.methods(Analysis(study))
        assert study.problem.noise.figure in text
        rows = dict(shortlist.report.sections.specification(study))
        assert rows["Noise, σ"] in study.problem.noise.figure


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.chdir(tmp_path)
    Path("sigma.csv").write_text("arm,sigma\nb,0.2\na,0.1\nc,0.3\n")

    def write(sigma: str) -> None:
        Path("screen.toml").write_text(f'arms = ["a", "b", "c"]\nm = 1\n{sigma}\n')

    return write


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        ('sigma = "bounded"\nreward_range = [0, 1]', "results from 0 to 1; "),
        ('sigma = "estimate"', "normal, with one σ for all arms"),
        (
            'sigma = "estimate per arm"',
            "normal, with a σ of its own for each arm",
        ),
        ("sigma = [0.1, 0.2, 0.3]", "σ per arm from 0.1 to 0.3"),
        ("sigma = {c = 0.3, a = 0.1, b = 0.2}", "σ per arm from 0.1 to 0.3"),
        ('sigma = "sigma.csv"', "σ per arm from 0.1 to 0.3"),
    ],
)
def test_a_screen_file_says_what_the_noise_is(
    screen: Callable[[str], None], sigma: str, words: str
) -> None:
    screen(sigma)
    for _ in range(2):
        result = run("new", "screen.toml")
        assert result.exit_code == 0, result.output
        assert words in " ".join(result.output.split())
    assert run("ask", "screen.toml", "-n", 3, "--out", "plate.csv").exit_code == 0
    Path("plate.csv").write_text(Path("plate.csv").read_text().replace(",\n", ",0.5\n"))
    assert run("tell", "screen.toml", "plate.csv").exit_code == 0
    assert run("status", "screen.toml").exit_code == 0
    stored = shortlist.Study.load("screen.db").problem.noise
    if stored.limits == (0.0, 1.0):
        assert run("ask", "screen.toml", "-n", 2, "--out", "next.csv").exit_code == 0
        Path("next.csv").write_text(Path("next.csv").read_text().replace(",\n", ",1.5\n"))
        where = ("next.csv, line 2: a result must lie in reward_range = [0, 1], got 1.5",)
        fails(run("tell", "screen.toml", "next.csv"), 2, *where)
        fails(
            run("tell", "screen.toml", "--arm", "a", "--value", 2), 2, "got 2.0: nothing was told"
        )
    if isinstance(stored, Each):
        assert stored.each.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        ('sigma = "bouned"', "unknown sigma 'bouned': did you mean 'bounded'"),
        ('sigma = "bounded"', "give reward_range = [low, high]"),
        ('sigma = "bounded"\nreward_range = [1, 0]', "from the lowest result to the highest"),
        (
            "sigma = 0.1\nreward_range = [0, 1]",
            'reward_range can only be used with sigma = "bounded"',
        ),
        ("sigma = [0.1, 0.2]", "one number for each of the 3 arms, got 2"),
        ("sigma = {a = 0.1, b = 0.2}", "no number for arm 'c'"),
        ('sigma = "sigmas.csv"', "there is no file"),
    ],
)
def test_a_screen_file_with_wrong_noise(
    screen: Callable[[str], None], sigma: str, words: str
) -> None:
    screen(sigma)
    fails(run("new", "screen.toml"), 2, words)
    assert not Path("screen.db").exists()


# What cannot be

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"sigma": "bounds"}, "unknown sigma 'bounds': did you mean 'bounded'"),
    ({"sigma": "Estimate"}, "unknown sigma 'Estimate': did you mean 'estimate'"),
    ({"sigma": "estimate_per_arm"}, "did you mean 'estimate per arm'"),
    ({"sigma": "estimate per arm", "reward_range": (0, 1)}, "only be used with sigma='bounded'"),
    ({"sigma": "0.5"}, "Write 0.5, without quotes"),
    ({"sigma": None, "reward_range": (0, 1)}, "needs sigma='bounded' beside it"),
    ({"sigma": "estimate", "reward_range": (0, 1)}, "can only be used with sigma='bounded'"),
    ({"sigma": EACH, "reward_range": (0, 1)}, "can only be used with sigma='bounded'"),
    ({"sigma": "bounded"}, r"needs the range of the results: give reward_range=\(low, high\)"),
    ({"sigma": "bounded", "reward_range": (1, 0)}, r"lowest result to the highest, got \(1, 0\)"),
    ({"sigma": "bounded", "reward_range": (1, 1)}, r"lowest result to the highest, got \(1, 1\)"),
    ({"sigma": "bounded", "reward_range": (0, np.inf)}, "two finite numbers"),
    ({"sigma": "bounded", "reward_range": (np.nan, 1)}, "two finite numbers"),
    ({"sigma": "bounded", "reward_range": (-1e308, 1e308)}, "lowest result to the highest"),
    ({"sigma": "bounded", "reward_range": (0, 1, 2)}, "two finite numbers .* got"),
    ({"sigma": "bounded", "reward_range": 1.0}, "two finite numbers .* got 1.0"),
    ({"sigma": "bounded", "reward_range": "01"}, "two finite numbers .* got '01'"),
    ({"sigma": "bounded", "reward_range": (False, True)}, "two finite numbers"),
    ({"sigma": EACH[:5]}, "one number for each of the 6 arms, got 5"),
    ({"sigma": []}, "one number for each of the 6 arms, got 0"),
    ({"sigma": np.ones((6, 1))}, r"one number for each of the 6 arms, got shape \(6, 1\)"),
    ({"sigma": np.array(0.5)}, r"got shape \(\)"),
    ({"sigma": [*EACH[:5], 0.0]}, "sigma of arm 'f' must be above 0 and finite, got 0.0"),
    ({"sigma": [*EACH[:5], -1]}, "sigma of arm 'f' must be above 0 and finite, got -1.0"),
    ({"sigma": [*EACH[:5], np.nan]}, "sigma of arm 'f' must be above 0 and finite, got nan"),
    ({"sigma": [*EACH[:5], np.inf]}, "sigma of arm 'f' must be above 0 and finite, got inf"),
    ({"sigma": [*EACH[:5], "x"]}, "sigma of arm 'f' must be a number, got 'x'"),
    ({"sigma": [*EACH[:5], None]}, "sigma of arm 'f' must be a number, got None"),
    ({"sigma": [True] * 6}, "sigma of arm 'a' must be a number, got True"),
    ({"sigma": [EACH] * 6}, "sigma of arm 'a' must be a number"),
    ({"sigma": dict.fromkeys("abcde", 0.1)}, "no number for arm 'f': give one for every arm"),
    ({"sigma": dict.fromkeys("abcdefg", 0.1)}, "unknown arm in sigma 'g'"),
    ({"sigma": pd.Series(EACH)}, "unknown arm in sigma '0'"),
    ({"sigma": pd.Series(EACH, index=list("aacdef"))}, "names the arm 'a' twice"),
    ({"sigma": {0.5}}, "sigma must be a number, got {0.5}"),
    ({"sigma": np.nan}, "sigma must be above 0 and finite, got nan"),
    ({"sigma": True}, "sigma must be a number, got True"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[str(given) for given, _ in WRONG])
def test_wrong_noise(given: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        begin(**given)


def test_an_instance_must_know_its_noise() -> None:
    for word in ESTIMATED:
        with pytest.raises(errors.InvalidSetting, match=f"Pass sigma='{word}' to compare"):
            shortlist.instances.from_arrays(X, means=MEANS, m=2, sigma=word)


def test_a_kind_of_noise_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "KINDS", dict(base.KINDS))

    class Shares(Bounded):
        """Shares of some number of trials that succeed."""

        word = "shares"

        def __init__(self, trials: float) -> None:
            super().__init__(0.0, 1.0)
            self.trials, self.sigma = trials, 0.5 / math.sqrt(trials)

        @property
        def figures(self) -> list[float]:
            return [self.trials]

        @property
        def assumption(self) -> str:
            return f"a result is a share of {self.trials:g} trials"

    study = shortlist.Study(np.eye(3), m=1, sigma=Shares(25), seed=0, storage=tmp_path / "own.db")
    while not study.done:
        trial = study.ask()
        study.tell(trial, [0.9, 0.5, 0.1][trial.arm])
    again = shortlist.Study.load(tmp_path / "own.db")
    assert again.problem.noise.written == ["shares", 25]
    assert again.problem.sigma == 0.1
    assert "provided a result is a share of 25 trials" in str(again.shortlist.guarantee)
    with pytest.raises(errors.InvalidInput, match="must lie in"):
        again.tell(arm=0, value=1.5)


def test_a_kind_of_noise_that_nobody_defined_is_named() -> None:
    with pytest.raises(errors.UnknownName, match="kind of noise"):
        Noise.read(["poisson", 3.0])
