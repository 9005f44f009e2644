"""The experiments are run, written and told honestly, and what goes wrong is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forks
import shortlist
import shortlist.data
from reproduction.__main__ import main
from reproduction.agreement import COLUMNS, Reproduced
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import draw
from reproduction.panels import DRUGS
from reproduction.runs import instance_of
from shortlist.simulation import instances


def made_up_drugs(*, columns: str = "own", m: int = 5, sigma: float = 0.5) -> instances.Instance:
    """Ten drugs with wide gaps, where the real ones are not at hand."""
    rng = np.random.default_rng(1)
    rewards = np.repeat([0.9, 0.1], 5) + 0.05 * rng.standard_normal((18, 10))
    names = [f"drug {a}" for a in range(10)]
    return instances.recorded(np.eye(10), rewards, m=m, sigma=sigma, arms=names)


@pytest.fixture
def drugs(monkeypatch: pytest.MonkeyPatch) -> None:
    instance_of.cache_clear()
    if "SHORTLIST_DATA" not in os.environ:
        monkeypatch.setattr(shortlist.data, "drug_instance", made_up_drugs)


class Page(HTMLParser):
    """Every tag that is opened is closed; the pictures, links, rows of tables and text are collected."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.links: set[str | None] = set()
        self.rows: list[list[str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures.append(dict(attrs))
        if tag == "a":
            self.links.add(dict(attrs)["href"])
        if tag == "tr":
            self.rows.append([])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1:] == ["td"]:
            self.rows[-1].append(data)


def parsed(page: Path) -> Page:
    parser = Page()
    parser.feed(page.read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []
    return parser


def draw_most(reproduced: Reproduced, out: Path) -> list[Path]:
    """The pictures; those that are boxes like the first one are copies of it."""
    boxes = ("figure-1b", "figure-1c", "appendix-omega", "appendix-random")
    if reproduced.experiment.name not in boxes:
        return draw(reproduced, out)
    return [
        Path(shutil.copy(out / f"figure-1a.{kind}", out / f"{reproduced.experiment.name}.{kind}"))
        for kind in ("png", "svg")
    ]


@pytest.mark.slow
def test_all_with_two_runs_and_every_output_opens(
    drugs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.image

    monkeypatch.setattr("reproduction.runs.INSTANCES_A_RUN", 1)
    monkeypatch.setattr("reproduction.__main__.draw", draw_most)
    assert main(["all", "--runs", "2", "--out", str(tmp_path)]) == 0
    html = parsed(tmp_path / "index.html")
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
            assert len(frame) == 2 * len(experiment.cells)
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
    assert html.links == written - {"index.html"}
    assert {f"{name}.{kind}" for name in EXPERIMENTS for kind in ("csv", "parquet")} <= html.links
    instance = DRUGS.instance()
    best = sorted(instance.names[a] for a in np.argsort(-instance.means)[:5])
    assert f"each drug's own rewards: {', '.join(best)} (" in html.text
    for drug, mean in zip(instance.names, instance.means, strict=True):
        row = [drug, f"{mean:.3f}", f"{'100.0' if drug in best else '0.0'} %"]
        assert row in [cells[:3] for cells in html.rows]
    for name in drawn:
        pixels = matplotlib.image.imread(tmp_path / name)
        assert min(pixels.shape[:2]) > 300
        assert pixels[..., :3].std() > 0.05  # not an empty sheet
        root = ElementTree.parse(tmp_path / name.replace(".png", ".svg")).getroot()
        assert root.tag.endswith("svg")


@pytest.mark.parametrize(
    "words",
    [["figure1a"], ["all", "--runs", "0"], ["all", "--workers", "0"], ["all", "--runs", "x"]],
)
def test_unknown_names_and_bad_numbers_say_so(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--out", str(tmp_path / "no")])
    assert ended.value.code == 2
    assert words[-1] in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_the_program_lists_the_experiments() -> None:
    done = subprocess.run(
        [*forks.python(), "-c", "from reproduction.__main__ import main; main(['--help'])"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    for name, experiment in EXPERIMENTS.items():
        assert f"{name:21} {experiment.title}" in done.stdout


@pytest.mark.slow
def test_without_the_data_the_rest_is_done_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance_of.cache_clear()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path / "empty"))
    out = tmp_path / "out"
    names = ["figure-1c", "appendix-random", "complexity-constants"]
    assert main([*names, "--runs", "2", "--out", str(out)]) == 3
    said = capsys.readouterr()
    assert "SHORTLIST_DATA" in said.err
    assert said.out == f"The page: {out / 'index.html'}\n"
    html = parsed(out / "index.html")
    assert "NOT RUN: drugs of figure-1c." in html.text
    assert [picture["src"] for picture in html.pictures] == ["appendix-random.png"]
    assert (out / "complexity-constants.csv").exists()
    assert not (out / "figure-1c.csv").exists()


def test_without_the_fetcher_the_rest_is_done_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    instance_of.cache_clear()
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    names = ["figure-1c", "complexity-constants"]
    assert main([*names, "--runs", "2", "--out", str(tmp_path)]) == 3
    html = parsed(tmp_path / "index.html")
    assert "NOT RUN: drugs of figure-1c. downloading data needs pooch" in html.text
    assert html.links == {"complexity-constants.csv", "complexity-constants.parquet"}
