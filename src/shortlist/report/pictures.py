"""Pictures of a study, as SVG images within the page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from shortlist import plot
from shortlist.plot.figure import load_pyplot
from shortlist.report.analysis import Analysis
from shortlist.report.rendering import displayable
from shortlist.report.tables import number
from shortlist.study.view import before_the_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Text stays text: the reader's own fonts show names that matplotlib has no glyphs for.
SVG = {"svg.fonttype": "none", "svg.hashsalt": "shortlist"}
DPI = 150  # of layers drawn as pixels


def pictures(analysis: Analysis) -> dict[str, Any]:
    """A title, an image and what it shows for each picture, and a note on those left out."""
    drawn = []
    for title, shows, draw in _drawings(analysis):
        try:
            image, explained = picture(draw, f"{title}. {shows}")
            drawn.append((title, image, f"{shows} {explained}"))
        except ImportError as error:
            return {"drawn": [], "note": f"No pictures: {error}"}
    note = ""
    if analysis.study.statistic is None:
        note = (
            "The means, their intervals and the way to the stop are drawn once the stop is looked "
            f"for. {before_the_rounds(analysis.study)}"
        )
    return {"drawn": drawn, "note": note}


def _drawings(analysis: Analysis) -> Iterator[tuple[str, str, Callable[[], Figure]]]:
    """A title, what is to be seen, and what draws it."""
    study = analysis.study
    if study.statistic is not None:
        yield (
            "Means and intervals",
            "The estimated mean of each arm, and what the stop compares.",
            lambda: plot.intervals(study, history=analysis.past),
        )
        yield (
            "Towards the stop",
            f"{study.aim.statistic_words} The last one: {number(study.statistic)}.",
            lambda: plot.stopping(study, projection=analysis.remaining),
        )
        yield (
            "Intervals over time",
            "How the intervals shrank as results came in.",
            lambda: plot.shrinking(study, history=analysis.past),
        )
    if study.trials:
        yield (
            "Where the evaluations went",
            "How many evaluations each arm was given.",
            lambda: plot.pulls(study),
        )
    if not study.problem.is_classical:
        yield (
            "The arms by their features",
            "The arms in the plane in which their features differ most.",
            # Before the stop is looked for there is no past to go through.
            lambda: plot.plane(study, history=None if study.statistic is None else analysis.past),
        )


def picture(draw: Callable[[], Figure], label: str) -> tuple[Markup, str]:
    """What ``draw`` draws, as an SVG image within the page, and its caption, which is not in it.

    It has no background and no title: the page has both. Browsers run no script of an image and load nothing for it, so that a name in it can only be
    seen. The label says what it shows, for those who do not see it.
    """
    pyplot = load_pyplot()
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg = io.StringIO()
    with warnings.catch_warnings(), pyplot.rc_context(SVG):
        # The reader's fonts may have what ours lack.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing", category=UserWarning)
        figure = draw()
        explained = " ".join(figure.get_supxlabel().split("\n"))
        for words in (figure.suptitle(""), figure.supxlabel("")):
            words.set_in_layout(False)
        for background in (figure.patch, *(ax.patch for ax in figure.axes)):
            background.set_alpha(0.0)
        figure.set_dpi(DPI)
        # What savefig does too, after it has drawn everything once to lay it out.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(svg, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    # matplotlib escapes what names contain, but for characters that no XML may hold.
    data = quote(displayable(svg.getvalue()), safe=" ()*+,/:;=")
    image = Markup('<img src="data:image/svg+xml,{}" alt="{}">').format(data, displayable(label))
    return image, explained
