"""Text that is safe to print: control characters are shown, not sent to the terminal."""

from __future__ import annotations

import re

# C0 without line feed and tab, DEL, C1; marks that change the direction of text; surrogates.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object) -> str:
    r"""The text with its control characters written as escapes.

    A name may come from a file, and a terminal obeys what it is sent: an escape sequence can hide
    text, or change the title of the window.

    Examples
    --------
    >>> printable("\x1b[31mC07")
    '\\x1b[31mC07'
    """
    return CONTROL.sub(_escaped, str(text))


def on_one_line(text: object) -> str:
    r"""The text on one line, such as a name in a table: line ends and tabs are escapes too.

    Examples
    --------
    >>> on_one_line("C07\n8")
    'C07\\n8'
    """
    escapes = {"\n": "\\n", "\t": "\\t", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    return re.sub("[\n\t\u2028\u2029]", lambda found: escapes[found[0]], printable(text))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
