"""Names of arms in pictures: short, on one line, and never the same for two arms."""

from __future__ import annotations

import pytest

from drawn_studies import study, tell_some
from shortlist import plot
from shortlist.printable import NAME_WIDTH, cut


@pytest.mark.parametrize("name", ["aspirin", "", 36 * "a", 18 * "酸"])
def test_short_names_are_left_alone(name: str) -> None:
    assert cut(name) == name


def test_of_a_long_name_the_middle_is_left_out() -> None:
    name = cut("N-(4-hydroxyphenyl)-2-benzyl-acetamide methyl ester hydrochloride")
    assert name == "N-(4-hydroxyphenyl…ter hydrochloride"
    assert len(name) == NAME_WIDTH
    assert cut(60 * "酸") == 9 * "酸" + "…" + 8 * "酸"


def test_names_that_are_cut_to_the_same_have_their_rows() -> None:
    ends = 40 * "a"
    s = tell_some(study(arms=[f"{ends}{k}{ends}" for k in range(9)]), 40)
    for figure in (plot.intervals(s), plot.pulls(s)):
        rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        names = {row.removeprefix("★ ").partition(" (")[0] for row in rows}
        assert names == {f"{18 * 'a'}…{17 * 'a'} #{k}" for k in range(9)}


@pytest.mark.slow
def test_captions_say_what_b_and_c_are() -> None:
    s = tell_some(study(), 40)
    for draw in (plot.intervals, plot.shrinking, plot.plane):
        caption = " ".join(draw(s).get_supxlabel().split())
        assert "b: the arm of the shortlist whose place is least certain" in caption
