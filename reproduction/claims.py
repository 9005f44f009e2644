"""What the paper says, compared with our runs."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from scipy.stats import t

from reproduction.agreement import Line, Reproduced
from reproduction.experiment import AS_PUBLISHED, AS_WRITTEN, CORRECTED, ONE_THRESHOLD, Claim

# Whose settings a claim is looked at with. A row that the errata do not touch has one line only.
READINGS = {
    "With the published settings": (AS_PUBLISHED,),
    "With the settings of the text": (AS_WRITTEN, CORRECTED, AS_PUBLISHED),
    "With one threshold for all": (ONE_THRESHOLD, CORRECTED),
}
WORDS = ("borne out", "borne out as far as these runs tell", "undecided", "NOT borne out")


class Figure(NamedTuple):
    """A figure with its 95 % interval, and the range in which a claim holds."""

    low: float
    value: float
    high: float
    at_least: float
    at_most: float

    @property
    def verdict(self) -> int:
        """An index of ``WORDS``: against the claim only if the whole interval is."""
        if self.low > self.at_most or self.high < self.at_least:
            return 3
        if not self.at_least <= self.value <= self.at_most:
            return 2
        return 0 if self.at_least <= self.low and self.high <= self.at_most else 1

    @property
    def interval(self) -> str:
        """The interval in words."""
        return f"95 % interval {self.low:.3f} to {self.high:.3f}"


def verdicts(claim: Claim, reproduced: Reproduced) -> list[str]:
    """Whether a claim holds: in the published figures, and in our runs for each reading of the
    settings, with the figures that say so.
    """
    if reproduced.cells:
        return [_seldom(reproduced)]
    if reproduced.constants:
        return [_chain(reproduced, m) for m in sorted({row.m for row in reproduced.constants})]
    sentences: list[str] = []
    seen: list[list[Line]] = []
    found = _ratios if claim.ratios else _errors
    for words, kinds in READINGS.items():
        lines = _lines(claim, reproduced, kinds)
        if lines and lines not in seen:  # where no row has two kinds, one reading says it all
            if not seen:
                published = found(claim, reproduced, kinds, True)
                sentences.append(f"In the published figures: {published}")
            seen.append(lines)
            sentences.append(f"{words}: {found(claim, reproduced, kinds, False)}")
    return sentences


def _line(reproduced: Reproduced, place: tuple[str, str], kinds: tuple[str, ...]) -> Line | None:
    panel, label = place
    for kind in kinds:
        for line in reproduced.lines.get(panel, ()):
            if (line.row.label, line.row.kind) == (label, kind):
                return line
    return None


def _lines(claim: Claim, reproduced: Reproduced, kinds: tuple[str, ...]) -> list[Line]:
    """The lines that a claim speaks of; none where it cannot be looked at."""
    if claim.ratios:
        places = [place for ratio in claim.ratios for place in (ratio.of, ratio.to)]
    elif kinds[0] == ONE_THRESHOLD:
        return []
    else:
        every = reproduced.lines.items()
        places = [(name, line.row.label) for name, lines in every for line in lines]
    found = [_line(reproduced, place, kinds) for place in dict.fromkeys(places)]
    return [line for line in found if line is not None]


def _ratios(claim: Claim, reproduced: Reproduced, kinds: tuple[str, ...], published: bool) -> str:
    found = []
    for ratio in claim.ratios:
        of, to = _line(reproduced, ratio.of, kinds), _line(reproduced, ratio.to, kinds)
        if of is not None and to is not None:
            limits = ratio.at_least, ratio.at_most
            found.append(Figure(*_quotient(of, to, published), *limits))
    if not found:
        return "not run."
    return f"{_word(found)} ({', '.join(f'{figure.value:.2f}' for figure in found)})."


def _quotient(of: Line, to: Line, published: bool) -> tuple[float, float, float]:
    """One mean over another, with its 95 % interval; published figures are taken as they are."""
    if published and of.row.published and to.row.published:
        value = of.row.published.mean / to.row.published.mean
        return value, value, value
    value, fewest = of.mean / to.mean, min(of.runs, to.runs)
    if fewest < 2:
        return 0.0, value, math.inf
    # The interval is one of the quotient's logarithm, whose distribution is less skewed.
    squares = sum((line.std / line.mean) ** 2 / line.runs for line in (of, to))
    times = math.exp(float(t.ppf(0.975, fewest - 1)) * math.sqrt(squares))
    return value / times, value, value * times


def _errors(claim: Claim, reproduced: Reproduced, kinds: tuple[str, ...], published: bool) -> str:
    limit = 1.0 if claim.error_at_most is None else claim.error_at_most
    figures = {}
    for line in _lines(claim, reproduced, kinds):
        low, value, high = line.error_low, line.errors, line.error_high
        if published and line.row.published:
            low = value = high = line.row.published.error
        figures[line] = Figure(low, value, high, 0.0, limit)
    worst = max(figures, key=lambda line: (figures[line].verdict, figures[line].value))
    interval = "" if published else f", {figures[worst].interval}"
    found = f"worst: {figures[worst].value:.3f}, {worst.row.label}{interval}"
    return f"{_word(figures.values())} ({found})."


def _seldom(reproduced: Reproduced) -> str:
    figures = [
        Figure(row.low, row.holds / row.instances, row.high, 0.0, 1 / 3) for row in reproduced.cells
    ]
    worst = max(figures, key=lambda figure: (figure.verdict, figure.value))
    found = f"worst share: {worst.value:.3f}, {worst.interval}"
    return f"In our runs: {_word(figures)} ({found})."


def _chain(reproduced: Reproduced, m: int) -> str:
    ours = {row.name: row.ours for row in reproduced.constants if row.m == m}
    lucb, linear, ugape = (ours[f"H({name})"] for name in ("LUCB", "m-LinGapE(1)", "UGapE"))
    word = WORDS[0] if lucb >= linear >= ugape else WORDS[-1]
    return f"For m = {m}: {word} ({lucb:,.0f}, {linear:,.0f}, {ugape:,.0f})."


def _word(figures: Collection[Figure]) -> str:
    return WORDS[max(figure.verdict for figure in figures)]
