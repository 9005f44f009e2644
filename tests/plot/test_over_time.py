"""Intervals over time are those of the history."""

from __future__ import annotations

import numpy as np
import pytest

from drawn_studies import ONCE, X, name_of, study, tell_some, texts
from shortlist import plot
from shortlist.study.answer import estimated
from shortlist.study.insight.history import history


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
        assert tuple(estimated(by_arm[arm])) in drawn
    inside = np.flatnonzero(s.table()["in_shortlist"])
    for arm in [*inside, past.last.c]:  # type: ignore[union-attr]
        assert tuple(by_arm[arm]["lower"]) in drawn
        assert tuple(by_arm[arm]["upper"]) in drawn
    if len(figure.axes) == 2:
        upper = [tuple(line.get_ydata()) for line in figure.axes[1].lines]
        statistics = past.frame["statistic"].iloc[times - 1]
        assert tuple(statistics) in upper
    assert len(figure.axes[0].get_legend().get_texts()) == len(inside) + 1
    assert texts(plot.shrinking(s, history=past)) == texts(figure)
