"""The sections that say what was found, and what it is worth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shortlist.report.assumptions import assumptions
from shortlist.report.markup import Markup, element, joined, name_of
from shortlist.report.methods import named
from shortlist.report.numbers import count, decimals, number
from shortlist.report.reading import Reading
from shortlist.report.tables import EVERY_ARM, ROWS_SHOWN, beyond, pairs, table
from shortlist.study.budget import rounded
from shortlist.study.insight.audit import audit_results
from shortlist.study.view import before_the_rounds, next_look

if TYPE_CHECKING:
    from shortlist.study.study import Study

REASON_SHOWN = 300  # signs of a failure's reason
LEVELS = {
    "warning": "warn",
    "untested": "plain",
    "note": "plain",
    "fine": "good",
}  # the worst first
AFTER_STOP = (
    "this changes neither the shortlist with its means and intervals nor the guarantee. It is in the "
    "table of the arms, in the health of the model and in the pictures of the evaluations."
)


def state(study: Study) -> tuple[str, str]:
    """Where the study stands in a word, and the class of its badge."""
    if study.done:
        return "Stopped", "good"
    if study.audit.rejection is not None:
        return "Cannot stop", "warn"
    if study.audit.is_open:
        return "Testing linearity", "plain"
    return ("Running", "plain") if study.trials else ("Not started", "plain")


def worth(reading: Reading) -> tuple[str, str]:
    """What the answer is worth in a word or two, and the class of its badge."""
    return reading.worth.badge, reading.worth.level


def answer(reading: Reading) -> Markup:
    """The shortlist, best estimated mean first."""
    study = reading.study
    found = study.shortlist
    if not found.names:
        return element("p", f"No shortlist yet: {before_the_rounds(study)}")
    places = decimals(found.table)
    rows: list[list[object]] = [
        [
            count(rank),
            name_of(arm["name"]),
            number(arm["mean"], places),
            f"{number(arm['lower'], places)} to {number(arm['upper'], places)}",
            count(arm["pulls"]),
        ]
        for rank, arm in enumerate(found.table[:ROWS_SHOWN].to_dict(orient="records"), start=1)
    ]
    K, m = study.problem.arms, study.problem.m
    what = f"The shortlist: {count(m)} of {count(K)} arms" if found.final else "The current guess"
    caption = f"{what}, best estimated mean first, after {count(found.evaluations)} evaluations."
    columns = [
        ("Rank", "number"),
        ("Name", "name"),
        ("Mean", "number"),
        ("Interval", "number"),
        ("Evaluations", "number"),
    ]
    unseen = int((found.table["pulls"] == 0).sum())
    note = (
        f" {count(unseen)} of the list {'was' if unseen == 1 else 'were'} never evaluated: what is "
        "known of them comes from the features and the other arms."
        if unseen
        else ""
    )
    return joined(
        [
            table(caption, columns, rows),
            beyond(m, EVERY_ARM),
            element("p", f"{_intervals(study)}{note}", class_="note"),
        ]
    )


def _intervals(study: Study) -> str:
    own = "Each interval is that of the arm alone: mean ± C σ ‖x‖, with C the threshold."
    if study.bound.reward_range is not None:
        own = (
            "Each interval is that of the arm alone: all means q with N kl(mean, q) ≤ C²/2, with N "
            "its evaluations, kl the relative entropy of two coins and C the threshold."
        )
    if study.bound.engine.setup.alone:
        return f"{own} The stop compares these intervals."
    if study.budget is not None:
        return (
            f"{own} For normal noise it holds the mean of an arm named beforehand with probability "
            f"{1 - study.problem.delta:g}, or about that. These arms are listed because they came out "
            "best: their intervals hold their means less often. Differences of two means are known "
            "more precisely."
        )
    return (
        f"{own} The stop compares differences of two means, which are known more precisely. So "
        "intervals may overlap where the order is settled."
    )


def guarantee(reading: Reading) -> Markup:
    """What the answer is worth, in words and in colour, and what that rests on."""
    study, bound = reading.study, reading.study.bound
    verdict, words = named(study.shortlist.guarantee).split(":", 1)
    box = [element("p", element("strong", f"{verdict}:"), words)]
    if study.done and bound.proven:
        box.append(
            element(
                "p",
                "Read it so: of many studies run like this one, at most a share of "
                f"δ = {study.problem.delta:g} end with a list that holds such an arm. Nothing is "
                "said about the order within the list.",
            )
        )
    if reading.warned:
        box.append(
            element(
                "p",
                element("strong", "Mind the warnings"),
                f" ({', '.join(reading.warned)}) under ",
                element("a", "health", href="#health"),
                ": what they speak against is assumed here.",
            )
        )
    if bound.proven:
        lead = "It rests on these assumptions. Tests may speak against them; nothing proves them:"
    else:
        lead = "No set of assumptions is known to make this answer certain. It uses these:"
    terms = [
        joined([element("dt", word), element("dd", sentence)])
        for word, sentence in assumptions(study)
    ]
    return joined(
        [
            element("div", *box, class_=f"box {worth(reading)[1]}"),
            element("h3", "Assumptions"),
            element("p", lead),
            element("dl", *terms),
        ]
    )


def progress(reading: Reading) -> Markup:
    """How far it has come, what is under way, what failed, and how long it may still take."""
    study = reading.study
    states = Counter(trial.state for trial in study.trials)
    statistic, epsilon = study.statistic, study.problem.epsilon
    rows: list[tuple[str, object]] = [
        ("Results taken in", count(study.evaluations)),
    ]
    audited = audit_results(study.taken)
    if audited:
        rows.append(("To test linearity", f"{count(audited)} of them"))
    if reading.late:
        rows.append(("Told after the stop", f"{count(reading.late)}; {AFTER_STOP}"))
    rows += [
        ("Told, waiting for an earlier one", count(len(study.waiting))),
        ("Pending", count(len(study.pending))),
        ("Failed", _failed(study)),
        ("Cancelled", count(states["cancelled"])),
    ]
    if study.budget is not None:
        rows.append(("Budget", f"{count(study.budget)} evaluations, all of which are made"))
        error = study.shortlist.error
        found = before_the_rounds(study) if error is None else rounded(error)
        rows.append(("Estimated probability of a wrong list", found))
    elif statistic is None:
        rows.append(("Stopping statistic", before_the_rounds(study)))
    else:
        done = "has fallen to" if study.model.stopped else "must fall to"
        rows.append(("Stopping statistic", f"{number(statistic)}; it {done} ε = {epsilon:g}"))
        if not study.model.stopped and (look := next_look(study)):
            rows.append(("Next look", look))
    if not study.done:
        rows.append(("Still to come", str(reading.remaining)))
    return pairs("Where the study stands.", rows)


def _failed(study: Study) -> Markup:
    reasons = Counter(trial.reason or "" for trial in study.trials if trial.state == "failed")
    if not reasons:
        return element("span", "0")
    lines = [
        element("li", f"{count(times)} × ", name_of(shortened(reason) or "no reason given"))
        for reason, times in reasons.most_common(5)
    ]
    if len(reasons) > 5:
        lines.append(element("li", f"and {count(len(reasons) - 5)} other reasons"))
    return joined([count(reasons.total()), element("ul", *lines)])


def shortened(words: str) -> str:
    """The beginning of words that may be a whole log."""
    return words if len(words) <= REASON_SHOWN else words[: REASON_SHOWN - 1] + "…"


def health(reading: Reading) -> Markup:
    """What the features look like, and whether the results speak against σ or the model."""
    levels = list(LEVELS)
    findings = sorted(reading.findings, key=lambda finding: levels.index(finding.level))
    items = [
        joined(
            [
                element(
                    "dt",
                    element("span", finding.level, class_=f"badge {LEVELS[finding.level]}"),
                    f" {finding.name}",
                ),
                element("dd", f"{finding.words} {finding.meaning}"),
            ]
        )
        for finding in findings
    ]
    return element("dl", *items)
