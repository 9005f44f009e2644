"""XY-optimal designs, and whole numbers of pulls by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.designs.xy import optimal_design, rounded, xy_design


def test_the_design_is_that_of_the_interior_point_method() -> None:
    rng = np.random.default_rng(1)
    arms = np.linalg.qr(rng.standard_normal((70, 4)))[0]
    i, j = np.triu_indices(70, 1)
    contrasts = arms[i] - arms[j]

    def value(weights: np.ndarray) -> float:
        inverse = np.linalg.inv((arms.T * weights) @ arms)
        return float(np.einsum("pk,kl,pl->p", contrasts, inverse, contrasts).max())

    best = value(optimal_design(arms, contrasts, 1e-2).arms)
    found = xy_design(arms, contrasts)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    assert best * 0.99 <= value(found) <= 1.1 * best
    assert value(found) < 0.9 * value(np.full(70, 1 / 70))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9), st.integers(0, 200))
def test_rounding_adds_up(weights: list[float], pulls: int) -> None:
    shares = np.array(weights) + 1e-9
    counts = rounded(shares, pulls)
    assert counts.sum() == pulls
    assert (np.abs(counts - pulls * shares / shares.sum()) < 1.0 + 1e-9).all()
