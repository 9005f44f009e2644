"""Parquet, GCTX and AnnData files, whole and damaged."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from assays import CSV, GENES, GEO, SAMPLES, WANTED, same, write, write_gctx
from shortlist.errors import InvalidExpression
from shortlist.repurposing.expression.readers import (
    read_assay,
    read_expression,
    read_gctx,
    read_parquet,
)
from shortlist.repurposing.expression.text import read_csv

pytestmark = pytest.mark.usefixtures("forked_readers")

# Text


def test_symbols_need_a_file_that_has_them(tmp_path: Path) -> None:
    for text in (CSV, GEO):
        with pytest.raises(InvalidExpression, match=r"has no field 'symbol'; .* rename_genes"):
            read_expression(write(tmp_path, text), symbols="symbol")


def test_damaged_files(tmp_path: Path) -> None:
    whole = gzip.compress(GEO.encode() * 50)
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidExpression, match="cut short or damaged"):
        read_expression(path)
    path.write_bytes(b"gene,rep1\nSCN1A,\xff\xfe\n")
    with pytest.raises(InvalidExpression, match="not UTF-8"):
        read_expression(path)
    path.write_bytes(b"gene,rep1\nSCN1A,\x001\n")
    with pytest.raises(InvalidExpression, match=r"line 2: .*"):
        read_csv(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\nnothing")
    with pytest.raises(InvalidExpression, match="not an HDF5 file, or it is damaged"):
        read_expression(path)
    path.write_bytes(gzip.compress(b"\x89HDF\r\n\x1a\nnothing"))
    with pytest.raises(InvalidExpression, match="unpack it if it is compressed"):
        read_expression(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidExpression, match=r"cannot be read: .*not a parquet file"):
        read_expression(path)
    for read in (read_expression, read_gctx, read_parquet):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            read(tmp_path / "nowhere")


# Parquet


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    WANTED.to_parquet(path)
    same(read_expression(path))
    WANTED.rename_axis("gene").reset_index().to_parquet(path)
    same(read_expression(path))
    WANTED.astype("Float64").to_parquet(path)  # pandas' own missing value
    same(read_expression(path))
    WANTED.reset_index(drop=True).to_parquet(path)
    with pytest.raises(
        InvalidExpression, match=r"gene names in the index .*'rep1' contains numbers"
    ):
        read_expression(path)
    WANTED.assign(rep2=["1", "high", "2"]).to_parquet(path)
    with pytest.raises(InvalidExpression, match=r"gene 'GABRA1', sample 'rep2': .*found 'high'"):
        read_expression(path)
    WANTED.assign(rep2=[1.0, np.inf, 2.0]).to_parquet(path)
    with pytest.raises(InvalidExpression, match=r"gene 'GABRA1'.* 'rep2'"):
        read_expression(path)


# GCTX


def test_gctx(tmp_path: Path) -> None:
    path = write_gctx(
        tmp_path / "file.gctx",
        WANTED.set_axis([10, 20, 30]),
        rows={"pr_gene_symbol": GENES},
        columns={"cell_id": ["A375", "PC3"], "dose": [1.5, 3.0]},
    )
    same(read_expression(path), WANTED.set_axis(["10", "20", "30"]))
    assay = read_assay(path, symbols="pr_gene_symbol")
    same(assay.expression)
    assert assay.samples.loc["rep2"].to_dict() == {"cell_id": "PC3", "dose": 3.0}
    part = read_gctx(path, samples=["rep2"], symbols="pr_gene_symbol")
    same(part.expression, WANTED[["rep2"]])
    assert part.samples["cell_id"].tolist() == ["PC3"]
    turned = read_gctx(path, samples=["rep2", "rep1"], symbols="pr_gene_symbol")
    same(turned.expression, WANTED[["rep2", "rep1"]])
    assert assay.samples["cell_id"].to_dict() == {"rep1": "A375", "rep2": "PC3"}


def test_bad_gctx(tmp_path: Path) -> None:
    path = write_gctx(tmp_path / "file.gctx")
    with pytest.raises(InvalidExpression, match=r"1 of the 2 samples .* 'rep9' first"):
        read_gctx(path, samples=["rep1", "rep9"])
    with pytest.raises(InvalidExpression, match="'rep1' occurs more than once"):
        read_gctx(path, samples=["rep1", "rep1"])
    with pytest.raises(InvalidExpression, match="3 genes × 0 samples"):
        read_gctx(path, samples=[])
    with pytest.raises(InvalidExpression, match=r"names genes by id alone .* rename_genes"):
        read_gctx(path, symbols="pr_gene_symbol")
    for missing in ("0/META/COL/id", "0/META/ROW/id", "0/META/ROW", "0/META", "0/DATA/0/matrix"):
        write_gctx(path)
        with h5py.File(path, "a") as file:
            del file[missing]
        with pytest.raises(InvalidExpression, match=r"file.gctx: there is no /0/"):
            read_expression(path)
        if "META" in missing:
            with pytest.raises(InvalidExpression, match="the metadata is missing"):
                read_gctx(path)
    write_gctx(path, rows={"pr_gene_symbol": ["one", "two"]})
    with pytest.raises(InvalidExpression, match=r"ROW/pr_gene_symbol has 2 entries, .*3 ids"):
        read_expression(path)
    write_gctx(path)
    with h5py.File(path, "a") as file:
        del file["0/DATA/0/matrix"]
        file["0/DATA/0/matrix"] = np.zeros((3, 2))  # genes × samples: the wrong way round
    with pytest.raises(InvalidExpression, match=r"matrix is 3 × 2; .*2 samples .* × 3 genes"):
        read_expression(path)


def test_a_missing_extra_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_gctx(tmp_path / "file.gctx")
    parquet = tmp_path / "file.parquet"
    WANTED.to_parquet(parquet)
    monkeypatch.setitem(sys.modules, "h5py", None)
    for read in (read_expression, read_gctx):
        with pytest.raises(ImportError, match=r"needs h5py: pip install 'shortlist\[expression\]'"):
            read(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'shortlist\[parquet\]'"):
        read_expression(parquet)


def write_h5ad(path: Path, matrix: str = "array") -> Path:
    values = WANTED.to_numpy().T
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if matrix == "array":
            file["X"] = values
        else:
            stored = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}[matrix](
                np.nan_to_num(values)
            )
            group = file.create_group("X")
            group.attrs["encoding-type"] = matrix
            group.attrs["shape"] = stored.shape
            group["data"], group["indices"] = stored.data, stored.indices
            group["indptr"] = stored.indptr
        var, obs = file.create_group("var"), file.create_group("obs")
        var.attrs["_index"], obs.attrs["_index"] = "ensembl", "_index"
        var.create_dataset("ensembl", data=["E1", "E2", "E3"], dtype=text)
        var["symbol/categories"] = np.array(sorted(GENES), dtype=text)
        var["symbol/codes"] = [sorted(GENES).index(gene) for gene in GENES]
        obs["_index/values"] = np.array(SAMPLES, dtype=text)  # a nullable-string-array
        obs["_index/mask"] = np.array([False, False])
        obs["dose"] = np.array([1.5, 2.5])
        obs["age/values"], obs["age/mask"] = np.array([3, 0]), np.array([False, True])
        obs["odd/nothing"] = np.zeros(1)
    return path


# AnnData, written as its documentation lays it out


@pytest.mark.parametrize("matrix", ["array", "csr_matrix", "csc_matrix"])
def test_h5ad(tmp_path: Path, matrix: str) -> None:
    path = write_h5ad(tmp_path / "file.h5ad", matrix)
    wanted = WANTED if matrix == "array" else WANTED.fillna(0.0)
    same(read_expression(path), wanted.set_axis(["E1", "E2", "E3"]))
    assay = read_assay(path, symbols="symbol")
    same(assay.expression, wanted)
    assert assay.samples["dose"].to_dict() == {"rep1": 1.5, "rep2": 2.5}
    assert assay.samples["age"].isna().tolist() == [False, True]
    assert "odd" not in assay.samples


@pytest.mark.parametrize("part", ["data", "indices", "indptr", "shape"])
def test_a_damaged_sparse_matrix_is_refused(tmp_path: Path, part: str) -> None:
    """Indices outside would be read outside the memory."""
    path = write_h5ad(tmp_path / "file.h5ad", "csr_matrix")
    with h5py.File(path, "a") as file:
        if part == "shape":
            del file["X"].attrs["shape"]
        elif part == "data":
            del file["X/data"]
        else:
            file[f"X/{part}"][-1] = 1_000_000_000
    with pytest.raises(InvalidExpression, match="/X is damaged"):
        read_expression(path)


def test_bad_h5ad(tmp_path: Path) -> None:
    path = tmp_path / "file.h5ad"
    for missing in ("X", "obs", "var"):
        with h5py.File(write_h5ad(path), "a") as file:
            del file[missing]
        with pytest.raises(InvalidExpression, match=f"there is no /{missing}; expected an AnnData"):
            read_expression(path)
    with h5py.File(write_h5ad(path), "a") as file:
        del file["var"].attrs["_index"]
    with pytest.raises(InvalidExpression, match=r"/var is not stored as anndata 0.7"):
        read_expression(path)
    with h5py.File(write_h5ad(path), "a") as file:
        del file["var/ensembl"]
    with pytest.raises(InvalidExpression, match="/var names its index 'ensembl', and has none"):
        read_expression(path)
    with h5py.File(write_h5ad(path, "csr_matrix"), "a") as file:
        file["X"].attrs["encoding-type"] = "dok_matrix"
    with pytest.raises(InvalidExpression, match="/X is stored as 'dok_matrix'"):
        read_expression(path)
    with h5py.File(write_h5ad(path), "a") as file:
        del file["X"]
        file["X"] = np.zeros((2, 2))
    with pytest.raises(InvalidExpression, match="2 genes × 2 samples, and 3 genes and 2 samples"):
        read_expression(path)
