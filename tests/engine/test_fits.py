"""Least squares kept up to date: as computed anew, in every layout, alone and among other runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shortlist.engine.fits import Diagonal, Fits, Posterior, Rows, Whole, fits_of, next_refresh
from shortlist.errors import SingularDesign
from shortlist.features import reduce_to_rank

Array = NDArray[np.float64]
LAYOUTS = (Whole, Diagonal, Rows)


def made(
    layout: type[Fits], arms: int, rank: int, runs: int = 1, seed: int = 0, **settings: Any
) -> Fits:
    rng = np.random.default_rng(seed)
    x = np.eye(arms) if layout is Diagonal else rng.standard_normal((arms, rank)) / np.sqrt(rank)
    fits = fits_of(x, runs, whole=layout is Whole, **settings)
    assert type(fits) is layout
    return fits


def observe(fits: Fits, rng: np.random.Generator) -> None:
    """One more result of every run, of an arm drawn at random."""
    runs, arms = fits.pulls.shape
    fits.observe(rng.integers(arms, size=runs), rng.standard_normal(runs))


def anew(fits: Fits, run: int) -> tuple[Array, Array, float]:
    """Means, G and ln det(I + A/s) of a run, by plain NumPy."""
    X, eye = fits.features, np.eye(fits.features.shape[1])
    A = X.T @ ((fits.pulls[run] / fits.noise)[:, None] * X)
    V = fits.regularization * eye + A
    means = X @ np.linalg.solve(V, X.T @ (fits.sums[run] / fits.noise))
    log_det = np.linalg.slogdet(eye + A / fits.shift)[1] if fits.shift else 0.0
    return means, X @ np.linalg.solve(V, X.T), float(log_det)


def assert_as_anew(fits: Fits, digits: float) -> None:
    for run in range(len(fits)):
        means, G, log_det = anew(fits, run)
        np.testing.assert_allclose(
            fits.means[run], means, rtol=digits, atol=digits * abs(means).max()
        )
        np.testing.assert_allclose(fits.variances[run], G.diagonal(), rtol=digits)
        assert fits.log_det[run] == pytest.approx(log_det, rel=digits)
        chosen = np.arange(0, len(G), max(1, len(G) // 4))
        rows = fits.rows(np.tile(chosen, (len(fits), 1)))[run]
        scale = np.sqrt(G.diagonal()[chosen, None] * G.diagonal())
        assert (abs(rows - G[chosen]) <= digits * scale).all()
        alone = fits.rows(np.full(len(fits), chosen[-1]))[run]
        np.testing.assert_allclose(alone, rows[-1], rtol=1e-12, atol=1e-12 * scale.max())


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "given", [{}, {"shift": 0.3}, {"regularization": 0.1, "shift": 0.1}], ids=str
)
@pytest.mark.parametrize("even", [True, False], ids=["one σ", "σ of each"])
def test_every_result_leaves_what_counts_and_sums_give(
    layout: type[Fits], given: dict[str, float], even: bool
) -> None:
    rng = np.random.default_rng(1)
    noise = np.ones(12) if even else rng.uniform(0.2, 1.0, 12)
    fits = made(layout, 12, 4, runs=3, noise=noise, **given)
    for arm in range(12):
        fits.observe(np.full(3, arm), rng.standard_normal(3))
    fits.ready or fits.refresh()
    for _ in range(60):
        observe(fits, rng)
        assert_as_anew(fits, 1e-9)
    fits.keep(np.array([True, False, True]))
    observe(fits, rng)
    assert_as_anew(fits, 1e-9)


def drifted(fits: Fits, rounds: int) -> None:
    """Many results; every arm is pulled, some much more often, with a wobble for noise.

    (An arm that is never pulled is known through λ_V alone: its mean is then ill-conditioned, and a direct
    solve is no better than 1e-7 after 10⁶ rounds.)
    """
    arms = fits.pulls.shape[1]
    means, runs = np.random.default_rng(2).standard_normal(arms), len(fits)
    for t in range(rounds):
        arm = (t // 50) % arms if t % 50 == 0 else (t * t + t // 3) % arms
        fits.observe(np.full(runs, arm), np.full(runs, means[arm] + 0.3 * ((t % 7) - 3.0)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "arms", "rank"),
    [(Whole, 10, 71), (Whole, 100, 5), (Rows, 300, 9), (Rows, 100, 71), (Diagonal, 20, 20)],
)
@pytest.mark.parametrize("ridge", [6e-4, 1.0])
def test_rounds_from_one_refresh_to_the_next_do_not_drift(
    layout: type[Fits], arms: int, rank: int, ridge: float
) -> None:
    fits = made(layout, arms, rank, regularization=ridge, shift=0.01, seed=arms)
    if rank > arms:
        fits = fits_of(reduce_to_rank(fits.features), regularization=ridge, shift=0.01)
    # One short of a refresh is the worst moment to look. What has drifted before the refresh ahead of
    # it is gone, so that more rounds show no more: a million were tried too.
    rounds = 5 * 512 - 1
    assert next_refresh(rounds) == rounds + 1
    drifted(fits, rounds)
    assert_as_anew(fits, 1e-8)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_comes_out_to_the_last_bit_as_it_would_alone(layout: type[Fits]) -> None:
    """Also where a neighbour has to be computed anew, and where others end."""
    settings = {
        "regularization": 1e-7,
        "shift": 0.2,
        "noise": np.random.default_rng(5).uniform(0.5, 1, 9),
    }
    together = made(layout, 9, 3, runs=4, **settings)
    alone = [made(layout, 9, 3, **settings) for _ in range(4)]
    rng, left = np.random.default_rng(6), [0, 1, 2, 3]
    for t in range(120):
        arms, values = rng.integers(9, size=4), rng.standard_normal(4)
        together.observe(arms[left], values[left])
        for run in left:
            alone[run].observe(arms[run : run + 1], values[run : run + 1])
        if t == 50:
            together.keep(np.array([True, False, True, True]))
            left = [0, 2, 3]
        for name in together.by_run:
            for place, run in enumerate(left):
                found, wanted = getattr(together, name)[place], getattr(alone[run], name)[0]
                np.testing.assert_array_equal(found, wanted, f"{name} after {t}")


@pytest.mark.parametrize("layout", [Whole, Rows])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_result_that_tells_very_much_is_followed_by_a_refresh(
    layout: type[Fits], shift: float
) -> None:
    """λ is tiny: the first results reduce variances by so much that an update would lose their digits."""
    x = np.random.default_rng(0).standard_normal((12, 3))
    x[6:] = x[:6] + 1e-6 * x[::-1][:6]
    fits = fits_of(x, 2, regularization=1e-8, shift=shift, whole=layout is Whole)
    rng = np.random.default_rng(1)
    for arm in (0, 1, 2, 7):  # the second run waits with its last direction
        fits.observe(np.array([arm, min(arm, 1)]), rng.standard_normal(2))
        twin = fits.copy()
        twin.refresh()
        steep = slice(None) if arm in (0, 1) else slice(0, 1)
        if arm != 7:
            for name in fits.by_run:
                found, wanted = getattr(fits, name)[steep], getattr(twin, name)[steep]
                np.testing.assert_array_equal(found, wanted, name)
    assert np.isfinite(fits.means).all()
    assert (fits.variances > 0.0).all()


def test_which_layout_is_taken() -> None:
    def layout(arms: int, rank: int) -> type[Fits]:
        return type(fits_of(np.random.default_rng(0).standard_normal((arms, rank))))

    assert [layout(10, 2), layout(120, 71), layout(300, 200)] == [Whole] * 3
    assert [layout(500, 3), layout(1000, 71)] == [Rows] * 2
    assert type(fits_of(np.eye(500))) is Diagonal


@pytest.mark.parametrize(
    "features", [np.eye(3), np.eye(3)[:, [1, 0, 2]]], ids=["unrelated", "related"]
)
def test_unregularised_means_are_unknown_until_the_pulls_span(features: Array) -> None:
    posterior = Posterior(features)
    posterior.observe(0, 1.0)
    assert not posterior.ready
    with pytest.raises(SingularDesign, match=r"1 evaluations of 1 arms do not span .* \(rank 3\)"):
        posterior.refresh()
    posterior.observe(1, 2.0)
    posterior.observe(2, 3.0)
    posterior.refresh()
    assert posterior.ready
    np.testing.assert_allclose(posterior.means, [1.0, 2.0, 3.0])
    posterior.observe(2, 5.0)
    np.testing.assert_allclose(posterior.means, [1.0, 2.0, 4.0])
    np.testing.assert_allclose(posterior.variances, [1.0, 1.0, 0.5])
    posterior.mirror()
    np.testing.assert_allclose(posterior.means, [-1.0, -2.0, -4.0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_is_independent(layout: type[Fits]) -> None:
    fits = made(layout, 8, 3, runs=2, regularization=1.0, shift=0.5)
    rng = np.random.default_rng(0)
    before = {name: getattr(fits, name).copy() for name in fits.by_run}
    twin = fits.copy()
    for _ in range(20):  # a refresh among them
        observe(twin, rng)
    assert fits.observed == 0
    for name, kept in before.items():
        np.testing.assert_array_equal(getattr(fits, name), kept)
        assert not np.array_equal(getattr(twin, name), kept) or not kept.size


def test_reducing_to_the_rank_keeps_inner_products() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 40))
    reduced = reduce_to_rank(features)
    assert reduced.shape == (12, 3)
    np.testing.assert_allclose(reduced @ reduced.T, features @ features.T, atol=1e-10)
    full = rng.standard_normal((12, 3))
    assert np.array_equal(reduce_to_rank(full), full)
