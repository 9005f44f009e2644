"""The m best of many, with ties broken by a key."""

from __future__ import annotations

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.random import priority
from shortlist.numerics.records import (
    Integers,
    Mask,
    Reals,
)

SORTED_UP_TO = 16


@compiled()
def keep(kept: np.ndarray, m: int, value: float) -> None:
    """Take a value that is larger than the last of the m largest into them, in their order."""
    k = m - 1
    while k > 0 and kept[k - 1] < value:
        kept[k] = kept[k - 1]
        k -= 1
    kept[k] = value


@compiled()
def mth_largest(values: np.ndarray, skip: int, m: int, kept: np.ndarray) -> float:
    """The m-th largest of ``values``, entry ``skip`` left out; ``kept`` is scratch."""
    if m <= 2:  # branch-free, since a branch on the values could not be predicted
        first, second = -np.inf, -np.inf
        for i in range(values.shape[0]):
            value = -np.inf if i == skip else values[i]
            second = max(second, min(first, value))
            first = max(first, value)
        return first if m == 1 else second
    for k in range(m):
        kept[k] = -np.inf
    if m <= SORTED_UP_TO:
        for i in range(values.shape[0]):
            value = values[i]
            if i == skip or value <= kept[m - 1]:
                continue
            keep(kept, m, value)
        return kept[m - 1]
    for i in range(values.shape[0]):  # a heap, its root the smallest kept
        value = values[i]
        if i == skip or value <= kept[0]:
            continue
        hole = 0
        while True:
            child = 2 * hole + 1
            if child >= m:
                break
            if child + 1 < m and kept[child + 1] < kept[child]:
                child += 1
            if kept[child] >= value:
                break
            kept[hole] = kept[child]
            hole = child
        kept[hole] = value
    return kept[0]


@compiled()
def comes_before(first: float, i: int, second: float, j: int, key: np.uint64) -> bool:
    """Whether arm i, of the first value, comes before arm j: the larger, then the larger priority."""
    return bool(first > second or (first == second and priority(key, i) > priority(key, j)))


@compiled()
def insert(values: np.ndarray, arms: np.ndarray, value: float, arm: int, key: np.uint64) -> None:
    """Take an arm into a list in order, in place of the last, if it comes before that."""
    k = arms.shape[0] - 1
    if not comes_before(value, arm, values[k], arms[k], key):
        return
    while k > 0 and comes_before(value, arm, values[k - 1], arms[k - 1], key):
        values[k] = values[k - 1]
        arms[k] = arms[k - 1]
        k -= 1
    values[k] = value
    arms[k] = arm


@compiled(typed=True)
def precedes(values: Reals, sign: float, key: np.uint64, i: int, j: int) -> bool:
    """Whether arm i comes before arm j: the larger ``sign * value``, then the larger priority."""
    return comes_before(sign * values[i], i, sign * values[j], j, key)


@compiled(typed=True)
def mark_anew(
    values: Reals, sign: float, m: int, key: np.uint64, heap: Integers, best: Mask
) -> None:
    """Mark the m arms of largest ``sign * value`` by a heap whose root is the worst kept."""
    for arm in range(values.shape[0]):
        best[arm] = False
        if arm < m:
            child = arm
            while child > 0 and precedes(values, sign, key, heap[(child - 1) // 2], arm):
                heap[child] = heap[(child - 1) // 2]
                child = (child - 1) // 2
            heap[child] = arm
        elif precedes(values, sign, key, arm, heap[0]):
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= m:
                    break
                if child + 1 < m and precedes(values, sign, key, heap[child], heap[child + 1]):
                    child += 1
                if precedes(values, sign, key, heap[child], arm):
                    break
                heap[hole] = heap[child]
                hole = child
            heap[hole] = arm
    for i in range(m):
        best[heap[i]] = True


@compiled()
def mark_best(
    values: np.ndarray, sign: float, m: int, key: np.uint64, heap: np.ndarray, best: np.ndarray
) -> None:
    """Mark the m arms of largest ``sign * value``, ties by priority; ``heap`` is scratch."""
    # Most rounds change nothing: if the last marks still part the arms strictly, they are right.
    marked = 0
    lowest, highest = np.inf, -np.inf
    for arm in range(values.shape[0]):
        value = sign * values[arm]
        if best[arm]:
            marked += 1
            lowest = min(lowest, value)
        else:
            highest = max(highest, value)
    if marked != m or lowest <= highest:
        mark_anew(values, sign, m, key, heap, best)


@compiled()
def count(mask: np.ndarray) -> int:
    """How many arms are marked."""
    marked = 0
    for arm in range(mask.shape[0]):
        marked += mask[arm]
    return marked


@compiled()
def largest_by_priority(values: np.ndarray, mask: np.ndarray, wanted: bool, key: np.uint64) -> int:
    """The arm of largest value among those whose mask is ``wanted``; ties by priority."""
    best = -1
    for arm in range(values.shape[0]):
        if mask[arm] == wanted and (
            best < 0 or comes_before(values[arm], arm, values[best], best, key)
        ):
            best = arm
    return best


@compiled()
def largest_among(values: np.ndarray, mask: np.ndarray, wanted: bool, key: np.uint64) -> int:
    """The arm of largest value among those whose mask is ``wanted``; only a tie scatters the key."""
    best = -1
    largest = -np.inf
    for arm in range(values.shape[0]):
        if mask[arm] == wanted:
            value = values[arm]
            if value > largest or best < 0:
                best, largest = arm, value
            elif value == largest:
                return largest_by_priority(values, mask, wanted, key)
    return best
