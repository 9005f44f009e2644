"""Pictures of a study."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from matplotlib.text import Text

import shortlist
from pictured import (
    ONCE,
    X,
    closed_figures,  # noqa: F401 - closes the figures after every test
    name_of,
    study,
    tell_some,
    texts,
)
from shortlist import plot
from shortlist.plot.arms import CHALLENGER
from shortlist.study.insight.history import history, last_look

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


# --- the intervals
def rows_drawn(ax: Any) -> dict[str, tuple[float, float, float]]:
    """By label: the dot and the two ends of the bar in its row."""
    labels = {
        tick: text.get_text()
        for tick, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }
    found: dict[float, list[float]] = {}
    for line in ax.lines:
        heights = set(line.get_ydata())
        if len(heights) == 1 and (height := heights.pop()) in labels:
            found.setdefault(height, []).extend(line.get_xdata())
    return {labels[height]: (xs[2], xs[0], xs[1]) for height, xs in found.items()}


def dotted_ends(band: Any) -> list[float]:
    """Where a band begins and ends."""
    return [float(band.get_x()), float(band.get_x() + band.get_width())]


@pytest.mark.parametrize(
    "algorithm", [ONCE, "LinGIFA", "LinGIFA (individual)", "LUCB", "UGapE"], ids=name_of
)
def test_intervals_drawn_are_the_ones_of_the_table_and_of_the_stop(algorithm: object) -> None:
    s = tell_some(study(algorithm, m=3), 110)
    look = last_look(s)
    assert look is not None
    figure = plot.intervals(s)
    paired = s.bound.engine.rules["indices"].name == "paired"
    assert len(figure.axes) == 1 + paired
    own = rows_drawn(figure.axes[0])
    table = s.table()
    by_mean = table.sort_values("mean", ascending=False)
    assert [label.removeprefix("★ ").split()[0] for label in own] == by_mean["name"].tolist()
    for label, drawn in own.items():
        row = table.iloc[int(label.removeprefix("★ ").split()[0])]
        assert drawn == (row["mean"], row["lower"], row["upper"])
        assert label.startswith("★") == row["in_shortlist"]
    assert any(label.endswith("(b)") or "(b," in label for label in own)
    words = texts(figure)
    if paired:
        labels = list(own)
        figure.axes[1].set_yticklabels(labels)
        gaps = rows_drawn(figure.axes[1])
        for label, drawn in gaps.items():
            row = look.table.iloc[int(label.removeprefix("★ ").split()[0])]
            expected = (row["gap"], row["gap_lower"], row["gap_upper"])
            assert drawn == pytest.approx(expected, nan_ok=True)
        verticals = {
            line.get_xdata()[0] for line in figure.axes[1].lines if set(line.get_ydata()) == {0, 1}
        }
        assert verticals == {s.problem.epsilon, s.statistic}
        assert "These intervals do not stop the study" in words
    else:
        (band,) = figure.axes[0].patches
        lower = table["lower"].iloc[look.boundary]
        ends = sorted([band.get_x(), band.get_x() + band.get_width()])
        assert ends == pytest.approx(sorted([lower, lower + s.statistic]))
        dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
        assert [line.get_xdata() for line in dotted] == [[end, end] for end in dotted_ends(band)]
        assert all(line.get_ydata() == [0, 1] for line in dotted)
        if algorithm == "LUCB":
            assert lower + s.statistic == pytest.approx(table["upper"].iloc[look.c])
    assert f"at most ε = {s.problem.epsilon:g}" in words


def test_intervals_on_axes_that_are_given() -> None:
    s = tell_some(study(), 30)
    figure, axes = pyplot.subplots(1, 3)
    assert plot.intervals(s, ax=axes[:2]) is figure
    assert plot.intervals(s, ax=axes[2]) is figure
    assert rows_drawn(axes[2]).keys() == rows_drawn(axes[0]).keys()
    assert "difference" in axes[2].get_xlabel()


# --- over time
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ONCE, "LinGIFA", "LUCB"], ids=name_of)
def test_bands_are_the_intervals_at_the_checkpoints(algorithm: object) -> None:
    s = tell_some(study(algorithm), 300)
    past = history(s)
    figure = plot.shrinking(s)
    times = past.checkpoints["evaluation"].unique()
    by_arm = {arm: past.checkpoints.iloc[arm :: len(X)] for arm in range(len(X))}
    drawn = {tuple(line.get_ydata()) for line in figure.axes[0].lines}
    for arm in range(len(X)):
        assert tuple(by_arm[arm]["mean"]) in drawn
    inside = np.flatnonzero(s.table()["in_shortlist"])
    for arm in [*inside, past.last.c]:  # type: ignore[union-attr]
        assert tuple(by_arm[arm]["lower"]) in drawn
        assert tuple(by_arm[arm]["upper"]) in drawn
    if len(figure.axes) == 2:
        upper = [tuple(line.get_ydata()) for line in figure.axes[1].lines]
        statistics = past.frame["statistic"].iloc[times - 1]
        assert tuple(statistics) in upper
    named = [text.get_text() for text in figure.axes[0].texts]
    assert len(named) == len(inside) + 1
    assert texts(plot.shrinking(s, history=past)) == texts(figure)


def test_the_statistic_over_time() -> None:
    s = tell_some(study(sigma=1.5), 120)
    past = history(s)
    (ax,) = plot.stopping(s, projection=None).axes
    known = past.frame.dropna(subset=["statistic"])
    assert ax.lines[0].get_xdata().tolist() == known["evaluation"].tolist()
    assert ax.lines[0].get_ydata().tolist() == known["statistic"].tolist()
    assert ax.lines[0].get_ydata()[-1] == s.statistic
    assert known["evaluation"].iloc[0] == len(X)
    assert set(ax.lines[1].get_ydata()) == {s.problem.epsilon}
    assert "Projected" not in texts(ax.figure)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guess", "low", "high", "words"),
    [
        (400, 123, 900, "Projected (orange): 120 to 900 more, about 400 (◆)"),
        (400, 100, None, "100 to any number more, about 400"),
        (None, 50, None, "Projected (orange): 50 to any number more."),
        (float("inf"), 50.0, float("inf"), "Projected (orange): 50 to any number more."),
        (1e6, 1e5, 1e8, "100,000 to 100,000,000 more, about 1,000,000"),
        (0, 0, 0, "0 to 0 more, about 0"),
        (None, None, None, "Now it is"),
    ],
)
def test_the_projection_of_the_stop(guess: Any, low: Any, high: Any, words: str) -> None:
    s = tell_some(study(sigma=1.5), 60)
    projection = SimpleNamespace(evaluations=guess, low=low, high=high)
    (ax,) = plot.stopping(s, projection=projection).axes
    assert words in texts(ax.figure)
    known, finite = guess is not None and np.isfinite(guess), high is not None and np.isfinite(high)
    reach = 60 + (high if finite else 1.5 * max(low or 0, guess if known else 0))
    expected = []  # after the statistic and ε, each once: the range, an open end, the way, the guess
    if low is not None:
        expected.append(("-", [60 + low, reach], [0.0, 0.0]))
        if not finite:
            expected.append((">", [reach], [0.0]))
    if known:
        expected.append((":", [60, 60 + guess], [s.statistic, 0.0]))
        expected.append(("D", [60 + guess], [0.0]))
        assert ax.get_xlim()[1] > 60 + guess
    found = []
    for line in ax.lines[2:]:
        marker = line.get_marker()
        shape = line.get_linestyle() if marker == "None" else marker
        found.append((shape, list(line.get_xdata()), list(line.get_ydata())))
    assert found == expected
    assert all(line.get_color() == CHALLENGER for line in ax.lines[2:])
    ax.figure.canvas.draw()


def test_the_projection_is_the_studys_own_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    s = tell_some(study(sigma=1.5), 60)
    answers = iter([SimpleNamespace(evaluations=77, low=70, high=80), None])
    monkeypatch.setattr(type(s), "remaining", lambda self: next(answers), raising=False)
    assert "about 77" in texts(plot.stopping(s))
    assert "Projected" not in texts(plot.stopping(s))


def test_a_stopped_study_has_no_projection() -> None:
    s = tell_some(study(epsilon=0.3, sigma=0.3), 500)
    assert s.done
    figure = plot.stopping(s, projection=SimpleNamespace(evaluations=5, low=1, high=9))
    assert "Projected" not in texts(figure)
    assert f"it stopped after {s.evaluations}" in texts(figure)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ONCE, "LUCB"], ids=name_of)
def test_results_after_the_stop_are_right_of_a_line(algorithm: object) -> None:
    s = tell_some(study(algorithm, epsilon=0.5, sigma=0.3), 900)
    assert s.done
    stop = s.evaluations

    def lines(figure: Any) -> list[tuple[float, ...]]:
        return [
            tuple(line.get_xdata())
            for ax in figure.axes
            for line in ax.lines
            if line.get_linestyle() == "--"
        ]

    for draw in (plot.stopping, plot.shrinking):
        figure = draw(s)
        assert lines(figure) == []
        assert "Vertical dashes" not in texts(figure)
    for k in range(7):
        s.tell(arm=k, value=0.0)
    for draw in (plot.stopping, plot.shrinking):
        figure = draw(s)
        assert lines(figure) == [(stop, stop)] * len(figure.axes)
        said = f"the stop, after {stop:,}; the 7 results told after it do not change the answer"
        assert said in texts(figure)
        assert f"{stop + 7:,} evaluations, stopped after {stop:,}" in texts(figure)
        for ax in figure.axes:
            assert ax.get_xlim()[1] >= stop + 7
    (ax,) = plot.stopping(s).axes
    assert ax.lines[0].get_xdata()[-1] == stop  # after its stop it does not look
    assert "Of these 7 after the stop" in texts(plot.pulls(s))
    assert "Means with the 7 told after the stop" in texts(plot.plane(s))
    assert f"δ = 0.05; {stop:,} evaluations, stopped" in texts(plot.intervals(s))


@pytest.mark.slow
def test_a_start_far_above_all_later_ones_is_cut_and_said() -> None:
    s = tell_some(study("LUCB", sigma=2.0, epsilon=0.1), 2500)
    figure = plot.stopping(s, projection=None)
    low, top = figure.axes[0].get_ylim()
    values = history(s).frame["statistic"].dropna()
    assert low < min(s.problem.epsilon, values.min())
    assert values.iloc[len(values) // 10 :].max() < top < values.max()
    assert "is above the frame" in texts(figure)


# --- where the evaluations went
def test_bars_are_the_trials() -> None:
    s = tell_some(study(), 60)
    for trial in (batch := s.ask(9))[:4]:
        s.fail(trial, "broken")
    s.cancel(batch[4])
    (ax,) = plot.pulls(s).axes
    order = np.argsort(-s.table()["mean"].to_numpy(), kind="stable")
    bars = {each.get_label(): each for each in ax.containers}
    assert list(bars) == ["told", "pending", "failed"]
    for state, container in bars.items():
        counts = np.bincount([t.arm for t in s.trials if t.state == state], minlength=len(X))
        assert container.datavalues.tolist() == counts[order].tolist()
    assert bars["told"].datavalues.tolist() == s.table()["pulls"].to_numpy()[order].tolist()
    assert all(patch.get_hatch() for patch in bars["pending"])
    starts = [patch.get_x() for patch in bars["pending"]]
    assert starts == bars["told"].datavalues.tolist()
    assert "Pending: 4 (hatched). Failed: 4" in texts(ax.figure)


# --- the plane
def test_the_plane_shows_principal_components_means_and_the_pair() -> None:
    s = tell_some(study(), 40)
    look = last_look(s)
    assert look is not None
    ax, bar = plot.plane(s).axes
    dots, rings, square = ax.collections[:3]
    at = np.asarray(dots.get_offsets())
    values, vectors = np.linalg.eigh(np.cov(X.T))
    projected = (X - X.mean(axis=0)) @ vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(at), np.abs(projected), atol=1e-9)
    assert dots.get_array().tolist() == s.posterior.means.tolist()
    inside = s.table()["in_shortlist"].to_numpy()
    assert np.asarray(rings.get_offsets()).tolist() == at[inside].tolist()
    assert np.asarray(square.get_offsets()).tolist() == [at[look.c].tolist()]
    assert ax.lines[0].get_xydata().tolist() == at[[look.b, look.c]].tolist()
    shares = values[::-1] / values.sum()
    assert f"({100 * shares[0]:.0f} % of their variance)" in ax.get_xlabel()
    assert f"({100 * shares[1]:.0f} %)" in ax.get_ylabel()
    assert bar.get_ylabel() == "estimated mean"
    assert len(ax.texts) == len(X)


@pytest.mark.slow
def test_features_of_one_dimension_and_none() -> None:
    line = np.linspace(0.5, 2.0, 5)[:, None] * [[1.0, 2.0]]
    s = tell_some(study(ONCE, line), 20)
    ax = plot.plane(s).axes[0]
    assert "(100 % of their variance)" in ax.get_xlabel()
    assert "no second one" in ax.get_ylabel()
    assert set(np.asarray(ax.collections[0].get_offsets())[:, 1]) == {0.0}
    classical = shortlist.Study(arms=["a", "b", "c"], sigma=1.0, algorithm="LUCB")
    assert "nothing is known of these arms" in texts(plot.plane(classical))
    same = study(ONCE, np.ones((3, 2)), m=1, epsilon=0.5)
    assert "same features" in texts(plot.plane(same))
    assert "does not look at the features" in texts(plot.plane(tell_some(study("LUCB"), 30)))
    single = study(ONCE, np.array([[1.0], [2.0], [4.0]]), m=1)
    assert "no second one" in texts(plot.plane(single))


# --- all of them
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
    ready = study(shortlist.GIFA(threshold="determinant", initialization=None), S=1.0)
    assert ready.statistic is not None  # it has looked, at nothing
    draw(ready).canvas.draw()
    draw(tell_some(ready, 1)).canvas.draw()


@pytest.mark.slow
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
            "□□ α",
        ):
            assert name in found
        assert "N-acetyl-5-met…e 17, well C4" in found
        assert "N-acetyl-5-met…e 17, well C5" in found
    png, svg = plot.save(figure, tmp_path / "odd")  # a warning would be an error
    assert png.stat().st_size > 5000
    assert svg.stat().st_size > 5000
    again = plot.save(draw(s), tmp_path / "again")
    assert [path.read_bytes() for path in again] == [png.read_bytes(), svg.read_bytes()]
    with pyplot.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # text stays text, to be drawn in the reader's fonts
        assert "□" not in texts(draw(s))


def boxes(ax: Any, rows: bool) -> list[Any]:
    labels = [*ax.texts, *(ax.get_yticklabels() if rows else [])]
    # An annotation's own extent takes its line in.
    return [Text.get_window_extent(text) for text in labels if text.get_text()]


@pytest.mark.slow
@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("arms", [2, 9, 1000])
def test_few_arms_and_many(draw: Any, arms: int) -> None:
    features = np.random.default_rng(2).normal(size=(arms, 3))
    names = [f"compound {k} of a series" for k in range(arms)]
    s = tell_some(
        study(ONCE if arms < 1000 else "m-LinGapE", features, m=1 + arms // 9, arms=names), 60
    )
    figure = draw(s)
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
        assert len(figure.axes[0].texts) == (arms if arms == 2 else len(figure.axes[0].texts))
        left = arms - len(figure.axes[0].texts)
        assert (f"{left:,} of the {arms:,} arms are drawn without their names" in words) == bool(
            left
        )
    check_nothing_is_cut_or_covered(figure, draw)


def check_nothing_is_cut_or_covered(figure: Any, draw: Any) -> None:
    figure.draw_without_rendering()
    everywhere = []
    for ax in figure.axes:
        found = boxes(ax, rows=draw in (plot.intervals, plot.pulls))
        for one, other in itertools.combinations(found, 2):
            assert not one.overlaps(other.shrunk(0.98, 0.98))
        around = [ax.xaxis.label, ax.title, *([figure._suptitle] if figure._suptitle else [])]
        around = [text.get_window_extent() for text in around if text.get_text()]
        for extent in [*found, *around]:
            assert extent.x0 >= figure.bbox.x0 - 2
            assert extent.x1 <= figure.bbox.x1 + 2
        everywhere += around[:1]
    for one, other in itertools.combinations(everywhere, 2):  # captions of neighbours
        assert not one.overlaps(other.shrunk(0.98, 0.98))


LONG = "N-acetyl-5-methoxytryptamine from the second batch of May, plate {}, well C{}, MMMMMM"


@pytest.mark.slow
@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("algorithm", [ONCE, "LinGIFA", "LUCB"], ids=name_of)
def test_long_names_cut_no_caption(draw: Any, algorithm: object) -> None:
    long = 9 * "アセチル酸エステル" if algorithm == "LinGIFA" else LONG  # signs of double width
    names = [long.format(k, k) + str(k) for k in range(9)]
    s = tell_some(study(algorithm, arms=names, epsilon=0.1), 110)
    assert s.statistic is not None
    check_nothing_is_cut_or_covered(draw(s), draw)
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
