"""No two arrays that a round writes share a line of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.engine import engine as engine_module
from shortlist.seeds import run_seeds
from shortlist.numerics.records import (
    LINE,
    SMALL,
    Integer,
    Mask,
    Reals,
    Record,
    Table,
    on_own_lines,
)


def leaves(record: Record) -> Iterator[np.ndarray]:
    for field in fields(record):
        each = getattr(record, field.name)
        if isinstance(each, Record):
            yield from leaves(each)
        elif isinstance(each, np.ndarray) and each.size:
            yield each


@dataclass(frozen=True, eq=False)
class Inner(Record):
    mask: Mask
    empty: Reals


@dataclass(frozen=True, eq=False)
class Outer(Record):
    table: Table
    inner: Inner
    large: Reals
    number: Integer


def lines_of(array: np.ndarray) -> set[int]:
    first = array.ctypes.data
    return set(range(first // LINE, (first + array.nbytes - 1) // LINE + 1))


def test_values_kinds_and_large_arrays_stay() -> None:
    large = np.arange(SMALL, dtype=np.float64)
    inner = Inner(mask=np.array([True, False]), empty=np.zeros(0))
    given = Outer(table=np.arange(6.0).reshape(2, 3), inner=inner, large=large, number=7)
    moved = on_own_lines(given)
    table, mask, empty = moved.table, moved.inner.mask, moved.inner.empty
    assert np.array_equal(table, given.table)
    assert table.flags["C_CONTIGUOUS"]
    assert table.flags["WRITEABLE"]
    assert mask.dtype == np.bool_
    assert mask.tolist() == [True, False]
    assert empty.shape == (0,)
    assert moved.large is large
    assert moved.number == 7
    table[0, 0] = 9.0
    assert given.table[0, 0] == 0.0


@pytest.mark.parametrize("name", ["m-LinGapE", "LinGIFA", "LUCB", "LinGame"])
def test_what_a_round_writes_shares_no_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    engine = find_algorithm(name).bind(instance.problem(0.05, 0.0)).engine
    seen: list[Any] = []
    compiled = engine_module.replicate

    def watched(*arguments: Any) -> int:
        state, now, runs = (arguments[k] for k in (0, 1, -1))
        seen.extend([*leaves(state), *leaves(now), runs.stream, runs.finished, runs.begun])
        return int(compiled(*arguments))

    monkeypatch.setattr(engine_module, "replicate", watched)
    engine.replicate(instance.reward, instance.parameters, run_seeds(0, 2), 50)
    taken: set[int] = set()
    small = [array for array in seen if array.nbytes < SMALL]
    assert len(small) > 20
    for array in small:
        assert array.ctypes.data % LINE == 0
        assert not lines_of(array) & taken
        taken |= lines_of(array)
