"""Pictures in the page show, and do nothing else."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from report_pages import EVIL, Page, study_of
from shortlist import report
from shortlist.report import pictures


def test_a_picture_keeps_nothing_that_acts() -> None:
    import matplotlib.pyplot as pyplot

    def draw() -> Any:
        figure, ax = pyplot.subplots()
        ax.scatter([0, 1], [0, 1], url=None, rasterized=True)
        (line,) = ax.plot([0, 1], [1, 0], gid="<b>")
        line.set_url("http://127.0.0.1/link")
        ax.bar([0], [1], hatch="//")
        ax.imshow(np.eye(2))
        ax.set_title(EVIL + " ]]> \x01 $x$", parse_math=False)
        ax.set_xscale("log")
        return figure

    before = pyplot.get_fignums()
    first = pictures.svg(draw, label='"quoted"', prefix="one")
    page = Page(first)
    assert {tag for tag, _ in page.tags} <= {"svg"} | {tag.lower() for tag in pictures.TAGS}
    assert page.all("svg")[0]["aria-label"] == '"quoted"'
    assert f"{EVIL} ]]> \ufffd $x$" in page.text("text")
    assert "127.0.0.1" not in first
    assert {image["href"][:22] for image in page.all("image")} == {"data:image/png;base64,"}  # type: ignore[index]
    ids = [value for _, attributes in page.tags if (value := attributes.get("id"))]
    assert all(value.startswith("one-") for value in ids)
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', first)) <= set(ids)
    assert page.all("pattern")
    assert pyplot.get_fignums() == before


def test_without_matplotlib_there_is_a_page_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise ImportError("pictures need matplotlib: pip install 'shortlist[plot]'.")

    monkeypatch.setattr(pictures, "load_pyplot", absent)
    page = Page(report.html(study_of("stopped")))
    assert page.all("svg") == []
    assert "No pictures: pictures need matplotlib" in page.text("p")
