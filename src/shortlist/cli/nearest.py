"""A name that is not among many: the nearest that are, and how many there are."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from shortlist.errors import UnknownName

FEW = 3


def unknown_among(kind: str, name: str, known: Sequence[str]) -> UnknownName:
    """The error for a name that is none of ``known``, which may be thousands.

    Examples
    --------
    >>> print(unknown_among("arm", "c7", ["C07", "C17", "C20", "beta"]))
    unknown arm 'c7': did you mean 'C07' or 'C17'? There are 4 arms.
    >>> print(unknown_among("arm", "xyz", ["C07", "C17", "C20", "beta"]))
    unknown arm 'xyz': no name is like it. There are 4 arms, such as 'C07', 'C17' or 'C20'.
    """
    alike: dict[str, list[str]] = {}
    for candidate in known:
        alike.setdefault(_bare(candidate), []).append(candidate)
    found = difflib.get_close_matches(_bare(name), alike, n=FEW)
    near = [candidate for each in found for candidate in alike[each]][:FEW]
    there = f"There are {len(known):,} {kind}s"
    if near:
        return UnknownName(f"unknown {kind} {name!r}: did you mean {_any(near)}? {there}.")
    return UnknownName(
        f"unknown {kind} {name!r}: no name is like it. {there}, such as {_any(known[:FEW])}."
    )


def _bare(name: str) -> str:
    """Without capitals and leading zeros, which spreadsheets take away."""
    return re.sub(r"0+(?=\d)", "", name.casefold())


def _any(names: Sequence[str]) -> str:
    *others, last = (repr(name) for name in names)
    return f"{', '.join(others)} or {last}" if others else last
