"""The authors' logged runs, where they are at hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import published

needs_published = pytest.mark.skipif(
    not (published.SHARED / "summary.csv").exists(),
    reason=f"the published figures are not at {published.SHARED} (set SHORTLIST_PUBLISHED)",
)


@needs_published
def test_every_published_row_is_reproduced() -> None:
    table = published.reproduce(published.SHARED, runs=500, seed=0)
    print(table.to_string(index=False))
    assert len(table) == 26
    assert (table["z"].abs() <= 3.0).all()
    # |z| ≤ 3 in every row could hide a small bias in all of them.
    assert abs(table["z"].mean()) <= 3.0 / len(table) ** 0.5


@needs_published
def test_the_lagged_stop_errs_as_published_and_algorithm_1_does_not() -> None:
    rows = published.rows(published.SHARED)
    row = rows[(rows["algorithm"] == "m-LinGapE") & (rows["experiment"].str.contains("0.1"))].iloc[
        0
    ]
    instance = published.instance_of(row["experiment"], published.SHARED)
    import shortlist

    lagged = shortlist.compare(
        "m-LinGapE greedy (as published)", instance, runs=500, progress=False
    ).summary()
    assert lagged["error_low"].iloc[0] <= row["error_rate"] <= lagged["error_high"].iloc[0]
    assert lagged["error_rate"].iloc[0] > 0.02
    honest = shortlist.compare(
        "m-LinGapE", instance, runs=500, threshold="frequentist", progress=False
    ).summary()
    assert honest["error_rate"].iloc[0] == 0.0
