"""No two arrays that a round writes share a line of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.algorithms import kernel
from shortlist.algorithms.catalog import find_algorithm
from shortlist.core.lines import LINE, SMALL, on_own_lines
from shortlist.core.random import run_seeds


def leaves(arrays: Any) -> Iterator[np.ndarray]:
    for each in arrays:
        if isinstance(each, tuple):
            yield from leaves(each)
        elif isinstance(each, np.ndarray) and each.size:
            yield each


def lines_of(array: np.ndarray) -> set[int]:
    first = array.ctypes.data
    return set(range(first // LINE, (first + array.nbytes - 1) // LINE + 1))


def test_values_kinds_and_large_arrays_stay() -> None:
    large = np.arange(SMALL, dtype=np.float64)
    given = (np.arange(6.0).reshape(2, 3), (np.array([True, False]), np.zeros(0)), large, 7)
    table, (mask, empty), same, number = on_own_lines(given)
    assert np.array_equal(table, given[0])
    assert table.flags["C_CONTIGUOUS"]
    assert table.flags["WRITEABLE"]
    assert mask.dtype == np.bool_
    assert mask.tolist() == [True, False]
    assert empty.shape == (0,)
    assert same is large
    assert number == 7
    table[0, 0] = 9.0
    assert given[0][0, 0] == 0.0


@pytest.mark.parametrize("name", ["m-LinGapE", "LinGIFA", "LUCB", "LinGame"])
def test_what_a_round_writes_shares_no_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    engine = find_algorithm(name).bind(instance.problem(0.05, 0.0)).engine
    seen: list[Any] = []
    compiled = kernel.replicate

    def watched(*arguments: Any) -> int:
        state, now, stream, progress = (arguments[k] for k in (0, 1, -5, -1))
        seen.append((state, now, stream, progress))
        return int(compiled(*arguments))

    monkeypatch.setattr(kernel, "replicate", watched)
    engine.replicate(instance.reward, instance.parameters, run_seeds(0, 2), 50)
    taken: set[int] = set()
    small = [array for array in leaves(seen[0]) if array.nbytes < SMALL]
    assert len(small) > 20
    for array in small:
        assert array.ctypes.data % LINE == 0
        assert not lines_of(array) & taken
        taken |= lines_of(array)
