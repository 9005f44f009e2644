"""What the paper says, held against our runs."""

from __future__ import annotations

from shortlist.paper.experiment import (
    AS_PUBLISHED,
    AS_WRITTEN,
    CORRECTED,
    ONE_THRESHOLD,
    Claim,
)
from shortlist.paper.outcome import Line, Outcome

# Whose settings a claim is looked at with. A row that the errata do not touch has one line only.
READINGS = {
    "With the published settings": (AS_PUBLISHED,),
    "With the settings of the text": (AS_WRITTEN, CORRECTED, AS_PUBLISHED),
    "With one threshold for all": (ONE_THRESHOLD, CORRECTED),
}


def verdicts(claim: Claim, outcome: Outcome) -> list[str]:
    """Whether a claim holds: in the published figures, and in our runs for each reading of the
    settings, with the figures that say so.
    """
    if outcome.cells:
        return [_seldom(outcome)]
    if outcome.constants:
        return [_chain(outcome, m) for m in sorted({row.m for row in outcome.constants})]
    sentences: list[str] = []
    seen: list[list[Line]] = []
    for words, kinds in READINGS.items():
        lines = _lines(claim, outcome, kinds)
        if lines and lines not in seen:  # where no row has two kinds, one reading says it all
            if not seen:
                sentences.append(f"In the published figures: {_found(claim, outcome, kinds, True)}")
            seen.append(lines)
            sentences.append(f"{words}: {_found(claim, outcome, kinds, False)}")
    return sentences


def _found(claim: Claim, outcome: Outcome, kinds: tuple[str, ...], published: bool) -> str:
    if claim.ratios:
        return _ratios(claim, outcome, kinds, published)
    return _errors(claim, _lines(claim, outcome, kinds), published)


def _line(outcome: Outcome, place: tuple[str, str], kinds: tuple[str, ...]) -> Line | None:
    panel, label = place
    for kind in kinds:
        for line in outcome.lines.get(panel, ()):
            if (line.row.label, line.row.kind) == (label, kind):
                return line
    return None


def _lines(claim: Claim, outcome: Outcome, kinds: tuple[str, ...]) -> list[Line]:
    """The lines that a claim speaks of; none where it cannot be looked at."""
    if claim.ratios:
        places = [place for ratio in claim.ratios for place in (ratio.of, ratio.to)]
    elif kinds[0] == ONE_THRESHOLD:
        return []
    else:
        places = [(name, line.row.label) for name, lines in outcome.lines.items() for line in lines]
    found = [_line(outcome, place, kinds) for place in dict.fromkeys(places)]
    return [line for line in found if line is not None]


def _ratios(claim: Claim, outcome: Outcome, kinds: tuple[str, ...], published: bool) -> str:
    found, held = [], True
    for ratio in claim.ratios:
        of, to = _line(outcome, ratio.of, kinds), _line(outcome, ratio.to, kinds)
        if of is not None and to is not None:
            value = _mean(of, published) / _mean(to, published)
            held = held and ratio.at_least <= value <= ratio.at_most
            found.append(f"{value:.2f}")
    return f"{_word(held)} ({', '.join(found)})." if found else "not run."


def _mean(line: Line, published: bool) -> float:
    return line.row.published.mean if published and line.row.published else line.mean


def _errors(claim: Claim, lines: list[Line], published: bool) -> str:
    rates = {
        line: line.row.published.error if published and line.row.published else line.errors
        for line in lines
    }
    worst = max(rates, key=lambda line: rates[line])
    held = claim.error_at_most is None or rates[worst] <= claim.error_at_most
    interval = f", 95 % interval {worst.error_low:.3f} to {worst.error_high:.3f}"
    found = f"largest: {rates[worst]:.3f}, {worst.row.label}{'' if published else interval}"
    return f"{_word(held)} ({found})."


def _seldom(outcome: Outcome) -> str:
    share = max(row.holds / row.instances for row in outcome.cells)
    return f"In our runs: {_word(share <= 1 / 3)} (largest share: {share:.3f})."


def _chain(outcome: Outcome, m: int) -> str:
    ours = {row.name: row.ours for row in outcome.constants if row.m == m}
    lucb, linear, ugape = (ours[f"H({name})"] for name in ("LUCB", "m-LinGapE(1)", "UGapE"))
    held = lucb >= linear >= ugape
    return f"For m = {m}: {_word(held)} ({lucb:,.0f}, {linear:,.0f}, {ugape:,.0f})."


def _word(held: bool) -> str:
    return "borne out" if held else "NOT borne out"
