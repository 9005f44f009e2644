"""w*(b, c), solved once for each pair."""

from __future__ import annotations

import numpy as np

from shortlist.designs.direction import Designs, lightest_weights


def test_designs_are_solved_once_a_pair_and_are_lightest() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((8, 3))
    designs = Designs(features)
    weights = designs.of(1, 5)
    assert designs.of(5, 1).tolist() == weights.tolist()
    assert len(designs) == 1
    np.testing.assert_allclose(features.T @ weights, features[1] - features[5], atol=1e-9)
    assert np.count_nonzero(weights) <= 3
    assert np.abs(weights).sum() <= 2.0 + 1e-9
    for _ in range(200):  # no other combination is lighter
        null = np.linalg.svd(features.T)[2][3:].T @ rng.standard_normal(5)
        assert np.abs(weights + 1e-3 * null).sum() >= np.abs(weights).sum() - 1e-9
    independent = lightest_weights(rng.standard_normal((3, 3)), 0, 2)
    assert independent.tolist() == [1.0, 0.0, -1.0]
