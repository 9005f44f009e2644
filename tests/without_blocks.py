"""The algorithms that work without blocks."""

from __future__ import annotations

from shortlist.blocks import NO_BLOCKS
from shortlist.catalog.registry import ALGORITHMS

WITHOUT_BLOCKS = [
    name
    for name, algorithm in ALGORITHMS.items()
    if NO_BLOCKS.word in getattr(algorithm, "takes", (NO_BLOCKS.word,))
]
