"""What an answer is worth: one voice for the shortlist, the report, the command line and warnings.

What a guarantee also rests on because of the way a study went.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from shortlist.study.budget import worth_of_budget
from shortlist.study.insight.audit import audit_size, is_audited, rests_on_features
from shortlist.study.insight.linearity import LEVEL, WHILE_RUNNING

if TYPE_CHECKING:
    from shortlist.study.insight.audit import Rejection
    from shortlist.study.insight.health import Finding
    from shortlist.study.trial import Trial
    from shortlist.study.view import View


PROVEN = "Proven: "


class Worth(NamedTuple):
    """What an answer is worth.

    Attributes
    ----------
    badge : str
        In a word or two.
    level : {"good", "plain", "warn"}
        Good only where a theorem covers the answer and nothing speaks against what it assumes.
    words : str
        In full.
    """

    badge: str
    level: Literal["good", "plain", "warn"]
    words: str


def worth(study: View, error: float | None = None) -> Worth:
    """What the answer of a study is worth, or would be at its stop.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.
    error : float, optional
        With a budget, the estimated probability of a wrong list.

    Examples
    --------
    >>> from shortlist import Study
    >>> worth(Study(arms=["a", "b"], m=1, sigma=0.5)).badge
    'No guarantee yet'
    """
    if study.budget is not None:
        return _with_budget(study, error)
    rejection = study.audit.rejection
    if rejection is not None:
        return Worth("Not certified: linearity rejected", "warn", f"Not certified: {advice(study)}")
    claim = study.bound.guarantee()
    if not study.done:
        return _unfinished(study, claim)
    words = [claim, *_linearity(study), *(sentence for _, sentence in conditions(study))]
    warnings = doubts(study)
    if warnings:
        words[0] = claim.replace(PROVEN, "What is proven under these assumptions: ", 1)
        against = " ".join(f"{finding.words} {finding.meaning}" for finding in warnings)
        names = _named(warnings)
        doubt = f"In doubt: the results speak against what is assumed ({names}). {against}"
        return Worth(f"In doubt: {names}", "warn", " ".join([doubt, *words]))
    if not study.bound.proven:
        return Worth("Heuristic", "warn", " ".join(words))
    if is_linearity_untested(study):
        words[0] = claim.replace(PROVEN, "Proven if the means are linear, which is untested: ", 1)
        return Worth("Proven if linear: untested", "plain", " ".join(words))
    return Worth("Proven", "good", " ".join(words))


def _with_budget(study: View, error: float | None) -> Worth:
    words = worth_of_budget(study, error)
    warnings = doubts(study)
    if warnings:
        words = f"{words} The results speak against what is supposed: {_named(warnings)}."
    if study.done:
        words = " ".join([words, *(sentence for _, sentence in conditions(study))])
    else:
        words = f"Not final: {study.evaluations:,} of {study.budget:,} results. {words}"
    return Worth("No guarantee: fixed budget", "warn", words)


def _unfinished(study: View, claim: str) -> Worth:
    audit = study.audit
    badge = "No guarantee yet" if study.bound.proven else "No guarantee yet, then heuristic"
    level: Literal["plain", "warn"] = "plain" if study.bound.proven else "warn"
    if audit.is_open:
        assert audit.plan is not None
        left = len(audit.missing(study.trials))
        words = (
            f"No guarantee yet: of the {len(audit.plan):,} evaluations that test whether the means "
            f"are linear in the features, {left:,} are still to be asked for. If they agree: {claim}"
        )
        return Worth(badge, level, words)
    words = f"No guarantee yet: the study has not stopped. At its stop: {claim}"
    if audit.wanted and is_audited(study.bound):
        least = audit_size(study.problem.arms, study.evaluations)
        words += (
            f" Before that, at least {least:,} fresh evaluations test whether the means are linear "
            "in the features."
        )
    elif rests_on_features(study.bound) and not audit.wanted:
        words += f" {_untested(study)}"
    warnings = doubts(study)
    if warnings:
        words += f" The results speak against what is assumed: {_named(warnings)}."
        return Worth(badge, "warn", words)
    return Worth(badge, level, words)


def _named(findings: list[Finding]) -> str:
    return ", ".join(finding.name for finding in findings)


def doubts(study: View) -> list[Finding]:
    """The findings of health that speak against the guarantee.

    Examples
    --------
    >>> from shortlist import Study
    >>> doubts(Study(arms=["a", "b"], m=1, sigma=0.5))
    []
    """
    # Arms that are nearly alike may cost evaluations, and never the guarantee.
    found = study.health()
    return [each for each in found if each.level == "warning" and each.name != "alike"]


def is_linearity_untested(study: View) -> bool:
    """Whether an answer assumes that the means are linear, and nothing has tested it."""
    if not rests_on_features(study.bound):
        return False
    if study.bound.misspecification:
        return not study.audit.wanted
    verdict = study.audit.verdict
    if verdict is None or not study.audit.results:
        return True
    return math.isinf(verdict.single) and math.isinf(verdict.spread)  # nothing would be found


def is_linearity_tested(study: View) -> bool:
    """Whether the answer is final, assumes that the means are linear, and was tested for it."""
    return study.done and rests_on_features(study.bound) and not is_linearity_untested(study)


def _linearity(study: View) -> list[str]:
    """What was done to test that the means are linear, as a sentence; none where nothing had to."""
    if not rests_on_features(study.bound):
        return []
    if is_linearity_untested(study):
        return [_untested(study)]
    return [passed(study)]


def _untested(study: View) -> str:
    what, audit = _assumed(study), study.audit
    if not audit.wanted:
        return f"{what} was assumed, not tested (audit=False); {_evaluated(study)}."
    if not audit.results:
        return f"{what} was not tested: every evaluation made for it failed; {_evaluated(study)}."
    return (
        f"{what} was not tested: the {len(audit.results):,} evaluations made for it could not have "
        f"shown a misfit; {_evaluated(study)}."
    )


def passed(study: View) -> str:
    """What the audit found, in a sentence."""
    audit, what = study.audit, _assumed(study)
    if study.bound.misspecification:
        level = f"level {WHILE_RUNNING * LEVEL * 100:g} %"
        return f"{what} was tested as the results came in ({level}); {_evaluated(study)}."
    assert audit.verdict is not None
    tested = len({trial.arm for trial in audit.results})
    single, spread = audit.verdict.single, audit.verdict.spread
    sizes = [f"of {single:.2g} at a typical one of them"] if math.isfinite(single) else []
    sizes += [f"of {spread:.2g} spread over all"] if math.isfinite(spread) else []
    found = f"a misfit {' or '.join(sizes)} would have been found with probability 0.9"
    return (
        f"{what} was tested by {len(audit.results):,} fresh evaluations of {tested:,} arms "
        f"(level {LEVEL * 100:g} %; {found}); {_evaluated(study)}."
    )


def _assumed(study: View) -> str:
    c = study.bound.misspecification
    return f"That the means are {f'within c = {c:g} of ' if c else ''}linear in the features"


def _evaluated(study: View) -> str:
    seen = int((study.model.posterior.pulls > 0).sum())
    return f"{seen:,} of {study.problem.arms:,} arms were evaluated"


def advice(study: View) -> str:
    """Why linearity was rejected, and what to do."""
    rejection = study.audit.rejection
    assert rejection is not None
    c = study.bound.misspecification
    other = f"with a c above {c:g}" if c else "assumes that they are within c of linear"
    return (
        f"{departure(rejection, c)} The guarantee assumes that they are. Nothing told is lost: "
        "study.without_features() goes on with every result and assumes nothing of the means, "
        f"study.with_misspecification(c) {other}."
    )


def departure(rejection: Rejection, c: float = 0.0) -> str:
    """What speaks against linear means, in a sentence."""
    what = f"within c = {c:g} of linear" if c else "linear"
    return (
        f"the means are not {what} in the features (tested at level {LEVEL * 100:g} % after "
        f"{rejection.evaluations:,} evaluations, with σ as it was given): arm {rejection.name!r} was measured at "
        f"{rejection.measured:.3g}, and a linear model of the other results gives "
        f"{rejection.predicted:.3g}."
    )


def conditions(study: View) -> list[tuple[str, str]]:
    """A word and a sentence for each; none if all results came in the order asked for.

    After a stop they are those of the answer: what came later has no part in it.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> trial = study.fail(study.ask(), "dropped")
    >>> [word for word, _ in conditions(study)]
    ['Failures']
    """
    taken, until = _answer(study)
    found = []
    if out_of_order(study):
        found.append(
            (
                "Order",
                "Some results were taken in before others that had been asked for earlier. So how "
                "long an evaluation takes must not depend on its value.",
            )
        )
    unasked = sum(trial.cause.origin == "unasked" for trial in taken)
    if unasked:
        found.append(
            (
                "Data nobody asked for",
                f"Results told without having been asked for: {unasked:,}. Whether and when they "
                "were told did not depend on their values.",
            )
        )
    carried = sum(trial.cause.origin == "carried" for trial in taken)
    if carried:
        found.append(
            (
                "Carried over",
                f"Results carried over from an earlier study: {carried:,}, all that it had, each "
                "arm's in their order. What an arm gives does not depend on which study asks.",
            )
        )
    lost = sum(
        trial.state in ("failed", "cancelled") and (trial.closed or 0) <= until
        for trial in study.trials
    )
    if lost:
        found.append(
            (
                "Failures",
                f"Failed or cancelled: {lost:,}; no value was made up for these. Whether an "
                "evaluation fails does not depend on the value that it would have had.",
            )
        )
    return found


def out_of_order(study: View) -> bool:
    """Whether a result was taken in before one that was asked for earlier."""
    taken, until = _answer(study)
    numbers = [trial.number for trial in taken]
    earlier = study.trials[: max(numbers, default=0)]
    open_then = any(trial.closed is None or trial.closed > until for trial in earlier)
    return open_then or numbers != sorted(numbers)


def _answer(study: View) -> tuple[Sequence[Trial], int]:
    """The results that the answer rests on, and the last change of the study before it."""
    taken: Sequence[Trial] = study.taken
    if study.model.stopped:
        taken = taken[: study.answered_at]
    elif study.trials:
        return taken, max(trial.closed or trial.opened for trial in study.trials)
    return taken, max((trial.closed or 0 for trial in taken), default=0)
