"""The m best of many, against Python's own sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shortlist.rules.pair import Arms, Pair
from shortlist.rules.selection import greedy

from oracle import GOLDEN, WORD, mix
from shortlist.linalg import SORTED_UP_TO, largest_among, mark_best, mth_largest
from shortlist.numerics.random import priority

EXACT = settings(derandomize=True, deadline=None, max_examples=120)
MOST = 3 * SORTED_UP_TO

# Few different numbers make many ties; the rest are any.
tied = st.sampled_from([-2.0, -0.0, 0.0, 0.5, 0.5 + 2**-53, 3.0])
anything = st.floats(allow_nan=False)
values = st.lists(tied, min_size=2, max_size=MOST) | st.lists(anything, min_size=2, max_size=MOST)
keys = st.integers(0, WORD - 1)


def rank(key: int, arm: int) -> int:
    """The priority of an arm, in Python's integers."""
    return mix((mix(key) + GOLDEN * (arm + 1)) % WORD)


def column(numbers: list[float]) -> NDArray[np.float64]:
    return np.array(numbers, dtype=np.float64)


@EXACT
@given(keys, st.integers(0, 10_000))
def test_priority_is_that_of_the_integers(key: int, arm: int) -> None:
    assert int(priority(np.uint64(key), arm)) == rank(key, arm)


@pytest.mark.slow
@EXACT
@given(values, st.data())
def test_mth_largest_is_that_of_the_sorted_rest(numbers: list[float], data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(numbers) - 1))
    skip = data.draw(st.integers(0, len(numbers) - 1))
    rest = [number for i, number in enumerate(numbers) if i != skip]
    scratch = np.full(m, np.nan)
    assert mth_largest(column(numbers), skip, m, scratch) == sorted(rest, reverse=True)[m - 1]


@pytest.mark.slow
@EXACT
@given(st.integers(-1, 1), st.integers(0, 2**32))
def test_mth_largest_on_both_sides_of_the_change_of_method(beyond: int, seed: int) -> None:
    m = SORTED_UP_TO + beyond
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.standard_normal(2 * m), 1)
    scratch = np.zeros(m)
    for skip in (-1, 0, m, 2 * m - 1):
        rest = sorted((x for i, x in enumerate(numbers) if i != skip), reverse=True)
        assert mth_largest(numbers, skip, m, scratch) == rest[m - 1]


def test_mth_largest_leaves_the_values_alone() -> None:
    for m in (3, SORTED_UP_TO + 3):
        numbers = np.random.default_rng(m).standard_normal(40)
        before = numbers.copy()
        mth_largest(numbers, 5, m, np.zeros(m))
        assert np.array_equal(numbers, before)


def best_arms(numbers: list[float], sign: float, m: int, key: int) -> set[int]:
    """The m arms of largest sign · value, ties by priority."""
    order = sorted(
        range(len(numbers)), key=lambda arm: (sign * numbers[arm], rank(key, arm)), reverse=True
    )
    return set(order[:m])


@pytest.mark.slow
@EXACT
@given(values, st.sampled_from([1.0, -1.0]), keys, st.data())
@example([1.0, 1.0, 1.0], 1.0, 0, None)
def test_mark_best_marks_the_first_of_the_sorted(
    numbers: list[float], sign: float, key: int, data: st.DataObject | None
) -> None:
    K = len(numbers)
    if data is None:
        m, marks = 2, [True, True, False]
    else:
        m = data.draw(st.integers(1, K - 1))
        # Marks of an earlier round: any at all, right ones among them.
        marks = data.draw(st.lists(st.booleans(), min_size=K, max_size=K))
    expected = best_arms(numbers, sign, m, key)
    for earlier in (marks, [False] * K, [arm in expected for arm in range(K)]):
        best = np.array(earlier)
        mark_best(column(numbers), sign, m, np.uint64(key), np.zeros(m, np.int64), best)
        assert set(np.flatnonzero(best)) == expected


@pytest.mark.slow
@EXACT
@given(st.integers(2, 40), keys, keys)
def test_marks_of_an_earlier_round_do_not_win_a_tie(K: int, first: int, second: int) -> None:
    numbers = [0.0] * K
    m = K // 2
    best, heap = np.zeros(K, np.bool_), np.zeros(m, np.int64)
    for key in (first, second):
        mark_best(column(numbers), 1.0, m, np.uint64(key), heap, best)
        assert set(np.flatnonzero(best)) == best_arms(numbers, 1.0, m, key)


@pytest.mark.slow
@EXACT
@given(values, keys, st.booleans(), st.data())
def test_largest_among_is_the_first_of_the_sorted(
    numbers: list[float], key: int, wanted: bool, data: st.DataObject
) -> None:
    K = len(numbers)
    mask = data.draw(st.lists(st.booleans(), min_size=K, max_size=K))
    arms = [arm for arm in range(K) if mask[arm] == wanted]
    expected = max(arms, key=lambda arm: (numbers[arm], rank(key, arm)), default=-1)
    assert largest_among(column(numbers), np.array(mask), wanted, np.uint64(key)) == expected


@pytest.mark.slow
@EXACT
@given(st.lists(tied, min_size=2, max_size=12), keys, st.data())
def test_greedy_breaks_ties_by_priority(
    differences: list[float], key: int, data: st.DataObject
) -> None:
    K = len(differences)
    some = st.lists(st.sampled_from([0.25, 1.0]), min_size=K, max_size=K)
    variances, noise = column(data.draw(some)), column(data.draw(some))
    gains = [d**2 / (n + v) for d, n, v in zip(differences, noise, variances, strict=True)]
    expected = max(range(K), key=lambda arm: (gains[arm], rank(key, arm)))
    rows = np.array([differences, [0.0] * K])
    none = np.zeros(K)
    pair = Pair(0, 1, rows[0], rows[1], none)
    arms = Arms(none, variances, np.zeros(K, np.int64), noise, none)
    got = greedy.function(pair, arms, np.uint64(key))
    assert got == expected
