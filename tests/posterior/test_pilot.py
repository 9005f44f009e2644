"""The pilot: what is set aside, what it is a prior for, and that the threshold keeps its promise."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import shortlist
from error_rates import shown_below
from shortlist.posterior.posterior import Posterior
from shortlist.simulation.instances import Instance

RUNS, STEPS, END, DELTA = 20_000, 200, 12, 0.2


def learnt(x: np.ndarray, arms: list[int], values: list[float], aside: int, sigma: float) -> float:
    """The definition, with explicit inverses."""
    halves = [(x[arms[:aside]], values[:aside]), (x[arms[aside:]], values[aside:])]
    (before, nu), (since, theta) = [
        (z.T @ z, np.linalg.solve(z.T @ z, z.T @ np.array(y))) for z, y in halves
    ]
    joint = np.linalg.inv(np.linalg.inv(before) + np.linalg.inv(since))
    ratio = np.linalg.slogdet(before + since)[1] - np.linalg.slogdet(before)[1]
    return float(ratio + (theta - nu) @ joint @ (theta - nu) / sigma**2)


@pytest.mark.parametrize("resident", [None, 3])
@pytest.mark.parametrize("count", [40, 1500])
def test_what_was_learnt_since_the_pilot(resident: int | None, count: int) -> None:
    rng = np.random.default_rng(count)
    x = rng.normal(size=(9, 4))
    posterior = Posterior(x, pilot=True, resident=resident)
    arms = rng.integers(0, 9, size=count).tolist()
    arms[:9] = arms[20:29] = list(range(9))
    values = (x @ [1.0, 0.5, -1.0, 0.0])[arms] + rng.normal(size=count)
    aside = 20
    for k, (arm, value) in enumerate(zip(arms, values.tolist(), strict=True)):
        if k == 9:
            posterior.refresh()
        if k == aside:
            before = posterior.means.copy()
            posterior.set_aside()
            assert posterior.pilot_size == aside
            assert not posterior.ready
        posterior.observe(arm, value)
        if k == aside + 9:
            posterior.refresh()
    direct = np.linalg.lstsq(x[arms[aside:]], values[aside:], rcond=None)[0]
    np.testing.assert_allclose(posterior.means, x @ direct, rtol=1e-9)
    prior = np.linalg.lstsq(x[arms[:aside]], values[:aside], rcond=None)[0]
    np.testing.assert_allclose(before, x @ prior, rtol=1e-9)
    assert posterior.pulls.sum() == count
    assert posterior.pilot.sum() == aside
    expected = learnt(x, arms, values.tolist(), aside, 0.7)
    assert posterior.information_since_pilot(0.7) == pytest.approx(expected, rel=1e-9)


def inverse(A: np.ndarray) -> np.ndarray:
    """Of each of many symmetric 2 × 2 matrices: by hand, much faster than a solver."""
    turned = np.stack([A[:, 1, 1], -A[:, 0, 1], -A[:, 0, 1], A[:, 0, 0]], axis=1)
    return turned.reshape(-1, 2, 2) / determinant(A)[:, None, None]


def determinant(A: np.ndarray) -> np.ndarray:
    return A[:, 0, 0] * A[:, 1, 1] - A[:, 0, 1] ** 2


def times(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("rij,rj->ri", A, b)


def uncovered() -> tuple[float, float]:
    """How often θ = 0 is ever outside the set, where the design chases the noise.

    Of the set as it is, and of one that forgets how far the estimate is from the pilot's.
    """
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.9, -0.4]])
    rng = np.random.default_rng(5)
    A, b = np.zeros((RUNS, 2, 2)), np.zeros((RUNS, 2))
    missed, missed_without = np.zeros(RUNS, bool), np.zeros(RUNS, bool)
    prior, nu = A, b
    for t in range(STEPS):
        if t == END:
            prior, nu = A, times(inverse(A), b)
            A, b = np.zeros(A.shape), np.zeros(b.shape)
        arms = np.full(RUNS, t % 4)
        if t >= END + 4 and t % 3:
            arms = np.argmax(times(inverse(A), b) @ x.T, axis=1)
        z = x[arms]
        A = A + z[:, :, None] * z[:, None, :]
        b = b + z * rng.standard_normal((RUNS, 1))
        if t >= END + 4:
            theta = times(inverse(A), b)
            ratio = np.log(determinant(prior + A) / determinant(prior))
            joint = inverse(inverse(prior) + inverse(A))
            away = theta - nu
            distance = np.einsum("ri,ri->r", away, times(joint, away))
            most = 2.0 * math.log(1.0 / DELTA) + ratio
            found = np.einsum("ri,ri->r", theta, times(A, theta))
            missed |= found > most + distance
            missed_without |= found > most
    return float(missed.mean()), float(missed_without.mean())


@pytest.mark.slow
def test_the_true_parameter_stays_in_the_set_as_often_as_promised() -> None:
    spread = 3.0 * math.sqrt(DELTA * (1.0 - DELTA) / RUNS)
    missed, missed_without = uncovered()
    assert missed <= DELTA
    assert missed_without > DELTA + spread


@pytest.mark.slow
@pytest.mark.parametrize(
    ("omega", "K", "m", "most"),
    [(math.pi / 6, 4, 2, 1500), (0.1, 3, 1, 1600), (math.pi / 3, 4, 2, 112)],
)
def test_it_needs_as_few_as_was_asked(omega: float, K: int, m: int, most: float) -> None:
    instance = shortlist.instances.classic(K=K, m=m, omega=omega)
    algorithm = shortlist.GIFA(threshold="pilot", name="m-LinGapE with a pilot")
    results = shortlist.compare([algorithm], instance, runs=500, seed=0)
    summary = results.summary().iloc[0]
    assert summary["mean"] <= most
    assert summary["error_rate"] <= 0.01


@pytest.mark.slow
def test_the_guarantee_on_random_instances() -> None:
    algorithms = [
        shortlist.GIFA(threshold="pilot", name="m-LinGapE"),
        shortlist.GIFA(
            candidates="smallest_gap",
            ambiguous="mth_gap",
            stopping="ugape",
            threshold="pilot",
            name="LinGIFA",
        ),
    ]

    def errors_in(algorithm: shortlist.GIFA, instance: Instance, runs: int, seed: int) -> int:
        frame = shortlist.compare(
            algorithm, instance, runs=runs, seed=seed, delta=0.3, max_samples=20_000, progress=False
        ).frame
        return int((frame["stopped"] & ~frame["correct"]).sum())

    for number in range(10):
        instance = shortlist.instances.random(K=8, N=4, m=2, seed=number, sigma=0.2)
        for algorithm in algorithms:
            shown_below(0.3, partial(errors_in, algorithm, instance), confidence=0.999)


def test_the_size_of_a_feature_plays_no_part() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(7, 3))
    pulls = []
    for scale in (1.0, 1e5):
        study = shortlist.Study(
            x * [1.0, 1.0, scale], m=2, sigma=0.3, threshold="pilot", seed=1, audit=False
        )
        noise = np.random.default_rng(4)
        while not study.done:
            trial = study.ask()
            study.tell(trial, float(x[trial.arm] @ [0.5, -0.3, 0.2] + 0.3 * noise.normal()))
        pulls.append([trial.arm for trial in study.trials])
    assert pulls[0] == pulls[1]


def test_why_in_a_pilot_promises_no_stop() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    study = shortlist.Study(
        instance.features, m=2, sigma=0.5, threshold="pilot", seed=2, audit=False
    )
    while study.stage != "pilot":
        trial = study.ask()
        study.tell(trial, float(instance.means[trial.arm]))
    reason = study.why(study.ask())
    assert str(reason).endswith("; it was part of the pilot, during which the study does not stop.")
    assert "nan" not in str(reason)
    assert reason.gap is not None
    assert reason.gap > 0.0


@pytest.mark.slow
def test_a_study_goes_through_its_stages_and_back_from_storage(tmp_path: Path) -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    study = shortlist.Study(
        instance.features,
        m=2,
        sigma=0.5,
        threshold="pilot",
        seed=2,
        storage=tmp_path / "s.db",
        audit=False,
    )
    stages, noise = [study.stage], np.random.default_rng(0)
    while not study.done:
        trials = study.ask(3)  # batches cross the end of the pilot
        for trial in trials:
            study.tell(trial, float(instance.means[trial.arm] + 0.5 * noise.normal()))
        if study.stage != stages[-1]:
            stages.append(study.stage)
        table = study.table()
        assert table["lower"].isna().all() == (study.stage != "rounds")
        assert table["estimate"].isna().all() == (study.stage == "initial pulls")
        assert (study.statistic is None) == (study.stage != "rounds")
        assert study.remaining().low >= (0 if study.done else 1)
    assert stages[0] == "initial pulls"
    assert stages[1] == "pilot"
    assert stages[-1] == "rounds"
    again = shortlist.Study.load(tmp_path / "s.db")
    assert again.done
    assert again.posterior.pilot_size == study.posterior.pilot_size > 0
    assert again.table().equals(study.table())
    past = study.history()
    looked = past.frame["statistic"].notna()
    assert not looked.iloc[: study.posterior.pilot_size].any()
    assert looked.iloc[study.answered_at - 1]
    assert "pilot" in study.shortlist.guarantee.text
