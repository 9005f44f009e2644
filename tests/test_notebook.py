"""What a notebook shows: tables in place of text, names escaped, figures once, a live line."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import shortlist
from shortlist import notebook
from shortlist.plot import figure as figures

EVIL = "<script>alert('1')</script>\x1b"


class Tags(HTMLParser):
    """The tags of a fragment, which must all be closed."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self._open: list[str] = []
        self.feed(fragment)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def begun() -> shortlist.Study:
    study = shortlist.Study(arms=[EVIL, "b & c", "d"], m=1, sigma=0.1, seed=0, algorithm="LUCB")
    study.fail(study.ask(), EVIL)
    study.tell(arm=0, value=7.0, key=EVIL)
    study.correct(1, 0.7, reason="typo")
    return study


@pytest.mark.parametrize("finished", [False, True])
def test_what_has_names_is_shown_as_html_with_the_names_escaped(finished: bool) -> None:
    study = begun()
    if finished:
        study.run(lambda trial: [0.9, 0.5, 0.1][trial.arm], progress=False)
    reason = study.why(study.trials[-1])
    said = study.remaining()
    for shown in (study, study.shortlist, *study.trials, *study.health()[:2], reason, said):
        fragment = shown._repr_html_()
        assert Tags(fragment).seen <= {"table", "thead", "tbody", "tr", "th", "td", "p", "br"}
        assert "\x1b" not in fragment
    assert "&lt;script&gt;" in study.trials[0]._repr_html_()
    assert "first value" in study.trials[1]._repr_html_()
    assert study.health()[0].name in study.health()._repr_html_()
    assert notebook.escaped(str(said)) in said._repr_html_()
    assert ("stopped" if finished else "to go: ") in study._repr_html_()
    assert repr(study).startswith("<Study 'study': the 1 best of 3 arms, ")
    assert str(study.health()).count("\n") == len(study.health()) - 1


def test_results_show_their_table_and_not_their_internals() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    results = shortlist.compare(["LUCB", "m-LinGapE"], instance, runs=3, progress=False)
    for shown in (repr(results), str(results), results._repr_html_()):
        for word in ("algorithm", "LUCB", "m-LinGapE", "median", "error_rate"):
            assert word in shown
        assert "Instance(" not in shown
        assert "array(" not in shown
    Tags(results._repr_html_())


@pytest.mark.parametrize("backend", ["agg", "module://matplotlib_inline.backend_inline"])
def test_a_figure_appears_once_in_a_notebook(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = figures.load_pyplot()
    pyplot.close("all")
    monkeypatch.setattr(pyplot, "get_backend", lambda: backend)
    picture = shortlist.plot.pulls(begun())
    # What pyplot holds at the end of a cell is shown once more by the notebook.
    assert bool(pyplot.get_fignums()) == (backend == "agg")
    assert picture.axes
    pyplot.close("all")


class Kernel:
    """Stands for IPython in a notebook: keeps what is displayed, by handle."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.handles = 0

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Kernel:
        assert raw
        assert display_id
        self.handles += 1
        self.shown.append(bundle["text/plain"])
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle["text/plain"])


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made, package, module = Kernel(), ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=made)  # type: ignore[attr-defined]
    module.display = made.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return made


def test_a_run_in_a_notebook_has_one_line_that_changes(
    kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    study = begun()
    study.run(lambda trial: [0.9, 0.5, 0.1][trial.arm])
    assert notebook.is_notebook()
    assert kernel.handles == 1
    assert kernel.shown[0].startswith("1 evaluations")
    assert kernel.shown[-1].startswith(f"{study.evaluations} evaluations")
    assert "\x1b" not in "".join(kernel.shown)
    study.run(lambda trial: 0.0, progress=False)
    assert kernel.handles == 1
    assert capsys.readouterr().err == ""


def test_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not notebook.is_notebook()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace())  # IPython on a terminal
    monkeypatch.setitem(sys.modules, "IPython", shell)  # type: ignore[arg-type]
    assert not notebook.is_notebook()
