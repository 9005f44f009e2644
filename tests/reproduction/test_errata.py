"""The settings of the text are proven, and those that the errata touch are not."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.errata import algorithm_of, errata, settings_in_words
from reproduction.experiment import AS_PUBLISHED, AS_WRITTEN, DELTA, ONE_THRESHOLD, SIGMA
from reproduction.panels import OMEGA_01, PANELS, PI_6
from reproduction.published import PUBLISHED
from shortlist.catalog.registry import find_algorithm
from shortlist.gifa.thresholds import published_regularization


@pytest.mark.parametrize(
    "row",
    [row for panel in (PI_6, OMEGA_01) for row in panel.rows],
    ids=lambda row: f"{row.title} {row.published is None}",
)
def test_the_text_is_proven_and_what_the_errata_touch_is_not(row: Any) -> None:
    panel = PI_6 if row in PI_6.rows else OMEGA_01
    algorithm, threshold = algorithm_of(row)
    procedure = find_algorithm(algorithm).bind(panel.instance().problem(DELTA, 0.0), threshold)
    if row.threshold == "heuristic":
        assert not procedure.proven
    elif row.kind == AS_WRITTEN:
        assert procedure.claim.why_heuristic == ()
    else:
        assert procedure.proven == (errata(row) == ())


WRITTEN = [row for panel in PANELS for row in panel.rows if row.kind in (AS_WRITTEN, ONE_THRESHOLD)]


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: f"{row.title} {row.threshold}")
def test_the_text_differs_from_the_published_runs_by_what_the_errata_say(row: Any) -> None:
    ours: Any = algorithm_of(row)[0]
    published = PUBLISHED[f"{row.label} (as published)"]
    for kind in ("candidates", "ambiguous", "selection", "indices"):
        assert ours.rules[kind] is published.rules[kind]
    assert ours.rules["stopping"].name == published.rules["stopping"].name.removesuffix("_lagged")
    assert ours.initialization == published.initialization
    assert ours.classical == published.classical
    ridge = 0.0 if ours.classical else published_regularization(SIGMA)
    assert ours.regularization == ridge
    assert ours.threshold.name == row.threshold


@pytest.mark.parametrize(
    "row", [row for panel in PANELS for row in panel.of(AS_PUBLISHED)], ids=lambda row: row.title
)
def test_the_words_are_those_of_the_published_settings(row: Any) -> None:
    published: Any = find_algorithm(algorithm_of(row)[0])
    words, ridge = settings_in_words(row), published.regularization
    assert f"{published.rules['indices'].name} indices" in words
    assert ("on the last pair" in words) == (published.rules["stopping"].name == "lucb_lagged")
    assert ("no features" in words) == published.classical
    ridge = ridge(SIGMA) if callable(ridge) else ridge
    assert published.classical or f", λ_V = {ridge:.3g}," in words
    assert ("no initial pulls" in words) == (published.initialization is None)
