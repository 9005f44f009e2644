"""The outcome of a screen: measures, words and the picture."""

from __future__ import annotations

import matplotlib.pyplot as pyplot
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens import small, switch_data
from shortlist import plot
from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.repurposing import DrugScreen, synthetic
from shortlist.repurposing.outcome import Outcome, assumptions, auc, hit_rate, measures
from shortlist.repurposing.synthetic_data import DataSet

NAN = float("nan")


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=12))
def test_hit_rate_and_auc(drugs: list[tuple[int, bool]]) -> None:
    scores = pd.Series([float(score) for score, _ in drugs])
    hits = pd.Series([hit for _, hit in drugs])
    ranked = sorted(range(len(drugs)), key=lambda i: (-drugs[i][0], i))
    for r in range(1, len(drugs) + 1):
        expected = sum(drugs[i][1] for i in ranked[:r]) / r
        assert hit_rate(scores, hits[::-1], r) == pytest.approx(expected)
    pairs = [(a > b) + 0.5 * (a == b) for a, yes in drugs if yes for b, no in drugs if not no]
    if pairs:
        assert auc(scores, hits) == pytest.approx(sum(pairs) / len(pairs))
    else:
        with pytest.raises(InvalidExpression, match="some of each kind"):
            auc(scores, hits)


def test_measures_of_bad_input() -> None:
    scores, hits = pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"a": True, "b": False})
    for r in (0, 3):
        with pytest.raises(InvalidSetting, match="from 1 to 2"):
            hit_rate(scores, hits, r)
    with pytest.raises(InvalidExpression, match="scores: the drug 'b' has none"):
        hit_rate(pd.Series({"a": 1.0, "b": NAN}), hits, 1)
    with pytest.raises(InvalidExpression, match="'b' has a score, and hits does not"):
        auc(scores, hits[["a"]])
    with pytest.raises(InvalidExpression, match="hits: the drug 'a' occurs more than once"):
        auc(scores, pd.concat([hits, hits]))


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small(networks=2)


# Baseline, instance, study


@pytest.mark.slow
def test_without_a_baseline_the_rest_stands() -> None:
    parts = switch_data()
    full = pd.DataFrame({"half": {"G1": 1.0}, "both": {"G2": 1.0}})
    screen = DrugScreen(**parts, full_signatures=full, labels={"both": 1, "late": -1})
    assert screen.baseline().isna().all()
    study = screen.study(1, epsilon=0.4, classical=True)
    study.run(screen.objective, progress=False)
    outcome = Outcome(screen, study, screen.simulate(2))
    assert outcome.measures.index.tolist() == ["study", "simulated"]
    assert outcome.ranking()["baseline's"].tolist() == ["–"]
    pyplot.close(outcome.figure())


def test_measures_count_labelled_drugs_only() -> None:
    labels = pd.Series({"a": 1.0, "b": -1.0, "c": 0.0, "d": 1.0})
    scores = {
        "one": pd.Series({"a": 0.9, "b": 0.5, "c": 1.0, "d": 0.4}),
        "other": pd.Series({"a": 0.9, "b": 0.5, "c": NAN, "d": NAN}),
    }
    both = measures(scores, labels)
    assert both["drugs"].tolist() == [2, 2]  # d has no score by the other
    assert both["AUC"].tolist() == [1.0, 1.0]
    alone = measures({"one": scores["one"]}, labels)
    assert alone.loc["one"].to_dict() == {"drugs": 3, "HR@1": 1.0, "HR@2": 0.5, "AUC": 0.5}
    assert measures(scores, labels.abs()).empty


# The outcome and the command


@pytest.mark.slow
def test_the_picture(data: DataSet) -> None:
    screen = data.screen()
    study = screen.study(2, epsilon=0.3)
    study.run(screen.objective, progress=False)
    outcome = Outcome(screen, study, screen.simulate(5))
    assert outcome.table.index.tolist()[:2] == list(study.shortlist.names)
    assert outcome.ranking()["baseline's"].iloc[0] == screen.baseline().idxmax()
    figure = outcome.figure()
    ax, other = figure.axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    means = pd.Series(outcome.rewards.mean(axis=(1, 2)), screen.drugs)
    best = means.sort_values(ascending=False, kind="stable").index
    assert [name.removeprefix("★ ") for name in names] == list(best)
    assert {name for name in names if name.startswith("★")} == {
        f"★ {name}" for name in study.shortlist
    }
    colours = {
        text.get_text().removeprefix("★ "): text.get_color() for text in ax.get_yticklabels()
    }
    for drug, label in data.labels.items():
        assert colours[str(drug)] == plot.LABELS[int(label)][0]
    line = other.get_lines()[0]
    assert np.allclose(line.get_xdata(), screen.baseline()[list(best)])
    pyplot.close(figure)


@pytest.mark.slow
def test_what_is_printed_is_what_the_study_says() -> None:
    screen = synthetic(drugs=8, m=3, seed=2).screen()
    rewards = screen.simulate(repeats=3)
    for most in (10, 200, 400):
        study = screen.study(m=3, epsilon=0.1)
        study.run(screen.objective, max_evaluations=most, progress=False)
        ranking = Outcome(screen, study, rewards).ranking()
        assert set(ranking["shortlist"]) == set(study.shortlist.names)


@pytest.mark.parametrize("repeats", [3, 300])
def test_chance_is_not_taken_for_a_misfit(repeats: int) -> None:
    """These means are linear but for 0.0001; few walks miss them by a hundred times as much."""
    screen = synthetic(drugs=6, m=2, seed=0).screen()
    words = assumptions(screen.study(m=2, epsilon=0.1), screen.simulate(repeats))
    assert "no more than chance explains" in words[1]
    rewards = screen.simulate(repeats)
    beyond = np.linalg.svd(screen.features.T.to_numpy())[0][:, -1]  # no combination of the features
    rewards += 0.3 * (beyond / np.abs(beyond).max())[:, None, None]
    words = assumptions(screen.study(m=2, epsilon=0.1), rewards)
    assert "do not rely on the guarantee" in words[1]
