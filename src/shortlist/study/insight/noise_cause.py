"""Why results spread more than σ says: the likely cause, and what to do about it.

A cause is guessed from the shape of the results, and called likely: nothing is tested here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shortlist.advice import goes_on
from shortlist.arrays import Reals
from shortlist.noise.bounded import within
from shortlist.study.insight.finding import Finding
from shortlist.study.view import View

ENOUGH = 50  # results of arms that have several, to speak of their shape
SKEWED = 0.7  # the skewness of an exponential distribution is 2, of a normal one 0


@dataclass(frozen=True)
class NoiseCause:
    """A likely cause of noise that is larger than σ, in words, and a way on; both may be empty.

    ``explains_all`` says that no result that is far off needs a reason of its own.
    """

    words: str = ""
    way: str = ""
    explains_all: bool = False

    def said_with(self, finding: Finding) -> Finding:
        """The finding with its likely cause in front, and the way on that goes with it."""
        words = f"{self.words} {finding.words}".lstrip()
        return replace(finding, words=words, way=self.way or finding.way)


def likely_cause(study: View) -> NoiseCause:
    """Why the results of a study spread more than its σ, as far as their shape tells."""
    values = np.array([trial.value for trial in study.taken], np.float64)
    arms = np.array([trial.arm for trial in study.taken], np.int64)
    ends = np.unique(values)
    if len(ends) == 2:
        low, high = ends.tolist()
        return NoiseCause(
            f"All results are {low:g} or {high:g}: noise of two values needs a σ of half their "
            "distance.",
            goes_on("with all results.", **within(low, high)),
            explains_all=True,
        )
    if (skew := _skewness(arms, values)) is not None and abs(skew) > SKEWED:
        side = "large" if skew > 0.0 else "small"
        return NoiseCause(
            f"The results are skewed: few are very {side}. Averages of several runs as one result "
            "would be closer to normal."
        )
    return NoiseCause()


def _skewness(arms: np.ndarray, values: Reals) -> float | None:
    """The third moment of results about the means of their arms, in units of their spread."""
    counts = np.bincount(arms)
    means = np.bincount(arms, values) / np.maximum(counts, 1)
    several = counts[arms] > 1
    rest = (values - means[arms])[several]
    rest = np.delete(rest, np.argmax(np.abs(rest))) if len(rest) else rest  # it may be mistyped
    if len(rest) < ENOUGH or not rest.any():
        return None
    return float((rest**3).mean() / (rest**2).mean() ** 1.5)
