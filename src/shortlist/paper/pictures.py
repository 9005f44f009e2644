"""The pictures of an experiment, in the paper's form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shortlist import plot
from shortlist.paper.experiment import AS_PUBLISHED, DELTA, View
from shortlist.paper.outcome import Outcome, PanelOutcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(outcome: Outcome, out: Path) -> list[Path]:
    """Write the picture of an experiment as PNG and SVG; none where there is nothing to draw."""
    views = [view for view in outcome.experiment.views if view.panel.name in outcome.panels]
    if views:
        figure = _boxes(views, outcome)
    elif outcome.cells:
        figure = _cells(outcome)
    elif outcome.panels:
        figure = _errors(outcome)
    else:
        return []
    return plot.save(figure, out / outcome.experiment.name)


def _boxes(views: list[View], outcome: Outcome) -> Figure:
    shown = [
        [row for row in view.panel.rows if row.algorithm not in view.without] for view in views
    ]
    figure, axes = plot.stack([len(rows) for rows in shown])
    for view, rows, ax in zip(views, shown, axes, strict=True):
        results = outcome.panels[view.panel.name].results
        published = {
            row.title: row.published.mean
            for row in rows
            if row.published is not None and row.kind == AS_PUBLISHED
        }
        plot.samples(
            results,
            ax=ax,
            published=published,
            variants={r.title: r.label for r in view.panel.rows if r.kind != AS_PUBLISHED},
            only=[row.title for row in rows],
            from_zero=not view.without,
            title=view.title,
        )
    return figure


def _errors(outcome: Outcome) -> Figure:
    shares = {name: _error_shares(outcome, panel) for name, panel in outcome.panels.items()}
    figure, axes = plot.stack([len(rows) for rows in shares.values()], row=plot.SHARE_ROW)
    for (name, rows), ax in zip(shares.items(), axes, strict=True):
        title = f"{outcome.panels[name].panel.title}; the published settings"
        plot.shares(rows, xlabel="share of runs that erred", title=title, limit=("δ", DELTA), ax=ax)
    return figure


def _error_shares(outcome: Outcome, panel: PanelOutcome) -> list[plot.Share]:
    return [
        plot.Share(
            line.row.label, line.errors, line.error_low, line.error_high, line.row.published.error
        )
        for line in outcome.lines[panel.panel.name]
        if line.row.kind == AS_PUBLISHED and line.row.published is not None
    ]


def _cells(outcome: Outcome) -> Figure:
    rows = [
        plot.Share(
            f"K = {row.cell.K}, N = {row.cell.N}, D = {row.cell.D:g}",
            row.holds / row.instances,
            row.low,
            row.high,
            row.cell.count / row.cell.of,
        )
        for row in outcome.cells
    ]
    title = f"{outcome.cells[0].instances:,} random instances a row"
    return plot.shares(rows, xlabel="share with H(m-LinGapE(2)) ≤ H(UGapE)", title=title)
