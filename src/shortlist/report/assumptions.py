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
    found = {"Noise": _noise(study), "Model": _model(study)}
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


def _noise(study: Study) -> str:
    noise = study.problem.noise
    if study.bound.reward_range is not None:
        low, high = study.bound.reward_range
        return (
            f"Every result lies between {low:g} and {high:g}; one that did not was refused. "
            "Nothing else is assumed of the noise, and σ was not used."
        )
    if noise.each is not None and not noise.is_estimated:
        return (
            "The noise of every result is sub-Gaussian with the σ of its arm, from "
            f"{noise.each.min():g} to {noise.each.max():g}: for normal noise its standard "
            "deviation. These were given, not estimated. If the true noise of an arm is larger, "
            "the claim does not hold."
        )
    if noise.range is not None:
        return (
            f"Every result lies between {noise.range[0]:g} and {noise.range[1]:g}; one that did "
            "not was refused. So the noise is σ-sub-Gaussian with half the range for σ, "
            f"{noise.sigma:g}, whatever its distribution (Hoeffding 1963)."
        )
    if noise.kind == "estimate per arm":
        found = "They are not known yet."
        if noise.found is not None and noise.each is not None:
            found = (
                f"Each arm has {noise.found.degrees} degrees of freedom, and the bounds go "
                f"from {noise.each.min():.4g} to {noise.each.max():.4g}."
            )
        return (
            "The noise of every result is normal, with a standard deviation σ of its own for each "
            "arm. Each is bounded from above (χ²) by the replicates among the arm's initial pulls, "
            f"and a share of {noise.share:g} δ is paid for all bounds together. {found} If the "
            "noise is not normal, the claim does not hold."
        )
    if noise.kind == "estimate":
        found = (
            "It is not known yet."
            if noise.found is None
            else f"They have standard deviation {noise.found.spread:.4g} on {noise.found.degrees} "
            f"degrees of freedom, and σ ≤ {noise.sigma:.4g}."
        )
        return (
            "The noise of every result is normal with the same standard deviation σ for all arms. "
            "σ is bounded from above (χ²) by the replicates among the initial pulls, and a share "
            f"of {noise.share:g} δ is paid for that bound. {found} If the noise is not normal, or "
            "larger for some arms than for others, the claim does not hold."
        )
    return (
        f"The noise of every result is σ-sub-Gaussian with σ = {noise.sigma:g}: large deviations "
        "are no likelier than for normal noise of standard deviation σ. For normal noise σ is that "
        "standard deviation, for bounded results half their range. σ was given, not estimated. If "
        "the true noise is larger, the claim does not hold."
    )


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
