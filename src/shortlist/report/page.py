"""The page: one HTML file that needs nothing but itself."""

from __future__ import annotations

import time
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Template
from markupsafe import Markup

from shortlist._version import __version__
from shortlist.errors import InvalidInput
from shortlist.files.writing import write_file
from shortlist.report.analysis import Analysis
from shortlist.report.methods import cited, methods, plain
from shortlist.report.pictures import pictures
from shortlist.report.rendering import content_policy, environment
from shortlist.report.sections import (
    LEVELS,
    answer,
    arms,
    failures,
    progress,
    specification,
    state,
    utc,
)
from shortlist.report.tables import ROWS_SHOWN

if TYPE_CHECKING:
    from shortlist.study.study import Study

UNNAMED = "study"  # the name of a study that was given none


def html(study: Study) -> str:
    """The report of a study as one self-contained HTML page.

    Parameters
    ----------
    study : Study
        In any state.

    Returns
    -------
    str
        The page. It loads nothing, runs no script but its own, and escapes every name.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["<script>", "b"], m=1, sigma=0.5, seed=0)
    >>> page = html(study)
    >>> "&lt;script&gt;" in page
    True
    """
    analysis, problem = Analysis(study), study.problem
    script = _own("script.js")
    title = f"The {problem.m:,} best of" if problem.m > 1 else "The best of"
    title = f"{title} {problem.eligible:,} arms" if study.name == UNNAMED else study.name
    return _template().render(
        study=study,
        problem=problem,
        analysis=analysis,
        title=title,
        plain_title=plain(title),
        state=state(study),
        answer=answer(study),
        progress=progress(analysis),
        findings=sorted(analysis.findings, key=lambda finding: LEVELS.index(finding.level)),
        pictures=pictures(analysis),
        arms=arms(analysis),
        failures=failures(study),
        failed=sum(trial.state == "failed" for trial in study.trials),
        specification=specification(study),
        methods=methods(analysis),
        works=cited(study),
        rows_shown=ROWS_SHOWN,
        now=utc(time.time()),
        version=__version__,
        policy=content_policy(script=script),
        script=script,
        style=_own("style.css"),
    )


def write(study: Study, path: str | PathLike[str]) -> Path:
    """Write the report of a study.

    Parameters
    ----------
    study : Study
        In any state.
    path : path
        The HTML file. It is replaced when the new page is complete, so a reader never sees half a page.

    Returns
    -------
    Path
        Where it was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, seed=0)
    >>> with TemporaryDirectory() as folder:
    ...     write(study, Path(folder, "report.html")).stat().st_size > 1000
    True
    """
    if isinstance(study, str | PathLike):
        raise InvalidInput(
            "the study comes first, and then where to write it: report.write(study, "
            f"{fspath(study)!r})."
        )
    return write_file(path, html(study).encode())


@cache
def _template() -> Template:
    templates = environment("shortlist.report")
    templates.filters |= {"count": "{:,}".format, "utc": utc}
    return templates.get_template("page.html")


def _own(name: str) -> Markup:
    """A script or style sheet of the package, which the page contains as it is."""
    return Markup(files("shortlist.report").joinpath(name).read_text("utf-8"))  # noqa: S704
