"""Studies in every state, their reports, and what a parser makes of a page."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from markupsafe import Markup, escape

import shortlist
from once import once
from shortlist import report
from shortlist.report import pictures
from shortlist.report.analysis import Analysis
from shortlist.report.methods import methods as methods_of

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
    study = shortlist.Study(X, m, **{"audit": False, "intercept": False, **settings})
    for trial in study.ask(fail) if fail else []:
        study.fail(trial, reason)
    with warnings.catch_warnings():  # what the page says of it is what is tested
        for category in (shortlist.errors.GuaranteeInDoubt, shortlist.errors.LikelyTie):
            warnings.simplefilter("ignore", category)
        while not study.done and (most is None or study.evaluations < most):
            trial = study.ask()
            study.tell(trial, means[trial.arm] + 0.3 * rng.standard_normal())
    return study


def rejected() -> shortlist.Study:
    """A study whose means are not linear in its features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shortlist.errors.LinearityRejected)
        study = played(audit=True, algorithm=None, most=0)
        with contextlib.suppress(shortlist.errors.LinearityRejected):
            while True:
                trial = study.ask()
                study.tell(trial, float(5 * (trial.arm % 2)))
    return study


STUDIES: dict[str, Callable[[], shortlist.Study]] = {
    "stopped": played,  # its features are taken as given
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
    "by default, running": lambda: played(algorithm=None, most=60, fail=1),
    "by default, begun": lambda: played(algorithm=None, most=9),
    "hostile": lambda: played(
        len(HOSTILE), arms=HOSTILE, name=EVIL, fail=2, reason=EVIL, seed=3, most=250
    ),
}

# Their pictures are those of the others, with other numbers.
UNDRAWN = {
    *("initial pulls", "heuristic", "heuristic, running", "audited", "in its audit"),
    *("by default, begun", "by default, running"),
}


@cache
def study_of(kind: str) -> shortlist.Study:
    return STUDIES[kind]()


@cache
def page_of(kind: str) -> str:
    """The report, made by the first process of the tests that wants it."""

    def make(place: Path) -> None:
        with undrawn() if kind in UNDRAWN else nullcontext():
            place.write_bytes(report.html(study_of(kind)).encode())

    return once(f"report-{kind}.html", make).read_bytes().decode()


@contextmanager
def undrawn() -> Iterator[None]:
    """Pages with empty pictures: nearly all of a page's time goes into drawing them."""

    def empty(draw: object, label: str) -> tuple[Markup, str]:
        return Markup(f'<img src="data:image/svg+xml," alt="{escape(label)}">'), ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "picture", empty)
        yield


class Page(HTMLParser):
    """What a parser makes of a page; fails if its tags do not match."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shape: list[tuple[str, tuple[str, ...]]] = []  # tags with their attributes
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
        self.shape.append((tag, tuple(key for key, _ in attrs)))
        if tag == "section":
            self._section = str(dict(attrs)["id"])
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self.tables[self._section][-1].append("")
        if tag not in ("img", "meta", "input", "link"):
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


def words_of(kind: str) -> str:
    return " ".join(Page(page_of(kind)).text().split())


def badges(kind: str) -> list[str]:
    source = page_of(kind)
    return re.findall(r'<span class="badge (\w+)">([^<]+)<', source[: source.index("<nav")])


def methods(study: shortlist.Study) -> str:
    return methods_of(Analysis(study))


LETTERS = list("abcdefghij")
GIVEN: dict[str, dict[str, Any]] = {
    "self_normalized": {"sigma": 0.3, "epsilon": 0.0, "algorithm": "m-LinGapE"},
    "frequentist": {"sigma": 0.3, "epsilon": 0.2, "threshold": "frequentist", "S": 2.0},
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
        settings = {"arms": LETTERS, "audit": False, "intercept": False, **self.given}
        self.study = shortlist.Study(self.x, self.m, delta=self.delta, seed=7, **settings)
        for trial, reason in zip(self.study.ask(3), ("broken", "broken", "dropped"), strict=True):
            self.study.fail(trial, reason)
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shortlist.errors.GuaranteeInDoubt)
            if trial is None:
                self.study.tell(arm=arm, value=value)
            else:
                self.study.tell(trial, value)

    def estimates(self, results: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Pulls, means, half widths, and max B_ij over candidates j and other arms i."""
        sigma, S, log = self.given["sigma"], self.given.get("S", 0.0), np.log(1.0 / self.delta)
        x = np.eye(10) if self.kind == "lucb1" else self.x
        ridge = (sigma / 20.0) ** 2 if self.kind == "frequentist" else 0.0
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
        elif self.kind == "frequentist":
            longest = np.square(x).sum(axis=1).max()
            spread = 4.0 * np.log1p((results + 1) * longest / (4.0 * ridge))
            C = np.sqrt(2.0 * log + spread) + np.sqrt(ridge) * S / sigma
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


def figures_in(words: str) -> list[float]:
    return [
        float(each.replace(",", "")) for each in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", words)
    ]


SCREENS = [
    *(("self_normalized", 110), ("frequentist", 60), ("lucb1", 60)),
    *((kind, None) for kind in GIVEN),
]


def drawings(page: Page) -> list[ElementTree.Element]:
    """The pictures of a page."""
    coded = [str(image["src"]).partition(",")[2] for image in page.all("img")]
    return [ElementTree.fromstring(unquote(each)) for each in coded]
