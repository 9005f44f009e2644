"""Every algorithm and every threshold has a work to cite."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from report_pages import Page, page_of, study_of
from shortlist.catalog.names import algorithms
from shortlist.plans.difference_bounds import CONTRAST_MIXTURE
from shortlist.plans.guess_and_verify import NAMED_SETS
from shortlist.report.citations import NAMES, REDA, SOFTWARE, algorithm_work, works
from shortlist.report.methods import cited
from shortlist.rules.thresholds import THRESHOLDS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_everything_is_cited() -> None:
    for name, about in algorithms().items():
        author = re.match(r"(\w+)", about)
        assert author is not None
        beside = works(name, "")[2:]  # the software and the paper are behind all of them
        whose = " ".join(work.full for work in [algorithm_work(name), *beside])
        assert author[1] in (*re.findall(r"\w+", whose), name.split(" ")[0])
    assert any(
        "Tirinzoni" in work.full for work in works("m-LinGapE with a pilot and elimination", "")
    )
    for threshold in THRESHOLDS.values():
        named = [name for name in NAMES if name in threshold.source]
        assert named or threshold.source.endswith("of the paper")
    assert [work.bibtex[:25] for work in cited(study_of("classical"))] == [
        "@software{shortlist,\n  au",
        "@inproceedings{reda2021to",
        "@inproceedings{kalyanakri",
    ]
    for work in (SOFTWARE, REDA):
        assert work.bibtex.strip() in Page(page_of("classical")).text("pre")
    for work in NAMES.values():
        assert work.bibtex.count("{") == work.bibtex.count("}")


def test_a_proof_of_our_own_is_said_to_be_ours() -> None:
    for threshold in [*THRESHOLDS.values(), NAMED_SETS, CONTRAST_MIXTURE]:
        if "shortlist" in threshold.source:
            [page] = re.findall(r"proof: (docs/[\w-]+\.md) of shortlist$", threshold.source)
            assert threshold.name in (ROOT / page).read_text()
    short = [work.short for work in works("Guess-and-verify", NAMED_SETS.source)]
    assert short[2:] == ["Karnin 2016", "Robbins 1970"]


def test_the_page_about_citing_has_the_entries_of_the_reports() -> None:
    page = (ROOT / "docs" / "citing.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    for work in (SOFTWARE, REDA):
        assert work.bibtex.strip() in page
    words = " ".join(SOFTWARE.bibtex.split())
    for said in (citation["title"], citation["authors"][0]["name"], str(citation["version"])):
        assert said in words
