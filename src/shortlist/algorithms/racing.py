"""Racing for σ-sub-Gaussian noise; where m = 1 it is successive elimination (Even-Dar et al. 2006).

The race of Kaufmann and Kalyanakrishnan (2013) lets one arm leave in a round, and with a slack ε on
both sides. Here all leave that may, and only those accepted have the slack (see ``contest``).
"""

from __future__ import annotations

from shortlist.algorithms.classical import Classical
from shortlist.algorithms.intervals import NORMAL, PAIRED
from shortlist.algorithms.planned import Planned


class Racing(Classical):
    """Each arm bounded alone, with the exploration rate of the paper's theorem."""

    interval, races = NORMAL, True


class PairedRacing(Classical):
    """Differences of two arms bounded: in a race both have as many results."""

    interval, races = PAIRED, True


ALGORITHMS = {
    "Racing": Planned(
        strategy=Racing,
        threshold=NORMAL.threshold,
        name="Racing",
        summary="Kaufmann and Kalyanakrishnan 2013, Even-Dar et al. 2006 for m = 1; proven; no features",
        classical=True,
    ),
    "Racing (paired)": Planned(
        strategy=PairedRacing,
        threshold=PAIRED.threshold,
        name="Racing (paired)",
        summary="Racing with differences of two arms bounded (Robbins 1970); proven; no features",
        classical=True,
    ),
}
