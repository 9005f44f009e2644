"""Studies to be drawn, and the words in their pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import shortlist

RNG = np.random.default_rng(8)
X = RNG.normal(size=(9, 3))
THETA = np.array([0.8, -0.5, 0.2])
ONCE = shortlist.GIFA(initialization="each", name="m-LinGapE, each arm once first")


def name_of(algorithm: object) -> str:
    return algorithm if isinstance(algorithm, str) else "own"


def study(algorithm: object = ONCE, features: np.ndarray = X, **settings: Any) -> shortlist.Study:
    published = "published" in getattr(algorithm, "name", "")
    settings = {"m": 2, "sigma": 0.6, "seed": 3, "S": 1.0 if published else None, **settings}
    settings = {"audit": False, "intercept": not published, **settings}
    return shortlist.Study(features, algorithm=algorithm, **settings)  # type: ignore[arg-type]


def measured(seed: int = 0, noise: float = 0.6) -> Callable[[Any], float]:
    """Results by arm; those of the arms of a classical study are in steps."""
    rng = np.random.default_rng(seed)
    means = X @ THETA
    return lambda trial: float(means[trial.arm % len(means)] + noise * rng.standard_normal())


def tell_some(s: shortlist.Study, count: int, seed: int = 0) -> shortlist.Study:
    value = measured(seed)
    while s.evaluations < count and not s.done:
        trial = s.ask()
        s.tell(trial, value(trial))
    return s


def texts(figure: Any) -> str:
    found = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return " ".join(" ".join(artist.get_text() for artist in found).split())
