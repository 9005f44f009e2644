"""The site: every page is in the navigation, and no formula of the sources is lost in the HTML."""

from __future__ import annotations

import html
import json
import logging
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from chromium import Chromium
from once import once

mkdocs_build = pytest.importorskip("mkdocs.commands.build")
mkdocs_config = pytest.importorskip("mkdocs.config")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")])
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$(?!\s)([^$\n]+?)(?<!\s)\$", flags=re.S)


@pytest.fixture(scope="session")
def site() -> Path:
    """The site, built by the first process of the tests that wants it."""
    return once("site", build)


def build(target: Path) -> None:
    """Build as `mkdocs build --strict` does; a warning is an error."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    try:
        config = mkdocs_config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(target))
        mkdocs_build.build(config)
    finally:
        logger.removeHandler(handler)
    assert warnings == []


def prose(page: Path) -> str:
    """The text of a page without its code: there a dollar sign begins no formula."""
    text = page.read_text()
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]+`", "", text)


def formulas(page: Path) -> Counter[str]:
    """The formulas of a page, spaces aside."""
    found = (display or inline for display, inline in FORMULA.findall(prose(page)))
    return Counter("".join(formula.split()) for formula in found)


def shown(page: Path, site: Path) -> str:
    """The HTML of a page."""
    return (site / page.relative_to(DOCS)).with_suffix(".html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_formula_of_a_page_is_lost(page: Path, site: Path) -> None:
    marked = re.findall(
        r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', shown(page, site), flags=re.S
    )
    drawn = Counter("".join(html.unescape(formula).split()) for _, formula in marked)
    assert drawn == formulas(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_shows_no_markup_of_other_languages(page: Path, site: Path) -> None:
    text = re.sub(r"<pre.*?</pre>|<code.*?</code>", "", shown(page, site), flags=re.S)
    assert re.findall(r":(?:meth|class|func|attr|mod):", shown(page, site)) == []
    assert (
        re.findall(r'style="[^"]*⁻|\{[.#:][^}\n]*⁻', text) == []
    )  # a formula taken for attributes


@pytest.mark.slow
def test_katex_draws_every_formula(fresh: Chromium, tmp_path: Path) -> None:
    every = sorted({formula for page in PAGES for formula in sources(page)})
    assert len(every) > 100
    page = tmp_path / "formulas.html"
    script = (DOCS / "vendor" / "katex" / "katex.min.js").as_uri()
    page.write_text(
        f"<script src='{script}'></script><script>"
        f"window.wrong = []; for (const formula of {json.dumps(every)}) "
        "try { katex.renderToString(formula, {strict: 'error', displayMode: true}); } "
        "catch (error) { wrong.push(formula + ': ' + error.message); }</script>"
    )
    fresh.open(page, settle=False)
    assert fresh.run("window.wrong") == []


def sources(page: Path) -> list[str]:
    """The formulas of a page as they are written."""
    return [display or inline for display, inline in FORMULA.findall(prose(page))]


@pytest.mark.slow
def test_the_site_asks_nothing_of_the_network(site: Path) -> None:
    for file in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', file.read_text()
        )
        assert loaded == [], file.name


@pytest.mark.slow
def test_the_search_finds_pages_by_their_words(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    for word, page in {"sub-Gaussian": "noise.html", "OCBA-m": "fixed-budget.html"}.items():
        assert any(
            word in entry["text"] and entry["location"].startswith(page) for entry in index["docs"]
        )


def test_every_page_is_in_the_navigation() -> None:
    class Loader(yaml.SafeLoader):
        """Takes the tags of mkdocs.yml for text."""

    Loader.add_multi_constructor("", lambda loader, suffix, node: None)
    navigation = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=Loader)["nav"]
    listed = {
        page
        for section in navigation
        for pages in section.values()
        for entry in pages
        for page in entry.values()
    }
    assert listed == {str(page.relative_to(DOCS).with_suffix(".md")) for page in PAGES}
    assert [name for section in navigation for name in section] == [
        "Start",
        "Guides",
        "Gallery",
        "Algorithms and proofs",
        "Reference",
        "Measurements",
        "About",
    ]


def test_every_public_name_is_in_the_reference() -> None:
    import shortlist

    overview = (DOCS / "reference" / "index.md").read_text()
    assert [name for name in shortlist.__all__ if f"`{name}`" not in overview] == []


@pytest.mark.slow
def test_descriptions_of_parameters_have_room(site: Path, fresh: Chromium) -> None:
    fresh.screen(1280, 900)
    for page in sorted((site / "reference").glob("*.html")):
        fresh.open(page, settle=False)
        narrow = fresh.run(
            "[...document.querySelectorAll('article li, article td')]"
            ".filter(e => e.innerText.length > 60 && e.clientWidth < 200).length"
        )
        assert narrow == 0, page.name
        assert fresh.run("document.documentElement.scrollHeight") < 25_000, page.name


def test_versions_agree() -> None:
    import shortlist

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == shortlist.__version__
    assert f"## [{shortlist.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
