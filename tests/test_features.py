"""Features as they come: arrays, frames and files, copied only where needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from memory import peak
from shortlist.errors import InvalidFeatures, InvalidInput, StudyMismatch
from shortlist.problem import Problem
from shortlist.simulation import instances

DIGITS = "9" * 5000


def header(text: str, version: int = 1) -> bytes:
    data = text.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(data).to_bytes(2 * version, "little") + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        header(""),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + DIGITS + ", 2), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999), }"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }") + b"\0" * 64,
        header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }") + b"\0" * 64,
        header("(" * 30_000),
        header("{'descr': '<q7', 'fortran_order': False, 'shape': (2, 2), }") + b"\0" * 64,
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (), }") + b"\0" * 8,
        b"\x93NUMPY\x02\0\xff\xff\xff\xff{}",
        b"\x93NUMPY\x09\0" + b"\0" * 100,
    ],
)
def test_a_npy_file_is_taken_only_if_its_header_is_true(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(InvalidFeatures):
        shortlist.Study(path, m=1, sigma=0.5)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i2", "|b1", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_npy_file_of_numpy_is_read(dtype: str, order: str, tmp_path: Path) -> None:
    table = np.asarray([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "x.npy", table)
    found = shortlist.Study(tmp_path / "x.npy", m=1, sigma=0.5).problem.features
    np.testing.assert_array_equal(found, table)


VECTORS = 120  # of K numbers: names, counts, means, resident rows and their gaps


def normal(arms: int, rank: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((arms, rank))


@pytest.mark.slow
def test_a_memory_map_is_used_where_it_is(tmp_path: Path) -> None:
    x = normal(20_000, 60)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    settings: dict[str, Any] = {"m": 3, "sigma": 1.0, "seed": 0, "algorithm": "m-LinGapE"}
    settings["intercept"] = False  # else a column is added, in a copy
    plain = shortlist.Study(x, **settings, audit=False)  # loads what there is to load
    made, most = peak(lambda: shortlist.Study(mapped, **settings, audit=False))
    assert np.shares_memory(made.problem.features, mapped)
    assert np.shares_memory(made.posterior.fits.features, mapped)
    assert not made.problem.features.flags.writeable
    assert most < 0.3 * x.nbytes + VECTORS * 8 * len(x)
    by_path = shortlist.Study(tmp_path / "x.npy", **settings, audit=False)
    assert made.fingerprint == plain.fingerprint == by_path.fingerprint
    for each in (made, plain):
        for k in range(5):
            each.tell(each.ask(), float(k))
    assert made.fingerprint == plain.fingerprint


def test_what_is_copied() -> None:
    x = normal(500, 4)
    for other in (np.asfortranarray(x), x.astype(np.float32), x[::2]):
        assert not np.shares_memory(Problem.of(other, 1, sigma=1.0).features, other)
    instance = instances.from_arrays(x, theta=np.ones(4), m=1, sigma=1.0)
    assert np.shares_memory(instance.features, x)
    assert np.shares_memory(instance.problem(0.05, 0.0).reduced, x)


@pytest.mark.parametrize("kind", [list, np.array, pd.Index, pd.Series])
def test_arms_without_features_may_come_in_any_sequence(kind: Callable[..., Any]) -> None:
    assert shortlist.Study(arms=kind(["a", "b"]), sigma=1.0).problem.names == ("a", "b")


def test_a_frame_of_several_types() -> None:
    x = np.column_stack([np.arange(5), np.arange(5) ** 2 / 4, np.array([1, 0, 0, 1, 1])])
    frame = pd.DataFrame({"i": np.arange(5), "f": x[:, 1].astype(np.float32), "b": x[:, 2] > 0})
    assert np.array_equal(Problem.of(frame, 1, sigma=1.0).features, x)
    frame["i"] = frame["i"].astype("Int64")
    assert np.array_equal(Problem.of(frame, 1, sigma=1.0).features, x)
    frame.loc[2, "i"] = pd.NA
    with pytest.raises(InvalidFeatures, match=r"^'i' of arm 2 is nan"):
        Problem.of(frame, 1, sigma=1.0)


def test_bad_files_are_explained(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("no")
    (tmp_path / "x.npy").write_text("no")
    (tmp_path / "x.csv").write_text("no")
    (tmp_path / "x.xlsx").write_text("no")
    (tmp_path / "x.ods").write_text("no")
    for name, words in (
        ("x.parquet", "cannot be read"),
        ("x.npy", "cannot be read"),
        ("x.csv", "a name is expected, then numbers"),
        ("x.xlsx", "is not an Excel workbook"),
        ("x.ods", "not a .csv, .tsv, .xlsx, .parquet or .npy file"),
        ("none.npy", "no file"),
    ):
        with pytest.raises(InvalidFeatures, match=words):
            Problem.of(tmp_path / name, 1, sigma=1.0)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_file_gives_the_features_their_columns_and_the_names(ending: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.3], "depth": [3.0, 4.0, 9.0]}, index=["a", "b", "c"])
    file = tmp_path / f"features.{ending}"
    if ending == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, sep="\t" if ending == "tsv" else ",", index_label="name")
    for given in (file, str(file)):
        problem = Problem.of(given, 1, sigma=1.0)
        assert problem.names == ("a", "b", "c")
        assert problem.columns == ("lr", "depth")
        assert np.array_equal(problem.features, frame.to_numpy())


def test_a_file_without_names_has_row_numbers_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "features.csv"
    file.write_text("lr,depth\n1.25,3\n0.5,4\n0.75,9\n")
    caplog.set_level("INFO", logger="shortlist")
    problem = Problem.of(file, 1, sigma=1.0)
    assert problem.names == (0, 1, 2)
    assert problem.features[:, 0].tolist() == [1.25, 0.5, 0.75]
    assert "has no column of names" in caplog.text


def test_errors_name_the_column() -> None:
    frame = pd.DataFrame({"lr": [0.1, np.inf], "depth": [1.0, 2.0]}, index=["a", "b"])
    with pytest.raises(InvalidFeatures, match=r"^'lr' of arm 'b' is inf"):
        Problem.of(frame, 1, sigma=1.0)
    with pytest.raises(InvalidFeatures, match=r"^feature 0 of arm 1 is inf"):
        Problem.of(frame.to_numpy(), 1, sigma=1.0)
    uneven = pd.DataFrame({"lr": [0.001, 0.002, 0.005], "depth": [300.0, 100.0, 100.0]})
    words = " ".join(
        finding.words
        for finding in shortlist.Study(uneven, sigma=1.0, algorithm="m-LinGapE").health()
    )
    assert "Column 'depth' is " in words
    assert "times as large as 'lr'" in words


def test_a_changed_feature_is_named_by_its_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.4], "depth": [1.0, 2.0, 9.0]})
    settings = {"m": 1, "sigma": 1.0, "seed": 0, "storage": tmp_path / "study.db"}
    shortlist.Study(frame, **settings)
    frame.loc[1, "lr"] = 0.3
    with pytest.raises(StudyMismatch, match=r"'lr' of arm 1 was 0\.2 and is 0\.3"):
        shortlist.Study(frame, **settings)


def test_so_many_arms_without_features_are_refused_before_memory_runs_out() -> None:
    with pytest.raises(InvalidFeatures, match=r"at most 30,000 arms, got 100,000.*give features"):
        shortlist.Study(arms=[str(arm) for arm in range(100_000)], m=5, sigma=1.0)


def test_an_intercept_is_added_where_the_features_cannot_express_one() -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.4, 0.7]}, index=["a", "b", "c", "d"])
    study = shortlist.Study(frame, sigma=1.0)
    assert study.problem.columns == ("lr", "intercept")
    assert study.problem.features[:, 1].tolist() == [1.0] * 4
    assert study.problem.given.numbers[:, 0].tolist() == frame["lr"].tolist()
    plain = shortlist.Study(frame, sigma=1.0, intercept=False)
    assert plain.problem.columns == ("lr",)
    for spanning in (frame.assign(one=3.0), pd.get_dummies(pd.Series(list("xxyy"))).astype(float)):
        epsilon = 0.1  # some of these arms have the same features
        given = shortlist.Study(spanning, sigma=1.0, epsilon=epsilon).problem
        assert not given.intercept
        assert given.dimension == spanning.shape[1]
    assert (
        not shortlist.instances.from_arrays(frame, theta=[1.0], m=1, sigma=1.0)
        .problem(0.05, 0.0)
        .intercept
    )
    with pytest.raises(shortlist.errors.InvalidSetting, match="intercept must be True or False"):
        shortlist.Study(frame, sigma=1.0, intercept="yes")  # type: ignore[arg-type]


def test_an_intercept_is_stored_and_can_be_changed_by_a_continuation(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.4, 0.7]}, index=["a", "b", "c", "d"])
    settings = {"m": 1, "sigma": 0.1, "seed": 0, "storage": tmp_path / "study.db"}
    plain = shortlist.Study(frame, intercept=False, **settings)
    with pytest.raises(StudyMismatch, match="intercept = False"):
        shortlist.Study(frame, **settings)
    plain.tell(arm="c", value=0.5)
    level = plain.continued(intercept=True)
    assert level.problem.columns == ("lr", "intercept")
    loaded = shortlist.Study.load(tmp_path / "study.db", level.name)
    assert loaded.problem.intercept
    assert loaded.problem.columns == ("lr", "intercept")
    assert loaded.trials[0].features is not None
    assert loaded.trials[0].features.to_dict() == {"lr": 0.4}


def test_means_with_a_level_are_certified() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(30, 3)), columns=["lr", "depth", "reg"])
    truth = 0.8 + frame @ [0.1, -0.05, 0.0]
    study = shortlist.Study(frame, m=3, sigma=0.02, epsilon=0.01, seed=0)
    study.run(lambda trial: truth.iloc[trial.arm] + 0.02 * rng.normal(), progress=False)
    assert study.shortlist.guarantee.status == "proven"
    assert study.procedure.relation.features_used == "3, and an intercept (rank 4)"


def test_labels_stay_as_they_were_given(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 8.0]}, index=[7, 3, 9, 1])
    place = tmp_path / "study.db"
    study = shortlist.Study(frame, m=2, sigma=0.1, epsilon=0.05, seed=0, storage=place)
    study.run(lambda trial: float(trial.features["x"]), progress=False)
    for found in (study, shortlist.Study.load(place)):
        assert sorted(found.shortlist.names) == [1, 9]
        assert sorted(found.shortlist.arms) == [2, 3]
        assert frame.loc[found.shortlist.names]["x"].tolist() == [8.0, 4.0]
        assert frame.join(found.table())["in_shortlist"].tolist() == [False, False, True, True]
    assert study.tell(arm=9, value=4.0).arm == 2  # a label, and no row
    assert study.tell(arm="9", value=4.0).arm == 2  # as files have it
    with pytest.raises(InvalidInput, match="such as 7 or 1, got 0"):
        study.tell(arm=0, value=1.0)
    assert shortlist.Study(np.eye(3)[:, :2], sigma=1.0).problem.names == (0, 1, 2)


def test_other_labels_are_kept_as_text_and_it_is_said() -> None:
    days = pd.date_range("2026-01-01", periods=3)
    with pytest.warns(UserWarning, match="are kept as text: '2026-01-01 00:00:00'"):
        study = shortlist.Study(arms=days, sigma=1.0)
    assert study.problem.names[0] == "2026-01-01 00:00:00"
    with pytest.raises(InvalidFeatures, match="1 is given to more than one arm"):
        shortlist.Study(arms=["1", 1, 2], sigma=1.0)


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        (pd.DataFrame({"lr": [1.0, 2.0]}), "got a DataFrame.*Study\\(table"),
        ("abc", "got the text 'abc'"),
        ({"a": 1.0, "b": 2.0}, "got a dict"),
        ({"a", "b"}, "got a set"),
        (12, r"write arms=range\(12\)"),
        (np.eye(2), "A table of features goes first"),
    ],
)
def test_arms_are_a_list_of_names(arms: object, words: str) -> None:
    with pytest.raises(InvalidFeatures, match=words):
        shortlist.Study(arms=arms, sigma=1.0)  # type: ignore[arg-type]


def test_a_column_that_names_the_arms_is_noticed() -> None:
    table = pd.DataFrame({"recipe_id": range(101, 107), "heat": np.arange(6.0) ** 2})
    with pytest.warns(UserWarning, match=r"'recipe_id' seems to name .*set_index\('recipe_id'\)"):
        shortlist.Study(table, m=2, sigma=1.0)
    named = shortlist.Study(table.set_index("recipe_id"), m=2, sigma=1.0)
    assert named.problem.names == (101, 102, 103, 104, 105, 106)
    shortlist.Study(table.rename(columns={"recipe_id": "day"}), m=2, sigma=1.0)  # nothing is said
