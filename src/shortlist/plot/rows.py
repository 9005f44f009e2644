"""Pictures made of rows, one below the other: their labels, boxes and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def box(ax: Any, values: np.ndarray, place: float, colour: str, *, hatched: bool) -> None:
    """A box from quartile to quartile, with whiskers at 5 % and 95 %."""
    ax.boxplot(
        [values],
        positions=[place],
        orientation="horizontal",
        widths=0.6,
        showfliers=False,
        whis=(5, 95),
        patch_artist=True,
        boxprops={
            "facecolor": colour,
            "alpha": 0.5,
            "edgecolor": colour,
            "hatch": "////" if hatched else None,
        },
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        zorder=2,
    )


def mark_published(
    ax: Any, names: Sequence[str], places: np.ndarray, published: Mapping[str, float]
) -> list[float]:
    """Above the row, pointing down: ours may lie at the very same place."""
    marks = []
    for name, place in zip(names, places, strict=True):
        if name in published:
            ax.plot([published[name]], [place + 0.38], "v", color="black", markersize=6, zorder=4)
            marks.append(published[name])
    return marks


def label_rows(
    ax: Any, labels: Sequence[str], places: np.ndarray, colours: Sequence[str] | None = None
) -> None:
    """Name the rows, in their colours if they have any, and clear the frame around them."""
    ax.set_yticks(places, labels, parse_math=False)  # a name may hold a dollar sign
    ax.set_ylim(0.4, len(labels) + 0.6)
    ax.grid(axis="x", color="0.9", zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    for text, colour in zip(ax.get_yticklabels(), colours or (), strict=False):
        text.set(color=colour, fontsize=9)
