"""A slack as large as all that results can be is a mistake of units."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from shortlist import Study, errors


@pytest.mark.parametrize("blocks", [None, 100, "random"])
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_slack_as_large_as_the_range_is_refused(epsilon: float, blocks: object) -> None:
    given = {"m": 1, "sigma": "bounded", "reward_range": (0, 1), "blocks": blocks}
    with pytest.raises(errors.InvalidSetting, match=f"write epsilon={epsilon / 100:g}"):
        Study(arms=["ash", "elm", "oak"], epsilon=epsilon, **given)  # type: ignore[arg-type]
    study = Study(arms=["ash", "elm", "oak"], epsilon=0.02, **given)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidSetting, match="as large as the range"):
        study.widen(epsilon + 0.5)


def test_a_slack_beyond_all_results_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.05, epsilon=2.0, seed=0)
    with pytest.warns(UserWarning, match=r"epsilon=2 is larger than the span of all .* results"):
        study.run(lambda trial: 0.5 + 0.05 * rng.normal(), progress=False)
    study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.05, epsilon=0.02, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", errors.GuaranteeInDoubt)
        study.run(lambda trial: trial.arm + 0.05 * rng.normal(), progress=False)
