"""The pictures of an experiment, in the paper's form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.agreement import Reproduced
from reproduction.experiment import AS_PUBLISHED, DELTA, Picture
from shortlist import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(reproduced: Reproduced, out: Path) -> list[Path]:
    """Write the picture of an experiment as PNG and SVG; none where there is nothing to draw."""
    experiment = reproduced.experiment
    views = [view for view in experiment.views if view.panel.name in reproduced.panels]
    if views:
        figure = _boxes(views, reproduced)
    elif reproduced.cells:
        figure = _cells(reproduced)
    elif reproduced.panels:
        figure = _errors(reproduced)
    else:
        return []
    return plot.save(figure, out / experiment.name)


def _boxes(views: list[Picture], reproduced: Reproduced) -> Figure:
    shown = [
        [row for row in view.panel.rows if row.algorithm not in view.without] for view in views
    ]
    figure, axes = plot.stack([len(rows) for rows in shown])
    for view, rows, ax in zip(views, shown, axes, strict=True):
        published = {
            row.title: row.published.mean
            for row in rows
            if row.published is not None and row.kind == AS_PUBLISHED
        }
        plot.samples(
            reproduced.panels[view.panel.name],
            ax=ax,
            published=published,
            variants={r.title: r.label for r in view.panel.rows if r.kind != AS_PUBLISHED},
            only=[row.title for row in rows],
            from_zero=not view.without,
            title=view.title or view.panel.title,
            lower_bound=False,
        )
    return figure


def _errors(reproduced: Reproduced) -> Figure:
    panels = [panel for panel in reproduced.experiment.panels if panel.name in reproduced.panels]
    shares = []
    for panel in panels:
        lines = [each for each in reproduced.lines[panel.name] if each.row.kind == AS_PUBLISHED]
        shares.append(
            [
                plot.Share(
                    line.row.label, line.errors, line.error_low, line.error_high, published.error
                )
                for line in lines
                if (published := line.row.published) is not None
            ]
        )
    figure, axes = plot.stack([len(rows) for rows in shares], row=plot.SHARE_ROW)
    for panel, rows, ax in zip(panels, shares, axes, strict=True):
        title = f"{panel.title}; the published settings"
        plot.shares(rows, xlabel="share of runs that erred", title=title, limit=("δ", DELTA), ax=ax)
    return figure


def _cells(reproduced: Reproduced) -> Figure:
    rows = [
        plot.Share(
            f"K = {row.cell.K}, N = {row.cell.N}, D = {row.cell.D:g}",
            row.holds / row.instances,
            row.low,
            row.high,
            row.cell.count / row.cell.of,
        )
        for row in reproduced.cells
    ]
    title = f"{reproduced.cells[0].instances:,} random instances a row"
    return plot.shares(rows, xlabel="share with H(m-LinGapE(2)) ≤ H(UGapE)", title=title)
