"""The section of the page that an experiment gets."""

from __future__ import annotations

import math
from collections import Counter

from shortlist.paper.claims import verdicts
from shortlist.paper.document import (
    Block,
    Bullets,
    Details,
    Heading,
    Links,
    Paragraph,
    Picture,
    Table,
)
from shortlist.paper.experiment import AS_PUBLISHED, Experiment, Panel
from shortlist.paper.outcome import Line, Outcome
from shortlist.paper.panels import DRUGS, DRUGS_AS_PUBLISHED, OMEGA_01, PI_6
from shortlist.paper.settings import HEURISTIC, errata, settings_in_words

FIGURES = {PI_6.name: "1a", OMEGA_01.name: "1b", DRUGS_AS_PUBLISHED.name: "1c"}

RECORDED = (
    "The recorded noise is smaller, with a standard deviation of 0.03 to 0.05: an algorithm that is "
    "told so could stop earlier."
)


def section(outcome: Outcome, files: list[str]) -> list[Block]:
    """Title, notes, picture, tables, claims; ``files`` holds the names of what was written."""
    experiment = outcome.experiment
    blocks: list[Block] = [Heading(2, experiment.title)]
    if experiment.notes:
        blocks.append(Bullets(experiment.notes))
    for panel in experiment.panels:
        if panel.name in outcome.unavailable:
            blocks.append(Paragraph(f"NOT RUN: {panel.title}. {outcome.unavailable[panel.name]}"))
    blocks += [Picture(name, experiment.title) for name in files if name.endswith(".png")]
    if files:
        blocks.append(Links("Files:", files))
    if experiment.cells:
        blocks.append(_cells(outcome))
    elif outcome.constants:
        blocks.append(_constants(outcome))
    elif not experiment.views:
        blocks.append(_error_table(outcome))
    else:
        for panel in experiment.panels:
            if panel.name in outcome.panels:
                blocks += _panel(panel, outcome)
    if DRUGS.name in outcome.panels:
        blocks += _drugs(outcome)
    return blocks + _claims(experiment, outcome)


def _panel(panel: Panel, outcome: Outcome) -> list[Block]:
    lines = outcome.lines[panel.name]
    bound = lines[0].lower_bound
    sigma = float(outcome.panels[panel.name].results.instance.sigma)
    blocks: list[Block] = [Heading(3, panel.title)]
    if math.isfinite(bound):
        sentence = (
            f"Lower bound: with normal noise of σ = {sigma:g}, any algorithm that errs with "
            f"probability δ at most needs kl(δ, 1 − δ)·T* = {bound:,.1f} samples on average."
        )
        recorded = panel.name in (DRUGS.name, DRUGS_AS_PUBLISHED.name)
        blocks.append(Paragraph(f"{sentence} {RECORDED}" if recorded else sentence))
    header = [
        "Algorithm",
        "Settings",
        "Published: mean ± std",
        "Ours: mean ± std",
        "z",
        "Error, published",
        "Error, ours [95 %]",
        "Mean / lower bound",
        "Remark",
    ]
    blocks.append(Table(header, [_row(line) for line in lines], [line.too_far for line in lines]))
    sentences = dict.fromkeys(each.sentence for row in panel.rows for each in errata(row))
    if any(row.threshold == "heuristic" for row in panel.rows):
        sentences[HEURISTIC] = None
    settings = [f"{row.title}: {settings_in_words(row, sigma)}." for row in panel.rows]
    blocks.append(Paragraph("Where the published runs depart from the text, and why it matters:"))
    blocks.append(Bullets(list(sentences)))
    return [*blocks, Details("The settings of every row", settings)]


def _row(line: Line) -> list[str]:
    published = line.row.published
    runs = "" if line.row.share == 1.0 else f" ({line.runs} runs)"
    return [
        line.row.label,
        line.row.kind,
        "–" if published is None else spread(published.mean, published.std),
        spread(line.mean, line.std) + runs,
        number(line.z, "+.2f"),
        "–" if published is None else f"{published.error:.3f}",
        _interval(line),
        number(line.ratio, ".2f" if line.ratio < 100.0 else ",.0f"),
        line.remark(),
    ]


def _error_table(outcome: Outcome) -> Table:
    names = [panel.name for panel in outcome.experiment.panels]
    found = {
        (line.row.label, line.row.kind, name): line
        for name in names
        for line in outcome.lines.get(name, ())
        if line.row.published is not None
    }
    header = ["Algorithm", "Settings"]
    for name in names:
        header += [f"({FIGURES[name]}) published", f"({FIGURES[name]}) ours [95 %]"]
    rows = []
    for label, kind in dict.fromkeys((label, kind) for label, kind, _ in found):
        row = [label, kind]
        for name in names:
            line = found.get((label, kind, name))
            known = line is not None and line.row.published is not None
            row.append(f"{line.row.published.error:.3f}" if known else "–")  # type: ignore[union-attr]
            row.append("–" if line is None else _interval(line))
        rows.append(row)
    return Table(header, rows)


def _cells(outcome: Outcome) -> Table:
    rows = []
    for row in outcome.cells:
        cell, share = row.cell, row.holds / row.instances
        rows.append(
            [
                str(cell.K),
                str(cell.m),
                str(cell.N),
                f"{cell.D:g}",
                "–" if cell.printed is None else f"{cell.printed:.1f} %",
                f"{cell.count} of {cell.of:,}",
                f"{row.holds} of {row.instances:,}",
                f"{share:.3f} [{row.low:.3f}; {row.high:.3f}]",
                f"{row.p:.3f}",
                "yes" if row.agrees else "NO",
            ]
        )
    header = ["K", "m", "N", "D", "Printed", "Published", "Ours", "Ours [95 %]", "p", "Agrees"]
    return Table(header, rows, [not row.agrees for row in outcome.cells])


def _constants(outcome: Outcome) -> Table:
    words = {True: "yes", False: "NO", None: "not printed"}
    rows = [
        [str(row.m), row.name, row.printed or "–", f"{row.ours:,.5f}", words[row.agrees]]
        for row in outcome.constants
    ]
    header = ["m", "Constant", "Printed", "Ours", "Agrees with the print"]
    return Table(header, rows, [row.agrees is False for row in outcome.constants])


def _drugs(outcome: Outcome) -> list[Block]:
    """Which drugs were recommended, by name."""
    own = outcome.panels[DRUGS.name].results
    other = outcome.panels[DRUGS_AS_PUBLISHED.name].results
    shares = []
    for results in (own, other):
        counts = Counter(name for names in results.frame["recommendation"] for name in names)
        shares.append({name: counts[name] / len(results.frame) for name in own.instance.names})
    order = sorted(range(len(own.instance.names)), key=lambda a: -own.instance.means[a])
    rows = [
        [
            own.instance.names[a],
            f"{own.instance.means[a]:.3f}",
            f"{100 * shares[0][own.instance.names[a]]:.1f} %",
            f"{other.instance.means[a]:.3f}",
            f"{100 * shares[1][own.instance.names[a]]:.1f} %",
        ]
        for a in order
    ]
    answers = Counter(tuple(sorted(names)) for names in own.frame["recommendation"])
    best, times = answers.most_common(1)[0]
    header = ["Drug", "Mean of its rewards", "Recommended", "Mean, columns as published"]
    return [
        Heading(3, "The shortlist, by name"),
        Paragraph(
            f"The most frequent answer with each drug's own rewards: {', '.join(best)} "
            f"({times:,} of {len(own.frame):,} runs, all rows together)."
        ),
        Table([*header, "Recommended there"], rows),
    ]


def _claims(experiment: Experiment, outcome: Outcome) -> list[Block]:
    blocks: list[Block] = [Heading(3, "What the paper says of it")]
    for claim in experiment.claims:
        found = verdicts(claim, outcome) or ["Not run."]
        blocks.append(
            Paragraph(f"The paper says, in short: {claim.text} Read as: {claim.reading}.")
        )
        blocks.append(Bullets([*found, claim.note] if claim.note else found))
    return blocks


def spread(mean: float, std: float) -> str:
    """A mean with its standard deviation."""
    return f"{number(mean, ',.1f')} ± {number(std, ',.1f')}"


def number(value: float, form: str) -> str:
    """A number, or a dash where there is none.

    Examples
    --------
    >>> number(2.0, ".1f"), number(math.nan, ".1f")
    ('2.0', '–')
    """
    return format(value, form).replace("-", "−") if math.isfinite(value) else "–"


def _interval(line: Line) -> str:
    return f"{line.errors:.3f} [{line.error_low:.3f}; {line.error_high:.3f}]"


def published_lines(outcomes: list[Outcome]) -> dict[str, Line]:
    """The published rows that were run with the published settings, each once."""
    return {
        f"{line.row.label}, {panel.title}": line
        for outcome in outcomes
        for panel in outcome.experiment.panels
        if panel.counted
        for line in outcome.lines.get(panel.name, ())
        if line.row.kind == AS_PUBLISHED
    }
