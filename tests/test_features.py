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
from shortlist.errors import InvalidFeatures, StudyMismatch
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
    plain = shortlist.Study(x, **settings, audit=False)  # loads what there is to load
    made, most = peak(lambda: shortlist.Study(mapped, **settings, audit=False))
    assert np.shares_memory(made.problem.features, mapped)
    assert np.shares_memory(made.posterior.state.features, mapped)
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
    for name, words in (
        ("x.parquet", "cannot be read"),
        ("x.npy", "cannot be read"),
        ("x.csv", "a name is expected, then numbers"),
        ("x.xlsx", "not a .csv, .tsv, .parquet or .npy file"),
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
    words = " ".join(finding.words for finding in shortlist.Study(uneven, sigma=1.0).health())
    assert "Column 'depth' is " in words
    assert "times as large as 'lr'" in words


def test_a_changed_feature_is_named_by_its_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.4], "depth": [1.0, 2.0, 9.0]})
    settings = {"m": 1, "sigma": 1.0, "seed": 0, "storage": tmp_path / "study.db"}
    shortlist.Study(frame, **settings)
    frame.loc[1, "lr"] = 0.3
    with pytest.raises(StudyMismatch, match=r"'lr' of arm 1 was 0\.2, not 0\.3"):
        shortlist.Study(frame, **settings)


def test_so_many_arms_without_features_are_refused_before_memory_runs_out() -> None:
    with pytest.raises(InvalidFeatures, match=r"at most 30,000 arms, got 100,000.*give features"):
        shortlist.Study(arms=[str(arm) for arm in range(100_000)], m=5, sigma=1.0)
