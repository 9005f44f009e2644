"""Results on plates, each of which has a shift of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist import Study
from shortlist.study.trial import Trial

SIGMA = 0.4


@dataclass(frozen=True)
class PlateResults:
    """The results of arms with these means."""

    means: Any

    def value(self, trial: Trial) -> float:
        """The arm's mean, the shift of its plate, and noise by its own seed."""
        shift = 50.0 * np.random.default_rng(trial.block_index).normal()
        noise = SIGMA * np.random.default_rng(trial.seed).normal()
        return float(self.means[trial.arm] + shift + noise)

    def measured(self, study: Study, plates: int, wells: int = 12) -> Study:
        """The study after so many plates, or when it is done."""
        for _ in range(plates):
            if study.done:
                break
            study.tell_many((trial, self.value(trial)) for trial in study.ask(wells))
        return study
