"""The plan of docs/architecture.md holds: imports run downwards, without circles; no room is crowded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from paths import DOCS, ROOT, TESTS

SOURCE = ROOT / "src" / "shortlist"
MOST_FILES = 16

# From the ground up: a room imports only from those before it.
ROOMS = [
    "_version",
    "arrays",
    "printable",
    "advice",
    "notebook",
    "errors",
    "numerics",
    "files",
    "features",
    "noise",
    "posterior",
    "rules",
    "problem",
    "allocations",
    "designs",
    "theory",
    "engine",
    "plans",
    "catalog",
    "study",
    "simulation",
    "plot",
    "data",
    "repurposing",
    "report",
    "paper",
    "serve",
    "cli",
    "testing",
    "__main__",
]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports anywhere in it, without ``shortlist.``."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            first, *rest = name.split(".")
            while first == "shortlist" and rest and ".".join(rest) not in MODULES:
                rest.pop()  # what is imported is a name in that module
            if first == "shortlist" and rest:
                yield ".".join(rest)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """What every module imports; not made by processes that collect these tests for others."""
    return {name: set(imported(path)) for name, path in MODULES.items() if name}


def test_every_room_has_its_place(graph: dict[str, set[str]]) -> None:
    assert {name.split(".")[0] for name in graph} == set(ROOMS)


def test_imports_run_downwards(graph: dict[str, set[str]]) -> None:
    upwards = [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if ROOMS.index(other.split(".")[0]) > ROOMS.index(name.split(".")[0])
    ]
    assert upwards == []


def test_no_modules_import_each_other(graph: dict[str, set[str]]) -> None:
    # Typing counts as well, and so do imports within functions. A package is loaded with its modules:
    # one that offers their names lazily is no circle.
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    modules = {
        name: {each for each in others if each not in packages} for name, others in graph.items()
    }
    try:
        tuple(TopologicalSorter(modules).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' imports '.join(error.args[1][::-1])}")


def test_no_room_is_crowded() -> None:
    crowded = {
        str(folder.relative_to(SOURCE)): count
        for folder in (SOURCE, *SOURCE.rglob("*"))
        if folder.is_dir() and (count := len(list(folder.glob("*.py")))) > MOST_FILES
    }
    assert crowded == {}


def test_no_file_is_a_drawer() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert [name for name in MODULES if name.split(".")[-1] in drawers] == []


def test_tests_stand_where_the_modules_stand() -> None:
    lost = []
    for path in sorted(TESTS.rglob("test_*.py")):
        folder = path.relative_to(TESTS).parent
        module = ".".join([*folder.parts, path.stem.removeprefix("test_")])
        if folder.parts and module not in MODULES:
            lost.append(str(path.relative_to(TESTS)))
    assert lost == []


def test_the_plan_names_every_room() -> None:
    plan = (DOCS / "architecture.md").read_text()
    for room in ROOMS[1:]:
        folder = (SOURCE / room).is_dir()
        assert (f"{room}/" if folder else room) in plan, room
