"""The notebooks of the gallery: executed, and compared with the outputs that are stored."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))


COMPILING = "shortlist: compiling for this machine: once only, some seconds\n"


def outputs(notebook: Any) -> list[str]:
    """What every cell printed; a picture counts as such, since its bytes depend on the fonts.

    What one cell prints may come in several parts, and compiling is announced where it is slow.
    """
    return [
        "".join(
            "picture"
            if "image/png" in output.get("data", {})
            else "".join(output.get("text") or output["data"]["text/plain"])
            for output in cell["outputs"]
        ).replace(COMPILING, "")
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_it_shows(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    shown = outputs(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    assert outputs(notebook) == shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_its_outputs_and_no_error(path: Path) -> None:
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(output["output_type"] != "error" for cell in code for output in cell["outputs"])
    assert path.stat().st_size < 500_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_can_be_found(path: Path) -> None:
    root = GALLERY.parents[1]
    assert f"gallery/{path.stem}.md" in (root / "mkdocs.yml").read_text()
    assert f"]({path.stem}.md)" in (GALLERY / "index.md").read_text()
    assert f"](docs/gallery/{path.name})" in (root / "README.md").read_text()


def test_a_page_breaks_long_sentences_and_keeps_rows_of_tables_whole() -> None:
    pytest.importorskip("mkdocs")
    path = GALLERY.parent / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    assert spec is not None
    assert spec.loader is not None
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    sentence, row = 40 * "word " + "end.", 40 * "1.0   "
    lines = notebooks.printed({"text": [f"{sentence}\n", f"{row}\n"]}).splitlines()
    assert lines[-1] == row
    assert " ".join(lines[:-1]) == sentence
    assert max(map(len, lines[:-1])) <= 100


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 4
