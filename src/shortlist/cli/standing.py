"""Where a study stands: in figures for a script, in a sentence for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shortlist.cli.layout import count, few, from_here

if TYPE_CHECKING:
    from shortlist.study.study import Study


def standing(study: Study) -> dict[str, Any]:
    """What every command says in JSON of the state it leaves the study in."""
    states = Counter(trial.state for trial in study.trials)
    return {
        "study": study.name,
        "storage": from_here(study.storage),
        "done": study.done,
        "stage": study.stage,
        "linearity": _linearity(study),
        "evaluations": study.evaluations,
        "pending": states["pending"],
        "waiting": len(study.waiting),
        "failed": states["failed"],
        "cancelled": states["cancelled"],
        "budget": study.budget,
        "estimated_error": study.shortlist.error,
        "statistic": study.statistic,
        "epsilon": study.problem.epsilon,
        "remaining": asdict(study.remaining()),
        "shortlist": list(study.shortlist.names),
    }


def standing_words(study: Study) -> str:
    """The same in a sentence or two."""
    from shortlist.study.insight.health import departure
    from shortlist.study.view import before_the_rounds, next_look

    taken = count(study.evaluations, "evaluation")
    if study.done:
        answer = study.shortlist
        late = study.evaluations - answer.evaluations
        after = f" {count(late, 'result')} came in later." if late else ""
        taken = count(answer.evaluations, "evaluation")
        return f"The study stopped after {taken}: {few(answer.names, 8)}.{after}"
    if study.audit.rejection is not None:
        return f"{taken}. The study cannot stop: {departure(study.audit.rejection)}"
    if study.audit.is_open:
        left = count(len(study.audit.missing(study.trials)), "trial")
        return (
            f"{taken}. The rounds are over, and the answer is being tested: {left} of the audit of "
            "linearity are still to be asked for."
        )
    if study.statistic is None:
        return f"{taken}. {before_the_rounds(study)}"
    if study.budget is not None:
        return f"{taken} of {study.budget:,}, where the study stops."
    return (
        f"{taken}. The study stops when {study.statistic:.4g} has fallen to "
        f"ε = {study.problem.epsilon:g}. {next_look(study)}".rstrip()
    )


def _linearity(study: Study) -> str:
    """What is known of whether the means are linear in the features, in a word."""
    from shortlist.study.insight.audit import rests_on_features
    from shortlist.study.insight.health import is_linearity_tested

    if not rests_on_features(study.bound):
        return "not assumed"
    if study.audit.rejection is not None:
        return "rejected"
    return "tested" if is_linearity_tested(study) else "untested"
