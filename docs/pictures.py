"""Draw the pictures of the README's own examples again: ``python docs/pictures.py``.

It runs the README's code, so that a picture shows what the text beside it describes.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import matplotlib as mpl

import shortlist

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


STUDY = ("intervals", "shrinking", "stopping", "pulls", "plane")


def main() -> None:
    """Run the README's first study and its comparison, and draw them."""
    mpl.use("Agg")
    text = (ROOT / "README.md").read_text()
    first, *others = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    compared = next(block for block in others if "plot.samples" in block)
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        exec(first, names)  # noqa: S102
        exec(compared, names)  # noqa: S102
    for picture in STUDY:
        drawn = getattr(shortlist.plot, picture)(names["study"])
        drawn.savefig(IMAGES / f"{picture}.png")
    shortlist.plot.samples(names["results"]).savefig(IMAGES / "samples.png")


if __name__ == "__main__":
    main()
