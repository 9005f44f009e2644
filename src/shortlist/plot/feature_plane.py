"""The arms in the plane where their features differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.linalg import WHOLE
from shortlist.plot.arms import (
    CHALLENGER,
    INSIDE,
    OUTSIDE,
    colour,
    headline,
    labels_of,
    moment_of,
    names_of,
    pair_words,
)
from shortlist.plot.figure import axes_for, open_frame, say, write_around

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.problem import Problem
    from shortlist.study.insight.history import History, Moment
    from shortlist.study.study import Study

NAMED = 25  # arms: of more, only the shortlist and the boundary pair have their names drawn
DOTS = 10_000  # arms: of more, so many are drawn
PIXELS_FROM = 1000  # arms: more dots than these are drawn as pixels, or they make a heavy SVG
RING = 8.0  # pixels between a name and a point, which has a size
BEHIND = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}  # a name
# Where a name may stand from its point, in points, and which side of it is meant.
SIDES = (
    *((10, 0, "left", "center"), (-10, 0, "right", "center")),
    *((0, 9, "center", "bottom"), (0, -9, "center", "top")),
    *((8, 7, "left", "bottom"), (-8, 7, "right", "bottom")),
    *((8, -7, "left", "top"), (-8, -7, "right", "top")),
    *((0, 20, "center", "bottom"), (0, -20, "center", "top")),
)


def plane(
    study: Study, *, history: History | None = None, ax: Any = None, caption: bool = True
) -> Figure:
    """The arms in the plane of the first two principal components of their features.

    They are coloured by their means; the shortlist is ringed, and the boundary pair b and c marked
    and joined. With more than 25 arms only these are named.

    Parameters
    ----------
    study : Study
        If its arms have no features, the figure only says so.
    history : History, optional
        The history of the study, if available.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    caption : bool
        Whether the picture is explained below the axes.

    Examples
    --------
    >>> import shortlist
    >>> study = shortlist.Study([[1.0, 0.0], [0.0, 1.0], [0.9, 0.4]], m=1, sigma=0.1, seed=1)
    >>> (ax,) = shortlist.plot.plane(study).axes
    >>> ax.get_xlabel().splitlines()[0]
    'first principal component of the features (98 % of their variance)'
    """
    places, shares = components(study.problem.given.numbers)
    _, panel = axes_for(ax, 9 if shares[1] else 4)
    if study.problem.is_classical:
        why = "nothing is known about these arms, so no two are closer than any others."
        return say(panel, f"No plane to draw: {why}")
    if not shares.any():
        return say(panel, "No plane to draw: all arms have the same features.")
    from shortlist.study.answer import estimated

    table = study.model.table()
    moment = moment_of(study, history)
    words = _arms(panel, places, estimated(table).to_numpy())
    if moment is not None:
        words += _boundary(panel, places, moment)
    if study.procedure.relation.guide:
        words += "The features helped to guess, and had no part in the verification. "
    elif not study.procedure.relation.uses_features:
        words += f"{study.procedure.name} does not look at the features. "
    words += "A name that would cover another, or a point, is left out. "
    _axes(panel, shares)
    first = f"first principal component of the features ({_percent(shares[0])} of their variance)"
    title = headline(study, study.evaluations)
    figure = write_around(ax, [panel], title, [(first, words)], caption=caption)
    _names(panel, places, study.problem, moment)
    return figure


def _arms(ax: Any, places: np.ndarray, means: np.ndarray) -> str:
    """Draw the arms, coloured by their means; returns what the caption says of them."""
    many, words = len(places) > NAMED, ""
    if len(places) > DOTS:
        words = f"A random {DOTS:,} of the {len(places):,} arms are drawn, plus the shortlist. "
        some = np.random.default_rng(0).choice(len(places), DOTS, replace=False)
        places, means = places[some], means[some]
    style = {"s": 18 if many else 45, "linewidth": 0.4, "edgecolor": "white", "zorder": 3}
    style["rasterized"] = len(places) > PIXELS_FROM
    if np.isnan(means).any():
        ax.scatter(*places.T, color=OUTSIDE, **style)
        return words + "Not coloured: the means are known once the first pulls are told. "
    dots = ax.scatter(*places.T, c=means, cmap="cividis", **style)
    ax.figure.colorbar(dots, ax=ax, label="estimated mean", fraction=0.05, pad=0.02)
    return words


def _boundary(ax: Any, places: np.ndarray, moment: Moment) -> str:
    """Mark the shortlist and the boundary pair; returns what the caption says of them."""
    size = 90 if len(places) > NAMED else 150
    inside = moment.table["in_shortlist"].to_numpy()
    style = {"facecolor": "none", "linewidth": 1.6, "zorder": 4}
    pixels = len(places) > PIXELS_FROM
    ax.scatter(*places[inside].T, s=size, edgecolor=INSIDE, rasterized=pixels, **style)
    ax.scatter(*places[[moment.c]].T, s=size, edgecolor=CHALLENGER, marker="s", **style)
    ax.plot(*places[[moment.b, moment.c]].T, "--", color=CHALLENGER, linewidth=1.3, zorder=2)
    return f"Rings: the shortlist. Dashes: from b to c (square). {pair_words(moment)}"


def _axes(ax: Any, shares: np.ndarray) -> None:
    ax.margins(0.16)
    ax.grid(color="0.93", zorder=0)
    open_frame(ax)
    if shares[1] == 0.0:
        ax.set_ylim(-1.0, 1.0)
        ax.set_yticks([])
        ax.set_ylabel("the features have no second component", fontsize=9)
        return
    ax.set_aspect("equal", adjustable="datalim")  # a distance is the same in all directions
    ax.set_ylabel(f"second ({_percent(shares[1])})", fontsize=9)


def _names(ax: Any, places: np.ndarray, problem: Problem, moment: Moment | None) -> None:
    """Name the boundary pair, the shortlist, and the others if they are few."""
    chosen: list[int] = []
    others = np.empty((0, 2))
    if moment is not None:
        inside = np.flatnonzero(moment.table["in_shortlist"])
        chosen = [moment.b, moment.c, *inside.tolist()]
        others = np.vstack([places[inside], np.linspace(places[moment.b], places[moment.c], 40)])
    if problem.arms <= NAMED:
        chosen += range(problem.arms)
    chosen = list(dict.fromkeys(chosen))[:NAMED]
    place_names(
        ax,
        places[chosen],
        names_of(problem, chosen, ax) if moment is None else labels_of(moment, chosen, ax),
        [OUTSIDE if moment is None else colour(moment, arm) for arm in chosen],
        others=others,
        needed=0 if moment is None else 2,
    )


def place_names(
    ax: Any,
    points: np.ndarray,
    names: Sequence[str],
    colours: Sequence[str],
    *,
    others: np.ndarray,
    needed: int,
) -> None:
    """Write each name beside its point, where it covers no name, no point and none of the others.

    Earlier names choose first. A name that finds no place is left out, but for the first ``needed``.
    Call it last: what changes the layout moves points.
    """
    ax.get_figure(root=True).draw_without_rendering()  # everything else has its place now
    around = ax.transData.transform(np.vstack([points, others]))
    frame = ax.get_window_extent()
    boxes: list[Any] = []  # of the names that are written
    for k, (point, name, ink) in enumerate(zip(points, names, colours, strict=True)):
        style = {"color": ink, "fontsize": 8, "zorder": 5, "bbox": BEHIND, "parse_math": False}
        text = ax.annotate(name, point, (0, 0), textcoords="offset points", **style)
        cost = {}
        for side in SIDES:
            box = _beside(text, side)
            outside = not (frame.contains(*box.min) and frame.contains(*box.max))
            covered = box.padded(RING).count_contains(around) + 10 * box.count_overlaps(boxes)
            cost[side] = covered + 100 * outside
        best = min(SIDES, key=lambda side: cost[side])
        if cost[best] and k >= needed:
            text.remove()
        else:
            boxes.append(_beside(text, best))


def _beside(text: Any, side: tuple[int, int, str, str]) -> Any:
    """Move a name to a side of its point; returns the pixels that it covers."""
    x, y, ha, va = side
    text.set(position=(x, y), ha=ha, va=va)
    return text.get_window_extent()


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def components(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components of every arm, and their shares of the variance.

    The sign of a component is that of its largest entry, so that the same features always give the
    same picture.

    Examples
    --------
    >>> places, shares = components(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    >>> shares.round(6).tolist(), places[:, 1].round(6).tolist()
    ([1.0, 0.0], [0.0, 0.0, 0.0])
    """
    places = np.zeros((len(features), 2))
    shares = np.zeros(2)
    middle = features.mean(axis=0)
    if features.size > WHOLE:  # a picture needs no digits that squares would lose
        about = features.T @ features - len(features) * np.outer(middle, middle)
        eigenvalues, vectors = np.linalg.eigh(about)
        values, right = np.sqrt(np.maximum(eigenvalues[::-1], 0.0)), vectors.T[::-1]
    else:
        values, right = np.linalg.svd(features - middle, full_matrices=False)[1:]
    right = right * np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])[:, None]
    count = min(2, len(values))
    places[:, :count] = features @ right[:count].T - middle @ right[:count].T
    if values[0] > 0.0:
        squares = (values / values[0]) ** 2
        shares[:count] = squares[:count] / squares.sum()
    rounding = shares < 1e-20
    places[:, rounding], shares[rounding] = 0.0, 0.0
    return places, shares
