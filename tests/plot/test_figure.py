"""What holds for every picture: names, sizes, empty studies, files, and loading late."""

from __future__ import annotations

import itertools
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from matplotlib.text import Text

import shortlist
from drawn_studies import ONCE, name_of, study, tell_some, texts
from shortlist import plot
from shortlist.plot.feature_plane import NAMED
from shortlist.simulation import instances

ODD = [
    "price $5 and $6",
    "under_score_{x}^2",
    "<b>bold</b> & co",
    "two\nlines",
    "药物 α",
    "N-acetyl-5-methoxytryptamine from the second batch, plate 17, well C4",
    "N-acetyl-5-methoxytryptamine from the second batch, plate 17, well C5",
    "$\\alpha",
    "",
]
NO_GLYPHS = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
PICTURES = [plot.intervals, plot.shrinking, plot.pulls, plot.stopping, plot.plane]


@pytest.mark.slow
@pytest.mark.parametrize("draw", PICTURES)
def test_before_the_first_result_a_sentence(draw: Any) -> None:
    empty = shortlist.Study(arms=list("abc"), sigma=1.0)
    figure = draw(empty)
    assert "No plane" in texts(figure) or "Nothing to draw yet" in texts(figure)
    figure.canvas.draw()
    begun = study()
    begun.tell(begun.ask(), 1.0)
    sentence = texts(draw(begun))
    if draw is plot.plane:
        assert "Not coloured" in sentence
    elif draw is not plot.pulls:
        assert "1 of 9 initial pulls are told" in sentence
    ready = study(shortlist.GIFA(threshold="frequentist", initialization=None), S=1.0)
    assert ready.statistic is not None  # it has looked, at nothing
    draw(ready).canvas.draw()
    draw(tell_some(ready, 1)).canvas.draw()


@pytest.mark.slow
@NO_GLYPHS
@pytest.mark.parametrize("draw", PICTURES)
def test_odd_names_are_drawn_as_they_are(draw: Any, tmp_path: Path) -> None:
    s = tell_some(study(arms=ODD), 40)
    figure = draw(s)
    named = [
        text
        for text in figure.findobj(lambda artist: hasattr(artist, "get_parse_math"))
        if any(part in text.get_text() for part in ("$", "under", "bold", "two lines", "α"))
    ]
    assert len(named) >= (draw is not plot.stopping)
    assert not any(text.get_parse_math() for text in named)
    found = texts(figure)
    if draw in (plot.intervals, plot.pulls):
        for name in (
            "price $5 and $6",
            "under_score_{x}^2",
            "<b>bold</b> & co",
            "two lines",
            "药物 α",
        ):
            assert name in found
        assert "N-acetyl-5-methoxy…plate 17, well C4" in found
        assert "N-acetyl-5-methoxy…plate 17, well C5" in found
    png, svg = plot.save(figure, tmp_path / "odd")
    assert png.stat().st_size > 5000
    assert svg.stat().st_size > 5000
    again = plot.save(draw(s), tmp_path / ("again" if draw is plot.pulls else "again.png"))
    assert again[0].read_bytes() == png.read_bytes()
    assert again[-1].read_bytes() == (svg if draw is plot.pulls else png).read_bytes()


def boxes(ax: Any, rows: bool) -> list[Any]:
    labels = [*ax.texts, *(ax.get_yticklabels() if rows else [])]
    # An annotation's own extent takes its line in.
    return [Text.get_window_extent(text) for text in labels if text.get_text()]


@cache
def series(arms: int) -> shortlist.Study:
    features = np.random.default_rng(2).normal(size=(arms, 3))
    names = [f"compound {k} of a series" for k in range(arms)]
    algorithm = ONCE if arms < 1000 else "m-LinGapE"
    return tell_some(study(algorithm, features, m=1 + arms // 9, arms=names), 60)


@pytest.mark.slow
@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("arms", [2, 9, 1000])
def test_few_arms_and_many(draw: Any, arms: int) -> None:
    figure = draw(series(arms))
    words = texts(figure)
    if draw in (plot.intervals, plot.pulls):
        rows = [label for label in figure.axes[0].get_yticklabels() if label.get_text()]
        assert len(rows) == min(arms, 30)
        assert ("970 of the 1" in words) == (arms == 1000)
    if draw is plot.shrinking:
        left = arms - len(figure.axes[0].collections)  # a band an arm
        assert (f"{left:,} of the {arms:,} arms are left out" in words) == bool(left)
        assert len(figure.axes[0].collections) <= 35
    if draw is plot.plane:
        assert 2 <= len(figure.axes[0].texts) <= min(arms, NAMED)
    check_nothing_is_cut_or_covered(figure, draw)


def titles(ax: Any) -> list[Any]:
    """The title on each side; a user's axes have it left or right."""
    places = {ax.get_title(loc=side) for side in ("left", "center", "right")} - {""}
    return [text for text in ax.findobj(Text) if text.get_text() in places]


def check_nothing_is_cut_or_covered(figure: Any, draw: Any) -> None:
    figure.draw_without_rendering()
    everywhere = []
    for ax in figure.axes:
        found = boxes(ax, rows=draw in (plot.intervals, plot.pulls))
        for one, other in itertools.combinations(found, 2):
            assert not one.overlaps(other.shrunk(0.98, 0.98))
        legend = [ax.get_legend()] if ax.get_legend() else []
        around = [ax.xaxis.label, *figure.texts, *titles(ax), *legend]
        around = [artist.get_window_extent() for artist in around]
        for extent in [*found, *around]:
            assert extent.x0 >= figure.bbox.x0 - 2
            assert extent.x1 <= figure.bbox.x1 + 2
            assert extent.y0 >= figure.bbox.y0 - 2
            assert extent.y1 <= figure.bbox.y1 + 2
        everywhere += around[:1]
    everywhere += [text.get_window_extent() for text in figure.texts]
    for one, other in itertools.combinations(everywhere, 2):  # captions of neighbours
        assert not one.overlaps(other.shrunk(0.98, 0.98))


LONG = "N-acetyl-5-methoxytryptamine from the second batch of May, plate {}, well C{}, MMMMMM"


@cache
def of_long_names(algorithm: object) -> shortlist.Study:
    long = 9 * "アセチル酸エステル" if algorithm == "LinGIFA" else LONG  # signs of double width
    names = [long.format(k, k) + str(k) for k in range(9)]
    return tell_some(study(algorithm, arms=names, epsilon=0.1), 110)


@pytest.mark.slow
@NO_GLYPHS
@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("algorithm", [ONCE, "LinGIFA", "LUCB"], ids=name_of)
def test_long_names_cut_no_caption(draw: Any, algorithm: object) -> None:
    s = of_long_names(algorithm)
    assert s.statistic is not None
    if algorithm != "LUCB":
        check_nothing_is_cut_or_covered(draw(s), draw)
    if algorithm != "LinGIFA":
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 5), layout="constrained")
        draw(s, ax=axes[1])
        check_nothing_is_cut_or_covered(figure, draw)


def test_pictures_load_matplotlib_late() -> None:
    code = (
        "import sys, shortlist.plot as p; p.intervals, p.shrinking, p.pulls, p.stopping, p.plane; "
        "from shortlist.plot import Share, samples, shares, rewards, stack, save, COLOURS, LABELS;"
        "from shortlist.plot import FRAME, LABEL_WIDTH, LOG_FROM, ROW, SHARE_ROW;"
        "print([m for m in ('numba', 'matplotlib', 'scipy', 'pandas') if m in sys.modules], "
        "callable(p.samples), callable(p.shares), callable(p.rewards))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True True True"


def test_without_matplotlib_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    s = tell_some(study(), 20)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in PICTURES:
        with pytest.raises(ImportError, match=r"pip install 'shortlist\[plot\]'"):
            draw(s)


def test_a_picture_is_the_same_each_time(tmp_path: Path) -> None:
    instance = instances.classic(K=4, m=2, omega=1.0)
    results = shortlist.compare(["LUCB", "m-LinGapE"], instance, runs=5, progress=False)
    contents = []
    for name in ("first", "second"):
        figure = shortlist.plot.samples(results, published={"LUCB": 500.0})
        contents.append(
            [path.read_bytes() for path in shortlist.plot.save(figure, tmp_path / name)]
        )
    assert contents[0] == contents[1]


def test_a_picture_is_written_as_the_ending_of_its_name_says(tmp_path: Path) -> None:
    for name, written in (
        ("box.png", ["box.png"]),
        ("box.SVG", ["box.SVG"]),
        ("v1.2", ["v1.2.png", "v1.2.svg"]),
    ):
        figure, _ = pyplot.subplots()
        assert [path.name for path in plot.save(figure, tmp_path / name)] == written
        assert all((tmp_path / each).stat().st_size > 1000 for each in written)
