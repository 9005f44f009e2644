"""What a threshold is expected to ask for at the stop, so that the least demanding can be chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping

from shortlist.core.least_squares import STEP, price
from shortlist.errors import InvalidSetting
from shortlist.rules.threshold import Setting, Threshold
from shortlist.rules.thresholds import THRESHOLDS

HORIZON = 100  # evaluations a dimension: neither an easy problem nor a hard one


def expected_evidence(threshold: Threshold, setting: Setting) -> float:
    """About what Z must reach at a stop after ``HORIZON`` evaluations a dimension.

    Every dimension is taken to be explored alike. A pilot's own share is counted in.

    Examples
    --------
    >>> from shortlist.rules.thresholds import THRESHOLDS
    >>> setting = Setting(
    ...     arms=4, dimension=3, rank=3, longest=1.0, sigma=0.5, delta=0.05, S=1.0,
    ...     regularization=0.0, weakest=1.0, classical=False, indices="paired", m=2,
    ... )
    >>> [round(expected_evidence(THRESHOLDS[name], setting), 1) for name in ("pilot", "self_normalized")]
    [8.6, 14.7]
    """
    time, rank = HORIZON * setting.rank, setting.rank
    if "pilot" in threshold.rule.traits:
        return _with_pilot(rank, math.log(1.0 / setting.delta))
    shift, extra = threshold.shift(setting), 0.0
    if "levels" in threshold.rule.traits and shift > 0.0:
        least = HORIZON * setting.longest**2
        level = max(int(math.log(least / setting.weakest, STEP)), 0)
        shift, extra = shift * STEP**level, price(level)
    log_det = rank * math.log1p(HORIZON * setting.longest**2 / shift) if shift > 0.0 else 0.0
    C = float(threshold.rule(time, log_det + extra, threshold.constants(setting)))
    return 0.5 * C**2


def _with_pilot(rank: int, confidence: float) -> float:
    """r/2 set aside, and then ln(1/δ) + r/2 (1 + ln of how often the pilot goes into the rest)."""
    half = 0.5 * rank
    total = confidence + 2.0 * half
    for _ in range(50):
        total = half + confidence + half * (1.0 + math.log(total / half))
    return total


def least_demanding(settings: Mapping[str, Setting]) -> Threshold:
    """Of the thresholds that are proven in their settings, the one expected to ask for least."""
    asked = {}
    for name, setting in settings.items():
        threshold = THRESHOLDS[name]
        try:
            threshold.check(setting)
        except InvalidSetting:
            continue
        if not threshold.why_not_proven(setting):
            evidence = expected_evidence(threshold, setting)
            if not math.isnan(evidence):  # it depends on σ, which is to be estimated
                asked[name] = evidence
    if not asked:
        raise InvalidSetting(
            "threshold='auto' found none that is proven here: the initial pulls, the "
            "regularization or a missing S fit none. Name a threshold, or leave them as they are "
            "by default."
        )
    return THRESHOLDS[min(asked, key=lambda name: asked[name])]
