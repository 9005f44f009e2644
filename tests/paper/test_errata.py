"""The settings of the text are proven, and those that the errata touch are not."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.paper.errata import algorithm_of, errata
from shortlist.paper.experiment import AS_WRITTEN, DELTA
from shortlist.paper.panels import OMEGA_01, PI_6


@pytest.mark.parametrize(
    "row",
    [row for panel in (PI_6, OMEGA_01) for row in panel.rows],
    ids=lambda row: f"{row.title} {row.published is None}",
)
def test_the_text_is_proven_and_what_the_errata_touch_is_not(row: Any) -> None:
    panel = PI_6 if row in PI_6.rows else OMEGA_01
    bound = algorithm_of(row).bind(panel.instance().problem(DELTA, 0.0))
    if row.threshold == "heuristic":
        assert not bound.proven
    elif row.kind == AS_WRITTEN:
        assert bound.claim.why_heuristic == ()
    else:
        assert bound.proven == (errata(row) == ())
