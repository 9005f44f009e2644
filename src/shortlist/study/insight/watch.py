"""What is said by itself while a study goes on: each new finding once, and two arms that look alike.

It is looked for whenever the results have grown by half, so that it costs little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shortlist.errors import GuaranteeInDoubt, LikelyTie, LinearityRejected
from shortlist.study.insight.health import doubts_by_results
from shortlist.study.insight.linearity_words import rejection
from shortlist.study.insight.remaining import Tie, remaining
from shortlist.study.view import View

FIRST, GROWTH = 20, 1.5  # results at the first look, and by how much they grow from one to the next
# Results, and results of an arm on average, before two arms are called alike: every study begins
# with arms that cannot be told apart.
TIED, TIED_EACH = 100, 5
# Evaluations to go if a tie is to be spoken of: times the results so far, in all, for each arm.
FAR, MANY, MANY_EACH = 5, 1000, 50
# Of the span of all means: how much two arms differ that are called alike, and the slack with which
# the study would stop. With ``MANY`` results in, the span is not asked: all arms may be alike.
ALIKE, SMALL = 0.05, 0.15


@dataclass
class Watch:
    """Which findings were said, and when to look for new ones."""

    due: int = FIRST  # results at the next look; read after every one, so no call
    _said: set[str] = field(default_factory=set)

    def look_soon(self) -> None:
        """Look at the next opportunity, as when the study stops."""
        self.due = 0

    def news(self, study: View, *, final: bool = False) -> list[Warning]:
        """What was found since the last look, each finding once; a final look is always made.

        If it is interrupted, nothing counts as said.
        """
        warnings: dict[str, Warning] = {}
        results, due = len(study.taken), self.due
        if study.audit.rejection is not None:
            if "rejection" not in self._said:
                warnings["rejection"] = LinearityRejected(rejection(study))
        elif final or results >= due:
            due = math.ceil(GROWTH * max(results, FIRST))
            for finding in doubts_by_results(study):
                words = f"{finding.words} {finding.remedy}"
                warnings.setdefault(finding.name, GuaranteeInDoubt(words))
            if not study.done and "tie" not in self._said and (tie := likely_tie(study)):
                warnings["tie"] = LikelyTie(tie.advice)
        new = [warning for name, warning in warnings.items() if name not in self._said]
        self._said, self.due = self._said | set(warnings), due
        return new


def likely_tie(study: View) -> Tie | None:
    """Two arms that are likely to take very long to be told apart; None where there are none."""
    results, arms = study.evaluations, study.problem.arms
    if results < max(TIED, TIED_EACH * arms) or not study.aim.certifies:
        return None
    try:
        projection = remaining(study)
    except np.linalg.LinAlgError:  # what is said by the way must not end a run
        return None
    left = math.inf if projection.evaluations is None else projection.evaluations
    if projection.tie is None or left < max(FAR * results, MANY, MANY_EACH * arms):
        return None
    means, (one, other) = study.model.table()["mean"], projection.tie.means
    span, enough = float(means.max() - means.min()), projection.tie.epsilon
    is_small = enough is not None and enough <= SMALL * span
    is_alike = is_small and abs(one - other) <= ALIKE * span
    return projection.tie if is_alike or results >= max(MANY, MANY_EACH * arms) else None
