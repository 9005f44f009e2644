"""What an answer says of what its proof needs, where attacks break that."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import guarantee

RUNS = 12


def first_line(study: shortlist.Study) -> str:
    return study.shortlist.guarantee.short.splitlines()[0]


def second_line(study: shortlist.Study) -> str:
    return study.shortlist.guarantee.short.splitlines()[1]


# Which trials failed, and in which order results were told


def cancelled_by_peeking(seed: int) -> shortlist.Study:
    """A near tie of which the worse arm is made to win.

    Copies of a plan are measured before any is told. What lies before the luckiest end is cancelled, and
    the rest is told in the order in which it was asked for.
    """
    noise = np.random.default_rng(seed)
    study = shortlist.Study(
        arms=["worse", "better"], m=1, sigma=1.0, seed=seed, algorithm="Guess-and-verify"
    )
    for _ in range(40):
        if study.done:
            break
        trials = study.ask(12)
        values = [1e-9 * trial.arm + noise.standard_normal() for trial in trials]
        lead = [value * (1 - 2 * trial.arm) for trial, value in zip(trials, values, strict=True)]
        start = int(np.argmax(np.cumsum(lead[::-1])[::-1]))
        for trial in trials[:start]:
            study.cancel(trial)
        for trial, value in zip(trials[start:], values[start:], strict=True):
            if not study.done:
                study.tell(trial, value)
    return study


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")
@pytest.mark.filterwarnings("ignore::shortlist.errors.LikelyTie")
def test_cancelling_by_peeking_breaks_a_condition_that_is_said() -> None:
    studies = [cancelled_by_peeking(seed) for seed in range(RUNS)]
    wrong = [study for study in studies if study.done and study.shortlist.names == ["worse"]]
    assert len(wrong) > RUNS / 2  # far more than δ = 0.05: so the words are needed
    for study in wrong:
        assert guarantee.BLIND in study.shortlist.guarantee.text
        assert "failures" in second_line(study)
        assert "Order" not in dict(study.shortlist.guarantee.rests_on)


def test_what_is_delayed_because_of_its_value_breaks_a_condition_that_is_said() -> None:
    study = shortlist.Study(arms=["ash", "elm"], m=1, sigma=1.0, seed=0, algorithm="LUCB")
    noise = np.random.default_rng(0)
    while not study.done:
        trials = study.ask(2)
        values = {trial.number: trial.arm + noise.standard_normal() for trial in trials}
        for trial in sorted(trials, key=lambda trial: values[trial.number]):
            if not study.done:
                study.tell(trial, values[trial.number])
    assert guarantee.BLIND in study.shortlist.guarantee.text
    assert "order" in second_line(study)


def test_a_trial_that_was_given_out_again_is_named() -> None:
    study = shortlist.Study(arms=["ash", "elm"], m=1, sigma=0.3, seed=0, lease=1e-6)
    study.ask(1)
    while not study.done:
        [trial] = study.ask(1)
        study.tell(trial, float(trial.arm))
    words = study.shortlist.guarantee
    assert "which evaluation of it was told first, depended on no value of it" in words.text
    assert "before they were told: 1." in dict(words.rests_on)["Given out again"]
    assert "Order" not in dict(words.rests_on)  # else it would not matter which was ready first


def test_results_carried_over_say_that_they_chose_neither_seed_nor_algorithm_nor_sigma() -> None:
    study = shortlist.Study(arms=["ash", "elm"], m=1, sigma=0.3, seed=0)
    study.tell(study.ask(), 0.1)
    words = dict(study.continued(seed=7).shortlist.guarantee.rests_on)["Carried over"]
    assert "had no part in the choice of the arms, m, δ, ε, σ, the algorithm and the seed" in words


def test_answers_before_and_after_a_retirement_have_one_delta() -> None:
    noise, names = np.random.default_rng(0), ["ash", "elm", "oak", "yew"]
    study = shortlist.Study(arms=names, m=1, sigma=0.3, seed=0, algorithm="Guess-and-verify")
    study.run(lambda trial: trial.arm + 0.3 * noise.normal(), max_evaluations=8, progress=False)
    study.retire("yew", reason="too dear for what it does")
    study.run(lambda trial: trial.arm + 0.3 * noise.normal(), progress=False)
    assert "The best of 3 that were not retired, with 95 % confidence (" in first_line(study)
    found = dict(study.shortlist.guarantee.rests_on)["Retired"]
    assert "any answer of this study is wrong, the first or a later one, is at most δ." in found


# Plates


def plates(**settings: Any) -> shortlist.Study:
    noise = np.random.default_rng(0)
    names = [f"C{k}" for k in range(6)]
    study = shortlist.Study(arms=names, m=1, blocks="shift", seed=0, **settings)
    while not study.done:
        shift = noise.normal()
        for trial in study.ask(12):
            study.tell(trial, 0.5 * trial.arm + shift + 0.2 * noise.normal())
    return study


def test_plates_say_that_sizes_and_failures_depend_on_no_values() -> None:
    study = plates(sigma=0.2)
    assert "sizes and failures of blocks that depend on no values" in second_line(study)
    words = "how many results a block has and which of them fail depends on no values"
    assert words in study.shortlist.guarantee.text


@pytest.mark.filterwarnings("error::shortlist.errors.GuaranteeInDoubt")
def test_a_correction_leaves_a_proof_a_proof_and_is_named() -> None:
    study = plates(sigma=0.2)
    for number in (3, 4):
        study.correct(number, study.trials[number].value + 0.01, reason="a typo")
    assert study.done
    assert study.claim.proven
    assert "The values now are those that were measured" in study.shortlist.guarantee.text


# Normal noise


def with_extremes(sigma: str, share: float, size: float, seed: int) -> shortlist.Study:
    """An arm with rare extremes beside three others."""
    noise = np.random.default_rng(seed)

    def measure(trial: shortlist.study.trial.Trial) -> float:
        if trial.arm == 0 and noise.random() < share:
            return size
        return [1.0, 0.5, 0.4, 0.3][trial.arm] + 0.3 * noise.normal()

    names = ["extreme", "ash", "elm", "oak"]
    study = shortlist.Study(arms=names, m=1, sigma=sigma, epsilon=0.1, seed=seed)
    study.run(measure, max_evaluations=300, progress=False)
    return study


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")
@pytest.mark.filterwarnings("ignore::shortlist.errors.LikelyTie")
@pytest.mark.parametrize("sigma", ["estimate", "estimate per arm"])
@pytest.mark.parametrize(("share", "size"), [(0.05, -30.0), (0.01, 90.0)])
def test_rare_extremes_break_an_assumption_that_the_first_line_begins_with(
    sigma: str, share: float, size: float
) -> None:
    for seed in range(RUNS):
        study = with_extremes(sigma, share, size, seed)
        worth, values = study.shortlist.guarantee, [trial.value for trial in study.taken]
        if not study.done:
            continue
        if size in values:
            assert worth.status == "in doubt"
            continue
        assert worth.short.startswith("If the noise is normal: the best of 4")
        assert (worth.badge, worth.level) == ("Proven if normal", "plain")
        least = int(study.table()["pulls"].min())
        missed = f"{100 * 0.995**least:.0f} % of sets of {least} results"
        assert missed in worth.text


def test_what_a_set_of_31_cannot_show() -> None:
    assert "86 % of sets of 31 results" in guarantee.rare(31)


def told(values: dict[str, list[float]], **settings: Any) -> shortlist.Study:
    study = shortlist.Study(arms=list(values), m=1, seed=0, **settings)
    longest = max(map(len, values.values()))
    study.tell_unasked(
        (name, values[name][k], None)
        for k in range(longest)
        for name in values
        if k < len(values[name])
    )
    return study


def replicates(seed: int, arms: int = 3, each: int = 40) -> dict[str, list[float]]:
    noise = np.random.default_rng(seed)
    return {f"a{k}": (k + 0.3 * noise.standard_normal(each)).tolist() for k in range(arms)}


@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")
@pytest.mark.parametrize("sigma", ["estimate", "estimate per arm"])
def test_every_replicate_is_looked_at_for_extremes_and_skewness(sigma: str) -> None:
    def level(values: dict[str, list[float]]) -> str:
        findings = {each.name: each for each in told(values, sigma=sigma).health()}
        return findings["normal"].level

    assert level(replicates(0)) == "fine"
    late = replicates(0)
    late["a1"][-1] = -4.0  # long after the first plan
    assert level(late) == "warning"
    skewed = replicates(1)
    noise = np.random.default_rng(1)
    skewed["a2"] = (2.0 - 0.1 * noise.exponential(size=40)).tolist()
    assert level(skewed) == "warning"
    slightly = replicates(1, each=400)
    slightly["a2"] = (2.0 - 0.1 * noise.gamma(8.0, size=400)).tolist()
    assert level(slightly) == "note"


def test_stated_noise_that_need_not_be_normal_is_not_tested_for_it() -> None:
    study = told(replicates(0), sigma=0.3)
    assert "normal" not in {each.name for each in study.health()}
    assert not study.claim.normality


# Linear means


@pytest.mark.filterwarnings("ignore::shortlist.errors.LikelyTie")
def test_linear_means_are_named_with_the_power_of_their_test() -> None:
    noise = np.random.default_rng(0)
    features = noise.normal(size=(12, 2))
    study = shortlist.Study(features, m=2, sigma="estimate per arm", epsilon=0.3, seed=0)
    study.run(
        lambda trial: float(features[trial.arm] @ [1.0, -0.5]) + 0.3 * noise.normal(),
        progress=False,
    )
    assert first_line(study).startswith("If the noise is normal: ")
    short = study.shortlist.guarantee.short
    assert re.search(
        r"means linear in the features \(tested: a typical misfit above 0\.\d+ would", short
    )
    assert study.shortlist.guarantee.badge.startswith("Proven if normal and linear")
