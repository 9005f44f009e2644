"""Arms that were retired, in words."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.printable import on_one_line
from shortlist.study.ledger import Retirement

ARMS_SHOWN = 20


def retired_words(retired: Sequence[Retirement]) -> str:
    """Arms that were retired, each with the reason; empty if there are none.

    Examples
    --------
    >>> retired_words([Retirement(3, "elm", "out of stock", True, True)])
    "'elm' (out of stock)"
    """
    shown = [f"{each.name!r} ({on_one_line(each.reason)})" for each in retired[:ARMS_SHOWN]]
    more = len(retired) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)
