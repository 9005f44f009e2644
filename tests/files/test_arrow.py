"""Parquet files and Arrow tables, read a few columns at a time and within limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from shortlist.errors import InvalidExpression, InvalidFeatures, InvalidInput
from shortlist.files import arrow
from shortlist.problem import Problem
from shortlist.repurposing.expression.readers import read_expression


@pytest.mark.slow
def test_a_parquet_file_that_repeats_one_number_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "16M")
    path = tmp_path / "bomb.parquet"
    pd.DataFrame({"name": ["a"] * 3_000_000, "x": 1.0}).to_parquet(path, index=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidFeatures, match="SHORTLIST_MAX_BYTES"):
        shortlist.Study(path, m=1, sigma=0.5)
    with pytest.raises(InvalidExpression, match="SHORTLIST_MAX_BYTES"):
        read_expression(path)


def test_parquet_as_pandas_writes_it_is_read_as_pandas_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame(
        {"x": [1, 2], "y": [True, False], "z": [0.5, np.nan], "w": pd.Categorical(["u", "v"])},
        index=pd.Index(["a", "b"], name="arm"),
    )
    frame.to_parquet(path)
    pd.testing.assert_frame_equal(arrow.read_frame(path, InvalidInput), pd.read_parquet(path))


pa = pytest.importorskip("pyarrow")

pq = pytest.importorskip("pyarrow.parquet")


def normal(arms: int, rank: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((arms, rank))


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    return normal(100_000, 50)


@pytest.mark.slow
def test_parquet_and_arrow(tmp_path: Path) -> None:
    x, names = normal(300, 3), [f"arm {k}" for k in range(300)]
    table = pa.table({"who": names, **{f"f{k}": x[:, k] for k in range(3)}})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=70)
    for given in (
        table,
        table.to_batches()[0],
        tmp_path / "x.parquet",
        str(tmp_path / "x.parquet"),
    ):
        problem = Problem.of(given, 1, sigma=1.0)
        assert np.array_equal(problem.features, x)
        assert problem.names == tuple(names)
    frame = table.to_pandas().set_index("who")
    frame.to_parquet(tmp_path / "frame.parquet")
    assert Problem.of(tmp_path / "frame.parquet", 1, sigma=1.0).names == tuple(names)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 3)
    rows = pa.table({"x": lists})
    assert np.array_equal(Problem.of(rows, 1, sigma=1.0).features, x)
    flat = rows.column("x").chunk(0).flatten().to_numpy()
    assert np.shares_memory(Problem.of(rows, 1, sigma=1.0).features, flat)
    assert shortlist.Study(rows, m=1, sigma=1.0, seed=0, audit=False).ask().arm >= 0


def test_parquet_is_read_a_few_columns_at_a_time(tmp_path: Path) -> None:
    x, file = normal(301, 7), tmp_path / "x.parquet"
    x[5, 2] = 3.0
    words = ["a", "a.b", "a.b.c", "b", "name", "ä", "x y"]  # Parquet takes a dot for a path
    table = pa.table(dict(zip(words, x.T, strict=True)))
    who = [f"arm {k}" for k in range(301)]
    table = table.append_column("a.name", pa.array(who)).set_column(
        1, "a.b", pa.array(np.arange(301))
    )
    x[:, 1] = np.arange(301)
    for rows in (301, 40):
        pq.write_table(table, file, row_group_size=rows)
        problem = Problem.of(file, 1, sigma=1.0)
        assert np.array_equal(problem.features, x)
        assert problem.names == tuple(who)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1).astype(np.float32)), 7)
    pq.write_table(pa.table({"who": who, "x": lists}), file, row_group_size=40)
    problem = Problem.of(file, 1, sigma=1.0)
    assert np.array_equal(problem.features, x.astype(np.float32))
    assert problem.names == tuple(who)
    pq.write_table(pa.table({"x": lists, "y": x[:, 0]}), file)
    with pytest.raises(InvalidFeatures, match="'x' contains lists, but there are other columns"):
        Problem.of(file, 1, sigma=1.0)
    holes = pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"x": holes}), file)
    with pytest.raises(InvalidFeatures, match="'x' has rows that are missing"):
        Problem.of(file, 1, sigma=1.0)


PEAK = """
import pathlib, sys
import pyarrow.parquet
from shortlist.features import features_and_names

def memory(what):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))

features_and_names(sys.argv[1], None)  # loads what there is to load
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
matrix, names, _ = features_and_names(sys.argv[2], None)
print((memory("VmHWM") - before) / matrix.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux counts the memory")
@pytest.mark.parametrize(("kind", "most"), [("one", 2.0), ("many", 1.7), ("lists", 2.0)])
def test_a_parquet_file_is_not_in_memory_beside_its_table(
    kind: str, most: float, tmp_path: Path
) -> None:
    x = normal(100_000, 50)
    table = pa.table({f"f{k}": x[:, k] for k in range(50)})
    if kind == "lists":
        table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 50)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=5000 if kind == "many" else len(x))
    pq.write_table(table[:2], tmp_path / "tiny.parquet")
    files = [str(tmp_path / name) for name in ("tiny.parquet", "x.parquet")]
    told = subprocess.run(
        [sys.executable, "-c", PEAK, *files], capture_output=True, text=True, check=True
    )
    # The names take 0.2 of the features, and the table itself 1.
    assert 1.0 < float(told.stdout) < most


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": ["x", "y"], "b": ["u", "v"], "c": [1.0, 2.0]}, "'a' and 'b' are both text"),
        ({"a": [1.0, None], "b": [2.0, 3.0]}, "'a' of arm 1 is nan"),
        ({"a": [b"x", b"y"]}, "'a' is binary, not numeric"),
        ({"a": ["x", "y"]}, "shape"),
    ],
)
def test_bad_arrow_is_explained(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidFeatures, match=words):
        Problem.of(pa.table(columns), 1, sigma=1.0)
