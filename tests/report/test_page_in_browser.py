"""The page in a real browser: inert, seen, sorted, searched, copied, printed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from chromium import Chromium, program
from report_pages import (
    HOSTILE,
    PAYLOAD,
    STUDIES,
    methods,
    page_of,
    played,
    shows_roughly,
    study_of,
    undrawn,
)
from requirements import missing
from shortlist import report
from shortlist.report.rendering import displayable


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
        _, rows = typed(fresh, " ".join(displayable(name).split()))
        arm = ranked[ranked["name"] == name].iloc[0]
        assert rows[0][0] == displayable(name)
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
