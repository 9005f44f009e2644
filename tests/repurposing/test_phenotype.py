"""Predicted phenotypes: what is drawn, what is held, and what never settles."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from paths import needs_data
from shortlist.errors import InvalidNetwork, InvalidSetting, UnknownName
from shortlist.repurposing.networks.dynamics import Dynamics, walk
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.phenotype import Semantics, predict_phenotype
from walks import RING, paper_network, rows

# Walks


def test_clamps_hold_and_masks_do_not() -> None:
    network = BooleanNetwork({"A": "0", "B": "A", "C": "!B"})
    state = {"A": 1, "B": 0, "C": 0}
    assert walk(network, state).state.tolist() == [0, 0, 1]
    assert walk(network, state, clamps={"A": 1}).state.tolist() == [1, 1, 0]
    assert walk(network, {**state, "A": 0}, clamps={"A": 1}).state.tolist() == [1, 1, 0]
    rowwise = Dynamics(network, {"B": 0}).simulate([state] * 2, clamps=[{"A": 1}, {"C": 0}])
    assert rows(rowwise.states[:, 0]) == [(1, 0, 1), (0, 0, 0)]
    assert rowwise.reached.all()
    images = Dynamics(network, {"A": 1}).images(np.zeros((1, 3), dtype=np.uint8))
    assert images.tolist() == [[1, 0, 1]]


# Predictions


def test_semantics_of_free_genes() -> None:
    network = BooleanNetwork({"A": "A", "B": "B", "C": "A & B"})
    zero = predict_phenotype(network, {"A": 1}, semantics=Semantics(free="zero"))
    assert zero.to_dict() == {"A": 1, "B": 0, "C": 0}
    given_values = Semantics(free={"B": 1, "C": 0, "A": 0})
    assert predict_phenotype(network, {"A": 1}, semantics=given_values).to_dict() == {
        "A": 1,
        "B": 1,
        "C": 1,
    }
    draws = Counter(tuple(predict_phenotype(network, {"A": 1}, seed=seed)) for seed in range(200))
    assert set(draws) == {(1, 0, 0), (1, 1, 1)}
    assert 60 < draws[(1, 1, 1)] < 140
    with pytest.raises(InvalidNetwork, match="1 genes are free and have no value, C among"):
        predict_phenotype(network, {"A": 1}, semantics=Semantics(free={"B": 1}))


def test_a_mask_sets_or_holds() -> None:
    network = BooleanNetwork({"A": "0", "B": "A | B", "C": "A"})
    patient = pd.Series({"A": 0.0, "B": 0.0, "C": float("nan")})
    drug = pd.Series({"A": 1.0, "B": float("nan")})
    held = predict_phenotype(network, patient, mask=drug, semantics=Semantics(mask="clamp"))
    assert held.to_dict() == {"A": 1, "B": 1, "C": 1}
    seen = {tuple(predict_phenotype(network, patient, mask=drug, seed=s)) for s in range(50)}
    assert seen == {(0, 0, 0), (0, 1, 0)}  # A falls before or after it has switched B on
    both = predict_phenotype(
        network, patient, mask=drug, clamps={"A": 0}, semantics=Semantics(mask="clamp")
    )
    assert both["A"] == 0  # a knock-down stays


def test_walks_that_never_settle() -> None:
    start = {"A": 0, "B": 0}
    with pytest.raises(InvalidSetting, match="no fixed point in 50 steps"):
        predict_phenotype(RING, start, semantics=Semantics(max_steps=50))
    last = predict_phenotype(RING, start, semantics=Semantics(max_steps=50, unsettled="last"))
    assert set(last) <= {0, 1}
    for name, value in (
        ("free", "ones"),
        ("mask", "hold"),
        ("update", "both"),
        ("unsettled", "ignore"),
    ):
        with pytest.raises(UnknownName, match=value):
            Semantics(**{name: value})


# The paper's network


@needs_data
def test_a_prediction_is_a_fixed_point_and_repeats() -> None:
    network = paper_network()
    one = predict_phenotype(network, {"SNAP25": 1}, seed=3)
    assert network.is_fixed_point(one.to_dict())
    assert one.equals(predict_phenotype(network, {"SNAP25": 1}, seed=3))
    assert not one.equals(predict_phenotype(network, {"SNAP25": 1}, seed=4))
    assert tuple(one.index) == network.genes
