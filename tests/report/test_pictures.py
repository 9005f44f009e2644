"""Pictures in the page show, and do nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from report_pages import EVIL, Page, drawings, study_of
from shortlist import report
from shortlist.report import pictures
from shortlist.report.rendering import displayable


def test_names_in_a_picture_are_words_and_nothing_else() -> None:
    import matplotlib.pyplot as pyplot

    title = EVIL + ' ]]> "quoted" & \x01 $x$'

    def draw() -> Any:
        figure, ax = pyplot.subplots()
        ax.set_title(title, parse_math=False)
        figure.suptitle("what the page says already")
        figure.supxlabel("How to read it,\nin two lines.")
        return figure

    before = pyplot.get_fignums()
    image, explained = pictures.picture(draw, label='"quoted" <b>')
    page = Page(image)
    assert explained == "How to read it, in two lines."
    assert page.shape == [("img", ("src", "alt"))]
    assert page.all("img")[0]["alt"] == '"quoted" <b>'
    [root] = drawings(page)
    assert displayable(title) in ["".join(text.itertext()) for text in root.findall(".//{*}text")]
    assert "what the page says" not in "".join(root.itertext())
    assert {node.tag.rpartition("}")[2] for node in root.iter()}.isdisjoint({"script", "img", "b"})
    assert pyplot.get_fignums() == before


def test_without_matplotlib_there_is_a_page_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.")

    monkeypatch.setattr(pictures, "load_pyplot", absent)
    page = Page(report.html(study_of("stopped")))
    assert page.all("img") == []
    assert "No pictures: pictures need matplotlib" in page.text("p")
