"""The stopping statistic over time, and where it may reach ε: lines in a box of fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortlist.plot.figure import number

if TYPE_CHECKING:
    from shortlist.report.reading import Reading

WIDTH, HEIGHT, MARGIN = 1000.0, 300.0, 12.0  # of the box; the page stretches it
POINTS = 400  # of the line
FAR = 1.5  # times what is told: so much of a projection is drawn


@dataclass(frozen=True)
class Course:
    """What to draw, in units of the box; ``None`` where there is nothing to draw.

    Attributes
    ----------
    line : str
        The statistic, as the points of an SVG polyline.
    epsilon : float
        How high ε is.
    low, guess, high : float or None
        Where the projection's range begins, its middle, and where its range ends.
    now : tuple of float
        Where the line ends.
    first, last : str
        The evaluations at the left and at the right.
    top : str
        The statistic at the upper edge.
    """

    line: str
    epsilon: float
    low: float | None
    guess: float | None
    high: float | None
    now: tuple[float, float]
    first: str
    last: str
    top: str


def course(reading: Reading) -> Course | None:
    """The course of a study so far; None before the stop is looked for.

    Examples
    --------
    >>> from shortlist import Study
    >>> from shortlist.report.reading import Reading
    >>> study = Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> course(Reading(study)) is None
    True
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> course(Reading(study)).last == f"{study.evaluations}"
    True
    """
    study = reading.study
    if study.statistic is None:
        return None
    known = reading.past.frame.dropna(subset=["statistic"])
    if study.model.stopped:  # after its stop it does not look
        known = known[known["evaluation"] <= study.answered_at]
    if not len(known):
        return None
    places = np.unique(np.linspace(0, len(known) - 1, min(len(known), POINTS)).astype(int))
    times = known["evaluation"].to_numpy(float)[places]
    values = known["statistic"].to_numpy(float)[places]
    epsilon, now = study.problem.epsilon, float(times[-1])
    low, guess, high = _projected(reading, now)
    last = max(filter(None, (now, low, guess, high)))
    last = min(last, now + FAR * now) if not study.model.stopped else now
    # The first statistics may be so high that the rest would look flat.
    top = max(float(values[len(values) // 20 :].max()), epsilon)
    bottom = min(float(values.min()), epsilon)
    top = top if top > bottom else bottom + 1.0
    first = float(times[0]) if last > times[0] else last - 1.0

    def x(time: float) -> float:
        return round((min(time, last) - first) / (last - first) * WIDTH, 1)

    def y(value: float) -> float:
        share = (min(value, top) - bottom) / (top - bottom)
        return round(HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN), 1)

    points = zip(times.tolist(), values.tolist(), strict=True)
    return Course(
        line=" ".join(f"{x(time)},{y(value)}" for time, value in points),
        epsilon=y(epsilon),
        low=None if low is None else x(low),
        guess=None if guess is None else x(guess),
        high=None if low is None else x(last if high is None else high),
        now=(x(now), y(float(values[-1]))),
        first=f"{first:,.0f}",
        last=f"{last:,.0f}",
        top=number(top),
    )


def _projected(reading: Reading, now: float) -> tuple[float | None, float | None, float | None]:
    """At how many evaluations the stop may be: from, about, and up to."""
    if reading.study.model.stopped:
        return None, None, None
    ahead = reading.remaining
    guess, high = (None if e is None else now + e for e in (ahead.evaluations, ahead.high))
    return now + ahead.low, guess, high
