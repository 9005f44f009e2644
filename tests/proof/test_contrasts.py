import numpy as np
import pytest

from shortlist.proof.contrasts import Own, Paired, per_block, rooted
from shortlist.proof.plan import Plan
from tests.proof.drawn import KINDS, K, all_pairs, design, features, with_values


def weights_of_results(plan):
    """Weights of every single result, pairs × results, and the blocks that count for each pair."""
    b, c = all_pairs()
    contrasts = plan.contrasts
    k = contrasts.weights(b, c)
    if not isinstance(contrasts, Paired):
        return k[:, contrasts.cells.of_result]
    _, has = contrasts.differences(b, c)
    blocks = np.unique(plan.blocks, return_inverse=True)[1]
    of_arm = k[:, np.searchsorted(contrasts.cells.arms, plan.arms)]
    return of_arm * has[:, blocks] / np.maximum(has.sum(axis=1), 1)[:, None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_weighted_sums_without_bias_and_of_the_variance_said(kind, seed):
    rng = np.random.default_rng(seed)
    plan = design(kind, rng)
    b, c = all_pairs()
    means = features() @ rng.normal(size=3) if "linear" in kind else rng.normal(size=K)
    level = rng.normal(size=99) if plan.blocks is not None else np.zeros(99)
    blocks = np.zeros(len(plan.arms), int) if plan.blocks is None else plan.blocks
    exact = with_values(plan, means[plan.arms] + level[blocks])
    d, information = exact.contrasts.estimates(b, c)
    assert (information > 0.0).all()
    np.testing.assert_allclose(d, means[b] - means[c], atol=1e-10)

    told = with_values(plan, rng.normal(size=len(plan.arms)))
    weights = weights_of_results(told)
    np.testing.assert_allclose(told.contrasts.estimates(b, c)[0], weights @ told.values, atol=1e-10)
    np.testing.assert_allclose(1.0 / information, weights**2 @ plan.noise[plan.arms], rtol=1e-9)
    np.testing.assert_allclose(
        told.contrasts.estimates(c, b)[0], -weights @ told.values, atol=1e-10
    )


@pytest.mark.parametrize("kind", ["linear", "within", "within, linear"])
def test_no_unbiased_estimate_has_a_smaller_variance(kind):
    """Least squares with dummies for blocks, by the normal equations."""
    plan = design(kind, np.random.default_rng(8))
    x = features() if "linear" in kind else np.eye(K)
    rows = x[plan.arms]
    if plan.blocks is not None:
        rows = np.hstack([rows, np.equal.outer(plan.blocks, np.unique(plan.blocks))])
    matrix = (rows.T / plan.noise[plan.arms]) @ rows
    b, c = all_pairs()
    gap = np.zeros((len(b), rows.shape[1]))
    gap[:, : x.shape[1]] = x[b] - x[c]
    variances = np.einsum("pi,ij,pj->p", gap, np.linalg.pinv(matrix), gap)
    np.testing.assert_allclose(1.0 / plan.contrasts.estimates(b, c)[1], variances, rtol=1e-8)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "own" not in kind and kind != "linear"])
def test_weights_sum_to_nothing_within_every_block(kind):
    plan = design(kind, np.random.default_rng(5))
    weights = weights_of_results(plan)
    for block in np.unique(plan.blocks):
        sums = weights[:, plan.blocks == block].sum(axis=1)
        np.testing.assert_allclose(sums, 0.0, atol=1e-12 * np.abs(weights).max())


@pytest.mark.parametrize("kind", ["own", "linear"])
def test_the_spread_is_by_the_variances_of_each_arms_own_results(kind):
    rng = np.random.default_rng(2)
    plan, (b, c) = design(kind, rng), all_pairs()
    plan = with_values(plan, 5.0 + rng.normal(size=len(plan.arms)))
    own = np.array([np.var(plan.values[plan.arms == a], ddof=1) for a in range(K)])
    seen, degrees = plan.contrasts.spread(b, c)
    np.testing.assert_allclose(seen, weights_of_results(plan) ** 2 @ own[plan.arms], rtol=1e-9)
    least = np.minimum(plan.pulls[b], plan.pulls[c]) if kind == "own" else plan.pulls.min()
    assert (degrees == least - 1.0).all()


@pytest.mark.parametrize("kind", ["paired", "paired, linear"])
def test_the_spread_is_that_of_the_differences_of_blocks(kind):
    rng = np.random.default_rng(2)
    plan, (b, c) = design(kind, rng), all_pairs()
    plan = with_values(plan, 5.0 + rng.normal(size=len(plan.arms)))
    seen, degrees = plan.contrasts.spread(b, c)
    for i, weights in enumerate(weights_of_results(plan)):
        used = np.unique(plan.blocks[weights != 0.0])
        d = [weights[plan.blocks == x] @ plan.values[plan.blocks == x] for x in used]
        d = np.array(d) * len(used)
        assert seen[i] == pytest.approx(np.var(d, ddof=1) / len(d))
        assert degrees[i] == len(d) - 1


@pytest.mark.parametrize("kind", ["own", "linear", "within", "within, linear"])
def test_what_is_left_estimates_the_factor_of_all_noise(kind):
    """Its error is √(2/degrees) of it: that of 400 averages, five times."""
    rng, runs = np.random.default_rng(2), 400
    plan, (b, c) = design(kind, rng), all_pairs()
    left = np.zeros(runs)
    for run in range(runs):
        noise = rng.normal(size=len(plan.arms)) * np.sqrt(2.0 * plan.noise[plan.arms])
        contrasts = with_values(plan, noise).contrasts
        left[run], degrees = contrasts.left
    assert left.mean() == pytest.approx(2.0, rel=5.0 * np.sqrt(2.0 / degrees / runs))
    if "within" in kind:
        seen, free = contrasts.spread(b, c)
        np.testing.assert_allclose(seen * contrasts.estimates(b, c)[1], left[-1])
        assert (free == degrees).all()


@pytest.mark.parametrize("kind", ["own", "linear", "within", "within, linear"])
def test_all_degrees_of_freedom_that_are_left_count(kind):
    plan = design(kind, np.random.default_rng(4))
    levels = 0 if plan.blocks is None else len(np.unique(plan.blocks))
    used = 3 if "linear" in kind else K - (levels > 0)
    assert plan.contrasts.left[1] == len(plan.arms) - levels - used


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_said_of_an_arm_without_results_unless_features_say_it(kind):
    plan = design(kind, np.random.default_rng(1))
    here = plan.arms != 2
    without = Plan(
        plan.arms[here],
        np.ones(int(here.sum())),
        plan.noise,
        plan.expected,
        plan.features,
        None if plan.blocks is None else plan.blocks[here],
        plan.paired,
    )
    b, c = all_pairs()
    information = without.contrasts.estimates(b, c)[1]
    unknown = (b == 2) | (c == 2) if "linear" not in kind else np.zeros(len(b), bool)
    assert ((information == 0.0) == unknown).all()
    assert (without.contrasts.weights(b, c)[unknown] == 0.0).all()
    assert without.contrasts.estimates(np.array([1]), np.array([1]))[1] == [0.0]


def test_blocks_that_share_no_arm_are_not_compared():
    arms, blocks = np.array([0, 1, 0, 1, 2, 3, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    plan = Plan(arms, np.arange(8.0), np.ones(5), np.zeros(5), blocks=blocks)
    b, c = all_pairs(5)
    known = plan.contrasts.estimates(b, c)[1] > 0.0
    assert set(zip(b[known], c[known], strict=True)) == {(0, 1), (1, 0), (2, 3), (3, 2)}


def test_directions_without_a_result_are_not_compared():
    x = np.array([[1.0, 0, 0], [1.0, 1, 0], [1.0, 0, 1], [1.0, 2, 0]])
    plan = Plan(np.array([0, 0, 1, 1]), np.arange(4.0), np.ones(4), np.zeros(4), features=x)
    b, c = all_pairs(4)
    known = plan.contrasts.estimates(b, c)[1] > 0.0
    assert (known == ((b != 2) & (c != 2))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_whose_results_all_failed_says_nothing(kind):
    none = np.zeros(0, int)
    x = features() if "linear" in kind else None
    blocks = none if "own" not in kind and kind != "linear" else None
    plan = Plan(none, np.zeros(0), np.ones(K), np.ones(K), x, blocks, "paired" in kind)
    b, c = all_pairs()
    d, information = plan.contrasts.estimates(b, c)
    assert not d.any()
    assert not information.any()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("own", "linear")])
def test_levels_of_blocks_change_nothing_however_large(kind):
    rng = np.random.default_rng(6)
    plan, (b, c) = design(kind, rng), all_pairs()
    # Multiples of a power of 2, so that sums with the levels are exact.
    values = rng.integers(0, 1000, len(plan.arms)) / 1024.0
    level = rng.integers(-(10**6), 10**6, 99).astype(float)
    plain = with_values(plan, values).contrasts
    shifted = with_values(plan, values + level[plan.blocks]).contrasts
    error = shifted.rounding(b, c)
    assert (np.abs(plain.estimates(b, c)[0] - shifted.estimates(b, c)[0]) <= error).all()
    assert error.max() < 1e-6


@pytest.mark.parametrize("kind", ["own", "linear"])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_rounding_bounds_the_errors_of_large_offsets(kind, scale):
    """Exact fractions say what the estimate should be."""
    from fractions import Fraction

    rng = np.random.default_rng(7)
    plan = design(kind, rng)
    b, c = all_pairs()
    x = features() if kind == "linear" else np.eye(K)
    x = x * scale if kind == "linear" else x
    values = 1e6 + x @ rng.normal(size=x.shape[1])
    told = Plan(plan.arms, values[plan.arms], plan.noise, plan.expected)
    if kind == "linear":
        x = np.column_stack([x, np.ones(K)])
        told = Plan(plan.arms, values[plan.arms], plan.noise, plan.expected, features=x)
    d, _ = told.contrasts.estimates(b, c)
    error = told.contrasts.rounding(b, c)
    exact = np.array(
        [float(Fraction(values[i]) - Fraction(values[j])) for i, j in zip(b, c, strict=True)]
    )
    assert (np.abs(d - exact) <= error).all()
    assert error.max() < 1e-7 * scale


def test_scales_of_features_do_not_matter():
    plan, (b, c) = design("linear", np.random.default_rng(9)), all_pairs()
    told = with_values(plan, np.random.default_rng(1).normal(size=len(plan.arms)))
    scaled = Plan(
        told.arms, told.values, told.noise, told.expected, told.features * [1e-6, 1.0, 1e6]
    )
    for one, other in zip(
        told.contrasts.estimates(b, c), scaled.contrasts.estimates(b, c), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8)


def test_own_contrasts_of_many_arms_take_no_table_of_pairs():
    arms = 20_000
    rng = np.random.default_rng(0)
    many = Own(np.repeat(np.arange(arms), 2), rng.normal(size=2 * arms), np.ones(arms))
    b, c = np.repeat(np.arange(10), arms), np.tile(np.arange(arms), 10)
    d, information = many.estimates(b, c)
    assert (information[b != c] == 1.0).all()
    assert not d[b == c].any()


def test_rooted_is_the_root_of_the_pseudoinverse():
    rows = np.random.default_rng(0).normal(size=(9, 4)) @ np.diag([1.0, 3.0, 0.0, 2.0])
    root, null = rooted(rows)
    np.testing.assert_allclose(root @ root.T, np.linalg.pinv(rows.T @ rows), atol=1e-12)
    np.testing.assert_allclose(np.abs(null), np.eye(4)[:, [2]], atol=1e-12)
    assert rooted(rows[:0])[1].shape == (4, 4)


def test_averages_of_blocks_some_of_which_are_empty():
    block, p = np.array([3, 0, 3, 0]), np.array([1.0, 2.0, 3.0, 2.0])
    y = np.array([4.0, 1.0, 8.0, 3.0])
    assert per_block(block, p, y).tolist() == [2.0, 0.0, 0.0, 7.0]
    assert per_block(block, p, np.column_stack([y, -y]))[:, 1].tolist() == [-2.0, 0.0, 0.0, -7.0]
