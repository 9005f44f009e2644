"""Every algorithm and every threshold has a work to cite."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import shortlist
from report_pages import Page, page_of, study_of
from shortlist.catalog.registry import ALGORITHMS
from shortlist.engine.references import PAPER, SOFTWARE, Work, named_in, names, work
from shortlist.gifa.thresholds import THRESHOLDS
from shortlist.plans.guess_and_verify import NAMED_SETS
from shortlist.report.methods import cited

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_everything_is_cited() -> None:
    for name, algorithm in ALGORITHMS.items():
        author = re.match(r"(\w+)", algorithm.summary)
        assert author is not None
        whose = " ".join(each.full for each in algorithm.cited)
        assert author[1] in (*re.findall(r"\w+", whose), name.split(" ")[0])
    for threshold in THRESHOLDS.values():
        assert named_in(threshold.source) or threshold.source.endswith("of Réda et al. 2021")
    assert [each.bibtex[:25] for each in cited(study_of("classical"))] == [
        "@software{shortlist,\n  au",
        "@inproceedings{reda2021to",
        "@inproceedings{kalyanakri",
    ]
    for each in (SOFTWARE, work(PAPER)):
        assert each.bibtex.strip() in Page(page_of("classical")).text("pre")
    for key in set(names().values()):
        assert work(key).bibtex.count("{") == work(key).bibtex.count("}")


def test_an_algorithm_may_bring_a_work_of_its_own() -> None:
    own = Work("Doe 2026", "J. Doe. A race. 2026.", "@misc{doe2026}")
    study = shortlist.Study(
        np.eye(3), m=1, sigma=1.0, algorithm=shortlist.GIFA(name="mine", works=(own, "xu"))
    )
    assert [each.short for each in cited(study)][2:] == [
        "Doe 2026",
        "Xu, Honda and Sugiyama 2018",
        "Jedra and Proutière 2020",
    ]
    assert study.procedure.algorithm.method.startswith(
        "The algorithm was mine (Doe 2026; candidates: top means"
    )


def test_a_proof_of_our_own_is_said_to_be_ours() -> None:
    for threshold in [*THRESHOLDS.values(), NAMED_SETS]:
        if "shortlist" in threshold.source:
            [page] = re.findall(r"proof: (docs/[\w-]+\.md) of shortlist$", threshold.source)
            assert threshold.name in (ROOT / page).read_text()
    guess = ALGORITHMS["Guess-and-verify"]
    short = [each.short for each in dict.fromkeys([*guess.cited, *named_in(NAMED_SETS.source)])]
    assert short == ["Karnin 2016"]
    assert guess.credit == "this software's, after Karnin 2016"


def test_the_page_about_citing_has_the_entries_of_the_reports() -> None:
    page = (ROOT / "docs" / "citing.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    for each in (SOFTWARE, work(PAPER)):
        assert each.bibtex.strip() in page
    words = " ".join(SOFTWARE.bibtex.split())
    for said in (citation["title"], citation["authors"][0]["name"], str(citation["version"])):
        assert said in words
