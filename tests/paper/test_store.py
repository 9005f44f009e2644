"""Finished runs of the paper's experiments are kept, and only those that are right are used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shortlist.paper import reproduce, store
from shortlist.paper import runs as paper_runs
from shortlist.paper.store import KEY, Store


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time, and say nothing of what is kept."""
    monkeypatch.setattr("shortlist.paper.figures.draw", lambda reproduced, out: [])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The smallest chunks, one run a worker, and (start, runs) of every call of compare."""
    calls: list[tuple[int, int]] = []
    compare = paper_runs.compare

    def counting(algorithm: Any, instance: Any, runs: int, **settings: Any) -> Any:
        calls.append((settings["start"], runs))
        return compare(algorithm, instance, runs, **settings)

    monkeypatch.setattr(paper_runs, "compare", counting)
    monkeypatch.setattr(paper_runs, "CHUNK_SAMPLES", 0)
    return calls


def appendix_random(out: Path, runs: int) -> pd.DataFrame:
    reproduce("appendix-random", runs=runs, out=out, workers=2, progress=False)
    return pd.read_parquet(out / "appendix-random.parquet")


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    flat = [frame.assign(pulls=frame["pulls"].map(tuple)) for frame in (one, other)]
    flat = [frame.assign(recommendation=frame["recommendation"].map(tuple)) for frame in flat]
    return flat[0].equals(flat[1])


@pytest.mark.slow
def test_an_interrupted_reproduction_goes_on(
    counted: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = appendix_random(tmp_path / "whole", 6)
    rows = 6
    assert counted == [(0, 2), (2, 2), (4, 2)] * rows
    counted.clear()
    counting = paper_runs.compare

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        if len(counted) == 4:
            raise KeyboardInterrupt
        return counting(*arguments, **settings)

    monkeypatch.setattr(paper_runs, "compare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        appendix_random(tmp_path / "parts", 6)
    assert counted == [(0, 2), (2, 2), (4, 2), (0, 2)]
    assert not (tmp_path / "parts" / "index.html").exists()
    assert not list((tmp_path / "parts" / "runs").glob("*.part"))
    counted.clear()
    monkeypatch.setattr(paper_runs, "compare", counting)
    assert same(appendix_random(tmp_path / "parts", 6), whole)
    assert counted == [(2, 2), (4, 2)] + [(0, 2), (2, 2), (4, 2)] * (rows - 2)


@pytest.mark.slow
def test_more_runs_make_only_those_that_are_missing(
    counted: list[tuple[int, int]], tmp_path: Path
) -> None:
    few = appendix_random(tmp_path, 3)
    assert counted == [(0, 2), (2, 1)] * 6
    counted.clear()
    more = appendix_random(tmp_path, 6)
    assert counted == [(3, 2), (5, 1)] * 6
    counted.clear()
    assert same(few, appendix_random(tmp_path, 3))
    assert counted == []
    assert same(few, more[more["run"] < 3].reset_index(drop=True))
    assert list(more["run"]) == list(range(6)) * 6


@pytest.mark.slow
def test_another_seed_is_another_store(counted: list[tuple[int, int]], tmp_path: Path) -> None:
    one = appendix_random(tmp_path, 2)
    reproduce("appendix-random", runs=2, seed=1, out=tmp_path, workers=2, progress=False)
    other = pd.read_parquet(tmp_path / "appendix-random.parquet")
    assert len(counted) == 12
    assert not set(one["seed"]) & set(other["seed"])


@pytest.mark.slow
def test_damaged_and_foreign_files_are_noticed_and_made_again(
    counted: list[tuple[int, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as parquet

    whole = appendix_random(tmp_path, 2)
    files = sorted((tmp_path / "runs").glob("*.parquet"))
    assert len(files) == 6
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(files[2].read_bytes())  # another row's runs under this name
    table = parquet.read_table(files[3])
    metadata = table.schema.metadata
    assert KEY in metadata
    parquet.write_table(table.slice(1).replace_schema_metadata(metadata), files[3])
    parquet.write_table(table.drop_columns("pulls").replace_schema_metadata(metadata), files[4])
    # Whole, and under its own name, but not the runs 0, 1, …
    table = parquet.read_table(files[5])
    key = table.schema.metadata[KEY].decode()
    Store(tmp_path / "runs").write(name_of(files[5]), key, table.to_pandas().iloc[1:])
    counted.clear()
    assert same(appendix_random(tmp_path, 2), whole)
    assert len(counted) == 5
    said = capsys.readouterr().err
    assert said.count("is not used") == 5
    assert said.count("it is damaged") == 3
    assert said.count("belongs to something else") == 2


def name_of(file: Path) -> str:
    return file.stem.rpartition("-")[0]


@pytest.mark.slow
def test_every_flipped_bit_is_noticed_or_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    appendix_random(tmp_path, 5)
    store, file = Store(tmp_path / "runs"), min((tmp_path / "runs").glob("*.parquet"))
    content = file.read_bytes()
    key = parquet_key(file)
    whole = store.read(name_of(file), key, lambda frame: True)
    noticed = 0
    for bit in range(0, 8 * len(content), 41):  # 41 and 8 share no factor: every place in a byte
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        frame = store.read(name_of(file), key, lambda frame: True)
        noticed += frame is None
        assert frame is None or same(frame, whole), bit
    assert noticed > 200
    assert capsys.readouterr().err.count("is not used") == noticed


def parquet_key(file: Path) -> str:
    import pyarrow.parquet as parquet

    key: bytes = parquet.read_schema(file).metadata[KEY]
    return key.decode()


KILLED = """
import sys
from shortlist.paper import reproduce, runs

runs.CHUNK_SAMPLES = 0  # a file a run
reproduce("appendix-random", runs=8, out=sys.argv[1], workers=2, progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill so")
def test_a_killed_reproduction_goes_on(
    counted: list[tuple[int, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(out)])
    try:
        late = time.monotonic() + 120.0
        while len(list((out / "runs").glob("*.parquet"))) < 3 and process.poll() is None:
            assert time.monotonic() < late
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL  # it was not done before
    assert not (out / "index.html").exists()
    begun = out / "runs" / "begun.1.part"  # what a kill in the middle of a file leaves
    begun.touch()
    os.utime(begun, (0.0, 0.0))
    others = out / "runs" / "begun.2.part"  # and what another process is writing
    others.touch()
    kept = sum(len(pd.read_parquet(file)) for file in (out / "runs").glob("*.parquet"))
    assert 16 < kept < 48
    resumed = appendix_random(out, 8)
    assert sum(runs for _, runs in counted) == 48 - kept
    assert capsys.readouterr().err == ""  # no file was damaged
    assert list((out / "runs").glob("*.part")) == [others]
    assert same(resumed, appendix_random(tmp_path / "whole", 8))


def test_the_code_that_runs_depend_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    store.code.cache_clear()
    before = store.code()
    monkeypatch.setattr(store, "ROOMS", (*store.ROOMS, "nowhere"))
    store.code.cache_clear()
    with pytest.raises(FileNotFoundError, match="nowhere contains no sources"):
        store.code()
    monkeypatch.undo()
    assert store.code() == before
