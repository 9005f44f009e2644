"""The plane of the features."""

from __future__ import annotations

import numpy as np
import pytest

import shortlist
from drawn_studies import ONCE, X, study, tell_some, texts
from shortlist import plot
from shortlist.study.insight.history import last_moment


def test_the_plane_shows_principal_components_means_and_the_pair() -> None:
    s = tell_some(study(), 40)
    moment = last_moment(s)
    assert moment is not None
    ax, bar = plot.plane(s).axes
    dots, rings, square = ax.collections[:3]
    at = np.asarray(dots.get_offsets())
    values, vectors = np.linalg.eigh(np.cov(X.T))
    projected = (X - X.mean(axis=0)) @ vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(at), np.abs(projected), atol=1e-9)
    assert dots.get_array().tolist() == s.posterior.means.tolist()
    inside = s.table()["in_shortlist"].to_numpy()
    assert np.asarray(rings.get_offsets()).tolist() == at[inside].tolist()
    assert np.asarray(square.get_offsets()).tolist() == [at[moment.c].tolist()]
    assert ax.lines[0].get_xydata().tolist() == at[[moment.b, moment.c]].tolist()
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
    assert "no second component" in ax.get_ylabel()
    assert set(np.asarray(ax.collections[0].get_offsets())[:, 1]) == {0.0}
    classical = shortlist.Study(arms=["a", "b", "c"], sigma=1.0, algorithm="LUCB")
    assert "nothing is known about these arms" in texts(plot.plane(classical))
    same = study(ONCE, np.ones((3, 2)), m=1, epsilon=0.5)
    assert "same features" in texts(plot.plane(same))
    assert "does not look at the features" in texts(plot.plane(tell_some(study("LUCB"), 30)))
    single = study(ONCE, np.array([[1.0], [2.0], [4.0]]), m=1)
    assert "no second component" in texts(plot.plane(single))
