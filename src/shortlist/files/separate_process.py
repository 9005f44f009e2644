"""HDF5 files are read in a process of their own: of 15,000 mutated ones 5 crashed HDF5 or hung it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shortlist
from shortlist.errors import InvalidExpression, InvalidInput
from shortlist.files import hdf5
from shortlist.files.limits import SECONDS, Memory, most_seconds
from shortlist.files.paths import regular_file
from shortlist.files.reading import read_file

BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from shortlist.files.separate_process import answer; answer()"
OVERHEAD = 128 << 20  # bytes that libraries take for themselves while they read


def read_hdf5(
    path: str | os.PathLike[str], samples: list[str] | None
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """What ``hdf5.read`` returns for a file: what it says of genes and samples, and its matrix."""
    place = regular_file(path, InvalidExpression)
    seconds, home = most_seconds(place.stat().st_size), str(Path(shortlist.__file__).parents[1])
    # Isolated: neither the folder one stands in nor the environment says what is imported.
    paths = [home, *(entry for entry in sys.path if entry and entry != home)]
    asked = json.dumps([os.fspath(place.absolute()), str(path), samples, int(seconds) + 2]).encode()
    command = [sys.executable, "-I", "-c", BEGIN, *paths]
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=seconds)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise InvalidExpression(
            f"{path}: reading it took more than {seconds:g} seconds and was given up; the file is "
            f"damaged. If it is not, set the environment variable {SECONDS} to a larger number."
        ) from None
    if done.returncode:
        raise InvalidExpression(
            f"{path}: HDF5 crashed on this file (exit code {done.returncode}), which is damaged: "
            "fetch it or write it again. If whole files fail too, install h5py again."
        )
    end = done.stdout.rindex(b"\n")  # JSON has none
    answered = json.loads(done.stdout[end:])
    if "refused" in answered:
        raise InvalidExpression(answered["refused"])
    return answered, np.frombuffer(done.stdout, count=end // 8).reshape(answered["shape"])


def answer() -> None:
    """Read, in the other process, the file that stdin names; write its matrix and the rest."""
    path, source, samples, seconds = json.load(sys.stdin)

    def limited(place: Path, memory: Memory) -> tuple[dict[str, Any], NDArray[np.float64]]:
        if sys.platform == "linux":
            from resource import RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, getpagesize, setrlimit

            taken = int(Path("/proc/self/statm").read_text().split()[0]) * getpagesize()
            setrlimit(RLIMIT_AS, (taken + memory.most + OVERHEAD,) * 2)
            setrlimit(RLIMIT_CPU, (seconds, seconds))  # if nobody is left to end it
            setrlimit(RLIMIT_CORE, (0, 0))
        return hdf5.read(place, memory, samples)

    try:
        content, matrix = read_file(path, InvalidExpression, limited, source)
        sys.stdout.buffer.write(np.ascontiguousarray(matrix, dtype=np.float64).data)
        content["shape"] = matrix.shape
    except (ImportError, InvalidInput) as refusal:
        content = {"refused": str(refusal)}
    sys.stdout.buffer.write(b"\n" + json.dumps(content, default=str).encode())
