"""The experiments are run, written and told honestly, and what goes wrong is said."""

from __future__ import annotations

import errno
import itertools
import os
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
import shortlist.data
from shortlist.errors import DataUnavailable, InvalidSetting, UnknownName
from shortlist.paper import EXPERIMENTS, reproduce
from shortlist.paper.agreement import COLUMNS
from shortlist.paper.panels import DRUGS
from shortlist.simulation import instances


def made_up_drugs(*, columns: str = "own", m: int = 5, sigma: float = 0.5) -> instances.Instance:
    """Ten drugs with wide gaps, where the real ones are not at hand."""
    rng = np.random.default_rng(1)
    rewards = np.repeat([0.9, 0.1], 5) + 0.05 * rng.standard_normal((18, 10))
    names = [f"drug {a}" for a in range(10)]
    return instances.recorded(np.eye(10), rewards, m=m, sigma=sigma, arms=names)


@pytest.fixture
def drugs(monkeypatch: pytest.MonkeyPatch) -> None:
    if "SHORTLIST_DATA" not in os.environ:
        monkeypatch.setattr(shortlist.data, "drug_instance", made_up_drugs)


class Page(HTMLParser):
    """Every tag that is opened is closed; the pictures, links and text are collected."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.links: set[str | None] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures.append(dict(attrs))
        if tag == "a":
            self.links.add(dict(attrs)["href"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(page: Path) -> Page:
    parser = Page()
    parser.feed(page.read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.slow
def test_all_with_two_runs_and_every_output_opens(drugs: None, tmp_path: Path) -> None:
    import matplotlib.image

    page = reproduce(["all"], runs=2, seed=0, out=tmp_path, progress=False)
    assert page == tmp_path / "index.html"
    html, markdown = parsed(page), page.with_suffix(".md").read_text(encoding="utf-8")
    assert "33 of the 33 published rows" in html.text
    assert "“" not in html.text  # the claims are paraphrases
    assert html.text.count("with normal noise of σ = 0.5") == 8  # panels with a lower bound
    assert html.text.count("an algorithm that is told so could stop earlier") == 2
    for name, experiment in EXPERIMENTS.items():
        assert experiment.title in html.text
        frame = pd.read_parquet(tmp_path / f"{name}.parquet")
        flat = pd.read_csv(tmp_path / f"{name}.csv")
        assert list(flat.columns) == list(frame.columns)
        assert len(flat) == len(frame)
        if experiment.cells:
            assert len(frame) == 4 * len(experiment.cells)
        elif experiment.constants:
            assert len(frame) == 10
            assert frame["agrees"].dropna().all()
        else:
            rows = [row for panel in experiment.panels for row in panel.rows]
            assert len(frame) == sum(row.runs(2) for row in rows)
            assert list(frame.columns) == COLUMNS
            assert set(frame["experiment"]) == {name}
            assert (frame["pulls"].map(sum) == frame["samples"]).all()
    shown = {picture["src"] for picture in html.pictures}
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert shown == drawn == {f"{name}.png" for name in list(EXPERIMENTS)[:-1]}
    assert all(picture["alt"] for picture in html.pictures)
    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert html.links == written - {"index.html", "index.md"}
    assert {f"{name}.{kind}" for name in EXPERIMENTS for kind in ("csv", "parquet")} <= html.links
    for link in html.links:
        assert f"]({link})" in markdown
    instance = DRUGS.instance()
    best = sorted(instance.names[a] for a in np.argsort(-instance.means)[:5])
    assert f"each drug's own rewards: {', '.join(best)} (" in html.text
    for drug, mean in zip(instance.names, instance.means, strict=True):
        assert f"| {drug} | {mean:.3f} | {'100.0' if drug in best else '0.0'} % |" in markdown
    for name in drawn:
        pixels = matplotlib.image.imread(tmp_path / name)
        assert min(pixels.shape[:2]) > 300
        assert pixels[..., :3].std() > 0.05  # not an empty sheet
        root = ElementTree.parse(tmp_path / name.replace(".png", ".svg")).getroot()
        assert root.tag.endswith("svg")
    tables = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(tables) > 100
    for line, following in itertools.pairwise(tables):
        if "| --- |" in following or "| --- |" in line:  # a header has as many cells as its rule
            assert line.count(" | ") == following.count(" | ")


def test_unknown_names_and_bad_numbers_say_so(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'figure-1a'"):
        reproduce(["figure1a"], out=tmp_path / "no")
    with pytest.raises(InvalidSetting, match="name at least one experiment"):
        reproduce([], out=tmp_path / "no")
    wrong: Any
    for wrong in (0, -1, 2.5, "5", True, None, float("nan")):
        with pytest.raises(InvalidSetting, match="runs must be a whole number, at least 1, got"):
            reproduce("figure-1a", runs=wrong, out=tmp_path / "no")
    for wrong in (0, 1.5, "2", False):
        with pytest.raises(InvalidSetting, match="workers must be a whole number, at least 1"):
            reproduce("figure-1a", workers=wrong, out=tmp_path / "no")
    for wrong in (-1, 2**64, 0.5, "0", None):
        with pytest.raises(InvalidSetting, match="seed must be a whole number from 0"):
            reproduce("figure-1a", seed=wrong, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()
    for wrong in (None, 3, b"results"):
        with pytest.raises(InvalidSetting, match="out must be the path of a folder, got"):
            reproduce("figure-1a", out=wrong)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidSetting, match="cannot be made"):
        reproduce("complexity-constants", out=tmp_path / "file")


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(InvalidSetting, match=r"index\.html is not a regular file"):
        reproduce("complexity-constants", out=tmp_path, progress=False)
    (tmp_path / "runs").touch()
    with pytest.raises(InvalidSetting, match=r"runs cannot be made \(File exists\).*are kept"):
        reproduce("appendix-random", runs=2, out=tmp_path, progress=False)

    def full(*arguments: Any, **settings: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidSetting, match=r"No space left on device.*Finished runs are kept"):
        reproduce("appendix-random", runs=2, out=tmp_path / "full", progress=False)


def test_a_missing_extra_is_named_before_the_first_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'shortlist\[paper\]'"):
        reproduce("complexity-constants", out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_without_the_data_the_rest_is_done_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path / "empty"))
    out = tmp_path / "out"
    names = ["figure-1c", "appendix-random", "complexity-constants"]
    with pytest.raises(DataUnavailable, match="What needs no such data is done") as raised:
        reproduce(names, runs=2, out=out, progress=False)
    assert "SHORTLIST_DATA" in str(raised.value)
    html = parsed(out / "index.html")
    assert "NOT RUN: drugs of figure-1c." in html.text
    assert [picture["src"] for picture in html.pictures] == ["appendix-random.png"]
    assert (out / "complexity-constants.csv").exists()
    assert not (out / "figure-1c.csv").exists()


def test_without_the_fetcher_the_rest_is_done_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataUnavailable, match=r"needs pooch: pip install .* is done: see"):
        reproduce(["figure-1c", "complexity-constants"], runs=2, out=tmp_path, progress=False)
    html = parsed(tmp_path / "index.html")
    assert "NOT RUN: drugs of figure-1c. downloading data needs pooch" in html.text
    assert html.links == {"complexity-constants.csv", "complexity-constants.parquet"}


@pytest.mark.slow
def test_progress_is_a_line_an_experiment_or_two_bars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shortlist.paper.figures.draw", lambda reproduced, out: [])
    reproduce(["appendix-random", "complexity-constants"], runs=2, out=tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == ("shortlist: appendix-random (1 of 2): 12 runs to make, 0 kept from before")
    assert len(lines) == 4
    reproduce("appendix-random", runs=2, out=tmp_path, progress=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    reproduce("appendix-random", runs=3, out=tmp_path)
    shown = capsys.readouterr().err
    assert "everything" in shown
    assert "appendix-random" in shown
