"""A comparison: how many evaluations the algorithms needed, and shares such as that of errors."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import InvalidSetting
from shortlist.plot.figure import (
    COLOURS,
    SHARE_ROW,
    axes_for,
    box,
    label_rows,
    mark_published,
    two_and_five,
    whole,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.simulation.results import Results

LOG_FROM = 20.0  # a spread of the whiskers above this is drawn on a logarithmic axis
CYCLES = ("", "....", "xxxx", "oo")  # hatches: the eighth box has the first's colour and dots
LABEL_WIDTH = 24  # characters of a label before it is broken


def samples(
    results: Results,
    *,
    ax: Any = None,
    published: Mapping[str, float] | None = None,
    variants: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    from_zero: bool = True,
    title: str | None = None,
    lower_bound: bool = True,
) -> Figure:
    """Evaluations needed, as the paper draws them: one box per algorithm, single runs as dots.

    Parameters
    ----------
    results : Results
        From ``shortlist.compare``.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    published : mapping, optional
        From an algorithm's name to the mean that was published for it.
    variants : mapping, optional
        From an algorithm's name to that of which it is a variant: it has the same colour, and its
        box is hatched.
    only : collection of str, optional
        The algorithms to draw; they keep the colours that they have among all.
    from_zero : bool
        Whether the axis starts at 0, where it is not logarithmic.
    title : str, optional
        In place of the instance's label.
    lower_bound : bool
        Whether to draw a line at the least mean that any δ-correct algorithm needs, where it is
        known. With 10⁴ arms it takes about ten seconds to compute, the first time.
    """
    frame = results.frame
    everyone = list(dict.fromkeys(frame["algorithm"]))
    family = {name: (variants or {}).get(name, name) for name in everyone}
    families = list(dict.fromkeys(family.values()))
    names = [name for name in everyone if only is None or name in only]
    if not names:
        raise InvalidSetting(f"none of {list(only or ())} was run: {', '.join(everyone)} were.")
    groups = [frame.loc[frame["algorithm"] == name, "samples"].to_numpy() for name in names]
    figure, ax = axes_for(ax, len(names))
    places = np.arange(len(names), 0, -1)
    jitter = np.random.default_rng(0)
    for name, place, values in zip(names, places.tolist(), groups, strict=True):
        heights = place + jitter.uniform(-0.28, 0.28, len(values))
        style = {"color": "0.6", "markersize": 3, "alpha": 0.4, "zorder": 1}
        ax.plot(values, heights, ".", rasterized=True, **style)  # or 500 dots a row are a heavy SVG
        cycle, k = divmod(families.index(family[name]), len(COLOURS))
        hatch = "////" if family[name] != name else CYCLES[cycle % len(CYCLES)]
        box(ax, values, place, COLOURS[k], hatch=hatch)
    marks = mark_published(ax, names, places, published or {})
    heuristic = results.heuristic
    labels = [f"{name} (heuristic)" if name in heuristic else name for name in names]
    pairs = zip(labels, names, strict=True)
    label_rows(
        ax, [_broken(label, family[name], family[name] != name) for label, name in pairs], places
    )
    bound = results.lower_bound if lower_bound else math.nan
    if math.isfinite(bound):
        ax.axvline(bound, color="black", linestyle="--", linewidth=1, zorder=1)
    whiskers = [np.quantile(values, [0.05, 0.95]) for values in groups]
    _scale(ax, np.min(whiskers), np.max(whiskers), from_zero)
    legend = "box: quartiles; whiskers: 5 %, 95 %; ◆ mean" + ("; ▼ published mean" if marks else "")
    if math.isfinite(bound):
        legend += f";\ndashed: lower bound for any δ-correct algorithm, {bound:,.0f}"
    if heuristic.intersection(names):
        legend += ";\nheuristic: no theorem covers the answers"
    ax.set_xlabel(f"evaluations until the stop\n({legend})")
    runs = sorted({len(values) for values in groups})
    each = f"{runs[0]} runs each" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs each"
    label = results.instance.label if title is None else title
    ax.set_title(f"{label}, δ = {results.delta:g}, {each}", fontsize=10)
    return figure


def _broken(name: str, family: str, is_variant: bool) -> str:
    """A long label on two lines, a variant's own words on a line of their own."""
    own = name.removeprefix(family).lstrip(", ")
    parts = [family, own] if is_variant and name.startswith(family) else [name]
    lines = []
    for part in parts:
        width = LABEL_WIDTH
        while len(textwrap.wrap(part, width)) > 2:  # a row has no room for more
            width += 1
        lines += textwrap.wrap(part, width)
    return "\n".join(lines)


def _scale(ax: Any, lowest: float, highest: float, from_zero: bool) -> None:
    ax.xaxis.set_major_formatter(whole)
    if highest <= LOG_FROM * lowest:
        if from_zero:
            ax.set_xlim(left=0)
        return
    ax.set_xscale("log")
    left, right = ax.get_xlim()
    if right > 1000.0 * left:  # minor labels would run into each other
        ax.xaxis.set_minor_formatter("")
    else:
        ax.xaxis.set_major_formatter(whole)
        ax.xaxis.set_minor_formatter(two_and_five)


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
