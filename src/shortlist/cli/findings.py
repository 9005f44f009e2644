"""What the health of a study has to say, where something is amiss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.study.health import Finding


def findings(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Those findings that are not fine."""
    return [asdict(finding) for finding in found if finding.level != "fine"]


def finding_words(finding: dict[str, Any]) -> str:
    """A finding in a sentence or two."""
    return f"{finding['words']} {finding['meaning']}"
