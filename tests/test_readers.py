"""Readers of expression data on small files made here, good and bad, and the choice of profiles."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from shortlist.errors import InvalidExpression, InvalidSetting, UnknownName
from shortlist.repurposing.expression.assay import DuplicatedGenes, rename_genes
from shortlist.repurposing.expression.l1000 import Selection, read_selection, select_profiles
from shortlist.repurposing.expression.readers import (
    gctx_annotation,
    read_assay,
    read_expression,
    read_gctx,
    read_h5ad,
    read_parquet,
)
from shortlist.repurposing.expression.signatures import characteristic_direction
from shortlist.repurposing.expression.text import read_csv, read_gct, read_series_matrix

NAN = float("nan")
GENES, SAMPLES = ["SCN1A", "GABRA1", "KCNA2"], ["rep1", "rep2"]
WANTED = pd.DataFrame([[7.5, 7.25], [9.0, NAN], [-1.5, 3000.0]], GENES, SAMPLES)

CSV = "gene,rep1,rep2\nSCN1A,7.5,7.25\nGABRA1,9.0,\nKCNA2,-1.5,3e3\n"
GCT_2 = (
    "#1.2\n3\t2\nName\tDescription\trep1\trep2\n"
    "SCN1A\tsodium\t7.5\t7.25\nGABRA1\tGABA\t9\tNA\nKCNA2\t\t-1.5\t3000\n"
)
GCT_3 = (
    "#1.3\n3\t2\t2\t1\nid\tpr_gene_symbol\tlandmark\trep1\trep2\n"
    "cell_id\tna\tna\tA375\tPC3\n"
    "1\tSCN1A\t1\t7.5\t7.25\n2\tGABRA1\t0\t9\tNaN\n3\tKCNA2\t1\t-1.5\t3000\n"
)
GEO = (
    '!Series_title\t"The so-called "epilepsy" series"\n'
    '!Series_geo_accession\t"GSE77578"\n\n'
    '!Sample_title\t"first"\t"second"\n'
    '!Sample_characteristics_ch1\t"tissue: hippocampus"\t"tissue: cortex"\n'
    '!Sample_characteristics_ch1\t"dose: 3 µg"\t"dose: 0"\n'
    "!series_matrix_table_begin\n"
    '"ID_REF"\t"rep1"\t"rep2"\n'
    '"SCN1A"\t7.5\t7.25\n"GABRA1"\t9.0\tnull\n"KCNA2"\t-1.5\t3000\n'
    "!series_matrix_table_end\n"
)
HTML = "<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"


def write(folder: Path, text: str, name: str = "file.txt", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def same(found: pd.DataFrame, wanted: pd.DataFrame = WANTED) -> None:
    pd.testing.assert_frame_equal(
        found, wanted, check_column_type=False, check_index_type=False, check_names=True
    )


# Text


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        CSV.replace(",", "\t"),
        CSV.replace(",", ";"),
        CSV.replace("gene,", ""),  # as R writes it: nothing above the names
        CSV.replace("gene", '""').replace("SCN1A", '"SCN1A"'),
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV + "\n\n",
        CSV.replace("9.0,", "9.0,NA"),
        GCT_2,
        GCT_2.replace("\n", "\r\n"),
        GCT_2.replace("3\t2\nName", "3\t2\t\t\nName"),  # spreadsheets fill lines up
        GEO,
        GEO.replace("\n", "\r\n"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_text(tmp_path: Path, text: str, compressed: bool) -> None:
    path = write(tmp_path, text)
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    same(read_expression(path))


def test_gct_3(tmp_path: Path) -> None:
    path = write(tmp_path, GCT_3)
    same(read_expression(path), WANTED.set_axis(["1", "2", "3"]))
    assay = read_gct(path, symbols="pr_gene_symbol")
    same(assay.expression)
    assert assay.genes["landmark"].to_dict() == {"SCN1A": "1", "GABRA1": "0", "KCNA2": "1"}
    assert assay.samples["cell_id"].to_dict() == {"rep1": "A375", "rep2": "PC3"}
    with pytest.raises(UnknownName, match="did you mean 'pr_gene_symbol'"):
        read_gct(path, symbols="gene_symbol")


def test_a_gene_without_a_symbol_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, GCT_2)
    assert read_expression(path, symbols="Description").index.tolist() == ["sodium", "GABA"]


def test_geo_annotation(tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):  # GEO has both
        samples = read_series_matrix(write(tmp_path, GEO, encoding=encoding)).samples
        assert samples["title"].to_dict() == {"rep1": "first", "rep2": "second"}
        assert samples["characteristics_ch1"].tolist() == ["tissue: hippocampus", "tissue: cortex"]
        assert samples["characteristics_ch1.1"].str.startswith("dose").all()


def test_symbols_need_a_file_that_has_them(tmp_path: Path) -> None:
    for text in (CSV, GEO):
        with pytest.raises(InvalidExpression, match=r"has no field 'symbol'; .* rename_genes"):
            read_expression(write(tmp_path, text), symbols="symbol")


def test_the_first_of_a_repeated_gene_is_kept_and_it_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, CSV + "SCN1A,1,1\nKCNA2,2,2\nSCN1A,3,3\n")
    with pytest.warns(DuplicatedGenes, match=r"file.txt: 3 of 6 rows repeat .*'SCN1A' first.*kept"):
        same(read_expression(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CSV.replace("9.0", "high"), "line 3: gene 'GABRA1', sample 'rep1': .*found 'high'"),
        (CSV.replace("9.0", "1_000"), "line 3: gene 'GABRA1', sample 'rep1': .*found '1_000'"),
        (CSV.replace("9.0", "-inf"), "line 3: gene 'GABRA1', sample 'rep1': .*found '-inf'"),
        (CSV.replace(",", ";").replace("7.25", "7,25"), "line 2: gene 'SCN1A', .*found '7,25'"),
        (CSV.replace(",3e3", ""), r"line 4 \(gene 'KCNA2'\): expected 2 values.* found 1"),
        (CSV.replace("GABRA1", " "), "line 3: expected a gene's name first"),
        (CSV.replace("rep2", "rep1"), "the sample 'rep1' occurs more than once"),
        ("gene,rep1\n", "no line after line 1"),
        ("", "line 1: expected names of samples"),
        ("one word\n", "line 1: expected names of samples.*'one word'"),
        (HTML, r"web page \(HTML\)"),
        ("\n " + HTML, r"web page \(HTML\)"),
        (GCT_2.replace("#1.2", "#1.4"), "line 1: expected the version, #1.2 or #1.3, found '#1.4'"),
        (GCT_2.replace("3\t2\nN", "3\nN"), "line 2: expected 2 whole numbers"),
        (GCT_2.replace("3\t2\nN", "x\t2\nN"), "line 2: expected 2 whole numbers"),
        (GCT_2.replace("3\t2\nN", "4\t2\nN"), "ends where a gene is expected; it is cut short"),
        (GCT_2.replace("3\t2\nN", "2\t2\nN"), "line 6: line 2 says 2 genes, and here is another"),
        (GCT_2.replace("3\t2\nN", "3\t3\nN"), "line 3: expected names of the columns in 5 cells"),
        (GCT_2.replace("7.25", "high"), "line 4: gene 'SCN1A', sample 'rep2': .*found 'high'"),
        (GCT_2.replace("\t7.25", ""), "line 4: expected a gene in 4 cells, .*found 3"),
        (GCT_3.replace("PC3", "PC3\t"), "line 4: expected a field of the samples in 5 cells"),
        ("#1.2\n", "line 2: expected 2 whole numbers"),
        ("#1.2\n0\t0\nName\tDescription\n", "0 genes × 0 samples"),
        (GEO.replace("7.25", "high"), "line 9: gene 'SCN1A', sample 'rep2': .*found 'high'"),
        (GEO.replace("\t7.25", ""), r"line 9 \(gene 'SCN1A'\): expected 2 values"),
        (GEO.split("!series_matrix_table_end")[0], "no !series_matrix_table_end line; .*cut short"),
        (GEO.split("!series_matrix_table_begin")[0], "no !series_matrix_table_begin line"),
        (
            GEO.split('"SCN1A"')[0] + "!series_matrix_table_end\n",
            "table has no row. Sequencing series keep their counts in supplementary",
        ),
    ],
)
def test_bad_text_names_the_file_and_the_line(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InvalidExpression, match=words) as caught:
        read_expression(path)
    assert str(path) in str(caught.value)


def test_geo_that_is_a_web_page_or_something_else(tmp_path: Path) -> None:
    path = write(tmp_path, HTML, "GSE77578_series_matrix.txt.gz")  # the name says nothing
    with pytest.raises(InvalidExpression, match="fetch the file again"):
        read_series_matrix(path)
    path.write_bytes(gzip.compress(HTML.encode()))
    with pytest.raises(InvalidExpression, match="fetch the file again"):
        read_series_matrix(path)
    with pytest.raises(InvalidExpression, match="line 1: expected a line of a GEO series matrix"):
        read_series_matrix(write(tmp_path, CSV))


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
    with pytest.raises(InvalidExpression, match=r"gene names in the index .*'rep1' holds numbers"):
        read_expression(path)
    WANTED.assign(rep2=["1", "high", "2"]).to_parquet(path)
    with pytest.raises(InvalidExpression, match=r"gene 'GABRA1', sample 'rep2': .*found 'high'"):
        read_expression(path)
    WANTED.assign(rep2=[1.0, np.inf, 2.0]).to_parquet(path)
    with pytest.raises(InvalidExpression, match=r"gene 'GABRA1'.* 'rep2'"):
        read_expression(path)


# GCTX


def write_gctx(
    path: Path,
    expression: pd.DataFrame = WANTED,
    rows: dict[str, Any] | None = None,
    columns: dict[str, Any] | None = None,
) -> Path:
    def put(group: str, name: str, values: Any) -> None:
        found = np.asarray(values)
        if found.dtype.kind not in "if":
            found = np.array([str(value).encode() for value in values])
        file.create_dataset(f"0/META/{group}/{name}", data=found)

    with h5py.File(path, "w") as file:
        file.create_dataset("0/DATA/0/matrix", data=expression.to_numpy().T.astype("f4"))
        for name, values in {"id": list(expression.index), **(rows or {})}.items():
            put("ROW", name, values)
        for name, values in {"id": list(expression.columns), **(columns or {})}.items():
            put("COL", name, values)
    return path


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
    genes, samples = gctx_annotation(path)
    assert genes["pr_gene_symbol"].to_dict() == dict(zip(["10", "20", "30"], GENES, strict=True))
    assert samples["cell_id"].to_dict() == {"rep1": "A375", "rep2": "PC3"}


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
                gctx_annotation(path)
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
    for read in (read_expression, read_gctx, read_h5ad):
        with pytest.raises(ImportError, match=r"needs h5py: pip install 'shortlist\[expression\]'"):
            read(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'shortlist\[parquet\]'"):
        read_expression(parquet)


# AnnData, written as its documentation lays it out


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


@pytest.mark.parametrize("matrix", ["array", "csr_matrix", "csc_matrix"])
def test_h5ad(tmp_path: Path, matrix: str) -> None:
    path = write_h5ad(tmp_path / "file.h5ad", matrix)
    wanted = WANTED if matrix == "array" else WANTED.fillna(0.0)
    same(read_expression(path), wanted.set_axis(["E1", "E2", "E3"]))
    assay = read_h5ad(path, symbols="symbol")
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


def test_expression_without_a_heading_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("SCN1A,5.25,6.5\nKCNA2,1.5,2.5\n")
    with pytest.raises(InvalidExpression, match=r"line 1 reads 'SCN1A,.*', a gene and its values"):
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


# Names of genes


def test_rename_genes() -> None:
    probes = pd.DataFrame({"s": [1.0, 2.0, 3.0, 4.0]}, index=["p1", "p2", "p3", "p4"])
    symbols = pd.Series({"p4": "SCN1A", "p2": "SCN1A", "p3": NAN, "p1": "KCNA2"})
    with pytest.warns(DuplicatedGenes, match="1 of 4 rows"):
        found = rename_genes(probes, symbols)
    assert found["s"].to_dict() == {"KCNA2": 1.0, "SCN1A": 2.0}  # the first row, not the first key
    with pytest.raises(InvalidExpression, match=r"no id .*'p1' …\) has a symbol in the table of 1"):
        rename_genes(probes, {"q": "SCN1A"})


# L1000


PLATE = "CPC006_A375_6H"


@pytest.fixture
def signatures() -> pd.DataFrame:
    rows = [
        # sig_id, pert_id, pert_iname, cell_id, tas, distil_ss
        ("CPC006_PC3_6H:BRD-D:10", "BRD-D", "diazepam", "PC3", 0.30, 9.0),
        (f"{PLATE}:BRD-D:10", "BRD-D", "diazepam", "A375", 0.10, 4.0),
        ("CPC014_A375_6H:BRD-D:3", "BRD-D", "diazepam", "A375", 0.70, 2.0),
        ("CPC020_A375_6H:BRD-D:1", "BRD-D", "diazepam", "A375", -666, -666),
        (f"{PLATE}:BRD-T:10", "BRD-T", "topiramate", "A375", 0.99, 9.9),
    ]
    names = ["sig_id", "pert_id", "pert_iname", "cell_id", "tas", "distil_ss"]
    return pd.DataFrame(rows, columns=names).assign(pert_dose=[10.0, 10, 3, 1, 10])


@pytest.fixture
def profiles() -> pd.DataFrame:
    def row(plate: str, copy: str, well: str, drug: str | None, dose: float) -> dict[str, Any]:
        return {
            "inst_id": f"{plate}_{copy}:{well}",
            "rna_plate": f"{plate}_{copy}",
            "cell_id": plate.split("_")[1],
            "pert_iname": drug or "DMSO",
            "pert_type": "trt_cp" if drug else "ctl_vehicle",
            "pert_dose": dose,
        }

    return pd.DataFrame(
        [
            row(PLATE, "X1", "A01", None, -666),
            row("CPC006_PC3_6H", "X1", "A01", None, -666),
            row("CPC006_PC3_6H", "X1", "B01", "diazepam", 10),
            row(PLATE, "X2", "B09", "diazepam", 3),  # the right plate, another dose
            row(PLATE, "X2", "B01", "diazepam", 10),
            row(PLATE, "X3", "B01", "diazepam", 10),
            row(PLATE, "X4", "B01", "diazepam", 10),
            row(PLATE, "X2", "C01", "topiramate", 10),
            row(PLATE, "X3", "A01", None, -666),
            row(PLATE, "X2", "A02", None, -666),
            row(PLATE, "X2", "A01", None, -666),
            row("CPC014_A375_6H", "X1", "B01", "diazepam", 3),
        ]
    )


def test_selection_follows_the_paper(signatures: pd.DataFrame, profiles: pd.DataFrame) -> None:
    found = select_profiles(signatures, profiles, "diazepam")
    assert found == Selection(
        drug="diazepam",
        cell="A375",  # TAS 0.70 there, though PC3 has the largest distil_ss
        plate=PLATE,  # distil_ss 4.0, though another plate has the TAS
        signature=f"{PLATE}:BRD-D:10",
        treated=(f"{PLATE}_X2:B01", f"{PLATE}_X3:B01"),
        controls=(f"{PLATE}_X3:A01", f"{PLATE}_X2:A02"),  # X1 stands first, on another copy
    )
    assert select_profiles(signatures, profiles.assign(pert_id="BRD-D"), "BRD-D").cell == "A375"
    more = select_profiles(signatures, profiles, "diazepam", replicates=3)
    assert [len(more.treated), len(more.controls)] == [3, 3]
    # The profiles that a signature lists are taken at its word.
    listed = signatures.assign(distil_id=f"{PLATE}_X4:B01|{PLATE}_X3:B01")
    assert select_profiles(listed, profiles, "diazepam").treated == (
        f"{PLATE}_X3:B01",
        f"{PLATE}_X4:B01",
    )
    # Without a column of plates, the ids tell them; with brew_prefix, that does.
    bare = profiles.drop(columns="rna_plate")
    assert select_profiles(signatures, bare, "diazepam") == found
    other = profiles.rename(columns={"rna_plate": "det_plate"})
    assert select_profiles(signatures, other, "diazepam") == found
    prefix = signatures["sig_id"].str.split(":").str[0]
    assert select_profiles(signatures.assign(brew_prefix=prefix), profiles, "diazepam") == found


def test_selection_that_cannot_be_made(signatures: pd.DataFrame, profiles: pd.DataFrame) -> None:
    with pytest.raises(InvalidExpression, match="signatures has no row for the drug 'aspirin'"):
        select_profiles(signatures, profiles, "aspirin")
    with pytest.raises(InvalidExpression, match="signatures has no column tas, distil_ss; it has"):
        select_profiles(signatures.drop(columns=["tas", "distil_ss"]), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="profiles has no column pert_type"):
        select_profiles(signatures, profiles.drop(columns="pert_type"), "diazepam")
    with pytest.raises(InvalidExpression, match="neither pert_iname nor pert_id"):
        select_profiles(signatures.drop(columns=["pert_iname", "pert_id"]), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="diazepam: no signature has a known tas"):
        select_profiles(signatures.assign(tas=-666), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="has 1 profiles treated with topiramate; expecte"):
        select_profiles(signatures, profiles, "topiramate")
    few = profiles[(profiles["pert_type"] != "ctl_vehicle") | (profiles.index == 0)]
    with pytest.raises(InvalidExpression, match="has 1 profiles of the vehicle; expected 2"):
        select_profiles(signatures, few, "diazepam")
    with pytest.raises(InvalidExpression, match="signatures: its index repeats"):
        select_profiles(pd.concat([signatures, signatures]), profiles, "diazepam")
    with pytest.raises(InvalidSetting, match="replicates"):
        select_profiles(signatures, profiles, "diazepam", replicates=0)


def test_from_gctx_to_a_signature(
    tmp_path: Path, signatures: pd.DataFrame, profiles: pd.DataFrame
) -> None:
    ids = profiles["inst_id"].tolist()
    rng = np.random.default_rng(0)
    level_3 = pd.DataFrame(rng.normal(8, 1, size=(50, len(ids))), range(1000, 1050), ids)
    level_3.loc[1007, profiles["pert_iname"].eq("diazepam").to_numpy()] += 9.0
    path = write_gctx(tmp_path / "level3.gctx", level_3)
    symbols = pd.Series({str(i): f"GENE{i}" for i in range(1000, 1040)})  # ten have no symbol

    selection = select_profiles(signatures, profiles, "diazepam")
    treated, controls = read_selection(path, selection, symbols=symbols)
    assert treated.columns.tolist() == list(selection.treated)
    assert controls.columns.tolist() == list(selection.controls)
    wanted = level_3.loc[:1039, list(selection.treated)].astype("f4").astype(float)
    np.testing.assert_array_equal(treated, wanted)
    assert treated.index[0] == "GENE1000"
    signature = characteristic_direction(treated, controls)
    assert signature.idxmax() == "GENE1007"
    by_id, _ = read_selection(path, selection)
    assert by_id.index[-1] == "1049"
    with pytest.raises(InvalidExpression, match="'nowhere' first; check that the metadata tables"):
        read_selection(path, selection._replace(treated=("nowhere",)))
