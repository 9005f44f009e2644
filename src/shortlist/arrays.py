"""Types of arrays, for signatures, and the arm number that means none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_ARM = -1

Label = int | str  # what an arm is called
