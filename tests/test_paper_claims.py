"""Ours beside the published: the figures, the rows that do not match, the paper's claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlist.paper import EXPERIMENTS
from shortlist.paper.claims import verdicts
from shortlist.paper.experiment import Experiment
from shortlist.paper.outcome import Outcome, PanelOutcome
from shortlist.paper.page import summary, write_page
from shortlist.paper.panels import OMEGA_01, PI_6


def faked(panel: Any, samples: dict[str, list[int]]) -> Outcome:
    """An outcome with made-up sample counts; the first run of each row errs."""
    instance = panel.instance()
    frames = {
        title: pd.DataFrame(
            {
                "run": np.arange(len(counts)),
                "seed": np.arange(len(counts), dtype=np.uint64),
                "samples": counts,
                "stopped": True,
                "correct": np.arange(len(counts)) > 0,
                "recommendation": [list(instance.names[: instance.m])] * len(counts),
                "pulls": [[count] + [0] * (len(instance.names) - 1) for count in counts],
            }
        )
        for title, counts in samples.items()
    }
    panel = replace(panel, rows=tuple(row for row in panel.rows if row.title in samples))
    outcome = Outcome(Experiment("faked", "a faked <experiment>", panels=(panel,)))
    outcome.add(PanelOutcome.of(panel, instance, frames))
    return outcome


def test_z_is_the_difference_over_its_standard_error() -> None:
    outcome = faked(PI_6, {"LUCB largest variance": [10000, 11000, 12000, 11000]})
    (line,) = outcome.lines["pi-6"]
    std = np.std([10000, 11000, 12000, 11000], ddof=1)
    noise = np.sqrt(std**2 / 4 + 2505.508**2 / 500)
    assert line.z == pytest.approx((11000 - 10444.254) / noise)
    assert line.errors == 0.25
    assert line.lower_bound == pytest.approx(313.9, abs=0.1)
    assert line.ratio == pytest.approx(11000 / 313.9, rel=1e-3)


def test_a_row_that_is_not_matched_is_shown_as_such(tmp_path: Path) -> None:
    outcome = faked(PI_6, {"LUCB largest variance": [99, 100, 101], "LinGIFA greedy": [2900, 3100]})
    outcome = replace(
        outcome, experiment=replace(outcome.experiment, views=EXPERIMENTS["figure-1a"].views)
    )
    page = write_page([outcome], {"faked": []}, tmp_path, runs=3, seed=0, workers=None)
    html = page.read_text(encoding="utf-8")
    assert html.count('<tr class="flagged">') == 1
    assert "a faked &lt;experiment&gt;" in html
    assert "NOT MATCHED: LUCB largest variance" in html
    assert "1 of them lie within" in html
    assert "| **LUCB largest variance** |" in page.with_suffix(".md").read_text(encoding="utf-8")
    assert any("NOT MATCHED" in item for item in summary([outcome]))


def test_a_claim_is_held_against_the_runs() -> None:
    (claim,) = EXPERIMENTS["figure-1b"].claims
    titles = {
        "LinGame": [7000, 7200],
        "LinGame, corrected": [1200, 1300],
        "LinGIFA greedy": [3800, 3900],
        "m-LinGapE greedy": [3200, 3300],
        "m-LinGapE greedy, as Algorithm 1 says": [3900, 4000],
        "LinGIFA greedy, one threshold for all": [900, 950],
        "m-LinGapE greedy, one threshold for all": [1300, 1400],
    }
    found = verdicts(claim, faked(OMEGA_01, titles))
    assert [sentence.partition(": ")[2].partition(" (")[0] for sentence in found] == [
        "borne out",  # published
        "borne out",  # as published
        "NOT borne out",  # as the text says
        "NOT borne out",  # one threshold: m-LinGapE is above here
    ]
    (claim,) = EXPERIMENTS["error-table"].claims
    found = verdicts(claim, faked(OMEGA_01, titles))
    assert found[1].startswith("With the published settings: NOT borne out (largest: 0.500")
