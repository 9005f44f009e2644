"""What the health of a study has to say, where something is amiss."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.study.insight.health import Finding


def findings(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Those findings that are not fine."""
    return [
        {**asdict(finding), "words": counted_from_one(finding.words)}
        for finding in found
        if finding.level != "fine"
    ]


def counted_from_one(words: str) -> str:
    """The columns of an array, counted from 0, as the features of a file, counted from 1.

    Examples
    --------
    >>> counted_from_one("Column 0 is 500 times as large as column 3 (root mean square).")
    'Feature 1 is 500 times as large as feature 4 (root mean square).'
    """

    def feature(found: re.Match[str]) -> str:
        return f"{'Feature' if found[1] == 'C' else 'feature'} {int(found[2]) + 1}"

    return re.sub(r"\b([Cc])olumn (\d+)\b", feature, words)


def finding_words(finding: dict[str, Any]) -> str:
    """A finding in a sentence or two."""
    return f"{finding['words']} {finding['meaning']}"
