import math

import numpy as np
import pytest

from shortlist.proof.evidence import Pairs
from shortlist.proof.increments import SubGaussian
from shortlist.proof.naming import Naming, share_of
from shortlist.proof.plan import Plan
from tests.proof.drawn import K, design, with_values
from tests.proof.test_evidence import ALL, EVIDENCE, results


def mask(*arms, of=K):
    return np.isin(np.arange(of), arms)


def naming(evidence=None, **risks):
    """Sets of arms by their digits, with risks."""
    sets = {mask(*map(int, key[1:])).tobytes(): risk for key, risk in risks.items()}
    rows = np.flatnonzero(np.any([np.frombuffer(key, bool) for key in sets], axis=0))
    pairs = Pairs(rows, K)
    return Naming(sets, evidence or SubGaussian(pairs, np.full(len(pairs), 0.2)))


def test_shares_add_up_to_at_most_one_and_never_end():
    """Those of every naming after every number of retirements, fixed beforehand."""
    begun = [share_of(k) for k in range(5_000)]
    assert min(begun) > 0.0
    assert sorted(begun, reverse=True) == begun
    of, parts = naming(s01=begun[0]), list[float]()
    for _ in range(5_000):
        parts.append(math.exp(-of.level(mask(0, 1))) / begun[0])
        of.move()
    assert sorted(parts, reverse=True) == parts
    assert 0.999 < sum(begun) * sum(parts) <= 1.0 + 1e-9


def test_the_level_is_the_risk_of_the_set_and_infinite_for_others():
    of = naming(s01=0.04, s02=0.01)
    assert of.level(mask(0, 1)) == pytest.approx(math.log(25.0))
    assert of.level(mask(0, 2)) == pytest.approx(math.log(100.0))
    assert of.level(mask(1, 2)) == math.inf


def test_a_retirement_changes_risks_alike():
    of = naming(s01=0.04, s02=0.01)
    of.move()
    less = of.level(mask(0, 1)) - math.log(25.0)
    assert less > 1.0
    assert of.level(mask(0, 2)) == pytest.approx(math.log(100.0) + less)


def plans(kind, name, count=4, seed=7):
    rng = np.random.default_rng(seed)
    means, made = rng.uniform(0.2, 0.8, K), []
    for _ in range(count):
        plan = design(kind, rng)
        made.append(with_values(plan, results(name, plan, means, rng)))
    return made


def test_what_pairs_lack_is_by_the_largest_evidence_so_far():
    of, (b, c) = naming(s01=0.05), (np.array([0, 1]), np.array([3, 4]))
    seen = []
    for plan in plans("own", "known σ"):
        of.after(plan)
        seen.append(of.evidence.log_e(b, c, 0.1))
        lacks = of.missing(b, c, 30.0, 0.1)
        np.testing.assert_allclose(lacks, 30.0 - np.max(seen, axis=0))
        np.testing.assert_allclose(of.missing(b, c, 30.0, 0.1), lacks)
    wider = of.missing(b, c, 30.0, 5.0)
    assert (wider < lacks).all()
    assert (of.missing(b, c, 30.0, 0.1) == wider).all()  # what passed has passed
    assert of.missing(np.array([5]), np.array([0]), 30.0, 0.1) == [math.inf]


def test_results_that_nobody_asked_for_prove_nothing():
    of, (b, c) = naming(s01=0.05), (np.array([0]), np.array([3]))
    (plan,) = plans("own", "known σ", 1)
    of.after(Plan(plan.arms, plan.values, plan.noise, plan.expected, evidence=False))
    assert of.missing(b, c, 3.0, 0.0) == [math.inf]


def test_only_rows_of_arms_in_sets_have_a_place():
    of = naming(s01=0.04, s02=0.01)
    assert len(of.peak) == 3 * K


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_again_after_a_correction_is_evidence_from_scratch(name, kind):
    pairs = Pairs(np.array([0, 1]), K)

    def begun():
        sizes = np.random.default_rng(1).uniform(0.05, 0.5, len(pairs))
        return Naming({mask(0, 1).tobytes(): 0.05}, EVIDENCE[name][0](pairs, sizes), since=1)

    made, b, c = plans(kind, name), np.array([0, 0, 1]), np.array([2, 5, 4])
    corrected, right = begun(), begun()
    for plan in made[1:]:
        corrected.after(plan)
        corrected.missing(b, c, math.inf, 0.0)
    made[2] = made[2].corrected(3, 1.0 - made[2].values[3])
    made[0] = made[0].corrected(0, 0.9)  # from before the naming
    made[1] = Plan(
        made[1].arms,
        made[1].values,
        made[1].noise,
        made[1].expected,
        made[1].features,
        made[1].blocks,
        made[1].paired,
        evidence=False,
    )
    corrected.again(made, 0.0)
    for plan in made[1:]:
        right.after(plan)
        right.missing(b, c, math.inf, 0.0)
    assert (corrected.evidence.log_e(b, c, 0.1) == right.evidence.log_e(b, c, 0.1)).all()
    assert (corrected.missing(b, c, 3.0, 0.0) == right.missing(b, c, 3.0, 0.0)).all()


def test_a_set_and_pairs_with_an_arm_added_later_need_another_naming():
    of = naming(s01=0.05)
    for plan in plans("own", "known σ"):
        noise, expected = np.append(plan.noise, 0.1), np.append(plan.expected, 0.5)
        arms, values = np.r_[plan.arms, K, K], np.r_[plan.values, 1.0, 2.0]
        of.after(Plan(arms, values, noise, expected))
    wide = mask(0, 1, of=K + 1)
    assert of.level(wide) == pytest.approx(math.log(20.0))
    assert of.level(mask(0, K, of=K + 1)) == math.inf
    lacks = of.missing(np.array([0, 0, K]), np.array([K, 2, 0]), 3.0, 0.0)
    assert np.isinf(lacks).tolist() == [True, False, True]
