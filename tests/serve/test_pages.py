"""The page in a real browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import forks
import shortlist
from chromium import Chromium
from report_pages import EVIL, HOSTILE, PAYLOAD
from served import TOKEN, begun, server_of
from shortlist.study.plate import write_plate

QUOTED = '"{}"'.format(HOSTILE[0].replace('"', '""'))  # as CSV has it


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def says(page: Chromium, words: str) -> None:
    """Wait until the page says it."""
    page.wait(f"document.body.innerText.includes({json.dumps(words)})")


@pytest.mark.slow
def test_the_page_opens_and_follows_what_another_process_tells(
    fresh: Chromium, place: Path
) -> None:
    begun(place)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        assert fresh.run("document.title") == "trees: not started"
        fresh.run("document.getElementById('n').value = 5")
        code = (
            "import shortlist, sys; study = shortlist.Study.load(sys.argv[1]); "
            "study.tell_many((trial, 0.25) for trial in study.ask(4)); study.ask(2)"
        )
        subprocess.run([*forks.python(), "-c", code, str(place)], check=True)
        says(fresh, "2 open trials")
        fresh.wait("document.title == 'trees: running'")
        assert fresh.run("document.getElementById('n').value") == "5"  # forms are left alone
        assert {url.partition(TOKEN)[0] for url in fresh.requests} == {f"{address}/"}
        assert fresh.complaints == []


@pytest.mark.slow
def test_a_plate_is_uploaded_looked_at_and_told(
    fresh: Chromium, place: Path, tmp_path: Path
) -> None:
    study = begun(place)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        fresh.click("form[action=ask] button")
        says(fresh, "8 trials to be measured: 0–7.")
        study.refresh()
        plate = tmp_path / "plate.csv"
        plate.write_text(write_plate(study, study.pending).replace(",\n", ",0.5\n"))
        fresh.click("a[href='./']")
        says(fresh, "8 open trials")
        fresh.choose("#plate", plate)
        fresh.click("form[action=preview] button")
        says(fresh, "Nothing is told yet.")
        study.refresh()
        assert study.evaluations == 0
        assert fresh.run("document.querySelectorAll('tbody tr').length") == 8
        fresh.click("form[action=tell] button")
        says(fresh, "8 results recorded.")
        study.refresh()
        assert study.evaluations == 8
        fresh.run("location.reload()")
        says(fresh, "0 results recorded, 8 known already.")
        assert fresh.complaints == []


@pytest.mark.slow
def test_results_that_were_measured_again_are_told(
    fresh: Chromium, place: Path, tmp_path: Path
) -> None:
    study = begun(place)
    results = tmp_path / "results.csv"
    results.write_text("arm,value\nash,0.5\noak,0.75\n")
    copy = tmp_path / "results (1).csv"
    copy.write_text(results.read_text())
    with server_of(place) as address:
        for file, told in ((results, 2), (copy, 4), (results, 6)):
            fresh.open(f"{address}/{TOKEN}/")
            fresh.choose("#plate", file)
            fresh.click("form[action=preview] button")
            if told > 2:
                says(fresh, "They were measured again: show")
                assert "Tell 2 results" not in fresh.run("document.body.innerText")
                fresh.click("form[action=preview] button")
                says(fresh, "These were measured again")
            says(fresh, "Nothing is told yet.")
            study.refresh()
            assert study.evaluations == told - 2
            fresh.click("form[action=tell] button")
            says(fresh, "2 results recorded.")
            study.refresh()
            assert study.evaluations == told
    assert [c for c in fresh.complaints if "409" not in c] == []  # the browser notes a refusal


@pytest.mark.slow
def test_trials_are_cancelled_on_the_page(fresh: Chromium, place: Path) -> None:
    study = begun(place)
    study.ask(3)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        fresh.run("document.getElementById('trials').value = '0 2'")
        fresh.click("button[formaction=cancel]")
        says(fresh, "2 trials cancelled.")
        fresh.click("a[href='./']")
        says(fresh, "1 open trial")
    study.refresh()
    assert [trial.state for trial in study.trials] == ["cancelled", "pending", "cancelled"]
    assert fresh.complaints == []


@pytest.mark.slow
def test_forms_and_list_are_above_the_open_trials_whose_reasons_are_folded(
    fresh: Chromium, place: Path
) -> None:
    study = begun(place, sigma=1.0)
    study.tell_many((trial, 0.3 * trial.arm) for trial in study.ask(60))
    study.ask(200)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        order = fresh.run("[...document.querySelectorAll('main section')].map(e => e.id)")
        assert order == ["answer", "plates", "stop", "health", "open"]
        assert fresh.run("document.documentElement.scrollHeight") < 6000
        why = study.why(study.pending[1]).words
        assert why not in fresh.run("document.body.innerText")
        fresh.click("#open tbody tr:nth-child(2) summary")
        assert why in fresh.run("document.body.innerText")
        fresh.run("document.getElementById('epsilon').focus()")
        fresh.run("document.getElementById('epsilon').value = '0.25'")
        study.tell(study.pending[0], 0.0)
        study.cancel(study.pending[-1])
        says(fresh, "198 open trials")  # shown anew, and what was unfolded or typed is still
        assert (
            fresh.run("document.activeElement.id + document.activeElement.value") == "epsilon0.25"
        )
        assert why in fresh.run("document.body.innerText")
        assert fresh.run("document.querySelectorAll('#open details[open]').length") == 1
    assert fresh.complaints == []


@pytest.mark.slow
def test_names_are_not_obeyed(fresh: Chromium, place: Path) -> None:
    study = begun(place, arms=HOSTILE, m=3, name=EVIL, algorithm="LUCB", sigma=1.0)
    study.fail(study.ask(), EVIL)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        for name in HOSTILE:
            study.tell(arm=name, value=0.5)
        study.ask(len(HOSTILE), key=EVIL)
        says(fresh, f"{len(HOSTILE)} open trials")  # parsed by the script, not only as a page
        assert fresh.run("document.title") == f"{EVIL}: running"
        assert (
            fresh.run("document.querySelectorAll('img, iframe, b, script:not([src])').length") == 0
        )
        names = "[...document.querySelectorAll('#open tbody th')].map(e => e.textContent)"
        assert HOSTILE[0] in fresh.run(names)
        study.correct(1, 0.75, reason=EVIL)
        for text in ("trial,arm,value\n", f"arm,value,key\n{QUOTED},0.5,{QUOTED}\n"):
            file = place.with_name(f"<img src=x onerror={PAYLOAD}>.csv")
            file.write_text(text)
            fresh.open(f"{address}/{TOKEN}/")
            fresh.choose("#plate", file)
            fresh.click("form[action=preview] button")
            says(fresh, file.name)
            assert "owned" not in fresh.run("document.title").partition(PAYLOAD)[2]
            assert (
                fresh.run("document.querySelectorAll('img, iframe, script:not([src])').length") == 0
            )
        assert fresh.dialogs == []
        # Were one let through all the same, the policy would not run it.
        fresh.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
        fresh.settle()
        assert fresh.dialogs == []
        assert all(url.startswith((address, "data:")) for url in fresh.requests)


@pytest.mark.slow
def test_a_wrong_token_shows_nothing_and_a_new_one_is_asked_for(
    fresh: Chromium, place: Path
) -> None:
    begun(place)
    with server_of(place) as address:
        fresh.open(f"{address}/wrong/")
        words = fresh.run("document.body.innerText")
        assert words.startswith("This address is not valid")
        assert "trees" not in words
        fresh.open(f"{address}/{TOKEN}/")
    says(fresh, "The server has not answered since")
    with server_of(place, "another-token-altogether", int(address.rpartition(":")[2])):
        says(fresh, "This address is no longer valid")


@pytest.mark.slow
def test_two_tabs_follow_one_study(fresh: Chromium, place: Path) -> None:
    begun(place)
    with server_of(place) as address:
        tabs = [fresh.tab(), fresh.tab()]
        for tab in tabs:
            fresh.switch(tab)
            fresh.open(f"{address}/{TOKEN}/")
        fresh.switch(tabs[0])
        # A page in the background rests; this one is told that it is seen.
        fresh.do("Page.bringToFront")
        fresh.click("form[action=ask] button")
        says(fresh, "8 trials to be measured")
        fresh.switch(tabs[1])
        fresh.do("Page.bringToFront")
        says(fresh, "8 open trials")
        fresh.click("form[action=ask] button")  # its own key: another plate
        says(fresh, "8 trials to be measured: 8–15.")
    assert len(shortlist.Study.load(place).trials) == 16


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1000, False), (1000, True), (360, False)])
def test_the_page_is_seen(
    fresh: Chromium, place: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    import matplotlib.pyplot as pyplot

    study = begun(place, sigma=1.0)
    study.tell_many((trial, 0.3 * trial.arm) for trial in study.ask(60))
    study.ask(3)
    fresh.screen(width, 800, dark=dark)
    with server_of(place) as address:
        fresh.open(f"{address}/{TOKEN}/")
        assert fresh.run("document.documentElement.scrollWidth") <= width
        outside = fresh.run(
            "[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, svg'))"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
        )
        assert outside == []
        seen = pyplot.imread(fresh.picture(tmp_path / "page.png", whole=False))[..., :3]
    assert seen.shape == (800, width, 3)
    paper = seen[400, 3].mean()
    assert paper < 0.2 if dark else paper > 0.9
    assert 0.01 < (abs(seen.mean(axis=2) - paper) > 0.4).mean() < 0.5
