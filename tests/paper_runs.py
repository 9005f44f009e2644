"""Experiments with made-up runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shortlist.paper.agreement import Reproduced
from shortlist.paper.experiment import PaperExperiment


def faked(panel: Any, samples: dict[str, list[int]]) -> Reproduced:
    """An experiment with made-up sample counts; the first run of each row errs."""
    instance = panel.instance()
    frames = {
        title: pd.DataFrame(
            {
                "run": np.arange(len(counts)),
                "seed": np.arange(len(counts), dtype=np.uint64),
                "samples": counts,
                "stopped": True,
                "correct": np.arange(len(counts)) > 0,
                "recommendation": [list(instance.names[: instance.m])] * len(counts),
                "pulls": [[count] + [0] * (len(instance.names) - 1) for count in counts],
            }
        )
        for title, counts in samples.items()
    }
    panel = replace(panel, rows=tuple(row for row in panel.rows if row.title in samples))
    reproduced = Reproduced(PaperExperiment("faked", "a faked <experiment>", panels=(panel,)))
    reproduced.add(panel, instance, frames)
    return reproduced
