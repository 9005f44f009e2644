"""Cells that a spreadsheet shows as text, and does not run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.files.cells import escaped, unescaped


@given(st.text())
def test_a_guarded_cell_is_read_back_as_it_was(text: str) -> None:
    assert unescaped(escaped(text)) == text


@pytest.mark.parametrize(
    "text", ["=1+2", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "＝1"]
)
def test_a_formula_is_guarded(text: str) -> None:
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+0.5", "-1e-3", "C07", "", "'tis", "5'-UTR", "a=b"])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert escaped(text) == text
