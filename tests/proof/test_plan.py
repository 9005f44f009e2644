import numpy as np
import pytest

from shortlist.proof.plan import Plan
from tests.proof.drawn import KINDS, K, all_pairs, design, with_values


def test_sums_of_every_arm():
    arms, values = np.array([2, 0, 2, 2]), np.array([1.0, 5.0, 2.0, 6.0])
    plan = Plan(arms, values, np.ones(4), np.zeros(4))
    assert plan.pulls.tolist() == [1, 0, 3, 0]
    assert plan.sums.tolist() == [5.0, 0.0, 9.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_corrected_plan_is_that_with_the_right_value_from_the_start(kind):
    rng = np.random.default_rng(0)
    values, (b, c) = rng.normal(size=200), all_pairs()
    plan = design(kind, rng)
    wrong = with_values(plan, values[: len(plan.arms)].copy())
    wrong.contrasts.estimates(b, c)  # what is kept of the wrong value must not stay
    values[4] = 9.0
    right, corrected = with_values(plan, values[: len(plan.arms)]), wrong.corrected(4, 9.0)
    assert wrong.values[4] != 9.0
    for one, other in zip(
        corrected.contrasts.estimates(b, c), right.contrasts.estimates(b, c), strict=True
    ):
        assert (one == other).all()
    assert (corrected.sums == right.sums).all()
    assert len(corrected.noise) == K
