"""Names of arms as they can be drawn, and where to put them."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

NAME_WIDTH = 28  # letters of a name before its middle is left out; a Chinese sign is two wide
MISSING = "□"
RING = 8.0  # pixels between a name and a point, which has a size
# Where a name may stand from its point, in points, and which side of it is meant.
SIDES = (
    *((10, 0, "left", "center"), (-10, 0, "right", "center")),
    *((0, 9, "center", "bottom"), (0, -9, "center", "top")),
    *((8, 7, "left", "bottom"), (-8, 7, "right", "bottom")),
    *((8, -7, "left", "top"), (-8, -7, "right", "top")),
    *((0, 20, "center", "bottom"), (0, -20, "center", "top")),
)


def drawn(name: str, width: int = NAME_WIDTH) -> str:
    r"""A name on one line, its middle left out if it is long.

    The middle, because the names of a series differ at their ends. A sign that the font lacks is
    drawn as a box, unless the text stays text (``svg.fonttype``): then the reader's font shows it.

    Examples
    --------
    >>> drawn("a name\nof two lines")
    'a name of two lines'
    >>> drawn("N-acetyl-5-methoxytryptamine, batch 17")
    'N-acetyl-5-met…ine, batch 17'
    >>> len(drawn(28 * "酸"))
    14
    """
    line = " ".join(name.split())
    if _width(line) > width:
        tail = (width - 1) // 2
        line = f"{_start(line, width - 1 - tail)}…{_start(line[::-1], tail)[::-1]}"
    known = _known_signs()
    return "".join(
        sign if sign.isprintable() and (known is None or ord(sign) in known) else MISSING
        for sign in line
    )


def _width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line)


def _start(line: str, width: int) -> str:
    """As much of the line as is not wider."""
    line = line[:width]
    while _width(line) > width:
        line = line[:-1]
    return line


def _known_signs() -> frozenset[int] | None:
    """What the fonts in use can draw; None if the text stays text."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties, findfont

    if mpl.rcParams["svg.fonttype"] == "none":
        return None
    families = mpl.rcParams["font.family"]
    return _signs_of(tuple(findfont(FontProperties(family=[name])) for name in families))


@functools.cache
def _signs_of(fonts: tuple[str, ...]) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset().union(*(get_font(font).get_charmap() for font in fonts))


def spread(heights: Sequence[float], apart: float) -> list[float]:
    """The heights moved as little as needed to lie so far apart, their order kept.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], apart=2.0)
    [0.0, 2.0, 5.0]
    """
    order = np.argsort(heights, kind="stable")
    blocks: list[list[float]] = []  # each: its lowest place if it had it its way, and its size
    for height in np.asarray(heights, float)[order]:
        blocks.append([float(height), 1.0])
        while len(blocks) > 1 and blocks[-2][0] + apart * blocks[-2][1] > blocks[-1][0]:
            low, size = blocks.pop()
            blocks[-1][0] = (
                blocks[-1][0] * blocks[-1][1] + (low - apart * blocks[-1][1]) * size
            ) / (blocks[-1][1] + size)
            blocks[-1][1] += size
    places = np.empty(len(order))
    places[order] = [low + apart * k for low, size in blocks for k in range(int(size))]
    return places.tolist()


def place_names(
    ax: Any,
    points: np.ndarray,
    names: Sequence[str],
    colours: Sequence[str],
    *,
    others: np.ndarray,
    needed: int = 0,
) -> int:
    """Write each name beside its point, where it covers no name, no point and none of the others.

    The first choose first. A name that finds no place is left out, but for the first ``needed``
    ones. Returns how many were written. To be called last: what changes the layout moves points.
    """
    ax.get_figure(root=True).draw_without_rendering()
    around = ax.transData.transform(np.vstack([points, others]))
    frame = ax.get_window_extent()
    taken: list[Any] = []
    for k, (point, name, colour) in enumerate(zip(points, names, colours, strict=True)):
        tries = []
        for x, y, ha, va in SIDES:
            text = ax.annotate(
                name,
                point,
                (x, y),
                textcoords="offset points",
                color=colour,
                fontsize=8,
                ha=ha,
                va=va,
                zorder=5,
                parse_math=False,
                bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
            )
            box = text.get_window_extent()
            outside = box.x0 < frame.x0 or box.x1 > frame.x1
            outside |= box.y0 < frame.y0 or box.y1 > frame.y1
            covered = box.padded(RING).count_contains(around) + 10 * box.count_overlaps(taken)
            tries.append((covered + 100 * outside, text, box))
            if tries[-1][0] == 0:
                break
        least = min(tries, key=lambda each: each[0])
        if least[0] == 0 or k < needed:
            taken.append(least[2])
        for _, text, box in tries:
            if not taken or box is not taken[-1]:
                text.remove()
    return len(taken)
