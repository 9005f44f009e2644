"""Pictures of a study, written into the page as SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

from shortlist import plot
from shortlist.plot.figure import load_pyplot
from shortlist.report.analysis import Analysis
from shortlist.report.rendering import displayable
from shortlist.study.view import before_the_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What matplotlib writes and the page needs; everything else is left out.
TAGS = frozenset(
    {"clipPath", "defs", "g", "image", "path", "pattern", "rect", "text", "tspan", "use"}
)
ATTRIBUTES = frozenset(
    {
        *("clip-path", "d", "fill", "height", "href", "id", "patternTransform", "patternUnits"),
        *("preserveAspectRatio", "style", "transform", "width", "x", "y"),
    }
)
EMBEDDED = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]+")
# Text stays text: the reader's own fonts show names that matplotlib has no glyphs for.
SVG = {"svg.fonttype": "none", "svg.hashsalt": "shortlist"}
DPI = 150  # of layers drawn as pixels


def pictures(analysis: Analysis) -> dict[str, Any]:
    """A title, a sentence and an SVG element for each picture, and a note on those left out."""
    drawn = []
    for name, title, shows, draw in _drawings(analysis):
        try:
            drawn.append((title, shows, svg(draw, label=f"{title}. {shows}", prefix=name)))
        except ImportError as error:
            return {"drawn": [], "note": f"No pictures: {error}"}
    note = ""
    if analysis.study.statistic is None:
        note = (
            "The means, their intervals and the way to the stop are drawn once the stop is looked "
            f"for. {before_the_rounds(analysis.study)}"
        )
    return {"drawn": drawn, "note": note}


def _drawings(analysis: Analysis) -> Iterator[tuple[str, str, str, Callable[[], Figure]]]:
    """A name, a title, what is to be seen, and what draws it."""
    study = analysis.study
    if study.statistic is not None:
        yield (
            "intervals",
            "Means and intervals",
            "The estimated mean of each arm, and what the stop compares.",
            lambda: plot.intervals(study, history=analysis.past),
        )
        yield (
            "stopping",
            "Towards the stop",
            "The statistic that must fall to ε, over the evaluations."
            if study.budget is None
            else "How much better the challenger may still be, each time the results were looked at.",
            lambda: plot.stopping(study, projection=analysis.remaining),
        )
        yield (
            "shrinking",
            "Intervals over time",
            "How the intervals shrank as results came in.",
            lambda: plot.shrinking(study, history=analysis.past),
        )
    if study.trials:
        yield (
            "pulls",
            "Where the evaluations went",
            "How many evaluations each arm was given.",
            lambda: plot.pulls(study),
        )
    if not study.problem.is_classical:
        yield (
            "plane",
            "The arms by their features",
            "The arms in the plane in which their features differ most.",
            # Before the stop is looked for there is no past to go through.
            lambda: plot.plane(study, history=None if study.statistic is None else analysis.past),
        )


def svg(draw: Callable[[], Figure], *, label: str, prefix: str) -> Markup:
    """What ``draw`` draws, as an SVG element without a script, a link or a style sheet.

    The label says what it shows, for those who do not see it. The prefix is put before every id, so
    that the pictures of a page do not share any.
    """
    pyplot = load_pyplot()
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    page = io.StringIO()
    with warnings.catch_warnings(), pyplot.rc_context(SVG):
        # The reader's fonts may have what ours lack.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing", category=UserWarning)
        figure = draw()
        figure.set_dpi(DPI)
        # What savefig does too, after it has drawn everything once to lay it out.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(page, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    # What matplotlib wrote is well-formed but for characters that no XML may hold.
    root = ElementTree.fromstring(displayable(page.getvalue()))  # noqa: S314
    size = {key: root.attrib[key] for key in ("viewBox", "width", "height")}
    clean = ElementTree.Element("svg", {**size, "role": "img", "aria-label": displayable(label)})
    _copy(root, clean, prefix)
    # Every element has an end tag, since the page is HTML and not XML.
    return Markup(ElementTree.tostring(clean, "unicode", short_empty_elements=False))  # noqa: S704


def _copy(source: ElementTree.Element, target: ElementTree.Element, prefix: str) -> None:
    """Copy the children with the tags, attributes and words that are wanted."""
    for node in source:
        tag = _local(node.tag)
        if tag in TAGS:
            copy = ElementTree.SubElement(target, tag)
            copy.text = node.text if tag in ("text", "tspan") else None
            for key, value in node.attrib.items():
                kept = _attribute(_local(key), value, prefix)
                if kept is not None:
                    copy.set(_local(key), kept)
            _copy(node, copy, prefix)


def _attribute(key: str, value: str, prefix: str) -> str | None:
    """The value, pointing to nothing but this picture; None for one that is not wanted."""
    if key not in ATTRIBUTES:
        return None
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href":
        if value.startswith("#"):
            return f"#{prefix}-{value[1:]}"
        return value if EMBEDDED.fullmatch(value) else None
    return value.replace("url(#", f"url(#{prefix}-")


def _local(name: str) -> str:
    """The name of a tag or an attribute without its namespace."""
    return name.rpartition("}")[2]
