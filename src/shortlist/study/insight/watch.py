"""What is said by itself while a study goes on: what is in doubt, and two arms that look alike.

It is looked for whenever the results have grown by half, so that it costs little, and when the study
stops. A doubt that stands is said at every look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shortlist.advice import continued
from shortlist.errors import GuaranteeInDoubt, LikelyTie, LinearityRejected
from shortlist.study.answer import estimated
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
    """What was said, and when to look again."""

    due: int = FIRST  # results at the next look; read after every one, so no call
    _said: set[str] = field(default_factory=set)
    _doubted_at: int = -1  # results when doubts were last said

    def look_soon(self) -> None:
        """Look at the next opportunity, as when the study stops."""
        self.due = 0

    def news(self, study: View, *, final: bool = False) -> list[Warning]:
        """What is in doubt now, and what else was found since the last look; a final look is always made.

        That linear means are rejected, and that two arms look alike, is said once. If it is
        interrupted, nothing counts as said.
        """
        once: dict[str, Warning] = {}
        standing: dict[str, Warning] = {}
        results, due, doubted_at = len(study.taken), self.due, self._doubted_at
        if study.audit.rejection is not None:
            if "rejection" not in self._said:
                once["rejection"] = LinearityRejected(rejection(study))
        elif final or results >= due:
            due = math.ceil(GROWTH * max(results, FIRST))
            if results != doubted_at:
                for finding in doubts_by_results(study):
                    words = f"{finding.words} {finding.remedy}"
                    standing.setdefault(finding.name, GuaranteeInDoubt(words))
                doubted_at = results
            if "slack" not in self._said and (words := slack_beyond_results(study)):
                once["slack"] = UserWarning(words)
            if not study.done and "tie" not in self._said and (tie := likely_tie(study)):
                once["tie"] = LikelyTie(tie.advice)
        self._said, self.due, self._doubted_at = self._said | set(once), due, doubted_at
        return [*standing.values(), *once.values()]


def slack_beyond_results(study: View) -> str:
    """What is wrong with an ε beyond the span of all results so far; empty if it is not.

    Results in a range have theirs compared with it at the door.
    """
    epsilon, values = study.problem.epsilon, [trial.value or 0.0 for trial in study.taken]
    span = max(values, default=0.0) - min(values, default=0.0)
    if study.problem.noise.takes_range or not study.aim.certifies or not 0.0 < span < epsilon:
        return ""
    return (
        f"epsilon={epsilon:g} is larger than the span of all {len(values):,} results so far ({span:.3g}): "
        f"any {study.problem.m} arms may soon be an answer. epsilon is in the units of the results. A "
        f"study with a smaller one and these results: {continued(epsilon=...)}."
    )


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
    means, (one, other) = estimated(study.model.table()), projection.tie.means
    span, enough = float(means.max() - means.min()), projection.tie.epsilon
    is_small = enough is not None and enough <= SMALL * span
    is_alike = is_small and abs(one - other) <= ALIKE * span
    return projection.tie if is_alike or results >= max(MANY, MANY_EACH * arms) else None
