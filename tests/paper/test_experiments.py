"""The experiments are declared as the paper has them."""

from __future__ import annotations

import subprocess
import sys

from shortlist.paper import EXPERIMENTS
from shortlist.paper.experiment import AS_PUBLISHED

NAMES = [
    "figure-1a",
    "figure-1b",
    "figure-1c",
    "error-table",
    "appendix-omega",
    "appendix-random",
    "complexity-table",
    "complexity-constants",
]


def test_the_experiments_are_those_of_the_issue() -> None:
    assert list(EXPERIMENTS) == NAMES
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert experiment.claims
        for panel in experiment.panels:
            assert len({row.title for row in panel.rows}) == len(panel.rows)
        for claim in experiment.claims:
            for ratio in claim.ratios:
                for panel_name, label in (ratio.of, ratio.to):
                    (panel,) = (each for each in experiment.panels if each.name == panel_name)
                    assert label in {row.label for row in panel.of(AS_PUBLISHED)}


def test_the_declarations_load_nothing_heavy() -> None:
    code = (
        "import sys, shortlist.paper; "
        "print([m for m in ('numba', 'matplotlib', 'scipy', 'pandas', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
