"""Names of arms in pictures: short, on one line, and never the same for two arms."""

from __future__ import annotations

from itertools import product

import pytest

from drawn_studies import study, tell_some
from shortlist import plot
from shortlist.plot.arms import NAME_WIDTH, drawn

RINGS = ["phenyl", "benzyl", "naphthyl", "cyclohexyl", "thiazolyl"]
SERIES = [
    f"N-(4-hydroxyphenyl)-{k}-{ring}-acetamide methyl ester hydrochloride"
    for k, ring in product(range(1, 7), RINGS)
]
NAMES = {
    "differ in the middle": SERIES,
    "differ far inside a long middle": [
        f"{30 * 'a'}{k:03d}{60 * 'b'}{k:03d}{30 * 'a'}" for k in range(30)
    ],
    "one has more than the other": [f"{20 * 'a'}{'x' * k}{20 * 'a'}" for k in range(1, 5)],
    "only in what cannot be drawn": ["药 of a plant from far away", "物 of a plant from far away"],
    "a part of each other": [60 * "a", 61 * "a", 62 * "a"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_different_names_stay_different(names: list[str]) -> None:
    found = drawn(names)
    assert len(set(found)) == len(names)
    assert all(len(name) <= NAME_WIDTH + 4 for name in found)


def test_a_series_shows_where_its_names_differ() -> None:
    found = drawn(SERIES)
    assert all(
        f"{k}-{ring[:4]}" in name
        for name, (k, ring) in zip(found, product(range(1, 7), RINGS), strict=True)
    )
    assert all(name.startswith("N-(4-") and name.endswith("loride") for name in found)


def test_short_names_are_left_alone() -> None:
    assert drawn(["aspirin", "aspirin 2", ""]) == ["aspirin", "aspirin 2", ""]


def test_rows_of_a_series_have_different_labels() -> None:
    s = tell_some(study(arms=SERIES[:9]), 40)
    for figure in (plot.intervals(s), plot.pulls(s)):
        rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert len(set(rows)) == len(rows) == 9


@pytest.mark.slow
def test_the_last_line_of_a_title_is_no_single_word() -> None:
    s = tell_some(study(), 40)
    for draw in (plot.intervals, plot.shrinking, plot.pulls, plot.stopping, plot.plane):
        figure = draw(s)
        title = figure._suptitle.get_text() if figure._suptitle else figure.axes[0].get_title()
        lines = title.splitlines()
        assert len(lines[-1]) > 0.6 * len(lines[0])


@pytest.mark.slow
def test_captions_say_what_b_and_c_are() -> None:
    s = tell_some(study(), 40)
    for draw in (plot.intervals, plot.shrinking, plot.plane):
        caption = " ".join(draw(s).axes[0].get_xlabel().split())
        other = " ".join(draw(s).axes[-1].get_xlabel().split())
        assert "b: the arm of the shortlist whose place is least certain" in caption + other


PYRIDINES = [
    f"N-(pyridin-{k}-yl)-2-({ring}-yl)-N-methylacetamide"
    for k, ring in product((2, 3, 4), ("piperidin-1", "4-methylpiperidin-1", "morpholin-4"))
]


def test_names_keep_every_place_in_which_they_differ() -> None:
    for name, (k, ring) in zip(
        drawn(PYRIDINES),
        product((2, 3, 4), ("piperidin-1", "4-methylpiperidin-1", "morpholin-4")),
        strict=True,
    ):
        assert f"-{k}-" in name or f"…{k}…" in name
        assert ring in name
        assert "#" not in name


@pytest.mark.slow
def test_an_arm_has_the_same_name_in_all_pictures() -> None:
    s = tell_some(study(arms=PYRIDINES), 40)
    short = drawn(PYRIDINES)
    for figure in (plot.intervals(s), plot.pulls(s)):
        rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert {row.removeprefix("★ ").partition(" (")[0] for row in rows} == set(short)
    for draw in (plot.shrinking, plot.plane):
        named = [text.get_text() for text in draw(s).axes[0].texts]
        for text in named:
            assert any(name in text for name in short), text


def test_whole_names_are_drawn_where_there_is_room() -> None:
    name = "3-hydroxy-N-methylbenzamide, batch lot 7"
    assert drawn([name, name.replace("7", "8")]) == [name, name.replace("7", "8")]
