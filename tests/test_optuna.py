"""The best trials of an Optuna study, evaluated again."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist import errors

optuna = pytest.importorskip("optuna")
from shortlist.optuna import best_trials, retest  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)
TRUE = {"a": 0.0, "b": 0.3, "c": 0.5, "d": 1.5, "e": 2.0}  # losses: small is good


def searched(direction: str = "minimize", sign: float = 1.0):
    """A search that was misled: d has the best value by luck, and a the worst."""
    study = optuna.create_study(direction=direction)
    for choice, value in {"d": -2.0, "b": 0.0, "c": 0.1, "a": 0.6, "e": 0.7}.items():
        distribution = optuna.distributions.CategoricalDistribution(list(TRUE))
        study.add_trial(
            optuna.trial.create_trial(
                params={"choice": choice},
                distributions={"choice": distribution},
                value=sign * value,
            )
        )
    return study


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_luck_of_the_search_does_not_count(direction: str, sign: float) -> None:
    study, seeds = searched(direction, sign), set()

    def objective(trial):
        seeds.add(trial.user_attrs["seed"])
        noise = np.random.default_rng(trial.user_attrs["seed"]).standard_normal()
        return sign * TRUE[trial.suggest_categorical("choice", list(TRUE))] + 0.1 * noise

    found = retest(study, objective, m=2, sigma=0.1, seed=0, progress=False)
    chosen = {study.trials[number].params["choice"] for number in found.names}
    assert found.final
    assert chosen == {"a", "b"}
    assert len(seeds) == found.evaluations
    assert len(study.trials) == 5


def test_candidates_are_the_best_with_different_parameters() -> None:
    study = searched()
    study.add_trial(study.trials[0])
    study.enqueue_trial({"choice": "a"})
    study.ask()  # still running
    assert [trial.params["choice"] for trial in best_trials(study, 3)] == ["d", "b", "c"]


def test_noise_is_estimated_by_default() -> None:
    rng = np.random.default_rng(1)

    def objective(trial):
        return TRUE[trial.suggest_categorical("choice", list(TRUE))] + 0.1 * rng.standard_normal()

    found = retest(searched(), objective, m=1, candidates=4, seed=1, progress=False)
    assert found.final
    assert found.names == [3]


def test_what_cannot_be_retested_is_refused() -> None:
    with pytest.raises(errors.InvalidSetting, match="5 best of 5"):
        retest(searched(), lambda trial: 0.0, m=5)
    with pytest.raises(errors.InvalidSetting, match="candidates=2 and 5 finished"):
        retest(searched(), lambda trial: 0.0, candidates=2)
    several = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(errors.InvalidInput, match="2 objectives"):
        retest(several, lambda trial: 0.0)
    with pytest.raises(errors.InvalidSetting, match="candidates"):
        retest(searched(), lambda trial: 0.0, candidates=1)


def test_an_objective_that_fixes_its_seed_is_named_as_the_cause() -> None:
    given = {"m": 1, "candidates": 4, "seed": 1, "progress": False}
    losses = list(TRUE)
    found = retest(searched(), lambda t: TRUE[t.suggest_categorical("choice", losses)], **given)
    assert found.guarantee.status == "in doubt"
    assert "evaluation fixes its random seed" in found.guarantee.short
