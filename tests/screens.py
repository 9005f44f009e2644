"""Small drug screens whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shortlist.repurposing import BooleanNetwork, synthetic
from shortlist.repurposing.synthetic_data import DataSet


def small(**settings: Any) -> DataSet:
    sizes = {"drugs": 8, "m": 2, "modules": 5, "patients": 5, "controls": 5, "background": 400}
    return synthetic(seed=1, **(sizes | settings))


def switch_data() -> dict[str, Any]:
    """A switch that patients have on and controls off, and a gene that is its opposite."""
    rng = np.random.default_rng(0)
    background = np.where(np.arange(300) % 2, 9.0, 4.0)[:, None]
    genes = ["A", "B", "C", *(f"G{i}" for i in range(300))]

    def expression(switch: float, other: float, name: str) -> pd.DataFrame:
        rows = np.vstack([[[switch] * 4] * 2, [[other] * 4], np.repeat(background, 4, axis=1)])
        noise = 0.5 * rng.standard_normal(rows.shape)
        return pd.DataFrame(rows + noise, genes, [f"{name} {i}" for i in range(4)])

    signatures = {
        "half": {"A": 0.0},
        "both": {"A": 0.0, "B": 0.0},
        "late": {"C": 1.0},
    }
    return {
        "network": BooleanNetwork({"A": "B", "B": "A", "C": "!A"}),
        "patients": expression(12.0, 1.0, "patient"),
        "controls": expression(1.0, 12.0, "control"),
        "signatures": pd.DataFrame(signatures).reindex(["A", "B", "C"]),
    }
