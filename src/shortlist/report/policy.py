"""The content policy of the pages that the package writes."""

from __future__ import annotations

import base64
import hashlib


def content_policy(*, script: str = "", images: str = "data:") -> str:
    """Nothing from outside, and no script but the given one.

    Parameters
    ----------
    script : str
        The page's own; none by default.
    images : str
        Where pictures may come from.

    Examples
    --------
    >>> content_policy()
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src {images}; "
        "base-uri 'none'; form-action 'none'"
    )
