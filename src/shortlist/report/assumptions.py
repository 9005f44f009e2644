"""What the guarantee rests on, each in a plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.study.conditions import conditions, out_of_order
from shortlist.study.feature_health import is_classical
from shortlist.study.health import examine

if TYPE_CHECKING:
    from shortlist.study.study import Study


def assumptions(study: Study) -> list[tuple[str, str]]:
    """A word and a sentence for each assumption.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> [word for word, _ in assumptions(study)]
    ['Noise', 'Model', 'Independence', 'Order']
    """
    problem, bound = study.problem, study.bound
    found = [("Noise", _noise(study)), ("Model", _model(study))]
    if bound.threshold.needs_S:
        found.append(
            (
                "Size of θ",
                f"‖θ‖ ≤ S = {problem.S:g}. S was given, not estimated. If θ is longer, the "
                "claim does not hold.",
            )
        )
    found += [
        (
            "Independence",
            "Whatever was asked and told before, a new result is the arm's mean plus fresh noise of "
            "mean zero. The means do not drift while the study runs.",
        ),
    ]
    if not out_of_order(study):
        found.append(
            (
                "Order",
                "No result was taken in before one that was asked for earlier, so it does not "
                "matter which were ready first.",
            )
        )
    return found + conditions(study)


def warned(study: Study) -> list[str]:
    """The assumptions that the data speak against."""
    return [finding.name for finding in examine(study) if finding.level == "warning"]


def _noise(study: Study) -> str:
    if study.bound.reward_range is not None:
        low, high = study.bound.reward_range
        return (
            f"Every result lies between {low:g} and {high:g}; one that did not was refused. Nothing "
            f"else is assumed of the noise, and σ = {study.problem.sigma:g} was not used."
        )
    return (
        f"The noise of every result is σ-sub-Gaussian with σ = {study.problem.sigma:g}: for normal "
        "noise σ is its standard deviation, for bounded results half their range. σ was given, "
        "not estimated. If the true noise is larger, the claim does not hold."
    )


def _model(study: Study) -> str:
    problem, setting = study.problem, study.bound.setting
    if setting.classical:
        ignored = "" if is_classical(problem) else " The features were not used."
        return f"None: nothing is assumed about how the means of the arms are related.{ignored}"
    features = f"its N = {problem.dimension} features (rank {problem.rank})"
    if problem.rank == problem.arms:
        return (
            f"The mean of every arm is linear in {features}. With as many independent features as "
            "arms this is no restriction."
        )
    return (
        f"The mean of every arm is linear in {features}: θ·x, with one unknown θ for all arms. If "
        "the true means depart from that, the claim does not hold."
    )
