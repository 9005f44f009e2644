"""HTML made of elements; whatever is not markup already is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

# Signs that no HTML page may hold, or that UTF-8 cannot write.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
VOID = frozenset({"input", "meta"})


class Markup(str):
    """Text that is HTML already; made by ``text`` and ``element`` only."""

    __slots__ = ()


def printable(words: object) -> str:
    """Words without control signs and lone surrogates, which become �."""
    return _FORBIDDEN.sub("\ufffd", str(words))


def text(words: object) -> Markup:
    """Any words, inert between tags and within a quoted attribute; markup is left as it is.

    Examples
    --------
    >>> text("<img src=x onerror=alert(1)>")
    '&lt;img src=x onerror=alert(1)&gt;'
    >>> text(element("b", "a & b"))
    '<b>a &amp; b</b>'
    """
    return words if isinstance(words, Markup) else Markup(escape(printable(words)))


def element(tag: str, /, *inside: object, **attributes: object) -> Markup:
    """An element with its attributes and what is inside it.

    Parameters
    ----------
    tag : str
        Never from outside.
    *inside
        Markup, or words to be escaped.
    **attributes
        Their names with _ for -, a last _ being left out (``class_``). None and False leave an
        attribute out; True gives its bare name. Their values are escaped.

    Examples
    --------
    >>> element("p", "a < b", class_="note", aria_label='"')
    '<p class="note" aria-label="&quot;">a &lt; b</p>'
    """
    opening = [tag]
    for key, value in attributes.items():
        word = key.removesuffix("_").replace("_", "-")
        if value is True:
            opening.append(word)
        elif value is not None and value is not False:
            opening.append(f'{word}="{text(str(value))}"')
    start = f"<{' '.join(opening)}>"
    return Markup(start if tag in VOID else f"{start}{joined(inside)}</{tag}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after the other."""
    return Markup(text(between).join(text(part) for part in parts))


def name_of(arm: object) -> Markup:
    """A name from outside; signs that turn the reading direction end with it."""
    return element("bdi", arm)
