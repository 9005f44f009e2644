"""Files that attack whoever reads them: loops, crashes, bombs, links, endless numbers."""

from __future__ import annotations

import contextlib
import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

import forks
import fuzz
import shortlist
from shortlist import repurposing
from shortlist.cli.plate import read_plate
from shortlist.cli.screen_toml import read_screen_file
from shortlist.errors import (
    DamagedStorage,
    DataUnavailable,
    InvalidExpression,
    InvalidFeatures,
    InvalidInput,
    InvalidNetwork,
    InvalidSetting,
    ShortlistError,
)
from shortlist.files import arrow, guard
from shortlist.files.limits import most_bytes, most_seconds
from shortlist.repurposing.readers import read_expression, read_gctx

GENES, SAMPLES = ["SCN1A", "GABRA1"], ["rep1", "rep2"]
DIGITS = "9" * 5000


def gctx(path: Path, **parts: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, content in {
            "0/DATA/0/matrix": np.ones((2, 2), "f4"),
            "0/META/ROW/id": np.array([b"SCN1A", b"GABRA1"]),
            "0/META/COL/id": np.array([b"rep1", b"rep2"]),
            **parts,
        }.items():
            if content is not None:
                file[name] = content
    return path


# The process that reads files


ACTS = {
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "recurses": "f = lambda: f(); f()",
    "ends": "import os; os._exit(3)",
    "fills the memory": "x = bytearray(1 << 40)",
    "raises": "raise OSError('cannot synchronously read data')",
    "says too much": "raise KeyError('\\x1b]0;title\\x07' * 5000)",
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_whatever_happens_to_the_reader_is_an_error_with_the_files_name(
    act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", "1")
    source = f"def act(request, most, send):\n    {ACTS[act]}\n"
    begin = guard.BEGIN.replace(
        "from shortlist.files.child",
        "import types; import shortlist; m = types.ModuleType('shortlist.act'); "
        f"exec({source!r}, m.__dict__); sys.modules['shortlist.act'] = m; "
        "from shortlist.files.child",
    )
    guard.end_reading()
    monkeypatch.setattr(guard, "BEGIN", begin)
    try:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(InvalidExpression, match=r"^file\.h5ad") as caught:
                guard.read_guarded(
                    "shortlist.act:act", {}, source="file.h5ad", error=InvalidExpression
                )
            assert time.monotonic() - began < 15.0
            assert len(str(caught.value)) < 600
            assert "\x1b" not in str(caught.value)
    finally:
        guard.end_reading()
    monkeypatch.undo()
    assert read_expression(gctx(tmp_path / "good.gctx")).shape == (2, 2)  # the next one is read


@pytest.mark.slow
def test_an_interruption_ends_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard.end_reading()
    monkeypatch.setattr(guard, "BEGIN", "import time; time.sleep(1000)")
    path = gctx(tmp_path / "file.gctx")
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        read_gctx(path)
    timer.join()
    assert time.monotonic() - began < 10.0
    assert guard._CHILD is None


@pytest.mark.slow
def test_the_reader_is_kept_and_a_fork_gets_its_own(tmp_path: Path) -> None:
    path = gctx(tmp_path / "file.gctx")
    read_gctx(path)
    first = guard._CHILD
    read_gctx(path)
    assert guard._CHILD is first
    code = (
        "import os, sys\nfrom shortlist.repurposing.readers import read_gctx\n"
        "from shortlist.files import guard\n"
        f"path = {str(path)!r}\nread_gctx(path)\nbefore = guard._CHILD\npid = os.fork()\n"
        "read_gctx(path)\nassert (guard._CHILD is before) == (pid != 0)\n"
        "if pid:\n    assert os.waitpid(pid, 0)[1] == 0\n    read_gctx(path)\n"
        "    print('both')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "both\n", done.stderr


@pytest.mark.slow
def test_the_reader_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom shortlist.repurposing.readers import read_gctx\n"
        "from shortlist.files import guard\n"
        f"read_gctx({str(gctx(tmp_path / 'file.gctx'))!r})\n"
        "print(guard._CHILD._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([*forks.python(), "-c", code], capture_output=True, text=True)
    child = int(done.stdout)
    for _ in range(100):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_the_folder_one_stands_in_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called h5py.py beside the data is not run."""
    for name in ("h5py", "json", "struct"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    path = gctx(tmp_path / "file.gctx")
    guard.end_reading()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert read_gctx(path).expression.shape == (2, 2)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["-1", "many", "0", "9" * 5000, "1e999", "nan"])
def test_a_limit_that_is_none_is_an_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", value)
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", value)
    for limit in (most_bytes, most_seconds):
        with pytest.raises(InvalidSetting, match="SHORTLIST_MAX_"):
            limit()


# HDF5


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


def test_a_larger_limit_lets_a_file_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.gctx"
    ids = np.array([str(k).encode() for k in range(2000)])
    gctx(path, **{"0/META/ROW/id": ids, "0/META/COL/id": ids, "0/DATA/0/matrix": None})
    with h5py.File(path, "a") as file:
        file.create_dataset("0/DATA/0/matrix", (2000, 2000), "f4", chunks=(100, 100))
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "16M")
    with pytest.raises(InvalidExpression, match="SHORTLIST_MAX_BYTES"):
        read_expression(path)
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "40M")
    assert read_expression(path).shape == (2000, 2000)


@pytest.mark.slow
def test_many_rows_arrive_in_their_places(tmp_path: Path) -> None:
    """More than one part is sent, chunked or not, in any order."""
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


# .npy


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


# SBML


SBML = """<?xml version="1.0" encoding="UTF-8"?>{doctype}
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"
 xmlns:qual="http://www.sbml.org/sbml/level3/version1/qual/version1" qual:required="true">
<model><listOfCompartments><compartment id="c" constant="true"/></listOfCompartments>
<qual:listOfQualitativeSpecies>
<qual:qualitativeSpecies qual:compartment="c" qual:constant="false" qual:id="A" qual:maxLevel="1"/>
</qual:listOfQualitativeSpecies>
<qual:listOfTransitions><qual:transition qual:id="t"><qual:listOfOutputs><qual:output
 qual:qualitativeSpecies="A" qual:transitionEffect="assignmentLevel"/></qual:listOfOutputs>
<qual:listOfFunctionTerms><qual:defaultTerm qual:resultLevel="0"/>
<qual:functionTerm qual:resultLevel="1"><math xmlns="http://www.w3.org/1998/Math/MathML">{formula}
</math></qual:functionTerm></qual:listOfFunctionTerms></qual:transition></qual:listOfTransitions>
</model></sbml>"""
IS_ON = "<apply><eq/><ci>A</ci><cn type='integer'>1</cn></apply>"


@pytest.mark.parametrize("depth", [150, 2_000, 20_000, 200_000])
def test_deep_sbml_is_refused(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.sbml"
    formula = "<apply><not/>" * depth + IS_ON + "</apply>" * depth
    path.write_text(SBML.format(doctype="", formula=formula))
    with pytest.raises(InvalidNetwork, match=r"deep\.sbml.* levels"):
        repurposing.read(path)
    path.write_text(SBML.format(doctype="", formula="<apply><not/>" * depth))
    with pytest.raises(InvalidNetwork, match=r"deep\.sbml"):
        repurposing.read(path)


def test_sbml_as_deep_as_other_formats_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep.sbml"
    formula = "<apply><not/>" * 90 + IS_ON + "</apply>" * 90
    path.write_text(SBML.format(doctype="", formula=formula))
    assert repurposing.read(path).genes == ("A",)


def test_sbml_has_no_entities(tmp_path: Path) -> None:
    path = tmp_path / "a.sbml"
    lines = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    doctype = f'<!DOCTYPE sbml [<!ENTITY e0 "x">{lines}]>'
    path.write_text(SBML.format(doctype=doctype, formula=f"<ci>&e11;</ci>{IS_ON}"))
    with pytest.raises(InvalidNetwork, match="DOCTYPE"):
        repurposing.read(path)
    path.write_text(SBML.format(doctype='<!DOCTYPE x SYSTEM "file:///etc/passwd">', formula=IS_ON))
    with pytest.raises(InvalidNetwork, match="DOCTYPE"):
        repurposing.read(path)


# Numbers without end, things too deep, names that are none


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


ENDLESS = {
    "plate": ("p.csv", f"trial,arm,value\n{DIGITS},a,1\n", read_plate),
    "screen.toml": ("s.toml", f"m = {DIGITS}\n", read_screen_file),
    "noa": ("a.noa", f"rule\nA = {DIGITS}\n", lambda p: repurposing.read(p.with_suffix(".sif"))),
    "net": ("a.net", f"A[]({DIGITS});", repurposing.read_abstract),
    "net, to": ("a.net", f"A[](0..{DIGITS});", repurposing.read_abstract),
    "spec": ("a.spec", f"#E[{DIGITS}] |= $S;$S := {{A = 1}};", repurposing.read_experiments),
    "spec, fixed": ("a.spec", f"fixpoint(#E[{DIGITS}]);", repurposing.read_experiments),
    "GCT": ("a.gct", f"#1.2\n{DIGITS}\t2\nName\tDescription\ta\tb\n", read_expression),
    "deep TOML": ("s.toml", "m = " + "[" * 50_000, read_screen_file),
    "deep tables": ("s.toml", "m = " + "{a=" * 50_000, read_screen_file),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_no_number_is_too_long_and_nothing_too_deep(what: str, tmp_path: Path) -> None:
    name, text, read = ENDLESS[what]
    (tmp_path / "a.sif").write_text("A 1 A\n")
    with pytest.raises(ShortlistError) as caught:
        read(written(tmp_path / name, text))
    assert len(str(caught.value)) < 1000


def test_a_trials_number_has_an_end(tmp_path: Path) -> None:
    from shortlist.cli.opening import open_trials

    study = shortlist.Study(np.eye(2), m=1, sigma=0.5, storage=tmp_path / "a.db")
    study.close()
    with pytest.raises(ShortlistError, match="there is no trial") as caught:
        open_trials(str(tmp_path / "a.db"), [DIGITS], None)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("version", [DIGITS, "²", "", "-1"])
def test_a_version_of_the_tables_has_an_end(version: str, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    place = tmp_path / "a.db"
    shortlist.Study(np.eye(2), m=1, sigma=0.5, storage=place).close()
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE shortlist_meta SET value = ? WHERE key = 'version'", [version])
    with pytest.raises(DamagedStorage, match="not a number"):
        shortlist.Study.load(place)


@pytest.mark.parametrize("choices", ["[" * 100_000, '{"m":' * 100_000, f'{{"m": {DIGITS}}}'])
def test_settings_that_are_too_deep_are_damaged(choices: str) -> None:
    from shortlist.study.definition import Definition

    with pytest.raises(DamagedStorage):
        Definition.read(choices, '["a", "b"]', None)


def test_nobodys_home_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "s.toml", 'features = "~nosuch/x.csv"\nm = 1\nsigma = 1\n')
    with pytest.raises(InvalidSetting, match="~nosuch"):
        read_screen_file(path).settings()
    path.write_text('storage = "~nosuch/x.db"\n')
    with pytest.raises(InvalidSetting, match="~nosuch"):
        _ = read_screen_file(path).storage
    for variable in ("SHORTLIST_DATA", "SHORTLIST_CACHE"):
        with monkeypatch.context() as environment:
            environment.delenv("SHORTLIST_DATA", raising=False)
            environment.setenv(variable, "~nosuch/x")
            with pytest.raises(DataUnavailable, match="~nosuch"):
                shortlist.data.path("epilepsy_scores.csv")


@pytest.mark.parametrize("read", [
    read_expression, read_gctx, repurposing.read_experiments, repurposing.read_abstract,
    repurposing.read_string, read_plate, read_screen_file,
    lambda path: repurposing.read(f"{path}.bnet"), lambda path: repurposing.read(f"{path}.sbml"),
    lambda path: shortlist.Study(f"{path}.npy", m=1, sigma=1),
    lambda path: shortlist.Study(f"{path}.parquet", m=1, sigma=1),
    lambda path: shortlist.Study.load(path),
])  # fmt: skip
def test_a_path_with_nul_is_an_error_of_ours(read: Any, tmp_path: Path) -> None:
    with pytest.raises(ShortlistError):
        read(tmp_path / "a\0b")


def test_nul_in_a_screen_file(tmp_path: Path) -> None:
    for key in ("features", "pilot", "storage"):
        text = f'{key} = "a\\u0000b"\nm = 1\nsigma = 1\n'
        if key == "pilot":
            text += 'arms = ["a", "b"]\n'
        described = read_screen_file(written(tmp_path / "s.toml", text))
        with pytest.raises(ShortlistError, match="NUL"):
            described.storage if key == "storage" else (described.settings(), described.pilot())


@pytest.mark.slow
def test_a_user_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    code = (
        "import shortlist\n"
        f"study = shortlist.Study(arms=['a', 'b'], m=1, sigma=1, storage={str(tmp_path / 'a.db')!r})\n"
        "trial = study.ask()\nstudy.tell(trial, 0.5)\nprint(ascii(study.trials[0].worker))\n"
    )
    environment = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items()}
    environment[b"LOGNAME"] = b"J\xfcrg"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"'J?rg@")
