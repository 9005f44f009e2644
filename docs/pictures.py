"""Draw the pictures of the README's own examples again: ``python docs/pictures.py``.

It runs the README's code, so that a picture shows what the text beside it describes. The live page
and the report are opened in Chromium, which must be installed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

import shortlist

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


STUDY = ("answer", "intervals", "shrinking", "stopping", "pulls", "plane")


def main() -> None:
    """Run the README's first study and its comparison, and the gallery's study, and draw them."""
    mpl.use("Agg")
    text = (ROOT / "README.md").read_text()
    first, *others = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    compared = next(block for block in others if "plot.samples" in block)
    gallery = (ROOT / "docs" / "gallery" / "index.md").read_text()
    [shown, *_] = re.findall(r"^```python\n(.*?)^```", gallery, flags=re.M | re.S)
    names: dict[str, Any] = {}
    in_gallery: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        exec(first, names)  # noqa: S102
        exec(compared, names)  # noqa: S102
        exec(shown, in_gallery)  # noqa: S102
    shortlist.plot.answer(names["study"], caption=False).savefig(IMAGES / "models.png")
    for picture in STUDY:
        drawn = getattr(shortlist.plot, picture)(in_gallery["study"])
        drawn.savefig(IMAGES / f"{picture}.png")
    shortlist.plot.samples(names["results"]).savefig(IMAGES / "samples.png")
    picture_live_page()
    picture_report()


def picture_report() -> None:
    """The top of the report that docs/reports.md writes."""
    sys.path.insert(0, str(ROOT / "tests"))
    from chromium import Chromium

    text = (ROOT / "docs" / "reports.md").read_text()
    [written, *_] = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        exec(written, {})  # noqa: S102
        with Chromium(Path("profile").resolve()) as browser:
            browser.screen(1000, 1000)
            browser.open(Path("report.html").resolve())
            browser.picture(IMAGES / "report.png", whole=False)


def picture_live_page() -> None:
    """The live page of a running study, light and dark, side by side."""
    import matplotlib.pyplot as pyplot

    sys.path.insert(0, str(ROOT / "tests"))
    from chromium import Chromium
    from served import TOKEN, server_of

    rng = np.random.default_rng(4)
    features = pd.DataFrame(rng.normal(size=(40, 6)), [f"compound {k:02}" for k in range(40)])
    means = features.to_numpy() @ rng.normal(size=6) / 3
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "screen.db"
        study = shortlist.Study(
            features, m=5, sigma=0.5, epsilon=0.05, seed=0, storage=place, name="kinase screen"
        )
        for _ in range(20):
            plate = study.ask(8)
            study.tell_many((trial, means[trial.arm] + 0.5 * rng.normal()) for trial in plate)
        study.ask(8)
        with server_of(place) as address, Chromium(Path(folder) / "profile") as browser:
            for dark in (False, True):
                browser.screen(720, 1180, dark=dark)
                browser.open(f"{address}/{TOKEN}/")
                shot = browser.picture(Path(folder) / "page.png", whole=False)
                seen.append(pyplot.imread(shot))
    pyplot.imsave(IMAGES / "serve.png", np.hstack(seen))


if __name__ == "__main__":
    main()
