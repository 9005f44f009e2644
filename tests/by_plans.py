"""Studies that are run plan by plan: the pulls and the answer of ``Study.run``, at a third of its cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shortlist import Study
from shortlist.study.answer import Shortlist


def run_by_plans(
    study: Study, measure: Callable[[Any], float], max_evaluations: float = math.inf
) -> Shortlist:
    """Ask for what is missing until the next decision, and tell it at once, up to the stop."""
    left = max_evaluations
    while left > 0 and not study.done and study.audit.rejection is None:
        trials = study.ask(int(min(max(study.round.until_decision, 1), left)))
        study.tell_many([(trial, measure(trial)) for trial in trials])
        left -= len(trials)
    return study.shortlist
