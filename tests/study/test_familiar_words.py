"""Words of other libraries point to what takes their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import Study, errors, report
from shortlist.errors import UnknownName
from shortlist.study.familiar_words import ATTRIBUTES, RUN, SETTINGS, settings_of


def study() -> shortlist.Study:
    return shortlist.Study(arms=["a", "b"], sigma=1.0, seed=0)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_others(name: str) -> None:
    with pytest.raises(UnknownName, match=f"Study has no setting '{name}': ") as error:
        shortlist.Study(arms=["a", "b"], sigma=1.0, **{name: 1})  # type: ignore[arg-type]
    assert SETTINGS[name] in str(error.value)
    assert name not in settings_of(shortlist.Study.__init__)


@pytest.mark.parametrize("name", RUN)
def test_arguments_of_run(name: str) -> None:
    with pytest.raises(UnknownName, match=f"run has no setting '{name}': "):
        study().run(lambda trial: 0.0, **{name: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_others(name: str) -> None:
    with pytest.raises(AttributeError, match=f"a study has no '{name}': .*study"):
        getattr(study(), name)


def test_a_slip_of_the_pen_is_met_by_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'epsilon'"):
        shortlist.Study(arms=["a", "b"], sigma=1.0, epsilom=0.1)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        study().nonsense  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"workers": 8}, "executor=pool"),
        ({"retries": 3}, r"study\.run\(objective, retries=…\)"),
        ({"questions": 5}, "blocks=500"),
        ({"pool": 5}, "blocks=500"),
        ({"reward_range": (0, 1)}, "needs sigma='bounded'"),
    ],
)
def test_a_setting_that_is_meant_otherwise_says_how_it_is_written(
    given: dict[str, Any], hint: str
) -> None:
    with pytest.raises(errors.ShortlistError, match=hint):
        Study(arms=["ash", "elm"], m=1, **{"sigma": None, **given})


@pytest.mark.parametrize("names", [["ash", "elm", "oak"], np.array(["ash", "elm", "oak"])])
def test_names_in_the_place_of_features_are_known(names: Any) -> None:
    with pytest.raises(errors.InvalidFeatures, match=r"write arms=\[…\]"):
        Study(names, m=2, sigma=0.1)


def test_arguments_in_the_wrong_order_are_known() -> None:
    study = Study(arms=["ash", "elm"], m=1, sigma=0.1)
    trial = study.ask()
    with pytest.raises(errors.InvalidInput, match=r"study\.tell\(trial, 1\.0\)"):
        study.tell(1.0, trial)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidInput, match=r"report\.write\(study, 'x\.html'\)"):
        report.write("x.html", study)  # type: ignore[arg-type]
    assert study.tell(trial, 1.0).value == 1.0
