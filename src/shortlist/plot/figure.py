"""The sheet of paper: colours, sizes, panels, and how a picture is saved."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, its black a little lighter: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
ROW, SHARE_ROW, FRAME = 0.55, 0.34, 1.2  # inches: a row of a picture, and what is around them


def stack(rows: Iterable[int], row: float = ROW) -> tuple[Figure, list[Any]]:
    """A figure of panels one below the other, each high enough for its number of rows."""
    heights = [FRAME + row * count for count in rows]
    figure, axes = load_pyplot().subplots(
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
    pyplot = load_pyplot()
    paths = [Path(path).with_name(f"{Path(path).name}.{kind}") for kind in ("png", "svg")]
    with pyplot.rc_context({"svg.hashsalt": "shortlist"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], dpi=150, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return paths


def axes_for(ax: Any, rows: int, row: float = ROW) -> tuple[Figure, Any]:
    """The axes given, or a new figure high enough for the rows."""
    if ax is not None:
        return ax.figure, ax
    figure, axes = stack([rows], row)
    return figure, axes[0]


def say(ax: Any, sentence: str) -> None:
    """A sentence where there is nothing to draw."""
    words = textwrap.fill(sentence, 64)
    where = {"ha": "center", "va": "center", "transform": ax.transAxes}
    ax.text(0.5, 0.5, words, color="0.3", parse_math=False, **where)
    ax.set_axis_off()


def caption(ax: Any, what: str, sentence: str, width: int = 96) -> None:
    """Below a panel: what its axis shows, and how to read it."""
    # No mathematics: the name of an arm may hold a dollar sign.
    words = textwrap.fill(sentence, width)
    ax.set_xlabel("\n".join(filter(None, (what, words))), fontsize=9, parse_math=False)


def whole(value: float, _: object) -> str:
    """A number of evaluations beside its tick."""
    return f"{value:,.0f}"


def two_and_five(value: float, _: object) -> str:
    """Label 2 × 10ⁿ and 5 × 10ⁿ only."""
    leading = value / 10.0 ** np.floor(np.log10(value))
    return f"{value:,.0f}" if round(leading) in (2, 5) else ""


def load_pyplot() -> Any:
    """Matplotlib, when a picture is drawn and not before."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.") from None
    return pyplot
