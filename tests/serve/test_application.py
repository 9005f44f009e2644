"""Every route: the page, its forms, and JSON."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest
from markupsafe import escape

import shortlist
from command_line import asked, check_advice
from report_pages import EVIL, HOSTILE, Page, played
from served import BEARER, MEANS, TOKEN, Client, begun, client_of, server_of
from shortlist.report.rendering import displayable
from shortlist.serve import application, pages
from shortlist.serve.application import SHOWN
from shortlist.serve.guard import LARGEST
from shortlist.study.log import Log


@pytest.fixture
def place(tmp_path: Path) -> Path:
    begun(tmp_path / "study.db")
    return tmp_path / "study.db"


@pytest.fixture
def client(place: Path) -> Iterator[Client]:
    with client_of(place) as client:
        yield client


def upload(client: Client, text: str | bytes, name: str = "plate.csv") -> Any:
    return client.page("preview", files={"plate": (name, text)})


def hidden(page: str) -> dict[str, str]:
    """What the forms of a page send without asking."""
    return {tag["name"]: tag["value"] for tag in Page(page).all("input") if tag["type"] == "hidden"}


def confirm(client: Client, preview: str) -> Any:
    """Send the form of a preview."""
    return client.page("tell", files={"shown": (None, hidden(preview)["shown"])})


def say_measured_again(client: Client, page: str) -> Any:
    """Send the form that says that results were measured again."""
    fields = {name: hidden(page)[name] for name in ("shown", "measured_again")}
    return client.page("preview", files={name: (None, text) for name, text in fields.items()})


def ask(client: Client, n: int = 2, key: str = "plate 1") -> list[int]:
    reply = client.api("ask", {"key": key, "n": n})
    assert reply.status_code == 200, reply.text
    return [trial["trial"] for trial in reply.json()["trials"]]


# JSON


def test_an_instrument_can_go_to_the_stop(client: Client) -> None:
    for k in range(1000):
        reply = client.api("ask", {"key": f"pull {k}"})
        if reply.status_code == 409:
            break
        [trial] = reply.json()["trials"]
        value = MEANS[trial["arm"]] + 0.1 * float(np.random.default_rng(trial["seed"]).normal())
        told = client.api("tell", {"trial": trial["trial"], "value": value}).json()
        assert told["taken"] == [k]
    assert reply.json()["kind"] == "StudyStopped"
    assert told["done"] is True
    status = client.api("status").json()
    assert status["shortlist"] == ["oak"]
    assert status["done"] is True
    assert status["evaluations"] == k
    assert client.api("ask", {"key": "pull 0"}).json()["trials"][0]["trial"] == 0


def test_status_is_that_of_the_command_line(client: Client, place: Path) -> None:
    ask(client, 3)
    client.api("tell", {"trial": 1, "value": 0.25})
    shown = client.api("status").json()
    printed = asked("status", place)
    assert shown.pop("storage").endswith("study.db")
    assert printed.pop("storage").endswith("study.db")
    for each in (shown, printed):  # the command that is advised has the study as it was given
        short = each["guarantee"]["short"]
        each["guarantee"]["short"] = re.sub("status [^`]*study.db[^`]*", "status STUDY", short)
    assert shown == printed


def test_nobody_waits_for_the_storage_on_the_event_loop(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage that is locked for a minute would keep all others from being answered."""
    mend, on_the_loop = Log._mend, list[str]()

    def mended(log: Log) -> None:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            on_the_loop.append("".join(traceback.format_stack(limit=6)))
        mend(log)

    monkeypatch.setattr(Log, "_mend", mended)
    ask(client, 2)
    preview = upload(client, "trial,arm,value\n0,ash,0.5\n1,elm,\n")
    assert preview.status_code == 200, preview.text
    assert "1 result recorded." in confirm(client, preview.text).text
    assert upload(client, "trial,arm,value\n0,ash,0.6\n").status_code == 409
    assert client.api("status").json()["evaluations"] == 1
    for page in ("", "live", "plate.csv"):
        assert client.page(page).status_code == 200
    assert client.api("tell", {"trial": 99, "value": 1}).status_code == 404
    assert not on_the_loop, on_the_loop[0]


def test_status_has_what_was_acknowledged_before(client: Client) -> None:
    for number in ask(client, 5):
        client.api("tell", {"trial": number, "value": 0.5})
        assert client.api("status").json()["evaluations"] == number + 1


@pytest.mark.parametrize(
    ("path", "given", "code", "kind"),
    [
        ("tell", {"trial": 9, "value": 1}, 404, "UnknownTrial"),
        ("tell", {"trial": 0, "value": 2.0}, 409, "TrialClosed"),
        ("fail", {"trials": [0]}, 409, "TrialClosed"),
        ("tell", {"arm": "pine", "value": 1, "key": "k"}, 400, "UnknownName"),
        ("ask", {"n": 1}, 400, "InvalidInput"),
        ("nothing", {}, 404, "HTTPException"),
        ("status", {}, 405, "HTTPException"),
    ],
)
def test_a_refusal_says_why(
    client: Client, path: str, given: dict[str, Any], code: int, kind: str
) -> None:
    ask(client)
    client.api("tell", {"trial": 0, "value": 1.0})
    reply = client.api(path, given)
    assert (reply.status_code, reply.json()["kind"]) == (code, kind)
    assert reply.json()["error"]


@pytest.mark.usefixtures("without_garbage")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"trial": 0, "value": NaN}', b"[" * 50_000, b'{"a": ' + b"9" * 5000],
)
def test_what_is_not_json_is_refused(client: Client, body: bytes) -> None:
    ask(client)
    reply = client.http.post("/api/tell", content=body, headers=BEARER)
    assert reply.status_code == 400
    assert "nothing was done" in reply.json()["error"]
    assert client.api("status").json()["evaluations"] == 0


# The page and its forms


def test_the_page_shows_the_study(client: Client) -> None:
    ask(client)
    page = Page(client.page().text)
    words = " ".join(page.text().split())
    for said in ("trees", "m = 1 of K = 3 arms", "2 open trials", "key plate 1", "Next plate"):
        assert said in words
    assert {tag["src"] for tag in page.all("script")} == {"live.js"}
    assert client.page("live.js").headers["content-type"].startswith("text/javascript")
    style = client.page("style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in style.text


def test_the_guarantee_is_two_lines_at_the_head_and_folded_in_full(
    client: Client, place: Path
) -> None:
    source = client.page().text
    made = shortlist.Study.load(place).shortlist.guarantee
    head, _, rest = source.partition('<section id="answer"')
    assert " ".join(made.short.split()) in " ".join(
        Page(head[head.index('<div id="state"') :]).text().split()
    )
    folded = rest.partition('<details id="guarantee">')[2].partition("</details>")[0]
    assert made.rest in Page(folded).text()
    assert Page(source).text().count(made.rest) == 1


def test_a_page_asks_only_for_what_has_changed(client: Client, place: Path) -> None:
    [live] = [tag for tag in Page(client.page().text).all("div") if tag.get("id") == "live"]
    assert client.page(f"live?seen={live['data-changes']}").status_code == 204
    shortlist.Study.load(place).ask(2)
    deadline = time.monotonic() + 20
    while (reply := client.page(f"live?seen={live['data-changes']}")).status_code == 204:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert reply.headers["study-changes"] == "2"
    assert "2 open trials" in reply.text
    assert client.page("live?seen=2").status_code == 204


def test_a_plate_goes_out_and_comes_back(client: Client, place: Path) -> None:
    form = {"n": "2", "key": "page 1"}
    reply = client.page("ask", data=form)
    assert "2 trials to be measured: 0–1." in reply.text
    assert client.page("ask", data=form).text == reply.text  # the button was pressed twice
    link = re.search(r'href="(plate\.csv\?key=[^"]+)"', reply.text)
    assert link is not None
    ask(client, 1, "another")
    plate = client.page(link[1])
    assert plate.headers["content-disposition"] == "attachment; filename=plate-0-1.csv"
    mark = shortlist.Study.load(place).mark
    assert plate.text == f"study,trial,arm,value\n{mark},0,ash,\n{mark},1,elm,\n"
    assert client.page("plate.csv").text.count("\n") == 4
    assert f"{mark};2;oak;" in client.page("plate.csv?separator=semicolon").text

    filled = plate.text.replace("ash,", "ash,0.125")
    preview = upload(client, filled)
    words = " ".join(Page(preview.text).text().split())
    assert "Nothing is told yet." in words
    assert "1 result of plate.csv. Trial Arm Value State now 0ash0.125pending" in words
    assert "Left blank, and still open: trials 1." in words
    assert client.api("status").json()["evaluations"] == 0  # nothing is told before it is confirmed
    assert "1 result recorded." in confirm(client, preview.text).text
    assert "0 results recorded, 1 known already." in confirm(client, preview.text).text
    assert shortlist.Study.load(place).trials[0].value == 0.125
    again = upload(client, filled).text
    assert "There is nothing to tell in this plate." in again
    assert "1 was told before" in again
    assert "Tell 1 result" not in again


def test_values_survive_the_preview_exactly(client: Client, place: Path) -> None:
    ask(client, 3)
    values = [0.1 + 0.2, -1e-300, 123456789.123456789]
    lines = [
        f"{k},{arm},{value!r}\n" for k, (arm, value) in enumerate(zip(MEANS, values, strict=True))
    ]
    confirm(client, upload(client, "trial,arm,value\n" + "".join(lines)).text)
    assert [trial.value for trial in shortlist.Study.load(place).trials] == values


@pytest.mark.parametrize(
    ("plate", "words"),
    [
        ("trial,arm,value\n0,ash,high\n", "line 2: the value &#39;high&#39; is not a number"),
        (
            "trial,arm,value\n0,oak,1.0\n",
            "trial 0 is of &#39;ash&#39; and the line says &#39;oak&#39;",
        ),
        ("trial,arm,value\n7,ash,1.0\n", "trial 7 is unknown"),
        ("trial,arm,value\n0,ash,1\n0,ash,1\n", "is on line 2 too"),
        ("a,b\n1,2\n", "a heading with the columns trial, arm and value is expected"),
        ("study,trial,arm,value\nother-1,0,ash,1\n", "belongs to the study"),
        ("trial,arm,value\n0,ash,nan\n", "is not finite"),
        ('trial,arm,value\n0,"ash,1\n', "cannot be read as CSV"),
        ("", "is empty"),
        (b"\xff\xfe\x00\x01", "not text in UTF-8"),
        (b"PK\x03\x04" + bytes(range(256)), "not text in UTF-8"),
    ],
)
def test_a_malformed_plate_is_refused_and_its_line_named(
    client: Client, plate: str | bytes, words: str
) -> None:
    ask(client)
    reply = upload(client, plate)
    assert reply.status_code == 400
    assert words in reply.text
    assert "Nothing was done" in reply.text
    assert client.api("status").json()["evaluations"] == 0


def test_forms_that_no_browser_sends_are_refused(client: Client) -> None:
    ask(client)
    for path, sent in (
        ("ask", {"data": {"n": "many", "key": "a"}}),
        ("ask", {"data": {"n": "1"}}),
        ("ask", {"data": {"n": "99999", "key": "a"}}),
        ("ask", {"files": {"n": ("n.txt", b"1")}}),
        ("preview", {"data": {"plate": "text"}}),
        ("preview", {"files": {"other": ("plate.csv", b"")}}),
        ("preview", {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}),
        ("tell", {"data": {"shown": "0123456789abcdef"}}),
        ("tell", {"data": {"shown": ""}}),
        ("tell", {"data": {}}),
        ("tell", {"data": {"results": '[{"arm": "ash", "value": 1}]'}}),
        ("tell", {"files": {"shown": ("a.txt", b"0")}}),
        ("preview", {"data": {"shown": "?", "measured_again": "yes"}}),
        ("preview", {"data": {"measured_again": "yes"}}),
        ("cancel", {"data": {"trials": "one"}}),
        ("cancel", {"data": {}}),
        ("fail", {"data": {"trials": "one"}}),
        ("fail", {"data": {"trials": " , "}}),
    ):
        reply = client.page(path, **sent)
        assert reply.status_code == 400, (path, sent, reply.text)
        assert "Back to the study" in reply.text
    assert client.page("nothing").status_code == 404
    assert client.page("tell").status_code == 405
    assert len(client.api("status").json()["open"]) == 2


def test_trials_fail_by_a_form(client: Client, place: Path) -> None:
    ask(client, 3)
    reply = client.page("fail", data={"trials": "0, 2", "reason": "dropped <b>"})
    assert "2 trials failed." in reply.text
    again = client.page("fail", data={"trials": "2", "reason": "once more"})
    assert "0 trials failed, 1 before." in again.text
    study = shortlist.Study.load(place)
    assert [trial.state for trial in study.trials] == ["failed", "pending", "failed"]
    assert study.trials[2].reason == "dropped <b>"
    assert "dropped &lt;b&gt;" in client.page().text


@pytest.mark.parametrize("number", ["0" * 18 + "1", "9" * 30, "1" * 5000])
def test_a_number_that_is_too_long_names_no_trial(client: Client, number: str) -> None:
    ask(client, 3)
    for path in ("fail", "cancel"):
        reply = client.page(path, data={"trials": f"1 {number}"})
        assert reply.status_code == 404
        assert f"there is no trial {number[:40]}" in reply.text
    assert len(client.api("status").json()["open"]) == 3


def test_what_was_told_before_is_explained_to_a_client(client: Client) -> None:
    rows = {"file": "old.csv", "text": "arm,value\nash,0.5\noak,0.75\n"}
    client.api("tell", rows)
    failed, told = client.api("ask", {"key": "plate 1", "n": 2}).json()["trials"]
    client.api("fail", {"trials": [failed["trial"]]})
    client.api("tell", {"trial": told["trial"], "value": 0.5})
    plate = "trial,arm,value\n"
    for sent in (
        {**rows, "text": rows["text"].replace("0.75", "0.8")},
        {**rows, "file": "new.csv"},
        {"file": "plate.csv", "text": f"{plate}{failed['trial']},{failed['arm']},0.5\n"},
        {"file": "plate.csv", "text": f"{plate}{told['trial']},{told['arm']},0.75\n"},
    ):
        reply = client.api("tell", sent)
        assert (reply.status_code, reply.json()["kind"]) == (409, "ToldBefore"), reply.text
        assert '"measured_again": true' in reply.json()["error"]
        assert "--measured-again" not in reply.json()["error"]


def test_trials_are_cancelled_by_a_form(client: Client, place: Path) -> None:
    ask(client, 3)
    assert "2 trials cancelled." in client.page("cancel", data={"trials": "0 2"}).text
    assert "0 trials cancelled, 1 before." in client.page("cancel", data={"trials": "2"}).text
    refused = client.page("fail", data={"trials": "0"})
    assert refused.status_code == 409
    assert "is cancelled and cannot be failed" in refused.text
    states = [trial.state for trial in shortlist.Study.load(place).trials]
    assert states == ["cancelled", "pending", "cancelled"]


def test_results_that_nobody_asked_for_are_previewed_and_told(client: Client, place: Path) -> None:
    preview = upload(client, "arm,value\nash,0.5\noak,0.75\n", "old.csv")
    words = " ".join(Page(preview.text).text().split())
    assert "2 results of old.csv. Arm Value Key ash0.5old.csv, row 1 oak0.75old.csv, row 2" in words
    assert client.api("status").json()["evaluations"] == 0
    assert "2 results recorded." in confirm(client, preview.text).text
    assert "0 results recorded, 2 known already." in confirm(client, preview.text).text
    assert [trial.value for trial in shortlist.Study.load(place).trials] == [0.5, 0.75]


@pytest.mark.parametrize(
    ("name", "text", "code", "words"),
    [
        ("old.csv", "arm,value\nash,0.5\noak,0.75\n", 200, "2 were told before, with the same"),
        ("old.csv", "arm,value\nash,0.5\noak,0.8\n", 409, "but is 0.8 for &#39;oak&#39; here"),
        ("new.csv", "arm,value\nash,0.5\noak,0.75\n", 409, "2 of its 2 rows are those of"),
        ("plate.csv", "trial,arm,value\n0,ash,0.5\n1,oak,0.75\n", 200, "2 were told before"),
        ("plate.csv", "trial,arm,value\n0,ash,0.6\n1,oak,0.75\n", 409, "was told 0.5 before"),
    ],
)
def test_what_was_told_before_can_be_said_to_be_measured_again(
    client: Client, place: Path, name: str, text: str, code: int, words: str
) -> None:
    confirm(client, upload(client, "arm,value\nash,0.5\noak,0.75\n", "old.csv").text)
    page = upload(client, text, name)
    assert (page.status_code, words in page.text) == (code, True), page.text
    assert "--measured-again" not in page.text  # that is for a shell
    preview = say_measured_again(client, page.text)
    assert preview.status_code == 200, preview.text
    assert "These were measured again" in preview.text
    assert client.api("status").json()["evaluations"] == 2  # nothing is told before it is confirmed
    values = [float(line.rpartition(",")[2]) for line in text.splitlines()[1:]]
    assert "2 results recorded." in confirm(client, preview.text).text
    assert "0 results recorded, 2 known already." in confirm(client, preview.text).text
    study = shortlist.Study.load(place)
    assert [trial.value for trial in study.trials] == [0.5, 0.75, *values]
    again = say_measured_again(client, page.text)
    assert "2 were told before, with the same" in again.text
    assert "There is nothing to tell" in again.text


@pytest.mark.slow
def test_a_file_as_large_as_can_be_uploaded_is_told_and_measured_again(
    client: Client, place: Path
) -> None:
    lines = (LARGEST - 1000) // len("oak,0.25," + " " * 100 + "\n")
    text = "arm,value,note\n" + f"oak,0.25,{' ' * 100}\n" * lines
    assert LARGEST - 2000 < len(text) < LARGEST
    preview = upload(client, text, "old.csv")
    assert preview.status_code == 200
    assert f"{lines:,} results recorded." in confirm(client, preview.text).text
    again = say_measured_again(client, upload(client, text, "old.csv").text)
    assert again.status_code == 200, again.text[:500]
    assert "These were measured again" in again.text
    assert f"{lines:,} results recorded." in confirm(client, again.text).text
    assert shortlist.Study.load(place).evaluations == 2 * lines


def test_only_the_files_shown_last_can_be_confirmed(client: Client) -> None:
    first = upload(client, "arm,value\noak,0.25\n", "old.csv").text
    for k in range(SHOWN):
        last = upload(client, f"arm,value\noak,{k}\n", f"{k}.csv").text
    reply = confirm(client, first)
    assert reply.status_code == 400
    assert "no longer kept here" in reply.text
    assert "1 result recorded." in confirm(client, last).text


def test_many_rows_are_kept_no_longer_than_others_are_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "SHOWN_ROWS", 3)
    first = upload(client, "arm,value\noak,0.25\noak,0.5\n", "first.csv").text
    second = upload(client, "arm,value\noak,1\noak,2\n", "second.csv").text
    assert confirm(client, first).status_code == 400
    assert "2 results recorded." in confirm(client, second).text


def test_advice_on_the_page_names_the_study_and_no_calls(client: Client, place: Path) -> None:
    for value in (0.5, 0.45, 0.55, 0.5, 50.0):
        client.api("tell", {"arm": "oak", "value": value, "key": f"well {value}"})
        client.api("tell", {"arm": "oak", "value": value, "key": f"next {value}"})
    client.api("tell", {"arm": "elm", "value": 500.0, "key": "slip"})
    client.api("tell", {"arm": "elm", "value": 0.5, "key": "right"})
    client.api("tell", {"arm": "elm", "value": 0.6, "key": "right too"})
    [slip] = [each for each in client.api("status").json()["health"] if each["name"] == "outliers"]
    assert f"`shortlist correct {place} --study trees " in slip["meaning"]
    page = " ".join(Page(client.page().text).text().split())
    assert "study.correct" not in page
    check_advice(page)


def test_a_study_in_either_database_is_served(new_storage: Callable[[], str]) -> None:
    place = new_storage()
    other = begun(place)
    with client_of(place) as client:
        assert ask(client, 5) == [0, 1, 2, 3, 4]
        other.tell(0, 0.125)  # by another connection
        assert client.api("tell", {"trial": 1, "value": 0.25}).json()["taken"] == [1]
        assert client.api("fail", {"trials": [2], "reason": "dropped"}).json()["closed"] == [2]
        assert client.api("cancel", {"trials": [3]}).json()["closed"] == [3]
        plate = client.page("plate.csv").text.replace("elm,\n", "elm,0.5\n")
        assert "1 result recorded." in confirm(client, upload(client, plate).text).text
        status = client.api("status").json()
        assert (status["evaluations"], status["failed"], status["open"]) == (3, 1, [])
        words = " ".join(Page(client.page().text).text().split())
        assert "No trial is open." in words
    other.refresh()
    states = [trial.state for trial in other.trials]
    assert states == ["told", "told", "failed", "cancelled", "told"]
    assert [trial.value for trial in other.trials] == [0.125, 0.25, None, None, 0.5]


def test_hostile_names_are_text_everywhere(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = begun(place, arms=HOSTILE, m=3, name=EVIL, algorithm="LUCB", sigma=1.0)
    study.fail(study.ask(), EVIL)
    study.tell_many((trial, 0.1 * trial.arm) for trial in study.ask(len(HOSTILE)))
    for name in HOSTILE:
        study.tell(arm=name, value=0.5)
    study.ask(len(HOSTILE), key=EVIL)
    with client_of(place) as client:
        plate = client.page("plate.csv").text
        sheet = {"plate": (f"{HOSTILE[1]}.csv", plate.replace(",\n", ",0.5\n"))}
        shown = [
            client.page().text,
            client.page("live").text,
            client.page("ask", data={"n": "3", "key": HOSTILE[1]}).text,
            (preview := client.page("preview", files=sheet).text),
            client.page("preview", files={"plate": (EVIL, "x")}).text,
            client.page("fail", data={"trials": "0", "reason": EVIL}).text,
        ]
    allowed = {"a", "bdi", "body", "button", "caption", "code", "dd", "details", "div", "dl", "dt"}
    allowed |= {
        "em",
        "summary",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "head",
        "header",
        "html",
    }
    allowed |= {"input", "label", "li", "line", "link", "main", "meta", "nav", "noscript", "p"}
    allowed |= {"polyline", "script", "section", "span", "strong", "svg", "table", "tbody", "td"}
    allowed |= {"th", "thead", "title", "tr", "ul"}
    for source in shown:
        page = Page(source)
        assert {tag for tag, _ in page.tags} <= allowed
        assert not any(key.startswith("on") for _, tag in page.tags for key in tag)
        assert all(tag == {"src": "live.js", "defer": None} for tag in page.all("script"))
        assert all(not str(tag["href"]).lower().startswith("java") for tag in page.all("a"))
    for name in [*study.shortlist.names, *(trial.name for trial in study.pending)]:
        assert escape(displayable(name)) in shown[0]
    for trial in study.pending:
        assert escape(displayable(trial.name)) in preview


@pytest.mark.slow
def test_every_state_of_a_study_has_a_page(tmp_path: Path) -> None:
    settings: dict[str, dict[str, Any]] = {
        "just made": {"most": 0},
        "initial pulls": {"most": 20},
        "running": {"most": 150},
        "stopped": {},
        "audited": {"algorithm": None, "audit": True, "most": 150},
        "budget": {"algorithm": None, "budget": 60, "most": 40},
    }
    for name, given in settings.items():
        place = tmp_path / f"{name}.db"
        played(10, 3, storage=place, **given)
        with client_of(place) as client:
            page = Page(client.page().text)
            assert page.text("h2").startswith("Shortlist"), name
            shown = len(page.all("polyline"))
            assert shown == (name not in ("just made", "initial pulls")), name


@pytest.mark.filterwarnings("ignore::shortlist.errors.LinearityRejected")
def test_a_study_that_cannot_stop_says_so(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = played(10, 3, algorithm=None, audit=True, most=9, storage=place)
    while study.audit.rejection is None:
        study.tell(trial := study.ask(), 100.0 * study.problem.features[trial.arm, 0] ** 2)
    with client_of(place) as client:
        reply = client.api("ask", {"key": "a"})
        assert (reply.status_code, reply.json()["kind"]) == (409, "LinearityRejected")
        assert "Cannot stop" in client.page().text


# Others at work


def test_nobody_waits_for_a_writer_but_writers(place: Path) -> None:
    with server_of(place) as address, httpx.Client(base_url=address, timeout=30) as http:
        http.post("/api/ask", json={"key": "a", "n": 2}, headers=BEARER)
        http.get(f"/{TOKEN}/")
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        replies: list[Any] = []

        def tell() -> None:
            given = {"trial": 0, "value": 0.5}
            replies.append(
                httpx.post(f"{address}/api/tell", json=given, headers=BEARER, timeout=30)
            )

        waiting = threading.Thread(target=tell)
        waiting.start()
        time.sleep(0.2)
        for path in ("", "live", "live.js", "plate.csv"):
            assert http.get(f"/{TOKEN}/{path}").status_code in (200, 204)
        assert http.get("/api/status", headers=BEARER).json()["evaluations"] == 0
        assert replies == []
        other.execute("ROLLBACK")
        other.close()
        waiting.join()
        assert replies[0].json()["taken"] == [0]


def test_a_storage_that_is_away_is_said_and_waited_for(place: Path) -> None:
    with client_of(place) as client:
        assert client.page().status_code == 200
        away = place.with_suffix(".away")
        place.rename(away)
        reply = client.api("ask", {"key": "a"})
        assert (reply.status_code, reply.json()["kind"]) == (503, "StorageError")
        away.rename(place)
        assert ask(client) == [0, 1]


@pytest.mark.parametrize("fate", ["deleted", "replaced"])
def test_a_file_that_is_gone_is_said_on_the_page(client: Client, place: Path, fate: str) -> None:
    client.page()
    kept = place.read_bytes()
    place.unlink()
    if fate == "replaced":
        place.write_bytes(kept)
    deadline = time.monotonic() + 20
    while (reply := client.page("live?seen=0")).status_code == 204:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "was moved, deleted or replaced while the study was open" in reply.text
    assert client.page("plate.csv").status_code == client.api("status").status_code == 503


def test_a_look_that_fails_is_said_on_the_page(
    client: Client, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.page()
    from shortlist.errors import StorageError
    from shortlist.study.study import Study

    refresh = Study.refresh

    def away(study: Study) -> None:
        raise StorageError("the <disk> is away.")

    monkeypatch.setattr(Study, "refresh", away)
    deadline = time.monotonic() + 20
    while (reply := client.page("live?seen=0")).status_code == 204:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "this is how it was last seen:</strong>\nthe &lt;disk&gt; is away." in reply.text
    assert client.page("live?seen=0?").status_code == 204
    monkeypatch.setattr(Study, "refresh", refresh)
    while (reply := client.page("live?seen=0?")).status_code == 204:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "last seen" not in reply.text


def test_many_clients_at_once_lose_nothing(place: Path) -> None:
    with server_of(place) as address:
        told: list[int] = []

        def work(name: int) -> None:
            with httpx.Client(base_url=address, headers=BEARER, timeout=60) as http:
                for k in range(5):
                    given = {"key": f"{name} {k}", "n": 2}
                    first, again = (http.post("/api/ask", json=given).json() for _ in range(2))
                    assert first["trials"] == again["trials"]
                    rows = [{"trial": t["trial"], "value": 0.5} for t in first["trials"]]
                    told.extend(http.post("/api/tell", json={"results": rows}).json()["taken"])

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    study = shortlist.Study.load(place)
    assert sorted(told) == list(range(80)) == [trial.number for trial in study.trials]
    assert {trial.state for trial in study.trials} == {"told"}


def test_what_is_given_back_can_be_read_by_json_of_any_language(client: Client) -> None:
    body = client.api("status").text
    assert json.loads(body, parse_constant=pytest.fail)


def test_after_the_shortlist_come_the_next_best_also_where_small_is_good() -> None:
    study = shortlist.Study(arms=list("abcdef"), m=1, sigma=0.1, seed=0, direction="minimize")
    study.tell_unasked([(name, float(mean), None) for mean, name in enumerate("abcdef")] * 40)
    assert [arm["name"] for arm in pages._arms(study)] == ["a", "b", "c", "d"]
