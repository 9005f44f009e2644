"""What a study will take; tests/cli/test_new.py reads the same from the command line."""

from __future__ import annotations

import numpy as np
import pytest

import shortlist
from shortlist.errors import InvalidInput, UnknownName
from shortlist.simulation.outlook import Outlook, look_ahead

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
NAMES = ("a", "b", "c", "d")


def begun(**settings: object) -> shortlist.Study:
    return shortlist.Study(X, m=1, arms=NAMES, seed=0, **settings)  # type: ignore[arg-type]


def test_without_a_pilot_nothing_is_known_but_the_initial_pulls() -> None:
    study = begun(sigma=0.3)
    initial = study.bound.engine.setup.initial
    assert look_ahead(study, None, {}) == Outlook(len(initial), len(set(initial.tolist())))


def test_the_misfit_is_the_distance_of_the_pilot_from_linear_means() -> None:
    theta = np.array([0.8, 0.1])
    pilot = dict(zip(NAMES, (X @ theta).tolist(), strict=True))
    study = begun(sigma=0.3, epsilon=0.2)
    linear = look_ahead(study, pilot, {"algorithm": "LUCB"})
    assert linear.misfit == pytest.approx(0.0, abs=1e-12)
    assert linear.lower_bound is not None
    assert linear.forecast is not None
    pilot["c"] += 0.1
    bent = look_ahead(study, pilot, {"algorithm": "LUCB"})
    assert bent.misfit is not None
    assert 0.01 < bent.misfit < 0.1


def test_a_pilot_must_name_arms_of_the_study_and_span_its_features() -> None:
    study = begun(sigma=0.3)
    with pytest.raises(UnknownName, match="unknown arm 'z'"):
        look_ahead(study, {"z": 1.0}, {})
    with pytest.raises(InvalidInput, match="give means of more arms"):
        look_ahead(study, {"a": 1.0}, {})


def test_sigma_that_is_to_be_estimated_leaves_no_bound() -> None:
    outlook = look_ahead(begun(sigma="estimate"), {"a": 1.0, "b": 0.0}, {})
    assert outlook.lower_bound is None
    assert outlook.why_no_bound == "σ is not known before it is estimated"
