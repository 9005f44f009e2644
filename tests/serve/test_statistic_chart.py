"""The line of the stopping statistic."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from report_pages import played
from shortlist.report.analysis import Analysis
from shortlist.serve.statistic_chart import HEIGHT, MARGIN, WIDTH, statistic_chart


def points(line: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]


@pytest.mark.parametrize("most", [120, 150, None])
def test_the_line_ends_where_the_study_is(most: int | None) -> None:
    study = played(most=most)
    analysis = Analysis(study)
    drawn = statistic_chart(analysis)
    assert drawn is not None
    line = points(drawn.line)
    assert line[-1] == drawn.now
    assert all(0 <= x <= WIDTH and 0 < y < HEIGHT for x, y in line)
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    if study.done:
        assert (drawn.low, drawn.guess, drawn.high) == (None, None, None)
        assert drawn.now[0] == WIDTH
        assert drawn.now[1] >= drawn.epsilon  # downwards, as on a screen
    else:
        ahead = analysis.remaining
        assert ahead.evaluations is not None
        assert drawn.low is not None
        assert drawn.guess is not None
        assert drawn.high is not None
        assert drawn.now[0] <= drawn.low <= drawn.guess[0] <= drawn.high <= WIDTH
        assert drawn.now[1] < drawn.epsilon == HEIGHT - MARGIN


def test_nothing_is_drawn_before_the_first_look() -> None:
    analysis = Analysis(played(most=20))
    assert statistic_chart(analysis) is None


@pytest.mark.parametrize("more", [50.0, 345.0, 900.0, 10_000.0])
def test_the_dotted_way_reaches_zero_where_the_text_says(
    more: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = played(most=101)
    ahead = SimpleNamespace(evaluations=more, low=0.5 * more, high=3.0 * more)
    monkeypatch.setattr(Analysis, "remaining", property(lambda _: ahead))
    analysis = Analysis(study)
    drawn = statistic_chart(analysis)
    assert drawn is not None
    assert drawn.guess is not None
    first, last = (float(each.replace(",", "")) for each in (drawn.first, drawn.last))
    (x, y), (now_x, now_y) = drawn.guess, drawn.now
    reached = now_x + (drawn.epsilon - now_y) / (y - now_y) * (x - now_x)  # the way drawn on
    stop = first + reached / WIDTH * (last - first)
    assert stop == pytest.approx(study.evaluations + more, rel=0.03)
    if more < 901.0:
        assert y == drawn.epsilon
    assert (drawn.low is None) == (more > 9000.0)
