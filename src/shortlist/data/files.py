"""What the data set consists of: each file, its place in the authors' repository, its checksum."""

from __future__ import annotations

from typing import NamedTuple

# github.com/clreda/linear-top-m (MIT). A commit does not move, so the checksums stay right.
COMMIT = "42f3eb327c8e4adcdc3f2a743f4d9971b7149324"
BASE_URL = f"https://raw.githubusercontent.com/clreda/linear-top-m/{COMMIT}/DR_Data/"


class File(NamedTuple):
    """A file of the data set.

    Attributes
    ----------
    source : str
        Its path in the repository's ``DR_Data/``.
    size : int
        In bytes.
    sha256 : str
        Its checksum.
    about : str
        What is in it.
    """

    source: str
    size: int
    sha256: str
    about: str


# fmt: off
FILES: dict[str, File] = {
    "epilepsy_scores.csv": File(
        "epilepsy_scores.csv", 10_165,
        "ccc53a8a50d6669154e35d350100137fefa657f114c69c94d32cf1bd1cf7d5ad",
        "509 drugs: id, name, antiepileptic (1), proconvulsant (-1), unknown (0)"),
    "epilepsy_signatures.csv": File(
        "epilepsy_signatures.csv", 749_481,
        "dbf54331e48912115746f534ff9522b58306067cabb78e3cc14f467ec43818fa",
        "71 genes × 509 drugs: the features of Figure 1c"),
    "epilepsy_signatures_binarized.csv": File(
        "epilepsy_signatures_binarized.csv", 94_620,
        "a12abe9207b7e51a9fab1d947d9f8eb9b09e33551bb8da762b3b9ace1ee0841a",
        "67 genes × 512 drugs, as 0, 1 or missing"),
    "epilepsy_signatures_nonbinarized.csv": File(
        "epilepsy_signatures_nonbinarized.csv", 706_464,
        "ebe3b01abca543e1a43ca52d4395a4b491ce8b9663424510eb8c3d1196ee100e",
        "67 genes × 509 drugs, as numbers"),
    "epilepsy_phenotype.csv": File(
        "epilepsy_phenotype.csv", 59_230,
        "5eb03d2c33baf237791de85c6ebc42edbb80e7e60acce9a037db11c4473ec211",
        "the disease: 6,940 genes as 0 or 1"),
    "epilepsy_phenotype_nonbinarized.csv": File(
        "epilepsy_phenotype_nonbinarized.csv", 47_931,
        "33f34721eb994fedb5bc1d852908f8533320db76d878a2c11becf7933c331ca0",
        "the disease: 1,733 genes as numbers"),
    "GSE77578_patients.csv": File(
        "GSE77578_patients.csv", 2_456_917,
        "73c23b19bf73c22756ad2afc077e71eb07dd3f482bc0980406e50b42fa10ae27",
        "expression of 7,902 genes in 18 patient samples"),
    "GSE77578_controls.csv": File(
        "GSE77578_controls.csv", 2_322_549,
        "31a971f4391e1859dbd9602d432f7ab0b278f9471a52a19d377e385cc9c2c1a0",
        "expression of 7,902 genes in 17 control samples"),
    "rewards_cosine_10drugs_18samples.csv": File(
        "rewards_cosine_10drugs_18samples.csv", 3_470,
        "04d9a6ff1c32e886fdff4ca4a3adef6ec7de63cc409e24871a6ee777101989c5",
        "the rewards of Figure 1c: 18 samples × 10 drugs"),
    "rewards_cosine_10drugs_18samples.txt": File(
        "rewards_cosine_10drugs_18samples.txt", 119_373,
        "9053bda6789afacc8bd27678e6ad70f28187f36f887953f22e5cd54bdfa3149c",
        "the log of how these rewards were computed"),
    "model1.net": File(
        "GRN/model1.net", 10_795,
        "4f7567031b3a310e526a00485f4380e3528debc78de1e0ab04e614701ceae1b3",
        "the gene network before inference"),
    "observations1.spec": File(
        "GRN/observations1.spec", 8_174,
        "4963dce56245a763d59847b6f4b2e8c163d9344a1681034fe03c0f8181ecc944",
        "the experiments that the network must explain"),
    "report_model1_solution.net": File(
        "GRN/report_model1_solution.net", 3_504,
        "669ff9e1d20ee01197df1d705edcc28143e00ed2350ee60b1590bd8dea1d40f7",
        "the gene network after inference"),
}
# fmt: on
