"""The intervals of a study over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.plot.arms import (
    CHALLENGER,
    after_stop,
    headline,
    labels_of,
    left_out,
    most_contested,
    nothing_yet,
    pair_words,
)
from shortlist.plot.figure import (
    COLOURS,
    WIDTH,
    frame_of,
    open_frame,
    panels_for,
    say,
    two_and_five,
    whole,
    write_around,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.insight.history import History, Moment
    from shortlist.study.study import Study

CANDIDATES = (COLOURS[0], COLOURS[2], COLOURS[3], COLOURS[5])
BANDS = 5  # those of the candidates and the challenger's: more of them hide each other
LOG_TIME_FROM = 8.0  # a longer time than this, last over first, is drawn on a logarithmic axis


def shrinking(
    study: Study, *, history: History | None = None, ax: Any = None, caption: bool = True
) -> Figure:
    """The intervals of the arms over time: bands for the shortlist and the boundary, others light.

    With paired indices a second panel shows the interval of the difference that the stopping rule
    reads, of the pair of each moment.

    Parameters
    ----------
    study : Study
        Before the initial pulls are told, a sentence says so.
    history : History, optional
        The history of the study, if available; by default it is computed.
    ax : matplotlib Axes, or two of them, optional
        Where to draw; by default a new figure. A single one gets the arms only.
    caption : bool
        Whether the picture is explained below the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import shortlist
    >>> study = shortlist.Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> arms, difference = shortlist.plot.shrinking(study).axes
    >>> [text.get_text() for text in arms.get_legend().get_texts()]
    ['★ 2 (b)', '1 (c)']
    """
    past = study.history() if history is None else history
    moment = past.last if study.evaluations else None
    alone, signs = study.procedure.engine.setup.alone, study.procedure.interval.formula
    heights = [3.0] if alone or moment is None else [3.0, 1.3]
    size = (WIDTH, 1.2 + sum(heights) + 0.4 * len(heights))
    panels = panels_for(ax, size, heights)[1][: len(heights)]  # of those given, the first
    if moment is None:
        return say(panels[0], nothing_yet(study))
    near = _arms_with_bands(moment)
    arms = list(dict.fromkeys([*most_contested(moment), *near]))
    whose = "the shortlist (★)"
    if study.problem.m > len(near) - 1:
        whose = f"the {len(near) - 1} of the shortlist (★) nearest to the boundary"
    words = (
        f"Each arm's mean with its own interval {signs}, for c and {whose}; the others are light. "
        f"The stopping rule reads {'these' if alone else 'those of differences, not these'}. "
    )
    if not study.aim.certifies:
        words = words.partition("The stopping rule")[0]
    words += _bands(panels[0], past, moment, arms, near)
    words += pair_words(moment) + left_out(len(arms), moment) + mark_stop(panels, study)
    captions = [("evaluations", words)]
    if len(panels) == 2:
        difference = _difference(panels[1], study, past)
        captions = [("", f"Above: {words}"), ("evaluations", f"Below: {difference}")]
    return write_around(ax, panels, headline(study, study.evaluations), captions, caption=caption)


def mark_stop(panels: Sequence[Any], study: Study) -> str:
    """A vertical line at the stop where results came after it; returns what it says."""
    after = study.evaluations - study.answered_at if study.model.stopped else 0
    if not after:
        return ""
    for ax in panels:
        ax.axvline(study.answered_at, color="0.35", linestyle="--", linewidth=1.2, zorder=2.6)
    late = after_stop(study)
    results = "1 result told after it does" if after == 1 else f"{after:,} results told after it do"
    words = f"Vertical dashes: the stop, after {study.answered_at:,}; "
    words += f"the {results} not change the answer"
    return f"{words}. " if late == after else f"{words}, {after - late:,} of them test linearity. "


def _arms_with_bands(moment: Moment) -> list[int]:
    """The boundary pair and the candidates of worst mean, up to ``BANDS`` arms."""
    from shortlist.study.answer import best_first

    candidates = best_first(moment.table[moment.table["in_shortlist"]][::-1], moment.problem)
    ranked = [moment.b, moment.c, moment.boundary, *candidates.index.tolist()[::-1]]
    return list(dict.fromkeys(ranked))[:BANDS]


def _bands(ax: Any, past: History, moment: Moment, arms: list[int], near: list[int]) -> str:
    """Draw the arms over time; returns what the caption says of those that do not fit."""
    from shortlist.study.answer import estimated

    times = past.checkpoints["evaluation"].unique()
    middle = str(estimated(past.checkpoints).name)
    mean, low, high = (
        past.checkpoints[column].to_numpy().reshape(len(times), -1)
        for column in (middle, "lower", "upper")
    )
    inside = moment.table["in_shortlist"].to_numpy()
    place = dict(zip(past.arms.tolist(), range(len(past.arms)), strict=True))
    hues = iter(CANDIDATES)
    lines = {}
    for arm in arms:
        k = place[arm]
        if arm in near:
            shade = CHALLENGER if arm == moment.c else next(hues)
            lines[arm] = _band(ax, times, low[:, k], mean[:, k], high[:, k], shade)
        else:
            shade = "#B9D5E8" if inside[arm] else "0.82"
            mark = "o" if len(times) == 1 else "-"
            ax.plot(times, mean[:, k], mark, color=shade, linewidth=0.9, zorder=1.6)
            ax.fill_between(times, low[:, k], high[:, k], color="0.96", zorder=0.6)
    _time_axis(ax, times)
    shown = [place[arm] for arm in arms]
    known = np.isfinite(low) & np.isfinite(high)
    ends = np.where(known, low, np.inf).min(axis=0), np.where(known, high, -np.inf).max(axis=0)
    frame = frame_of(ends[0][shown], ends[1][shown], [arms.index(arm) for arm in near])
    if frame is not None:
        margin = 0.05 * (frame[1] - frame[0])
        ax.set_ylim(frame[0] - margin, frame[1] + margin)
    far = frame is not None and (ends[0][shown].min(), ends[1][shown].max()) != frame
    ax.set_ylabel(middle, fontsize=9)
    order = sorted(near, key=lambda arm: -mean[-1, place[arm]])
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    handles = [lines[arm] for arm in order]
    legend = ax.legend(handles, ["" for _ in order], fontsize=8, frameon=False, **beside)
    # Written later: the legend would leave out a name that begins with an underscore.
    for text, name in zip(legend.get_texts(), labels_of(moment, order, ax), strict=True):
        text.set(text=name, parse_math=False)
    return "What lies far from all others is cut off. " if far else ""


def _band(
    ax: Any, times: np.ndarray, low: np.ndarray, middle: np.ndarray, high: np.ndarray, shade: str
) -> Any:
    """Draw a mean and its interval over time; returns the line of the mean."""
    mark = "-"
    if len(times) == 1:  # a moment has no width
        mark = "o"
        ax.vlines(times, low, high, color=shade, linewidth=3, alpha=0.4, zorder=2)
    ax.fill_between(times, low, high, color=shade, alpha=0.13, linewidth=0, zorder=2)
    ax.plot(times, low, times, high, color=shade, linewidth=0.7, zorder=2.2)
    return ax.plot(times, middle, mark, color=shade, linewidth=1.8, zorder=3)[0]


def _difference(ax: Any, study: Study, past: History) -> str:
    """The interval whose upper end is the statistic, at every checkpoint; returns what it says."""
    times, gap, low, high = past.differences.to_numpy().T
    _band(ax, times, low, gap, high, CHALLENGER)
    ax.axhline(study.problem.epsilon, color="black", linewidth=1.2, zorder=2.5)
    _time_axis(ax, times)
    ax.set_ylabel("difference", fontsize=9)
    if not study.aim.certifies:
        return (
            "The difference of the challenger and the candidate that are least certain, at the end "
            f"of each phase. The study stops after {study.budget:,} evaluations."
        )
    words = (
        "The difference that the stopping rule reads, of the pair of each moment: the study stops "
        f"when its upper end is at most ε = {study.problem.epsilon:g} (line)."
    )
    if np.isfinite(high).all():
        return words
    return f"{words} Where there is no band, the results until then do not bound it."


def _time_axis(ax: Any, times: np.ndarray) -> None:
    first, last = float(times[0]), float(times[-1])
    if last > LOG_TIME_FROM * first:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(two_and_five if last < 100.0 * first else "")
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if first == last:
        first, last = first - 1.0, last + 1.0
    ax.xaxis.set_major_formatter(whole)
    ax.set_xlim(first, last)
    ax.grid(color="0.92", zorder=0)
    open_frame(ax)
