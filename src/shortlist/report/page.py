"""The page: one HTML file that needs nothing but itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from shortlist._version import __version__
from shortlist.report.markup import Markup, element, joined, name_of
from shortlist.report.methods import plain
from shortlist.report.pictures import pictures
from shortlist.report.policy import content_policy
from shortlist.report.reading import Reading
from shortlist.report.records import arms, data_hash, failures, methods_text, setup
from shortlist.report.sections import answer, guarantee, health, progress, state, worth
from shortlist.report.settings import utc

if TYPE_CHECKING:
    from shortlist.study.study import Study

UNNAMED = "study"  # the name of a study that was given none
SECTIONS: tuple[tuple[str, str, Callable[[Reading], Markup]], ...] = (
    ("answer", "The answer", answer),
    ("guarantee", "The guarantee", guarantee),
    ("progress", "Progress", progress),
    ("health", "Health of features and model", health),
    ("pictures", "Pictures", pictures),
    ("arms", "Arms", arms),
    ("failures", "Failures", failures),
    ("settings", "Settings", setup),
    ("hash", "Hash of the data", data_hash),
    ("methods", "Methods", methods_text),
)


def html(study: Study) -> str:
    """The report of a study as one self-contained HTML page.

    Parameters
    ----------
    study : Study
        In whatever state.

    Returns
    -------
    str
        The page: no external request, no script but its own, every name escaped.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["<script>", "b"], m=1, sigma=0.5, seed=0)
    >>> page = html(study)
    >>> "&lt;script&gt;" in page
    True
    """
    links = [element("li", element("a", title, href=f"#{key}")) for key, title, _ in SECTIONS]
    script, reading = _own("script.js") + _own("search.js"), Reading(study)
    body = element(
        "body",
        _header(reading),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("main", *(_section(reading, *each) for each in SECTIONS)),
        element("footer", f"Written by shortlist {__version__}.", class_="quiet"),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(study, script), body, lang='en')}\n"


def _title(study: Study) -> str:
    if study.name != UNNAMED:
        return study.name
    K, m = study.problem.arms, study.problem.m
    return f"The {m:,} best of {K:,} arms" if m > 1 else f"The best of {K:,} arms"


def _head(study: Study, script: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=content_policy(script=script)
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{plain(_title(study))}: {state(study)[0].lower()}"),
        element("style", Markup(_own("style.css"))),
    )


def _header(reading: Reading) -> Markup:
    study = reading.study
    badges = [
        element("span", word, class_=f"badge {kind}")
        for word, kind in (state(study), worth(reading))
    ]
    K, m = study.problem.arms, study.problem.m
    late = f" to the stop and {reading.late:,} after it" if reading.late else ""
    evaluations = f"{study.evaluations - reading.late:,} evaluations{late}"
    figures = f" m = {m:,} of K = {K:,} arms, {evaluations}, {utc(time.time())}"
    return element(
        "header",
        element("h1", name_of(_title(study))),
        element("p", joined(badges, " "), figures),
    )


def _section(
    reading: Reading, key: str, title: str, content: Callable[[Reading], Markup]
) -> Markup:
    heading = element("h2", title, id=f"{key}-title")
    inside = joined(["\n", heading, content(reading)])
    return element("section", inside, id=key, aria_labelledby=f"{key}-title")


def _own(name: str) -> str:
    return files("shortlist.report").joinpath(name).read_text(encoding="utf-8")
