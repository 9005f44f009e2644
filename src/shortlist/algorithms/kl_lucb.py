"""KL-LUCB (Kaufmann and Kalyanakrishnan 2013): the two arms at the boundary, bounded by entropy."""

from __future__ import annotations

from shortlist.algorithms.classical import Classical
from shortlist.algorithms.intervals import KL, KL_BY_MIXTURE
from shortlist.algorithms.planned import Planned


class KLLUCB(Classical):
    """With the exploration rate of the paper's theorem."""

    interval, races = KL, False


class KLLUCBByMixture(Classical):
    """With a mixture in place of the union over all numbers of results."""

    interval, races = KL_BY_MIXTURE, False


ALGORITHMS = {
    "KL-LUCB": Planned(
        strategy=KLLUCB,
        threshold=KL.threshold,
        name="KL-LUCB",
        summary="Kaufmann and Kalyanakrishnan 2013; proven for results in [0, 1]; no features, no σ",
        classical=True,
        reward_range=KL.reward_range,
        interval_words=KL.words,
    ),
    "KL-LUCB (mixture)": Planned(
        strategy=KLLUCBByMixture,
        threshold=KL_BY_MIXTURE.threshold,
        name="KL-LUCB (mixture)",
        summary="Kaufmann and Kalyanakrishnan 2013, bound by Robbins 1970; proven for results in [0, 1]; no σ",
        classical=True,
        reward_range=KL_BY_MIXTURE.reward_range,
        interval_words=KL_BY_MIXTURE.words,
    ),
}
