"""The algorithms of gap indices, also as published, and one of them on a problem."""

from __future__ import annotations

from typing import Any

import shortlist
from reproduction.published import PUBLISHED
from shortlist.catalog import gifa as catalog
from shortlist.gifa.engine import Engine
from shortlist.problem import Problem

ALGORITHMS: dict[str, shortlist.GIFA] = {**catalog.ALGORITHMS, **PUBLISHED}


def algorithm_of(choice: str | shortlist.GIFA) -> shortlist.GIFA:
    """The algorithm of a name."""
    return ALGORITHMS[choice] if isinstance(choice, str) else choice


def allowed(name: str, m: int) -> bool:
    """Some find one arm only."""
    return ALGORITHMS[name].only_m in (None, m)


def engine_of(algorithm: str | shortlist.GIFA, features: Any, m: int, **settings: Any) -> Engine:
    """An algorithm on a problem."""
    return algorithm_of(algorithm).bind(Problem.of(features, m, **settings)).engine
