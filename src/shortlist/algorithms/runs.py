"""What many replicates gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Runs:
    """What many replicates gave, one row a run."""

    seeds: NDArray[np.uint64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    recommended: NDArray[np.bool_]
    pulls: NDArray[np.int64]
