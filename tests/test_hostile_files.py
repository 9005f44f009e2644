"""Files that attack whoever reads them: loops, crashes, bombs, links, endless numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shortlist
from shortlist import repurposing
from shortlist.cli.screen_toml import read_screen_file
from shortlist.errors import DamagedStorage, OtherTables, ShortlistError
from shortlist.repurposing.expression.readers import (
    read_expression,
    read_gctx,
    read_parquet,
)
from shortlist.repurposing.reward_cache import RewardCache
from shortlist.study.plate import read_plate

DIGITS = "9" * 5000


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


@pytest.mark.usefixtures("without_garbage")
@pytest.mark.parametrize("what", ENDLESS)
def test_no_number_is_too_long_and_nothing_too_deep(what: str, tmp_path: Path) -> None:
    name, text, read = ENDLESS[what]
    (tmp_path / "a.sif").write_text("A 1 A\n")
    with pytest.raises(ShortlistError) as caught:
        read(written(tmp_path / name, text))
    assert len(str(caught.value)) < 1000


def test_a_trials_number_has_an_end(tmp_path: Path) -> None:
    from shortlist.cli.study_argument import open_trials

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
        connection.execute("UPDATE shortlist_meta SET value = ? WHERE key = 'tables'", [version])
    with pytest.raises(OtherTables, match="another version"):
        shortlist.Study.load(place)


@pytest.mark.usefixtures("without_garbage")
@pytest.mark.parametrize("choices", ["[" * 100_000, '{"m":' * 100_000, f'{{"m": {DIGITS}}}'])
def test_settings_that_are_too_deep_are_damaged(choices: str) -> None:
    from shortlist.storage.base import Settings
    from shortlist.study.definition import Definition

    with pytest.raises(DamagedStorage):
        Definition.read(Settings(choices, '["a", "b"]', None, "", None, 0.0), "deep")


def test_nul_in_a_screen_file(tmp_path: Path) -> None:
    for key in ("features", "pilot", "storage"):
        text = f'{key} = "a\\u0000b"\nm = 1\nsigma = 1\n'
        if key == "pilot":
            text += 'arms = ["a", "b"]\n'
        described = read_screen_file(written(tmp_path / "s.toml", text))
        with pytest.raises(ShortlistError, match="NUL"):
            described.storage if key == "storage" else (described.settings(), described.pilot())


READERS = {
    "features.csv": lambda path: shortlist.Study(path, m=1, sigma=1),
    "features.npy": lambda path: shortlist.Study(path, m=1, sigma=1),
    "features.parquet": lambda path: shortlist.Study(path, m=1, sigma=1),
    "expression": read_expression,
    "a.gctx": read_gctx,
    "a.h5ad": read_expression,
    "a.pq": read_parquet,
    "links": repurposing.read_string,
    "a.bnet": repurposing.read,
    "a.sbml": repurposing.read,
    "a.net": repurposing.read_abstract,
    "a.spec": repurposing.read_experiments,
    "plate.csv": read_plate,
    "screen.toml": read_screen_file,
    "rewards": lambda path: RewardCache(path, "4f75"),
}


@pytest.mark.parametrize("name", READERS)
def test_only_regular_files_are_read(name: str, tmp_path: Path) -> None:
    """A pipe would be waited for, and /dev/zero has no end."""
    pipe, device, folder = (tmp_path / kind / name for kind in ("pipe", "device", "folder"))
    for path in (pipe, device):
        path.parent.mkdir()
    folder.mkdir(parents=True)
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device, folder):
        with pytest.raises(ShortlistError, match=f"{name} is a folder, a pipe or a device"):
            READERS[name](path)


PEAK = """
import sys, resource
from pathlib import Path
import h5py, pyarrow.parquet, shortlist
from shortlist.errors import InvalidInput
from shortlist.features import features_and_names
from shortlist.repurposing import read_expression

def memory(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) >> 10

before = memory("VmRSS")
for path in sys.argv[1:]:
    for read in (read_expression, lambda path: features_and_names(path, None)):
        try:
            read(path)
        except InvalidInput as error:
            print(error)
print(max(memory("VmHWM") - before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10))
"""


def bombs(folder: Path) -> list[Path]:
    """Small files whose content takes gigabytes: numbers, names, long text, lists; HDF5."""
    import h5py
    import pyarrow as pa
    from pyarrow import parquet

    none = pa.nulls(100_000, pa.list_(pa.float64(), 1000))
    rows = np.zeros(30_000_000, "i1")
    tables = {
        "rows": {"x": rows},
        "text": {"who": pa.repeat("x" * 20_000, 50_000), "x": rows[:50_000]},
        "category": {"who": pa.DictionaryArray.from_arrays(rows[:200_000], [" " * 20_000]), "x": rows[:200_000]},
        "lists": {"x": none},
        "deep": {"x": pa.array([[none[0].as_py()]] * 10, pa.list_(none.type))},
        "wide": {f"c{k}": rows[:20_000] for k in range(5000)},
    }  # fmt: skip
    made = []
    for name, columns in tables.items():
        made.append(folder / f"{name}.parquet")
        parquet.write_table(pa.table(columns), made[-1])
    made.append(folder / "understated.parquet")
    whole = bytearray((folder / "rows.parquet").read_bytes())
    many, one = _zigzag(len(rows)), _zigzag(1)[:1]
    padded = bytes([one[0] | 128, *[128] * (len(many) - 2), 0])
    for at in (whole.index(many, whole.index(b"schema")), whole.rindex(many)):
        whole[at : at + len(many)] = padded  # of the file and of its group; not of the column
    made[-1].write_bytes(whole)
    for name, (samples, genes) in {"tall": (30_000_000, 1), "square": (10_000, 10_000)}.items():
        made.append(folder / f"{name}.gctx")
        with h5py.File(made[-1], "w") as file:
            file.create_dataset("0/DATA/0/matrix", (samples, genes), "f4", chunks=(1000, 1))
            for axis, count in (("ROW", genes), ("COL", samples)):
                file.create_dataset(f"0/META/{axis}/id", (count,), "S9", chunks=(1,))
    made.append(folder / "texts.h5ad")
    with h5py.File(made[-1], "w") as file:
        file["X"] = np.zeros((2, 20_000))
        for name, count in (("obs", 2), ("var", 20_000)):
            file.create_group(name).attrs["_index"] = "_index"
            index = file[name].create_dataset(
                "_index", (count,), h5py.string_dtype(), fillvalue="x" * 50_000
            )
            assert len(index) == count
    return made


def _zigzag(number: int) -> bytes:
    """A number as Thrift has it."""
    number, made = 2 * number, []
    while number:
        made.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
    return bytes(made)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux counts the memory")
def test_small_files_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_BYTES", "200M")
    files = bombs(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *files], capture_output=True, text=True, check=True
    )
    *said, peak = done.stdout.splitlines()
    assert len(said) == 2 * len(files)  # none is read
    assert all(str(tmp_path) in words or "column 'who'" in words for words in said)
    assert int(peak) < 400


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
