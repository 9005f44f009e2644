"""The pictures of a study show what the study says, and its history is what it went through."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import shortlist
from shortlist import plot
from shortlist.arrays import NO_ARM
from shortlist.engine.decision import differences
from shortlist.plot.arms import CHALLENGER
from shortlist.study.insight import history as histories
from shortlist.study.insight.history import history, last_look

RNG = np.random.default_rng(8)
X = RNG.normal(size=(9, 3))
THETA = np.array([0.8, -0.5, 0.2])
ONCE = shortlist.GIFA(initialization="each", name="m-LinGapE, each arm once first")
ALGORITHMS = [
    ONCE,
    "m-LinGapE",
    "LinGIFA",
    "LinGIFA (individual)",
    "LinGIFA (tau LUCB)",
    "LUCB",
    "LUCB both",
    "UGapE",
    "LinGame",
    "m-LinGapE greedy (as published)",
    "LinGIFA greedy (as published)",
    "LinGIFA (tau LUCB) greedy (as published)",  # remembers a round, and looks before any result
]
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


@pytest.fixture(autouse=True)
def closed_figures() -> Any:
    yield
    pyplot.close("all")


def name_of(algorithm: object) -> str:
    return algorithm if isinstance(algorithm, str) else "own"


def study(algorithm: object = ONCE, features: np.ndarray = X, **settings: Any) -> shortlist.Study:
    published = "published" in name_of(algorithm)
    settings = {"m": 2, "sigma": 0.6, "seed": 3, "S": 1.0 if published else None, **settings}
    return shortlist.Study(features, algorithm=algorithm, **{"audit": False, **settings})  # type: ignore[arg-type]


def measured(seed: int = 0, noise: float = 0.6) -> Callable[[Any], float]:
    """Results by arm; those of the arms of a classical study are in steps."""
    rng = np.random.default_rng(seed)
    means = X @ THETA
    return lambda trial: float(means[trial.arm % len(means)] + noise * rng.standard_normal())


def tell_some(s: shortlist.Study, count: int, seed: int = 0) -> shortlist.Study:
    value = measured(seed)
    while s.evaluations < count and not s.done:
        trial = s.ask()
        s.tell(trial, value(trial))
    return s


def texts(figure: Any) -> str:
    found = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return " ".join(" ".join(artist.get_text() for artist in found).split())


# --- the history


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_every_row_is_what_the_study_said_then(algorithm: object) -> None:
    s, value = study(algorithm, epsilon=0.05), measured()
    statistics, tables = [], []
    while not s.done and s.evaluations < 150:
        trial = s.ask()
        s.tell(trial, value(trial))
        statistics.append(np.nan if s.statistic is None else s.statistic)
        tables.append(s.table())
    past = history(s)
    assert past.frame["statistic"].tolist() == pytest.approx(statistics, rel=0, abs=0, nan_ok=True)
    assert past.frame["evaluation"].tolist() == list(range(1, s.evaluations + 1))
    assert past.frame["trial"].tolist() == [t.number for t in s.taken]
    assert past.frame["value"].tolist() == [t.value for t in s.taken]
    assert past.frame["name"].tolist() == [t.name for t in s.taken]
    if s.statistic is None:
        assert past.last is None
        assert past.checkpoints.empty
        return
    shown = past.checkpoints["evaluation"].unique()
    assert 2 <= len(shown) <= 60
    assert shown[-1] == s.evaluations
    for evaluation in shown:
        then = past.checkpoints[past.checkpoints["evaluation"] == evaluation]
        table = tables[evaluation - 1]
        pd.testing.assert_frame_equal(
            then[list(table.columns)].reset_index(drop=True), table, check_exact=True
        )
    C = s.bound.engine.threshold(s.posterior)
    assert past.frame["C"].iloc[-1] == C
    reasons = {t.number: s.why(t) for t in s.trials}
    for k, row in past.frame.iterrows():
        following = reasons.get(k + 1)
        if following is not None and following.b is not None and algorithm != "LUCB both":
            assert (row["b"], row["c"]) == (following.b, following.c)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ONCE, "LUCB both", "LinGIFA", ALGORITHMS[-1]], ids=name_of)
@pytest.mark.parametrize("seed", range(4))
def test_failures_batches_late_and_unasked_results_and_reopenings(
    algorithm: object, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sigma = 0.1 if algorithm == "LUCB both" else 0.3
    s, value = study(algorithm, epsilon=0.4, sigma=sigma), measured(seed, sigma)
    said: dict[int, float | None] = {}
    stops = 0
    for _ in range(400):
        move = rng.choice(["ask", "tell", "tell", "tell", "fail", "cancel", "unasked"])
        pending = s.pending
        if move == "ask" and not s.done:
            s.ask(int(rng.integers(1, 5)))
        elif move == "unasked" and rng.random() < 0.3:
            arm = int(rng.integers(len(X)))
            s.tell(arm=arm, value=value(SimpleNamespace(arm=arm)))
        elif pending and move in ("tell", "fail", "cancel"):
            trial = pending[int(rng.integers(len(pending)))]
            if move == "tell":
                s.tell(trial, value(trial))
            elif rng.random() < 0.3:
                (s.fail if move == "fail" else s.cancel)(trial)
        if s.done and rng.random() < 0.2:
            s.reopen()
            stops += 1
        said[s.evaluations] = s.statistic
    assert stops > 1
    assert {t.state for t in s.trials} >= {"told", "failed", "cancelled"}
    past = history(s)
    expected = [np.nan if said[e] is None else said[e] for e in range(1, s.evaluations + 1)]
    assert past.frame["statistic"].tolist() == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    table = s.table()
    last = past.checkpoints[past.checkpoints["evaluation"] == s.evaluations]
    pd.testing.assert_frame_equal(
        last[list(table.columns)].reset_index(drop=True), table, check_exact=True
    )


def test_results_after_the_stop_are_not_in_the_last_look() -> None:
    s, value = study(epsilon=0.4, sigma=0.3), measured(noise=0.3)
    while not s.done:
        batch = s.ask(3)
        for trial in batch:
            s.tell(trial, value(trial))
    stop = s.shortlist
    late = s.taken[stop.evaluations :]
    s.tell(arm=0, value=9.0)
    past = history(s)
    assert len(past.frame) == s.evaluations == stop.evaluations + len(late) + 1
    assert set(past.frame["statistic"].iloc[stop.evaluations - 1 :]) == {s.statistic}
    assert past.last is not None
    assert past.last.evaluation == stop.evaluations
    assert past.last.statistic == s.statistic
    # The final answer shows the intervals of the stop, and so does the look.
    table = past.last.table.set_index("name").loc[list(stop.names), ["mean", "lower", "upper"]]
    pd.testing.assert_frame_equal(
        table, stop.table.set_index("name")[["mean", "lower", "upper"]], check_exact=True
    )
    figure = plot.intervals(s)
    assert f"{len(late) + 1} results that came in since" in texts(figure)
    s.reopen()
    assert history(s).frame["statistic"].iloc[-1] == s.statistic
    trial = s.ask()
    s.tell(trial, value(trial))
    again = last_look(s)
    assert again is not None
    assert again.evaluation == s.evaluations
    assert again.statistic == s.statistic == history(s).frame["statistic"].iloc[-1]


def test_a_trial_given_back_after_the_stop_is_no_reopening() -> None:
    s = tell_some(study(epsilon=0.3, sigma=0.3), len(X))
    assert not s.done
    batch = s.ask(200)
    while not s.done:
        trial = batch.pop(0)
        s.tell(trial, measured(trial.number, 0.1)(trial))
    stop, pending = s.shortlist.evaluations, s.pending
    s._journal.release(pending[:2])
    for trial in pending[:2]:
        s.tell(trial, 5.0)
    assert s.evaluations == stop + 2
    frame = history(s).frame
    assert frame["statistic"].iloc[stop - 1 :].tolist() == [s.statistic] * 3


@pytest.mark.parametrize("order", ["asked", "completion"])
def test_a_study_run_by_threads(order: Any) -> None:
    s = study()
    with ThreadPoolExecutor(3) as pool:
        s.run(measured(), executor=pool, batch=3, order=order, max_evaluations=90, progress=False)
    past = history(s)
    assert past.frame["trial"].tolist() == [t.number for t in s.taken]
    assert past.frame["statistic"].iloc[-1] == s.statistic
    assert past.last is not None
    assert past.last.statistic == s.statistic


def test_a_stored_study_has_the_same_history(tmp_path: Path) -> None:
    s = study(epsilon=0.4, sigma=0.3, storage=tmp_path / "study.db")
    tell_some(s, 200)
    assert s.done
    s.tell(arm=1, value=0.0)
    s.reopen()
    trial = s.ask()
    s.tell(trial, measured(1)(trial))
    one, other = history(s), history(shortlist.Study.load(tmp_path / "study.db"))
    pd.testing.assert_frame_equal(one.frame, other.frame, check_exact=True)
    pd.testing.assert_frame_equal(one.checkpoints, other.checkpoints, check_exact=True)
    assert one.frame["statistic"].iloc[-1] == s.statistic


@pytest.mark.parametrize(
    "algorithm", [ONCE, "LinGIFA", "m-LinGapE greedy (as published)"], ids=name_of
)
def test_a_long_study_is_read_out_at_fewer_evaluations(
    algorithm: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(1).normal(size=(80, 3))  # rows of G are made on demand
    s = tell_some(study(algorithm, features, sigma=2.0), 400)
    full = history(s)
    monkeypatch.setattr(histories, "ROWS", 50)
    monkeypatch.setattr(histories, "LAST_ROWS", 10)
    thin = history(s)
    read = thin.frame["C"].notna()
    assert len(thin.frame) == s.evaluations
    assert 50 <= read.sum() <= 50 + 10 + 60 + 1
    assert read.iloc[-10:].all()
    pd.testing.assert_frame_equal(thin.frame[read], full.frame[read], check_exact=True)
    pd.testing.assert_frame_equal(thin.checkpoints, full.checkpoints, check_exact=True)
    assert thin.frame["statistic"].iloc[-1] == s.statistic


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 2], ids=["as it stopped", "results after the stop"])
@pytest.mark.parametrize("algorithm", [ONCE, "LinGIFA", "LUCB", "Phased"], ids=name_of)
def test_of_many_arms_the_checkpoints_show_those_around_the_boundary(
    algorithm: object, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(1).normal(size=(80, 3))
    s = tell_some(study(algorithm, features, sigma=0.3, epsilon=0.3), 2000)
    assert s.done or algorithm == "LUCB"
    for _ in range(late):
        s.tell(arm=70, value=3.0)
    full, figure = history(s), plot.shrinking(s)
    drawn = texts(figure)
    lines = {tuple(line.get_ydata()) for line in figure.axes[0].lines}
    monkeypatch.setattr(histories, "ARMS", 62)
    monkeypatch.setattr(histories, "LOWEST", 1)
    assert 2 <= len(history(s).differences) <= 24
    monkeypatch.setattr(histories, "FEWER", histories.CHECKPOINTS)
    thin = history(s)
    assert len(full.arms) == 80
    assert 31 <= len(thin.arms) < 70
    kept = full.checkpoints.iloc[
        np.flatnonzero(np.isin(np.arange(len(full.checkpoints)) % 80, thin.arms))
    ]
    pd.testing.assert_frame_equal(thin.checkpoints, kept.reset_index(drop=True), check_exact=True)
    pd.testing.assert_frame_equal(thin.differences, full.differences, check_exact=True)
    pd.testing.assert_frame_equal(thin.frame, full.frame, check_exact=True)
    assert thin.last is not None
    pd.testing.assert_frame_equal(thin.last.table, full.last.table, check_exact=True)  # type: ignore[union-attr]
    figure = plot.shrinking(s, history=thin)
    assert texts(figure) == drawn
    assert {tuple(line.get_ydata()) for line in figure.axes[0].lines} == lines


@pytest.mark.parametrize("algorithm", [ONCE, "LUCB", "LinGIFA"], ids=name_of)
def test_gaps_are_those_of_a_column_for_every_candidate(algorithm: object) -> None:
    s = tell_some(study(algorithm), 200)
    look = last_look(s)
    assert look is not None
    c = NO_ARM if algorithm == "LinGIFA" else look.c
    engine = s.bound.engine
    scale = engine.threshold(s.posterior, s.round) * engine.setup.sigma
    indices = engine.rules["indices"]  # type: ignore[attr-defined]
    columns = differences(indices, s.posterior, scale, s.round, look.boundary, c)
    found = look.table[["gap", "gap_lower", "gap_upper"]].to_numpy().T
    assert np.abs(np.nan_to_num(found - np.array(columns))).max() < 1e-13
    assert np.array_equal(np.isnan(found), np.isnan(columns))


def test_checkpoints_are_spaced_by_ratios() -> None:
    s = tell_some(study(sigma=3.0), 900)
    shown = history(s).checkpoints["evaluation"].unique()
    expected = np.geomspace(len(X), 900, 60)
    assert len(shown) > 40
    assert shown[0] == len(X)
    assert np.abs(shown[:, None] - expected).min(axis=1).max() <= 0.5


# --- the numbers that stop the study


def gap_indices(s: shortlist.Study, C: float) -> np.ndarray:
    """B_ij by plain linear algebra."""
    x, pulls = s.bound.engine.setup.features, s.posterior.pulls
    V = s.bound.engine.setup.regularization * np.eye(x.shape[1]) + (x.T * pulls) @ x
    G = x @ np.linalg.solve(V, x.T)
    own = np.sqrt(np.diag(G))
    widths = np.sqrt(np.maximum(own[:, None] ** 2 + own**2 - 2 * G, 0.0))
    if s.bound.engine.rules["indices"].name == "individual":
        widths = own[:, None] + own
    means = s.posterior.means
    return np.asarray(means[:, None] - means + C * s.problem.sigma * widths)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
@pytest.mark.parametrize("m", [1, 3])
def test_gaps_are_the_gap_indices_of_the_engine(algorithm: object, m: int) -> None:
    s = tell_some(study(algorithm, m=m, sigma=2.0), 101 + m)
    look = last_look(s)
    if look is None or look.evaluation < s.evaluations:  # in the middle of a round of two
        assert algorithm in ("LUCB both", "m-LinGapE", "LinGame")
        return
    B, means = gap_indices(s, look.C), s.posterior.means
    inside = look.table["in_shortlist"].to_numpy()
    i = np.arange(len(X))
    if s.bound.engine.rules["stopping"].name == "ugape":
        first, second = i, np.full(len(X), look.boundary)
        others = i != look.boundary
        upper = look.table["gap_upper"].to_numpy()
        assert np.sort(upper[others])[-m] == look.statistic
        assert np.isnan(upper[look.boundary])
    else:
        first, second = np.where(inside, look.c, i), np.where(inside, i, look.b)
        others = np.ones(len(X), bool)
        if "published" not in name_of(algorithm):
            assert look.table["gap_upper"][look.c] == look.statistic
            assert look.table["gap_upper"][~inside].max() == look.statistic
    for column, expected in (
        ("gap", means[first] - means[second]),
        ("gap_upper", B[first, second]),
        ("gap_lower", -B[second, first]),
    ):
        found = look.table[column].to_numpy()[others]
        np.testing.assert_allclose(found, expected[others], rtol=1e-8, atol=1e-9)
    pd.testing.assert_frame_equal(look.table[list(s.table().columns)], s.table(), check_exact=True)


@pytest.mark.parametrize("stopping", ["lucb", "ugape"])
def test_indices_that_are_not_symmetric(stopping: str) -> None:
    def lopsided(j, means, variances, row, scale, column):  # type: ignore[no-untyped-def]
        for i in range(means.shape[0]):
            column[i] = means[i] - means[j] + scale * (2.0 * variances[i] + variances[j])

    algorithm = shortlist.GIFA(indices=lopsided, stopping=stopping, initialization="each")
    s = tell_some(study(algorithm, sigma=2.0), 40)
    look = last_look(s)
    assert look is not None
    means, variances = s.posterior.means, s.posterior.variances
    scale = look.C * s.problem.sigma
    B = means[:, None] - means + scale * (2 * variances[:, None] + variances)
    inside, i = look.table["in_shortlist"].to_numpy(), np.arange(len(X))
    first, second = np.where(inside, look.c, i), np.where(inside, i, look.b)
    if stopping == "ugape":
        first, second = i, np.full(len(X), look.boundary)
    kept = first != second
    np.testing.assert_allclose(look.table["gap_upper"][kept], B[first, second][kept])
    np.testing.assert_allclose(look.table["gap_lower"][kept], -B[second, first][kept])


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
