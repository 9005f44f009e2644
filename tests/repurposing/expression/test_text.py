"""Expression as text: CSV, GCT and GEO, whole, damaged and hostile."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from assays import CSV, GCT_2, GCT_3, GEO, HTML, WANTED, same, write
from shortlist.errors import InvalidExpression, UnknownName
from shortlist.repurposing.expression.readers import read_expression
from shortlist.repurposing.expression.text import read_gct, read_series_matrix

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


def test_geo_annotation(tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):  # GEO has both
        samples = read_series_matrix(write(tmp_path, GEO, encoding=encoding)).samples
        assert samples["title"].to_dict() == {"rep1": "first", "rep2": "second"}
        assert samples["characteristics_ch1"].tolist() == ["tissue: hippocampus", "tissue: cortex"]
        assert samples["characteristics_ch1.1"].str.startswith("dose").all()


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


# AnnData, written as its documentation lays it out


def test_expression_without_a_heading_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("SCN1A,5.25,6.5\nKCNA2,1.5,2.5\n")
    with pytest.raises(InvalidExpression, match=r"line 1 reads 'SCN1A,.*', a gene and its values"):
        read_expression(path)
