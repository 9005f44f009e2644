"""What the paper proves, and what least squares promises, on instances drawn by Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import shortlist
from gifa_algorithms import algorithm_of
from shortlist.engine.fits import LEAST_SHARE, Posterior
from shortlist.features import reduce_to_rank
from shortlist.gifa.engine import Engine
from shortlist.gifa.round import Memory, decide
from shortlist.gifa.rules import Pairs, individual, paired
from shortlist.problem import Problem

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

PROVE = settings(derandomize=True, deadline=None, max_examples=50)
SLOW = settings(derandomize=True, deadline=None, max_examples=20)


# Instances


@dataclass(frozen=True)
class Past:
    """Arms, and what was pulled of them so far."""

    features: Array
    arms: Integers
    values: Array
    regularization: float
    shift: float

    def posterior(self, order: Integers | None = None, whole: bool | None = None) -> Posterior:
        """All of it taken in, in this order."""
        posterior = Posterior(
            self.features,
            regularization=self.regularization,
            shift=self.shift,
            whole=whole,
        )
        # Without regularisation nothing is known before every arm has been pulled.
        start = 0 if self.regularization > 0.0 else len(self.features)
        sequence = np.arange(len(self.arms)) if order is None else order
        for k, pull in enumerate(sequence):
            if k == start and not posterior.ready:
                posterior.refresh()
            posterior.observe(int(self.arms[pull]), float(self.values[pull]))
        if not posterior.ready:
            posterior.refresh()
        return posterior


@st.composite
def pasts(draw: st.DrawFn, *, regularized: bool = False) -> Past:
    """Every arm once and then any; Gaussian features, of any rank, their norms unequal."""
    K = draw(st.integers(2, 9), label="K")
    N = draw(st.integers(1, 9), label="N")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), label="seed"))
    features = reduce_to_rank(rng.standard_normal((K, N)) * rng.uniform(0.3, 3.0, (K, 1)))
    # What least squares owes is owed where it is well posed.
    assume(np.linalg.cond(features) < 1e3)
    more = rng.integers(0, K, draw(st.integers(0, 80), label="pulls"))
    arms = np.concatenate([np.arange(K), more])
    ridges = [1e-3, 0.1, 1.0, 30.0]
    ridge = draw(st.sampled_from(ridges if regularized else [0.0, *ridges]), label="regularization")
    values = 3.0 * rng.standard_normal(len(arms))
    shift = draw(st.sampled_from([0.01, 1.0, ridge or 0.5]), label="shift")
    return Past(features, arms, values, ridge, shift)


def gap_indices(posterior: Posterior, kind: Any, scale: float) -> Array:
    """B_ij by the package's rule, i in rows and j in columns."""
    means, variances = posterior.means, posterior.variances
    G = np.stack([posterior.row(j) for j in range(len(means))])
    pairs = Pairs(
        means[:, None], means, variances[:, None], variances, G, np.float64(scale), LEAST_SHARE
    )
    return np.asarray(kind(pairs))


# Gap indices


@pytest.mark.slow
@PROVE
@given(pasts(), st.sampled_from([paired, individual]), st.floats(0.0, 50.0), st.data())
def test_lemma_1_the_mth_largest_is_at_most_the_largest_outside(
    past: Past, kind: Any, scale: float, data: st.DataObject
) -> None:
    B = gap_indices(past.posterior(), kind, scale)
    K = len(B)
    m = data.draw(st.integers(1, K - 1), label="m")
    J = data.draw(st.permutations(range(K)), label="order")[:m]
    outside = [i for i in range(K) if i not in J]
    for j in J:
        mth = np.sort(np.delete(B[:, j], j))[-m]
        assert mth <= B[outside, j].max()


@PROVE
@given(pasts(), st.floats(0.0, 50.0))
def test_paired_indices_are_at_most_the_individual_ones(past: Past, scale: float) -> None:
    posterior = past.posterior()
    one, other = (gap_indices(posterior, kind, scale) for kind in (paired, individual))
    assert np.all(one <= other + 1e-9 * np.abs(other).max())


@pytest.mark.slow
@PROVE
@given(pasts(), st.floats(0.1, 50.0))
def test_an_index_bounds_the_gap_from_above_and_its_mirror_from_below(
    past: Past, scale: float
) -> None:
    """B_ij ≥ μ̂_i − μ̂_j ≥ −B_ji, and B_ij − B_ji = 2(μ̂_i − μ̂_j): widths are symmetric."""
    posterior = past.posterior()
    gaps = posterior.means[:, None] - posterior.means[None, :]
    for kind in (paired, individual):
        B = gap_indices(posterior, kind, scale)
        slack = 1e-9 * np.abs(B).max()
        assert np.all(gaps - slack <= B)
        # Near a width of zero, a square root halves the digits.
        close = 1e-7 * scale * np.sqrt(posterior.variances.max()) + slack
        np.testing.assert_allclose(B - B.T, 2 * gaps, rtol=0, atol=close)


# Stopping


def engine_of(features: Array, m: int, **settings: Any) -> Engine:
    """A composed algorithm, ready to decide."""
    problem = Problem.of(features, m, sigma=0.5, S=1.0)
    return shortlist.GIFA(**settings).bind(problem).engine


@pytest.mark.slow
@SLOW
@given(
    K=st.integers(3, 9),
    N=st.integers(2, 9),
    seed=st.integers(0, 2**32),
    candidates=st.sampled_from(["top_means", "smallest_gap"]),
    indices=st.sampled_from(["paired", "individual"]),
    data=st.data(),
)
def test_ugape_never_stops_later_than_lucb(
    K: int, N: int, seed: int, candidates: str, indices: str, data: st.DataObject
) -> None:
    """On one path, both statistics of every round."""
    m = data.draw(st.integers(1, K - 1), label="m")
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N)) * rng.uniform(0.5, 2.0, (K, 1))
    theta = rng.standard_normal(N)
    rules: dict[str, Any] = {"candidates": candidates, "indices": indices}
    rules |= {"threshold": "heuristic", "initialization": "each"}
    engines = [engine_of(features, m, stopping=stopping, **rules) for stopping in ("ugape", "lucb")]
    posteriors = [engine.posterior() for engine in engines]
    memories = [Memory(engine.recipe, 1) for engine in engines]

    def observe(arm: int) -> None:
        value = float(features[arm] @ theta + 0.5 * rng.standard_normal())
        for posterior in posteriors:
            posterior.observe(arm, value)

    for arm in range(K):
        observe(arm)
    for posterior in posteriors:
        if not posterior.ready:
            posterior.refresh()
    stops: dict[str, int] = {}
    for t in range(60):
        # The stop is read from the statistics: the path goes on beyond it.
        seeds = np.array([seed], np.uint64)
        ugape, lucb = (
            decide(engine.recipe, posterior.fits, seeds, memory, stops=False)
            for engine, posterior, memory in zip(engines, posteriors, memories, strict=True)
        )
        assert (ugape.b, ugape.c, ugape.arm) == (lucb.b, lucb.c, lucb.arm)
        assert ugape.statistic <= lucb.statistic
        for name, decision in (("ugape", ugape), ("lucb", lucb)):
            if decision.statistic <= 0.0:
                stops.setdefault(name, t)
        observe(int(lucb.arm[0]))
    assert stops.get("ugape", 60) <= stops.get("lucb", 60)


@pytest.mark.slow
@SLOW
@given(K=st.integers(3, 9), N=st.integers(2, 6), seed=st.integers(0, 2**32), data=st.data())
def test_ugape_stops_as_early_as_lucb_in_the_simulator(
    K: int, N: int, seed: int, data: st.DataObject
) -> None:
    """The same pulls up to the stop, which is the only difference."""
    m = data.draw(st.integers(1, K - 1), label="m")
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N)) * rng.uniform(0.5, 2.0, (K, 1))
    instance = shortlist.instances.from_arrays(
        features, theta=rng.standard_normal(N), m=m, sigma=0.5
    )
    pair = [
        shortlist.GIFA(stopping=stopping, initialization="each", name=stopping)
        for stopping in ("ugape", "lucb")
    ]
    frame = shortlist.compare(
        pair, instance, runs=3, seed=seed, max_samples=2000, progress=False
    ).frame
    samples = frame.pivot_table(index="run", columns="algorithm", values="samples")
    pulls = frame.set_index(["algorithm", "run"])["pulls"]
    assert (samples["ugape"] <= samples["lucb"]).all()
    for run in range(3):
        assert np.all(np.array(pulls["ugape", run]) <= np.array(pulls["lucb", run]))


# One arm


@pytest.mark.slow
@SLOW
@given(
    K=st.integers(2, 10),
    N=st.integers(1, 10),
    seed=st.integers(0, 2**32),
    selection=st.sampled_from(["greedy", "optimized"]),
    published=st.booleans(),
)
def test_for_one_arm_m_lingape_is_lingape(
    K: int, N: int, seed: int, selection: str, published: bool
) -> None:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N)) * rng.uniform(0.5, 2.0, (K, 1))
    rewards = features @ rng.standard_normal(N) + rng.standard_normal((200, K))
    suffix = (
        f" {selection} (as published)" if published else {"greedy": ""}.get(selection, " optimized")
    )

    def arms(algorithm: str) -> tuple[list[int], bool, tuple[str, ...]]:
        study = shortlist.Study(
            features,
            1,
            sigma=0.5,
            S=1.0,
            seed=seed,
            algorithm=algorithm_of(algorithm + suffix),
            audit=False,
        )
        most = len(study.procedure.engine.setup.initial) + 50
        while not study.done and study.evaluations < most:
            trial = study.ask()
            study.tell(trial, float(rewards[trial.number, trial.arm]))
        return [trial.arm for trial in study.trials], study.done, study.shortlist.names

    assert arms("m-LinGapE") == arms("LinGapE")


# Classical bandits


@PROVE
@given(K=st.integers(2, 8), seed=st.integers(0, 2**32), pulls=st.integers(0, 100))
def test_on_the_identity_least_squares_is_the_textbook(K: int, seed: int, pulls: int) -> None:
    """λ = 0: means are averages, widths 1/√N_a, and indices those of LUCB and UGapE."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.arange(K), rng.integers(0, K, pulls)])
    values = rng.standard_normal(len(arms))
    posterior = Past(np.eye(K), arms, values, 0.0, 1.0).posterior()
    counts = np.bincount(arms, minlength=K)
    averages = np.bincount(arms, values, minlength=K) / counts
    np.testing.assert_allclose(posterior.means, averages, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(posterior.variances), 1 / np.sqrt(counts), rtol=1e-9)
    for j in range(K):
        expected = np.zeros(K)
        expected[j] = 1 / counts[j]
        np.testing.assert_allclose(posterior.row(j), expected, rtol=1e-9, atol=1e-12)
    scale = 2.5
    upper, lower = (averages + sign * scale / np.sqrt(counts) for sign in (1, -1))
    B = gap_indices(posterior, individual, scale)
    np.testing.assert_allclose(B, upper[:, None] - lower[None, :], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ridge", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_vanishing_regularization_leaves_the_textbook(ridge: float) -> None:
    """λ → 0: what remains of λ is less than λ itself, and no rounding takes its place."""
    rng = np.random.default_rng(0)
    arms = np.concatenate([np.arange(5), rng.integers(0, 5, 60)])
    values = rng.standard_normal(len(arms))
    posterior = Past(np.eye(5), arms, values, ridge, 1.0).posterior()
    counts = np.bincount(arms, minlength=5)
    averages = np.bincount(arms, values, minlength=5) / counts
    close = max(ridge, 1e-9)
    np.testing.assert_allclose(posterior.means, averages, rtol=close, atol=close)
    np.testing.assert_allclose(np.sqrt(posterior.variances), 1 / np.sqrt(counts), rtol=close)


@pytest.mark.slow
@SLOW
@given(K=st.integers(3, 8), seed=st.integers(0, 2**32), data=st.data())
def test_lucb_is_the_textbook_lucb(K: int, seed: int, data: st.DataObject) -> None:
    """The m of largest average; b of the lowest L in it, c of the highest U outside; U_c − L_b."""
    m = data.draw(st.integers(1, K - 1), label="m")
    rng = np.random.default_rng(seed)
    means = rng.standard_normal(K)
    study = shortlist.Study(
        arms=[str(arm) for arm in range(K)], m=m, sigma=0.5, seed=seed, algorithm="LUCB"
    )
    told: list[list[float]] = [[] for _ in range(K)]
    while not study.done and study.evaluations < 60:
        trial = study.ask()
        why = study.why(trial)
        t = study.evaluations
        if t >= K:
            averages = np.array([np.mean(values) for values in told])
            counts = np.array([len(values) for values in told])
            width = 0.5 * np.sqrt(2 * np.log(5 * K * t**4 / (4 * 0.05)) / counts)
            J = np.argsort(-averages)[:m]
            outside = np.argsort(-averages)[m:]
            b = min(J, key=lambda arm: averages[arm] - width[arm])
            c = max(outside, key=lambda arm: averages[arm] + width[arm])
            assert (why.b, why.c) == (str(b), str(c))
            assert trial.arm in (b, c)
            assert counts[trial.arm] == min(counts[b], counts[c])
            gap = averages[c] + width[c] - averages[b] + width[b]
            assert study.statistic == pytest.approx(gap, rel=1e-9, abs=1e-8)
        value = float(means[trial.arm] + 0.5 * rng.standard_normal())
        told[trial.arm].append(value)
        study.tell(trial, value)


# Least squares


def figures(posterior: Posterior) -> tuple[Array, Array, Array, float]:
    """Means, variances, G and ln det, as copies."""
    rows = np.array([posterior.row(arm) for arm in range(len(posterior.means))])
    return posterior.means.copy(), posterior.variances.copy(), rows, posterior.log_det


def assert_close(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    for first, second in zip(one, other, strict=True):
        scale = max(np.abs(np.asarray(second)).max(), 1e-12)
        np.testing.assert_allclose(first, second, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.slow
@PROVE
@given(pasts(), st.integers(0, 2**32))
def test_the_order_of_evaluations_does_not_matter(past: Past, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(past.arms))
    if past.regularization == 0.0:
        # The first K pulls, which span, stay first.
        K = len(past.features)
        rng = np.random.default_rng(seed)
        order = np.concatenate([rng.permutation(K), K + rng.permutation(len(past.arms) - K)])
    assert_close(figures(past.posterior(order)), figures(past.posterior()))


@pytest.mark.slow
@PROVE
@given(pasts(), st.booleans())
def test_refresh_changes_nothing(past: Past, whole: bool) -> None:
    posterior = past.posterior(whole=whole)
    before = figures(posterior)
    posterior.refresh()
    assert_close(figures(posterior), before)


@PROVE
@given(pasts())
def test_the_log_determinant_is_that_of_numpy(past: Past) -> None:
    posterior = past.posterior()
    x = past.features
    A = x[past.arms].T @ x[past.arms]
    sign, expected = np.linalg.slogdet(np.eye(x.shape[1]) + A / past.shift)
    assert sign == 1.0
    assert posterior.log_det == pytest.approx(expected, rel=1e-9, abs=1e-9)


@PROVE
@given(pasts(regularized=True))
def test_means_and_g_are_those_of_the_explicit_inverse(past: Past) -> None:
    posterior = past.posterior()
    x = past.features
    V = past.regularization * np.eye(x.shape[1]) + x[past.arms].T @ x[past.arms]
    inverse = np.linalg.inv(V)
    gram = x @ inverse @ x.T
    means = x @ inverse @ (past.values @ x[past.arms])
    assert_close(figures(posterior)[:3], (means, np.diag(gram), gram))


@pytest.mark.slow
@PROVE
@given(pasts(regularized=True), st.data())
def test_greedy_takes_the_pull_that_most_shrinks_the_pair(past: Past, data: st.DataObject) -> None:
    """Sherman and Morrison: the pair's norm falls by (G_ba − G_ca)²/(1 + G_aa)."""
    K = len(past.features)
    b, c = data.draw(st.permutations(range(K)), label="pair")[:2]
    posterior = past.posterior()
    row_b, row_c, variances = posterior.row(b), posterior.row(c), posterior.variances.copy()
    before = variances[b] + variances[c] - 2 * row_b[c]
    for arm in range(K):
        twin = posterior.copy()
        twin.observe(arm, 0.0)
        after = twin.variances[b] + twin.variances[c] - 2 * twin.row(b)[c]
        gain = (row_b[arm] - row_c[arm]) ** 2 / (1 + variances[arm])
        assert after == pytest.approx(before - gain, rel=1e-8, abs=1e-8 * variances.max())


# Little regularisation


def exact_norms(features: Array, counts: Integers, ridge: float) -> Array:
    """‖x_a‖²_{V⁻¹} in fractions, by Gauss and Jordan: no digit is lost."""
    x = [[Fraction(float(entry)) for entry in row] for row in features]
    N = len(x[0])
    V = [
        [
            sum((int(n) * row[i] * row[j] for n, row in zip(counts, x, strict=True)), Fraction(0))
            + (Fraction(ridge) if i == j else 0)
            for j in range(N)
        ]
        for i in range(N)
    ]
    norms = []
    for row in x:
        system = [[*V[i], row[i]] for i in range(N)]
        for i in range(N):
            system[i] = [entry / system[i][i] for entry in system[i]]
            for k in range(N):
                if k != i:
                    factor = system[k][i]
                    system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
        norms.append(float(sum(a * b[-1] for a, b in zip(row, system, strict=True))))
    return np.array(norms)


@pytest.mark.parametrize("ridge", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_tiny_regularization_costs_no_digits(ridge: float) -> None:
    """Variances start at ‖x‖²/λ and end near 1/N: their difference is taken, not their digits."""
    features = np.array([[1.0, 0.2], [0.3, 1.0], [0.7, 0.7]])
    posterior = Posterior(features, regularization=ridge)
    for arm in (0, 1, 2, 0, 1):
        posterior.observe(arm, 1.0)
    exact = exact_norms(features, posterior.pulls, ridge)
    np.testing.assert_allclose(posterior.variances, exact, rtol=1e-6)


@pytest.mark.parametrize("S", [1.0, 1e3, 1e6])
def test_a_generous_bound_on_theta_keeps_the_guarantee(S: float) -> None:
    """A larger bound on ‖θ‖ is a weaker assumption; λ_V = 0.2σ²/S² shrinks with it."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((6, 3))
    algorithm = shortlist.GIFA(threshold="frequentist", initialization=None)
    settings = {"algorithm": algorithm, "seed": 0, "audit": False, "intercept": False}
    study = shortlist.Study(features, 2, sigma=0.01, S=S, **settings)
    study.run(
        lambda trial: float(features[trial.arm, 0] + 0.01 * rng.standard_normal()),
        max_evaluations=60,
        progress=False,
    )
    engine, posterior = study.procedure.engine, study.posterior
    exact = exact_norms(features, posterior.pulls, engine.setup.regularization)
    assert study.shortlist.guarantee.text.count("Proven") == 1
    np.testing.assert_allclose(posterior.variances, exact, rtol=1e-6)


def test_a_refresh_that_fails_does_not_stop_the_learning() -> None:
    """λ_V = (σ/20)² at σ = 10⁻⁶: after 1024 pulls of one arm Cholesky finds V singular."""
    posterior = Posterior(
        np.array([[1.0, 1.0], [1.0, 1.1], [0.9, 1.0]]), regularization=(1e-6 / 20) ** 2
    )
    values = 1.0 + 0.001 * np.arange(1100)
    for value in values:
        posterior.observe(0, float(value))
    assert posterior.observed == 1100
    assert posterior.means[0] == pytest.approx(values.mean(), rel=1e-6)
    assert posterior.variances[0] == pytest.approx(1 / 1100, rel=1e-6)
