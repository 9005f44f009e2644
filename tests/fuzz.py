"""Files of every kind that can be opened, mutated: each is read or refused, and nothing else happens.

``make fuzz`` runs all of it, ``tests/test_fuzz.py`` a small part. A case is made from the seed, the
kind and its number, and from nothing else.

A case fails if something is raised that is not the package's own error (a raw traceback), if it
takes too long (a hang), or if the process ends (a death).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlist.errors import ShortlistError
from shortlist.files.excel import workbook

LIMIT = 30  # seconds of one case; the process that reads HDF5 is given 5
CHUNK = 100
GENES, SAMPLES = ["SCN1A", "GABRA1", "KCNA2", "DNM1"], ["rep1", "rep2", "rep3"]
NUMBERS = np.array([[7.5, 7.25, 1.0], [9.0, np.nan, 2.0], [-1.5, 3000.0, 0.0], [1.0, 1.0, 2.5]])
FRAME = pd.DataFrame(NUMBERS, GENES, SAMPLES)
ARMS = pd.DataFrame(np.arange(12.0).reshape(4, 3) % 5, ["a", "b", "c", "d"], ["x", "y", "z"])


@dataclass(frozen=True)
class Kind:
    """A kind of file: whole ones to begin with, their name, and what opens it."""

    name: str
    wholes: Callable[[], list[bytes]]
    opened: Callable[[Path], object]
    beside: dict[str, bytes] = field(default_factory=dict)
    share: float = 1.0  # of the cases


def text(*contents: str) -> Callable[[], list[bytes]]:
    return lambda: [content.encode() for content in contents]


def made(*writers: Callable[[Path], object]) -> Callable[[], list[bytes]]:
    """What these write."""

    def wholes() -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, write in enumerate(writers):
                path = Path(folder, str(number))
                write(path)
                files.append(path.read_bytes())
            return files

    return cache(wholes)


# How the files are made


def gctx(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("0/DATA/0/matrix", data=NUMBERS.T.astype("f4"))
        file.create_dataset("0/META/ROW/id", data=np.array([b"1", b"2", b"3", b"4"]))
        file.create_dataset("0/META/ROW/symbol", data=np.array([g.encode() for g in GENES]))
        file.create_dataset("0/META/COL/id", data=np.array([s.encode() for s in SAMPLES]))
        file.create_dataset("0/META/COL/dose", data=np.array([1.5, 3.0, 4.0]))


def h5ad(path: Path, sparse: bool) -> None:
    import h5py

    words = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if sparse:
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": [3, 4]})
            group["data"] = np.array([1.0, 2.0, 3.0])
            group["indices"] = np.array([0, 2, 3])
            group["indptr"] = np.array([0, 1, 2, 3])
        else:
            file.create_dataset("X", data=np.nan_to_num(NUMBERS.T), chunks=(2, 4), compression=1)
        for name, index in (("var", GENES), ("obs", SAMPLES)):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group.create_dataset("_index", data=index, dtype=words)
            group.create_dataset("kind/codes", data=np.zeros(len(index), "i1"))
            group.create_dataset("kind/categories", data=["brain"], dtype=words)


def study_file(path: Path) -> None:
    import shortlist

    study = shortlist.Study(ARMS, m=1, sigma=0.5, seed=0, storage=path)
    for _ in range(4):
        study.tell(study.ask(), 0.5)
    study.close()
    import sqlite3

    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def sbml(path: Path) -> None:
    from shortlist.repurposing import BooleanNetwork, write

    write(BooleanNetwork({"A": "!B | C", "B": "A & !C", "C": "C"}), path.with_suffix(".sbml"))
    path.with_suffix(".sbml").rename(path)


@cache
def plated() -> Any:
    import shortlist

    study = shortlist.Study(ARMS, m=1, sigma=0.5, seed=0)
    study.ask(6)
    return study


def plate(*separators: str) -> Callable[[], list[bytes]]:
    from shortlist.study.plate import write_plate

    def wholes() -> list[bytes]:
        texts = [write_plate(plated(), plated().pending, mark) for mark in separators]
        return [
            text.replace(f"{mark}\n", f"{mark}0.5\n").encode()
            for mark, text in zip(separators, texts, strict=True)
        ]

    return cache(wholes)


# How they are opened


def expression(path: Path) -> object:
    from shortlist.repurposing import read_expression

    return read_expression(path)


def gctx_parts(path: Path) -> object:
    from shortlist.repurposing.expression.readers import read_gctx

    return read_gctx(path, samples=["rep2"], symbols="symbol")


def features(path: Path) -> object:
    from shortlist.problem import Problem

    return Problem.of(features=path, m=1, sigma=0.5)


def network(path: Path) -> object:
    from shortlist import repurposing

    return repurposing.read(path)


def candidate(path: Path) -> object:
    from shortlist.repurposing import read_abstract

    return read_abstract(path)


def experiments(path: Path) -> object:
    from shortlist.repurposing import read_experiments

    return read_experiments(path)


def links(path: Path) -> object:
    from shortlist.repurposing import read_string

    return read_string(path)


def named_links(path: Path) -> object:
    from shortlist.repurposing import read_string

    return read_string(path.parent / "links.txt", names=path)


def rewards(path: Path) -> object:
    from shortlist.repurposing.reward_cache import RewardCache

    cached = RewardCache(path, "4f75")
    cached.put("Diazepam", 1, 0.5)
    return cached


def screen(path: Path) -> object:
    from shortlist.cli.screen_toml import read_screen_file
    from shortlist.problem import Problem

    described = read_screen_file(path)
    settings = described.settings()
    asked = ("features", "arms", "m", "delta", "epsilon", "S", "reward_range")
    return (
        described.storage,
        described.name,
        described.pilot(),
        Problem.of(
            sigma=settings.get("sigma"), **{key: settings[key] for key in asked if key in settings}
        ),
    )


def beside_screen(path: Path) -> object:
    return screen(path.parent / "screen.toml")


def tell(path: Path) -> object:
    from shortlist.study.plate import match, read_plate

    return match(path, read_plate(path), plated())


def labels(path: Path) -> object:
    from shortlist.cli.repurpose import read_labels

    with contextlib.redirect_stderr(io.StringIO()):
        return read_labels(path)


def study(path: Path) -> object:
    import shortlist
    from shortlist.storage.opening import study_names

    names = study_names(path)
    loaded = shortlist.Study.load(path)
    loaded.close()
    return names, loaded.trials


CSV = "gene,rep1,rep2\nSCN1A,7.5,7.25\nGABRA1,9.0,\nKCNA2,-1.5,3e3\n"
GCT_2 = (
    "#1.2\n3\t2\nName\tDescription\trep1\trep2\n"
    "SCN1A\tsodium\t7.5\t7.25\nGABRA1\tGABA\t9\tNA\nKCNA2\t\t-1.5\t3000\n"
)
GCT_3 = (
    "#1.3\n3\t2\t2\t1\nid\tsymbol\tlandmark\trep1\trep2\ncell_id\tna\tna\tA375\tPC3\n"
    "1\tSCN1A\t1\t7.5\t7.25\n2\tGABRA1\t0\t9\tNaN\n3\tKCNA2\t1\t-1.5\t3000\n"
)
GEO = (
    '!Series_title\t"The series"\n!Sample_title\t"first"\t"second"\n'
    '!series_matrix_table_begin\n"ID_REF"\t"rep1"\t"rep2"\n"SCN1A"\t7.5\t7.25\n'
    '"GABRA1"\t9.0\tnull\n!series_matrix_table_end\n'
)
TOML = (
    'features = "features.csv"\nm = 1\nsigma = 0.1\ndelta = 0.05\nepsilon = 0.05\nseed = 0\n'
    'lease = "7 days"\npilot = "pilot.csv"\nstorage = "screen.db"\nname = "first"\n'
)
TOML_2 = 'arms = ["a", "b", "c"]\nm = 1\nsigma = "bounded"\nreward_range = [0, 1]\nbudget = 60\n'
FEATURES, PILOT, SIGMA = ARMS.to_csv(), "a,0.5\nb,0.25\nc,1\nd,0\n", "a;0,5\nb;0,25\nc;1\nd;2\n"
BESIDE = {"features.csv": FEATURES.encode(), "pilot.csv": PILOT.encode()}
LINKS = (
    "protein1 protein2 combined_score\n9606.A 9606.B 900\n9606.B 9606.A 900\n9606.A 9606.C 450\n"
)
INFO = "#string_protein_id\tpreferred_name\n9606.A\tSCN1A\n9606.B\tDNM1\n9606.C\tKCNA2\n"
NET = (
    "directive updates sync;\ndirective length 20;\nA[](0..17); B[-]{}(4); C[+](1, 3, 5);\n"
    "A\tB\tpositive\toptional;\nB\tC\tnegative;\n"
)
SPEC = "#E1[0] |= $Start;\nfixpoint(#E1[5]); // comment\n$Start := { A = 1 and KO(B) = 1 };\n"
PULLS = "# rewards of the screen 4f75\ndrug,seed,reward\nDiazepam,17,0.25\n'=x,18,1e-3\n"
LABELS = "drug,drug_name,label\nBRD-1,Diazepam,1\nBRD-2,Dmcm,-1\nBRD-3,Other,0\n"

KINDS: dict[str, Kind] = {
    "expression, CSV": Kind("a.csv", text(CSV, CSV.replace(",", ";")), expression),
    "expression, TSV": Kind("a.tsv", text(CSV.replace(",", "\t")), expression),
    "expression, gzip": Kind("a.gz", lambda: [gzip.compress(CSV.encode())], expression),
    "expression, GCT 1.2": Kind("a.gct", text(GCT_2), expression),
    "expression, GCT 1.3": Kind("a.gct", text(GCT_3), expression),
    "expression, GEO": Kind("a.txt", text(GEO), expression),
    "expression, Parquet": Kind(
        "a.parquet", made(FRAME.to_parquet, FRAME.reset_index().to_parquet), expression
    ),
    # Each of these starts a process.
    "expression, GCTX": Kind("a.gctx", made(gctx), expression, share=0.2),
    "some samples of GCTX": Kind("a.gctx", made(gctx), gctx_parts, share=0.2),
    "expression, h5ad": Kind("a.h5ad", made(lambda path: h5ad(path, False)), expression, share=0.2),
    "expression, sparse h5ad": Kind(
        "a.h5ad", made(lambda path: h5ad(path, True)), expression, share=0.2
    ),
    "features, npy": Kind(
        "a.npy",
        lambda: [_npy(ARMS.to_numpy()), _npy(np.asfortranarray(ARMS.to_numpy(dtype="f4")))],
        features,
    ),
    "features, Parquet": Kind(
        "a.parquet", made(ARMS.to_parquet, ARMS.reset_index(names="arm").to_parquet), features
    ),
    "features, Excel": Kind(
        "a.xlsx",
        lambda: [workbook([["arm", *ARMS], *ARMS.reset_index().to_numpy(object).tolist()])],
        features,
    ),
    "screen.toml": Kind("screen.toml", text(TOML, TOML_2), screen, BESIDE),
    "screen, features.csv": Kind(
        "features.csv", text(FEATURES), beside_screen, {**BESIDE, "screen.toml": TOML.encode()}
    ),
    "screen, Parquet": Kind(
        "features.parquet",
        made(ARMS.to_parquet),
        beside_screen,
        {"screen.toml": b'features = "features.parquet"\nm = 1\nsigma = 0.1\n'},
    ),
    "screen, arms": Kind(
        "arms.csv",
        text("a\nb\nc d\n"),
        beside_screen,
        {"screen.toml": b'arms = "arms.csv"\nm = 1\nsigma = 0.1\n'},
    ),
    "screen, pilot.csv": Kind(
        "pilot.csv", text(PILOT), beside_screen, {**BESIDE, "screen.toml": TOML.encode()}
    ),
    "screen, sigma.csv": Kind(
        "sigma.csv",
        text(SIGMA),
        beside_screen,
        {**BESIDE, "screen.toml": b'features = "features.csv"\nm = 1\nsigma = "sigma.csv"\n'},
    ),
    "plate": Kind("plate.csv", plate(",", ";"), tell),
    "labels": Kind("labels.csv", text(LABELS), labels),
    "network, bnet": Kind(
        "a.bnet", text("targets, factors\nA, B & !C\nB, (A | B) & C\nC, 0\n"), network
    ),
    "network, net": Kind("a.net", text(NET), candidate),
    "network, SBML": Kind("a.sbml", made(sbml), network),
    "network, sif": Kind(
        "a.sif", text("A 1 B\nB -1 A\nC\n"), network, {"a.noa": b"rule\nA = 4\nB = 17\nC = 8\n"}
    ),
    "network, noa": Kind(
        "a.noa",
        text("rule\nA = 4\nB = 17\nC = 8\n"),
        lambda path: network(path.with_suffix(".sif")),
        {"a.sif": b"A 1 B\nB -1 A\nC\n"},
    ),
    "experiments, spec": Kind("a.spec", text(SPEC), experiments),
    "STRING, links": Kind("a.txt", text(LINKS), links),
    "STRING, info": Kind("a.txt", text(INFO), named_links, {"links.txt": LINKS.encode()}),
    "rewards": Kind("pulls.csv", text(PULLS), rewards),
    "study, SQLite": Kind("a.db", made(study_file), study),
}


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# How they are mutated

INTERESTING = (
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"9" * 5000, b"-1", b"nan", b"inf", b"1e999", b"1_000",
    b"[" * 5000, b"(" * 3000, b"{a=" * 1500, b"<apply>" * 3000, b'"', b"'", b"=cmd|' /C calc'!A0",
    b"\x1b]0;title\x07", b"\r\n", b"\n\n", b";", b",", b"\t", b"\\", b"~nosuch/x", b"../..",
    b"\xed\xa0\x80", "\u2028".encode(), b"0" * 400, b"A" * 10_000, b"!", b"#", b"/", b"http://u:p@h/",
)  # fmt: skip
WORDS = tuple(
    number.to_bytes(size, order, signed=number < 0)
    for number in (0, 1, -1, 2**31 - 1, 2**15, 127)
    for size in (4, 8)
    for order in ("little", "big")
)


def mutated(wholes: list[bytes], rng: random.Random) -> bytes:
    """One of the files with a few changes, most often small ones."""
    data = bytearray(rng.choice(wholes))
    if rng.random() < 0.5 and data.startswith(b"\x1f\x8b"):  # the content of what is compressed
        return gzip.compress(mutated([gzip.decompress(data)], rng))
    mildly = rng.random() < 0.5
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _mutate(data, rng, wholes, mildly)
    return bytes(data)


def _mutate(data: bytearray, rng: random.Random, wholes: list[bytes], mildly: bool) -> None:
    if not data:
        data += rng.randbytes(rng.randrange(64))
        return
    at = rng.randrange(len(data))
    size = 1 if mildly else rng.choice((1, 2, 4, 8, 64, len(data) // 4 + 1))
    match rng.randrange(4) if mildly else rng.randrange(11):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            data[at] = rng.randrange(256)
        case 2:
            del data[at : at + size]
        case 3:
            data[at:at] = data[at : at + size] * rng.choice((1, 2, 20))
        case 4:
            data[at:at] = rng.randbytes(size)
        case 5:
            data[at:at] = rng.choice(INTERESTING)
        case 6:
            data[at : at + size] = rng.choice(INTERESTING)
        case 7:
            word = rng.choice(WORDS)
            data[at : at + len(word)] = word
        case 8:
            del data[at:]
        case 9:
            other = rng.choice(wholes)
            start = rng.randrange(len(other) + 1)
            data[at : at + size] = other[start : start + size]
        case 10:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data[:] = b"\n".join(lines)


# One case, a chunk of them, all of them


class Hang(BaseException):
    """A case took too long."""


def _too_long(*_: object) -> None:
    raise Hang


def case(name: str, number: int, seed: int, folder: Path) -> str:
    """What came of a case: ``read``, ``refused``, or how it failed."""
    kind = KINDS[name]
    rng = random.Random(f"{seed} {name} {number}")
    path = folder / kind.name
    for other, content in kind.beside.items():
        (folder / other).write_bytes(content)
    path.write_bytes(mutated(kind.wholes(), rng))
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.opened(path)
        return "read"
    except ShortlistError as error:
        return "refused" if str(error).strip() else "an error without words"
    except Hang:
        return "hang\n" + traceback.format_exc()
    except Exception:
        return "raw traceback\n" + traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def cases(
    name: str, numbers: range, seed: int
) -> tuple[Counter[str], list[tuple[int, str]], float]:
    """How many were read and refused, those that failed, and how long they took."""
    os.environ.setdefault("SHORTLIST_MAX_SECONDS", "5")
    began, counted, failed = time.perf_counter(), Counter[str](), []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            came = case(name, number, seed, Path(folder))
        if came in ("read", "refused"):
            counted[came] += 1
        else:
            failed.append((number, came))
    return counted, failed, time.perf_counter() - began


def main() -> None:
    """Run all kinds, print a table, and end with 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1500, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--one", type=int, help="only the case of this number")
    wanted = parser.parse_args()
    if wanted.one is not None:
        for name in wanted.kinds:
            print(name, cases(name, range(wanted.one, wanted.one + 1), wanted.seed)[:2])
        return
    print(f"{'kind':24} {'cases':>7} {'read':>7} {'refused':>8} {'failed':>7} {'seconds':>8}")
    total: Counter[str] = Counter()
    began = time.perf_counter()
    for name in wanted.kinds:
        count = round(wanted.cases * KINDS[name].share)
        counted, failed, seconds = _spread(name, count, wanted.seed, wanted.workers)
        total.update(counted, failed=len(failed))
        print(
            f"{name:24} {count:7,} {counted['read']:7,} {counted['refused']:8,} "
            f"{len(failed):7,} {seconds:8.1f}",
            flush=True,
        )
        for number, came in failed[:3]:
            print(f"case {number} of {name!r}: {came}", file=sys.stderr)
    print(
        f"{'all ' + str(len(wanted.kinds)):24} {total.total():7,} "
        f"{total['read']:7,} {total['refused']:8,} {total['failed']:7,} "
        f"{time.perf_counter() - began:8.1f}"
    )
    sys.exit(1 if total["failed"] else 0)


def _spread(
    name: str, count: int, seed: int, workers: int
) -> tuple[Counter[str], list[tuple[int, str]], float]:
    """The same on several processes; one that ends takes its cases with it."""
    counted, failed, seconds = Counter[str](), [], 0.0
    pool = _pool(workers)
    chunks = [range(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    results = [(chunk, pool.submit(cases, name, chunk, seed)) for chunk in chunks]
    for chunk, result in results:
        try:
            some, wrong, took = result.result()
        except BrokenProcessPool:
            _pool.cache_clear()
            some, wrong, took = Counter[str](), [(chunk[0], "death within 100 cases")], 0.0
        counted.update(some)
        failed += wrong
        seconds += took
    return counted, failed, seconds


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"))


if __name__ == "__main__":
    main()
