"""What the guarantee rests on, each in a plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.study.guarantee import conditions, out_of_order
from shortlist.study.insight.health import departure, is_linearity_tested, passed

if TYPE_CHECKING:
    from shortlist.study.study import Study


def assumptions(study: Study) -> list[tuple[str, str]]:
    """A word and a sentence for each assumption of the guarantee.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> [word for word, _ in assumptions(study)]
    ['Noise', 'Model', 'Independence', 'Order']
    """
    found = {"Noise": study.bound.noise.explanation, "Model": _model(study)}
    if study.bound.threshold.needs_S:
        found["Size of θ"] = (
            f"‖θ‖ ≤ S = {study.problem.S:g}. S was given, not estimated. If θ is longer, the claim "
            "does not hold."
        )
    found["Independence"] = (
        "Whatever was asked and told before, a new result is the arm's mean plus fresh noise of "
        "mean zero. The means do not drift while the study runs."
    )
    if not out_of_order(study):
        found["Order"] = (
            "No result was processed before one that was asked for earlier, so it does not matter "
            "which were ready first."
        )
    return [*found.items(), *conditions(study)]


def _model(study: Study) -> str:
    problem, setting = study.problem, study.bound.setting
    if setting.classical:
        ignored = "" if problem.is_classical else " The features were not used."
        if study.bound.guide:
            ignored = (
                f" The features helped to guess, by {study.bound.guide}, and had no part in the "
                "verification."
            )
        return f"None: nothing is assumed about how the means of the arms are related.{ignored}"
    features = f"its N = {problem.dimension} features (rank {problem.rank})"
    if problem.rank == problem.arms:
        return (
            f"The mean of every arm is linear in {features}. With as many independent features as "
            "arms this is no restriction."
        )
    if study.bound.misspecification:
        return (
            "The mean of every arm is within c = "
            f"{study.bound.misspecification:g} of θ·x, linear in {features}, with one unknown θ "
            "for all arms. c was given, not estimated. If a mean departs further, the claim does "
            "not hold."
        )
    words = (
        f"The mean of every arm is linear in {features}: θ·x, with one unknown θ for all arms. If "
        "the true means depart from that, the claim does not hold."
    )
    if study.audit.rejection is not None:
        return f"{words} Tests speak against it: {departure(study)}"
    if is_linearity_tested(study):
        return f"{words} {passed(study)}"
    return f"{words} Nothing has tested it{'' if study.done else ' yet'}."
