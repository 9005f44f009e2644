"""The intervals that are drawn are those of the study."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as pyplot
import pandas as pd
import pytest

from drawn_studies import ONCE, name_of, study, tell_some, texts
from shortlist import Study, plot
from shortlist.plot.interval_rows import _dots_alone
from shortlist.study.answer import estimated
from shortlist.study.insight.history import last_moment

pytestmark = pytest.mark.filterwarnings("ignore::shortlist.errors.LikelyTie")


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
    moment = last_moment(s)
    assert moment is not None
    figure = plot.intervals(s)
    paired = s.procedure.engine.recipe.rules["indices"].name == "paired"
    assert len(figure.axes) == 1 + paired
    own = rows_drawn(figure.axes[0])
    table = s.table()
    by = str(estimated(table).name)
    by_mean = table.sort_values(by, ascending=False)
    assert [label.removeprefix("★ ").split()[0] for label in own] == by_mean.index.map(str).tolist()
    for label, drawn in own.items():
        row = table.iloc[int(label.removeprefix("★ ").split()[0])]
        assert drawn == (row[by], row["lower"], row["upper"])
        assert label.startswith("★") == row["in_shortlist"]
    assert any(label.endswith("(b)") or "(b," in label for label in own)
    words = texts(figure)
    if paired:
        labels = list(own)
        figure.axes[1].set_yticklabels(labels)
        gaps = rows_drawn(figure.axes[1])
        for label, drawn in gaps.items():
            row = moment.table.iloc[int(label.removeprefix("★ ").split()[0])]
            expected = (row["gap"], row["gap_lower"], row["gap_upper"])
            assert drawn == pytest.approx(expected, nan_ok=True)
        verticals = {
            line.get_xdata()[0] for line in figure.axes[1].lines if set(line.get_ydata()) == {0, 1}
        }
        assert verticals == {s.problem.epsilon, s.statistic}
        assert "These intervals do not stop the study" in words
    else:
        (band,) = figure.axes[0].patches
        lower = table["lower"].iloc[moment.boundary]
        ends = sorted([band.get_x(), band.get_x() + band.get_width()])
        assert ends == pytest.approx(sorted([lower, lower + s.statistic]))
        dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
        assert [line.get_xdata() for line in dotted] == [[end, end] for end in dotted_ends(band)]
        assert all(line.get_ydata() == [0, 1] for line in dotted)
        if algorithm == "LUCB":
            assert lower + s.statistic == pytest.approx(table["upper"].iloc[moment.c])
    assert f"at most ε = {s.problem.epsilon:g}" in words


def test_intervals_on_axes_that_are_given() -> None:
    s = tell_some(study(), 30)
    figure, axes = pyplot.subplots(1, 3)
    assert plot.intervals(s, ax=axes[:2]) is figure
    assert plot.intervals(s, ax=axes[2]) is figure
    assert rows_drawn(axes[2]).keys() == rows_drawn(axes[0]).keys()
    assert "difference" in axes[2].get_xlabel()


def test_a_bar_ends_where_its_interval_ends() -> None:
    figure = plot.intervals(tell_some(study(), 30))
    bars = [line for ax in figure.axes for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert bars
    assert {line.get_solid_capstyle() for line in bars if len(line.get_xdata()) == 2} == {"butt"}


def test_a_difference_without_an_interval_is_explained() -> None:
    def words(upper: float) -> str:
        table = pd.DataFrame({"gap_lower": [-0.5, -upper], "gap_upper": [0.5, upper]})
        return _dots_alone(SimpleNamespace(table=table), [0, 1])  # type: ignore[arg-type]

    assert words(0.4) == ""
    assert "do not bound this difference" in words(float("inf"))


def test_one_bad_arm_does_not_squeeze_the_others() -> None:
    means = [1.0, 0.9, 0.5, 0.4, 0.3, -60.0]
    s = Study(arms=[f"arm {k}" for k in range(6)], m=2, sigma=0.2, algorithm="LUCB", seed=0)
    s.run(lambda trial: means[trial.arm], progress=False)
    (ax,) = plot.intervals(s).axes
    left, right = ax.get_xlim()
    table = s.table()
    assert -1.0 < left < table["lower"][:5].min()
    assert table["upper"].max() < right < 3.0
    [arrow] = [line for line in ax.lines if line.get_marker() == "<"]
    assert (arrow.get_xdata(), arrow.get_ydata()) == ([left], [1])
    assert "An arrow: the interval goes on beyond the frame" in texts(ax.figure)


def test_the_answer_is_one_panel_without_roles() -> None:
    s = tell_some(study("LinGIFA", m=3), 110)
    (ax,) = plot.answer(s).axes
    table = s.table()
    drawn = rows_drawn(ax)
    assert sum(label.startswith("★ ") for label in drawn) == 3
    for label, (mean, low, high) in drawn.items():
        row = table.iloc[int(label.removeprefix("★ "))]
        assert (mean, low, high) == (row["estimate"], row["lower"], row["upper"])
        assert label.startswith("★") == row["in_shortlist"]
    assert "so far" in ax.figure.get_suptitle()
    assert "b:" not in ax.figure.get_supxlabel()


@pytest.mark.parametrize("name", ["answer", "intervals", "shrinking", "stopping", "pulls", "plane"])
def test_a_caption_can_be_left_out(name: str) -> None:
    s = tell_some(study("LinGIFA", m=3), 110)
    explained, plain = (getattr(plot, name)(s, caption=caption) for caption in (True, False))
    assert len(explained.get_supxlabel()) > 60
    assert plain.get_supxlabel() == ""
    labels = [[ax.get_xlabel() for ax in figure.axes] for figure in (explained, plain)]
    assert labels[0] == labels[1]
    assert plain.get_suptitle() == explained.get_suptitle()
