"""Whatever is printed into a template is inert."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from report_pages import Page
from shortlist.report.rendering import displayable, environment

PARAGRAPH = environment("shortlist.report").from_string('<p title="{{ words }}">{{ words }}</p>')


@given(st.text())
def test_any_words_are_inert(words: str) -> None:
    source = PARAGRAPH.render(words=words)
    page = Page(source)
    assert page.tags == [("p", {"title": displayable(words)})]
    assert page.text() == displayable(words)
    source.encode()


def test_markup_is_escaped_once() -> None:
    def paragraph(words: object) -> str:
        return PARAGRAPH.render(words=words).partition(">")[2]

    assert paragraph(escape("a & b")) == "a &amp; b</p>"
    assert paragraph("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;</p>"
    assert paragraph("\ud800\x00\x1b") == "\ufffd\ufffd\ufffd</p>"
