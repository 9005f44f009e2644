"""A study, its trials and its health: as JSON for a script, in words for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shortlist.files.paths import from_here
from shortlist.printable import count, first_names, iso

if TYPE_CHECKING:
    from shortlist.study.insight.finding import Finding
    from shortlist.study.insight.remaining import Projection
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial


def study_report(study: Study, ahead: Projection | None = None) -> dict[str, Any]:
    """The state of a study, as every command gives it in JSON; ``ahead`` is what remains."""
    states = Counter(trial.state for trial in study.trials)
    return {
        "study": study.name,
        "storage": from_here(study.storage),
        "done": study.done,
        "stage": study.stage,
        "linearity": _linearity(study),
        "evaluations": study.evaluations,
        "cost": study.cost if study.problem.costs.stated else None,
        "pending": states["pending"],
        "waiting": len(study.waiting),
        "failed": states["failed"],
        "cancelled": states["cancelled"],
        "set_aside": [failures.last.name for failures in study.set_aside],
        "retired": [
            {
                "arm": each.name,
                "reason": each.reason,
            }
            for each in study.retired
        ],
        "controls": study.problem.controls.by_name(study.problem.names),
        "added": [name for each in study.added for name in each.names],
        "budget": study.budget,
        "estimated_error": study.shortlist.error,
        "statistic": study.statistic,
        "epsilon": study.problem.epsilon,
        "remaining": asdict(ahead or study.remaining()),
        "shortlist": list(study.shortlist.names),
        "certain": _certain(study),
    }


def _certain(study: Study) -> dict[str, Any] | None:
    """What is certain of the list so far."""
    certainty = study.shortlist.certain
    return None if certainty is None else certainty.to_dict()


def _linearity(study: Study) -> str:
    from shortlist.study.insight.audit import rests_on_features
    from shortlist.study.insight.linearity_words import is_linearity_tested

    if not rests_on_features(study.procedure):
        return "not assumed"
    if study.audit.rejection is not None:
        return "rejected"
    return "tested" if is_linearity_tested(study) else "untested"


def study_words(study: Study) -> str:
    """The state of a study in a sentence or two, arms that are set aside, and what is in doubt."""
    from shortlist.study.failing_words import set_aside_words
    from shortlist.study.ledger import retired_words
    from shortlist.study.view import overdue_words

    words, costs = [_progress_words(study)], study.problem.costs
    if costs.stated:
        words.append(f"So far: {costs.words(study.cost)}.")
    if not study.done:  # then the guarantee says it
        words.append(overdue_words(study))
        words.append(set_aside_words(study))
        words.append(f"Retired: {retired_words(study.retired)}." if study.retired else "")
    words.append(_doubt_words(study))
    return " ".join(filter(None, words))


def _doubt_words(study: Study) -> str:
    """What the results contradict, as long as they do."""
    from shortlist.guarantee import contradicted
    from shortlist.study.insight.health import doubts

    if study.audit.rejection is not None:  # then it is all that is said
        return ""
    against = doubts(study)
    return f"In doubt: the results contradict {contradicted(against)}." if against else ""


def _progress_words(study: Study) -> str:
    from shortlist.study.insight.certain import way_to_stop
    from shortlist.study.insight.linearity_words import departure
    from shortlist.study.view import before_the_rounds, next_look

    taken = count(study.evaluations, "evaluation")
    if study.done:
        answer = study.shortlist
        late = study.evaluations - answer.evaluations
        after = f" {count(late, 'result')} came in later." if late else ""
        taken = count(answer.evaluations, "evaluation")
        return f"The study stopped after {taken}: {first_names(answer.names, 8)}.{after}"
    if study.audit.rejection is not None:
        why = departure(study)
        return f"{taken}. The study cannot stop: {why}"
    if study.audit.is_running:
        left = count(len(study.audit.missing(study.trials)), "trial")
        return (
            f"{taken}. The rounds are over, and the answer is being tested: {left} of the audit of "
            "linearity are still to be asked for."
        )
    if study.statistic is None:
        return f"{taken}. {before_the_rounds(study)}"
    if not study.aim.certifies:
        return f"{taken}{study.aim.out_of}, where the study stops."
    if study.model.verifies:
        taken += f", {study.evaluations - study.model.verified_from:,} of them to verify the list"
    return f"{taken}. {way_to_stop(study)} {next_look(study)}".rstrip()


def status_report(
    study: Study, ahead: Projection | None = None, health: Iterable[Finding] | None = None
) -> dict[str, Any]:
    """The state of a study with its answer, its open trials and its health.

    What remains and what was found may be given, where they are at hand.
    """
    answer = study.shortlist
    return {
        **study_report(study, ahead),
        "guarantee": answer.guarantee.to_dict(),
        "table": answer.table.drop(columns="in_shortlist").reset_index().to_dict(orient="records"),
        "open": [trial_report(trial) for trial in study.pending],
        "waiting_trials": [trial.number for trial in study.waiting],
        "health": findings(study.health() if health is None else health),
        "continuations": study.continuations,
    }


def findings(health: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings that are not fine, with features counted from 1."""
    return [
        {
            "name": finding.name,
            "level": finding.level,
            "words": finding.file_words or finding.words,
            "meaning": finding.meaning,
        }
        for finding in health
        if finding.level != "fine"
    ]


def trial_report(trial: Trial) -> dict[str, Any]:
    """A trial as JSON and exported tables have it."""
    return {
        "trial": trial.number,
        "arm": trial.name,
        "block": trial.block,
        "state": trial.state,
        "value": trial.value,
        "first_value": trial.first_value,
        "correction": trial.corrections[-1].reason if trial.corrections else None,
        "reason": trial.reason,
        "asked": iso(trial.asked_at),
        "closed": iso(trial.closed_at),
        "due": iso(trial.expires_at),
        "worker": trial.worker,
        "seed": trial.seed,
        "origin": trial.cause.origin,
        "carried_from": trial.carried_from,
    }


def trial_numbers(trials: Sequence[Trial]) -> str:
    """The numbers of trials, with runs of consecutive ones drawn together.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trial_numbers([SimpleNamespace(number=k) for k in (3, 4, 5, 8)])
    '3–5, 8'
    """
    runs: list[list[int]] = []
    for trial in trials:
        if runs and trial.number == runs[-1][-1] + 1:
            runs[-1].append(trial.number)
        else:
            runs.append([trial.number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
