"""The designs w*(b, c) that a round has been given, one for each pair it came across."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms import round as rounds


def with_design(
    now: rounds.Round, design: Callable[[int, int], NDArray[np.float64]]
) -> rounds.Round:
    """The round with the design of its ambiguous pair added."""
    b, c = int(now.pair[rounds.B]), int(now.pair[rounds.C])
    keys, designs = now.design_keys, now.designs
    solved = keys[keys != rounds.NOBODY]
    if 2 * (len(solved) + 1) > len(keys):
        rows = designs[keys != rounds.NOBODY]
        keys = np.full(2 * len(keys), rounds.NOBODY, np.int64)
        designs = np.zeros((len(keys), designs.shape[1]))
        for key, weights in zip(solved, rows, strict=True):
            first, second = divmod(int(key), designs.shape[1])
            _store(keys, designs, first, second, weights)
    _store(keys, designs, b, c, design(b, c))
    return now._replace(design_keys=keys, designs=designs)


def _store(
    keys: NDArray[np.int64],
    designs: NDArray[np.float64],
    b: int,
    c: int,
    weights: NDArray[np.float64],
) -> None:
    arms = designs.shape[1]
    place = -1 - rounds.design_slot(keys, arms, b, c)
    keys[place] = min(b, c) * arms + max(b, c)
    designs[place] = weights
