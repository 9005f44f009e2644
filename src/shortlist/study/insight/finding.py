"""A finding: one check of what a guarantee assumes, what it found, and what that means."""

from __future__ import annotations

from dataclasses import dataclass, field

from shortlist import notebook
from shortlist.noise.spread import Level

ASSUMED = {  # what a finding of this name contradicts
    "fit": "that the means are linear in the features",
    "noise": "that the noise is no larger than σ",
    "normal": "that the noise is normal",
    "shift": "that there is no plate or day effect",
    "scaling": "that the numbers are accurate enough (scaling)",
}
BADGES = {"normal": "noise not normal", "shift": "plate or day effect"}


@dataclass(frozen=True)
class Finding:
    """One check, what it found, and what that means.

    Attributes
    ----------
    name : str
        The name of the check.
    level : {"fine", "untested", "note", "warning"}
        A warning contradicts the guarantee, or the accuracy of the numbers behind it. A note flags
        something that may cost evaluations or deserves a look. What is untested is assumed.
    words : str
        What was found, with the figures.
    meaning : str
        What that means for the guarantee, and what to do.
    file_words : str
        ``words`` for features that come from a file, which are counted from 1, if that differs.
    way : str
        What to do, in a sentence, where one thing is likely to help.
    """

    name: str
    level: Level
    words: str
    meaning: str
    file_words: str = field(default="", repr=False)
    way: str = field(default="", repr=False)

    @property
    def remedy(self) -> str:
        """What to do about a warning, in a sentence; else what the finding means."""
        return self.way or self.meaning

    @property
    def contradicts(self) -> str:
        """The assumption that a warning contradicts, for the middle of a sentence."""
        return ASSUMED.get(self.name, self.name)

    @property
    def badge(self) -> str:
        """The finding in a word."""
        return BADGES.get(self.name, self.name)

    def __str__(self) -> str:
        return f"{self.name} ({self.level}): {self.words} {self.meaning}"

    def _repr_html_(self) -> str:
        return Findings([self])._repr_html_()


class Findings(list[Finding]):
    """A list of findings that prints as a table.

    Examples
    --------
    >>> print(Findings([Finding("rank", "fine", "It is 2.", "Good.")]))
    rank (fine): It is 2. Good.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        columns = ("check", "level", "found", "meaning")
        return notebook.table(columns, [(f.name, f.level, f.words, f.meaning) for f in self])
