import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, t

from shortlist.proof import increments
from shortlist.proof.evidence import Pairs
from shortlist.proof.increments import BlockBets, PlanBets, Student, SubGaussian
from shortlist.proof.plan import Plan
from tests.proof.drawn import K, all_pairs, couples, design, with_values


def test_the_prior_of_bets_adds_up_to_one():
    assert increments.PRIOR.sum() == pytest.approx(1.0)
    assert len(increments.PRIOR) == len(increments.GRID)


@pytest.mark.parametrize("slack", [-0.2, 0.0, 0.3])
def test_known_noise_is_a_half_normal_mixture(slack):
    rng = np.random.default_rng(0)
    pairs, size = Pairs(np.arange(K), K), 0.3
    evidence, M, information = SubGaussian(pairs, np.full(len(pairs), size)), 0.0, 0.0
    b, c = np.array([1]), np.array([4])
    for _ in range(3):
        plan = design("linear", rng)
        plan = with_values(plan, rng.normal(size=len(plan.arms)))
        evidence.after(plan)
        (d,), (known,) = plan.contrasts.estimates(b, c)
        M, information = M + d * known, information + known
    width = increments.SCALE * size

    def wealth(bet):
        exponent = bet * (M + slack * information) - 0.5 * bet**2 * information
        return 2.0 * norm.pdf(bet, scale=width) * np.exp(exponent)

    expected = quad(wealth, 0.0, 12.0 * width, epsabs=0.0)[0]
    assert np.exp(evidence.log_e(b, c, slack)[0]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("degrees", [1, 3, 20, 100])
def test_means_of_students_factor(degrees):
    def factor(T, kappa):
        return np.exp(kappa * max(T, 0.0) / np.sqrt(1.0 + T**2 / degrees))

    for place in (10, 100):
        kappa = increments.KAPPAS[place]
        mean = quad(lambda T, k=kappa: factor(T, k) * t.pdf(T, degrees), -np.inf, np.inf)[0]
        assert np.exp(increments.log_means(degrees)[place]) == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("kind", [SubGaussian, Student])
def test_evidence_by_normal_noise_does_not_depend_on_units(kind):
    rng = np.random.default_rng(1)
    plan = design("own", rng)
    plan = with_values(plan, rng.normal(size=len(plan.arms)))
    pairs, (b, c) = Pairs(np.arange(K), K), all_pairs()
    found = []
    for unit in (1e-6, 1.0, 1e6):
        evidence = kind(pairs, np.full(len(pairs), 0.2 * unit))
        evidence.after(Plan(plan.arms, plan.values * unit, plan.noise * unit**2, plan.expected))
        found.append(evidence.log_e(b, c, 0.1 * unit))
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)
    np.testing.assert_allclose(found[2], found[1], atol=1e-8)


def test_two_replicates_are_needed_for_an_unknown_spread():
    pairs = Pairs(np.array([0]), 2)
    evidence = Student(pairs, np.full(2, 0.1))
    evidence.after(Plan(np.array([0, 1, 1]), np.arange(3.0), np.ones(2), np.zeros(2)))
    assert evidence.log_e(np.array([0]), np.array([1]), 0.0) == [-np.inf]


@pytest.mark.parametrize("ends", [(0.0, 1.0), (1.0, 0.0)])
def test_results_at_the_ends_of_the_range_neither_ruin_nor_overflow(ends):
    """Bets on large gaps, against long plans of the most extreme results."""
    pairs, (b, c) = Pairs(np.arange(2), 2), (np.array([0]), np.array([1]))
    arms, n = np.repeat([0, 1], 500), np.tile(np.arange(500), 2)
    values, tiny = np.repeat(ends, 500), np.full(2, 1e-6)
    for kind, paired in ((PlanBets, False), (BlockBets, True)):
        evidence = kind(pairs, np.full(4, 1.0))
        blocks = n if paired else None
        expected = np.array([0.99, 0.01])
        evidence.after(Plan(arms, values, tiny, expected, blocks=blocks, paired=paired))
        found = evidence.log_e(b, c, 0.0)[0]
        assert np.isfinite(found)
        assert (found > 100.0) == (ends == (1.0, 0.0))


def test_bets_far_apart_grow_nearly_as_fast_as_the_best_bet():
    """Differences of about half of the range: at most 1.2 of ln E less than the best bet known later."""
    rng = np.random.default_rng(3)
    blocks, paths = 12, 50
    u = rng.uniform(0.3, 0.7, (paths, blocks))
    pairs = couples(paths)
    values = np.stack([0.3 + u, 0.3 + u - rng.uniform(0.4, 0.6, u.shape)], axis=1)
    arms = np.repeat(np.arange(2 * paths), blocks)
    plan = Plan(
        arms,
        np.clip(values, 0.0, 1.0).ravel(),
        np.full(2 * paths, 0.01),
        np.tile([0.75, 0.25], paths),
        blocks=np.tile(np.arange(blocks), 2 * paths),
        paired=True,
    )
    evidence = BlockBets(pairs, np.full(paths, 0.5))
    evidence.after(plan)
    d = np.clip(values, 0.0, 1.0)
    d = d[:, 0] - d[:, 1]
    best = np.max([np.log1p(bet * d).sum(axis=1) for bet in np.linspace(0.0, 1.0, 101)], axis=0)
    assert (best - evidence.log_e(pairs.b, pairs.c, 0.0)).max() < 1.2
    assert best.min() > 3.0


def test_many_equal_values_count_as_the_same_one_by_one():
    rng = np.random.default_rng(4)
    kappa = rng.normal(size=(5, 1)) * rng.random(11)
    told = np.repeat([0.0, 0.25, 1.0, 0.5], [90, 3, 70, 1])
    at_once = increments.cost_of(told, kappa, 0.4, 0.2)
    np.testing.assert_allclose(
        at_once, sum(increments.cost_of(told[[i]], kappa, 0.4, 0.2) for i in range(len(told)))
    )
