"""HDF5 files that are damaged, lead elsewhere or declare too much."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import fuzz
from assays import gctx
from shortlist.errors import InvalidExpression
from shortlist.repurposing.expression.readers import read_expression, read_gctx


def test_one_byte_does_not_stop_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of the free space in a heap of texts: HDF5 1.14 then looks for its end for ever."""
    path = tmp_path / "file.h5ad"
    fuzz.h5ad(path, sparse=False)
    data = bytearray(path.read_bytes())
    data[data.index(b"brain") + 16] = 17
    path.write_bytes(data)
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", "2")
    began = time.monotonic()
    with contextlib.suppress(InvalidExpression):  # another version may notice it, or not mind
        read_expression(path)
    assert time.monotonic() - began < 30.0


@pytest.mark.usefixtures("forked_readers")
def test_what_lies_in_another_file_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["matrix"] = np.full((2, 2), 42.0)
    (tmp_path / "raw.bin").write_bytes(np.full((2, 2), 42.0).tobytes())
    layout = h5py.VirtualLayout((2, 2), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "matrix", (2, 2))
    path = tmp_path / "file.gctx"
    for link in (
        h5py.ExternalLink(str(secret), "matrix"),
        h5py.SoftLink("/elsewhere"),
        "external",
        "virtual",
    ):
        gctx(path, **{"0/DATA/0/matrix": None})
        with h5py.File(path, "a") as file:
            if link == "external":
                raw = [(str(tmp_path / "raw.bin"), 0, 32)]
                file.create_dataset("0/DATA/0/matrix", (2, 2), "f8", external=raw)
            elif link == "virtual":
                file.create_group("0/DATA/0").create_virtual_dataset("matrix", layout)
            else:
                file["0/DATA/0/matrix"] = link
        with pytest.raises(InvalidExpression, match="is a link"):
            read_expression(path)
    gctx(path)
    with h5py.File(path, "a") as file:
        file["0/META/ROW/extra"] = h5py.ExternalLink(str(secret), "matrix")
    with pytest.raises(InvalidExpression, match="is a link"):
        read_expression(path)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_readers")
@pytest.mark.parametrize("which", ["matrix", "ids", "dense", "sparse"])
def test_a_declared_shape_takes_no_memory(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.h5"
    with h5py.File(path, "w") as file:
        many = 1_000_000
        for name in ("var", "obs"):
            file.create_group(name).attrs["_index"] = "_index"
        if which == "matrix":
            file.create_dataset("0/DATA/0/matrix", (many, many), "f4", chunks=(1, 1000))
            for name in ("ROW", "COL"):
                file.create_dataset(f"0/META/{name}/id", (many,), "S1", chunks=(many,))
        elif which == "ids":
            file.create_dataset("0/DATA/0/matrix", (many**2, 2), "f4", chunks=(1, 2))
            for name in ("ROW", "COL"):
                file.create_dataset(f"0/META/{name}/id", (many**2,), "S1", chunks=(1,))
        else:
            for name in ("var/_index", "obs/_index"):
                file.create_dataset(name, (many,), "S1", chunks=(many,))
            if which == "dense":
                file.create_dataset("X", (many, many), "f4", chunks=(1, 1000))
            else:
                group = file.create_group("X")
                group.attrs.update({"encoding-type": "csr_matrix", "shape": [many, many]})
                group["data"], group["indices"] = np.empty(0), np.empty(0, int)
                group.create_dataset("indptr", (many + 1,), "i8", chunks=(1000,))
    with pytest.raises(InvalidExpression, match="SHORTLIST_MAX_BYTES"):
        read_expression(path)


@pytest.mark.slow
def test_many_rows_arrive_in_their_places(tmp_path: Path) -> None:
    """Chunked or not, in any order."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3000, 1500)).astype("f4")
    genes = [f"g{k}" for k in range(1500)]
    samples = [f"s{k}" for k in range(3000)]
    for chunks in (None, (7, 1500), (64, 64)):
        path = tmp_path / f"{chunks}.gctx"
        with h5py.File(path, "w") as file:
            file.create_dataset("0/DATA/0/matrix", data=table, chunks=chunks)
            file["0/META/ROW/id"] = np.array(genes, "S")
            file["0/META/COL/id"] = np.array(samples, "S")
        np.testing.assert_array_equal(read_gctx(path).expression.to_numpy(), table.T)
        some = [samples[k] for k in rng.permutation(3000)[:1700]]
        found = read_gctx(path, samples=some).expression
        np.testing.assert_array_equal(found.to_numpy(), table[[int(s[1:]) for s in some]].T)
