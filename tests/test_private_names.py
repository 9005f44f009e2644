"""No private name of a dependency is used in the sources."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist

PACKAGE = Path(shortlist.__file__).parent
# Modules and names within public packages that their documentation does not name.
UNDOCUMENTED = ("numba.core", "numba.experimental", "numba.np", "psycopg.pq")
OWN = {"shortlist", "__future__", *sys.stdlib_module_names}


def private_names(source: str) -> Iterator[str]:
    """The private names of dependencies that a file imports, reads or is called with."""
    tree = ast.parse(source)
    modules: dict[str, str] = {}  # the name in this file → what was imported under it
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                modules[each.asname or each.name.partition(".")[0]] = (
                    each.name if each.asname else each.name.partition(".")[0]
                )
                yield from _private(each.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                modules[each.asname or each.name] = f"{node.module}.{each.name}"
                yield from _private(f"{node.module}.{each.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            first, _, rest = dotted.partition(".")
            if first in modules and dotted.replace(".", "").isidentifier():
                yield from _private(f"{modules[first]}.{rest}")
        elif isinstance(node, ast.keyword) and node.arg and node.arg.startswith("_"):
            yield node.arg


def _private(name: str) -> Iterator[str]:
    parts = name.split(".")
    if parts[0] in OWN:
        return
    hidden = any(each.startswith("_") and not each.endswith("__") for each in parts)
    if hidden or any(name == each or name.startswith(f"{each}.") for each in UNDOCUMENTED):
        yield name


def test_no_private_name_of_a_dependency_is_used() -> None:
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := sorted(set(private_names(path.read_text()))))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "from numba.core import cgutils",
        "import numba\nnumba.core.registry.cpu_target",
        "from psycopg import pq",
        "import numpy as np\nnp._core.umath",
        "from pandas._libs import lib",
        "import numba\nnumba.njit(_nrt=False)",
    ],
)
def test_private_names_are_found(source: str) -> None:
    assert list(private_names(source))


@pytest.mark.parametrize(
    "source",
    [
        "from numba import njit",
        "import numba\nnumba.config.CACHE_DIR",
        "from shortlist._version import __version__",
        "import pandas as pd\npd.__version__",
        "self._own = 1",
    ],
)
def test_public_names_are_no_finding(source: str) -> None:
    assert not list(private_names(source))
