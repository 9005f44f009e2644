"""How much memory a file may take."""

from __future__ import annotations

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest

from assays import gctx
from shortlist import repurposing
from shortlist.errors import InvalidExpression, InvalidSetting, ShortlistError
from shortlist.files.limits import most_bytes, most_seconds
from shortlist.repurposing.expression.readers import read_expression


@pytest.mark.parametrize("value", ["-1", "many", "0", "9" * 5000, "1e999", "nan"])
def test_a_limit_that_is_none_is_an_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", value)
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", value)
    for limit in (most_bytes, most_seconds):
        with pytest.raises(InvalidSetting, match="SHORTLIST_MAX_"):
            limit()


# HDF5


def test_a_larger_limit_lets_a_file_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.gctx"
    ids = np.array([str(k).encode() for k in range(2000)])
    gctx(path, **{"0/META/ROW/id": ids, "0/META/COL/id": ids, "0/DATA/0/matrix": None})
    with h5py.File(path, "a") as file:
        file.create_dataset("0/DATA/0/matrix", (2000, 2000), "f4", chunks=(100, 100))
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "16M")
    with pytest.raises(InvalidExpression, match="SHORTLIST_MAX_BYTES"):
        read_expression(path)
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "120M")
    assert read_expression(path).shape == (2000, 2000)


# gzip and Parquet


@pytest.mark.slow
def test_a_small_gzip_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "16M")
    header = "gene," + ",".join(f"s{k}" for k in range(1000)) + "\n"
    row = "g," + "0," * 999 + "0\n"
    for content in (header + row * 10_000, header + "0" * 20_000_000, " " * 20_000_000):
        path = tmp_path / "bomb.csv.gz"
        path.write_bytes(gzip.compress(content.encode()))
        assert path.stat().st_size < 100_000
        with pytest.raises(InvalidExpression):
            read_expression(path)
    with pytest.raises(ShortlistError):
        repurposing.read_string(path)


def test_a_large_text_file_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "1K")
    path = tmp_path / "plain.csv"
    path.write_text("gene,a,b\n" + "".join(f"g{k},1.25,2.5\n" for k in range(1000)))
    assert read_expression(path).shape == (1000, 2)


def header(text: str, version: int = 1) -> bytes:
    data = text.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(data).to_bytes(2 * version, "little") + data
