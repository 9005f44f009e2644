"""The plan of docs/architecture.md holds: imports run downwards, without circles; no room is crowded."""

from __future__ import annotations

import pytest

from house import ROOMS, Source, circles, lines_by_kind, upward
from paths import DOCS, ROOT, TESTS

SOURCE = Source(ROOT / "src" / "shortlist")
MOST_FILES = 16


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """What every module imports; not made by processes that collect these tests for others."""
    return SOURCE.graph()


def test_every_room_has_its_place(graph: dict[str, set[str]]) -> None:
    assert {name.split(".")[0] for name in graph} == set(ROOMS)


def test_imports_run_downwards(graph: dict[str, set[str]]) -> None:
    assert upward(graph) == []


def test_no_modules_import_each_other(graph: dict[str, set[str]]) -> None:
    assert circles(graph, SOURCE.packages) == []


def test_no_room_is_crowded() -> None:
    assert {folder: n for folder, n in SOURCE.folders().items() if n > MOST_FILES} == {}


def test_no_file_is_a_drawer() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert [name for name in SOURCE.modules if name.split(".")[-1] in drawers] == []


def test_tests_stand_where_the_modules_stand() -> None:
    lost = []
    for path in sorted(TESTS.rglob("test_*.py")):
        folder = path.relative_to(TESTS).parent
        module = ".".join([*folder.parts, path.stem.removeprefix("test_")])
        beside = TESTS.parent / folder / f"{path.stem.removeprefix('test_')}.py"  # reproduction/
        if folder.parts and module not in SOURCE.modules and not beside.exists():
            lost.append(str(path.relative_to(TESTS)))
    assert lost == []


def test_the_plan_names_every_room() -> None:
    plan = (DOCS / "architecture.md").read_text()
    for room in ROOMS[1:]:
        folder = (SOURCE.package / room).is_dir()
        assert (f"{room}/" if folder else room) in plan, room


def test_upward_imports_and_circles_are_seen() -> None:
    graph = {"errors": {"study.study"}, "study.study": {"study.view"}, "study.view": {"study"}}
    assert upward(graph) == ["errors imports study.study"]
    graph |= {"study": {"study.study"}, "plot.arms": {"plot.arms"}}
    assert circles(graph, set()) == [["study.study", "study.view", "study"], ["plot.arms"]]
    assert circles(graph, {"study"}) == [["plot.arms"]]


def test_lines_are_counted_by_kind() -> None:
    text = '"""What it is.\n\nMore of it.\n"""\n\n# Alone.\nx = "# no comment"  # beside\n'
    assert lines_by_kind(text) == {"docstring": 4, "blank": 1, "comment": 1, "code": 1}
