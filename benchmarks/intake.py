"""The memory that reading features takes at its peak, as a share of the features."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from shortlist.features import features_and_names

ARMS, FEATURES, WIDE = 200_000, 50, 5_000
FILES = {  # arms, features, rows of a group
    "one group of rows": (ARMS, FEATURES, ARMS),
    "20 groups of rows": (ARMS, FEATURES, ARMS // 20),
    "5,000 columns": (ARMS * FEATURES // WIDE, WIDE, ARMS),
    "lists, one group of rows": (ARMS, FEATURES, ARMS),
}
TABLES = ("Arrow table", "DataFrame", "DataFrame of two types")


def columns(arms: int, features: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((arms, features))
    return {f"feature {k}": x[:, k].copy() for k in range(features)}


def write(kind: str, place: Path) -> None:
    arms, features, rows = FILES[kind]
    held = columns(arms, features)
    table = pa.table(held)
    if kind.startswith("lists"):
        flat = pa.array(np.column_stack(list(held.values())).reshape(-1))
        table = pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, features)})
    pq.write_table(table, place, row_group_size=rows)


def table(kind: str) -> Any:
    held = columns(ARMS, FEATURES)
    if kind == "Arrow table":
        return pa.table(held)
    if kind == "DataFrame of two types":
        held |= {name: held[name].astype(np.float32) for name in list(held)[::2]}
    return pd.DataFrame(held)


def memory(what: str) -> int:
    """Bytes of this process, now or at the peak. What ``getrusage`` says it may have from its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))


def read(kind: str, place: str) -> None:
    given = table(kind) if kind in TABLES else place
    with tempfile.TemporaryDirectory() as folder:  # load what there is to load
        pq.write_table(pa.table({"x": [1.0, 2.0]}), f"{folder}/tiny.parquet")
        features_and_names(f"{folder}/tiny.parquet", None)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on (Linux)
    before, begun = memory("VmRSS"), time.perf_counter()
    matrix, *_ = features_and_names(given, None)
    taken, most = time.perf_counter() - begun, memory("VmHWM")
    print(
        f"{kind:26s} {matrix.nbytes / 1e6:4.0f} MB: {(most - before) / matrix.nbytes:.2f} × at the "
        f"peak, beyond what was there, in {taken:.2f} s",
        flush=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in (*FILES, *TABLES):
            place = Path(folder, "features.parquet")
            if kind in FILES:
                write(kind, place)
            command = [sys.executable, __file__, kind, str(place)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        read(*sys.argv[1:])
    else:
        main()
