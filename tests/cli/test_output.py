"""What commands print."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def test_what_is_not_finite_is_null(folder: Path) -> None:
    from shortlist.printable import plain

    assert plain({"a": [np.float64("nan"), np.int64(3), float("inf")], "b": (np.bool_(True),)}) == {
        **{"a": [None, 3, None], "b": [True]}
    }
