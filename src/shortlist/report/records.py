"""The sections to look things up in: arms, failures, settings, hash, methods."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from shortlist.report.markup import Markup, element, joined, name_of
from shortlist.report.methods import cited, methods
from shortlist.report.numbers import count, decimals, number
from shortlist.report.sections import shortened
from shortlist.report.settings import settings, utc
from shortlist.report.tables import ROWS_SHOWN, beyond, pairs, table

if TYPE_CHECKING:
    from shortlist.study.study import Study

FAILURES_SHOWN = 200


def arms(study: Study) -> Markup:
    """Every arm, the best estimated mean first."""
    everyone = study.table()
    caption = f"All {count(len(everyone))} arms."
    if study.statistic is not None:
        everyone = everyone.sort_values("mean", ascending=False, kind="stable")
        caption = f"All {count(len(everyone))} arms, best estimated mean first."
    shown = everyone[:ROWS_SHOWN]
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
            table(caption, columns, rows, marked=marked, sortable=True),
            beyond(len(everyone), "shortlist export --table"),
        ]
    )


def failures(study: Study) -> Markup:
    """Evaluations that came to nothing, the latest first."""
    failed = [trial for trial in reversed(study.trials) if trial.state == "failed"]
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
    return joined(
        [table(caption, columns, rows), beyond(len(failed), "shortlist export", FAILURES_SHOWN)]
    )


def setup(study: Study) -> Markup:
    """Settings, versions and times."""
    rows: list[tuple[str, object]] = [(key, name_of(value)) for key, value in settings(study)]
    if study.trials:
        rows.append(("First asked", utc(study.trials[0].asked_at)))
    rows.append(("Report written", utc(time.time())))
    return pairs("What was asked for, and with what.", rows)


def data_hash(study: Study) -> Markup:
    """The hash of all that the answer follows from."""
    return joined(
        [
            element(
                "p",
                "The settings, the features and everything that was asked and told have the hash",
            ),
            element("pre", study.fingerprint),
            element("p", "Two studies with the same hash hold the same data.", class_="note"),
        ]
    )


def methods_text(study: Study) -> Markup:
    """Text and references to paste into a paper."""
    entries = "\n\n".join(work.bibtex for work in cited(study))
    return joined(
        [
            element(
                "p", "To paste into a paper. Say also what an evaluation was, and where σ is from."
            ),
            _copied("methods-text", methods(study), "Copy the text", "prose"),
            element("h3", "References"),
            element("ul", *(element("li", work.full) for work in cited(study))),
            _copied("bibtex", entries, "Copy the BibTeX", None),
        ]
    )


def _copied(name: str, words: str, label: str, kind: str | None) -> Markup:
    button = element("button", label, type="button", class_="copy", hidden=True, data_copies=name)
    return joined([element("pre", words, id=name, class_=kind), button])
