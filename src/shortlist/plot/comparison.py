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
    stack,
    two_and_five,
    whole,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.simulation.results import Results

LOG_FROM = 20.0  # a spread of the whiskers above this is drawn on a logarithmic axis
CYCLES = ("", "....", "xxxx", "oo")  # hatches: the eighth box has the first's colour and dots
AXIS = "evaluations until the stop"
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
    caption: bool = True,
) -> Figure:
    """Evaluations needed, as the paper draws them: one box per algorithm, single runs as dots.

    Of results on several instances, each has a panel.

    Parameters
    ----------
    results : Results
        From ``shortlist.compare``.
    ax : matplotlib Axes, or one for each instance, optional
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
    caption : bool
        Whether boxes and lines are explained below the axis.
    """
    everyone = list(dict.fromkeys(results.frame["algorithm"]))
    family = {name: (variants or {}).get(name, name) for name in everyone}
    families = list(dict.fromkeys(family.values()))
    names = [name for name in everyone if only is None or name in only]
    if not names:
        raise InvalidSetting(f"none of {list(only or ())} was run: {', '.join(everyone)} were.")
    panels = (
        stack([len(names)] * len(results.each))[1] if ax is None else list(np.atleast_1d(ax).flat)
    )
    if len(panels) != len(results.each):
        raise InvalidSetting(
            f"these are results on {len(results.each)} instances, each with a panel: give as many "
            f"axes, got {len(panels)}."
        )
    shades = {}
    for name in names:
        cycle, k = divmod(families.index(family[name]), len(COLOURS))
        hatch = "////" if family[name] != name else CYCLES[cycle % len(CYCLES)]
        shades[name] = COLOURS[k], hatch
    heuristic = results.heuristic
    for panel, one in zip(panels, results.each, strict=True):
        run = set(one.frame["algorithm"])  # "auto" may be one algorithm here and another there
        here = [name for name in names if name in run]
        places = np.arange(len(here), 0, -1)
        groups = _boxes(panel, one, {name: shades[name] for name in here})
        marks = mark_published(panel, here, places, published or {})
        labels = [
            _broken(f"{name} (heuristic)" if name in heuristic else name, family[name])
            for name in here
        ]
        label_rows(panel, labels, places)
        bound = one.lower_bound if lower_bound else math.nan
        if math.isfinite(bound):
            panel.axvline(bound, color="black", linestyle="--", linewidth=1, zorder=1)
        whiskers = [np.quantile(values, [0.05, 0.95]) for values in groups]
        _scale(panel, np.min(whiskers), np.max(whiskers), from_zero)
        legend = "box: quartiles; whiskers: 5 %, 95 %; ◆ mean"
        legend += "; ▼ published mean" if marks else ""
        if math.isfinite(bound):
            legend += f";\ndashed: lower bound for any δ-correct algorithm, {bound:,.0f}"
        if heuristic.intersection(here):
            legend += ";\nheuristic: no theorem covers the answers"
        panel.set_xlabel(f"{AXIS}\n({legend})" if caption else AXIS)
        runs = sorted({len(values) for values in groups})
        each = f"{runs[0]} runs each" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs each"
        label = one.instance.label if title is None else title
        slack = f", ε = {results.epsilon:g}" if results.epsilon else ""
        panel.set_title(f"{label}, δ = {results.delta:g}{slack}, {each}", fontsize=10)
    figure: Figure = panels[0].figure
    return figure


def _boxes(ax: Any, results: Results, shades: Mapping[str, tuple[str, str]]) -> list[np.ndarray]:
    """Draw a box for every algorithm, and its runs as dots; returns their evaluations."""
    frame, jitter = results.frame, np.random.default_rng(0)
    groups = [frame.loc[frame["algorithm"] == name, "samples"].to_numpy() for name in shades]
    for above, (values, (colour, hatch)) in enumerate(zip(groups, shades.values(), strict=True)):
        place = len(shades) - above
        heights = place + jitter.uniform(-0.28, 0.28, len(values))
        style = {"color": "0.6", "markersize": 3, "alpha": 0.4, "zorder": 1}
        ax.plot(values, heights, ".", rasterized=True, **style)  # or 500 dots a row are a heavy SVG
        box(ax, values, place, colour, hatch=hatch)
    return groups


def _broken(name: str, family: str) -> str:
    """A long label on two lines, a variant's own words on a line of their own."""
    is_variant = name.removesuffix(" (heuristic)") != family
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
    caption: bool = True,
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
    caption : bool
        Whether marks and lines are explained below the axis.
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
    ax.set_xlabel(f"{xlabel}\n({legend})" if caption else xlabel)
    ax.set_title(title, fontsize=10)
    return figure
