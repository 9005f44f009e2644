"""The stopping statistic over time, and where it may reach ε: lines in a box of fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortlist.plot.figure import number
from shortlist.study.insight.history import statistics

if TYPE_CHECKING:
    from shortlist.report.analysis import Analysis

WIDTH, HEIGHT, MARGIN = 1000.0, 300.0, 12.0  # of the box; the page stretches it
POINTS = 400  # of the line
FAR = 1.5  # times what is told: so much of a projection's range is drawn
FARTHEST = 9.0  # and so far its beginning and the guess, beyond which only the way there is drawn


@dataclass(frozen=True)
class StatisticChart:
    """What to draw, in units of the box; ``None`` where there is nothing to draw."""

    line: str  # the statistic, as the points of an SVG polyline
    epsilon: float  # how high ε is
    # Where the projection's range begins and ends; None if it begins beyond the box.
    low: float | None
    # Where the way to the projected stop ends: at ε, or at the edge of the box.
    guess: tuple[float, float] | None
    high: float | None
    now: tuple[float, float]  # where the line ends
    # The evaluations at the left and at the right.
    first: str
    last: str
    top: str  # the statistic at the upper edge


def statistic_chart(analysis: Analysis) -> StatisticChart | None:
    """The chart of the statistic so far; None before the stop is looked for.

    Examples
    --------
    >>> from shortlist import Study
    >>> from shortlist.report.analysis import Analysis
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> statistic_chart(Analysis(study)) is None
    True
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> statistic_chart(Analysis(study)).last == f"{study.evaluations}"
    True
    """
    study = analysis.study
    points = [(each.evaluation, each.statistic) for each in statistics(study)]
    if not points:
        return None
    places = np.unique(np.linspace(0, len(points) - 1, min(len(points), POINTS)).astype(int))
    times, values = np.array(points, float)[places].T
    epsilon, now = study.problem.epsilon, float(times[-1])
    low, guess, high = _projected(analysis, now)
    last = now
    if not study.model.stopped:
        # What the text says is in the box, unless it is so far that the line would be flat.
        near = [each for each in (low, guess) if each and each <= now + FARTHEST * now]
        reach = max([now + FAR * now, *(1.05 * each for each in near)])
        last = min(max(filter(None, (now, low, guess, high))), reach)
    # The first statistics may be so high that the rest would look flat.
    top = max(float(values[len(values) // 20 :].max()), epsilon)
    bottom = min(float(values.min()), epsilon)
    top = top if top > bottom else bottom + max(1.0, abs(bottom))
    first = float(times[0]) if last > times[0] else last - 1.0

    def x(time: float) -> float:
        return round((min(time, last) - first) / (last - first) * WIDTH, 1)

    def y(value: float) -> float:
        share = (min(value, top) - bottom) / (top - bottom)
        return round(HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN), 1)

    end, value = None, float(values[-1])
    if guess is not None:
        share = 1.0 if guess <= last else (last - now) / (guess - now)
        end = x(guess), y(value + share * (epsilon - value))
    drawn = zip(times.tolist(), values.tolist(), strict=True)
    return StatisticChart(
        line=" ".join(f"{x(time)},{y(value)}" for time, value in drawn),
        epsilon=y(epsilon),
        low=None if low is None or low > last else x(low),
        guess=end,
        high=None if low is None else x(last if high is None else high),
        now=(x(now), y(value)),
        first=f"{first:,.0f}",
        last=f"{last:,.0f}",
        top=number(top),
    )


def _projected(analysis: Analysis, now: float) -> tuple[float | None, float | None, float | None]:
    """At how many evaluations the stop may be: from, about, and up to."""
    if analysis.study.model.stopped:
        return None, None, None
    ahead = analysis.remaining
    guess, high = (None if e is None else now + e for e in (ahead.evaluations, ahead.high))
    return now + ahead.low, guess, high
