"""KL-Racing (Kaufmann and Kalyanakrishnan 2013): all arms in question, bounded by entropy."""

from __future__ import annotations

from shortlist.algorithms.classical import Classical
from shortlist.algorithms.intervals import KL, KL_BY_MIXTURE
from shortlist.algorithms.planned import Planned


class KLRacing(Classical):
    """With the exploration rate of the paper's theorem."""

    interval, races = KL, True


class KLRacingByMixture(Classical):
    """With a mixture in place of the union over all rounds."""

    interval, races = KL_BY_MIXTURE, True


ALGORITHMS = {
    "KL-Racing": Planned(
        strategy=KLRacing,
        threshold=KL.threshold,
        name="KL-Racing",
        summary="Kaufmann and Kalyanakrishnan 2013; proven for results in [0, 1]; arms leave; no σ",
        classical=True,
        reward_range=KL.reward_range,
        interval_words=KL.words,
    ),
    "KL-Racing (mixture)": Planned(
        strategy=KLRacingByMixture,
        threshold=KL_BY_MIXTURE.threshold,
        name="KL-Racing (mixture)",
        summary="Kaufmann and Kalyanakrishnan 2013, bound by Robbins 1970; proven in [0, 1]; arms leave; no σ",
        classical=True,
        reward_range=KL_BY_MIXTURE.reward_range,
        interval_words=KL_BY_MIXTURE.words,
    ),
}
