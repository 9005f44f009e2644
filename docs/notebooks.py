"""Turns the notebooks of the gallery into pages: text, code, printed output and pictures.

MkDocs loads this file as a hook. It runs nothing: a notebook is stored with its outputs, and
``tests/test_gallery.py`` checks that they are what the code gives.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOWNLOAD = "Download this notebook"
WIDTH = 100  # characters of a line; rows of tables, which have gaps, stay whole


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page and its pictures for every notebook."""
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        place = PurePosixPath(file.src_uri)
        text, pictures = page(Path(str(file.abs_src_path)))
        files.append(File.generated(config, str(place.with_suffix(".md")), content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, str(place.parent / name), content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to notebooks, which work in a clone, lead to their pages on the site."""
    return re.sub(rf"(?<!\[{DOWNLOAD})\]\(([\w./-]+)\.ipynb\)", r"](\1.md)", markdown)


def page(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """The notebook in Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if picture := output.get("data", {}).get("image/png"):
                name = f"{notebook.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode("".join(picture))
                parts.append(f"![What {source.splitlines()[-1].rstrip(';')} draws]({name})")
            else:
                parts.append(f"```text\n{printed(output).rstrip()}\n```")
    parts.append(f"[{DOWNLOAD}]({notebook.name})")
    return "\n\n".join(parts) + "\n", pictures


def printed(output: dict[str, Any]) -> str:
    """What a cell printed, or the value of its last line, as text; long sentences are broken."""
    text = "".join(output["text"] if "text" in output else output["data"]["text/plain"])
    return "\n".join(
        line if "  " in line else textwrap.fill(line, WIDTH) for line in text.splitlines()
    )
