"""The table of the arms."""

from __future__ import annotations

import pytest

from report_pages import HOSTILE, Page, drawings, played, undrawn, words_of
from shortlist import report


@pytest.mark.slow
@pytest.mark.parametrize(("m", "first"), [(10, 0), (900, 400), (1990, 1000)])
def test_of_two_thousand_arms_those_around_the_boundary_are_listed(m: int, first: int) -> None:
    study = played(2000, m, most=41)
    with undrawn():
        page = Page(report.html(study))
    ranked = study.table().sort_values("estimate", ascending=False).index.tolist()
    assert [row[0] for row in page.tables["arms"][1:]] == ranked[first : first + 1000]
    assert f"Arms {first + 1:,} to {first + 1000:,} of 2,000" in page.captions["arms"]
    assert f"around rank m = {m:,}" in page.captions["arms"]
    assert len(page.tables["answer"]) == 1 + min(m, 1000)
    beyond = "1,000 of 2,000 are not listed. All are written by shortlist export --table, and in"
    words = " ".join(page.text().split())
    assert beyond in words
    assert ("990 of 1,990 are not listed" in words) == (m == 1990)
    assert "not listed" not in words_of("stopped")


@pytest.mark.slow
def test_pictures_of_two_thousand_arms_stay_small() -> None:
    page = Page(source := report.html(played(2000, 900, most=41)))
    # Pictures name up to 30 arms; the dots of the plane are pixels, as its scale of colours is.
    drawn = drawings(page)
    assert sum("".join(root.itertext()).count("compound") for root in drawn) < 200
    assert sum(len(root.findall(".//{*}use")) for root in drawn) < 500
    assert 2 <= sum(len(root.findall(".//{*}image")) for root in drawn) <= 3
    assert len(source.encode()) < 1_500_000


@pytest.mark.slow
def test_before_the_first_result_the_first_thousand_arms_are_listed() -> None:
    with undrawn():
        page = Page(report.html(played(1200, 2, most=0)))
    assert [row[0] for row in page.tables["arms"][1:]] == [f"compound {k}" for k in range(1000)]
    assert page.captions["arms"] == "Arms 1 to 1,000 of 1,200."
    assert "200 of 1,200 are not listed" in " ".join(page.text().split())


@pytest.mark.slow
def test_two_hundred_arms_are_below_two_megabytes() -> None:
    assert len(report.html(played(200, 10, most=600)).encode()) < 2_000_000


@pytest.mark.slow
def test_hostile_names_of_many_arms_change_no_tag() -> None:
    rest = [f"compound {k}" for k in range(1100 - len(HOSTILE))]
    tame = [f"tame {k}" for k in range(len(HOSTILE))]
    page = Page(report.html(played(1100, 3, most=45, arms=[*HOSTILE, *rest])))
    with undrawn():
        other = Page(report.html(played(1100, 3, most=45, arms=[*tame, *rest])))
    assert page.shape == other.shape
