"""The report: right in every state, inert whatever the names are, and good in a real browser."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortlist
from chromium import Chromium, program
from requirements import missing
from shortlist import report
from shortlist.catalog.names import algorithms
from shortlist.catalog.recommendation import FEW_DIMENSIONS
from shortlist.errors import InvalidSetting
from shortlist.report import pictures, reading, search
from shortlist.report.assumptions import assumptions
from shortlist.report.citations import REDA, SOURCES, algorithm_work, works
from shortlist.report.markup import Markup, element, printable, text
from shortlist.report.methods import cited
from shortlist.report.methods import methods as methods_of
from shortlist.report.reading import Reading
from shortlist.rules.thresholds import THRESHOLDS
from shortlist.study.insight import history as histories
from shortlist.study.insight.health import examine
from shortlist.study.insight.remaining import remaining

PAYLOAD = "document.title='owned'"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    f'"><script>{PAYLOAD}</script>',
    f"</title><script>{PAYLOAD}</script>",
    f"<svg onload={PAYLOAD}>",
    f"' onmouseover='{PAYLOAD}' x='",
    "]]>",
    "--><b>",
    "</style>",
    "</pre></main>",
    r"$\alpha$",
    "${alert(1)}",
    "a&b &lt; &#60;",
    "two\nlines",
    "\u202eright to left\u2066",
    "long " + 295 * "x",
    "🧪 漢字 naïve",
    "bad \x01\x7f",
]
EVIL = f"</h1><img src=x onerror={PAYLOAD}>"
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "script",
        "header",
        "nav",
        "main",
        "footer",
    ),
    *("section", "h1", "h2", "h3", "p", "ul", "li", "dl", "dt", "dd", "pre", "div", "button"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg"),
    *("a", "b", "bdi", "code", "span", "strong", "label", "input", "noscript"),
}


def played(
    K: int = 10,
    m: int = 3,
    *,
    most: int | None = None,
    fail: int = 0,
    seed: int = 1,
    reason: str = "TimeoutError('no answer')",
    **settings: Any,
) -> shortlist.Study:
    """A study that has come some way, or to its end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, 4))
    means = X @ [1.0, -0.5, 0.3, 0.0]
    arms = [f"compound {k}" for k in range(K)]
    settings = {"sigma": 0.3, "seed": seed, "arms": arms, "algorithm": "m-LinGapE", **settings}
    study = shortlist.Study(X, m, **{"audit": False, **settings})
    for _ in range(fail):
        study.fail(study.ask(), reason)
    while not study.done and (most is None or study.evaluations < most):
        trial = study.ask()
        study.tell(trial, means[trial.arm] + 0.3 * rng.standard_normal())
    return study


def rejected() -> shortlist.Study:
    """A study whose means are not linear in its features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shortlist.errors.LinearityRejected)
        study = played(audit=True, algorithm=None, most=9)
        for arm in range(10):
            for _ in range(3):
                study.tell(arm=arm, value=float(5 * (arm % 2)))
    return study


STUDIES: dict[str, Callable[[], shortlist.Study]] = {
    "stopped": played,  # its features are taken at their word
    "running": lambda: played(most=150, fail=3),
    "initial pulls": lambda: played(most=20),
    "just made": lambda: played(most=0),
    "heuristic": lambda: played(threshold="heuristic"),
    "heuristic, running": lambda: played(threshold="heuristic", most=30),
    "classical": lambda: played(algorithm="LUCB", most=400),
    "by default": lambda: played(algorithm=None),
    "audited": lambda: played(algorithm=None, audit=True),
    "in its audit": lambda: played(algorithm=None, audit=True, most=60),
    "not linear": rejected,
    "by default, running": lambda: played(algorithm=None, most=40, sigma=1.0, fail=1),
    "by default, begun": lambda: played(algorithm=None, most=9),
    "hostile": lambda: played(
        len(HOSTILE), arms=HOSTILE, name=EVIL, fail=2, reason=EVIL, seed=3, most=250
    ),
}


@cache
def study_of(kind: str) -> shortlist.Study:
    return STUDIES[kind]()


@cache
def page_of(kind: str) -> str:
    return report.html(study_of(kind))


@contextmanager
def undrawn() -> Iterator[None]:
    """Pages with empty pictures: nearly all of a page's time goes into drawing them."""

    def empty(draw: object, *, label: str, prefix: str) -> Markup:
        given = {"viewBox": "0 0 1 1", "width": "1pt", "height": "1pt"}
        return element("svg", **given, role="img", aria_label=label)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "svg", empty)
        yield


class Page(HTMLParser):
    """What a parser makes of a page; fails if its tags do not match."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.outside: list[tuple[str, tuple[str, ...]]] = []  # of the pictures
        self.words: list[tuple[str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}  # by the section, their cells row by row
        self.captions: dict[str, str] = {}
        self._section = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if "svg" not in self._open:
            self.outside.append((tag, tuple(key for key, _ in attrs)))
        if tag == "section":
            self._section = str(dict(attrs)["id"])
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self.tables[self._section][-1].append("")
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append((self._open[-1] if self._open else "", data))
        if "td" in self._open or "th" in self._open:
            self.tables[self._section][-1][-1] += data
        elif "caption" in self._open:
            self.captions[self._section] = self.captions.get(self._section, "") + data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, *tags: str) -> str:
        return "".join(data for tag, data in self.words if not tags or tag in tags)


# Escaping


@given(st.text())
def test_any_words_are_inert(words: str) -> None:
    page = Page(element("p", words, title=words))
    assert page.tags == [("p", {"title": printable(words)})]
    assert page.text() == printable(words)
    element("p", words).encode()


def test_markup_is_escaped_once() -> None:
    assert text(text("a & b")) == "a &amp; b"
    assert element("p", f"{element('b', 'x')}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"
    assert text("\ud800\x00\x1b") == "\ufffd\ufffd\ufffd"


# The page


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_the_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    page = Page(page_of(kind))
    assert page.all("html") == [{"lang": "en"}]
    inside = {tag.lower() for tag in pictures.TAGS}
    for tag, attributes in page.tags:
        assert tag in TAGS | inside, tag
        for key, value in attributes.items():
            assert not key.startswith("on")
            assert key not in ("src", "srcset", "action", "formaction", "xlink:href", "data")
            if key == "href":
                assert value is not None
                assert re.match(r"#|data:image/png;base64,", value)
            if key == "style":
                assert tag in inside
                assert not re.search(r"url\((?!#)|@import|expression", str(value))
    ids = [value for _, attributes in page.tags if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    pointed = re.findall(r'(?:href="|url\()#([^")]+)', page_of(kind))
    assert set(pointed) <= set(ids)
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert "url(" not in page.text("style")
    [policy] = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert str(policy).startswith("default-src 'none'; script-src 'sha256-")


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_the_page_can_be_read_aloud(kind: str) -> None:
    page = Page(page_of(kind))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) >= 3
    assert all(cell["scope"] in ("row", "col") for cell in page.all("th"))
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in page.all("svg"))


@pytest.mark.slow
def test_sections_stand_in_the_order_of_reading() -> None:
    page = Page(page_of("stopped"))
    assert [section["id"] for section in page.all("section")] == [
        *("answer", "guarantee", "progress", "health", "pictures", "arms", "failures"),
        *("settings", "hash", "methods"),
    ]


@pytest.mark.slow
def test_hostile_names_change_no_tag() -> None:
    hostile = study_of("hostile")
    tame = played(len(HOSTILE), name="tame", fail=2, reason="tame", seed=3, most=250)
    page = Page(page_of("hostile"))
    with undrawn():
        assert page.outside == Page(report.html(tame)).outside
    names = page.text("bdi")
    for name in (*hostile.problem.names, hostile.name, EVIL):
        assert printable(name) in names
    inside = "\n".join(data for tag, data in page.words if tag in ("text", "tspan"))
    assert "<img src=x onerror=alert(1)>" in inside
    assert r"$\alpha$" in inside


@pytest.mark.slow
def test_hostile_names_of_everything_else(tmp_path: Path) -> None:
    def threshold(t: int, log_det: float, constants: np.ndarray) -> float:
        return 3.0

    threshold.__name__ = EVIL
    study = played(algorithm=shortlist.GIFA(name=EVIL), threshold=threshold, name=EVIL)
    tame = played(algorithm=shortlist.GIFA(name="tame"), threshold=TAME, name="tame")
    page = Page(report.html(study))
    with undrawn():
        assert page.outside == Page(report.html(tame)).outside
    assert page.text("bdi").count(EVIL) >= 3  # the study, the algorithm, the threshold
    file = tmp_path / "<img src=x onerror=alert(1)>.db"
    stored = Page(report.html(played(storage=file, most=5)))
    assert str(file) in stored.text("bdi")
    assert stored.all("img") == []


def TAME(t: int, log_det: float, constants: np.ndarray) -> float:  # noqa: N802
    return 3.0


# What it says


def words_of(kind: str) -> str:
    return " ".join(Page(page_of(kind)).text().split())


def badges(kind: str) -> list[str]:
    source = page_of(kind)
    return re.findall(r'<span class="badge (\w+)">([^<]+)<', source[: source.index("<nav")])


@pytest.mark.slow
def test_the_answer() -> None:
    study, words = study_of("stopped"), words_of("stopped")
    assert badges("stopped") == [("good", "Stopped"), ("plain", "Proven if linear: untested")]
    found = re.search(r"Evaluations(.*?)Each interval is", words)
    assert found is not None
    places = [found[1].index(name) for name in study.shortlist.names]
    assert places == sorted(places)
    assert f"after {study.evaluations} evaluations" in words
    assert study.bound.guarantee().removeprefix("Proven:") in words
    assert "with probability at least 0.95" in words
    assert "stopped after" in words


@pytest.mark.slow
def test_a_running_study_has_no_guarantee() -> None:
    words = words_of("running")
    assert badges("running") == [("plain", "Running"), ("plain", "No guarantee yet")]
    assert "No guarantee yet: the study has not stopped." in words
    assert "The current guess" in words
    assert "Read it so" not in words
    study = study_of("running")
    assert str(remaining(study)) in words
    assert "3 × TimeoutError('no answer')" in words
    assert "No evaluation has failed" not in words


@pytest.mark.slow
def test_a_study_without_results() -> None:
    assert badges("just made") == [("plain", "Not started"), ("plain", "No guarantee yet")]
    assert "No shortlist yet: 0 of 100 initial pulls are told." in words_of("just made")
    assert "No shortlist yet: 20 of 100 initial pulls are told." in words_of("initial pulls")
    assert 'id="intervals-' not in page_of("just made")
    assert "nan" not in words_of("just made")


@pytest.mark.slow
def test_what_is_heuristic_is_called_so() -> None:
    assert badges("heuristic") == [("good", "Stopped"), ("warn", "Heuristic")]
    assert '<div class="box warn">' in page_of("heuristic")
    assert "Heuristic: no proof covers this answer" in words_of("heuristic")
    assert "Proven" not in words_of("heuristic")
    assert badges("heuristic, running")[1] == ("warn", "No guarantee yet, then heuristic")


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_health_hash_and_settings(kind: str) -> None:
    study, words = study_of(kind), words_of(kind)
    for finding in examine(study):
        assert " ".join(f"{finding.words} {finding.meaning}".split()) in words
    assert study.fingerprint in Page(page_of(kind)).text("pre")
    for value in (str(study.seed), study.bound.threshold.name, shortlist.__version__, " UTC"):
        assert value in words


@pytest.mark.slow
def test_warnings_stand_beside_the_guarantee() -> None:
    with undrawn():
        source = report.html(played(sigma=0.05, most=120))
    words = " ".join(Page(source).text().split())
    assert "Mind the warnings (noise" in words
    assert '<span class="badge warn">warning</span> noise' in source
    assert source.index(">warning<") < source.index(">fine<")
    assert "Mind the warnings" not in words_of("stopped")


def test_assumptions_are_those_of_the_study() -> None:
    def of(**settings: Any) -> dict[str, str]:
        return dict(assumptions(played(most=5, **settings)))

    plain = of()
    assert "σ = 0.3" in plain["Noise"]
    assert "N = 4 features (rank 4): θ·x" in plain["Model"]
    assert "No result was taken in before one that was asked for earlier" in plain["Order"]
    assert set(plain) == {"Noise", "Model", "Independence", "Order"}
    assert "S = 2" in of(threshold="determinant", S=2.0)["Size of θ"]
    assert "Size of θ" not in of(S=2.0)
    assert "nothing is assumed" in of(algorithm="LUCB")["Model"]
    assert "The features were not used" in of(algorithm="LUCB")["Model"]
    assert "no restriction" in of(K=4, m=1)["Model"]
    assert "Failed or cancelled: 2;" in of(fail=2)["Failures"]
    alone = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0)
    assert "features" not in dict(assumptions(alone))["Model"]


def test_results_out_of_order_are_said_to_be() -> None:
    study = played(most=5)
    first, second, third = study.ask(3)
    study.tell(second, 0.0)
    overtaken = dict(assumptions(study))["Order"]
    assert "how long an evaluation takes must not depend on its value" in overtaken
    study.tell(third, 0.0)
    study.tell(first, 0.0)
    assert dict(assumptions(study))["Order"] == overtaken
    study.tell(arm=0, value=1.0)
    assert "without having been asked for: 1." in dict(assumptions(study))["Data nobody asked for"]


# Methods


def methods(study: shortlist.Study) -> str:
    return methods_of(Reading(study))


@pytest.mark.slow
def test_methods_hold_the_numbers() -> None:
    study = study_of("running")
    words = methods(study)
    assert Page(page_of("running")).text("pre").startswith(study.fingerprint + words)
    for part in (
        "the m = 3 best of K = 10 arms",
        "N = 4 features (rank 4)",
        "The algorithm was m-LinGapE (Réda, Kaufmann and Delahaye-Duriez 2021; candidates: top "
        "means, ambiguous arm: largest gap, selection: greedy, stop: τ_LUCB, indices: paired)",
        "'self_normalized' (Jedra and Proutière 2020) with risk δ = 0.05, slack ε = 0",
        "σ = 0.3",
        "Of 150 evaluations, 100 were set beforehand (initial pulls), 50 were chosen in view of",
        f"After {study.evaluations} evaluations the study had not stopped",
        "Failed: 3; cancelled: 0; no value was made up",
        study.shortlist.guarantee,
        f"shortlist {shortlist.__version__}",
        study.fingerprint,
        ", ".join(study.shortlist.names),
    ):
        assert part in words
    assert "stopped after" in methods(study_of("stopped"))
    assert "Heuristic: no proof covers" in methods(study_of("heuristic"))


@pytest.mark.slow
def test_a_report_by_default_speaks_of_plans() -> None:
    for kind in ("by default", "by default, running", "by default, begun"):
        study, words = study_of(kind), words_of(kind)
        assert study.bound.name == "Phased"
        assert "The algorithm was Phased (Fiez, Jain, Jamieson and Ratliff 2019)." in words
        assert "initial pull" not in words.lower()
        first = len(study.bound.engine.setup.initial)
        assert f"Pulls of the first plan{first}" in words
        assert re.search(r"Of \d+ evaluations, \d+ were set beforehand \(the first plan\)", words)
    assert badges("by default")[1] == ("plain", "Proven if linear: untested")
    assert badges("audited") == [("good", "Stopped"), ("good", "Proven")]
    assert badges("in its audit")[1] == ("plain", "No guarantee yet")
    assert badges("not linear") == [
        ("warn", "Cannot stop"),
        ("warn", "Not certified: linearity rejected"),
    ]
    assert "It looks again" not in words_of("by default")
    looks = re.search(
        r"Next lookIt looks again when (\d+) more are in\.", words_of("by default, running")
    )
    assert looks is not None
    running = study_of("by default, running").round
    assert int(looks[1]) == int((running.strategy.plan - running.pulls).sum()) > 1
    begun = study_of("by default, begun")
    told = f"9 of the {len(begun.bound.engine.setup.initial)} pulls of the first plan are told."
    assert f"No shortlist yet: {told}" in words_of("by default, begun")


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


def test_names_do_not_break_the_methods() -> None:
    words = methods(study_of("hostile"))
    assert len(words.split("\n\n")) == 4
    assert "\u202e" not in words
    assert "\u2066" not in words


# The numbers, computed again


LETTERS = list("abcdefghij")
GIVEN: dict[str, dict[str, Any]] = {
    "self_normalized": {"sigma": 0.3, "epsilon": 0.0, "algorithm": "m-LinGapE"},
    "determinant": {"sigma": 0.3, "epsilon": 0.2, "threshold": "determinant", "S": 2.0},
    "lucb1": {"sigma": 0.2, "epsilon": 0.4, "algorithm": "LUCB"},
}


class Screen:
    """A study with all that was done to it, written down beside it."""

    def __init__(self, kind: str, most: int | None, last: float = 0.7) -> None:
        rng = np.random.default_rng(5)
        self.kind, self.given, self.m, self.delta = kind, GIVEN[kind], 3, 0.1
        self.x = rng.normal(size=(10, 4))
        means = self.x @ [1.0, -0.5, 0.3, 0.0]
        self.told: list[tuple[int, float]] = []
        self.initial = self.unasked = 0
        self.study = shortlist.Study(
            self.x, self.m, delta=self.delta, seed=7, arms=LETTERS, audit=False, **self.given
        )
        for reason in ("broken", "broken", "dropped"):
            self.study.fail(self.study.ask(), reason)
        self.study.cancel(self.study.ask())
        while not self.study.done and (most is None or len(self.told) < most):
            trial = self.study.ask()
            self.initial += self.study.why(trial).words.endswith("is an initial pull.")
            self.tell(trial, float(means[trial.arm] + 0.3 * rng.standard_normal()))
            if len(self.told) == 20:
                self.tell(None, 0.25)
                self.unasked += 1
        self.stop = len(self.told)
        if most is None:
            for value in (2.0, 1.5, last):  # after the stop: these change means and intervals
                self.tell(None, value)
        else:
            self.pending = len(self.study.ask(2))

    def tell(self, trial: Any, value: float) -> None:
        arm = 4 if trial is None else trial.arm
        self.told.append((arm, value))
        if trial is None:
            self.study.tell(arm=arm, value=value)
        else:
            self.study.tell(trial, value)

    def estimates(self, results: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Pulls, means, half widths, and max B_ij over candidates j and other arms i."""
        sigma, S, log = self.given["sigma"], self.given.get("S", 0.0), np.log(1.0 / self.delta)
        x = np.eye(10) if self.kind == "lucb1" else self.x
        ridge = 0.2 * (sigma / S) ** 2 if self.kind == "determinant" else 0.0
        arms = np.array([arm for arm, _ in self.told[:results]])
        values = np.array([value for _, value in self.told[:results]])
        A = x[arms].T @ x[arms]
        V = A + ridge * np.eye(x.shape[1])
        means = x @ np.linalg.solve(V, x[arms].T @ values)
        G = x @ np.linalg.inv(V) @ x.T
        if self.kind == "self_normalized":
            weakest = np.linalg.eigvalsh(10.0 * x.T @ x)[0]  # ten initial pulls of every arm
            grown = np.linalg.slogdet(np.eye(4) + A / (0.1 * weakest))[1]
            C = np.sqrt(2.2 * (log + 0.5 * grown))
        elif self.kind == "determinant":
            C = np.sqrt(2.0 * log + np.linalg.slogdet(V / ridge)[1]) + np.sqrt(ridge) * S / sigma
        else:
            C = np.sqrt(2.0 * np.log(5.0 * 10 * results**4 / (4.0 * self.delta)))
        own = np.sqrt(np.diag(G))
        apart = own[:, None] + own
        if self.kind != "lucb1":
            apart = np.sqrt(np.diag(G)[:, None] + np.diag(G) - 2.0 * G)
        B = means[:, None] - means + C * sigma * apart
        best = np.argsort(-means)
        statistic = float(B[np.ix_(best[self.m :], best[: self.m])].max())
        return np.bincount(arms, minlength=10), means, C * sigma * own, statistic


@cache
def screened(kind: str, most: int | None) -> tuple[Screen, Page]:
    screen = Screen(kind, most)
    with undrawn():
        return screen, Page(report.html(screen.study))


def shows(cell: str, value: float) -> bool:
    """Whether a cell is the value, to the last digit that it shows and to two at least."""
    digits = len(cell.partition(".")[2])
    return digits >= 2 and abs(float(cell.replace("−", "-")) - value) <= 0.501 * 10.0**-digits


def figures_in(words: str) -> list[float]:
    return [
        float(each.replace(",", "")) for each in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", words)
    ]


SCREENS = [
    *(("self_normalized", 110), ("determinant", 60), ("lucb1", 60)),
    *((kind, None) for kind in GIVEN),
]


@pytest.mark.parametrize(("kind", "most"), SCREENS)
def test_the_tables_hold_what_numpy_says(kind: str, most: int | None) -> None:
    screen, page = screened(kind, most)
    assert screen.study.done == (most is None)
    pulls, means, half, statistic = screen.estimates(screen.stop)
    best = np.argsort(-means)[: screen.m].tolist()
    head, *rows = page.tables["answer"]
    assert head == ["Rank", "Name", "Mean", "Interval", "Evaluations"]
    assert len(rows) == screen.m
    for rank, (arm, row) in enumerate(zip(best, rows, strict=True), start=1):
        low, high = row[3].split(" to ")
        assert [row[0], row[1], row[4]] == [str(rank), LETTERS[arm], str(pulls[arm])]
        assert shows(row[2], means[arm])
        assert shows(low, means[arm] - half[arm])
        assert shows(high, means[arm] + half[arm])
    assert f"after {screen.stop} evaluations" in page.captions["answer"]

    where = dict(row for row in page.tables["progress"] if len(row) == 2)
    assert where["Results taken in"] == str(len(screen.told))
    assert where["Failed"].startswith("32 × broken1 × dropped")  # 3, and then the reasons
    assert where["Cancelled"] == "1"
    assert where["Pending"] == ("2" if most else "0")
    cell, _, rest = where["Stopping statistic"].partition(";")
    assert float(cell.replace("−", "-")) == pytest.approx(statistic, rel=1e-3)
    assert rest.endswith(f"ε = {screen.given['epsilon']:g}")

    pulls, means, half, _ = screen.estimates(len(screen.told))  # this table takes in the last too
    head, *rows = page.tables["arms"]
    assert head == ["Name", "Evaluations", "Mean", "Lower", "Upper", "On the list"]
    assert [row[0] for row in rows] == [LETTERS[arm] for arm in np.argsort(-means)]
    for row in rows:
        arm = LETTERS.index(row[0])
        assert row[1] == str(pulls[arm])
        assert shows(row[2], means[arm])
        assert shows(row[3], means[arm] - half[arm])
        assert shows(row[4], means[arm] + half[arm])
        assert row[5] == ("yes" if arm in best else "")

    asked = dict(row for row in page.tables["settings"] if len(row) == 2)
    ridge = 0.2 * (screen.given["sigma"] / 2.0) ** 2 if kind == "determinant" else 0.0
    for name, value in {
        "Threshold": kind,
        "Risk, δ": "0.1",
        "Slack, ε": f"{screen.given['epsilon']:g}",
        "Noise, σ": f"{screen.given['sigma']:g}",
        "Bound on ‖θ‖, S": "2" if kind == "determinant" else "not given",
        "Arms to find, m": "3",
        "Arms, K": "10",
        "Features, N": "none used" if kind == "lucb1" else "4 (rank 4)",
        "Regularisation, λ": f"{ridge:g}",
        "Seed": "7",
    }.items():
        assert asked[name] == value


@pytest.mark.parametrize(("kind", "most"), SCREENS)
def test_the_methods_hold_what_was_written_down(kind: str, most: int | None) -> None:
    screen, page = screened(kind, most)
    design, course, worth, tools = page.text("pre").partition("We looked")[2].split("\n\n")[:4]
    given = screen.given
    assert figures_in(design) == [
        *(3, 10, 2021),
        *([] if kind == "lucb1" else [4, 4]),
        *([2012] if kind == "lucb1" else [2021]),
        *{"self_normalized": [2020], "determinant": [2011], "lucb1": [2012]}[kind],
        *(0.1, given["epsilon"], given["sigma"]),
        *([2] if kind == "determinant" else []),
    ]
    late, best = len(screen.told) - screen.stop, np.argsort(-screen.estimates(screen.stop)[1])
    chosen = screen.stop - screen.initial - screen.unasked
    parts = [part for part in (screen.initial, chosen, screen.unasked) if part]
    stopped = [screen.stop, late] if late else [screen.stop]
    assert figures_in(course) == [screen.stop, *parts, *stopped, 3, 1]
    names = ", ".join(LETTERS[arm] for arm in best[:3])
    assert course.endswith(f"The shortlist, best estimated mean first: {names}.")
    assert ("told after the stop" in course) == bool(late)
    if most is None:
        lost, unasked = 4, screen.unasked
        conditions = [unasked, lost] if unasked else [lost]
        assert figures_in(worth)[-len(conditions) :] == conditions
    # Where the spread of the results speaks against σ, that is said first.
    claim = "with probability at least" + worth.partition("with probability at least")[2]
    claimed = figures_in(claim)[: 3 if given["epsilon"] else 2]
    assert claimed == [0.9, 3, *([given["epsilon"]] if given["epsilon"] else [])]
    assert "seed 7." in tools


def test_the_hash_is_that_of_the_same_data() -> None:
    page = screened("self_normalized", None)[1]
    [own] = set(re.findall(r"\b[0-9a-f]{32}\b", page.text("pre")))
    assert page.text("pre").count(own) == 2  # by itself, and in the methods
    assert Screen("self_normalized", None).study.fingerprint == own
    assert Screen("self_normalized", None, last=0.7000001).study.fingerprint != own
    assert screened("self_normalized", 110)[0].study.fingerprint != own


# After the stop, out of order, reopened


@pytest.mark.slow
def test_results_after_the_stop_are_said_to_be() -> None:
    screen, _ = screened("self_normalized", None)
    page = Page(report.html(screen.study))
    words = " ".join(page.text().split())
    stop = screen.stop
    assert f"{stop} evaluations to the stop and 3 after it" in words
    where = dict(row for row in page.tables["progress"] if len(row) == 2)
    assert where["Told after the stop"].startswith("3; this changes neither the shortlist")
    assert page.captions["arms"].endswith("with the 3 told after the stop.")
    assert (
        f"The study stopped after {stop} evaluations. 3 results were told after the stop" in words
    )
    drawn = page.text("text", "tspan")
    assert drawn.count("the 3 results told after it do not change the answer") == 2
    assert f"{stop + 3} evaluations, stopped after {stop}" in drawn
    assert "Of these 3 after the stop" in drawn
    assert "after the stop" not in words_of("stopped")
    assert "after the stop" not in words_of("running")
    # The answer is the one of the stop, whatever came later.
    study = played()
    with undrawn():
        before = Page(report.html(study)).tables
        study.tell(arm=study.shortlist.names[0], value=-100.0)
        after = Page(report.html(study)).tables
    assert after["answer"] == before["answer"]
    assert after["arms"] != before["arms"]


@pytest.mark.slow
def test_only_what_was_done_is_said() -> None:
    def course(study: shortlist.Study) -> str:
        return methods(study).split("\n\n")[1]

    fresh = played(most=0)
    assert course(fresh) == "After 0 evaluations the study had not stopped: the list is a guess."
    begun = course(played(most=20))
    assert begun.startswith("Of 20 evaluations, 20 were set beforehand (initial pulls). After 20")
    assert "chosen" not in begun
    easy = played(sigma=1e-3, most=200)  # stops with its last initial pull
    assert easy.done
    assert course(easy).startswith("Of 100 evaluations, 100 were set beforehand (initial pulls). ")
    assert "chosen" not in course(easy)
    easy.tell(arm=0, value=0.0)
    assert "1 result was told after the stop" in course(easy)
    assert "asked for" not in course(easy)  # it came after the stop
    bare = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0, algorithm="LUCB", seed=0)
    bare.tell(arm="a", value=0.0)
    assert course(bare).startswith("Of 1 evaluation, 1 was told without having been asked for. ")
    assert "beforehand" not in course(bare)
    assert "earlier" not in course(study_of("stopped"))
    assert "taken back" not in course(study_of("stopped"))


@pytest.mark.parametrize("order", ["asked", "completion"])
def test_the_order_of_completion_is_said(order: Any) -> None:
    study = shortlist.Study(np.eye(3), 1, sigma=1.0, seed=0, epsilon=0.1)
    first = threading.Event()

    def slow_first(trial: Any) -> float:
        if trial.number == 0:
            assert first.wait(30.0)
        elif trial.number == 2:
            first.set()
        return float(trial.arm)

    with ThreadPoolExecutor(3) as pool:
        study.run(
            slow_first, executor=pool, batch=3, order=order, max_evaluations=9, progress=False
        )
    said = "Results were taken in as they came, some before others that had been asked for earlier."
    assert (said in methods(study)) == (order == "completion")


def test_reopenings_are_said() -> None:
    study = played()
    stop = study.evaluations
    assert "taken back" not in methods(study)
    study.reopen()
    said = "An earlier stop was taken back and the study reopened (after evaluations: {})."
    assert said.format(stop) in methods(study)
    while not study.done:
        study.tell(study.ask(), 0.0)
    again = study.evaluations
    assert f"{said.format(stop)} The study stopped after {again} evaluations." in methods(study)
    study.tell(arm=0, value=0.0)
    study.reopen()
    assert said.format(f"{stop}, {again + 1}") in methods(study)
    assert "after the stop" not in methods(study)


@pytest.mark.slow
def test_what_takes_long_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*args: Any, **more: Any) -> Any:
            calls[name] += 1
            return original(*args, **more)

        monkeypatch.setattr(module, name, call)

    for module in (reading, histories):
        counted(module, "history")
    counted(reading, "examine")
    counted(reading, "remaining")
    study = played()
    study.tell(arm=0, value=0.0)
    report.html(study)
    assert calls == {"history": 1, "examine": 1, "remaining": 1}


# Many arms


@pytest.mark.slow
@pytest.mark.parametrize(("m", "first"), [(10, 0), (900, 400), (1990, 1000)])
def test_of_two_thousand_arms_those_around_the_boundary_are_listed(m: int, first: int) -> None:
    study = played(2000, m, most=41)
    page = Page(source := report.html(study))
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
    # Pictures name up to 30 arms; the dots of the plane are pixels, as its scale of colours is.
    assert page.text("text").count("compound") < 200
    assert source.count("<use") < 500
    assert 2 <= len(page.all("image")) <= 3
    assert len(source.encode()) < 1_500_000


@pytest.mark.slow
def test_before_the_first_result_the_first_thousand_arms_are_listed() -> None:
    page = Page(report.html(played(1200, 2, most=0)))
    assert [row[0] for row in page.tables["arms"][1:]] == [f"compound {k}" for k in range(1000)]
    assert page.captions["arms"] == "Arms 1 to 1,000 of 1,200."
    assert "200 of 1,200 are not listed" in " ".join(page.text().split())


@pytest.mark.slow
def test_two_hundred_arms_are_below_two_megabytes() -> None:
    assert len(report.html(played(200, 10, most=600)).encode()) < 2_000_000


# The search


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
    assert held["name"] == [printable(name) for name in table["name"]]
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


def shows_roughly(cell: str, value: float) -> bool:
    return abs(float(cell) - value) <= 0.501 * 10.0 ** -len(cell.partition(".")[2])


@pytest.mark.slow
@given(st.lists(st.text(), min_size=21, max_size=40, unique_by=printable))
def test_any_names_are_held_and_end_no_script(names: list[str]) -> None:
    arms = pd.DataFrame({"name": names, "pulls": 0, "in_shortlist": False})
    for column in ("mean", "lower", "upper"):
        arms[column] = -0.25
    source = search.search(arms, 1, 2, "best")
    page = Page(source)
    assert [tag for tag, _ in page.tags] == ["p", "label", "input", "noscript", "p", "script"]
    assert json.loads(page.text("script"))["name"] == [printable(name) for name in names]
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
    monkeypatch.setattr(search, "MOST", 1100 * (len("compound 999") + search.NUMBERS))
    with undrawn():
        source = report.html(study)
    held = every_arm(source)["name"]
    assert 1050 < len(held) < 1150
    best = study.table().sort_values("mean", ascending=False, kind="stable")["name"]
    assert held == best.tolist()[: len(held)]
    assert f"Search the {len(held):,} best of 1,200 arms by name" in Page(source).text("label")


# Writing


@pytest.mark.slow
def test_the_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.html"
    study = study_of("just made")
    assert report.write(study, place) == place
    assert place.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    place.write_text("old")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InvalidSetting, match="No space left on device"):
            report.write(study, place)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert place.read_text() == "old"
    with pytest.raises(InvalidSetting, match=r"[Nn]ame a file in a folder that exists"):
        report.write(study, tmp_path / "nowhere" / "report.html")
    with pytest.raises(InvalidSetting, match="is not a plain file"):
        report.write(study, tmp_path)


# Pictures


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


@pytest.mark.slow
def test_colours_can_be_told_apart() -> None:
    style = Page(page_of("stopped")).text("style")
    light, dark = re.findall(r":root \{(.*?)\}", style, flags=re.S)

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    for block in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for ink in ("ink", "quiet", "link", "good", "warn", "bad"):
            papers = ["paper", "shade"] + [f"{ink}-shade"] * (f"{ink}-shade" in colours)
            for paper in papers:
                a, b = sorted((luminance(colours[ink]), luminance(colours[paper])))
                assert (b + 0.05) / (a + 0.05) >= 4.5, (ink, paper)  # WCAG 2, level AA


# In a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if program() is None:
        missing("Chromium")
    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with Chromium(tmp_path_factory.mktemp("profile"), rules) as chromium:
        chromium.do("Browser.grantPermissions", permissions=["clipboardReadWrite"])
        yield chromium


@pytest.fixture
def fresh(browser: Chromium) -> Chromium:
    browser.screen(1000, 900)
    for notes in (browser.requests, browser.complaints, browser.dialogs):
        notes.clear()
    return browser


@pytest.fixture
def outside() -> Iterator[tuple[str, list[str]]]:
    """A server that a page might call, and the calls that it got."""
    calls: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            calls.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", calls
    server.shutdown()
    server.server_close()
    thread.join()


def saved(kind: str, folder: Path) -> Path:
    place = folder / "report.html"
    place.write_bytes(page_of(kind).encode())
    return place


@pytest.mark.slow
def test_hostile_names_do_nothing_in_a_browser(
    fresh: Chromium, outside: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, calls = outside
    names = [
        f"<img src={address}/image onerror={PAYLOAD}>",
        f'"><script>{PAYLOAD};fetch("{address}/script")</script>',
        f"<svg onload={PAYLOAD}><image href={address}/svg>",
        f"</style><style>body{{background:url({address}/style)}}</style>",
        f"<iframe src={address}/frame></iframe><link rel=stylesheet href={address}/link>",
        "<img src=x onerror=alert(1)>",
    ]
    study = played(len(names), 2, arms=names, name=names[0], reason=names[1], fail=1, most=100)
    place = report.write(study, tmp_path / "report.html")
    fresh.open(place)
    assert fresh.run("document.title").startswith("<img src=")
    assert fresh.dialogs == []
    assert fresh.complaints == []
    assert [each for each in fresh.requests if not each.startswith("data:")] == [place.as_uri()]
    assert calls == []
    assert fresh.run("document.querySelectorAll('img, iframe, link, svg script').length") == 0
    # The same names do all that where nobody escapes them: the test above can fail.
    (tmp_path / "naive.html").write_text(f"<title>naive</title><p>{'<p>'.join(names)}")
    fresh.open(tmp_path / "naive.html")
    assert fresh.run("document.title") == "owned"
    assert fresh.dialogs == ["1"]
    assert {"/image", "/script", "/frame", "/link"} <= set(calls)


@pytest.mark.slow
def test_the_policy_stops_what_would_slip_through(
    fresh: Chromium, outside: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, calls = outside
    slip = (
        f"<img src={address}/image onerror={PAYLOAD}><script>{PAYLOAD}</script>"
        f"<link rel=stylesheet href={address}/link><iframe src={address}/frame></iframe>"
    )
    place = tmp_path / "report.html"
    place.write_bytes(page_of("stopped").replace("</main>", f"{slip}</main>").encode())
    fresh.open(place)
    assert fresh.run("document.title") != "owned"
    assert fresh.run("document.querySelectorAll('img, iframe').length") == 2
    refused = fresh.run(f"fetch('{address}/fetch').then(() => false, () => true)")
    assert refused
    assert calls == []
    assert any("Content Security Policy" in complaint for complaint in fresh.complaints)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_seen(kind: str, dark: bool, fresh: Chromium, tmp_path: Path) -> None:
    import matplotlib.pyplot as pyplot

    fresh.screen(1000, 900, dark=dark)
    fresh.open(saved(kind, tmp_path))
    assert fresh.complaints == []
    seen = pyplot.imread(fresh.picture(tmp_path / "screen.png", whole=False))[..., :3]
    assert seen.shape == (900, 1000, 3)
    paper = seen[450, 5].mean()
    assert paper < 0.2 if dark else paper > 0.9
    ink = np.abs(seen.mean(axis=2) - paper) > 0.4
    assert 0.01 < ink.mean() < 0.5
    assert ink[:300].any()
    assert ink[600:].any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stopped", "running", "hostile"])
@pytest.mark.parametrize("width", [320, 400, 1000])
def test_only_tables_scroll_sideways(
    kind: str, width: int, fresh: Chromium, tmp_path: Path
) -> None:
    fresh.screen(width, 800)
    fresh.open(saved(kind, tmp_path))
    assert fresh.run("document.documentElement.scrollWidth") <= width
    outside = fresh.run(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, svg'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
    )
    assert outside == []


@pytest.mark.slow
def test_tables_are_sorted_by_a_click(fresh: Chromium, tmp_path: Path) -> None:
    fresh.open(saved("stopped", tmp_path))
    study = study_of("stopped")
    column = (
        "[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[{}].textContent)"
    )
    best_first = fresh.run(column.format(0))
    assert best_first == study.table().sort_values("mean", ascending=False)["name"].tolist()
    fresh.click(".sortable th:nth-child(2) button")
    pulls = [int(each.replace(",", "")) for each in fresh.run(column.format(1))]
    assert pulls == sorted(study.posterior.pulls.tolist(), reverse=True)
    fresh.click(".sortable th:nth-child(2) button")
    assert fresh.run("document.querySelector('[aria-sort]').ariaSort") == "ascending"
    assert [int(each) for each in fresh.run(column.format(1))] == sorted(pulls)
    fresh.click(".sortable th:nth-child(4) button")
    lowest_last = [float(each.replace("−", "-")) for each in fresh.run(column.format(3))]
    assert lowest_last == sorted(lowest_last, reverse=True)
    fresh.click(".sortable th:nth-child(1) button")
    assert fresh.run(column.format(0)) == sorted(best_first)
    assert fresh.complaints == []


def typed(page: Chromium, words: str) -> tuple[str, list[list[str]]]:
    """What is said and listed when words are typed into the search."""
    page.run(
        f"(f => {{ f.value = {json.dumps(words)}; f.dispatchEvent(new Event('input')); }})"
        "(document.getElementById('arm-search'))"
    )
    cells = "r => [...r.cells].map(c => c.textContent)"
    rows = f"[...document.querySelectorAll('#arms tbody tr')].map({cells})"
    return page.run("document.querySelector('#arms caption').textContent"), page.run(rows)


@pytest.mark.slow
@pytest.mark.parametrize("K", [60, 1300])
def test_arms_are_searched_by_name(K: int, fresh: Chromium, tmp_path: Path) -> None:
    names = [*HOSTILE, *(f"Compound {k}" for k in range(K - len(HOSTILE)))]
    study = played(K, 5, most=60, arms=names)
    ranked = study.table().sort_values("mean", ascending=False, kind="stable")
    with undrawn():
        place = report.write(study, tmp_path / "report.html")
    fresh.open(place)
    before = typed(fresh, "")
    assert len(before[1]) == min(K, 1000)
    said, rows = typed(fresh, "compound 2")
    found = [name for name in ranked["name"] if name.startswith("Compound 2")]
    found.sort(key=lambda name: name != "Compound 2")  # an equal name is first
    assert [row[0] for row in rows] == found[:100]
    more = "; the first 100 are shown" if len(found) > 100 else ""
    assert said == f"{len(found)} of {K:,} arms have “compound 2” in their names{more}."
    for name in HOSTILE:
        _, rows = typed(fresh, " ".join(printable(name).split()))
        arm = ranked[ranked["name"] == name].iloc[0]
        assert rows[0][0] == printable(name)
        assert rows[0][1] == str(arm["pulls"])
        numbers = [each.replace("−", "-") for each in rows[0][2:5]]
        assert all(map(shows_roughly, numbers, arm[["mean", "lower", "upper"]]))
        assert rows[0][5] == ("yes" if arm["in_shortlist"] else "")
    best = ranked["name"].iloc[0]
    typed(fresh, best)
    assert fresh.run("document.querySelector('#arms tbody tr').className") == "marked"
    assert typed(fresh, "nobody") == (f"None of {K:,} arms has “nobody” in its name.", [])
    # What is found can be sorted, and what was listed comes back.
    typed(fresh, "compound 1")
    fresh.click("#arms th:nth-child(1) button")
    sorted_names = fresh.run(
        "[...document.querySelectorAll('#arms tbody tr')].map(r => r.cells[0].textContent)"
    )
    assert sorted_names == sorted(sorted_names, key=lambda name: int(name.split()[1]))
    assert typed(fresh, " ") == before
    assert fresh.run("document.querySelectorAll('#arms [aria-sort]').length") == 0
    assert fresh.run("document.querySelectorAll('img, iframe, svg script').length") == 0
    assert fresh.dialogs == []
    assert fresh.complaints == []
    assert [each for each in fresh.requests if not each.startswith("data:")] == [place.as_uri()]


@pytest.mark.slow
def test_without_scripts_there_is_no_search(fresh: Chromium, tmp_path: Path) -> None:
    with undrawn():
        place = report.write(played(1100, 3, most=45), tmp_path / "report.html")
    seen = "document.getElementById('arm-search').checkVisibility()"
    fresh.open(place)
    assert fresh.run(seen)
    fresh.do("Emulation.setScriptExecutionDisabled", value=True)
    try:
        fresh.open(place, settle=False)
        assert not fresh.run(seen)
        assert "scripts are needed" in fresh.run("document.body.innerText")
        assert len(fresh.run("document.body.innerText")) < 150_000  # the data are not seen
    finally:
        fresh.do("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.slow
@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "selection"])
def test_the_methods_are_copied(clipboard: bool, fresh: Chromium, tmp_path: Path) -> None:
    fresh.open(saved("stopped", tmp_path))
    if not clipboard:
        fresh.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    fresh.click("button.copy")
    fresh.settle()
    assert fresh.run("document.querySelector('button.copy').textContent") == "Copied"
    if clipboard:
        assert fresh.run("navigator.clipboard.readText()") == methods(study_of("stopped"))
    else:
        assert fresh.run("getSelection().toString()").startswith("We looked for")


@pytest.mark.slow
def test_the_page_needs_no_script(fresh: Chromium, tmp_path: Path) -> None:
    fresh.do("Emulation.setScriptExecutionDisabled", value=True)
    try:
        fresh.open(saved("stopped", tmp_path), settle=False)
        dead = "[...document.querySelectorAll('button')].filter(e => e.checkVisibility()).length"
        assert fresh.run(dead) == 0
        shown = fresh.run("document.body.innerText")
    finally:
        fresh.do("Emulation.setScriptExecutionDisabled", value=False)
    for words in (
        "Proven if the means are linear",
        "compound 0",
        "We looked for",
        "@inproceedings",
    ):
        assert words in shown
    fresh.open(saved("stopped", tmp_path))
    assert fresh.run(dead) == 6 + 2  # headings of the table, and copies


@pytest.mark.slow
def test_it_prints_on_a4(fresh: Chromium, tmp_path: Path) -> None:
    fresh.screen(1000, 900, dark=True)
    fresh.open(saved("stopped", tmp_path))
    printed = fresh.pdf(tmp_path / "report.pdf").read_bytes()
    sheets = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert 3 <= len(sheets) <= 12
    assert {(round(float(w)), round(float(h))) for w, h in sheets} == {(595, 842)}
