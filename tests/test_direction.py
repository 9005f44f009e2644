"""``direction="minimize"``: the same decisions as on negated results, in the user's own sign."""

import numpy as np
import pandas as pd
import pytest

import shortlist
from report_pages import undrawn
from shortlist.errors import InvalidSetting, StudyMismatch
from shortlist.plot.arms import most_contested
from shortlist.study.insight.history import last_moment

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.4], [0.3, 0.8]])
MEANS = X @ np.array([1.0, 0.3])
NAMES = ["ash", "elm", "oak", "yew"]


def pair(algorithm, features=X, means=MEANS, until=400, sign=-1.0, offset=0.0, **more):
    """A study that minimizes, and one that maximizes what it would see of the same results."""
    settings = {"m": 2, "sigma": 0.4, "seed": 3, "arms": NAMES, "algorithm": algorithm, **more}
    low = shortlist.Study(features, direction="minimize", **settings)
    high = shortlist.Study(features, **settings)
    noise = np.random.default_rng(7)
    while not high.done and high.evaluations < until:
        one, other = low.ask(), high.ask()
        assert one.arm == other.arm
        value = float(means[one.arm] + 0.4 * noise.standard_normal())
        if more.get("sigma") == "bounded":
            value = float(noise.random() < means[one.arm])
        low.tell(one, value)
        high.tell(other, offset + sign * value)
    assert low.done == high.done
    return low, high


@pytest.mark.parametrize("algorithm", ["m-LinGapE", "LUCB", "Guess-and-verify", "LinGIFA"])
def test_decisions_are_those_of_a_study_of_the_negated_results(algorithm):
    low, high = pair(algorithm)
    assert low.shortlist.names == high.shortlist.names
    one, other = low.table(), high.table()
    np.testing.assert_array_equal(one["mean"], -other["mean"])
    np.testing.assert_array_equal(one["lower"], -other["upper"])
    np.testing.assert_array_equal(one["upper"], -other["lower"])
    assert low.statistic == high.statistic
    np.testing.assert_array_equal(low.posterior.means, -high.posterior.means)


def test_the_shortlist_has_the_smallest_means_the_smallest_first():
    low, _ = pair("m-LinGapE")
    assert set(low.shortlist.names) == {"elm", "yew"}
    assert low.shortlist.table["estimate"].is_monotonic_increasing
    assert low.shortlist.names[0] == NAMES[int(np.argmin(MEANS))]


def test_history_trials_and_pictures_have_the_values_as_they_were_told():
    low, high = pair("m-LinGapE")
    past, other = low.history(), high.history()
    np.testing.assert_array_equal(past.frame["value"], -other.frame["value"])
    np.testing.assert_array_equal(past.checkpoints["estimate"], -other.checkpoints["estimate"])
    assert (past.checkpoints["lower"] <= past.checkpoints["upper"]).all()
    np.testing.assert_array_equal(past.differences, other.differences)
    moment = last_moment(low)
    means = moment.table["estimate"].iloc[most_contested(moment)]
    assert means.is_monotonic_increasing
    assert "b minus the arm" in _words(shortlist.plot.intervals(low))
    assert "the arm minus b" in _words(shortlist.plot.intervals(high))


def _words(figure):
    text = " ".join(each.get_text() for each in figure.findobj(lambda o: hasattr(o, "get_text")))
    return " ".join(text.split())


def test_with_individual_indices_the_band_ends_at_the_upper_end_of_the_boundary():
    low, _ = pair("LUCB")
    figure = shortlist.plot.intervals(low)
    moment = last_moment(low)
    span = next(patch for patch in figure.axes[0].patches if patch.get_zorder() == 1)
    box = span.get_extents().transformed(figure.axes[0].transData.inverted())
    assert box.x1 == pytest.approx(moment.table["upper"].iloc[moment.boundary])
    assert box.x1 - box.x0 == pytest.approx(moment.statistic)
    assert "U_b − L_c" in _words(figure)


@pytest.mark.slow
def test_the_guarantee_and_the_report_say_that_the_smallest_are_sought():
    low, _ = pair("m-LinGapE", epsilon=0.1)
    assert (
        "above the true mean of rank 2 (the smallest first) plus ε = 0.1"
        in low.shortlist.guarantee.text
    )
    with undrawn():
        page = shortlist.report.html(low)
    assert "smallest mean" in page


def test_the_means_of_a_budget_are_in_the_users_sign():
    settings = {"m": 1, "sigma": 0.3, "seed": 0, "budget": 24, "arms": NAMES}
    study = shortlist.Study(X, direction="minimize", **settings)
    found = study.run(lambda trial: MEANS[trial.arm], progress=False)
    assert found.names == ["elm"]
    assert found.table["mean"].iloc[0] == pytest.approx(0.3)
    assert "above the mean of rank 1" in found.guarantee.text


def test_it_is_stored_and_other_settings_are_refused(tmp_path):
    place = tmp_path / "screen.db"
    settings = {"m": 1, "sigma": 0.2, "arms": NAMES, "seed": 1, "storage": place}
    study = shortlist.Study(X, direction="minimize", **settings)
    study.run(lambda trial: MEANS[trial.arm], progress=False)
    again = shortlist.Study.load(place)
    assert again.direction == "minimize"
    pd.testing.assert_frame_equal(again.table(), study.table())
    with pytest.raises(StudyMismatch, match="direction = 'minimize'"):
        shortlist.Study(X, **settings)
    other = {**settings, "name": "other"}
    shortlist.Study(X, **other)
    with pytest.raises(StudyMismatch, match="direction = 'maximize'"):
        shortlist.Study(X, direction="minimize", **other)


def test_going_on_without_features_keeps_the_direction():
    study = shortlist.Study(X, m=1, sigma=0.2, seed=1, arms=NAMES, direction="minimize")
    study.tell(arm="ash", value=1.0)
    free = study.continued(features=None)
    assert free.direction == "minimize"
    assert free.trials[0].value == 1.0


def test_sigma_may_be_estimated():
    given = {"sigma": "estimate", "m": 1, "arms": NAMES, "seed": 2, "direction": "minimize"}
    study = shortlist.Study(X, algorithm="Guess-and-verify", **given)
    noise = np.random.default_rng(0)
    found = study.run(
        lambda trial: MEANS[trial.arm] + 0.05 * noise.standard_normal(), progress=False
    )
    assert found.names == ["elm"]


@pytest.mark.parametrize("wrong", ["min", "", None, 1])
def test_another_word_is_refused(wrong):
    with pytest.raises(InvalidSetting, match="'maximize' or 'minimize'"):
        shortlist.Study(arms=["a", "b"], sigma=1.0, direction=wrong)
