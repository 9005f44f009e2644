"""Types of arrays, for signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
