"""The page is right in every state, inert whatever the names are, and good in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shortlist
from chromium import Chromium
from report_pages import (
    EVIL,
    HOSTILE,
    LETTERS,
    PAYLOAD,
    SCREENS,
    STUDIES,
    UNDRAWN,
    Page,
    Screen,
    badges,
    drawings,
    methods,
    page_of,
    played,
    screened,
    study_of,
    undrawn,
    words_of,
)
from shortlist import report
from shortlist.errors import InvalidSetting
from shortlist.report.rendering import displayable
from shortlist.study.insight.health import examine
from shortlist.study.insight.remaining import remaining

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
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "img"),
    *("a", "b", "bdi", "code", "span", "strong"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_the_page_is_well_formed_and_asks_for_nothing(kind: str) -> None:
    page = Page(page_of(kind))
    assert page.all("html") == [{"lang": "en"}]
    for tag, attributes in page.tags:
        assert tag in TAGS, tag
        for key, value in attributes.items():
            assert not key.startswith("on")
            assert key not in ("srcset", "action", "formaction", "xlink:href", "data", "style")
            if key == "src":
                drawn = re.fullmatch(r"data:image/svg\+xml,([-\w %()*+,./:;=~]*)", str(value))
                assert drawn is not None
                assert bool(drawn[1]) == (kind not in UNDRAWN)
            if key == "href":
                assert str(value).startswith("#")
    ids = [value for _, attributes in page.tags if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    pointed = re.findall(r'href="#([^"]+)', page_of(kind))
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
    assert all(picture["alt"] for picture in page.all("img"))


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
        assert page.shape == Page(report.html(tame)).shape
    names = page.text("bdi")
    for name in (*hostile.problem.names, hostile.name, EVIL):
        assert displayable(name) in names
    drawn = "".join("".join(root.itertext()) for root in drawings(page))
    assert "<img src=x onerror=alert(1)>" in drawn
    assert r"$\alpha$" in drawn


@pytest.mark.slow
def test_hostile_names_of_everything_else(tmp_path: Path) -> None:
    def threshold(t: int, log_det: float, constants: np.ndarray) -> float:
        return 3.0

    threshold.__name__ = EVIL
    study = played(algorithm=shortlist.GIFA(name=EVIL), threshold=threshold, name=EVIL)
    tame = played(algorithm=shortlist.GIFA(name="tame"), threshold=TAME, name="tame")
    with undrawn():  # names in pictures: the test before
        page = Page(report.html(study))
        assert page.shape == Page(report.html(tame)).shape
    assert page.text("bdi").count(EVIL) >= 3  # the study, the algorithm, the threshold
    file = tmp_path / "<img src=x onerror=alert(1)>.db"
    with undrawn():
        stored = Page(report.html(played(storage=file, most=5)))
    assert str(file) in stored.text("bdi")
    assert all(image["src"] == "data:image/svg+xml," for image in stored.all("img"))


def TAME(t: int, log_det: float, constants: np.ndarray) -> float:  # noqa: N802
    return 3.0


@pytest.mark.slow
def test_the_answer() -> None:
    study, words = study_of("stopped"), words_of("stopped")
    assert badges("stopped") == [("good", "Stopped"), ("plain", "Proven if linear: untested")]
    found = re.search(r"Evaluations(.*?)Each interval is", words)
    assert found is not None
    places = [found[1].index(name) for name in study.shortlist.names]
    assert places == sorted(places)
    assert f"after {study.evaluations} evaluations" in words
    assert (
        study.procedure.claim.text.removeprefix("Proven if the means are linear in the features: ")
        in words
    )
    assert "with probability at least 0.95" in words
    assert "stopped after" in words


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_the_guarantee_in_two_lines_is_at_the_head(kind: str) -> None:
    head, _, rest = page_of(kind).partition("</header>")
    made = study_of(kind).shortlist.guarantee
    said = Page(head.partition("<header>")[2]).text()
    short = made.short.replace("study.shortlist.guarantee", "the guarantee below")
    assert " ".join(short.split()) in " ".join(said.split())
    assert f'<div class="box {made.level}">' in head
    assert displayable(made.rest) in Page(rest.partition("<footer")[0]).text()


@pytest.mark.slow
def test_a_running_study_has_no_guarantee() -> None:
    words = words_of("running")
    assert badges("running") == [("plain", "Running"), ("plain", "No guarantee yet")]
    assert "No guarantee yet: the study has not stopped." in words
    assert "The current guess" in words
    assert "This means: of many" not in words
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
    for value in (str(study.seed), study.procedure.threshold.name, shortlist.__version__, " UTC"):
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


@pytest.mark.slow
def test_a_report_by_default_speaks_of_plans() -> None:
    for kind in ("by default", "by default, running", "by default, begun"):
        study, words = study_of(kind), words_of(kind)
        assert study.procedure.name == "Guess-and-verify"
        assert "The algorithm was Guess-and-verify (this software's, after Karnin 2016)." in words
        assert "initial pull" not in words.lower()
        first = len(study.procedure.engine.setup.initial)
        assert f"Pulls of the first plan{first}" in words
        assert re.search(
            r"Of \d+ evaluations, \d+ were set beforehand \(pulls of the first plan\)", words
        )
    assert badges("by default")[1] == ("plain", "Proven if linear: untested")
    assert badges("audited") == [("good", "Stopped"), ("plain", "Proven if linear")]
    assert badges("in its audit")[1] == ("plain", "No guarantee yet")
    assert badges("not linear") == [
        ("warn", "Cannot stop"),
        ("warn", "Not certified: linearity rejected"),
    ]
    assert "It checks again" not in words_of("by default")
    looks = re.search(
        r"Next lookIt checks again when (\d+) more are in\.", words_of("by default, running")
    )
    assert looks is not None
    running = study_of("by default, running").round
    assert int(looks[1]) == running.until_decision > 1
    begun = study_of("by default, begun")
    told = f"9 of {len(begun.procedure.engine.setup.initial)} pulls of the first plan are told."
    assert f"No shortlist yet: {told}" in words_of("by default, begun")


def shows(cell: str, value: float) -> bool:
    """Whether a cell is the value, to the last digit that it shows and to two at least."""
    digits = len(cell.partition(".")[2])
    return digits >= 2 and abs(float(cell.replace("−", "-")) - value) <= 0.501 * 10.0**-digits


@pytest.mark.parametrize(("kind", "most"), SCREENS)
def test_the_tables_hold_what_numpy_says(kind: str, most: int | None) -> None:
    screen, page = screened(kind, most)
    assert screen.study.done == (most is None)
    pulls, means, half, statistic = screen.estimates(screen.stop)
    best = np.argsort(-means)[: screen.m].tolist()
    head, *rows = page.tables["answer"]
    told = pd.DataFrame(screen.told[: screen.stop]).groupby(0)[1].mean()
    more = [] if kind == "lucb1" else ["Estimate"]
    assert head == ["Name", "Mean", *more, "Interval", "Evaluations"]
    assert len(rows) == screen.m
    for arm, row in zip(best, rows, strict=True):
        low, high = row[-2].split(" to ")
        assert [row[0], row[-1]] == [LETTERS[arm], str(pulls[arm])]
        assert shows(row[1], told[arm]) if pulls[arm] else row[1] == "–"
        assert shows(row[-3], means[arm])
        assert shows(low, means[arm] - half[arm])
        assert shows(high, means[arm] + half[arm])
    assert f"after {screen.stop} evaluations" in page.captions["answer"]

    where = dict(row for row in page.tables["progress"] if len(row) == 2)
    assert where["Results processed"] == str(len(screen.told))
    assert where["Failed"].startswith("32 × broken1 × dropped")  # 3, and then the reasons
    assert where["Cancelled"] == "1"
    assert where["Pending"] == ("2" if most else "0")
    captions = " ".join(page.text("figcaption").split())
    found = captions.partition("The last one: ")[2].partition(" ")[0].rstrip(".")
    assert float(found.replace("−", "-")) == pytest.approx(statistic, rel=1e-3)
    assert ("Stop" in where) == bool(most)
    if most:
        assert where["Stop"].endswith(f"ε = {screen.given['epsilon']:g}")

    head, *rows = page.tables["arms"]
    assert head == ["Name", "Evaluations", "Mean", *more, "Lower", "Upper", "On the list"]
    assert [row[0] for row in rows] == [LETTERS[arm] for arm in np.argsort(-means)]
    for row in rows:
        arm = LETTERS.index(row[0])
        assert row[1] == str(pulls[arm])
        assert shows(row[2], told[arm]) if pulls[arm] else row[2] == "–"
        assert shows(row[-4], means[arm])
        assert shows(row[-3], means[arm] - half[arm])
        assert shows(row[-2], means[arm] + half[arm])
        assert row[-1] == ("yes" if arm in best else "")

    asked = dict(row for row in page.tables["settings"] if len(row) == 2)
    ridge = (screen.given["sigma"] / 20.0) ** 2 if kind == "frequentist" else 0.0
    for name, value in {
        "Threshold": kind,
        "Risk, δ": "0.1",
        "Slack, ε": f"{screen.given['epsilon']:g}",
        "Noise, σ": f"{screen.given['sigma']:g}",
        "Bound on ‖θ‖, S": "2" if kind == "frequentist" else "not given",
        "Arms to find, m": "3",
        "Arms, K": "10",
        "Features, N": "none used" if kind == "lucb1" else "4 (rank 4)",
        "Regularisation, λ": f"{ridge:g}",
        "Seed": "7",
    }.items():
        assert asked[name] == value


def test_the_hash_is_that_of_the_same_data() -> None:
    page = screened("self_normalized", None)[1]
    [own] = set(re.findall(r"\b[0-9a-f]{32}\b", page.text("pre")))
    assert page.text("pre").count(own) == 2  # by itself, and in the methods
    assert Screen("self_normalized", None).study.fingerprint == own
    assert Screen("self_normalized", None, last=0.7000001).study.fingerprint != own
    assert screened("self_normalized", 110)[0].study.fingerprint != own


@pytest.mark.slow
def test_results_after_the_stop_are_said_to_be() -> None:
    screen, _ = screened("self_normalized", None)
    page = Page(report.html(screen.study))
    words = " ".join(page.text().split())
    stop = screen.stop
    assert f"{stop} evaluations to the stop and 3 after it" in words
    where = dict(row for row in page.tables["progress"] if len(row) == 2)
    assert where["Told after the stop"].startswith("3; this changes neither the arms' means")
    assert page.captions["arms"].endswith("as they were at the stop.")
    assert (
        f"The study stopped after {stop} evaluations. 3 results were told after the stop" in words
    )
    captions = " ".join(page.text("figcaption").split())
    assert captions.count("the 3 results told after it do not change the answer") == 2
    assert "Of these 3 after the stop" in captions
    assert "after the stop" not in words_of("stopped")
    assert "after the stop" not in words_of("running")
    # The answer is the one of the stop, whatever came later.
    study = played()
    with undrawn():
        before = Page(report.html(study)).tables
        study.tell(arm=study.shortlist.names[0], value=-100.0)
        after = Page(report.html(study)).tables
    assert after["answer"] == before["answer"]
    assert after["arms"] == before["arms"]


@pytest.mark.slow
@undrawn()
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
    with pytest.raises(InvalidSetting, match="is not a regular file"):
        report.write(study, tmp_path)


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
    assert fresh.run("document.querySelectorAll('iframe, link, svg').length") == 0
    pictures = fresh.run("[...document.images].map(image => [image.src, image.naturalWidth])")
    assert len(pictures) == 5
    assert all(src.startswith("data:image/svg+xml") and width > 100 for src, width in pictures)
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
    strangers = "document.querySelectorAll('img:not([src^=\"data:\"]), iframe').length"
    assert fresh.run(strangers) == 2
    refused = fresh.run(f"fetch('{address}/fetch').then(() => false, () => true)")
    assert refused
    assert calls == []
    assert any("Content Security Policy" in complaint for complaint in fresh.complaints)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["stopped", "running", "just made", "heuristic", "not linear", "hostile"]
)
def test_the_page_is_seen(kind: str, fresh: Chromium, tmp_path: Path) -> None:
    import matplotlib.pyplot as pyplot

    fresh.open(saved(kind, tmp_path))
    assert fresh.complaints == []
    for dark in (False, True):
        fresh.screen(1000, 900, dark=dark)
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
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
    )
    assert outside == []


# Words of the page's own, without names and code, that stand on two lines. A hyphen may end a line.
BROKEN = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
  for (let node; (node = walker.nextNode());) {
    if (node.parentElement.closest("bdi, code, pre, script, h1, .name")) continue;
    for (const { index, 0: word } of node.data.matchAll(/\\p{L}{2,}/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.y)));
      if (lines.size > 1) broken.push(word);
    }
  }
  return broken;
})()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stopped", "running"])
def test_no_word_is_broken_on_a_phone(kind: str, fresh: Chromium, tmp_path: Path) -> None:
    fresh.screen(320, 800)
    fresh.open(saved(kind, tmp_path))
    assert fresh.run(BROKEN) == []
    fresh.run("document.body.style.width = '3rem'")  # here they have to be: the test can fail
    assert len(fresh.run(BROKEN)) > 10


@pytest.mark.slow
def test_pictures_are_dark_where_the_page_is(fresh: Chromium, tmp_path: Path) -> None:
    import matplotlib.pyplot as pyplot

    fresh.open(saved("stopped", tmp_path))
    for dark in (False, True):
        fresh.screen(1000, 900, dark=dark)
        fresh.run("document.querySelector('figure').scrollIntoView()")
        seen = pyplot.imread(fresh.picture(tmp_path / "screen.png", whole=False))[..., :3]
        most = np.median(seen[50:400, 100:900].mean(axis=2))
        assert most == pytest.approx(seen[450, 5].mean(), abs=0.05)  # as the paper beside it


@pytest.mark.slow
def test_tables_are_sorted_by_a_click(fresh: Chromium, tmp_path: Path) -> None:
    fresh.open(saved("stopped", tmp_path))
    study = study_of("stopped")
    column = (
        "[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[{}].textContent)"
    )
    best_first = fresh.run(column.format(0))
    assert best_first == study.table().sort_values("estimate", ascending=False).index.tolist()
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
    assert fresh.run(dead) == 7 + 2  # headings of the table, and copies


@pytest.mark.slow
def test_it_prints_on_a4(fresh: Chromium, tmp_path: Path) -> None:
    fresh.screen(1000, 900, dark=True)
    fresh.open(saved("stopped", tmp_path))
    printed = fresh.pdf(tmp_path / "report.pdf").read_bytes()
    sheets = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert 3 <= len(sheets) <= 12
    assert {(round(float(w)), round(float(h))) for w, h in sheets} == {(595, 842)}
