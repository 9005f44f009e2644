"""Designs for differences of means, and the norms they give."""

from __future__ import annotations

import numpy as np
import pytest

from planned import X
from shortlist.designs.pairs import TOLERANCE, contrast_design, spread_design, spreads, whitened
from shortlist.designs.xy import optimal_design


def test_norms_are_those_of_the_inverse() -> None:
    pulls = np.array([3, 2, 0, 4, 2])
    inverse = np.linalg.inv((X.T * pulls) @ X)
    variances = spreads(whitened(X, pulls))
    for i in range(5):
        for j in range(5):
            if i != j:
                assert variances[i, j] == pytest.approx((X[i] - X[j]) @ inverse @ (X[i] - X[j]))


# Designs


@pytest.mark.parametrize("shape", [(6, 3, 2), (20, 5, 4), (40, 12, 5), (30, 30, 3)])
def test_designs_are_as_good_as_those_of_the_interior_point_method(
    shape: tuple[int, int, int],
) -> None:
    K, N, m = shape
    rng = np.random.default_rng(K)
    features = np.linalg.qr(rng.standard_normal((K, N)))[0] if N < K else np.eye(K)
    b, c = (pairs.ravel() for pairs in np.meshgrid(np.arange(m), np.arange(m, K)))
    needs = rng.uniform(0.5, 3.0, len(b))
    weights, pulls = contrast_design(features, b, c, needs)
    directions = (features[b] - features[c]) * np.sqrt(needs)[:, None]

    def value(w: np.ndarray) -> float:
        inverse = np.linalg.inv((features.T * w) @ features)
        return float(np.einsum("pi,ij,pj->p", directions, inverse, directions).max())

    assert weights.sum() == pytest.approx(1.0)
    assert pulls == pytest.approx(value(weights), rel=1e-9)
    best = value(optimal_design(features, directions, 1e-6).arms)
    assert best * (1.0 - 1e-6) <= pulls <= best * (1.0 + TOLERANCE + 0.01)


def test_spread_designs_are_nearly_g_optimal() -> None:
    features = np.random.default_rng(1).standard_normal((40, 6))
    inverse = np.linalg.inv((features.T * spread_design(features)) @ features)
    largest = np.einsum("ai,ij,aj->a", features, inverse, features).max()
    assert 6.0 <= largest <= 6.0 * 1.1  # Kiefer and Wolfowitz: rank at the optimum
