"""Instances as ``shortlist.theory`` takes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

ROWS = ["LUCB", "UGapE", "m-LinGapE(1)", "m-LinGapE(2)"]


def given_as(features: Any, means: Any, m: int, sigma: float = 1.0) -> Any:
    features = np.asarray(features, float)
    return SimpleNamespace(features=features, means=np.asarray(means, float), m=m, sigma=sigma)


def linear(features: Any, theta: Any, m: int, sigma: float = 1.0) -> Any:
    return given_as(features, np.asarray(features, float) @ np.asarray(theta, float), m, sigma)
