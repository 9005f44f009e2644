"""What a page says about a study, computed from it once, when it is first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shortlist.advice import advise
from shortlist.guarantee import Guarantee
from shortlist.plot.arms import after_stop
from shortlist.study.insight.health import examine
from shortlist.study.insight.history import History, history
from shortlist.study.insight.remaining import Projection, remaining

if TYPE_CHECKING:
    from shortlist.study.insight.finding import Finding
    from shortlist.study.study import Study


class Analysis:
    """A study, and what is computed from it; it must not change while the page is made.

    Examples
    --------
    >>> from shortlist import Study
    >>> analysis = Analysis(Study(arms=["a", "b"], m=1, sigma=0.5, seed=0))
    >>> analysis.findings is analysis.findings
    True
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.in_full = advise("guarantee")  # where a text of its own says where the guarantee is
        self.late = after_stop(study)  # results told after the stop, on which no answer rests

    @cached_property
    def findings(self) -> list[Finding]:
        """What was found about the features, the noise and the model."""
        return examine(self.study)

    @property
    def warnings(self) -> list[Finding]:
        """The findings that contradict what is assumed."""
        return [finding for finding in self.findings if finding.level == "warning"]

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the answer is worth."""
        return self.study.shortlist.guarantee

    @cached_property
    def past(self) -> History:
        """The study after every evaluation."""
        return history(self.study)

    @cached_property
    def remaining(self) -> Projection:
        """How many more evaluations the stop may be away."""
        return remaining(self.study)
