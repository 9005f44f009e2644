"""What all pictures share: colours, sizes, panels, rows with their labels, captions, and saving."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortlist.files.writing import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, its black a little lighter: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
ROW, SHARE_ROW, FRAME = 0.55, 0.34, 1.2  # inches: a row of a picture, and what is around them
WIDTH = 8.0  # inches
# What a file of each kind is not to hold, since it differs each time.
EMPTY: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}
DPI = 150
STRETCHED = 3.0  # times: an axis this much longer for a few intervals is cut
LETTERS = 12.5  # of a title or a caption, to an inch; most texts have 15, some have wide letters


def panels_for(
    ax: Any, size: tuple[float, float], heights: Sequence[float] = (1.0,), columns: int = 1
) -> tuple[Figure, list[Any]]:
    """The axes given, or panels of a new figure: one below the other, or side by side."""
    if ax is not None:
        panels = list(np.atleast_1d(ax))
        return panels[0].figure, panels
    figure, axes = load_pyplot().subplots(
        len(heights),
        columns,
        figsize=size,
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    if "inline" in load_pyplot().get_backend().lower():
        load_pyplot().close(figure)  # a notebook would show it a second time at the cell's end
    return figure, list(axes.flat)


def stack(rows: Iterable[int], row: float = ROW) -> tuple[Figure, list[Any]]:
    """A figure of panels one below the other, each high enough for its number of rows."""
    heights = [FRAME + row * count for count in rows]
    figure: Any
    figure, axes = panels_for(None, (WIDTH, sum(heights)), heights)
    figure.get_layout_engine().set(h_pad=0.1)
    return figure, axes


def save(figure: Figure, path: str | PathLike[str], *, replace: bool = True) -> list[Path]:
    """Write a picture as PNG, as SVG or as both, the same bytes each time, and close it.

    Parameters
    ----------
    figure : Figure
        The picture.
    path : path
        Where to. One that ends in ``.png`` or ``.svg`` is written as that; with any other name both
        are written, and their endings are added.
    replace : bool
        Whether other pictures of that name may be replaced.

    Returns
    -------
    list of Path
        What was written.
    """
    path = Path(path)
    if path.suffix.lower() in EMPTY:
        paths = [path]
    else:
        paths = [path.with_name(f"{path.name}{ending}") for ending in EMPTY]
    with load_pyplot().rc_context({"svg.hashsalt": "shortlist"}):
        for place in paths:
            content, ending = io.BytesIO(), place.suffix.lower()
            figure.savefig(content, format=ending[1:], dpi=DPI, metadata=EMPTY[ending])
            write_file(place, content.getvalue(), replace=replace)
    load_pyplot().close(figure)
    return paths


def axes_for(ax: Any, rows: int, row: float = ROW) -> tuple[Figure, Any]:
    """The axes given, or a new figure high enough for the rows."""
    if ax is not None:
        return ax.figure, ax
    figure, axes = stack([rows], row)
    return figure, axes[0]


def box(ax: Any, values: np.ndarray, place: float, colour: str, *, hatch: str = "") -> None:
    """Draw a box from quartile to quartile, whiskers at 5 % and 95 %, and a diamond at the mean."""
    quantiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    # Not ax.boxplot: its whiskers end at the last value within the quantiles.
    ax.bxp(
        [dict(zip(("whislo", "q1", "med", "q3", "whishi"), quantiles, strict=True))],
        positions=[place],
        orientation="horizontal",
        widths=0.6,
        showfliers=False,
        patch_artist=True,
        boxprops={
            "facecolor": colour,
            "alpha": 0.5,
            "edgecolor": colour,
            "hatch": hatch or None,
        },
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        zorder=2,
    )
    diamond = {"color": colour, "markeredgecolor": "white", "markersize": 6, "zorder": 3}
    ax.plot([values.mean()], [place], "D", **diamond)


def mark_published(
    ax: Any, names: Sequence[str], places: np.ndarray, published: Mapping[str, float]
) -> list[float]:
    """Mark the published figures above their rows, since ours may lie at the very same place."""
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
    open_frame(ax)
    for text, colour in zip(ax.get_yticklabels(), colours or (), strict=False):
        text.set(color=colour, fontsize=9)


def open_frame(ax: Any) -> None:
    """Leave out the frame above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def say(ax: Any, sentence: str) -> Figure:
    """Write a sentence where there is nothing to draw."""
    words = textwrap.fill(sentence, 64)
    where = {"ha": "center", "va": "center", "transform": ax.transAxes}
    ax.text(0.5, 0.5, words, color="0.3", parse_math=False, **where)
    ax.set_axis_off()
    figure: Figure = ax.figure
    return figure


def write_around(
    ax: Any,
    panels: Sequence[Any],
    title: str,
    captions: Sequence[tuple[str, str]],
    *,
    side: Literal["left", "right"] = "left",
    caption: bool = True,
) -> Figure:
    """Write a title above the panels, and below them what each axis shows and how to read it.

    In a figure of its own (``ax`` is None) title and captions are as wide as the figure. On the axes
    of a user they begin at the left end of the panel, or end at its right end: names of arms stand
    on the other ``side``, and leave less room for the panel than for the words. Without a
    ``caption`` only the names of the axes are below the panels.
    """
    if not caption:
        captions = [(axis, "") for axis, _ in captions]
    figure: Figure = panels[0].figure
    # No mathematics: the name of an arm may hold a dollar sign.
    above, below = ({"fontsize": size, "parse_math": False} for size in (10, 9))
    if ax is None:
        words = "\n".join(sentences for _, sentences in captions).strip()
        figure.suptitle(_lines(title, figure.get_figwidth()), **above)
        if words:
            figure.supxlabel(_lines(words, figure.get_figwidth()), x=0.02, ha="left", **below)
        for panel, (axis, _) in zip(panels, captions, strict=True):
            panel.set_xlabel(axis, **below)
        return figure
    panels[0].set_title(_lines(title, room(panels[0])), loc=side, **above)
    for panel, (axis, sentences) in zip(panels, captions, strict=True):
        words = _lines(f"{axis}\n{sentences}".strip(), room(panel))
        panel.set_xlabel(words, loc=side, multialignment="left", **below)
    return figure


def frame_of(
    low: np.ndarray, high: np.ndarray, kept: Collection[int] = ()
) -> tuple[float, float] | None:
    """From where to where an axis goes that shows intervals; None if none is finite.

    A tenth of them, or one, may be cut off where it would squeeze all others: if without these
    the axis is ``STRETCHED`` times shorter. Those ``kept`` are shown whole.

    Examples
    --------
    >>> frame_of(np.array([0.0, 0.5, 0.2, -90.0]), np.array([1.0, 1.5, 1.1, -80.0]))
    (0.0, 1.5)
    >>> frame_of(np.array([0.0, 0.5, 0.2, -1.0]), np.array([1.0, 1.5, 1.1, 0.0]))
    (-1.0, 1.5)
    """
    left = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    if not len(left):
        return None
    whole_frame = frame = float(low[left].min()), float(high[left].max())
    for _ in range(max(1, len(left) // 10)):
        ends = {left[np.argmin(low[left])], left[np.argmax(high[left])]}.difference(kept)
        rests = [left[left != end] for end in ends if len(left) > 2]
        if not rests:
            break
        left = min(rests, key=lambda rest: float(high[rest].max() - low[rest].min()))
        frame = float(low[left].min()), float(high[left].max())
    if whole_frame[1] - whole_frame[0] > STRETCHED * (frame[1] - frame[0]):
        return frame
    return whole_frame


def room(ax: Any) -> float:
    """How wide the column of the figure is in which a panel stands, in inches."""
    spec = ax.get_subplotspec()
    columns = 1 if spec is None else spec.get_gridspec().ncols
    return float(ax.figure.bbox.width / ax.get_figure(root=True).dpi / columns)


def _lines(text: str, inches: float) -> str:
    """The text in lines that are not wider; what is equal to what stays on one line."""
    width = int(LETTERS * inches)
    together = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return "\n".join(textwrap.fill(line, width) for line in together.splitlines())


def number(value: float, form: str = ".4g") -> str:
    """A number with a minus sign, by default with four digits; a dash where it is not finite.

    Examples
    --------
    >>> number(-0.123456), number(2.0, ".1f"), number(float("nan"))
    ('−0.1235', '2.0', '–')
    >>> number(-0.01, ".0f"), number(0.5, "+.1f")
    ('0', '+0.5')
    """
    sign = "+" if form.startswith("+") else ""
    # z: what is rounded to zero has no sign.
    form = f"{sign}z{form.removeprefix('+')}"
    return format(value, form).replace("-", "−") if math.isfinite(value) else "–"


def whole(value: float, _: object) -> str:
    """The label of a tick: a number of evaluations."""
    return f"{value:,.0f}"


def two_and_five(value: float, _: object) -> str:
    """Label 2 × 10ⁿ and 5 × 10ⁿ only."""
    leading = value / 10.0 ** np.floor(np.log10(value))
    return f"{value:,.0f}" if round(leading) in (2, 5) else ""


def load_pyplot() -> Any:
    """Matplotlib's pyplot, loaded when a picture is drawn and not before."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.") from None
    return pyplot
