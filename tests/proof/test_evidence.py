"""What all evidence has in common; how often it errs; rounding.

Rates are compared with bounds that the true rate, if it is as proven, exceeds with a probability of at
most one in a million.
"""

from copy import copy

import numpy as np
import pytest
from scipy.stats import binom

from shortlist.proof.evidence import Pairs
from shortlist.proof.increments import BlockBets, PlanBets, Student, SubGaussian
from shortlist.proof.naming import least_slack
from shortlist.proof.plan import Plan
from shortlist.proof.pooled import PooledBets
from tests.proof.drawn import KINDS, K, all_pairs, couples, design, features, with_values


def alike(pairs, sizes):
    return Student(pairs, sizes, alike=True)


def pooled(pairs, sizes):
    return PooledBets(
        pairs, sizes, np.full(pairs.K, 0.5), np.full(pairs.K, 0.2), np.zeros(pairs.K), 0.0
    )


#: What makes an evidence, and the contrasts that it takes.
EVIDENCE = {
    "known σ": (SubGaussian, KINDS),
    "unknown σ": (Student, ["own", "linear", "paired", "paired, linear"]),
    "one unknown σ": (alike, ["own", "linear", "within", "within, linear"]),
    "range": (PlanBets, ["own", "linear", "within", "within, linear"]),
    "range of blocks": (BlockBets, ["paired", "paired, linear"]),
    "range, pooled": (pooled, ["own"]),
}
ALL = [(name, kind) for name, (_, kinds) in EVIDENCE.items() for kind in kinds]
NORMAL = ["known σ", "unknown σ", "one unknown σ"]


def results(name, plan, means, rng):
    """Results with these means; of a range they are two values, with much skew."""
    n = len(plan.arms)
    if name in NORMAL:
        level = 3.0 * rng.normal(size=99)[plan.blocks] if plan.blocks is not None else 0.0
        return means[plan.arms] + level + np.sqrt(plan.noise[plan.arms]) * rng.normal(size=n)
    draws = rng.random(n)
    if plan.paired:  # most of a block's results are made by one draw
        draws = np.where(rng.random(n) < 0.7, rng.random(99)[plan.blocks], draws)
    return (draws < means[plan.arms]).astype(float)


def drawn(name, kind, seed, plans=3):
    rng = np.random.default_rng(seed)
    pairs = Pairs(np.arange(K), K)
    evidence = EVIDENCE[name][0](pairs, rng.uniform(0.05, 0.5, len(pairs)))
    made = []
    for _ in range(plans):
        plan = design(kind, rng)
        made.append(with_values(plan, results(name, plan, rng.uniform(0.2, 0.8, K), rng)))
        evidence.after(made[-1])
    return evidence, made


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_evidence_grows_with_the_slack(name, kind):
    evidence, _ = drawn(name, kind, 1)
    b, c = all_pairs()
    found = np.array([evidence.log_e(b, c, slack) for slack in np.linspace(-1.2, 1.2, 61)])
    within = 2e-3 if name == "range, pooled" else 1e-9  # pooled bets have a lower bound so close
    assert (np.diff(found, axis=0) >= -within).all()
    assert found[-1].max() > found[0].max()
    slacks = np.linspace(-0.3, 0.3, len(b))
    by_itself = [evidence.log_e(b[i : i + 1], c[i : i + 1], slacks[i])[0] for i in range(len(b))]
    np.testing.assert_allclose(evidence.log_e(b, c, slacks), by_itself, atol=1e-9)


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_the_least_slack_is_where_evidence_reaches_the_level(name, kind):
    evidence, _ = drawn(name, kind, 2)
    b, c = all_pairs()
    least = least_slack(evidence, b, c, 1.5)
    here = np.isfinite(least)
    assert here.any()
    b, c, least = b[here], c[here], least[here]
    assert (evidence.log_e(b, c, least) >= 1.5).all()
    assert (evidence.log_e(b, c, least - 0.01) < 1.5).all()


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_a_copy_from_before_the_plans_is_a_blank_one(name, kind):
    evidence, made = drawn(name, kind, 3)
    rng = np.random.default_rng(3)
    pairs = Pairs(np.arange(K), K)
    anew = EVIDENCE[name][0](pairs, rng.uniform(0.05, 0.5, len(pairs)))
    blank, (b, c) = copy(anew), all_pairs()
    anew.after(made[0])
    for plan in made:
        assert (blank.log_e(b, c, 0.0) == copy(blank).log_e(b, c, 0.0)).all()
        blank.after(plan)
    assert (blank.log_e(b, c, 0.1) == evidence.log_e(b, c, 0.1)).all()


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_no_evidence_of_an_arm_against_itself_or_before_results(name, kind):
    evidence, _ = drawn(name, kind, 4)
    every = np.arange(K)
    assert (evidence.log_e(every, every, 1.0) == -np.inf).all()
    empty = EVIDENCE[name][0](Pairs(every, K), np.full(K * K, 0.1))
    b, c = all_pairs()
    assert (empty.log_e(b, c, 1.0) == -np.inf).all()


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_arms_may_be_added_after_evidence_began(name, kind):
    """A pair's evidence by plans in which a new arm has no result is the same as without it."""
    evidence, made = drawn(name, kind, 5)
    wider, _ = drawn(name, kind, 5, plans=0)
    for plan in made:
        x = None if plan.features is None else np.vstack([plan.features, np.ones(3)])
        noise, expected = np.append(plan.noise, 0.1), np.append(plan.expected, 0.5)
        wider.after(Plan(plan.arms, plan.values, noise, expected, x, plan.blocks, plan.paired))
    b, c = all_pairs()
    np.testing.assert_allclose(wider.log_e(b, c, 0.1), evidence.log_e(b, c, 0.1), atol=1e-8)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kind in ALL if name in NORMAL])
def test_the_mean_of_e_after_a_plan_is_at_most_one_at_the_true_gap(name, kind):
    """E cut off at 30 has a mean of at most 1: an average is above 1 by 4.8 standard errors with about
    that chance of one in a million.
    """
    rng, runs, gap = np.random.default_rng(11), 200, 0.3
    plan = design(kind, rng, least=4)
    x = features() if "linear" in kind else np.eye(K)
    theta = rng.normal(size=x.shape[1])
    theta += (x[1] - x[0]) * (gap - (x[1] - x[0]) @ theta) / ((x[1] - x[0]) ** 2).sum()
    b, c, es = np.array([0]), np.array([1]), np.zeros(runs)
    for run in range(runs):
        evidence = EVIDENCE[name][0](Pairs(b, K), np.full(K, 0.3))
        evidence.after(with_values(plan, results(name, plan, x @ theta, rng)))
        es[run] = np.exp(min(evidence.log_e(b, c, gap)[0], np.log(30.0)))
    assert es.mean() <= 1.0 + 4.8 * es.std() / np.sqrt(runs)
    assert es.std() > 0.1


@pytest.mark.parametrize("paired", [False, True])
def test_the_mean_of_students_evidence_is_one_for_normal_results(paired):
    """Of 4,000 pairs; at most 1 where two arms have a spread each."""
    paths, results_each, gap = 4000, 5, 0.4
    pairs, rng = couples(paths), np.random.default_rng(2)
    arms = np.repeat(np.arange(2 * paths), results_each)
    blocks = np.tile(np.arange(results_each), 2 * paths) if paired else None
    values = gap * (arms % 2) + np.where(arms % 2, 1.0, 0.3) * rng.normal(size=len(arms))
    evidence = Student(pairs, np.full(paths, 0.5))
    none = np.ones(2 * paths)
    evidence.after(Plan(arms, values, none, none, blocks=blocks, paired=paired))
    es = np.exp(evidence.log_e(pairs.b, pairs.c, gap))
    error = es.std() / np.sqrt(paths)
    assert error < 0.02
    assert 1.0 - (4.8 if paired else 10.0) * error < es.mean() < 1.0 + 4.8 * error


RANGE = [(name, kind) for name, kind in ALL if name not in NORMAL and kind != "within, linear"]


@pytest.mark.parametrize(("name", "kind"), RANGE)
@pytest.mark.parametrize("gap", [-0.5, 0.0, 0.1, 0.5])
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_the_exact_mean_of_e_of_coins_is_at_most_one_at_the_true_gap(name, kind, gap, size):
    """All outcomes of nine coins, with their probabilities; those of a block share one draw."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]) if "linear" in kind else None
    means = np.array([0.5 - gap / 2.0, 0.5 + gap / 2.0, 0.5])
    arms, blocks = np.repeat(np.arange(3), 3), None
    if kind == "own":
        arms = np.repeat([0, 1], [4, 4])
    elif kind == "within":
        blocks = np.array([0, 0, 1, 0, 1, 1, 0, 1, 0])
    elif "paired" in kind:
        blocks = np.tile(np.arange(3), 3)
    if "paired" in kind:  # four outcomes of a block: below the least mean, between two, above
        cuts = np.sort(np.r_[0.0, means, 1.0])
        of_block, middle = np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
        outcomes = np.indices((4, 4, 4)).reshape(3, -1).T
        chances = of_block[outcomes].prod(axis=1)
        values = (middle[outcomes][:, blocks] < means[arms]).astype(float)
    else:
        values = np.indices((2,) * len(arms)).reshape(len(arms), -1).T.astype(float)
        chances = np.where(values == 1.0, means[arms], 1.0 - means[arms]).prod(axis=1)
    assert chances.sum() == pytest.approx(1.0)
    b, c, mean = np.array([0]), np.array([1]), 0.0
    for y, chance in zip(values, chances, strict=True):
        evidence = EVIDENCE[name][0](Pairs(b, 3), np.full(3, size))
        noise = np.array([0.1, 0.2, 0.25])
        evidence.after(Plan(arms, y, noise, means, x, blocks, "paired" in kind))
        mean += chance * np.exp(evidence.log_e(b, c, gap)[0])
    assert 0.2 < mean <= 1.0


@pytest.mark.parametrize("name", [*EVIDENCE, "range of blocks, opposite"])
def test_a_tie_passes_no_more_often_than_its_risk_however_long_the_plans(name):
    """Plans that are short where E is large, and long where it is small: 40 of them.

    Every second path has results of another spread. Ever having reached 1/r has a chance of r.
    """
    paths, looks = 400, 40
    rng = np.random.default_rng(21)
    arms, pairs = 2 * paths, couples(paths)
    b, c = pairs.b, pairs.c
    of_arm = np.arange(arms) // 2 % 2
    sd = np.where(of_arm == 0, 0.5, np.where(np.arange(arms) % 2, 0.05, 1.0))
    if name in ("known σ", "one unknown σ"):
        sd = np.full(arms, 0.5)
    mean = np.where(of_arm == 0, 0.5, 0.05)
    noise = np.maximum(sd**2 if name in NORMAL else mean * (1.0 - mean), 1e-3)
    in_blocks = name.startswith("range of blocks")

    def draw(at, blocks):
        if name in NORMAL:
            return sd[at] * rng.normal(size=len(at))
        u = rng.random(len(at))
        if blocks is not None:  # what a block shares: mostly alike, or opposite
            shared = rng.random((paths, blocks.max() + 1))[at // 2, blocks]
            if "opposite" in name:
                u = np.where(at % 2, 1.0 - shared, shared)
            else:
                u = np.where(rng.random(len(at)) < 0.7, shared, u)
        return (u < mean[at]).astype(float)

    if name in NORMAL:
        means = sd * rng.normal(size=arms) / 3.0
    else:
        means = np.clip(rng.binomial(9, mean) / 9.0, 0.01, 0.99)
    sizes = np.maximum(np.abs(means[b] - means[c]), 0.7 * np.sqrt((noise[b] + noise[c]) / 9.0))
    if name == "range, pooled":
        evidence = PooledBets(pairs, sizes, means, noise, np.zeros(arms), 0.0)
    elif in_blocks:
        evidence = BlockBets(pairs, sizes)
    else:
        evidence = EVIDENCE[name][0](pairs, sizes)
    if name == "range":
        looks = 12
    peak, now = np.full(paths, -np.inf), np.zeros(paths)
    for look in range(looks):
        length = np.maximum(3, 6 * 1.06**look * np.where(now > 0.5, 0.2, 1.0)).astype(int)
        pulls = np.repeat(length, 2)
        if not in_blocks:
            pulls[1::2] = np.maximum(2, length // 2)
        at = np.repeat(np.arange(arms), pulls)
        blocks = np.concatenate([np.arange(n) for n in pulls]) if in_blocks else None
        plan = Plan(
            at,
            draw(at, blocks),
            noise,
            np.clip(means, 0.01, 0.99),
            blocks=blocks,
            paired=in_blocks,
        )
        evidence.after(plan)
        now = evidence.log_e(b, c, 0.0)
        peak = np.maximum(peak, now)
    for r in (0.3, 0.05):
        passed = int((peak >= -np.log(r)).sum())
        assert passed <= binom.isf(1e-6, paths, r), (name, r, passed)
    assert (peak >= 0.0).any()


@pytest.mark.parametrize("name", ["known σ", "unknown σ", "one unknown σ"])
@pytest.mark.parametrize("offset", [1e6, -3e8])
def test_values_that_differ_by_rounding_alone_decide_nothing(name, offset):
    """Equal results beside a large offset: sums round, and noise seems to be tiny."""
    rng = np.random.default_rng(0)
    pairs = Pairs(np.array([0, 1]), 2)
    b, c = np.array([0, 1]), np.array([1, 0])
    evidence = EVIDENCE[name][0](pairs, np.full(4, 1e-9))
    tiny = np.full(2, np.spacing(abs(offset)) ** 2 / 100.0)
    for _ in range(30):
        values = offset + np.spacing(offset) * rng.integers(0, 2, 9)  # last digits
        values = np.r_[values, rng.permutation(values)[:7], values[:2]]
        arms = np.repeat([0, 1], 9)
        evidence.after(Plan(arms, values, tiny, np.zeros(2)))
        evidence.after(Plan(arms, np.full(18, offset + 0.1), tiny, np.zeros(2)))
    assert (evidence.log_e(b, c, 0.0) < 0.0).all()


def test_features_scaled_by_a_million_decide_no_tie():
    """Arms of the same mean, by features whose product is large: rounding makes them differ."""
    x = np.array([[1e6, 1.0, 0.0], [1e6, 0.0, 1.0], [1e6, 1.0, 1.0], [0.0, 1.0, 2.0]])
    means = x @ np.array([3.0, 1e6, 1e6])
    pairs = Pairs(np.array([0, 1]), 4)
    b, c = np.array([0, 1]), np.array([1, 0])
    evidence = SubGaussian(pairs, np.full(8, 1e-6))
    arms = np.repeat(np.arange(4), 5)
    for _ in range(20):
        evidence.after(Plan(arms, means[arms], np.full(4, 1e-16), np.zeros(4), x))
    assert (evidence.log_e(b, c, 0.0) < 0.0).all()
