"""The page of a study: the part that changes with it, and the answers to its forms."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from shortlist._version import __version__
from shortlist.plot.figure import frame_of
from shortlist.plot.figure import number as plain_number
from shortlist.printable import count
from shortlist.report.analysis import Analysis
from shortlist.report.methods import plain
from shortlist.report.rendering import environment
from shortlist.report.sections import LEVELS, intervals, progress, state, utc
from shortlist.report.tables import HtmlTable, decimals, number
from shortlist.serve.actions import MOST_TRIALS
from shortlist.serve.statistic_chart import statistic_chart
from shortlist.study.answer import best_first, estimated
from shortlist.study.insight.summary import study_words, trial_numbers
from shortlist.study.verification import cannot_verify

if TYPE_CHECKING:
    from shortlist.study.plate import PlateResults
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

LISTED, NEXT = 100, 3  # arms of the shortlist, and of those after it
OPEN = 50  # open trials that are listed
PREVIEWED = 500  # lines of a plate
BAR = 200.0  # the width of an interval's box
PLATES_HERE = Markup("<div hidden></div>")  # the forms, which do not change with the study


def live(analysis: Analysis) -> str:
    """What of a page changes with its study: the body without the forms.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["<script>", "b"], m=1, sigma=0.5, seed=0)
    >>> _ = study.ask()
    >>> "<script>" in live(Analysis(study))
    False
    """
    study = analysis.study
    pending = study.pending
    return _render(
        "live.html",
        study=study,
        problem=study.problem,
        analysis=analysis,
        plates_here=PLATES_HERE,
        title=plain(study.name),
        state=state(study),
        words=study_words(study),
        arms=_arms(study),
        intervals=intervals(study),
        verifiable=study.done and not cannot_verify(study),
        wider=_wider(study),
        chart=statistic_chart(analysis),
        number=plain_number,
        progress=[row for row in progress(analysis) if row[0] != "Told after the stop"],
        findings=sorted(analysis.findings, key=lambda finding: LEVELS.index(finding.level)),
        open=_open(study, pending),
        unlisted=len(pending) - OPEN,
    )


def _wider(study: Study) -> float | None:
    """The least ε that would end the study now; None if there is none."""
    now = study.shortlist.certain
    return None if study.model.stopped or now is None else now.stops_at


def _arms(study: Study) -> list[dict[str, Any]]:
    """The shortlist, best mean first, and the next arms after it, with bars for their intervals."""
    answer = study.shortlist
    if not answer.names:
        return []
    table = study.table()
    rest = best_first(table[study.problem.listable & ~table["in_shortlist"]], study.problem)
    rest = rest[estimated(rest).notna()]  # retired arms have none
    shown = pd.concat([answer.table[:LISTED].assign(listed=True), rest[:NEXT].assign(listed=False)])
    shown = shown.reset_index()
    places, middle = decimals(shown), str(estimated(shown).name)
    ends = frame_of(shown["lower"].to_numpy(), shown["upper"].to_numpy())
    low, high = (0.0, 0.0) if ends is None else ends
    scale = BAR / (high - low) if high > low else 0.0

    def bar(value: float) -> str:
        return f"{(value - low) * scale:.1f}"

    return [
        {
            "name": str(arm["name"]),
            "listed": arm["listed"],
            "pulls": f"{arm['pulls']:,}",
            "means": [number(arm[each], places) for each in ("mean", "estimate") if each in arm],
            "interval": f"{number(arm['lower'], places)} to {number(arm['upper'], places)}",
            "bar": [bar(arm[column]) for column in ("lower", middle, "upper")],
        }
        for arm in shown.to_dict(orient="records")
    ]


def _open(study: Study, pending: Sequence[Trial]) -> HtmlTable:
    due = any(trial.expires_at is not None for trial in pending)
    columns = {
        "Trial": "number",
        "Arm": "name",
        **({"Block": "quoted"} if study.problem.blocks.exist else {}),
        "Why": "folded",
        "Asked": "time",
        **({"Due": "time"} if due else {}),
        "Asked by": "quoted",
    }
    rows = [
        [
            f"{trial.number:,}",
            str(trial.name),
            *([str(trial.block)] if study.problem.blocks.exist else []),
            reason.words,
            utc(trial.asked_at),
            *([utc(trial.expires_at)] if due else []),
            trial.worker,
        ]
        for trial, reason in zip(pending, study.reasons(pending[:OPEN]), strict=False)
    ]
    caption = f"{count(len(pending), 'open trial')}, the oldest first."
    return HtmlTable(caption, columns, rows)


def page(study: Study, changes: int, body: str, problem: str) -> str:
    """The whole page, with forms."""
    above, below = shown(body, problem).split(PLATES_HERE)
    return _render(
        "page.html",
        title=study.name,
        plain_title=plain(study.name),
        changes=changes,
        above=above,
        below=below,
        key=f"page {secrets.token_hex(8)}",
        most=MOST_TRIALS,
        version=__version__,
    )


def shown(body: str, problem: str) -> Markup:
    """The part that changes, below what keeps it from changing."""
    return Markup(_render("problem.html", problem=problem, body=Markup(body)))  # noqa: S704 - it is escaped


def message(study: Study, title: str, words: str, *, plate: str = "", bad: bool = False) -> str:
    """The answer to a form: a few words, and the way back."""
    return _render("message.html", study=study.name, title=title, words=words, plate=plate, bad=bad)


class Sent(NamedTuple):
    """A file that was uploaded, and whether its results were measured again.

    The server keeps it under the key, by which the forms below it name it.
    """

    file: str
    data: bytes
    measured_again: bool
    key: str


def results_of(study: Study, told: PlateResults) -> list[dict[str, Any]]:
    """The results of a file as ``actions.tell`` takes them."""
    return [{"trial": trial, "value": value} for trial, value in told.results] + [
        {"arm": arm, "value": value, "key": key, "block": block}
        for arm, value, key, block in told.unasked
    ]


def preview(study: Study, sent: Sent, told: PlateResults) -> str:
    """What a file would tell, to be confirmed."""
    trials = [
        [f"{trial:,}", str(study.trials[trial].name), repr(value), study.trials[trial].state]
        for trial, value in told.results[:PREVIEWED]
    ]
    columns = {"Trial": "number", "Arm": "name", "Value": "number", "State now": "words"}
    unasked = told.unasked
    if unasked:
        trials = [[str(arm), repr(value), key] for arm, value, key, _ in unasked[:PREVIEWED]]
        columns = {"Arm": "name", "Value": "number", "Key": "quoted"}
    results = results_of(study, told)
    return _render(
        "preview.html",
        study=study.name,
        sent=sent,
        listed=HtmlTable(f"{count(len(results), 'result')} of {sent.file}.", columns, trials),
        results=results,
        unlisted=len(results) - PREVIEWED,
        known=told.known,
        blank=_numbers(study, told.blank),
        left=_numbers(study, told.left),
    )


def told_before(study: Study, sent: Sent, words: object) -> str:
    """That a file repeats or contradicts what was told, and the question what it is."""
    return _render("told_before.html", study=study.name, sent=sent, words=str(words))


def _numbers(study: Study, trials: Sequence[int]) -> str:
    return trial_numbers([study.trials[number] for number in trials])


def asset(name: str) -> bytes:
    """A script or a style sheet of the page."""
    own = files("shortlist.serve").joinpath(name).read_bytes()
    shared = files("shortlist.report").joinpath(name)
    return shared.read_bytes() + own if name.endswith(".css") else own


def _render(template: str, /, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    templates = environment("shortlist.serve", "shortlist.report")
    templates.filters |= {"count": "{:,}".format, "utc": utc}
    return templates
