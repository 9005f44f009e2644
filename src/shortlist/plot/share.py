"""Shares of many, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import InvalidSetting
from shortlist.plot.figure import COLOURS, SHARE_ROW, axes_for, label_rows, mark_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Share(NamedTuple):
    """A count out of many, with what was published about it; a row of ``plot.shares``."""

    label: str
    share: float
    low: float
    high: float
    published: float | None = None


def shares(
    rows: Sequence[Share],
    *,
    xlabel: str,
    title: str = "",
    limit: tuple[str, float] | None = None,
    ax: Any = None,
) -> Figure:
    """Shares with their intervals, one below the other.

    Parameters
    ----------
    rows : sequence of Share
        From top to bottom.
    xlabel, title : str
        What is shared out, and of what.
    limit : (str, float), optional
        A bound to be drawn as a line, with its name.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    """
    if not rows:
        raise InvalidSetting("there are no shares to draw: give at least one row.")
    figure, ax = axes_for(ax, len(rows), SHARE_ROW)
    places = np.arange(len(rows), 0, -1)
    for row, place in zip(rows, places, strict=True):
        ax.plot([row.low, row.high], [place, place], color=COLOURS[0], linewidth=2, zorder=2)
        ax.plot([row.share], [place], "D", color=COLOURS[0], markersize=6, zorder=3)
    known = {row.label: row.published for row in rows if row.published is not None}
    marks = mark_published(ax, [row.label for row in rows], places, known)
    label_rows(ax, [row.label for row in rows], places)
    legend = "◆ ours, with its 95 % interval" + ("; ▼ published" if marks else "")
    widest = max([row.high for row in rows] + marks)
    if limit is not None:
        ax.axvline(limit[1], color="black", linestyle="--", linewidth=1, zorder=2)
        legend += f"; dashed: {limit[0]} = {limit[1]:g}"
        widest = max(widest, limit[1])
    ax.set_xlim(-0.02 * widest, 1.04 * widest)
    ax.set_xlabel(f"{xlabel}\n({legend})")
    ax.set_title(title, fontsize=10)
    return figure
