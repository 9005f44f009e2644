"""The guarantee of an answer in words, with conditions that arose while the study ran.

The shortlist, the report, the command line and warnings all say it with these words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from shortlist.printable import count, quoted
from shortlist.study.budget import worth_of_budget
from shortlist.study.insight.audit import audit_size, is_audited, rests_on_features
from shortlist.study.insight.health import (
    contradicted,
    departure,
    doubts,
    examine,
    is_linearity_untested,
    passed,
    rejected,
    untested,
)
from shortlist.study.trial import FAILURES_IN_A_ROW, Trial
from shortlist.study.verification import price_of_proof
from shortlist.study.view import View

DIFFERENCES_SHOWN = 5
IN_A_WORD = {"curvature": "curved"}  # findings that a badge calls otherwise


class Assurance(NamedTuple):
    """What an answer is worth."""

    badge: str  # in a word or two
    # Good only where a theorem covers the answer, only the noise is assumed, and nothing contradicts
    # that.
    level: Literal["good", "plain", "warn"]
    words: str  # in full


def assurance(study: View, error: float | None = None) -> Assurance:
    """What the answer of a study is worth, or would be at its stop.

    With a budget, ``error`` is the estimated probability of a wrong list. Nothing is changed in the
    study.

    Examples
    --------
    >>> from shortlist import Study
    >>> assurance(Study(arms=["a", "b"], m=1, sigma=0.5)).badge
    'No guarantee yet'
    """
    if study.budget is not None:
        return _with_budget(study, error)
    if study.audit.rejection is not None:
        badge, why = rejected(study)
        return Assurance(f"Not certified: {badge}", "warn", f"Not certified: {why}")
    claim = study.bound.guarantee()
    if not study.done:
        return _unfinished(study, claim)
    words = [claim]
    if rests_on_features(study.bound):
        words.append(untested(study) if is_linearity_untested(study) else passed(study))
        words += [
            hint.words for hint in examine(study) if (hint.name, hint.level) == ("fit", "note")
        ]
        words.append(price_of_proof(study))
    words += [sentence for _, sentence in conditions(study)]
    warnings = doubts(study)
    if warnings:
        words[0] = study.bound.guarantee("What is proven under these assumptions")
        against = " ".join(f"{finding.words} {finding.meaning}" for finding in warnings)
        names = ", ".join(IN_A_WORD.get(finding.name, finding.name) for finding in warnings)
        doubt = f"In doubt: the results contradict what is assumed ({contradicted(warnings)}). {against}"
        return Assurance(f"In doubt: {names}", "warn", " ".join([doubt, *words]))
    if not study.bound.proven:
        return Assurance("Heuristic", "warn", " ".join(words))
    if is_linearity_untested(study):
        words[0] = study.bound.guarantee(f"{study.bound.first_words}, which is untested")
        return Assurance("Proven if linear: untested", "plain", " ".join(words))
    if study.bound.misspecification:
        badge = f"Proven if within {study.bound.misspecification:g} of linear"
        return Assurance(badge, "plain", " ".join(words))
    if study.bound.assumed_of_features:
        return Assurance("Proven if linear", "plain", " ".join(words))
    return Assurance("Proven", "good", " ".join(words))


def _with_budget(study: View, error: float | None) -> Assurance:
    words = worth_of_budget(study, error)
    warnings = doubts(study)
    if warnings:
        words = f"{words} The results contradict what is supposed: {contradicted(warnings)}."
    if study.done:
        words = " ".join([words, *(sentence for _, sentence in conditions(study))])
    else:
        words = f"Not final: {study.evaluations:,} of {study.budget:,} results. {words}"
    return Assurance("No guarantee: fixed budget", "warn", words)


def _unfinished(study: View, claim: str) -> Assurance:
    audit = study.audit
    badge = "No guarantee yet" if study.bound.proven else "No guarantee yet, then heuristic"
    level: Literal["plain", "warn"] = "plain" if study.bound.proven else "warn"
    if audit.is_running:
        assert audit.plan is not None
        left = len(audit.missing(study.trials))
        words = (
            f"No guarantee yet: of the {len(audit.plan):,} evaluations that test whether the means "
            f"are linear in the features, {left:,} are still to be asked for. If they agree: {claim}"
        )
        return Assurance(badge, level, words)
    words = f"No guarantee yet: the study has not stopped. At its stop: {claim}"
    if audit.wanted and is_audited(study.bound):
        least = audit_size(study.problem.arms, study.evaluations)
        words += (
            f" Before that, at least {least:,} fresh evaluations test whether the means are linear "
            "in the features."
        )
    elif rests_on_features(study.bound) and not audit.wanted:
        words += f" {untested(study)}"
    warnings = doubts(study)
    if warnings:
        words += f" The results contradict what is assumed: {contradicted(warnings)}."
        return Assurance(badge, "warn", words)
    return Assurance(badge, level, words)


def conditions(study: View) -> list[tuple[str, str]]:
    """What else the guarantee rests on: a word and a sentence for each condition.

    There is none if all results came in the order asked for.

    After a stop they are those of the answer: what came later does not count.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> trial = study.fail(study.ask(), "dropped")
    >>> [word for word, _ in conditions(study)]
    ['Failures']
    """
    taken, until = _answer(study)
    unasked = sum(trial.cause.origin == "unasked" for trial in taken)
    carried = sum(trial.cause.origin == "carried" for trial in taken)
    corrected = sum(bool(trial.corrections) for trial in taken)
    waited = len(study.open_at_verification)
    lost = sum(
        trial.state in ("failed", "cancelled") and (trial.closed or 0) <= until
        for trial in study.trials
    )
    sentences = {
        ("Order", out_of_order(study)): "Some results were processed before others that had been "
        "asked for earlier. This is valid only if the time an evaluation takes does not depend on "
        "its value.",
        ("Unrequested data", unasked): "Results told without having been asked for: "
        f"{unasked:,}. Whether and when they were told did not depend on their values.",
        ("Open trials", waited): "Open when the verification began, and told later: "
        f"{waited:,}. When it began did not depend on their results.",
        ("Carried over", carried): f"Results carried over from an earlier study: {carried:,}, all "
        "that it had, each arm's in the order in which they came. It is assumed that an arm's "
        "result does not depend on which study asks for it."
        + "".join(f" {source.words}" for source in study.sources),
        ("Corrections", corrected): f"Results corrected after they had been told: {corrected:,}. "
        "The values now are those that were measured, and a result would have been corrected "
        "whatever its right value was and whatever came later.",
        ("Failures", lost): f"Failed or cancelled: {lost:,}; no value was made up for these. "
        "Whether an evaluation fails does not depend on the value that it would have had."
        + _ended_by_failures(study, until),
    }
    return [(word, sentence) for (word, number), sentence in sentences.items() if number]


def _ended_by_failures(study: View, until: int) -> str:
    """Which arms were set aside because they failed, up to a change of the study."""
    names = [
        failures.last.name
        for failures in study.set_aside
        if failures.set_aside_by is not None and (failures.set_aside_by.closed or 0) <= until
    ]
    if not names:
        return ""
    return (
        f" After {FAILURES_IN_A_ROW} failures in a row no more evaluations were asked for of "
        f"{quoted(names, 5)}: it is assumed that these failures say nothing about the mean, which "
        "is judged by the results that there are."
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
    return " ".join([*before, f"The study {study.name!r} ({study.bound.name}) {how}"])


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
