"""The sections to look things up in: arms, failures, settings, hash, methods."""

from __future__ import annotations

import time

from shortlist.report.markup import Markup, element, joined, name_of
from shortlist.report.methods import cited, methods
from shortlist.report.numbers import count, decimals, number
from shortlist.report.reading import Reading
from shortlist.report.search import search
from shortlist.report.sections import shortened
from shortlist.report.settings import settings, utc
from shortlist.report.tables import EVERY_ARM, EVERY_TRIAL, ROWS_SHOWN, beyond, pairs, table

FAILURES_SHOWN = 200


def arms(reading: Reading) -> Markup:
    """The arms, the best estimated mean first; of very many those around the boundary."""
    everyone, first, order = reading.table, 0, ""
    K, m = reading.study.problem.arms, reading.study.problem.m
    if reading.study.statistic is not None:
        everyone = everyone.sort_values("mean", ascending=False, kind="stable")
        first = max(0, min(m - ROWS_SHOWN // 2, K - ROWS_SHOWN))
        order = ", best estimated mean first"
    shown = everyone[first : first + ROWS_SHOWN]
    if len(shown) == K:
        caption = f"All {count(K)} arms{order}"
    else:
        ranks = f"{count(first + 1)} to {count(first + len(shown))} of {count(K)}"
        around = f": those around rank m = {count(m)}" if order else ""
        caption = f"Arms {ranks}{order}{around}"
    if reading.late:
        caption += f", with the {count(reading.late)} told after the stop"
    places = decimals(shown)
    rows: list[list[object]] = [
        [
            name_of(arm["name"]),
            count(arm["pulls"]),
            number(arm["mean"], places),
            number(arm["lower"], places),
            number(arm["upper"], places),
            "yes" if arm["in_shortlist"] else "",
        ]
        for arm in shown.to_dict(orient="records")
    ]
    columns = [
        ("Name", "name"),
        ("Evaluations", "number"),
        ("Mean", "number"),
        ("Lower", "number"),
        ("Upper", "number"),
        ("On the list", "words"),
    ]
    marked = shown["in_shortlist"].tolist()
    return joined(
        [
            search(everyone, len(shown), places, "best" if order else "first"),
            table(f"{caption}.", columns, rows, marked=marked, sortable=True),
            beyond(K, EVERY_ARM),
        ]
    )


def failures(reading: Reading) -> Markup:
    """Evaluations that came to nothing, the latest first."""
    failed = [trial for trial in reversed(reading.study.trials) if trial.state == "failed"]
    if not failed:
        return element("p", "No evaluation has failed.")
    rows: list[list[object]] = [
        [
            count(trial.number),
            name_of(trial.name),
            utc(trial.closed_at),
            name_of(shortened(trial.reason or "–")),
        ]
        for trial in failed[:FAILURES_SHOWN]
    ]
    columns = [("Trial", "number"), ("Arm", "name"), ("When", "words"), ("Reason", "words")]
    caption = f"{count(len(failed))} failed evaluations, the latest first."
    return joined([table(caption, columns, rows), beyond(len(failed), EVERY_TRIAL, FAILURES_SHOWN)])


def setup(reading: Reading) -> Markup:
    """Settings, versions and times."""
    study = reading.study
    rows: list[tuple[str, object]] = [(key, name_of(value)) for key, value in settings(study)]
    if study.trials:
        rows.append(("First asked", utc(study.trials[0].asked_at)))
    rows.append(("Report written", utc(time.time())))
    return pairs("What was asked for, and with what.", rows)


def data_hash(reading: Reading) -> Markup:
    """The hash of all that the answer follows from."""
    return joined(
        [
            element(
                "p",
                "The settings, the features and everything that was asked and told have the hash",
            ),
            element("pre", reading.study.fingerprint),
            element("p", "Two studies with the same hash hold the same data.", class_="note"),
        ]
    )


def methods_text(reading: Reading) -> Markup:
    """Text and references to paste into a paper."""
    works = cited(reading.study)
    entries = "\n\n".join(work.bibtex for work in works)
    return joined(
        [
            element(
                "p", "To paste into a paper. Say also what an evaluation was, and where σ is from."
            ),
            _copied("methods-text", methods(reading), "Copy the text", "prose"),
            element("h3", "References"),
            element("ul", *(element("li", work.full) for work in works)),
            _copied("bibtex", entries, "Copy the BibTeX", None),
        ]
    )


def _copied(name: str, words: str, label: str, kind: str | None) -> Markup:
    button = element("button", label, type="button", class_="copy", hidden=True, data_copies=name)
    return joined([element("pre", words, id=name, class_=kind), button])
