"""The notebooks of the gallery: executed, and compared with the outputs that are stored."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import pytest
from matplotlib.figure import Figure

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))


def outputs(notebook: Any) -> list[str]:
    """What every cell printed; a picture counts as such, since its bytes depend on the fonts.

    What one cell prints may come in several parts.
    """
    return [
        "".join(
            "picture"
            if "image/png" in output.get("data", {})
            else "".join(output.get("text") or output["data"]["text/plain"])
            for output in cell["outputs"]
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def executed(notebook: Any) -> list[str]:
    """The same, of cells that are executed here: a kernel takes seconds to start."""
    found, names = [], {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines, last = ast.parse(cell["source"]).body, None
        if isinstance(lines[-1], ast.Expr):
            last = ast.Expression(lines.pop().value)  # type: ignore[attr-defined]
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            exec(compile(ast.Module(lines, []), "cell", "exec"), names)
            value = None if last is None else eval(compile(last, "cell", "eval"), names)
        shown = "" if value is None else "picture" if isinstance(value, Figure) else repr(value)
        found.append(printed.getvalue() + shown)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    try:
        assert executed(notebook) == outputs(notebook)
    finally:
        pyplot.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_in_a_kernel(tmp_path: Path) -> None:
    notebook = nbformat.read(GALLERY / "optuna.ipynb", as_version=4)
    shown = outputs(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    assert outputs(notebook) == shown


def test_an_old_output_is_found() -> None:
    cells = [nbformat.v4.new_code_cell("print(1 + 1)\n2"), nbformat.v4.new_code_cell("x = 1")]
    assert executed(nbformat.v4.new_notebook(cells=cells)) == ["2\n2", ""]


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
    assert f"]({path.name})" in (GALLERY / "index.md").read_text()
    assert f"](docs/gallery/{path.name})" in (root / "README.md").read_text()


def test_links_lead_to_files_in_a_clone_and_to_pages_on_the_site() -> None:
    pytest.importorskip("mkdocs")
    path = GALLERY.parent / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for page in (*GALLERY.parent.rglob("*.md"), *GALLERY.glob("*.ipynb")):
        links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page
    index = made.on_page_markdown((GALLERY / "index.md").read_text())
    for notebook in NOTEBOOKS:
        assert f"]({notebook.stem}.md)" in index
        assert f"]({notebook.name})" in made.on_page_markdown(made.page(notebook)[0])


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
