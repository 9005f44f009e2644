"""Every algorithm and every threshold has a work to cite."""

from __future__ import annotations

import re

import pytest

from report_pages import Page, page_of, study_of
from shortlist.catalog.names import algorithms
from shortlist.catalog.recommendation import FEW_DIMENSIONS
from shortlist.report.citations import REDA, SOURCES, algorithm_work, works
from shortlist.report.methods import cited
from shortlist.rules.thresholds import THRESHOLDS


@pytest.mark.slow
def test_everything_is_cited() -> None:
    for name, about in algorithms().items():
        author = re.match(r"(\w+)", about)
        assert author is not None
        beside = works(name, "")[1:]  # after the paper, which is behind all of them
        whose = " ".join(work.full for work in [algorithm_work(name), *beside])
        assert author[1] in (*re.findall(r"\w+", whose), name.split(" ")[0])
    assert any("Tirinzoni" in work.full for work in works(FEW_DIMENSIONS.name, ""))
    for threshold in THRESHOLDS.values():
        assert threshold.source in SOURCES or threshold.source.endswith("of the paper")
    assert [work.bibtex[:25] for work in cited(study_of("classical"))] == [
        "@inproceedings{reda2021to",
        "@inproceedings{kalyanakri",
    ]
    assert REDA.bibtex in Page(page_of("classical")).text("pre")
    for work in SOURCES.values():
        assert work.bibtex.count("{") == work.bibtex.count("}")
