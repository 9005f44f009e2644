"""What a study looked like after every evaluation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from drawn_studies import ONCE, X, measured, name_of, study, tell_some, texts
from reproduction.published import PUBLISHED
from shortlist import plot
from shortlist.arrays import NO_ARM
from shortlist.engine.fits import LEAST_SHARE
from shortlist.gifa.rules import Pairs
from shortlist.study.insight import history as histories
from shortlist.study.insight.history import history, last_moment, statistics
from tests.plot.conftest import closed_figures  # noqa: F401 - closes them after every test

ALGORITHMS = [
    ONCE,
    "m-LinGapE",
    "LinGIFA",
    "LinGIFA (individual)",
    "LinGIFA (tau LUCB)",
    "LUCB",
    "LUCB both arms",
    "UGapE",
    "LinGame",
    PUBLISHED["m-LinGapE greedy (as published)"],
    PUBLISHED["LinGIFA greedy (as published)"],
    # It remembers a round, and looks before any result.
    PUBLISHED["LinGIFA (tau LUCB) greedy (as published)"],
]


# --- the history
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_every_row_is_what_the_study_said_then(algorithm: object) -> None:
    s, value = study(algorithm, epsilon=0.05), measured()
    said, tables = [], []
    while not s.done and s.evaluations < 120:
        trial = s.ask()
        s.tell(trial, value(trial))
        said.append(np.nan if s.statistic is None else s.statistic)
        tables.append(s.model.table())
    past = history(s)
    # A round of two pulls reads it once, and is asked for twice.
    assert past.frame["statistic"].tolist() == pytest.approx(said, rel=0, abs=0, nan_ok=True)
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
    reasons = {t.number: s.why(t) for t in s.trials}
    for k, row in past.frame.iterrows():
        following = reasons.get(k + 1)
        if following is not None and pd.notna(row["statistic"]) and algorithm != "LUCB both arms":
            assert (row["b"], row["c"]) == (following.b, following.c)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@pytest.mark.parametrize(
    "algorithm", [ONCE, "LUCB both arms", "LinGIFA", ALGORITHMS[-1]], ids=name_of
)
@pytest.mark.parametrize("seed", range(4))
def test_failures_batches_late_and_unasked_results_and_reopenings(
    algorithm: object, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sigma = 0.1 if algorithm == "LUCB both arms" else 0.3
    s, value = study(algorithm, epsilon=0.4, sigma=sigma), measured(seed, sigma)
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
    assert stops > 1
    assert {t.state for t in s.trials} >= {"told", "failed", "cancelled"}
    past = history(s)
    assert len(past.frame) == s.evaluations
    read = statistics(s)
    last = s.answered_at if s.model.stopped else s.evaluations
    assert (read[-1].evaluation, read[-1].statistic) == (last, s.statistic)
    for each, trial in ((each, s.taken[each.evaluation]) for each in read[:-1]):
        assert each[1:] == (trial.cause.statistic, trial.cause.b, trial.cause.c)
    table = s.model.table()
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
    assert past.frame["statistic"].iloc[stop.evaluations - 1] == s.statistic
    assert past.frame["statistic"].iloc[stop.evaluations :].isna().all()
    assert past.last is not None
    assert past.last.evaluation == stop.evaluations
    assert past.last.statistic == s.statistic
    # The final answer shows the intervals of the stop, and so does the look.
    table = past.last.table.set_index("name").loc[stop.names, ["mean", "lower", "upper"]]
    pd.testing.assert_frame_equal(table, stop.table[["mean", "lower", "upper"]], check_exact=True)
    figure = plot.intervals(s)
    assert f"{len(late) + 1} results that came in since" in texts(figure)
    s.reopen()
    assert history(s).frame["statistic"].iloc[-1] == s.statistic
    trial = s.ask()
    s.tell(trial, value(trial))
    again = last_moment(s)
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
    s._log.give_up(pending[:2], cancel=False)
    for trial in pending[:2]:
        s.tell(trial, 5.0)
    assert s.evaluations == stop + 2
    frame = history(s).frame
    assert frame["statistic"].iloc[stop - 1] == s.statistic
    assert frame["statistic"].iloc[stop:].isna().all()


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


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ONCE, "LUCB", "Guess-and-verify"], ids=name_of)
def test_of_many_arms_the_checkpoints_show_those_around_the_boundary(
    algorithm: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(1).normal(size=(80, 3))
    s = tell_some(study(algorithm, features, sigma=0.3, epsilon=0.3), 800)
    assert s.done or algorithm == "LUCB"
    for late in (0, 2):  # results after the stop
        for _ in range(late):
            s.tell(arm=70, value=3.0)
        with monkeypatch.context() as patch:
            check_checkpoints_of_some_arms(s, patch)


def check_checkpoints_of_some_arms(s: shortlist.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    full = history(s)
    figure = plot.shrinking(s, history=full)
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
    moment = last_moment(s)
    assert moment is not None
    c = NO_ARM if algorithm == "LinGIFA" else moment.c
    engine = s.procedure.engine
    scale = np.float64(engine.threshold(s.posterior, s.round) * engine.setup.sigma)
    means, b, inside = s.posterior.means, moment.boundary, np.flatnonzero(s.round.inside)

    def column(j: int) -> np.ndarray:
        variances, row = s.posterior.variances, s.posterior.row(j)
        pairs = Pairs(means, means[j], variances, variances[j], row, scale, LEAST_SHARE)
        return np.asarray(engine.recipe.rules["indices"](pairs))  # type: ignore[attr-defined]

    every = range(len(means))
    columns = means - means[b], np.array([-column(i)[b] for i in every]), column(b)
    if c == NO_ARM:
        for each in columns:
            each[b] = np.nan
    else:
        columns[0][inside] = means[c] - means[inside]
        columns[1][inside] = -column(c)[inside]
        columns[2][inside] = [column(j)[c] for j in inside]
    found = moment.table[["gap", "gap_lower", "gap_upper"]].to_numpy().T
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
    x, pulls = s.procedure.engine.setup.features, s.posterior.pulls
    V = s.procedure.engine.setup.regularization * np.eye(x.shape[1]) + (x.T * pulls) @ x
    G = x @ np.linalg.solve(V, x.T)
    own = np.sqrt(np.diag(G))
    widths = np.sqrt(np.maximum(own[:, None] ** 2 + own**2 - 2 * G, 0.0))
    if s.procedure.engine.recipe.rules["indices"].name == "individual":
        widths = own[:, None] + own
    means = s.posterior.means
    return np.asarray(means[:, None] - means + C * s.problem.sigma * widths)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
@pytest.mark.parametrize("m", [1, 3])
def test_gaps_are_the_gap_indices_of_the_engine(algorithm: object, m: int) -> None:
    s = tell_some(study(algorithm, m=m, sigma=2.0), 101 + m)
    moment = last_moment(s)
    if moment is None or moment.evaluation < s.evaluations:  # in the middle of a round of two
        assert algorithm in ("LUCB both arms", "m-LinGapE", "LinGame")
        return
    B, means = gap_indices(s, moment.C), s.posterior.means
    inside = moment.table["in_shortlist"].to_numpy()
    i = np.arange(len(X))
    if s.procedure.engine.recipe.rules["stopping"].name == "ugape":
        first, second = i, np.full(len(X), moment.boundary)
        others = i != moment.boundary
        upper = moment.table["gap_upper"].to_numpy()
        assert np.sort(upper[others])[-m] == moment.statistic
        assert np.isnan(upper[moment.boundary])
    else:
        first, second = np.where(inside, moment.c, i), np.where(inside, i, moment.b)
        others = np.ones(len(X), bool)
        if "published" not in getattr(algorithm, "name", ""):
            assert moment.table["gap_upper"][moment.c] == moment.statistic
            assert moment.table["gap_upper"][~inside].max() == moment.statistic
    for column, expected in (
        ("gap", means[first] - means[second]),
        ("gap_upper", B[first, second]),
        ("gap_lower", -B[second, first]),
    ):
        found = moment.table[column].to_numpy()[others]
        np.testing.assert_allclose(found, expected[others], rtol=1e-8, atol=1e-9)
    pd.testing.assert_frame_equal(
        moment.table[list(s.model.table().columns)], s.model.table(), check_exact=True
    )


@pytest.mark.parametrize("stopping", ["lucb", "ugape"])
def test_indices_that_are_not_symmetric(stopping: str) -> None:
    def lopsided(pairs: Pairs) -> np.ndarray:
        widths = 2.0 * pairs.variance_i + pairs.variance_j
        return np.asarray(pairs.mean_i - pairs.mean_j + pairs.scale * widths)

    algorithm = shortlist.GIFA(indices=lopsided, stopping=stopping, initialization="each")
    s = tell_some(study(algorithm, sigma=2.0), 40)
    moment = last_moment(s)
    assert moment is not None
    means, variances = s.posterior.means, s.posterior.variances
    scale = moment.C * s.problem.sigma
    B = means[:, None] - means + scale * (2 * variances[:, None] + variances)
    inside, i = moment.table["in_shortlist"].to_numpy(), np.arange(len(X))
    first, second = np.where(inside, moment.c, i), np.where(inside, i, moment.b)
    if stopping == "ugape":
        first, second = i, np.full(len(X), moment.boundary)
    kept = first != second
    np.testing.assert_allclose(moment.table["gap_upper"][kept], B[first, second][kept])
    np.testing.assert_allclose(moment.table["gap_lower"][kept], -B[second, first][kept])
