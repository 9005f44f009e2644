"""What many replicates gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Runs:
    """What many replicates gave, one row a run.

    Of audited runs, ``audited`` is how many of the samples tested whether the means are linear in
    the features, and ``rejected`` whether they are not.
    """

    seeds: NDArray[np.uint64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    recommended: NDArray[np.bool_]
    pulls: NDArray[np.int64]
    audited: NDArray[np.int64] | None = None
    rejected: NDArray[np.bool_] | None = None


def joined(parts: Iterable[Runs]) -> Runs:
    """Runs one after another."""
    listed, columns = list(parts), {}
    for field in fields(Runs):
        values: Any = [getattr(part, field.name) for part in listed]
        columns[field.name] = None if values[0] is None else np.concatenate(values)
    made: dict[str, Any] = columns
    return Runs(**made)
