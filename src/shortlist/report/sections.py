"""What the sections of the page say, for the template to lay out."""

from __future__ import annotations

import datetime
import platform
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy

from shortlist._version import __version__
from shortlist.printable import count, quoted, slack_words
from shortlist.report.analysis import Analysis
from shortlist.report.tables import ROWS_SHOWN, HtmlTable, decimals, number
from shortlist.study.answer import best_first
from shortlist.study.budget import rounded
from shortlist.study.failing_words import failing_arms
from shortlist.study.insight.audit import audit_results
from shortlist.study.ledger import retired_words
from shortlist.study.view import before_the_rounds, next_look

if TYPE_CHECKING:
    import pandas as pd

    from shortlist.study.study import Study

FAILURES_SHOWN = 200
REASONS_SHOWN = 5
REASON_LENGTH = 300  # characters of a failure's reason
LEVELS = ("warning", "untested", "note", "fine")  # of findings, the worst first
AFTER_STOP = (
    "this changes neither the arms' means and intervals nor the shortlist nor the guarantee. It is "
    "in the health of the model and in the pictures of the evaluations."
)


def state(study: Study) -> tuple[str, str]:
    """The state of the study in a word or two, and the class of its badge."""
    if study.done:
        return "Stopped", "good"
    if study.audit.rejection is not None:
        return "Cannot stop", "warn"
    if study.audit.is_running:
        return "Testing linearity", "plain"
    return ("Running", "plain") if study.trials else ("Not started", "plain")


def answer(study: Study) -> dict[str, Any]:
    """The shortlist, best estimated mean first; without a table while there is none."""
    found = study.shortlist
    if not found.names:
        return {"table": None, "waiting": before_the_rounds(study)}
    places, means = decimals(found.table), _means(found.table)
    rows = [
        [
            str(arm["name"]),
            *(number(arm[column], places) for column in means),
            f"{number(arm['lower'], places)} to {number(arm['upper'], places)}",
            f"{arm['pulls']:,}",
        ]
        for arm in found.table[:ROWS_SHOWN].reset_index().to_dict(orient="records")
    ]
    K, m = study.problem.eligible, study.problem.m
    what = f"The shortlist: {m:,} of {K:,} arms" if found.final else "The current guess"
    caption = f"{what}, best estimated mean first, after {found.evaluations:,} evaluations."
    headings = ("Name", *(each.capitalize() for each in means), "Interval", "Evaluations")
    columns = dict.fromkeys(headings, "number")
    unseen = int((found.table["pulls"] == 0).sum())
    return {
        "table": HtmlTable(caption, {**columns, "Name": "name"}, rows),
        "intervals": intervals(study),
        "unseen": unseen,
    }


MEANS = "Each mean is the average of the arm's own evaluations. "
ESTIMATES = "Each estimate is the algorithm's at its last decision: {by}. The interval is about the estimate. "


def _means(table: pd.DataFrame) -> list[str]:
    """The column of averages, and that of estimates where there is one."""
    return [column for column in ("mean", "estimate") if column in table]


def intervals(study: Study) -> str:
    """What the means and intervals of the shortlist are, and what the stop compares."""
    by = (
        "by the features it takes from the evaluations of one arm what they say of another"
        if study.procedure.relation.uses_features
        else "what the results of a block share is taken away"
    )
    means = MEANS + (ESTIMATES.format(by=by) if study.procedure.engine.adjusts else "")
    alone = study.procedure.engine.setup.alone
    compared = "The stop compares these intervals." if alone else study.aim.compared
    return (
        f"{means}Each interval is that of the arm alone: {study.procedure.interval.meaning}. "
        f"{study.coverage} {compared}"
    )


def arms(analysis: Analysis) -> HtmlTable:
    """The arms, the best estimated mean first; of very many those around the boundary."""
    everyone, first, order = analysis.study.model.table(), 0, ""
    K, m = analysis.study.problem.arms, analysis.study.problem.m
    if analysis.study.statistic is not None:
        everyone = best_first(everyone, analysis.study.problem)
        first = max(0, min(m - ROWS_SHOWN // 2, K - ROWS_SHOWN))
        order = ", best estimated mean first"
    shown = everyone[first : first + ROWS_SHOWN]
    if len(shown) == K:
        caption = f"All {K:,} arms{order}"
    else:
        around = f": those around rank m = {m:,}" if order else ""
        caption = f"Arms {first + 1:,} to {first + len(shown):,} of {K:,}{order}{around}"
    if analysis.study.model.stopped and analysis.study.answered_at < analysis.study.evaluations:
        caption += ", as they were at the stop"
    places, figures = decimals(shown), [*_means(shown), "lower", "upper"]
    rows = [
        [
            str(arm["name"]),
            f"{arm['pulls']:,}",
            *(number(arm[column], places) for column in figures),
            "yes" if arm["in_shortlist"] else "control" if arm.get("control") else "",
        ]
        for arm in shown.to_dict(orient="records")
    ]
    headings = ("Evaluations", *(each.capitalize() for each in figures))
    columns = {"Name": "name", **dict.fromkeys(headings, "number")}
    columns["On the list"] = "words"
    return HtmlTable(f"{caption}.", columns, rows, shown["in_shortlist"].tolist())


def progress(analysis: Analysis) -> list[tuple[str, Any]]:
    """What was told, is pending, failed and was cancelled, and how long it may still take."""
    study = analysis.study
    cancelled = sum(trial.state == "cancelled" for trial in study.trials)
    rows: list[tuple[str, Any]] = [("Results processed", f"{study.evaluations:,}")]
    if study.problem.costs.stated:
        rows.append(("What they cost", number(study.cost)))
    audited = audit_results(study.taken)
    if audited:
        rows.append(("To test linearity", f"{audited:,} of them"))
    if controls := study.problem.controls.words(study.problem.names):
        made = sum(not study.problem.listable[trial.arm] for trial in study.taken)
        rows.append(("Of controls", f"{made:,} of them: {controls}, never listed"))
    if analysis.late:
        rows.append(("Told after the stop", f"{analysis.late:,}; {AFTER_STOP}"))
    rows += [
        ("Told, waiting for an earlier one", f"{len(study.waiting):,}"),
        ("Pending", f"{len(study.pending):,}"),
        ("Failed", _reasons(study)),
        *([("Set aside", failing_arms(study))] if study.set_aside else []),
        *([("Retired", retired_words(study.retired))] if study.retired else []),
        *(
            [("Added", quoted(added))]
            if (added := [n for e in study.added for n in e.names])
            else []
        ),
        ("Cancelled", f"{cancelled:,}"),
    ]
    if study.budget:
        rows.append(("Budget", f"{study.budget:,} evaluations, all of which are made"))
    if not (study.aim.certifies or study.aim.proves):
        error = study.shortlist.error
        found = before_the_rounds(study) if error is None else rounded(error)
        rows.append(("Estimated probability of a wrong list", found))
    elif study.statistic is None:
        rows.append(("Certain", before_the_rounds(study)))
    else:
        now = study.shortlist.certain
        if now is not None and now.words:
            rows.append(("Certain", now.words))
        if not study.model.stopped and study.aim.certifies:
            rows.append(("Stop", f"when the list is right up to ε = {study.problem.epsilon:g}"))
        if not study.model.stopped and (look := next_look(study)):
            rows.append(("Next look", look))
    if not study.done:
        rows.append(("Still to come", str(analysis.remaining)))
    return rows


def _reasons(study: Study) -> dict[str, Any]:
    """How many evaluations failed, their most frequent reasons, and how many other reasons."""
    reasons = Counter(trial.reason or "" for trial in study.trials if trial.state == "failed")
    return {
        "total": reasons.total(),
        "reasons": [
            (_shortened(reason) or "no reason given", times)
            for reason, times in reasons.most_common(REASONS_SHOWN)
        ],
        "others": len(reasons) - REASONS_SHOWN,
    }


def _shortened(reason: str) -> str:
    return reason if len(reason) <= REASON_LENGTH else reason[: REASON_LENGTH - 1] + "…"


def failures(study: Study) -> HtmlTable:
    """Evaluations that failed, the latest first."""
    failed = [trial for trial in reversed(study.trials) if trial.state == "failed"]
    rows = [
        [
            f"{trial.number:,}",
            str(trial.name),
            utc(trial.closed_at),
            _shortened(trial.reason or "–"),
        ]
        for trial in failed[:FAILURES_SHOWN]
    ]
    columns = {"Trial": "number", "Arm": "name", "When": "words", "Reason": "quoted"}
    caption = f"{count(len(failed), 'failed evaluation')}, the latest first."
    return HtmlTable(caption, columns, rows)


def specification(study: Study) -> list[tuple[str, str]]:
    """What the study was told to do, and the software that read it: names and values."""
    problem, procedure = study.problem, study.procedure
    S = "not given" if problem.S is None else f"{problem.S:g}"
    if problem.S is not None and not procedure.threshold.needs_S:
        S += " (not used by this threshold)"
    rows = [
        ("Algorithm", procedure.name),
        ("Threshold", procedure.threshold.name),
        ("Risk, δ", study.aim.delta_words(problem.delta)),
        ("Slack, ε", slack_words(problem.epsilon)),
        ("Noise, σ", procedure.noise.specification),
        ("Bound on ‖θ‖, S", S),
        ("Arms to find, m", f"{problem.m:,}{', of smallest mean' if problem.minimizes else ''}"),
        ("Arms, K", f"{problem.eligible:,}"),
        ("Features, N", procedure.relation.features_used),
        ("Regularisation, λ", f"{procedure.setting.regularization:g}"),
        (
            procedure.engine.setup.pace.opening,
            f"{len(study.model.first_procedure.engine.setup.initial):,}",
        ),
        ("Seed", str(study.seed)),
    ]
    if study.model.verifies:
        before = (
            f"{study.model.first_procedure.name}, for {study.model.verified_from:,} evaluations"
        )
        rows.insert(1, ("Before the verification", before))
    rows[1:1] = study.aim.settings
    rows += [("Costs", procedure.cost_words)] * bool(procedure.cost_words)
    rows += [("Controls", problem.controls.words(problem.names))] * problem.controls.exist
    if study.storage is not None:
        rows.append(("Storage", study.storage))
    return rows + [(f"Version of {name}", version) for name, version in software().items()]


def software() -> dict[str, str]:
    """The versions of the software, by name.

    Examples
    --------
    >>> list(software())
    ['shortlist', 'Python', 'NumPy']
    """
    return {
        "shortlist": __version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
    }


def utc(seconds: float | None) -> str:
    """A time in UTC, to the second.

    Examples
    --------
    >>> utc(0.0)
    '1970-01-01 00:00:00 UTC'
    >>> utc(None)
    '–'
    """
    if seconds is None:
        return "–"
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
