"""States of a network, however they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shortlist.repurposing.networks.dynamics import Dynamics
from walks import SWITCH


def test_states_come_in_many_forms() -> None:
    dynamics = Dynamics(SWITCH)
    nan = float("nan")
    forms: list[Any] = [
        [{"A": 1, "B": None}],
        [pd.Series({"A": 1.0, "B": nan})],
        np.array([[1.0, nan]]),
        np.array([[1, -1]]),
        [[1, -1]],
    ]
    expected = dynamics.simulate(forms[0], repeats=20).states
    for form in forms[1:]:
        assert (dynamics.simulate(form, repeats=20).states == expected).all()
    frozen = np.array([[1, 0]], dtype=np.int8)
    frozen.flags.writeable = False
    assert dynamics.simulate(frozen, max_steps=0).states.tolist() == [[[1, 0]]]
