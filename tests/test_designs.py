"""w*(b, c) of every pair, and XY-optimal designs."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

from shortlist import designs
from shortlist.designs import Designs, xy_design

CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
GRID = np.array([[1.0, i, j, i * i, j * j] for i in range(3) for j in range(3)])


def least_weight(shown: np.ndarray, target: np.ndarray) -> float:
    """min ‖w‖₁ by the dual program: the largest uᵀy with |x_aᵀu| ≤ 1."""
    both = np.vstack([shown, -shown])
    return -float(linprog(-target, A_ub=both, b_ub=np.ones(len(both)), bounds=(None, None)).fun)


def assert_lightest(
    features: np.ndarray, noise: np.ndarray, b: int, c: int, found: np.ndarray
) -> None:
    """By duality; and with some signs the weights make the direction."""
    shown, target = features / np.sqrt(noise)[:, None], features[b] - features[c]
    own = np.flatnonzero(found)
    signed = np.linalg.lstsq(shown[own].T, target, rcond=None)[0]
    scale = np.abs(features).max()
    np.testing.assert_allclose(shown[own].T @ signed, target, atol=1e-9 * scale)
    np.testing.assert_allclose(np.abs(signed), found[own], atol=1e-9 * found.max())
    assert found.sum() == pytest.approx(least_weight(shown, target), rel=2e-7)
    assert len(own) <= features.shape[1]


@pytest.mark.parametrize(("K", "N"), [(4, 1), (6, 2), (10, 5), (9, 8), (60, 4)])
@pytest.mark.parametrize("kind", ["alike", "noisy", "of many sizes"])
def test_designs_are_lightest(K: int, N: int, kind: str) -> None:
    rng = np.random.default_rng(K * N)
    features, noise = rng.standard_normal((K, N)), np.ones(K)
    if kind == "noisy":
        noise = np.exp(rng.standard_normal(K))
    if kind == "of many sizes":
        features *= 10.0 ** rng.uniform(-3, 3, (K, 1))
    known = Designs(features, noise)
    for b, c in list(itertools.combinations(range(K), 2))[:50]:
        assert_lightest(features, noise, b, c, known.of(b, c))
        assert known.of(c, b).tolist() == known.of(b, c).tolist()


def test_independent_arms_tell_of_themselves_alone() -> None:
    known = Designs(np.random.default_rng(0).standard_normal((3, 3)), np.array([1.0, 4.0, 0.25]))
    assert known.of(2, 1).tolist() == [0.0, 2.0, 0.5]


@pytest.mark.parametrize("features", [CUBE, GRID, np.vstack([GRID, GRID[:2]])])
def test_equally_light_designs_are_told_apart_by_no_rounding(
    features: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the basis, whether the pairs are solved together, and which is asked for first."""
    K, N = features.shape
    table = Designs(features).table()
    for seed in range(3):
        basis = np.random.default_rng(seed).standard_normal((N, N))
        assert np.array_equal(Designs(features @ basis).table(), table)
    monkeypatch.setattr(designs, "ALL_PAIRS", 0)
    alone = Designs(features)
    for b, c in list(itertools.permutations(range(K), 2))[::-7]:
        assert np.array_equal(alone.of(b, c), table[b, c])
        assert table[b, c].sum() <= 2.0
    assert not np.array_equal(table[0, 1], table[0, 2])
    assert not table[[*range(K)], [*range(K)]].any()


def test_equal_weights_are_equal_numbers() -> None:
    """So equal counts tie: the middle of two arms is half of each."""
    angles = np.random.default_rng(4).uniform(0, 6, 30)
    for angle in angles:
        x = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]) @ [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
        x[2] = 0.6 * (x[0] + x[1]) / 2.0
        weights = Designs(np.vstack([x, [[0.0, 0.0]]])).of(2, 3)
        assert weights[0] == weights[1] > 0.29


@pytest.mark.parametrize("kind", ["generic", "of many sizes", "noisy"])
def test_few_of_many_arms_make_the_design_of_all(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "ALL_ARMS", 100)
    rng = np.random.default_rng(5)
    for arms, rank in ((400, 12), (1500, 5)):
        features, noise = rng.standard_normal((arms, rank)), np.ones(arms)
        if kind == "of many sizes":
            features *= np.exp(rng.standard_normal((arms, 1)))
        if kind == "noisy":
            noise = np.exp(rng.standard_normal(arms))
        known = Designs(features, noise)
        for _ in range(3):
            b, c = rng.choice(arms, 2, replace=False).tolist()
            assert_lightest(features, noise, b, c, known.of(b, c))


def test_what_is_solved_is_kept_and_sent() -> None:
    known = Designs(np.random.default_rng(0).standard_normal((60, 3)))
    weights = known.of(1, 5)
    sent = pickle.loads(pickle.dumps(known))
    assert len(sent) == len(known) == 1
    assert sent.of(5, 1).tolist() == weights.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_xy_designs_are_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, directions = rng.standard_normal((12, 4)), rng.standard_normal((6, 4))
    w, q = xy_design(arms, directions, accuracy=1e-6)
    assert w.sum() == pytest.approx(1.0)
    assert q.sum() == pytest.approx(1.0)
    assert min(w.min(), q.min()) >= 0.0
    u = np.linalg.solve((arms.T * w) @ arms, directions.T)
    norms = np.einsum("pk,kp->p", directions, u)
    # max_p ‖y_p‖²_{V⁻¹} ≥ (Σ q_p y_pᵀu_p)² / max_a Σ q_p (x_aᵀu_p)² for every design.
    low = (q @ norms) ** 2 / ((arms @ u) ** 2 @ q).max()
    assert low <= norms.max() * (1 + 1e-12) <= low * (1 + 3e-6)
