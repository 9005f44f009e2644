"""The table of the arms, and what the page holds for the search."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_pages import HOSTILE, Page, page_of, played, shows_roughly, undrawn, words_of
from shortlist import report
from shortlist.report import arms
from shortlist.report.page import _template
from shortlist.report.rendering import displayable


@pytest.mark.slow
@pytest.mark.parametrize(("m", "first"), [(10, 0), (900, 400), (1990, 1000)])
def test_of_two_thousand_arms_those_around_the_boundary_are_listed(m: int, first: int) -> None:
    study = played(2000, m, most=41)
    with undrawn():
        page = Page(report.html(study))
    ranked = study.table().sort_values("mean", ascending=False)["name"].tolist()
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
    assert page.text("text").count("compound") < 200
    assert source.count("<use") < 500
    assert 2 <= len(page.all("image")) <= 3
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


def every_arm(source: str) -> dict[str, Any]:
    """What a page holds of every arm, columns of words."""
    [held] = re.findall(r'<script type="application/json" id="every-arm">(.*?)</script>', source)
    columns = json.loads(held)
    return {
        each: words.split(" ") if isinstance(words, str) else words
        for each, words in columns.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 41])
def test_the_page_of_a_large_study_holds_every_arm(most: int) -> None:
    names = [*HOSTILE, *(f"compound {k}" for k in range(1200 - len(HOSTILE)))]
    study = played(1200, 30, most=most, arms=names)
    with undrawn():
        page = Page(source := report.html(study))
    held, table = every_arm(source), study.table()
    if most:
        table = table.sort_values("mean", ascending=False, kind="stable")
    assert held["name"] == [displayable(name) for name in table["name"]]
    assert held["pulls"] == [f"{pulls:,}" for pulls in table["pulls"]]
    assert held["inside"] == np.flatnonzero(table["in_shortlist"]).tolist()
    for column in ("mean", "lower", "upper"):
        if most:
            assert all(map(shows_roughly, held[column], table[column]))
        else:
            assert set(held[column]) == {"–"}
    # The arms that are listed are the same words.
    for k, row in enumerate(page.tables["arms"][1:]):
        words = [held[column][k] for column in ("name", "pulls", "mean", "lower", "upper")]
        inside = "yes" if k in held["inside"] else ""
        assert row == [words[0], words[1], *(each.replace("-", "−") for each in words[2:]), inside]
    assert len(page.all("script")) == 2
    assert "Search all 1,200 arms by name" in page.text("label")


@pytest.mark.slow
@given(st.lists(st.text(), min_size=21, max_size=40, unique_by=displayable))
def test_any_names_are_held_and_end_no_script(names: list[str]) -> None:
    table = pd.DataFrame({"name": names, "pulls": 0, "in_shortlist": False})
    for column in ("mean", "lower", "upper"):
        table[column] = -0.25
    macros = _template().environment.get_template("macros.html").module
    source = macros.search(arms.search(table, 1, 2, "best"))  # type: ignore[attr-defined]
    page = Page(source)
    assert [tag for tag, _ in page.tags] == ["p", "label", "input", "noscript", "p", "script"]
    assert json.loads(page.text("script"))["name"] == [displayable(name) for name in names]
    source.encode()


@pytest.mark.slow
def test_hostile_names_of_many_arms_change_no_tag() -> None:
    rest = [f"compound {k}" for k in range(1100 - len(HOSTILE))]
    tame = [f"tame {k}" for k in range(len(HOSTILE))]
    page = Page(report.html(played(1100, 3, most=45, arms=[*HOSTILE, *rest])))
    with undrawn():
        other = Page(report.html(played(1100, 3, most=45, arms=[*tame, *rest])))
    assert page.outside == other.outside


@pytest.mark.slow
def test_the_search_of_few_and_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "arm-search" not in page_of("stopped").partition("<script")[0]
    with undrawn():
        source = report.html(played(21, 3, most=45))
    assert "Search all 21 arms by name" in Page(source).text("label")
    assert "every-arm" not in source.partition("<script")[0]  # they are in the table
    study = played(1200, 3, most=45)
    monkeypatch.setattr(arms, "MOST", 1100 * (len("compound 999") + arms.NUMBERS))
    with undrawn():
        source = report.html(study)
    held = every_arm(source)["name"]
    assert 1050 < len(held) < 1150
    best = study.table().sort_values("mean", ascending=False, kind="stable")["name"]
    assert held == best.tolist()[: len(held)]
    assert f"Search the {len(held):,} best of 1,200 arms by name" in Page(source).text("label")
