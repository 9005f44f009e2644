"""A page of headings, sentences, tables and pictures, as HTML and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from shortlist.report.policy import content_policy

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #8888; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #8884; text-align: left;
  vertical-align: top; }
th { border-bottom: 2px solid #888; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.flagged td { background: #d55e0033; }
img { max-width: 100%; height: auto; background: white; }
pre { background: #8882; padding: 0.6rem; overflow-x: auto; }
"""
# A number, perhaps with its spread, interval or unit; such cells are set right.
NUMBER = re.compile(r"[+−–\d][\d.,\s±%–−()eE+\[\];]*")


@dataclass(frozen=True)
class Heading:
    """Level 1 is the page's own."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences; plain text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list; plain text."""

    items: Sequence[str]


@dataclass(frozen=True)
class Details:
    """A list that is folded away in HTML."""

    summary: str
    items: Sequence[str]


@dataclass(frozen=True)
class Command:
    """What was typed."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture beside the page, with what it shows in words."""

    source: str
    alt: str


@dataclass(frozen=True)
class Links:
    """Files beside the page, after a word on what they are."""

    text: str
    sources: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Cells as they are to be read; flagged rows stand out."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    flagged: Sequence[bool] = ()


Block = Heading | Paragraph | Bullets | Details | Command | Picture | Links | Table


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """A page that needs nothing but its pictures.

    Examples
    --------
    >>> "<p>a &lt; b</p>" in to_html("", [Paragraph("a < b")])
    True
    """
    body = "\n".join(_html(block) for block in blocks)
    policy = content_policy(images="'self' file:")  # its pictures are files beside it
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def to_markdown(blocks: Sequence[Block]) -> str:
    """The same as Markdown.

    Examples
    --------
    >>> print(to_markdown([Heading(1, "Runs"), Bullets(["a", "b"])]))
    # Runs
    <BLANKLINE>
    - a
    - b
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"
        case Details(summary, items):
            inside = _html(Bullets(items))
            return f"<details><summary>{escape(summary)}</summary>\n{inside}\n</details>"
        case Command(text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Picture(source, alt):
            return f'<p><img src="{escape(source)}" alt="{escape(alt)}"></p>'
        case Links(text, sources):
            links = [f'<a href="{escape(source)}">{escape(source)}</a>' for source in sources]
            return f"<p>{escape(text)} {', '.join(links)}</p>"
        case Table(header, rows, flagged):
            head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
            lines = []
            for k, row in enumerate(rows):
                start = '<tr class="flagged">' if flagged and flagged[k] else "<tr>"
                lines.append(start + "".join(_cell(cell) for cell in row) + "</tr>")
            return (
                f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
                + "\n".join(lines)
                + "\n</tbody></table></div>"
            )


def _cell(text: str) -> str:
    kind = ' class="number"' if NUMBER.fullmatch(text) else ""
    return f"<td{kind}>{escape(text)}</td>"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Bullets(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Details(summary, items):
            return f"{_plain(summary)}:\n\n{_markdown(Bullets(items))}"
        case Command(text):
            return f"```console\n{text}\n```"
        case Picture(source, alt):
            return f"![{_plain(alt)}]({source})"
        case Links(text, sources):
            links = [f"[{_plain(source)}]({source})" for source in sources]
            return f"{_plain(text)} {', '.join(links)}"
        case Table(header, rows, flagged):
            lines = [[_plain(cell) for cell in header], ["---"] * len(header)]
            for k, row in enumerate(rows):
                bold = bool(flagged) and flagged[k]
                cells = [_plain(cell) for cell in row]
                lines.append([f"**{cell}**" if bold and cell else cell for cell in cells])
            return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(text: str) -> str:
    """Text whose signs mean nothing to Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)
