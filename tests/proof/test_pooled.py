import numpy as np
import pytest

from shortlist.proof.evidence import Pairs
from shortlist.proof.plan import Plan
from shortlist.proof.pooled import CLOSE, TILTS, PooledBets
from tests.proof.drawn import all_pairs


def drawn(seed, arms=5, epsilon=0.0):
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.02, 0.98, arms)
    noise, share = means * (1.0 - means), rng.normal(size=arms)
    pairs = Pairs(np.arange(arms), arms)
    sizes = rng.uniform(0.01, 0.4, len(pairs))
    evidence = PooledBets(pairs, sizes, means, noise, share, epsilon)
    told = [[] for _ in range(arms)]
    for _ in range(3):
        at = np.repeat(np.arange(arms), rng.integers(1, 60, arms))
        y = (rng.random(len(at)) < means[at]).astype(float)
        y = np.where(rng.random(len(at)) < 0.3, rng.random(len(at)), y)
        evidence.after(Plan(at, y, noise, means))
        for a, value in zip(at, y, strict=True):
            told[a].append(value)
    return evidence, [np.array(each) for each in told]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("slack", [-0.1, 0.0, 0.05, 1.0])
def test_the_bound_is_just_below_the_least_value_over_all_means(seed, slack):
    """The products one result after the other, at a fine grid of x."""
    evidence, told = drawn(seed)
    b, c = all_pairs(5)
    found = evidence.log_e(b, c, slack)
    priors = evidence._priors(b, c)
    x = np.linspace(max(0.0, -slack), min(1.0, 1.0 - slack), 501)
    for i in range(len(b)):
        up = np.log1p(np.multiply.outer(told[b[i]], TILTS)).sum(axis=0)
        down = np.log1p(np.multiply.outer(1.0 - told[c[i]], TILTS)).sum(axis=0)
        up = up - len(told[b[i]]) * np.log1p(np.multiply.outer(x, TILTS))
        opposite = np.maximum(1.0 - x - slack, 0.0)
        down = down - len(told[c[i]]) * np.log1p(np.multiply.outer(opposite, TILTS))
        with np.errstate(divide="ignore"):
            logs = up[:, :, None] + np.log(priors[i]) + down[:, None, :]
        least = np.logaddexp.reduce(logs, axis=(1, 2)).min()
        assert least - CLOSE - 0.01 <= found[i] <= least


def test_the_prior_adds_up_to_one():
    evidence, _ = drawn(0)
    priors = evidence._priors(*all_pairs(5))
    assert (priors >= 0.0).all()
    np.testing.assert_allclose(priors.sum(axis=(1, 2)), 1.0)


def test_priors_are_the_same_however_many_are_kept(monkeypatch):
    evidence, _ = drawn(0)
    b, c = all_pairs(5)
    found = evidence.log_e(b, c, 0.0)
    monkeypatch.setattr("shortlist.proof.pooled.MOST_KEPT", 3)
    assert (evidence.log_e(b, c, 0.0) == found).all()
    assert (
        np.concatenate([evidence.log_e(b[:7], c[:7], 0.0), evidence.log_e(b[7:], c[7:], 0.0)])
        == found
    ).all()


def test_no_table_of_all_pairs_is_made():
    """20,000 arms, of which a few pairs are asked about."""
    arms = 20_000
    means = np.full(arms, 0.5)
    pairs = Pairs(np.arange(10), arms)
    evidence = PooledBets(
        pairs, np.full(len(pairs), 0.1), means, 0.25 * np.ones(arms), np.zeros(arms), 0.0
    )
    at = np.arange(arms)
    evidence.after(Plan(at, (at % 2).astype(float), means, means))
    assert np.isfinite(evidence.log_e(np.array([1]), np.array([19_000]), 0.0)).all()
    assert len(evidence._kept) == 1


def test_only_sums_over_results_count():
    """One plan, or several with the same results in another order."""
    evidence, told = drawn(2)
    rng = np.random.default_rng(1)
    again = PooledBets(
        evidence.pairs, evidence.sizes, evidence.means, evidence.noise, evidence.share, 0.0
    )
    at, y = np.repeat(np.arange(5), [len(each) for each in told]), np.concatenate(told)
    order = rng.permutation(len(at))
    again.after(Plan(at[order], y[order], evidence.noise, evidence.means))
    b, c = all_pairs(5)
    np.testing.assert_allclose(again.log_e(b, c, 0.0), evidence.log_e(b, c, 0.0), atol=1e-8)
