"""Experiments with made-up runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import shortlist
from reproduction.agreement import Reproduced, compared
from reproduction.experiment import PaperExperiment


def faked(panel: Any, samples: dict[str, list[int]]) -> Reproduced:
    """An experiment with made-up sample counts; the first run of each row errs."""
    instance = panel.instance()
    frames = [
        pd.DataFrame(
            {
                "algorithm": title,
                "threshold": "lucb1",
                "proven": True,
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
    ]
    panel = replace(panel, rows=tuple(row for row in panel.rows if row.title in samples))
    reproduced = Reproduced(PaperExperiment("faked", "a faked <experiment>", panels=(panel,)))
    one = shortlist.compare("LUCB", instance, runs=1, max_samples=10, progress=False)
    results = replace(one, frame=pd.concat(frames, ignore_index=True))
    reproduced.panels[panel.name] = results
    reproduced.lines[panel.name] = compared(panel, results)
    return reproduced
