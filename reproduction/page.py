"""The page that sets our runs beside the published ones, as one HTML file."""

from __future__ import annotations

import datetime
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import shortlist
from reproduction.agreement import FEW, TOO_FAR, Line, Reproduced
from reproduction.claims import verdicts
from reproduction.errata import HEURISTIC, errata, settings_in_words
from reproduction.experiment import AS_PUBLISHED, Claim, Panel
from reproduction.experiments import EXPERIMENTS
from reproduction.panels import DRUGS, DRUGS_AS_PUBLISHED, OMEGA_01, PANELS, PI_6

FIGURES = {PI_6.name: "1a", OMEGA_01.name: "1b", DRUGS_AS_PUBLISHED.name: "1c"}
TITLE = "Top-m identification for linear bandits, run again"
INTRODUCTION = (
    "Réda, Kaufmann and Delahaye-Duriez, AISTATS 2021. Every row that was published is run as "
    "published, slips of the code included, and where those matter also as the paper's text says. "
    "σ = 0.5, δ = 0.05, ε = 0 unless said otherwise."
)
Z_EXPLAINED = (
    "z is the difference of the means over its standard error, (ours − published) / "
    f"sqrt(std²/runs + std_published²/500). With fewer than {FEW} runs the larger of the two "
    f"standard deviations stands for ours. Marked rows have |z| > {TOO_FAR:g}: they differ by more "
    "than chance. That is expected where the settings are not the published ones."
)
RECORDED = (
    "The recorded noise is smaller, with a standard deviation of 0.03 to 0.05: an algorithm that "
    "is told so could stop earlier."
)
# A number, perhaps with its spread, interval or unit; such cells are set right.
NUMBER = re.compile(r"[+−–\d][\d.,\s±%–−()eE+\[\];]*")


class PageTable(NamedTuple):
    """Cells as they are to be read; flagged rows stand out."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    flagged: Sequence[bool]


def write_page(
    found: list[Reproduced],
    files: dict[str, list[Path]],
    out: Path,
    *,
    runs: int,
    seed: int,
) -> Path:
    """Write ``index.html``, and return its path.

    ``files`` lists what was written for each experiment, by its name.
    """
    names = [each.experiment.name for each in found]
    now = f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    content = {
        "title": TITLE,
        "introduction": INTRODUCTION,
        "summary": summary(found),
        "made": f"Runs of each row: {runs:,}. Seed: {seed}. shortlist {shortlist.__version__}. {now}. "
        "Made by",
        "command": command(names, runs, seed, out),
        "z_explained": Z_EXPLAINED,
        "sections": [_section(each, files[each.experiment.name]) for each in found],
    }
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    templates.tests["numeric"] = lambda cell: NUMBER.fullmatch(cell) is not None
    page = out / "index.html"
    page.write_text(templates.get_template("page.html").render(content), encoding="utf-8")
    return page


def command(names: Sequence[str], runs: int, seed: int, out: Path) -> str:
    """The command that makes this page.

    Examples
    --------
    >>> command(["figure-1a"], 50, 0, Path("results"))
    'make reproduce ARGS="figure-1a --runs 50 --seed 0 --out results"'
    """
    words = ["all"] if list(names) == list(EXPERIMENTS) else list(names)
    words += ["--runs", str(runs), "--seed", str(seed), "--out", str(out)]
    return f'make reproduce ARGS="{shlex.join(words)}"'


def summary(found: list[Reproduced]) -> list[str]:
    """How far our runs agree with the published ones, in a few sentences."""
    items = []
    known = sum(len(panel.of(AS_PUBLISHED)) for panel in PANELS if panel.counted)
    lines = {  # each once, however many experiments show it
        f"{line.row.label}, {panel.title}": line
        for each in found
        for panel in each.experiment.panels
        if panel.counted
        for line in each.lines.get(panel.name, ())
        if line.row.kind == AS_PUBLISHED and math.isfinite(line.z)
    }
    if lines:
        far = {name: line for name, line in lines.items() if line.too_far}
        worst = max(lines, key=lambda name: abs(lines[name].z))
        items.append(
            f"{len(lines)} of the {known} published rows were run with the published settings. "
            f"{len(lines) - len(far)} of them lie within |z| ≤ {TOO_FAR:g}. Largest: "
            f"|z| = {abs(lines[worst].z):.2f} ({worst})."
        )
        items += [f"NOT MATCHED: {name}. {line.remark()}" for name, line in far.items()]
    for each in found:
        if each.cells:
            cells = sum(row.agrees for row in each.cells)
            items.append(
                f"Table of random instances: {cells} of {len(each.cells)} cells agree with the "
                "published counts (Fisher's exact test)."
            )
        if each.constants:
            agree = [row.agrees for row in each.constants if row.agrees is not None]
            items.append(f"Constants: {sum(agree)} of {len(agree)} agree to the printed digits.")
        for name, reason in each.unavailable.items():
            items.append(f"NOT RUN: {name} of {each.experiment.name}. {reason}")
    return items


def _section(reproduced: Reproduced, files: list[Path]) -> dict[str, Any]:
    """What the page says of an experiment; ``files`` are what was written."""
    experiment = reproduced.experiment
    run = [panel for panel in experiment.panels if panel.name in reproduced.panels]
    panels, tables = [], []
    if experiment.cells:
        tables.append(_cells(reproduced))
    elif reproduced.constants:
        tables.append(_constants(reproduced))
    elif not experiment.views:
        tables.append(_errors(reproduced))
    else:
        panels = [_panel(panel, reproduced) for panel in run]
    return {
        "title": experiment.title,
        "notes": experiment.notes,
        "not_run": [
            f"NOT RUN: {panel.title}. {reproduced.unavailable[panel.name]}"
            for panel in experiment.panels
            if panel.name in reproduced.unavailable
        ],
        "files": [path.name for path in files],
        "tables": tables,
        "panels": panels,
        "drugs": _drugs(reproduced) if DRUGS.name in reproduced.panels else None,
        "claims": [_claim(claim, reproduced) for claim in experiment.claims],
    }


def _claim(claim: Claim, reproduced: Reproduced) -> tuple[str, list[str]]:
    found = verdicts(claim, reproduced) or ["Not run."]
    sentence = f"The paper says, in short: {claim.text} Read as: {claim.reading}."
    return sentence, [*found, claim.note] if claim.note else found


def _panel(panel: Panel, reproduced: Reproduced) -> dict[str, Any]:
    lines = reproduced.lines[panel.name]
    sigma = float(reproduced.panels[panel.name].instance.sigma)
    header = [
        *("Algorithm", "Settings", "Published: mean ± std", "Ours: mean ± std", "z"),
        *("Error, published", "Error, ours [95 %]", "Mean / lower bound", "Remark"),
    ]
    sentences = dict.fromkeys(each.sentence for row in panel.rows for each in errata(row))
    if any(row.threshold == "heuristic" for row in panel.rows):
        sentences[HEURISTIC] = None
    bound, sentence = lines[0].lower_bound, ""
    if math.isfinite(bound):
        sentence = (
            f"Lower bound: with normal noise of σ = {sigma:g}, any algorithm that errs with "
            f"probability δ at most needs kl(δ, 1 − δ)·T* = {bound:,.1f} samples on average."
        )
        if panel.name in (DRUGS.name, DRUGS_AS_PUBLISHED.name):
            sentence += f" {RECORDED}"
    return {
        "title": panel.title,
        "bound": sentence,
        "table": PageTable(
            header, [_row(line) for line in lines], [line.too_far for line in lines]
        ),
        "errata": list(sentences),
        "settings": [f"{row.title}: {settings_in_words(row)}." for row in panel.rows],
    }


def _row(line: Line) -> list[str]:
    published = line.row.published
    runs = "" if line.row.share == 1.0 else f" ({line.runs} runs)"
    return [
        line.row.label,
        line.row.kind,
        "–" if published is None else _spread(published.mean, published.std),
        _spread(line.mean, line.std) + runs,
        number(line.z, "+.2f"),
        "–" if published is None else f"{published.error:.3f}",
        _interval(line.errors, line.error_low, line.error_high),
        number(line.ratio, ".2f" if line.ratio < 100.0 else ",.0f"),
        line.remark(),
    ]


def _errors(reproduced: Reproduced) -> PageTable:
    """Error rates: a row of algorithm and settings, two columns per panel."""
    names = [panel.name for panel in reproduced.experiment.panels]
    found = {
        (line.row.label, line.row.kind, name): line
        for name in names
        for line in reproduced.lines.get(name, ())
        if line.row.published is not None
    }

    def cells(label: str, kind: str) -> Iterator[str]:
        for name in names:
            line = found.get((label, kind, name))
            published = None if line is None else line.row.published
            yield "–" if published is None else f"{published.error:.3f}"
            yield "–" if line is None else _interval(line.errors, line.error_low, line.error_high)

    header = ["Algorithm", "Settings"]
    for name in names:
        header += [f"({FIGURES[name]}) published", f"({FIGURES[name]}) ours [95 %]"]
    rows = dict.fromkeys((label, kind) for label, kind, _ in found)
    return PageTable(header, [[*row, *cells(*row)] for row in rows], [False] * len(rows))


def _cells(reproduced: Reproduced) -> PageTable:
    header = ["K", "m", "N", "D", "Printed", "Published", "Ours", "Ours [95 %]", "p", "Agrees"]
    rows = [
        [
            *(str(cell.K), str(cell.m), str(cell.N), f"{cell.D:g}"),
            "–" if cell.printed is None else f"{cell.printed:.1f} %",
            f"{cell.count} of {cell.of:,}",
            f"{row.holds} of {row.instances:,}",
            _interval(row.holds / row.instances, row.low, row.high),
            f"{row.p:.3f}",
            "yes" if row.agrees else "NO",
        ]
        for row in reproduced.cells
        for cell in [row.cell]
    ]
    return PageTable(header, rows, [not row.agrees for row in reproduced.cells])


def _constants(reproduced: Reproduced) -> PageTable:
    words = {True: "yes", False: "NO", None: "not printed"}
    header = ["m", "Constant", "Printed", "Ours", "Agrees with the print"]
    rows = [
        [str(row.m), row.name, row.printed or "–", f"{row.ours:,.5f}", words[row.agrees]]
        for row in reproduced.constants
    ]
    return PageTable(header, rows, [row.agrees is False for row in reproduced.constants])


def _drugs(reproduced: Reproduced) -> dict[str, Any]:
    """The drugs that were recommended, by name, and how often."""
    own, other = reproduced.panels[DRUGS.name], reproduced.panels[DRUGS_AS_PUBLISHED.name]
    names = own.instance.names
    columns = []
    for results in (own, other):
        counts = Counter(name for each in results.frame["recommendation"] for name in each)
        shares = [100 * counts[name] / len(results.frame) for name in names]
        columns += [[f"{mean:.3f}" for mean in results.instance.means]]
        columns += [[f"{share:.1f} %" for share in shares]]
    rows = list(zip(names, *columns, strict=True))
    order = sorted(range(len(names)), key=lambda arm: -own.instance.means[arm])
    header = ["Drug", "Mean of its rewards", "Recommended", "Mean, columns as published"]
    answers = Counter(tuple(sorted(each)) for each in own.frame["recommendation"])
    best, times = answers.most_common(1)[0]
    return {
        "sentence": f"The most frequent answer with each drug's own rewards: {', '.join(best)} "
        f"({times:,} of {len(own.frame):,} runs, all rows together).",
        "table": PageTable(
            [*header, "Recommended there"], [rows[arm] for arm in order], [False] * len(rows)
        ),
    }


def number(value: float, form: str) -> str:
    """A number with a minus sign; a dash where it is not finite.

    Examples
    --------
    >>> number(-0.5, "+.2f"), number(math.nan, ".2f")
    ('−0.50', '–')
    """
    return f"{value:{form}}".replace("-", "−") if math.isfinite(value) else "–"


def _spread(mean: float, std: float) -> str:
    return f"{number(mean, ',.1f')} ± {number(std, ',.1f')}"


def _interval(share: float, low: float, high: float) -> str:
    return f"{share:.3f} [{low:.3f}; {high:.3f}]"
