"""The page says which rows do not match, shows its pictures, and loads nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chromium import Chromium
from reproduction.agreement import Reproduced
from reproduction.experiments import EXPERIMENTS
from reproduction.page import TITLE, summary, write_page
from reproduction.panels import PI_6
from shortlist.plot.figure import load_pyplot, save
from tests.reproduction.faked import faked


def test_a_row_that_is_not_matched_is_shown_as_such(tmp_path: Path) -> None:
    reproduced = faked(
        PI_6, {"LUCB largest variance": [99, 100, 101], "LinGIFA greedy": [2900, 3100]}
    )
    reproduced = replace(
        reproduced, experiment=replace(reproduced.experiment, views=EXPERIMENTS["figure-1a"].views)
    )
    page = write_page([reproduced], {"faked": []}, tmp_path, runs=3, seed=0)
    html = page.read_text(encoding="utf-8")
    assert html.count('<tr class="flagged">') == 1
    assert "a faked &lt;experiment&gt;" in html
    assert "NOT MATCHED: LUCB largest variance" in html
    assert "1 of them lie within" in html
    assert any("NOT MATCHED" in item for item in summary([reproduced]))


def reproduce_page(folder: Path) -> Path:
    """The page of an experiment of which nothing was run, with a picture ``a.png``."""
    experiment = EXPERIMENTS["complexity-constants"]
    files = {experiment.name: [folder / "a.png"]}
    return write_page([Reproduced(experiment)], files, folder, runs=1, seed=0)


def test_the_reproduce_page_has_a_content_policy(tmp_path: Path) -> None:
    page = reproduce_page(tmp_path).read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page
    assert "script-src" not in page  # none at all: the default is none


@pytest.mark.slow
def test_the_pictures_of_the_reproduce_page_are_shown(fresh: Chromium, tmp_path: Path) -> None:
    figure = load_pyplot().figure()
    save(figure, tmp_path / "a")
    hostile = '<img src="http://127.0.0.1:9/x.png"><script>document.title = "owned"</script>'
    page = reproduce_page(tmp_path)
    words = page.read_text(encoding="utf-8")
    page.write_text(words.replace("</body>", f"{hostile}</body>"), encoding="utf-8")
    fresh.open(page)
    assert fresh.run("document.images[0].naturalWidth") > 100
    assert fresh.run("document.images[1].naturalWidth") == 0
    assert fresh.run("document.title") == TITLE
