"""Pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shortlist.errors import InvalidSetting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.simulation.results import Results

# Okabe and Ito's palette, its black a little lighter: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
LOG_FROM = 20.0  # a spread of the whiskers above this is drawn on a logarithmic axis
LABEL_WIDTH = 24  # characters of a label before it is broken
# A drug's label, its colour and what it means.
LABELS = {
    1: (COLOURS[2], "known to work"),
    -1: (COLOURS[1], "known not to"),
    0: ("#7F7F7F", "unknown"),
}
ROW, SHARE_ROW, FRAME = 0.55, 0.34, 1.2  # inches: a row of a picture, and what is around them


class Share(NamedTuple):
    """A count out of many, with what was published about it; a row of ``plot.shares``."""

    label: str
    share: float
    low: float
    high: float
    published: float | None = None


def samples(
    results: Results,
    *,
    ax: Any = None,
    published: Mapping[str, float] | None = None,
    variants: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    from_zero: bool = True,
    title: str | None = None,
) -> Figure:
    """Evaluations needed, as the paper draws them: a box an algorithm, single runs as dots.

    Parameters
    ----------
    results : Results
        Of ``shortlist.compare``.
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

    Returns
    -------
    Figure
    """
    frame = results.frame
    everyone = list(dict.fromkeys(frame["algorithm"]))
    family = {name: (variants or {}).get(name, name) for name in everyone}
    families = list(dict.fromkeys(family.values()))
    names = [name for name in everyone if only is None or name in only]
    if not names:
        raise InvalidSetting(f"none of {list(only or ())} was run: {', '.join(everyone)} were.")
    groups = [frame.loc[frame["algorithm"] == name, "samples"].to_numpy() for name in names]
    figure, ax = _place(ax, len(names))
    places = np.arange(len(names), 0, -1)
    jitter = np.random.default_rng(0)
    for name, place, values in zip(names, places.tolist(), groups, strict=True):
        heights = place + jitter.uniform(-0.28, 0.28, len(values))
        # As pixels, or five hundred dots a row make a heavy SVG.
        ax.plot(
            values, heights, ".", color="0.6", markersize=3, alpha=0.4, zorder=1, rasterized=True
        )
        colour = COLOURS[families.index(family[name]) % len(COLOURS)]
        _box(ax, values, place, colour, hatched=family[name] != name)
        mean = values.mean()
        ax.plot([mean], [place], "D", color=colour, markeredgecolor="white", markersize=6, zorder=3)
    marks = _mark_published(ax, names, places, published or {})
    _label_rows(ax, [_broken(name, family[name]) for name in names], places)
    whiskers = [np.quantile(values, [0.05, 0.95]) for values in groups]
    _scale(ax, np.min(whiskers), np.max(whiskers), from_zero)
    legend = "box: quartiles; whiskers: 5 %, 95 %; ◆ mean" + ("; ▼ published mean" if marks else "")
    ax.set_xlabel(f"evaluations until the stop\n({legend})")
    runs = sorted({len(values) for values in groups})
    each = f"{runs[0]} runs each" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs each"
    label = results.instance.label if title is None else title
    ax.set_title(f"{label}, δ = {results.delta:g}, {each}", fontsize=10)
    return figure


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

    Returns
    -------
    Figure
    """
    if not rows:
        raise InvalidSetting("there are no shares to draw: give at least one row.")
    figure, ax = _place(ax, len(rows), SHARE_ROW)
    places = np.arange(len(rows), 0, -1)
    for row, place in zip(rows, places, strict=True):
        ax.plot([row.low, row.high], [place, place], color=COLOURS[0], linewidth=2, zorder=2)
        ax.plot([row.share], [place], "D", color=COLOURS[0], markersize=6, zorder=3)
    known = {row.label: row.published for row in rows if row.published is not None}
    marks = _mark_published(ax, [row.label for row in rows], places, known)
    _label_rows(ax, [row.label for row in rows], places)
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


def rewards(
    rewards: Mapping[str, ArrayLike],
    *,
    labels: Mapping[str, float] | None = None,
    baseline: Mapping[str, float] | None = None,
    shortlist: Collection[str] = (),
    title: str = "",
    ax: Any = None,
) -> Figure:
    """Rewards of a drug screen, as the paper draws them: a box a drug, the best mean on top.

    Parameters
    ----------
    rewards : mapping
        Drug → its rewards.
    labels : mapping, optional
        Drug → 1 (known to work), −1 (known not to), 0 (unknown): the colour of its box.
    baseline : mapping, optional
        Drug → its score by another method, drawn as a line with an axis of its own.
    shortlist : collection of str
        Drugs to mark with a star.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Figure
    """
    values = {str(drug): np.asarray(each, float).ravel() for drug, each in rewards.items()}
    drugs = sorted(values, key=lambda drug: -values[drug].mean())
    known = {drug: int(np.sign((labels or {}).get(drug, 0))) for drug in drugs}
    figure, ax = _place(ax, len(drugs), SHARE_ROW)
    places = np.arange(len(drugs), 0, -1)
    for drug, place in zip(drugs, places.tolist(), strict=True):
        colour = LABELS[known[drug]][0]
        _box(ax, values[drug], place, colour, hatched=False)
        mean = values[drug].mean()
        ax.plot([mean], [place], "D", color=colour, markeredgecolor="white", markersize=6, zorder=3)
    _label_rows(ax, [f"★ {drug}" if drug in shortlist else drug for drug in drugs], places)
    for text, drug in zip(ax.get_yticklabels(), drugs, strict=True):
        text.set_color(LABELS[known[drug]][0])
    handles = [
        ax.plot([], [], "s", color=colour, alpha=0.6, label=words)[0]
        for label, (colour, words) in LABELS.items()
        if label in known.values() and any(known.values())
    ]
    if baseline is not None:
        other = ax.twiny()
        line = [baseline.get(drug, np.nan) for drug in drugs]
        handles += other.plot(line, places, ".-", color=COLOURS[0], linewidth=1, label="baseline")
        other.set_xlabel("baseline", color=COLOURS[0])
        other.tick_params(axis="x", colors=COLOURS[0])
        other.spines[["top", "right", "left", "bottom"]].set_visible(False)
    if handles:
        ax.legend(handles=handles, loc="lower right", fontsize=8, framealpha=0.9)
    star = "; ★ on the shortlist" if shortlist else ""
    ax.set_xlabel(f"reward\n(box: quartiles; whiskers: 5 %, 95 %; ◆ mean{star})")
    ax.set_title(title, fontsize=10)
    return figure


def stack(rows: Iterable[int], row: float = ROW) -> tuple[Figure, list[Any]]:
    """A figure of panels one below the other, each high enough for its number of rows."""
    heights = [FRAME + row * count for count in rows]
    figure, axes = _pyplot().subplots(
        len(heights),
        1,
        figsize=(8.0, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    figure.get_layout_engine().set(h_pad=0.1)
    return figure, list(axes[:, 0])


def save(figure: Figure, path: str | PathLike[str]) -> list[Path]:
    """Write a picture as PNG and as SVG, the same bytes each time, and close it."""
    pyplot = _pyplot()
    paths = [Path(path).with_name(f"{Path(path).name}.{kind}") for kind in ("png", "svg")]
    with pyplot.rc_context({"svg.hashsalt": "shortlist"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], dpi=150, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return paths


def _place(ax: Any, rows: int, row: float = ROW) -> tuple[Figure, Any]:
    if ax is not None:
        return ax.figure, ax
    figure, axes = stack([rows], row)
    return figure, axes[0]


def _box(ax: Any, values: np.ndarray, place: float, colour: str, *, hatched: bool) -> None:
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


def _mark_published(
    ax: Any, names: Sequence[str], places: np.ndarray, published: Mapping[str, float]
) -> list[float]:
    """Above the row, pointing down: ours may lie at the very same place."""
    marks = []
    for name, place in zip(names, places, strict=True):
        if name in published:
            ax.plot([published[name]], [place + 0.38], "v", color="black", markersize=6, zorder=4)
            marks.append(published[name])
    return marks


def _broken(name: str, family: str) -> str:
    """A long label on two lines, a variant's own words on a line of their own."""
    own = name.removeprefix(family).lstrip(", ")
    parts = [family, own] if family != name and name.startswith(family) else [name]
    lines = []
    for part in parts:
        width = LABEL_WIDTH
        while len(textwrap.wrap(part, width)) > 2:  # a row has no room for more
            width += 1
        lines += textwrap.wrap(part, width)
    return "\n".join(lines)


def _label_rows(ax: Any, labels: Sequence[str], places: np.ndarray) -> None:
    ax.set_yticks(places, labels, parse_math=False)  # a name may hold a dollar sign
    ax.set_ylim(0.4, len(labels) + 0.6)
    ax.grid(axis="x", color="0.9", zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def _scale(ax: Any, lowest: float, highest: float, from_zero: bool) -> None:
    ax.xaxis.set_major_formatter(_whole)
    if highest <= LOG_FROM * lowest:
        if from_zero:
            ax.set_xlim(left=0)
        return
    ax.set_xscale("log")
    left, right = ax.get_xlim()
    if right > 1000.0 * left:  # minor labels would run into each other
        ax.xaxis.set_minor_formatter("")
    else:
        ax.xaxis.set_major_formatter(_whole)
        ax.xaxis.set_minor_formatter(_two_and_five)


def _whole(value: float, _: object) -> str:
    return f"{value:,.0f}"


def _two_and_five(value: float, _: object) -> str:
    """Label 2 × 10ⁿ and 5 × 10ⁿ only."""
    leading = value / 10.0 ** np.floor(np.log10(value))
    return f"{value:,.0f}" if round(leading) in (2, 5) else ""


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.") from None
    return pyplot
