"""The rewards of a drug screen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shortlist.plot.figure import COLOURS, SHARE_ROW, axes_for, box, label_rows
from shortlist.printable import cut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A drug's label, its colour and what it means.
LABELS = {
    1: (COLOURS[2], "known to work"),
    -1: (COLOURS[1], "known not to"),
    0: ("#7F7F7F", "unknown"),
}


def rewards(
    rewards: Mapping[str, ArrayLike],
    *,
    labels: Mapping[str, float] | None = None,
    baseline: Mapping[str, float] | None = None,
    shortlist: Collection[str] = (),
    title: str = "",
    ax: Any = None,
    caption: bool = True,
) -> Figure:
    """Rewards of a drug screen, as the paper draws them: one box per drug, the best mean on top.

    Parameters
    ----------
    rewards : mapping
        Drug → its rewards.
    labels : mapping, optional
        Drug → 1 (known to work), −1 (known not to), 0 (unknown): the colour of its box.
    baseline : mapping, optional
        Drug → its score by another method, drawn as points with an axis of its own.
    shortlist : collection of str
        Drugs to mark with a star.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    caption : bool
        Whether the picture is explained below the axis.
    """
    values = {str(drug): np.asarray(each, float).ravel() for drug, each in rewards.items()}
    drugs = sorted(values, key=lambda drug: -values[drug].mean())
    known = {drug: int(np.sign((labels or {}).get(drug, 0))) for drug in drugs}
    figure, ax = axes_for(ax, len(drugs), SHARE_ROW)
    places = np.arange(len(drugs), 0, -1)
    for drug, place in zip(drugs, places.tolist(), strict=True):
        box(ax, values[drug], place, LABELS[known[drug]][0])
    stars = ["★ " if drug in shortlist else "" for drug in drugs]
    label_rows(ax, [star + cut(drug) for star, drug in zip(stars, drugs, strict=True)], places)
    for text, drug in zip(ax.get_yticklabels(), drugs, strict=True):
        text.set_color(LABELS[known[drug]][0])
    handles = [
        ax.plot([], [], "s", color=colour, alpha=0.6, label=words)[0]
        for label, (colour, words) in LABELS.items()
        if label in known.values() and any(known.values())
    ]
    if baseline is not None:
        other = ax.twiny()
        scores = [baseline.get(drug, np.nan) for drug in drugs]
        points = {"markerfacecolor": "white", "markeredgewidth": 1.5, "markersize": 6}
        handles += other.plot(
            scores, places, "o", color=COLOURS[0], label="baseline (upper axis)", **points
        )
        other.set_xlabel("baseline", color=COLOURS[0])
        other.tick_params(axis="x", colors=COLOURS[0])
        other.spines[["top", "right", "left", "bottom"]].set_visible(False)
    if handles:
        ax.legend(handles=handles, loc="lower right", fontsize=8, framealpha=0.9)
    star = "; ★ on the shortlist" if shortlist else ""
    legend = f"box: quartiles; whiskers: 5 %, 95 %; ◆ mean{star}"
    ax.set_xlabel(f"reward\n({legend})" if caption else "reward")
    ax.set_title(title, fontsize=10)
    return figure
