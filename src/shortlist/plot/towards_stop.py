"""How near a study is to its stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortlist.plot.arms import CHALLENGER, INSIDE, headline, nothing_yet
from shortlist.plot.figure import axes_for, number, open_frame, say, whole, write_around
from shortlist.plot.over_time import mark_stop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.insight.remaining import Projection
    from shortlist.study.study import Study

MANY = 60  # statistics: fewer are drawn as dots
STEEP = 2.0  # times: so much higher than all later ones, the first statistics are not shown
FAR = 20.0  # a projection this many times beyond the results is drawn on a logarithmic axis


def stopping(
    study: Study,
    *,
    projection: Projection | Literal["study"] | None = "study",
    ax: Any = None,
    caption: bool = True,
) -> Figure:
    """The stopping statistic against ε over the evaluations, with a projection of the stop.

    Parameters
    ----------
    study : Study
        Before the initial pulls are told, a sentence says so.
    projection : Projection, optional
        How many more evaluations are expected: anything with the attributes ``evaluations``,
        ``low`` and ``high``. By default the study's own, ``study.remaining()``; None draws none.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    caption : bool
        Whether the picture is explained below the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import shortlist
    >>> study = shortlist.Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> (ax,) = shortlist.plot.stopping(study).axes
    >>> bool(ax.lines[0].get_ydata()[-1] == study.statistic)
    True
    """
    from shortlist.study.insight.history import statistics

    _, panel = axes_for(ax, 7)
    known = statistics(study)
    if not known or study.evaluations == 0:
        return say(panel, nothing_yet(study))
    times = np.array([each.evaluation for each in known])
    values = np.array([each.statistic for each in known])
    epsilon = study.problem.epsilon
    mark = ".-" if len(times) < MANY else "-"
    panel.plot(times, values, mark, color=INSIDE, linewidth=1.5, zorder=3)
    panel.axhline(epsilon, color="black", linewidth=1.2, zorder=2)
    words = f"Line: ε = {epsilon:g}, where the study stops. "
    if not study.aim.certifies:
        last, words = _spend(panel, study, float(values[-1]))
    elif study.model.stopped:
        stop = study.answered_at
        panel.plot([stop], [study.statistic], "o", color=CHALLENGER, markersize=8, zorder=4)
        words += f"Dot: it stopped after {stop:,}, at {number(float(values[-1]))}. "
        words += mark_stop([panel], study)
        last = float(study.evaluations)
    else:
        last, more = _project(panel, study, projection, float(times[-1]), float(values[-1]))
        words += f"Now it is {number(float(values[-1]))}. {more}"
    if last > FAR * times[-1]:
        panel.set_xscale("log")
        panel.set_xlim(max(1, times[0]), 1.1 * last)
    else:
        panel.set_xlim(0, 1.03 * last)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.axvspan(0, times[0], color="0.94", zorder=0)
        words += f"Grey: the first {times[0]:,}, before the first round. " if times[0] > 1 else ""
        words += _cut_the_start(panel, times, values, epsilon)
    panel.xaxis.set_major_formatter(whole)
    panel.grid(color="0.92", zorder=0)
    open_frame(panel)
    panel.set_ylabel(study.aim.statistic_name, fontsize=9)
    captions = [("evaluations", words)]
    title = headline(study, study.evaluations)
    return write_around(ax, [panel], title, captions, caption=caption)


def _spend(ax: Any, study: Study, value: float) -> tuple[float, str]:
    """Draw where the budget ends; returns how far it reaches, and what the picture shows."""
    budget = study.budget or 0
    ax.axvline(budget, color=CHALLENGER, linewidth=1.5, linestyle="--", zorder=2)
    return float(max(budget, study.evaluations)), (
        f"Dashes: the budget of {budget:,}, where the study stops. How much better the challenger "
        f"may be than the candidate it is least certain of, after each phase: {number(value)} at "
        f"the last. It decides nothing. Line: ε = {study.problem.epsilon:g}. "
    )


def _cut_the_start(ax: Any, times: np.ndarray, values: np.ndarray, epsilon: float) -> str:
    """Lower the frame where the first twentieth would leave the rest flat."""
    later = values[times > times[0] + (times[-1] - times[0]) / 20]
    height = later.max(initial=epsilon) - epsilon
    if len(times) < MANY or values.max() - epsilon <= STEEP * height:
        return ""
    ax.set_ylim(min(epsilon, values.min()) - 0.07 * height, epsilon + 1.2 * height)
    return f"The start, up to {number(float(values.max()))}, is cut off at the top. "


def _project(
    ax: Any,
    study: Study,
    projection: Projection | Literal["study"] | None,
    evaluations: float,
    value: float,
) -> tuple[float, str]:
    """Draw the projected stop; returns how far it reaches, and what it says."""
    from shortlist.study.insight.remaining import two_digits

    if isinstance(projection, str):
        projection = study.remaining()
    if projection is None:
        return evaluations, ""
    guess, low, high = (
        None if each is None or not np.isfinite(each) else float(each)
        for each in (projection.evaluations, projection.low, projection.high)
    )
    start = low if low is not None else guess
    if start is None:
        return evaluations, ""
    epsilon = study.problem.epsilon
    reach = evaluations + (high if high is not None else 1.5 * max(start, guess or 0.0))
    style = {"color": CHALLENGER, "solid_capstyle": "butt", "clip_on": False}
    ax.plot(
        [evaluations + start, reach], [epsilon, epsilon], linewidth=5, alpha=0.5, zorder=3, **style
    )
    if high is None:
        ax.plot([reach], [epsilon], ">", markersize=9, zorder=3, **style)
    most = "any number" if high is None else two_digits(round(high))
    words = f"Projected (orange): {two_digits(round(start))} to {most} more"
    if guess is not None:
        ends = [evaluations, evaluations + guess], [value, epsilon]
        ax.plot(*ends, ":", linewidth=1.5, zorder=3, **style)
        ax.plot([evaluations + guess], [epsilon], "D", markeredgecolor="white", zorder=4, **style)
        words += f", about {two_digits(round(guess))} (◆)"
    return reach, f"{words}. "
