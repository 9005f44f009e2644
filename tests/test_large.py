"""Very many arms: no second table of the features, no work that grows faster than they do."""

from __future__ import annotations

import pickle
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import qr
from scipy.optimize import linprog

import shortlist
from memory import peak
from shortlist import linalg
from shortlist.designs import Designs
from shortlist.errors import IndistinguishableArms, UnknownName
from shortlist.features import reduce_to_rank
from shortlist.linalg import span
from shortlist.problem import Problem
from shortlist.simulation import instances
from shortlist.study.insight.feature_findings import examine_features

VECTORS = 120  # of K numbers: names, counts, means, resident rows and their gaps


def normal(arms: int, rank: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((arms, rank))


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    return normal(100_000, 50)


@pytest.fixture(scope="module")
def study(many: np.ndarray) -> shortlist.Study:
    made = shortlist.Study(many, m=10, sigma=0.3, seed=0, algorithm="m-LinGapE", audit=False)
    theta, noise = normal(1, 50, 1)[0] / 7.0, np.random.default_rng(2)
    for _ in range(520):
        trial = made.ask()
        made.tell(trial, float(many[trial.arm] @ theta) + 0.3 * noise.standard_normal())
    assert made.stage == "rounds"
    return made


# A study


@pytest.mark.slow
def test_a_study_asks_and_tells_in_no_time(study: shortlist.Study) -> None:
    times = []
    for _ in range(30):
        begun = time.process_time()
        trial = study.ask()
        times.append(time.process_time() - begun)
        study.cancel(trial)
    assert np.median(times) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "tables"), [("m-LinGapE", 0.3), (None, 4.0)])
def test_a_study_makes_no_second_table(algorithm: str | None, tables: float) -> None:
    """Guess-and-verify, the default, has a basis of its own, and whitens it to design a plan."""
    x = normal(15_000, 80)
    x[:, 0] = 1.0  # else a study copies them, with a column of ones
    shortlist.Study(
        x[:200], m=2, sigma=1.0, seed=0, algorithm=algorithm, audit=False
    )  # loads what it needs
    made, most = peak(
        lambda: shortlist.Study(x, m=10, sigma=1.0, seed=0, algorithm=algorithm, audit=False)
    )
    assert np.shares_memory(made.posterior.fits.features, x)
    assert most < tables * x.nbytes + VECTORS * 8 * len(x)


@pytest.mark.slow
def test_what_is_shown_stays_small(study: shortlist.Study) -> None:
    assert len(study.table()) == 100_000
    assert len(str(study.shortlist).splitlines()) < 20
    assert str(study.why(study.trials[-1]))
    assert study.problem.index("99999") == 99_999
    with pytest.raises(UnknownName) as error:
        study.problem.index("nobody")
    assert len(str(error.value)) < 1000
    assert "There are 100,000 arms" in str(error.value)


@pytest.mark.slow
def test_the_plane_draws_some(study: shortlist.Study) -> None:
    figure = shortlist.plot.plane(study)
    dots = [len(each.get_offsets()) for each in figure.axes[0].collections]
    assert max(dots) == 10_000
    shortlist.plot.figure.load_pyplot().close(figure)


@pytest.mark.slow
def test_a_report_of_many_arms_is_a_few_megabytes(study: shortlist.Study) -> None:
    page = shortlist.report.html(study)
    assert len(page.encode()) < 6_000_000


@pytest.mark.slow
def test_a_history_keeps_no_table_of_every_moment(study: shortlist.Study) -> None:
    past, most = peak(study.history)
    assert len(past.frame) == study.evaluations
    assert {past.last.b, past.last.c, *np.flatnonzero(study.table()["in_shortlist"])} <= {
        *past.arms.tolist()
    }
    assert len(past.arms) <= 1103
    assert len(past.checkpoints) == len(past.arms) * len(past.differences)
    assert most < 1.5 * 8 * VECTORS * study.problem.arms  # rows of the replay, and of a copy


def test_names_are_found_without_a_search(many: np.ndarray) -> None:
    problem = Problem.of(many, 1, sigma=1.0)
    problem.index("0")
    begun = time.process_time()
    assert [problem.index(name) for name in problem.names[-1000:]] == list(range(99_000, 100_000))
    assert time.process_time() - begun < 0.1


def test_features_are_stored_once(tmp_path: Path) -> None:
    file, x = tmp_path / "study.db", normal(20_000, 20)
    kept = shortlist.Study(
        x, m=3, sigma=1.0, seed=0, storage=file, algorithm="m-LinGapE", audit=False
    )
    kept.tell(kept.ask(), 1.0)
    written = []
    for _ in range(20):
        trial = kept.ask()
        kept.tell(trial, 1.0)
    kept.close()
    with sqlite3.connect(file) as connection:
        rows = "SELECT length(coalesce(features, '')) + length(arms) FROM shortlist_studies"
        written = connection.execute(rows).fetchall()
        tables = connection.execute("SELECT length(features) FROM shortlist_tables").fetchall()
    connection.close()
    assert written == [(0,)]  # what every change writes anew
    assert tables == [(x.nbytes,)]
    assert file.stat().st_size < 1.3 * x.nbytes
    loaded = shortlist.Study.load(file)
    assert loaded.fingerprint == kept.fingerprint
    assert np.array_equal(loaded.problem.given.numbers, x)


# Features block by block


def test_twins_are_found_like_unique_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (3000, 6)).astype(float) * rng.choice([1.0, -1.0], (3000, 1))
    first = linalg.first_like(x)
    _, index, inverse = np.unique(x + 0.0, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(first, index[inverse.reshape(-1)])
    assert np.array_equal(linalg.first_like(normal(3000, 6)), np.arange(3000))


def test_twins_among_many_are_refused(many: np.ndarray) -> None:
    x = many.copy()
    x[77_777] = x[123]
    with pytest.raises(IndistinguishableArms, match="123 and 77777"):
        Problem.of(x, 1, sigma=1.0)
    finding = next(
        each
        for each in examine_features(Problem.of(x, 1, sigma=1.0, epsilon=0.1))
        if each.name == "alike"
    )
    assert finding.words.startswith("2 arms have the same features as another")


@pytest.mark.parametrize("kind", ["generic", "skewed", "deficient", "wide"])
def test_the_rank_is_that_of_a_whole_decomposition(kind: str) -> None:
    x = normal(9000, 12)
    if kind == "skewed":
        x *= 10.0 ** -np.arange(12)
    if kind == "deficient":
        x[:, 5] = x[:, 2] - 3.0 * x[:, 7]
    if kind == "wide":
        x = normal(7, 12)
    values = np.linalg.svd(x, compute_uv=False)
    rank = int(np.sum(values > values[0] * max(x.shape) * np.finfo(float).eps))
    reduced = reduce_to_rank(x)
    assert reduced.shape[1] == rank
    if kind == "skewed":  # too many digits would be lost: the columns are brought to the same size
        assert (reduced**2).mean(axis=0) == pytest.approx(np.ones(12))
        return
    assert np.shares_memory(reduced, x) == (rank == 12)
    some = slice(0, 200)
    scale = np.abs(x[some] @ x[some].T).max()
    assert np.abs(reduced[some] @ reduced[some].T - x[some] @ x[some].T).max() < 1e-12 * scale
    assert linalg.singular_values(x)[:rank] == pytest.approx(values[:rank], rel=1e-7)


@pytest.mark.parametrize("kind", ["generic", "skewed", "heavy"])
def test_passes_choose_the_pivots_of_a_whole_decomposition(kind: str) -> None:
    x = normal(4000, 15)
    x *= {"generic": 1.0, "skewed": 8.0 ** -np.arange(15), "heavy": 1.0}[kind]
    if kind == "heavy":
        x *= np.exp(3.0 * normal(4000, 1, 1))
    pivots = qr(x.T, mode="r", pivoting=True)[-1]
    assert span(x).tolist() == sorted(pivots[:15].tolist())


@pytest.mark.parametrize("skew", [1.0, 1e7])
def test_an_offset_is_seen_however_the_features_are_scaled(skew: float) -> None:
    x = normal(6000, 5) + 1.0
    x[:, 0] *= skew
    basis = np.linalg.qr(x)[0]
    ones = np.ones(len(x))
    left = np.linalg.norm(ones - basis @ (basis.T @ ones)) / len(x) ** 0.5
    assert linalg.share_left_of_ones(x) == pytest.approx(left, rel=1e-6)
    assert linalg.share_left_of_ones(np.column_stack([x, ones])) < 1e-8


# Designs


def test_designs_keep_few_numbers() -> None:
    x = normal(6000, 10)
    designs = Designs(x)
    for b, c in ((1, 2), (700, 3), (2, 1)):
        weights, both = designs.of(b, c), np.hstack([x.T, -x.T])
        least = linprog(np.ones(12_000), A_eq=both, b_eq=x[b] - x[c], method="highs").fun
        assert weights.sum() == pytest.approx(least, rel=1e-7)
    assert len(designs) == 2
    assert len(pickle.dumps(designs)) < 1.3 * x.nbytes


# Comparisons


def test_processes_map_large_arrays_and_give_the_same_runs() -> None:
    x = normal(20_000, 10)
    instance = instances.from_arrays(x, theta=normal(1, 10, 1)[0], m=2, sigma=0.1)
    given: dict[str, Any] = {"runs": 2, "max_samples": 110, "progress": False}
    one, two = (shortlist.compare("m-LinGapE", instance, workers=n, **given) for n in (1, 2))
    assert two.frame.equals(one.frame)
