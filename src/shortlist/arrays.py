"""Types of arrays, for signatures, and the numbers that mean no arm and no block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_ARM = -1
NO_BLOCK = -1

Label = int | str  # what an arm is called
