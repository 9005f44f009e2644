"""What an engine hands to the compiled loop."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from shortlist.allocations.allocation import NONE
from shortlist.engine.engine import Engine
from shortlist.posterior.state import ROWS, WHOLE

import shortlist
from shortlist.errors import InvalidSetting
from shortlist.gifa.rules import OWN, rule
from shortlist.gifa.thresholds import THRESHOLDS


@rule("selection", needs=(), traits=("by_time",))
def challenger(pair, arms, key):  # type: ignore[no-untyped-def]
    """Always pull the challenger; its traits are those of a threshold, and mean nothing here."""
    return pair.c


ALGORITHMS = {
    "m-LinGapE": {},
    "LinGIFA": {"candidates": "smallest_gap", "ambiguous": "mth_gap", "stopping": "ugape"},
    "tracking": {"selection": "tracking", "allocation": "game"},
    "individual": {"indices": "individual"},
    "own": {"selection": challenger},
}


def engine_of(name: str, threshold: str, arms: int) -> Engine:
    x = np.eye(arms) if threshold in ("two_arms_mixture", "lucb1") else None
    if x is None:
        x = np.random.default_rng(0).standard_normal((arms, 3))
    instance = shortlist.instances.from_arrays(x, m=2, sigma=0.5, means=np.arange(arms) / arms)
    algorithm = shortlist.GIFA(threshold=threshold, **ALGORITHMS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return algorithm.bind(instance.problem(0.05, 0.0, S=3.0)).engine


@pytest.mark.parametrize("arms", [6, 150])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_nothing_that_a_round_calls_by_address_is_missing(name: str, arms: int) -> None:
    """A null pointer would end the process."""
    bound = 0
    for threshold in THRESHOLDS:
        try:
            engine = engine_of(name, threshold, arms)
        except InvalidSetting:
            continue
        bound += 1
        for layout in (WHOLE, ROWS):
            given, routines = engine._settings[layout, True], engine._routines[layout]
            assert given.threshold is THRESHOLDS[threshold].rule
            assert (given.allocation != NONE) == (given.allocate is not None)
            skips = bool(given.skips_arms)
            assert (given.row is not None) == (layout != WHOLE and not skips)
            for kind, each in engine.rules.items():
                field = kind if kind == "threshold" else f"own_{kind}"
                assert each.number != OWN or getattr(given, field) is each
            called = engine._called[layout]
            for each in (routines.decide, routines.updates.observe, routines.updates.refresh):
                assert each in called
            for each in (given.row, given.allocate):
                assert each is None or each in called
    assert bound >= 3
