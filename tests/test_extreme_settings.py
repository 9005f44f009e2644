"""Numbers of a screen.toml at their extremes: refused at the door, or good for every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import asked, does, fails, run
from report_pages import undrawn
from served import client_of


def described(line: str) -> None:
    """A screen in the current folder, with a setting of its own."""
    Path("x.csv").write_text("name,a,b\np,1,0\nq,0,1\nr,0.5,0.6\n")
    settings = {"sigma": "sigma = 0.5", "m": "m = 1", line.split()[0]: line}
    text = 'features = "x.csv"\nseed = 0\nstorage = "s.db"\n' + "\n".join(settings.values())
    Path("s.toml").write_text(f"{text}\n")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("sigma = 1e100", 1e99),
        ("sigma = 1e-100", 1e-99),
        ("sigma = 'bounded'\nreward_range = [0.0, 1e99]", 1e98),
        ("sigma = 'bounded'\nreward_range = [0.0, 1e-99]", 1e-100),
        ("delta = 1e-300", 1.0),
        ("delta = 0.49", 1.0),
        ("epsilon = 1e99", 1.0),
        ("epsilon = 1e-300", 1.0),
        ("budget = 1000000000000000000", 1.0),
        ("lease = '100000 days'", 1.0),
        ("lease = '0.001 s'", 1.0),
    ],
)
@undrawn()
def test_what_is_accepted_is_good_for_every_command(
    line: str, value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    described(line)
    does("new", "s.toml")
    does("ask", "s.toml", "-n", 6, "--out", "plate.csv")
    heading, *rows = Path("plate.csv").read_text().splitlines()
    filled = [f"{row}{value * k / 6!r}" for k, row in enumerate(rows)]
    Path("plate.csv").write_text("\n".join([heading, *filled]) + "\n")
    assert len(asked("tell", "s.toml", "plate.csv")["taken"]) == 6
    for words in (["status"], ["why"], ["export", "--out", "t.csv"], ["report", "--out", "r.html"]):
        does(words[0], "s.toml", *(["0"] if words == ["why"] else words[1:]))
    with client_of(tmp_path / "s.db") as client:
        assert client.page().status_code == client.api("status").status_code == 200
        assert client.api("ask", {"key": "a", "n": 3}).status_code in (200, 409)
        assert client.page("live").status_code == 200


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sigma = 1e300", "measure in another unit"),
        ("sigma = 5e-324", "measure in another unit"),
        ("epsilon = 1e300", "epsilon is in the units of the results"),
        ("sigma = 'bounded'\nreward_range = [0.0, 1e300]", "measure in another unit"),
        ("lease = '3000000 days'", "at most 1e+10 seconds"),
    ],
)
def test_what_cannot_be_computed_with_is_refused(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    described(line)
    fails(run("new", "s.toml"), 2, words)
    assert not Path("s.db").exists()
