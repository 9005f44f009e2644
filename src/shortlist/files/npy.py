"""NumPy's ``.npy`` files, mapped into memory once their header is known to be true."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
LONGEST = 65_536  # bytes of a header
KINDS = "biuf"
MOST = 32  # dimensions

_TYPE = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?[a-zA-Z]\d{0,3})['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,L]{0,400})\)""")


def map_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of a ``.npy`` file, read from the disk where it is looked at.

    The header is not evaluated: it has to name a type of numbers, an order and a shape that the
    file is long enough for.

    Raises
    ------
    ValueError
        If it is no such file; with the reason.
    OSError
        If it cannot be opened.
    """
    with open(path, "rb") as file:
        begin = file.read(8)
        if len(begin) < 8 or not begin.startswith(MAGIC):
            raise ValueError("it does not begin as a .npy file does")
        width = 2 if begin[6] == 1 else 4
        length = int.from_bytes(file.read(width), "little")
        if begin[6] not in (1, 2, 3) or length > LONGEST:
            raise ValueError("its header is damaged")
        header = file.read(length).decode("utf-8", "replace")
        offset, size = file.tell(), os.fstat(file.fileno()).st_size
    kind, order, shape = _TYPE.search(header), _ORDER.search(header), _SHAPE.search(header)
    if kind is None or order is None or shape is None:
        raise ValueError("its header does not name a type of numbers, an order and a shape")
    try:
        dtype = np.dtype(kind[1])
    except (TypeError, ValueError):
        raise ValueError(f"{kind[1]!r} is no type of numbers") from None
    if dtype.kind not in KINDS:
        raise ValueError(f"it holds {dtype}, not numbers")
    extents = tuple(int(extent) for extent in re.findall(r"\d+", shape[1]))
    if len(extents) > MOST:
        raise ValueError(f"it has {len(extents)} dimensions")
    needed = dtype.itemsize
    for extent in extents:
        needed *= extent
    if needed == 0:
        raise ValueError(f"it is empty, of shape {extents}")
    if offset + needed > size:
        raise ValueError(
            f"its header speaks of {needed:,} bytes, and {max(0, size - offset):,} are there"
        )
    return np.memmap(path, dtype, "r", offset, extents or (1,), "F" if order[1] == "True" else "C")
