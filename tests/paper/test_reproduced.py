"""Ours beside the published figures."""

from __future__ import annotations

import numpy as np
import pytest

from paper_runs import faked
from shortlist.paper.panels import PI_6


def test_z_is_the_difference_over_its_standard_error() -> None:
    counts = [10000, 11000, 12000, 11000] * 8
    (line,) = faked(PI_6, {"LUCB largest variance": counts}).lines["pi-6"]
    noise = np.sqrt(np.var(counts, ddof=1) / 32 + 2505.508**2 / 500)
    assert line.z == pytest.approx((11000 - 10444.254) / noise)
    assert line.errors == 1 / 32
    assert line.lower_bound == pytest.approx(313.9, abs=0.1)
    assert line.ratio == pytest.approx(11000 / 313.9, rel=1e-3)


@pytest.mark.parametrize(
    ("counts", "std"),
    [
        ([11990, 12000, 12010], 2505.508),  # close together by chance: no sign of a difference
        ([2000, 12000, 22000], 10000.0),
        ([12000], 2505.508),
    ],
)
def test_with_few_runs_the_larger_standard_deviation_counts(counts: list[int], std: float) -> None:
    (line,) = faked(PI_6, {"LUCB largest variance": counts}).lines["pi-6"]
    noise = np.sqrt(std**2 / len(counts) + 2505.508**2 / 500)
    assert line.z == pytest.approx((12000 - 10444.254) / noise)
    assert not line.too_far
