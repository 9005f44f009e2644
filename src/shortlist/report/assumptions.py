"""What the guarantee rests on, each in a plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.study.feature_health import is_classical

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
    found = [
        (
            "Noise",
            f"The noise of every result is σ-sub-Gaussian with σ = {problem.sigma:g}: for normal "
            "noise σ is its standard deviation, for bounded results half their range. σ was given, "
            "not estimated. If the true noise is larger, the claim does not hold.",
        ),
        ("Model", _model(study)),
    ]
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
        ("Order", _order(study)),
    ]
    unasked = sum(trial.cause.origin == "unasked" for trial in study.taken)
    if unasked:
        found.append(
            (
                "Data nobody asked for",
                f"Results told without having been asked for: {unasked:,}. Whether they were told "
                "did not depend on their values.",
            )
        )
    lost = sum(trial.state in ("failed", "cancelled") for trial in study.trials)
    if lost:
        found.append(
            (
                "Failures",
                f"Failed or cancelled: {lost:,}; no value was made up for these. Whether an "
                "evaluation fails does not depend on the value that it would have had.",
            )
        )
    return found


def _order(study: Study) -> str:
    numbers = [trial.number for trial in study.taken]
    open_before = bool(numbers and study.pending) and study.pending[0].number < max(numbers)
    if numbers == sorted(numbers) and not open_before:
        return (
            "No result was taken in before one that was asked for earlier, so it does not matter "
            "which were ready first."
        )
    return (
        "Some results were taken in before others that had been asked for earlier. So how long an "
        "evaluation takes must not depend on its value."
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
