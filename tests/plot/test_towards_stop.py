"""The way to the stop: statistic, projection, and what came after."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drawn_studies import ONCE, X, name_of, study, tell_some, texts
from shortlist import plot
from shortlist.plot.arms import CHALLENGER
from shortlist.study.insight.history import history


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
    assert f"δ = 0.05; {stop:,} evaluations, stopped" in texts(plot.intervals(s))


@pytest.mark.slow
def test_a_start_far_above_all_later_ones_is_cut_and_said() -> None:
    s = tell_some(study("LUCB", sigma=2.0, epsilon=0.1), 2500)
    figure = plot.stopping(s, projection=None)
    low, top = figure.axes[0].get_ylim()
    values = history(s).frame["statistic"].dropna()
    assert low < min(s.problem.epsilon, values.min())
    assert values.iloc[len(values) // 10 :].max() < top < values.max()
    assert "is cut off at the top" in texts(figure)
