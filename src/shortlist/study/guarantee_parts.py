"""What the guarantee of a study's answer is made from: its stage, its tests, how its results came in.

The sentences are in ``shortlist.guarantee``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shortlist import guarantee
from shortlist.guarantee import Answer, Assumption, Condition, Course, Guarantee
from shortlist.printable import count, quoted, rounded_up, slack_words
from shortlist.study.budget import error_meaning, error_words
from shortlist.study.insight.audit import audit_results, audit_size, is_audited, rests_on_features
from shortlist.study.insight.health import doubts, examine
from shortlist.study.insight.linearity_words import (
    departure,
    is_linearity_tested,
    is_linearity_untested,
    is_test_too_coarse,
    passed,
    passed_in_short,
    rejected,
    untested,
    without_linearity,
)
from shortlist.study.ledger import retired_words
from shortlist.study.trial import FAILURES_IN_A_ROW, Trial
from shortlist.study.verification import cannot_verify, price_of_proof
from shortlist.study.view import View

DIFFERENCES_SHOWN = 5


def guarantee_of(study: View, error: float | None = None) -> Guarantee:
    """What the answer of a study is worth, or would be at its stop.

    With a budget, ``error`` is the estimated probability of a wrong list. Nothing is changed in the
    study.

    Examples
    --------
    >>> from shortlist import Study
    >>> guarantee_of(Study(arms=["a", "b"], m=1, sigma=0.5)).badge
    'No guarantee yet'
    """
    course = course_of(study)
    parts = study.claim, _assumptions(study, course), guarantee.conditions_of(course)
    retired = sum(bool(study.problem.listable[each.arm]) for each in study.retired)
    # Known results of a pool may decide it alone.
    is_exact = study.done and study.problem.blocks.once and study.round.search.is_exact
    answer = Answer(study.problem, answered_evaluations(study), retired, is_exact)
    if (least := _proven_by_budget(study)) is not None:
        problem = study.problem.widened(max(least, study.problem.epsilon))
        parts = study.procedure.claim_within(least), *parts[1:]
        answer = answer._replace(problem=problem)
    elif not study.aim.certifies:
        spent = f"{study.evaluations:,}{study.aim.out_of} results."
        return guarantee.of_budget(
            *parts,
            answer=answer,
            estimate=guarantee.NOTHING_PROVEN
            if study.done and study.aim.proves
            else error_words(error),
            meaning=error_meaning(study, error),
            progress="" if study.done else spent,
            doubts=doubts(study),
        )
    if study.audit.rejection is not None:
        badge, why, way = rejected(study)
        return guarantee.not_certified(*parts, answer=answer, badge=badge, why=why, remedy=way)
    if not study.done and study.audit.is_running:
        test = len(study.audit.plan), len(study.audit.missing(study.trials))
        return guarantee.not_yet(*parts, answer=answer, test=test)
    if not study.done:
        return guarantee.not_yet(*parts, answer=answer, notes=_to_come(study), doubts=doubts(study))
    is_spent = study.budget is not None and study.evaluations >= study.budget
    spent = guarantee.budget_spent(study.budget or 0) if is_spent else ""
    notes = list(filter(None, [spent, _unseen(study)]))
    notes += [
        hint.words for hint in examine(study) if (hint.name, hint.level) == ("normal", "note")
    ]
    if rests_on_features(study.procedure):
        notes += [untested(study) if is_linearity_untested(study) else passed(study)]
        notes += filter(None, [price_of_proof(study)])
    return guarantee.final(
        *parts,
        answer=answer,
        notes=notes,
        untested=is_linearity_untested(study),
        too_coarse=is_test_too_coarse(study),
        doubts=doubts(study),
    )


def _proven_by_budget(study: View) -> float | None:
    """Up to which difference a budget that is spent has proven the list; None if it has not."""
    decision, aim = study.model.decision, study.aim
    if not (study.done and aim.proves) or decision is None:
        return None
    now = study.procedure.engine.certified(study.model.posterior, study.round, decision)
    return rounded_up(now.epsilon) if math.isfinite(now.epsilon) else None


def answered_evaluations(study: View) -> int:
    """How many evaluations the answer took; what came in late has no part in it."""
    late = study.answered_at + audit_results(study.taken[study.answered_at :])
    return late if study.done else study.evaluations


def _to_come(study: View) -> list[str]:
    """Whether the answer will be tested, in a sentence; none where nothing is assumed."""
    audit = study.audit
    if audit.wanted and is_audited(study.procedure):
        least = audit_size(study.problem, study.evaluations)
        return [guarantee.will_be_tested(least)]
    return [untested(study)] if rests_on_features(study.procedure) else []


def _assumptions(study: View, course: Course) -> list[Assumption]:
    """What the claim rests on, with what this study has found about it."""
    found = {"Model": _model, "Noise": _noise}
    assumptions = [
        found[each.name](study, each) if each.name in found else each
        for each in study.procedure.claim.assumptions
    ]
    if not (course.out_of_order or course.lost or course.again):
        assumptions.append(guarantee.IN_ORDER)
    return assumptions


def _noise(study: View, assumption: Assumption) -> Assumption:
    """The assumption on the noise, with what results cannot show of it."""
    return assumption._replace(finding=_unseen(study))


def _unseen(study: View) -> str:
    """What results cannot show of noise that is taken for normal; empty where it is not."""
    pulls = study.model.posterior.pulls
    if not study.claim.normality or not pulls.any():
        return ""
    return guarantee.rare(int(pulls[pulls > 0].min()))


def _model(study: View, assumption: Assumption) -> Assumption:
    """The assumption on the means, with how it was tested."""
    if not assumption.words:
        return assumption
    if study.audit.rejection is not None:
        finding = guarantee.rejected_by_tests(departure(study))
        return assumption._replace(tested=True, finding=finding)
    if is_linearity_tested(study):
        short = f"{assumption.short} ({passed_in_short(study)})"
        return assumption._replace(tested=True, finding=passed(study), short=short)
    short = assumption.short
    if study.done and not cannot_verify(study):
        short = f"{short} ({without_linearity()})"
    return assumption._replace(finding=guarantee.not_tested(final=study.done), short=short)


def conditions(study: View) -> list[Condition]:
    """What else the guarantee rests on.

    There is none if all results came in the order asked for.

    After a stop they are those of the answer: what came later does not count.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> trial = study.fail(study.ask(), "dropped")
    >>> [condition.name for condition in conditions(study)]
    ['Failures']
    """
    return guarantee.conditions_of(course_of(study))


def course_of(study: View) -> Course:
    """How the results of its answer came in."""
    taken, until = _answer(study)
    set_aside = [
        failures.last.name
        for failures in study.set_aside
        if failures.set_aside_by is not None and (failures.set_aside_by.closed or 0) <= until
    ]
    lost = sum(
        # A told one has a reason where an attempt before it failed.
        (trial.state in ("failed", "cancelled") or trial.reason is not None)
        and (trial.closed or 0) <= until
        for trial in study.trials
    )
    again = {trial.number for trial in study.given_out_again}
    blocks, searches = study.problem.blocks, study.model.searches
    unasked = sum(trial.cause.origin == "unasked" for trial in taken)
    return Course(
        searches=searches,
        out_of_order=out_of_order(study),
        unasked=unasked,
        only_guide=blocks.shifts,
        uncounted=min(unasked, study.round.uncounted) if searches else 0,
        open_at_changes=len(study.open_at_changes),
        retired=retired_words(study.retired),
        returned=quoted(study.returned, 5) if study.returned else "",
        answers=1 + study.model.verifies,
        added=quoted([name for each in study.added for name in each.names], 5),
        carried=sum(trial.cause.origin == "carried" for trial in taken),
        sources="".join(f" {source.words}" for source in study.sources),
        widened=", ".join(
            f"to {slack_words(epsilon)} after {count(told, 'evaluation')}"
            for epsilon, told in study.widenings
        ),
        corrected=sum(bool(trial.corrections) for trial in taken),
        lost=lost,
        again=sum(trial.number in again for trial in taken),
        set_aside=quoted(set_aside, 5) if set_aside else "",
        failures=FAILURES_IN_A_ROW,
    )


def ending(study: View) -> str:
    """How a study ended or how far it is, for another study that takes over its results.

    Examples
    --------
    >>> from shortlist import Study
    >>> ending(Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB"))
    "The study 'study' (LUCB) had not stopped after 0 evaluations."
    """
    how = f"had not stopped after {count(study.evaluations, 'evaluation')}."
    if study.audit.rejection is not None:
        how = f"could not stop: {departure(study)}"
    elif study.done:
        how = f"stopped after {count(study.answered_at, 'evaluation')}."
    before = [source.words for source in study.sources]
    return " ".join([*before, f"The study {study.name!r} ({study.procedure.name}) {how}"])


def left_out(results: int, names: Sequence[str]) -> str:
    """That results of arms which a study does not have were not carried over to it, in words.

    Examples
    --------
    >>> left_out(3, ["elm"])
    " Left out were 3 results of 'elm', which this study does not have: it is assumed that it would lack the same arms whatever the results."
    """
    return (
        f" Left out were {count(results, 'result')} of {quoted(names, 5)}, which this study does "
        "not have: it is assumed that it would lack the same arms whatever the results."
    )


def differences(pairs: Sequence[tuple[Trial, Trial]], name: str) -> str:
    """Results that have another value in the study they were carried over from, in words."""
    shown = [
        f"trial {own.number} ({own.name!r}) is {own.value!r} here and {there.value!r} there, as "
        f"trial {there.number}"
        for own, there in pairs[:DIFFERENCES_SHOWN]
    ]
    more = len(pairs) - len(shown)
    shown += [f"{more:,} more"] if more else []
    verb = "differs" if len(pairs) == 1 else "differ"
    return (
        f"{count(len(pairs), 'result')} {verb} from the study {name!r}, from which "
        f"{'it was' if len(pairs) == 1 else 'they were'} carried over: {'; '.join(shown)}. "
        "Either both were corrected, or one of them was corrected after the results were carried "
        "over."
    )


def equal_seeds(trials: Sequence[Trial], name: str) -> str:
    """That these results have seeds which the study of this name gave out too, in words."""
    numbers = ", ".join(str(trial.number) for trial in trials[:DIFFERENCES_SHOWN])
    more = ", …" if len(trials) > DIFFERENCES_SHOWN else ""
    return (
        f"{count(len(trials), 'result')} of this study (trials {numbers}{more}) had the same seed "
        f"as another of the study {name!r}, since both began with the same seed. If their noise "
        "was drawn by trial.seed it is the same noise, and the guarantee does not hold: begin such "
        "studies with different seeds."
    )


def out_of_order(study: View) -> bool:
    """Whether a result was processed before one that was asked for earlier."""
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
