"""Text for people that is safe to print, and values as JSON has them.

Control characters are shown, not sent to the terminal.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any

NAME_WIDTH = 36  # letters of a name before its middle is left out
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


def cut(name: str, width: int = NAME_WIDTH) -> str:
    r"""A name on one line, with an ellipsis in place of its middle if it is long.

    Examples
    --------
    >>> cut("a name\nof two lines"), cut("N-acetyl-5-methoxytryptamine, batch 17 of May")
    ('a name of two lines', 'N-acetyl-5-methoxy…, batch 17 of May')
    """
    line = printable(" ".join(name.split()))
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in line)
    width = width * len(line) // max(len(line) + wide, 1)  # a Chinese character is two wide
    if len(line) <= width:
        return line
    return f"{line[: width // 2]}…{line[len(line) - (width - 1) // 2 :]}"


def count(number: int, what: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> count(1, "result"), count(1200, "trial")
    ('1 result', '1,200 trials')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_figures(number: float) -> str:
    """Four digits of a number; from a thousand on a whole number, with separators.

    Examples
    --------
    >>> in_figures(21234.5), in_figures(0.123456), in_figures(350.0)
    ('21,234', '0.1235', '350')
    """
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e15 else f"{number:.4g}"


def rounded_up(number: float, digits: int = 2) -> float:
    """The next number of so many significant digits.

    Examples
    --------
    >>> rounded_up(0.07729), rounded_up(12.0), rounded_up(0.1), rounded_up(0.0)
    (0.078, 12.0, 0.1, 0.0)
    >>> rounded_up(1 / 3, 6)
    0.333334
    """
    exact = Decimal(repr(float(number)))
    if not exact:
        return 0.0
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float(exact.quantize(step, ROUND_CEILING))


def slack_words(epsilon: float) -> str:
    """ε as it is claimed: no smaller than it is.

    Examples
    --------
    >>> slack_words(0.1), slack_words(1 / 3)
    ('0.1', '0.333334')
    """
    return f"{rounded_up(epsilon, 6):g}"


def first_names(names: Iterable[object], most: int = 5) -> str:
    """The first of many names, and an ellipsis for the rest."""
    names = list(names)
    return ", ".join(map(on_one_line, names[:most])) + (" …" if len(names) > most else "")


def quoted(names: Iterable[object], most: int = 20) -> str:
    """Names in quotes, since a name may contain a comma; the first of them if there are many.

    Examples
    --------
    >>> quoted(["screen", "screen, without features"])
    "'screen', 'screen, without features'"
    """
    return first_names(map(repr, names), most)


def iso(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC.

    Examples
    --------
    >>> iso(1e9)
    '2001-09-09T01:46:40+00:00'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def plain(value: Any) -> Any:
    """The value as JSON has it; numbers that are not finite become null.

    Examples
    --------
    >>> plain({"statistic": float("nan"), "names": ("a", "b")})
    {'statistic': None, 'names': ['a', 'b']}
    """
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
