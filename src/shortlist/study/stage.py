"""What a study does between two looks at the stop, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shortlist.study.view import View


def makes_plans(study: View) -> bool:
    """Whether the algorithm goes plan by plan: only those are not composed of rules."""
    return not study.bound.engine.setup.parts


def next_look(study: View) -> str:
    """When the stop is looked for again, as a sentence; empty if that is after every result.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0, algorithm="Phased")
    >>> next_look(study)
    'It looks again when 9 more are in.'
    """
    left = study.bound.engine.until_look(study.round)
    return f"It looks again when {left:,} more are in." if left > 1 else ""


def before_the_rounds(study: View) -> str:
    """Why nothing is certified yet, as a sentence.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0, threshold="pilot")
    >>> before_the_rounds(study)
    '0 of 21 initial pulls are told.'
    """
    if study.stage == "pilot":
        return (
            "The pilot is under way: it chooses evaluations as ever, and nothing is certified "
            "before it is set aside."
        )
    opening, pulled = study.bound.engine.opening(study.model.posterior)
    told = int(np.minimum(pulled, np.bincount(opening, minlength=len(pulled))).sum())
    if study.model.posterior.aside:
        return (
            f"The pilot is over ({study.model.posterior.aside:,} evaluations, set aside); {told:,} of "
            f"the {len(opening):,} pulls that follow it are told."
        )
    if makes_plans(study):
        return f"{told:,} of the {len(opening):,} pulls of the first plan are told."
    return f"{told:,} of {len(opening):,} initial pulls are told."
