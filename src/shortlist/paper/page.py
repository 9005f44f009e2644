"""The page that sets our runs beside the published ones."""

from __future__ import annotations

import datetime
import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from shortlist._version import __version__
from shortlist.files.writing import write_file
from shortlist.paper.document import (
    Block,
    Bullets,
    Command,
    Heading,
    Paragraph,
    to_html,
    to_markdown,
)
from shortlist.paper.experiment import AS_PUBLISHED
from shortlist.paper.experiments import EXPERIMENTS
from shortlist.paper.outcome import FEW, TOO_FAR, Outcome
from shortlist.paper.panels import PANELS
from shortlist.paper.sections import published_lines, section

TITLE = "Top-m identification for linear bandits, run again"


def write_page(
    outcomes: list[Outcome],
    files: dict[str, list[Path]],
    out: Path,
    *,
    runs: int,
    seed: int,
    workers: int | None,
) -> Path:
    """Write ``index.html`` and ``index.md``, and give the path of the first.

    ``files`` holds what was written for each experiment, by its name.
    """
    blocks: list[Block] = [
        Heading(1, TITLE),
        Paragraph(
            "Réda, Kaufmann and Delahaye-Duriez, AISTATS 2021. Every row that was published is run "
            "as published, slips of the code included, and where those matter also as the paper's "
            "text says. σ = 0.5, δ = 0.05, ε = 0 unless said otherwise."
        ),
        Heading(2, "In short"),
        Bullets(summary(outcomes)),
        Paragraph(
            f"Runs of each row: {runs:,}. Seed: {seed}. shortlist {__version__}. "
            f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}. Made by"
        ),
        Command(command([each.experiment.name for each in outcomes], runs, seed, out, workers)),
        Paragraph(
            "z is the difference of the means over its standard error, "
            "(ours − published) / sqrt(std²/runs + std_published²/500). With fewer than "
            f"{FEW} runs the larger of the two standard deviations stands for ours. Marked rows have "
            f"|z| > {TOO_FAR:g}: they differ by more than chance. That is expected where the settings "
            "are not the published ones."
        ),
    ]
    for outcome in outcomes:
        name = outcome.experiment.name
        blocks += section(outcome, [path.name for path in files[name]])
    page = out / "index.html"
    write_file(page, to_html(TITLE, blocks).encode())
    write_file(page.with_suffix(".md"), to_markdown(blocks).encode())
    return page


def summary(outcomes: list[Outcome]) -> list[str]:
    """How far our runs agree with the published ones, in a few sentences."""
    items = []
    known = sum(len(panel.of(AS_PUBLISHED)) for panel in PANELS if panel.counted)
    lines = {
        name: line for name, line in published_lines(outcomes).items() if math.isfinite(line.z)
    }
    if lines:
        far = {name: line for name, line in lines.items() if line.too_far}
        worst = max(lines, key=lambda name: abs(lines[name].z))
        items.append(
            f"{len(lines)} of the {known} published rows were run with the published settings. "
            f"{len(lines) - len(far)} of them lie within |z| ≤ {TOO_FAR:g}. Largest: "
            f"|z| = {abs(lines[worst].z):.2f} ({worst})."
        )
        items += [f"NOT MATCHED: {name}. {line.remark()}" for name, line in far.items()]
    for outcome in outcomes:
        if outcome.cells:
            cells = sum(row.agrees for row in outcome.cells)
            items.append(
                f"Table of random instances: {cells} of {len(outcome.cells)} cells agree with the "
                "published counts (Fisher's exact test)."
            )
        if outcome.constants:
            agree = [row.agrees for row in outcome.constants if row.agrees is not None]
            items.append(f"Constants: {sum(agree)} of {len(agree)} agree to the printed digits.")
        for name, reason in outcome.unavailable.items():
            items.append(f"NOT RUN: {name} of {outcome.experiment.name}. {reason}")
    return items


def command(names: Sequence[str], runs: int, seed: int, out: Path, workers: int | None) -> str:
    """What makes this page.

    Examples
    --------
    >>> command(["figure-1a"], 50, 0, Path("results"), None)
    'shortlist reproduce figure-1a --runs 50 --seed 0 --out results'
    """
    words = ["all"] if list(names) == list(EXPERIMENTS) else list(names)
    words += ["--runs", str(runs), "--seed", str(seed), "--out", str(out)]
    if workers is not None:
        words += ["--workers", str(workers)]
    return shlex.join(["shortlist", "reproduce", *words])
