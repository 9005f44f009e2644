"""The experiments are declared as the paper has them, and use public names only."""

from __future__ import annotations

import ast
from pathlib import Path

import reproduction
import shortlist
from reproduction.experiment import AS_PUBLISHED
from reproduction.experiments import EXPERIMENTS

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


def test_nothing_but_public_names_of_the_package_is_imported() -> None:
    """But for the settings of the authors' runs, which are made of the catalog's own parts."""
    for path in Path(reproduction.__path__[0]).glob("*.py"):
        if path.name == "published.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert not alias.name.startswith("shortlist."), (path.name, alias.name)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shortlist"):
                assert node.module == "shortlist", (path.name, node.module)
                assert {alias.name for alias in node.names} <= set(shortlist.__all__), path.name
