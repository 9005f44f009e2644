"""Templates rendered as pages that load nothing from outside and escape every name."""

from __future__ import annotations

import base64
import hashlib
import re

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

# Characters that no HTML page may hold, or that UTF-8 cannot encode.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def displayable(words: object) -> str:
    r"""The words with control characters and lone surrogates replaced by �.

    Examples
    --------
    >>> displayable("C07\x1b")
    'C07�'
    """
    return _FORBIDDEN.sub("\ufffd", str(words))


def commands(words: str) -> Markup:
    """The words, escaped, with what is in backticks as code.

    Examples
    --------
    >>> print(commands("<b> by `shortlist why screen.db 3`"))
    &lt;b&gt; by <code>shortlist why screen.db 3</code>
    """
    parts = [escape(displayable(part)) for part in str(words).split("`")]
    if len(parts) % 2 == 0:  # one backtick is alone, such as that of a name
        return Markup("`").join(parts)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(p) if k % 2 else p for k, p in enumerate(parts))


def environment(*packages: str) -> Environment:
    """The HTML templates of packages: what they print is made displayable and escaped.

    Examples
    --------
    >>> templates = environment("shortlist.report")
    >>> templates.from_string("<p>{{ name }}</p>").render(name="<img src=x onerror=alert(1)>")
    '<p>&lt;img src=x onerror=alert(1)&gt;</p>'
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else displayable(value),
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["commands"] = commands
    return made


def content_policy(*, script: str = "") -> str:
    """A policy that allows nothing from outside: no script but the given one.

    Examples
    --------
    >>> content_policy()
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
