"""A value for every arm, in order or by the names of the arms: a σ, a cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shortlist.errors import InvalidSetting, unknown_name


def each_arm(what: str, values: Any, names: Sequence[str]) -> list[Any]:
    """The values in the order of the arms; ``what`` they are called in messages.

    Examples
    --------
    >>> each_arm("costs", {"elm": 10.0, "ash": 1.0}, ["ash", "elm"])
    [1.0, 10.0]
    >>> each_arm("costs", [1.0], ["ash", "elm"])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: costs must be one number for each of the 2 arms, got 1.
    """
    if isinstance(values, Mapping | pd.Series):
        return _in_order(what, values, names)
    table = isinstance(values, np.ndarray) and values.ndim != 1
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise InvalidSetting(
            f"{what} must be one number for each of the {len(names)} arms, got {values!r}."
        )
    if table or len(values) != len(names):
        got = f"shape {np.shape(values)}" if table else f"{len(values)}"
        raise InvalidSetting(
            f"{what} must be one number for each of the {len(names)} arms, got {got}."
        )
    return list(values)


def _in_order(what: str, values: Any, names: Sequence[str]) -> list[Any]:
    """The values of a mapping or a Series in the order of the arms."""
    known, by_name = set(names), dict[str, Any]()
    for key, value in values.items():
        name = str(key)
        if name not in known:
            raise unknown_name(f"arm in {what}", name, names)
        if name in by_name:
            raise InvalidSetting(f"{what} names the arm {name!r} twice: keep one.")
        by_name[name] = value
    for name in names:
        if name not in by_name:
            raise InvalidSetting(f"{what} has no number for arm {name!r}: give one for every arm.")
    return [by_name[name] for name in names]
