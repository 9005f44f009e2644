"""Pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.simulation.results import Results

# Okabe and Ito's palette: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
LOG_FROM = 20.0  # a spread above this is drawn on a logarithmic axis


def samples(results: Results, *, ax: Any = None) -> Figure:
    """Evaluations needed, as the paper draws them: a box an algorithm, single runs as dots.

    Parameters
    ----------
    results : Results
        Of ``shortlist.compare``.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Figure
    """
    pyplot = _pyplot()
    frame = results.frame
    names = list(dict.fromkeys(frame["algorithm"]))
    groups = [frame.loc[frame["algorithm"] == name, "samples"].to_numpy() for name in names]
    if ax is None:
        figure, ax = pyplot.subplots(figsize=(7.0, 1.2 + 0.55 * len(names)), layout="constrained")
    else:
        figure = ax.figure
    places = np.arange(len(names), 0, -1)
    jitter = np.random.default_rng(0)
    for k, (place, values) in enumerate(zip(places, groups, strict=True)):
        heights = place + jitter.uniform(-0.28, 0.28, len(values))
        ax.plot(values, heights, ".", color="0.6", markersize=3, alpha=0.5, zorder=1)
        colour = COLOURS[k % len(COLOURS)]
        ax.boxplot(
            [values],
            positions=[place],
            orientation="horizontal",
            widths=0.6,
            showfliers=False,
            whis=(5, 95),
            patch_artist=True,
            boxprops={"facecolor": colour, "alpha": 0.35, "edgecolor": colour},
            medianprops={"color": "black"},
            whiskerprops={"color": colour},
            capprops={"color": colour},
            zorder=2,
        )
        ax.plot([values.mean()], [place], "D", color=colour, markersize=5, zorder=3)
    ax.set_yticks(places, names)
    ax.set_ylim(0.4, len(names) + 0.6)
    lowest, highest = min(map(np.min, groups)), max(map(np.max, groups))
    if highest > LOG_FROM * lowest:
        ax.set_xscale("log")
        if highest > 1000.0 * lowest:  # minor labels would run into each other
            ax.xaxis.set_minor_formatter("")
        else:
            ax.xaxis.set_minor_formatter(_two_and_five)
    else:
        ax.set_xlim(left=0)
    runs = len(groups[0])
    ax.set_xlabel("evaluations until the stop (box: quartiles; whiskers: 5 %, 95 %; ◆ mean)")
    ax.set_title(f"{results.instance.label}, δ = {results.delta:g}, {runs} runs each", fontsize=10)
    ax.grid(axis="x", color="0.9", zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _two_and_five(value: float, _: object) -> str:
    """Label 2 × 10ⁿ and 5 × 10ⁿ only."""
    leading = value / 10.0 ** np.floor(np.log10(value))
    return f"{value:g}" if round(leading) in (2, 5) else ""


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.") from None
    return pyplot
