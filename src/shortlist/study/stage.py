"""What a study does before the stop is looked for, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shortlist.study.view import View


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
    opening, pulled = study.bound.engine.opening(study.posterior)
    told = int(np.minimum(pulled, np.bincount(opening, minlength=len(pulled))).sum())
    if study.posterior.aside:
        return (
            f"The pilot is over ({study.posterior.aside:,} evaluations, set aside); {told:,} of "
            f"the {len(opening):,} pulls that follow it are told."
        )
    return f"{told:,} of {len(opening):,} initial pulls are told."
